import Testing
import Waggle
import WaggleFakes

@testable import WaggleKit

@MainActor @Suite struct CommunityTests {
    let session = FakeSession()
    let settings = MemorySettings()
    let model: CommunityModel
    let channel = Fake.channel(1)

    init() {
        model = CommunityModel(host: "wss://a", session: session, settings: settings, utcOffset: 0)
        session.add(FakeTimeline(rows: [Fake.row(1), Fake.row(2)], status: Fake.status(more: .no)))
        session.add(FakeTimeline(rows: [Fake.row(1)], status: Fake.status(root: Fake.event(1))))
    }

    private func started() async {
        model.start()
        await eventually("first rows") { model.sidebar.groups != nil && session.calls.contains(.ensure) }
    }

    @Test func itShowsWhatTheSessionShows() async {
        session.show(
            sidebar: [
                Fake.sidebarRow(1, name: "general", strong: true), Fake.sidebarRow(2, section: .directMessages, dot: true),
                Fake.sidebarRow(3, section: .directMessages),
            ], cached: true)
        await started()
        #expect(model.sidebar.groups?.map(\.rows.count) == [1, 2] && model.sidebar.isCached)
        #expect(model.sidebar.row(Fake.channel(2))?.dot == true)
        session.show(connectivity: Fake.connectivity(.offline, sentence: "You are offline."))
        session.show(sync: Fake.sync(.pending, pending: true))
        await eventually("both") { model.connectivity?.phase == .offline && model.sync?.pending == true }
        #expect(session.calls.prefix(2) == [.start, .ensure])
    }

    @Test func aCommunityThatDoesNotOpenSaysWhyAndTriesAgain() async {
        session.fail(.start, with: .Storage(kind: .full, failure: Fake.failure("storage", retry: .afterAction)))
        model.start()
        await eventually("failure") { model.failure?.code == "storage" }
        #expect(!session.calls.contains(.ensure))
        session.on(.start) { _ in }
        model.start()
        await eventually("a look") { session.calls.contains(.ensure) }
        #expect(model.failure == nil)
    }

    // MARK: Reading

    @Test func onlyTheFrontHasASurface() async {
        await started()
        model.open(.channel(channel))
        await eventually("a surface") { model.timeline(.channel(channel)).isReading }
        model.open(.thread(channel, root: Fake.event(1)))
        #expect(session.surfaces(of: channel)[0].isClosed, "at once")
        await eventually("the thread's") { model.timeline(.thread(channel, root: Fake.event(1))).isReading }
        model.path.removeLast()
        #expect(session.surfaces(of: channel, root: Fake.event(1))[0].isClosed)
        await eventually("the channel's again") { model.timeline(.channel(channel)).isReading }
        #expect(session.surfaces(of: channel).count == 2)
        model.path = []
        #expect(!session.surfaces(of: channel).contains { !$0.isClosed })
    }

    @Test(arguments: 0..<4) func whatCoversItClosesItAtOnce(_ which: Int) async {
        await started()
        model.open(.channel(channel))
        await eventually("a surface") { model.timeline(.channel(channel)).isReading }
        switch which {
        case 0: model.sheet = .communities
        case 1: model.question = .message(Fake.row(1), .channel(channel))
        case 2: model.isCovered = true
        default: model.appeared(inForeground: false, isActive: false)
        }
        #expect(session.surfaces(of: channel)[0].isClosed)
        await idle()
        #expect(session.surfaces(of: channel).count == 1)
        switch which {
        case 0: model.sheet = nil
        case 1: model.question = nil
        case 2: model.isCovered = false
        default: model.appeared(inForeground: true, isActive: true)
        }
        await eventually("another") { model.timeline(.channel(channel)).isReading }
        #expect(session.surfaces(of: channel).count == 2)
        #expect(!session.surfaces(of: channel)[1].isClosed)
    }

    @Test func aSurfaceThatComesTooLateIsClosed() async {
        await started()
        let gate = AsyncStream<Void>.makeStream()
        session.on(.surface(channel, root: nil)) { _ in for await _ in gate.stream { break } }
        model.open(.channel(channel))
        await eventually("asked") { session.calls.contains(.surface(channel, root: nil)) }
        model.sheet = .communities
        gate.continuation.finish()
        await eventually("closed") { session.surfaces(of: channel).first?.isClosed == true }
    }

    @Test func whatShowsIsReported() async {
        await started()
        model.open(.channel(channel))
        let timeline = model.timeline(.channel(channel))
        await eventually("rows") { timeline.items.count == 3 }
        timeline.geometry.resize(height: 300)
        for (index, item) in timeline.items.enumerated() {
            timeline.geometry.place(item.id, id: item.message, top: Double(index) * 100, bottom: Double(index + 1) * 100)
        }
        timeline.geometry.endsAt(300)
        let expected = Viewport(active: true, settled: true, visible: [Fake.event(1), Fake.event(2)], bottom: Fake.event(2))
        await eventually("a report") { session.surfaces(of: channel).last?.reports.last == expected }
        model.appeared(inForeground: true, isActive: false)
        #expect(session.surfaces(of: channel).last?.reports.last?.active == false)
        let reports = session.surfaces(of: channel).last?.reports.count
        model.appeared(inForeground: true, isActive: false)
        #expect(session.surfaces(of: channel).last?.reports.count == reports)
    }

    @Test func aVisitIsOneOfAChannel() async {
        await started()
        let visits = { session.calls.filter { [.enterChannel(channel), .leaveChannel(channel)].contains($0) } }
        model.open(.channel(channel))
        model.open(.thread(channel, root: Fake.event(1)))
        await eventually("entered") { visits() == [.enterChannel(channel)] }
        model.path.removeLast()
        model.path = []
        await eventually("left") { visits() == [.enterChannel(channel), .leaveChannel(channel)] }
        model.open(.thread(channel, root: Fake.event(1)))
        model.path = []
        await eventually("left, not entered") { visits().suffix(2) == [.leaveChannel(channel), .leaveChannel(channel)] }
    }

    // MARK: Actions

    @Test func actionsAreTheCores() async {
        await started()
        let place = Place.thread(channel, root: Fake.event(1))
        model.markRead(channel)
        model.markUnread(Fake.row(2), in: place)
        model.markRead(Fake.row(2), in: place)
        model.markRead(through: Fake.row(2), in: place)
        model.mute(channel, true)
        model.follow(channel, root: Fake.event(1), true)
        model.markAllRead()
        let expected: [FakeCall] = [
            .markChannelRead(channel), .markMessageUnread(channel, message: Fake.event(2)),
            .markMessageRead(channel, message: Fake.event(2)),
            .markThrough(.thread(channel: channel, root: Fake.event(1)), message: Fake.event(2)), .mute(channel, muted: true),
            .follow(channel, root: Fake.event(1), following: true), .markAllChannelsRead,
        ]
        await eventually("all") { expected.allSatisfy(session.calls.contains) }
        #expect(await model.isFollowed(channel, root: Fake.event(1)) == true)
    }

    @Test func whatStaysHereIsSaid() async {
        await started()
        model.markUnread(channel)
        await eventually("a notice") { model.notice?.content == .onThisDeviceOnly }
        model.markAllRead()
        await eventually("a number") { model.notice?.content == .markedRead(0) }
        if let notice = model.notice { model.dismiss(notice) }
        #expect(model.notice == nil)
    }

    @Test func aFailureSaysItsSentenceAndOffersAgain() async {
        await started()
        session.fail(.markChannelRead(channel), with: offline())
        model.markRead(channel)
        await eventually("a notice") { model.notice?.content == .failed(offline().failure) }
        session.on(.markChannelRead(channel)) { _ in }
        model.notice?.again?()
        await eventually("again") { session.calls.filter { $0 == .markChannelRead(channel) }.count == 2 }
        session.fail(.retrySync, with: .ReadOnly(failure: Fake.failure("read_only", retry: .never)))
        model.retrySync()
        await eventually("no button") { model.notice?.content != .failed(offline().failure) }
        #expect(model.notice?.again == nil)
    }

    // MARK: The app's life

    @Test func goingAwayPublishesAndComingBackResumes() async {
        await started()
        await model.enterBackground()
        #expect(session.calls.last == .suspend(budget: .seconds(3)))
        await model.publishInBackground()
        #expect(session.calls.suffix(3) == [.resume, .flush, .suspend(budget: .seconds(3))])
        await model.enterForeground()
        #expect(session.calls.last == .resume)
        await model.publishInBackground()
        #expect(session.calls.last == .resume, "not in front")
        await model.close()
        #expect(session.calls.last == .close)
    }

    @Test func closingEndsEverything() async {
        await started()
        model.open(.channel(channel))
        await eventually("a surface") { model.timeline(.channel(channel)).isReading }
        await model.close()
        #expect(session.surfaces(of: channel).allSatisfy(\.isClosed) && model.path.isEmpty)
    }

    @Test func threadsOfAChannelComeInOrder() async {
        await started()
        let item = ThreadActivityItem(
            root: Fake.event(1), latest: Fake.event(2), author: Fake.key(1), createdAt: 1, text: "Yes", count: 1)
        session.show(activity: ThreadActivity(items: [item]), of: channel)
        let activity = ActivityModel(model, channel: channel)
        let following = Task { await activity.follow() }
        await eventually("items") { activity.items == [item] }
        following.cancel()
        await following.value
        #expect(activity.failure == nil)
    }
}

@MainActor @Suite struct SidebarTests {
    let settings = MemorySettings()

    @Test func foldedSectionsStayFolded() async {
        settings.collapsed = ["direct messages"]
        let sidebar = SidebarModel(settings: settings) { _, _ in nil }
        sidebar.take(SidebarSnapshot(rows: [Fake.sidebarRow(1), Fake.sidebarRow(2, section: .directMessages)]))
        let groups = sidebar.groups ?? []
        #expect(groups.map { sidebar.folding[shows: $0.id] } == [true, false])
        sidebar.folding[shows: groups[0].id] = false
        #expect(settings.collapsed == ["channels", "direct messages"])
    }

    @Test func cuesAreAskedForWhenOtherLinesShow() async throws {
        final class Asked {
            var questions: [(placed: [Placed], viewport: Extent)] = []
        }
        let asked = Asked()
        let sidebar = SidebarModel(settings: settings) { placed, viewport in
            asked.questions.append((placed, viewport))
            return Fake.noCues
        }
        let direct = (11...13).map { Fake.sidebarRow($0, section: .directMessages, counted: true) }
        sidebar.take(SidebarSnapshot(rows: (1...10).map { Fake.sidebarRow($0) } + direct))
        sidebar.resize(height: 100)
        #expect(asked.questions.isEmpty, "nothing is laid out")
        // A header of 20, then rows of 40: header, 1, 2 show.
        sidebar.place("channels", top: 0, bottom: 20)
        sidebar.place(Fake.channel(1), top: 20, bottom: 60)
        sidebar.place(Fake.channel(2), top: 60, bottom: 100)
        sidebar.place(Fake.channel(3), top: 100, bottom: 140)
        let last = try #require(asked.questions.last)
        #expect(last.viewport == Extent(top: 0, bottom: 3))
        #expect(last.placed.count == 13 && last.placed[2].extent == Extent(top: 3, bottom: 4))
        let count = asked.questions.count
        // Two points on, the same lines show.
        sidebar.place("channels", top: -2, bottom: 18)
        sidebar.place(Fake.channel(1), top: 18, bottom: 58)
        #expect(asked.questions.count == count)
        sidebar.folding[shows: "direct messages"] = false
        let folded = try #require(asked.questions.last)
        #expect(folded.placed.suffix(3).allSatisfy { $0.collapsed && $0.extent == Extent(top: 11, bottom: 12) })
    }

    @Test func aCueUnfoldsAndScrolls() {
        let sidebar = SidebarModel(settings: settings) { _, _ in nil }
        sidebar.take(SidebarSnapshot(rows: [Fake.sidebarRow(1), Fake.sidebarRow(2, section: .solo)]))
        sidebar.folding[shows: "solo"] = false
        let cue = Cue(
            count: 1, target: CueTarget(channel: Fake.channel(2), index: 1, collapsed: true), previews: [], attention: false,
            accessibleName: "1 more")
        sidebar.follow(cue)
        #expect(sidebar.folding[shows: "solo"] && sidebar.goal == Fake.channel(2))
        sidebar.arrived()
        #expect(sidebar.goal == nil)
    }
}
