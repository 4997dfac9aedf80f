// What apps program against, so that `WaggleFakes` fits in their tests and previews. `Session`, `Timeline` and `ReadingSurface` are
// the real ones.

public import WaggleGenerated

/// One account in one community. ``Session`` is the real one.
///
/// Calls that wait for a network stop waiting when their task is cancelled: they throw `Cancelled`, and what had begun goes on without
/// them. Changes (marks, follow choices, presentation) and ``close()`` are short and always run to their end.
public protocol WaggleSession: AnyObject, Sendable {
    /// The account the session belongs to.
    var account: PublicKey { get }

    // MARK: Running

    /// Makes the session *locally ready*: what this device holds can be read when this returns, whatever the network does. Connecting
    /// begins and goes on by itself. Fails with `Storage` when reading marks cannot be opened; nothing is changed then.
    func start() async throws(SessionError)

    /// First bounded look at markers and messages. Concurrent calls share it; after a failure it fails at once with the standing error
    /// until ``refresh()`` or a reconnect.
    func ensure() async throws(SessionError)

    /// Loads markers and then everything that counts again, in full.
    func refresh() async throws(SessionError)

    /// Loads markers again, then publishes what is unpublished. Fails with the outcome.
    func retrySync() async throws(SessionError)

    /// Publishes what is unpublished now. Fails with the outcome.
    func flush() async throws(SessionError)

    /// Completes when no conversation look-up is queued, running or waiting to be tried again.
    func settleLookups() async throws(SessionError)

    // MARK: What is shown

    /// The sidebar: its rows, ready to draw.
    var sidebar: Updates<SidebarSnapshot> { get }

    /// The sidebar now.
    func sidebarNow() -> SidebarSnapshot

    /// What lies beyond the edges of the visible part of the sidebar, for rows at measured places. Fails with `InvalidArgument` for a
    /// channel id that is none.
    func cues(placed: [Placed], viewport: Extent) throws(SessionError) -> Cues

    /// What lies beyond the edges when the newest rows from index `first` to `last` show, if only partly. `first` above `last`: none shows.
    func cues(first: UInt32, last: UInt32) -> Cues

    /// Read-state synchronisation.
    var sync: Updates<SyncStatus> { get }

    /// Read-state synchronisation now.
    func syncNow() -> SyncStatus

    /// What the session is doing, in words a person can be shown.
    var connectivity: Updates<Connectivity> { get }

    /// What the session is doing now.
    func connectivityNow() -> Connectivity

    /// What is unread about a target, as it changes. Fails with `Capacity` when too many are in use.
    func unread(_ target: Target) async throws(SessionError) -> Updates<UnreadSnapshot>

    /// What is unread about a target now. Never fails for want of knowledge: what cannot be known is absent.
    func snapshot(_ target: Target) async throws(SessionError) -> UnreadSnapshot

    /// A channel's threads with unread replies, as they change.
    func threadActivity(_ channel: ChannelId) async throws(SessionError) -> Updates<ThreadActivity>

    /// A channel's threads with unread replies now.
    func activity(_ channel: ChannelId) async throws(SessionError) -> ThreadActivity

    /// Opens a channel's timeline: with its first page, or at once with what is held while offline.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - pageSize: Rows a page, 1 to 200; `nil` takes 50.
    ///   - utcOffset: Seconds east of UTC by which days begin.
    func timeline(_ channel: ChannelId, pageSize: UInt32?, utcOffset: Int32) async throws(SessionError) -> any WaggleTimeline

    /// Opens a thread's timeline by its root.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - root: The message the thread answers.
    ///   - pageSize: Rows a page, 1 to 500; `nil` takes 100.
    ///   - utcOffset: Seconds east of UTC by which days begin.
    func thread(_ channel: ChannelId, root: EventId, pageSize: UInt32?, utcOffset: Int32) async throws(SessionError)
        -> any WaggleTimeline

    // MARK: Reading

    /// Opens a reading surface for a channel's timeline, or with a root for a thread's.
    func surface(_ channel: ChannelId, root: EventId?) async throws(SessionError) -> any WaggleSurface

    /// Reads a target through one of its messages, unloaded earlier ones included. Not for what is merely visible: use a surface.
    @discardableResult
    func markThrough(_ target: Target, message: EventId) async throws(SessionError) -> Receipt

    /// Marks a channel read through now or its newest message, and ends its manual marks.
    @discardableResult
    func markChannelRead(_ channel: ChannelId) async throws(SessionError) -> Receipt

    /// Marks every channel with something unread as read; answers how many were saved. One failure does not stop the rest; the first is
    /// the call's error at the end.
    @discardableResult
    func markAllChannelsRead() async throws(SessionError) -> UInt32

    /// Marks a target unread, on this device only.
    @discardableResult
    func markUnread(_ target: Target) async throws(SessionError) -> Receipt

    /// Takes ``markUnread(_:)`` back.
    @discardableResult
    func clearUnread(_ target: Target) async throws(SessionError) -> Receipt

    // MARK: Looking at a channel

    /// A person came to a channel to look at it: ends the mark that ``markMessageUnread(_:message:)`` left behind on an earlier visit. A
    /// jump to one message or thread is no such visit.
    func enterChannel(_ channel: ChannelId) async throws(SessionError)

    /// The person left it: what was marked message by message counts by what was read again, and the channel stays marked.
    func leaveChannel(_ channel: ChannelId) async throws(SessionError)

    /// Marks a message and its loaded replies unread for as long as the channel is being looked at, on this device only.
    @discardableResult
    func markMessageUnread(_ channel: ChannelId, message: EventId) async throws(SessionError) -> Receipt

    /// Marks a message and its loaded replies read and ends the manual marks on them.
    @discardableResult
    func markMessageRead(_ channel: ChannelId, message: EventId) async throws(SessionError) -> Receipt

    // MARK: Choices

    /// Whether the thread under `root` is one of the viewer's conversations, by choice or participation.
    func following(_ channel: ChannelId, root: EventId) async throws(SessionError) -> Bool

    /// Follows or unfollows a thread, on this device only. Fails without change when it cannot be saved.
    func follow(_ channel: ChannelId, root: EventId, following: Bool) async throws(SessionError)

    /// Mutes or unmutes a channel on all devices; counts once the relay has accepted it.
    func mute(_ channel: ChannelId, muted: Bool) async throws(SessionError)

    /// Says how the app presents a conversation; the sidebar follows.
    func presentAs(_ channel: ChannelId, _ presentation: PresentationClass) async throws(SessionError)

    // MARK: The app's life

    /// The app goes to the background: publishes what can be published within the budget, then closes the socket.
    func suspend(budget: Duration) async throws(SessionError)

    /// The app is back.
    func resume() async throws(SessionError)

    /// The system says that the network changed or is back: connects at once instead of waiting.
    func networkChanged() async throws(SessionError)

    /// Publishes what can be published at once, then ends the session and everything that was opened with it. When it returns, every file
    /// and lock is released.
    func close() async throws(SessionError)

    /// Forgets this community's state on this device, and only that; the session ends with it.
    func leave() async throws(SessionError)
}

extension WaggleSession {
    /// Opens a channel's timeline with pages of the usual size.
    public func timeline(_ channel: ChannelId, utcOffset: Int32 = 0) async throws(SessionError) -> any WaggleTimeline {
        try await timeline(channel, pageSize: nil, utcOffset: utcOffset)
    }

    /// Opens a thread's timeline with pages of the usual size.
    public func thread(_ channel: ChannelId, root: EventId, utcOffset: Int32 = 0) async throws(SessionError) -> any WaggleTimeline {
        try await thread(channel, root: root, pageSize: nil, utcOffset: utcOffset)
    }

    /// Opens a reading surface for a channel's timeline.
    public func surface(_ channel: ChannelId) async throws(SessionError) -> any WaggleSurface {
        try await surface(channel, root: nil)
    }
}

/// An open timeline of a channel or of a thread. ``Timeline`` is the real one.
///
/// Close it when its screen goes; it also closes when the last reference goes.
public protocol WaggleTimeline: AnyObject, Sendable {
    /// The rows and everything about them, as they change. Ends when the timeline closes.
    var rows: Updates<TimelineSnapshot> { get }

    /// The rows now.
    func now() -> TimelineSnapshot

    /// One more page: an older one for a channel, the next one for a thread. Does nothing when there is none. An open gap is filled first.
    /// The rows stay as they were when it fails.
    func loadOlder() async throws(SessionError)

    /// Pages until the first unread row of this visit is among the rows; answers whether it is.
    @discardableResult
    func jumpToFirstUnread() async throws(SessionError) -> Bool

    /// Ends it; when this returns, it is closed. Idempotent.
    func close() async throws(SessionError)
}

/// One place where messages are read, on one screen. ``ReadingSurface`` is the real one.
///
/// Report whenever what is visible changes; close it when the screen goes. Waggle decides what counts as read.
public protocol WaggleSurface: AnyObject, Sendable {
    /// Says what the surface shows now. Never waits. Ignored after ``close()``; fails with `InvalidArgument` for an id that is none, and
    /// the report counts for nothing then.
    func report(_ viewport: Viewport) throws(SessionError)

    /// Ends the surface: a running dwell reads nothing, and a save that still waits is void. Idempotent.
    func close()
}
