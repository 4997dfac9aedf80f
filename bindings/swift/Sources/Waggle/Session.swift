public import WaggleGenerated

/// One account in one community, from ``WaggleClient/session(host:)``. Start it, then read; close it and wait, so that every file is
/// released.
public final class Session: WaggleSession {
    private let generated: WaggleGenerated.Session
    /// Answers at once; sequences open views of their own.
    private let sidebarView: SidebarView
    private let syncView: SyncView
    private let connectivityView: ConnectivityView

    init(_ generated: WaggleGenerated.Session) {
        self.generated = generated
        sidebarView = generated.sidebar()
        syncView = generated.sync()
        connectivityView = generated.connectivity()
    }

    public var account: PublicKey { generated.account() }

    // MARK: Running

    public func start() async throws(SessionError) {
        try await sessionCall { try await generated.start() }
    }

    public func ensure() async throws(SessionError) {
        try await abandonable { [generated] in try await generated.ensure() }
    }

    public func refresh() async throws(SessionError) {
        try await abandonable { [generated] in try await generated.refresh() }
    }

    public func retrySync() async throws(SessionError) {
        try await abandonable { [generated] in try await generated.retrySync() }
    }

    public func flush() async throws(SessionError) {
        try await abandonable { [generated] in try await generated.flush() }
    }

    public func settleLookups() async throws(SessionError) {
        try await abandonable { [generated] in try await generated.settleLookups() }
    }

    // MARK: What is shown

    public var sidebar: Updates<SidebarSnapshot> {
        Updates { [generated] in
            let view = generated.sidebar()
            return .list(next: { try await view.next(after: $0) }, cancel: { view.cancel() }) { update, last in
                SidebarSnapshot(update, after: last?.rows ?? []).map { Versioned(version: $0.version, value: $0) }
            }
        }
    }

    public func sidebarNow() -> SidebarSnapshot {
        SidebarSnapshot(whole: sidebarView.current())
    }

    public func cues(placed: [Placed], viewport: Extent) throws(SessionError) -> Cues {
        try sessionCall { try sidebarView.cues(placed: placed, viewport: viewport) }
    }

    public func cues(first: UInt32, last: UInt32) -> Cues {
        sidebarView.cuesOfRange(first: first, last: last)
    }

    public var sync: Updates<SyncStatus> {
        Updates { [generated] in .value(of: generated.sync()) }
    }

    public func syncNow() -> SyncStatus {
        syncView.current().value
    }

    public var connectivity: Updates<Connectivity> {
        Updates { [generated] in .value(of: generated.connectivity()) }
    }

    public func connectivityNow() -> Connectivity {
        connectivityView.current().value
    }

    public func unread(_ target: Target) async throws(SessionError) -> Updates<UnreadSnapshot> {
        let open = { @Sendable [generated] in try await generated.unread(target: target) }
        let first = Handover(try await sessionCall(open))
        return Updates { .value(of: try await first.take(or: open)) }
    }

    public func snapshot(_ target: Target) async throws(SessionError) -> UnreadSnapshot {
        try await sessionCall { try await generated.snapshot(target: target) }
    }

    public func threadActivity(_ channel: ChannelId) async throws(SessionError) -> Updates<ThreadActivity> {
        let open = { @Sendable [generated] in try await generated.threadActivity(channel: channel) }
        let first = Handover(try await sessionCall(open))
        return Updates { .value(of: try await first.take(or: open)) }
    }

    public func activity(_ channel: ChannelId) async throws(SessionError) -> ThreadActivity {
        try await sessionCall { try await generated.activity(channel: channel) }
    }

    public func timeline(_ channel: ChannelId, pageSize: UInt32?, utcOffset: Int32) async throws(SessionError)
        -> any WaggleTimeline
    {
        let options = TimelineOptions(limit: pageSize, utcOffset: utcOffset)
        return try await abandonable { [generated] in
            Timeline(try await generated.timeline(channel: channel, options: options))
        }
    }

    public func thread(_ channel: ChannelId, root: EventId, pageSize: UInt32?, utcOffset: Int32) async throws(SessionError)
        -> any WaggleTimeline
    {
        let options = TimelineOptions(limit: pageSize, utcOffset: utcOffset)
        return try await abandonable { [generated] in
            Timeline(try await generated.thread(channel: channel, root: root, options: options))
        }
    }

    // MARK: Reading

    public func surface(_ channel: ChannelId, root: EventId?) async throws(SessionError) -> any WaggleSurface {
        try await sessionCall { ReadingSurface(try await generated.surface(channel: channel, root: root)) }
    }

    @discardableResult
    public func markThrough(_ target: Target, message: EventId) async throws(SessionError) -> Receipt {
        try await sessionCall { try await generated.markThrough(target: target, message: message) }
    }

    @discardableResult
    public func markChannelRead(_ channel: ChannelId) async throws(SessionError) -> Receipt {
        try await sessionCall { try await generated.markChannelRead(channel: channel) }
    }

    @discardableResult
    public func markAllChannelsRead() async throws(SessionError) -> UInt32 {
        try await sessionCall { try await generated.markAllChannelsRead() }
    }

    @discardableResult
    public func markUnread(_ target: Target) async throws(SessionError) -> Receipt {
        try await sessionCall { try await generated.markUnread(target: target) }
    }

    @discardableResult
    public func clearUnread(_ target: Target) async throws(SessionError) -> Receipt {
        try await sessionCall { try await generated.clearUnread(target: target) }
    }

    // MARK: Looking at a channel

    public func enterChannel(_ channel: ChannelId) async throws(SessionError) {
        try await sessionCall { try await generated.enterChannel(channel: channel) }
    }

    public func leaveChannel(_ channel: ChannelId) async throws(SessionError) {
        try await sessionCall { try await generated.leaveChannel(channel: channel) }
    }

    @discardableResult
    public func markMessageUnread(_ channel: ChannelId, message: EventId) async throws(SessionError) -> Receipt {
        try await sessionCall { try await generated.markMessageUnread(channel: channel, message: message) }
    }

    @discardableResult
    public func markMessageRead(_ channel: ChannelId, message: EventId) async throws(SessionError) -> Receipt {
        try await sessionCall { try await generated.markMessageRead(channel: channel, message: message) }
    }

    // MARK: Choices

    public func following(_ channel: ChannelId, root: EventId) async throws(SessionError) -> Bool {
        try await abandonable { [generated] in try await generated.following(channel: channel, root: root) }
    }

    public func follow(_ channel: ChannelId, root: EventId, following: Bool) async throws(SessionError) {
        try await sessionCall { try await generated.follow(channel: channel, root: root, following: following) }
    }

    public func mute(_ channel: ChannelId, muted: Bool) async throws(SessionError) {
        try await abandonable { [generated] in try await generated.mute(channel: channel, muted: muted) }
    }

    public func presentAs(_ channel: ChannelId, _ presentation: PresentationClass) async throws(SessionError) {
        try await sessionCall { try await generated.presentAs(channel: channel, presentation: presentation) }
    }

    // MARK: The app's life

    public func suspend(budget: Duration) async throws(SessionError) {
        let milliseconds = budget.wholeMilliseconds
        try await sessionCall { try await generated.suspend(budgetMs: milliseconds) }
    }

    public func resume() async throws(SessionError) {
        try await sessionCall { try await generated.resume() }
    }

    public func networkChanged() async throws(SessionError) {
        try await sessionCall { try await generated.networkChanged() }
    }

    public func close() async throws(SessionError) {
        try await sessionCall { try await generated.close() }
    }

    public func leave() async throws(SessionError) {
        try await sessionCall { try await generated.leave() }
    }
}

/// An open timeline of the core, from ``WaggleSession/timeline(_:pageSize:utcOffset:)`` or
/// ``WaggleSession/thread(_:root:pageSize:utcOffset:)``.
public final class Timeline: WaggleTimeline {
    private let generated: WaggleGenerated.Timeline
    private let view: TimelineView

    init(_ generated: WaggleGenerated.Timeline) {
        self.generated = generated
        view = generated.view()
    }

    public var rows: Updates<TimelineSnapshot> {
        Updates { [generated] in
            let view = generated.view()
            return .list(next: { try await view.next(after: $0) }, cancel: { view.cancel() }) { update, last in
                TimelineSnapshot(update, after: last?.rows ?? []).map { Versioned(version: $0.version, value: $0) }
            }
        }
    }

    public func now() -> TimelineSnapshot {
        TimelineSnapshot(whole: view.current())
    }

    public func loadOlder() async throws(SessionError) {
        try await abandonable { [generated] in try await generated.loadOlder() }
    }

    @discardableResult
    public func jumpToFirstUnread() async throws(SessionError) -> Bool {
        try await abandonable { [generated] in try await generated.jumpToFirstUnread() }
    }

    public func close() async throws(SessionError) {
        try await sessionCall { try await generated.close() }
    }
}

/// A reading surface of the core, from ``WaggleSession/surface(_:root:)``. It closes when the last reference goes.
public final class ReadingSurface: WaggleSurface {
    private let generated: WaggleGenerated.ReadingSurface

    init(_ generated: WaggleGenerated.ReadingSurface) {
        self.generated = generated
    }

    deinit {
        generated.close()
    }

    public func report(_ viewport: Viewport) throws(SessionError) {
        try sessionCall { try generated.report(viewport: viewport) }
    }

    public func close() {
        generated.close()
    }
}

extension Duration {
    /// Milliseconds, rounded down; none for what is negative, and never too many for Rust.
    var wholeMilliseconds: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000)
        return overflow ? .max : product &+ UInt64(attoseconds / 1_000_000_000_000_000)
    }
}
