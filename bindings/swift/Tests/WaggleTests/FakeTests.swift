import Testing
import Waggle
import WaggleFakes

@Suite struct FakeTests {
    @Test func aSessionShowsWhatTheScriptSays() async throws {
        let session = FakeSession()
        let channel = Fake.channel(1)
        session.show(sidebar: [Fake.sidebarRow(1, dot: true)])
        session.on(.markChannelRead(channel)) { $0.show(sidebar: [Fake.sidebarRow(1)]) }
        var rows = session.sidebar.makeAsyncIterator()
        #expect(await rows.next()?.rows == [Fake.sidebarRow(1, dot: true)])
        try await session.markChannelRead(channel)
        #expect(await rows.next()?.rows == [Fake.sidebarRow(1)])
        #expect(session.calls == [.markChannelRead(channel)])
        session.show(connectivity: Fake.connectivity(.offline, sentence: "You are offline."))
        #expect(session.connectivityNow().phase == .offline)
        session.show(unread: Fake.unread(observed: 3), of: .channel(channel: channel))
        #expect(try await session.snapshot(.channel(channel: channel)).observed == 3)
        try await session.close()
        #expect(await rows.next() == nil)
        let failure = await error(SessionError.self) { try await session.refresh() }
        #expect(failure?.failure.code == "closed")
    }

    @Test func callsFailAsScripted() async throws {
        let session = FakeSession()
        session.fail(.refresh, with: .Network(why: .offline, failure: Fake.failure("network", retry: .whenOnline)))
        #expect(await error(SessionError.self) { try await session.refresh() }?.failure.retry == .whenOnline)
        try await session.ensure()
        #expect(session.calls == [.refresh, .ensure])
    }

    @Test func timelinesPageAndSurfacesTakeNotes() async throws {
        let session = FakeSession()
        let timeline = FakeTimeline(
            rows: [Fake.row(5)], older: [[Fake.row(3), Fake.row(4)], [Fake.row(1), Fake.row(2)]],
            status: Fake.status(firstUnread: Fake.event(2)))
        session.add(timeline)
        let opened = try await session.timeline(Fake.channel(1))
        #expect(opened.now().status.more == .yes)
        #expect(try await opened.jumpToFirstUnread())
        #expect(opened.now().rows.map(\.id) == (1...5).map(Fake.event))
        #expect(opened.now().status.more == .no && timeline.loads == 2)
        timeline.fail(with: .Denied(failure: Fake.failure("denied")))
        #expect(await error(SessionError.self) { try await opened.loadOlder() }?.failure.code == "denied")
        let surface = try await session.surface(Fake.channel(1))
        let viewport = Viewport(active: true, settled: true, visible: [Fake.event(5)], bottom: Fake.event(5))
        try surface.report(viewport)
        surface.close()
        try surface.report(viewport)
        let noted = session.surfaces(of: Fake.channel(1))
        #expect(noted.map(\.reports) == [[viewport]] && noted.allSatisfy(\.isClosed))
        #expect(await error(SessionError.self) { _ = try await session.timeline(Fake.channel(2)) } != nil)
    }

    @Test func aFeedLosesNothingAndKeepsNobody() async throws {
        let feed = FakeFeed(0)
        let reader = Task {
            var seen: [Int] = []
            for await value in feed.updates { seen.append(value) }
            return seen
        }
        for value in 1...1_000 {
            feed.send(value)
            if value % 100 == 0 { await Task.yield() }
        }
        feed.close()
        let seen = try await inTime("the end") { await reader.value }
        #expect(seen.last == 1_000)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 })
        #expect(feed.iterations == 0)
    }

    /// As a view model does it: no value leaves the actor, and the compiler agrees.
    @Test @MainActor func theMainActorIterates() async throws {
        final class Model {
            var rows: [SidebarRow] = []
        }
        let (session, model) = (FakeSession() as any WaggleSession, Model())
        (session as? FakeSession)?.show(sidebar: [Fake.sidebarRow(7)])
        let watching = Task {
            for await sidebar in session.sidebar {
                model.rows = sidebar.rows
                break
            }
        }
        await watching.value
        #expect(model.rows.map(\.channel) == [Fake.channel(7)])
    }

    @Test func aCancelledIterationLetsGo() async throws {
        let feed = FakeFeed(0)
        let waiting = Task { for await _ in feed.updates {} }
        while feed.iterations == 0 { await Task.yield() }
        waiting.cancel()
        try await inTime("the end") { await waiting.value }
        #expect(feed.iterations == 0)
        for await _ in feed.updates { break }
        #expect(feed.iterations == 0)
    }
}

@Suite struct LifecycleTests {
    @Test func eventsAreCarriedOutInOrder() async throws {
        let session = FakeSession()
        let lifecycle = SessionLifecycle(session: session, budget: .seconds(2))
        await lifecycle.enterBackground()
        await lifecycle.enterForeground()
        await lifecycle.networkChanged()
        #expect(session.calls == [.suspend(budget: .seconds(2)), .resume, .networkChanged])
    }

    @Test func comingBackDoesNotOvertakeGoing() async throws {
        let session = FakeSession()
        let (gate, done) = (AsyncStream<Void>.makeStream(), Guarded([FakeCall]()))
        session.on(.suspend(budget: .seconds(2))) { _ in
            for await _ in gate.stream { break }
            done.with { $0.append(.suspend(budget: .seconds(2))) }
        }
        session.on(.resume) { _ in done.with { $0.append(.resume) } }
        let lifecycle = SessionLifecycle(session: session, budget: .seconds(2))
        let going = Task { await lifecycle.enterBackground() }
        while session.calls.isEmpty { await Task.yield() }
        let coming = Task { await lifecycle.enterForeground() }
        gate.continuation.yield()
        await going.value
        await coming.value
        #expect(done.with { $0 } == [.suspend(budget: .seconds(2)), .resume])
    }

    @Test func aFailureStopsNothing() async throws {
        let session = FakeSession()
        session.fail(.suspend(budget: .seconds(3)), with: .Network(why: .offline, failure: Fake.failure("network")))
        let lifecycle = SessionLifecycle(session: session)
        await lifecycle.enterBackground()
        await lifecycle.enterForeground()
        #expect(session.calls.last == .resume)
    }
}
