import Testing
import Waggle
import WaggleFakes

@testable import WaggleKit

@MainActor @Suite struct TimelineModelTests {
    let session = FakeSession()
    let channel = Fake.channel(1)

    private func model(root: EventId? = nil) -> TimelineModel {
        TimelineModel(session: session, channel: channel, root: root, utcOffset: 0)
    }

    @Test func rowsFollowTheCore() async {
        let timeline = FakeTimeline(rows: [Fake.row(1)], status: Fake.status())
        session.add(timeline)
        let model = model()
        await eventually("rows") { model.items.compactMap(\.message) == [Fake.event(1)] }
        timeline.append(Fake.row(2, grouped: true))
        await eventually("one more") { model.items.count == 3 }
        session.show(unread: Fake.unread(observed: 4, attention: 1), of: .channel(channel: channel))
        await eventually("counts") { model.unread?.observed == 4 }
        model.close()
        await eventually("let go") { timeline.iterations == 0 }
    }

    @Test func olderPagesComeOneAtATime() async {
        let timeline = FakeTimeline(
            rows: [Fake.row(5)], older: [[Fake.row(3), Fake.row(4)], [Fake.row(1), Fake.row(2)]], status: Fake.status())
        session.add(timeline)
        let model = model()
        await eventually("rows") { model.items.first == .goesOn }
        model.loadMore()
        model.loadMore()
        #expect(model.isLoading)
        await eventually("a page") { model.items.compactMap(\.message).count == 3 && !model.isLoading }
        #expect(timeline.loads == 1)
        timeline.fail(with: offline())
        model.loadMore()
        await eventually("failure") { model.failure?.code == "network" }
        #expect(model.items.compactMap(\.message).count == 3, "the rows stay")
        model.loadMore()
        await idle()
        #expect(timeline.loads == 2, "not by itself")
        timeline.fail(with: nil)
        model.tryAgain()
        await eventually("the rest") { model.items.first == .beginning }
        model.loadMore()
        #expect(!model.isLoading)
    }

    @Test func aTimelineThatDoesNotOpenTriesAgain() async {
        let model = model()
        await eventually("failure") { model.failure?.code == "denied" }
        session.add(FakeTimeline(rows: [Fake.row(1)], status: Fake.status()))
        model.tryAgain()
        await eventually("rows") { model.items.count == 2 }
        #expect(model.failure == nil)
    }

    @Test func jumping() async {
        session.add(
            FakeTimeline(rows: [Fake.row(3)], older: [[Fake.row(1), Fake.row(2)]], status: Fake.status(firstUnread: Fake.event(2))))
        let model = model()
        await eventually("rows") { model.canJumpToFirstUnread }
        model.jumpToFirstUnread()
        await eventually("there") { model.goal?.item == TimelineItem.firstUnread.id }
        #expect(model.items.contains(.firstUnread) && model.goal?.atTop == true)
        model.arrived()
        model.jumpToLatest()
        #expect(model.goal == ScrollGoal(item: Fake.event(3), atTop: false))
    }

    @Test func aThreadKnowsWhetherItIsFollowed() async throws {
        let root = Fake.event(1)
        session.add(FakeTimeline(rows: [Fake.row(1)], status: Fake.status(root: root)))
        try await session.follow(channel, root: root, following: true)
        let model = model(root: root)
        await eventually("followed") { model.isFollowed == true }
        #expect(model.target == .thread(channel: channel, root: root))
    }

    @Test func whatOpensAfterTheEndIsClosed() async {
        let gate = AsyncStream<Void>.makeStream()
        session.on(.timeline(channel)) { _ in for await _ in gate.stream { break } }
        let timeline = FakeTimeline(rows: [Fake.row(1)], status: Fake.status())
        session.add(timeline)
        let model = model()
        await eventually("asked") { session.calls.contains(.timeline(channel)) }
        model.close()
        gate.continuation.finish()
        await idle()
        #expect(model.items.isEmpty && timeline.iterations == 0)
    }

    @Test func theLogKeepsTheNewestLines() async {
        let feed = FakeFeed(batch(1...250, version: 1))
        let log = LogModel()
        let reading = Task { await log.follow(feed.updates) }
        await eventually("lines") { log.newest.count == LogModel.limit }
        #expect(log.newest.first?.line.message == "250")
        feed.send(batch(251...251, version: 2))
        await eventually("one more") { log.newest.first?.line.message == "251" }
        #expect(log.newest.count == LogModel.limit && Set(log.newest.map(\.id)).count == LogModel.limit)
        feed.close()
        await reading.value
    }

    private func batch(_ numbers: ClosedRange<Int>, version: UInt64) -> LogBatch {
        let lines = numbers.map { LogLine(at: 1, level: .info, target: "waggle", message: "\($0)") }
        return LogBatch(version: version, lines: lines, missed: 0)
    }
}
