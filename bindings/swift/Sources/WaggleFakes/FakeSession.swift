// A session that a test or a preview scripts. It knows no rule about chat: a mark is noted down and changes nothing, unless the test
// says what it changes.

public import Waggle
public import WaggleGenerated

/// What an app asked a ``FakeSession`` to do.
public enum FakeCall: Sendable, Hashable {
    case start, ensure, refresh, retrySync, flush, settleLookups
    case unread(Target), snapshot(Target), threadActivity(ChannelId), activity(ChannelId)
    case timeline(ChannelId), thread(ChannelId, root: EventId), surface(ChannelId, root: EventId?)
    case markThrough(Target, message: EventId), markChannelRead(ChannelId), markAllChannelsRead
    case markUnread(Target), clearUnread(Target)
    case enterChannel(ChannelId), leaveChannel(ChannelId)
    case markMessageUnread(ChannelId, message: EventId), markMessageRead(ChannelId, message: EventId)
    case following(ChannelId, root: EventId), follow(ChannelId, root: EventId, following: Bool)
    case mute(ChannelId, muted: Bool), presentAs(ChannelId, PresentationClass)
    case suspend(budget: Duration), resume, networkChanged, close, leave
}

/// A session whose facts a test or a preview gives, and which notes down what it is asked.
///
/// ```swift
/// let session = FakeSession()
/// session.show(sidebar: [Fake.sidebarRow(name: "general", dot: true)])
/// session.on(.markChannelRead(Fake.channel(1))) { session in
///     session.show(sidebar: [Fake.sidebarRow(name: "general")])
/// }
/// ```
public final class FakeSession: WaggleSession {
    /// What a call does, and how it fails.
    public typealias Script = @Sendable (FakeSession) async throws(SessionError) -> Void

    private struct State {
        var calls: [FakeCall] = []
        var scripts: [FakeCall: Script] = [:]
        var unread: [Target: FakeFeed<UnreadSnapshot>] = [:]
        var activity: [ChannelId: FakeFeed<ThreadActivity>] = [:]
        var timelines: [Place: FakeTimeline] = [:]
        var surfaces: [Place: [FakeSurface]] = [:]
        var following: Set<Place> = []
        var cues = Fake.noCues
        var closed = false
    }

    private struct Place: Hashable {
        let channel: ChannelId
        let root: EventId?
    }

    public let account: PublicKey
    private let state = Guarded(State())
    private let sidebarFeed = FakeFeed(SidebarSnapshot(rows: []))
    private let syncFeed = FakeFeed(Fake.sync())
    private let connectivityFeed = FakeFeed(Fake.connectivity())

    /// A session of this account, with an empty sidebar, online.
    public init(account: PublicKey = Fake.key(1)) {
        self.account = account
    }

    // MARK: The script

    /// What was asked, in order.
    public var calls: [FakeCall] { state.with { $0.calls } }

    /// Says what happens when the app asks for this, every time.
    public func on(_ call: FakeCall, _ script: @escaping Script) {
        state.with { $0.scripts[call] = script }
    }

    /// Lets a call fail, every time.
    public func fail(_ call: FakeCall, with error: SessionError) {
        on(call) { _ throws(SessionError) in throw error }
    }

    /// Shows these sidebar rows from now on.
    public func show(sidebar rows: [SidebarRow], cached: Bool = false) {
        sidebarFeed.update { $0 = SidebarSnapshot(rows: rows, cached: cached, version: $0.version + 1) }
    }

    /// Shows this state of synchronisation from now on.
    public func show(sync status: SyncStatus) {
        syncFeed.send(status)
    }

    /// Shows this state of the connection from now on.
    public func show(connectivity: Connectivity) {
        connectivityFeed.send(connectivity)
    }

    /// Shows this about a target from now on.
    public func show(unread snapshot: UnreadSnapshot, of target: Target) {
        feed(of: target).send(snapshot)
    }

    /// Shows these threads of a channel from now on.
    public func show(activity: ThreadActivity, of channel: ChannelId) {
        activityFeed(of: channel).send(activity)
    }

    /// Answers every question about cues with these.
    public func show(cues: Cues) {
        state.with { $0.cues = cues }
    }

    /// Opens this timeline when the app asks for the channel's or thread's it belongs to.
    public func add(_ timeline: FakeTimeline) {
        let status = timeline.now().status
        state.with { $0.timelines[Place(channel: status.channel, root: status.root)] = timeline }
    }

    /// Surfaces that were opened, oldest first.
    public func surfaces(of channel: ChannelId, root: EventId? = nil) -> [FakeSurface] {
        state.with { $0.surfaces[Place(channel: channel, root: root)] ?? [] }
    }

    // MARK: Asked by the app

    public func start() async throws(SessionError) { try await asked(.start) }
    public func ensure() async throws(SessionError) { try await asked(.ensure) }
    public func refresh() async throws(SessionError) { try await asked(.refresh) }
    public func retrySync() async throws(SessionError) { try await asked(.retrySync) }
    public func flush() async throws(SessionError) { try await asked(.flush) }
    public func settleLookups() async throws(SessionError) { try await asked(.settleLookups) }

    public var sidebar: Updates<SidebarSnapshot> { sidebarFeed.updates }
    public func sidebarNow() -> SidebarSnapshot { sidebarFeed.value }
    public func cues(placed: [Placed], viewport: Extent) throws(SessionError) -> Cues { state.with { $0.cues } }
    public func cues(first: UInt32, last: UInt32) -> Cues { state.with { $0.cues } }
    public var sync: Updates<SyncStatus> { syncFeed.updates }
    public func syncNow() -> SyncStatus { syncFeed.value }
    public var connectivity: Updates<Connectivity> { connectivityFeed.updates }
    public func connectivityNow() -> Connectivity { connectivityFeed.value }

    public func unread(_ target: Target) async throws(SessionError) -> Updates<UnreadSnapshot> {
        try await asked(.unread(target))
        return feed(of: target).updates
    }

    public func snapshot(_ target: Target) async throws(SessionError) -> UnreadSnapshot {
        try await asked(.snapshot(target))
        return feed(of: target).value
    }

    public func threadActivity(_ channel: ChannelId) async throws(SessionError) -> Updates<ThreadActivity> {
        try await asked(.threadActivity(channel))
        return activityFeed(of: channel).updates
    }

    public func activity(_ channel: ChannelId) async throws(SessionError) -> ThreadActivity {
        try await asked(.activity(channel))
        return activityFeed(of: channel).value
    }

    public func timeline(_ channel: ChannelId, pageSize: UInt32?, utcOffset: Int32) async throws(SessionError)
        -> any WaggleTimeline
    {
        try await asked(.timeline(channel))
        return try timeline(at: Place(channel: channel, root: nil))
    }

    public func thread(_ channel: ChannelId, root: EventId, pageSize: UInt32?, utcOffset: Int32) async throws(SessionError)
        -> any WaggleTimeline
    {
        try await asked(.thread(channel, root: root))
        return try timeline(at: Place(channel: channel, root: root))
    }

    public func surface(_ channel: ChannelId, root: EventId?) async throws(SessionError) -> any WaggleSurface {
        try await asked(.surface(channel, root: root))
        let surface = FakeSurface()
        state.with { $0.surfaces[Place(channel: channel, root: root), default: []].append(surface) }
        return surface
    }

    @discardableResult
    public func markThrough(_ target: Target, message: EventId) async throws(SessionError) -> Receipt {
        try await asked(.markThrough(target, message: message))
        return Receipt(sync: .pending)
    }

    @discardableResult
    public func markChannelRead(_ channel: ChannelId) async throws(SessionError) -> Receipt {
        try await asked(.markChannelRead(channel))
        return Receipt(sync: .pending)
    }

    @discardableResult
    public func markAllChannelsRead() async throws(SessionError) -> UInt32 {
        try await asked(.markAllChannelsRead)
        return 0
    }

    @discardableResult
    public func markUnread(_ target: Target) async throws(SessionError) -> Receipt {
        try await asked(.markUnread(target))
        return Receipt(sync: .localOnly)
    }

    @discardableResult
    public func clearUnread(_ target: Target) async throws(SessionError) -> Receipt {
        try await asked(.clearUnread(target))
        return Receipt(sync: .localOnly)
    }

    public func enterChannel(_ channel: ChannelId) async throws(SessionError) { try await asked(.enterChannel(channel)) }
    public func leaveChannel(_ channel: ChannelId) async throws(SessionError) { try await asked(.leaveChannel(channel)) }

    @discardableResult
    public func markMessageUnread(_ channel: ChannelId, message: EventId) async throws(SessionError) -> Receipt {
        try await asked(.markMessageUnread(channel, message: message))
        return Receipt(sync: .localOnly)
    }

    @discardableResult
    public func markMessageRead(_ channel: ChannelId, message: EventId) async throws(SessionError) -> Receipt {
        try await asked(.markMessageRead(channel, message: message))
        return Receipt(sync: .pending)
    }

    public func following(_ channel: ChannelId, root: EventId) async throws(SessionError) -> Bool {
        try await asked(.following(channel, root: root))
        return state.with { $0.following.contains(Place(channel: channel, root: root)) }
    }

    public func follow(_ channel: ChannelId, root: EventId, following: Bool) async throws(SessionError) {
        try await asked(.follow(channel, root: root, following: following))
        state.with { state in
            let place = Place(channel: channel, root: root)
            if following { state.following.insert(place) } else { state.following.remove(place) }
        }
    }

    public func mute(_ channel: ChannelId, muted: Bool) async throws(SessionError) {
        try await asked(.mute(channel, muted: muted))
    }

    public func presentAs(_ channel: ChannelId, _ presentation: PresentationClass) async throws(SessionError) {
        try await asked(.presentAs(channel, presentation))
    }

    public func suspend(budget: Duration) async throws(SessionError) { try await asked(.suspend(budget: budget)) }
    public func resume() async throws(SessionError) { try await asked(.resume) }
    public func networkChanged() async throws(SessionError) { try await asked(.networkChanged) }

    public func close() async throws(SessionError) {
        try await asked(.close)
        end()
    }

    public func leave() async throws(SessionError) {
        try await asked(.leave)
        end()
    }

    // MARK: Inside

    private func asked(_ call: FakeCall) async throws(SessionError) {
        let (script, closed) = state.with { state in
            state.calls.append(call)
            return (state.scripts[call], state.closed)
        }
        if closed { throw .Closed(failure: Fake.failure("closed")) }
        try await script?(self)
    }

    private func timeline(at place: Place) throws(SessionError) -> FakeTimeline {
        guard let timeline = state.with({ $0.timelines[place] }) else { throw .Denied(failure: Fake.failure("denied")) }
        return timeline
    }

    private func feed(of target: Target) -> FakeFeed<UnreadSnapshot> {
        state.with { state in
            let feed = state.unread[target] ?? FakeFeed(Fake.unread(observed: nil, attention: nil, coverage: .unknown))
            state.unread[target] = feed
            return feed
        }
    }

    private func activityFeed(of channel: ChannelId) -> FakeFeed<ThreadActivity> {
        state.with { state in
            let feed = state.activity[channel] ?? FakeFeed(ThreadActivity(items: nil))
            state.activity[channel] = feed
            return feed
        }
    }

    private func end() {
        let state = state.with { state in
            state.closed = true
            return state
        }
        sidebarFeed.close()
        syncFeed.close()
        connectivityFeed.close()
        state.unread.values.forEach { $0.close() }
        state.activity.values.forEach { $0.close() }
        state.timelines.values.forEach { $0.end() }
        state.surfaces.values.joined().forEach { $0.close() }
    }
}
