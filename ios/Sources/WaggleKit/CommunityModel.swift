public import Observation
public import Waggle

/// What is open over the channel list.
public enum Place: Hashable, Sendable {
    /// A channel's timeline.
    case channel(ChannelId)
    /// A thread's timeline.
    case thread(ChannelId, root: EventId)

    /// Its channel.
    public var channel: ChannelId {
        switch self {
        case .channel(let channel), .thread(let channel, _): channel
        }
    }
}

/// What lies over everything and is looked at instead of it.
public enum Sheet: Hashable, Identifiable, Sendable {
    /// What the core is doing, in all or about one place.
    case diagnostics(Place?)
    /// A channel's threads with unread replies.
    case activity(ChannelId)
    /// Communities and the account.
    case communities

    public var id: Self { self }
}

/// What is asked before something is done, or offered to be done.
public enum Question: Hashable, Sendable {
    /// Whether to mark every channel read.
    case markAllRead
    /// What to do with a message.
    case message(TimelineRow, Place)
    /// What to do with a timeline.
    case place(Place)
}

/// One community: its channel list, what is open over it, and what can be done. ``start()`` begins, ``close()`` ends it and waits for every file.
///
/// Actions answer at once; what goes wrong is told through ``notice``.
@MainActor @Observable public final class CommunityModel: Identifiable {
    /// Its host.
    public let host: String
    /// The channel list.
    public let sidebar: SidebarModel
    /// What the session is doing.
    public private(set) var connectivity: Connectivity?
    /// Read-state synchronisation.
    public private(set) var sync: SyncStatus?
    /// The community could not be opened.
    public private(set) var failure: Failure?
    /// What is to be told in passing.
    public private(set) var notice: Notice?
    /// What is open, the front-most last; empty for the channel list.
    public var path: [Place] = [] { didSet { if path != oldValue { pathChanged(from: oldValue) } } }
    /// What lies over everything.
    public var sheet: Sheet? { didSet { showFront() } }
    /// What is being asked.
    public var question: Question? { didSet { showFront() } }
    /// Something the model does not know of lies over everything.
    public var isCovered = false { didSet { showFront() } }

    @ObservationIgnored let session: any WaggleSession
    @ObservationIgnored private let lifecycle: SessionLifecycle
    @ObservationIgnored private let utcOffset: Int32
    @ObservationIgnored private let pace: ListGeometry.Pace
    @ObservationIgnored private var models: [Place: TimelineModel] = [:]
    @ObservationIgnored private var watching: [Task<Void, Never>] = []
    @ObservationIgnored private var inForeground = true
    @ObservationIgnored private var isActive = true
    @ObservationIgnored private var visits: Task<Void, Never>?
    @ObservationIgnored private var notices = 0

    /// A community that is not started yet.
    public init(
        host: String, session: any WaggleSession, settings: any ReaderSettings, utcOffset: Int32,
        pace: ListGeometry.Pace = .continuous
    ) {
        self.host = host
        self.session = session
        self.utcOffset = utcOffset
        self.pace = pace
        lifecycle = SessionLifecycle(session: session)
        sidebar = SidebarModel(settings: settings) { try? session.cues(placed: $0, viewport: $1) }
    }

    // MARK: Running

    /// Opens what this device holds and begins to connect; or tries that again after it failed.
    public func start() {
        failure = nil
        stopWatching()
        watch(session.sidebar) { $0.sidebar.take($1) }
        watch(session.connectivity) { $0.connectivity = $1 }
        watch(session.sync) { $0.sync = $1 }
        watching.append(
            Task { [weak self, session] in
                if Task.isCancelled { return }
                self?.failure = await failureOf { try await session.start() }
                if Task.isCancelled || self?.failure != nil { return }
                // A first look that fails shows in connectivity, which says what to do.
                try? await session.ensure()
            })
    }

    private func watch<Value: Sendable>(
        _ updates: Updates<Value>, _ take: @escaping @MainActor (CommunityModel, Value) -> Void
    ) {
        watching.append(
            Task { [weak self] in
                for await value in updates {
                    guard let self else { return }
                    take(self, value)
                }
            })
    }

    private func stopWatching() {
        watching.forEach { $0.cancel() }
        watching = []
    }

    /// Ends it and waits for every file.
    public func close() async {
        stopWatching()
        closeAll()
        await visits?.value
        try? await session.close()
    }

    /// Forgets this community on this device. It goes on when that fails.
    func leave() async throws(SessionError) {
        try await session.leave()
        stopWatching()
        closeAll()
    }

    private func closeAll() {
        path = []
        models.values.forEach { $0.close() }
        models = [:]
    }

    // MARK: What is open

    /// The model of an open place.
    public func timeline(_ place: Place) -> TimelineModel {
        if let model = models[place] { return model }
        let model: TimelineModel
        switch place {
        case .channel(let channel):
            model = TimelineModel(session: session, channel: channel, utcOffset: utcOffset, pace: pace)
        case .thread(let channel, let root):
            model = TimelineModel(session: session, channel: channel, root: root, utcOffset: utcOffset, pace: pace)
        }
        // A list that asks for a place that has gone, in its last drawing, gets one that keeps nothing open.
        if path.contains(place) { models[place] = model } else { model.close() }
        return model
    }

    /// Opens a place over what is open, unless it is in front.
    public func open(_ place: Place) {
        sheet = nil
        if path.last != place { path.append(place) }
    }

    /// Says where the app stands: in front or gone, and whether it takes touches.
    public func appeared(inForeground: Bool, isActive: Bool) {
        self.inForeground = inForeground
        self.isActive = isActive
        showFront()
    }

    private func pathChanged(from before: [Place]) {
        visit(from: before)
        for (place, model) in models where !path.contains(place) {
            model.close()
            models[place] = nil
        }
        showFront()
    }

    /// Says, in order, which channels the person came to look at and which were left. A thread opened by itself is no visit of its channel.
    private func visit(from before: [Place]) {
        let entered = path.filter { !before.contains($0) && $0 == .channel($0.channel) }.map(\.channel)
        let left = Set(before.map(\.channel)).subtracting(path.map(\.channel))
        guard !entered.isEmpty || !left.isEmpty else { return }
        let earlier = visits
        visits = Task { [session] in
            await earlier?.value
            // What these do is about marks by hand; a channel that is gone has none.
            for channel in left { try? await session.leaveChannel(channel) }
            for channel in entered { try? await session.enterChannel(channel) }
        }
    }

    /// Only the front-most timeline of an app in front has a surface, and only while nothing lies over it.
    private func showFront() {
        let clear = inForeground && sheet == nil && question == nil && !isCovered
        for (place, model) in models where place != path.last || !clear {
            model.shown(false)
        }
        guard clear, let front = path.last else { return }
        let model = timeline(front)
        model.active(isActive)
        model.shown(true)
    }

    // MARK: The app's life

    /// The app goes: nothing is read from this moment on, and what is unpublished is published in time.
    public func enterBackground() async {
        appeared(inForeground: false, isActive: false)
        await lifecycle.enterBackground()
    }

    /// The app is in front again.
    public func enterForeground() async {
        appeared(inForeground: true, isActive: isActive)
        await lifecycle.enterForeground()
    }

    /// The network changed, or the person wants to connect now.
    public func reconnect() async {
        await lifecycle.networkChanged()
    }

    /// Wakes for a moment in the background, publishes what is unpublished, and sleeps again unless the app came to the front meanwhile.
    public func publishInBackground() async {
        guard !inForeground else { return }
        await lifecycle.enterForeground()
        try? await session.flush()
        if !inForeground { await lifecycle.enterBackground() }
    }

    // MARK: What can be done

    /// Whether it is asked to mark every channel read, as dialogs take it: they end it by saying that it is not so.
    public var asksToMarkAll: Bool {
        get { question == .markAllRead }
        set { if !newValue, asksToMarkAll { question = nil } }
    }

    /// Whether it is asked what to do with a message.
    public var asksAboutMessage: Bool {
        get { if case .message = question { true } else { false } }
        set { if !newValue, asksAboutMessage { question = nil } }
    }

    /// Whether it is asked what to do with a timeline.
    public var asksAboutPlace: Bool {
        get { if case .place = question { true } else { false } }
        set { if !newValue, asksAboutPlace { question = nil } }
    }

    /// Marks a channel read.
    public func markRead(_ channel: ChannelId) {
        act(again: { $0.markRead(channel) }, { try await $0.markChannelRead(channel).sync })
    }

    /// Marks every channel read.
    public func markAllRead() {
        Task { [weak self, session] in
            var marked: UInt32 = 0
            let failed = await failureOf { marked = try await session.markAllChannelsRead() }
            if let failed { self?.complain(failed) { $0.markAllRead() } } else { self?.tell(.markedRead(marked)) }
        }
    }

    /// Reads a place through one of its messages.
    public func markRead(through row: TimelineRow, in place: Place) {
        let target = target(of: place)
        act(again: { $0.markRead(through: row, in: place) }, { try await $0.markThrough(target, message: row.id).sync })
    }

    /// Marks a message and its replies unread for as long as the channel is looked at.
    public func markUnread(_ row: TimelineRow, in place: Place) {
        act(again: { $0.markUnread(row, in: place) }, { try await $0.markMessageUnread(place.channel, message: row.id).sync })
    }

    /// Marks a message and its replies read.
    public func markRead(_ row: TimelineRow, in place: Place) {
        act(again: { $0.markRead(row, in: place) }, { try await $0.markMessageRead(place.channel, message: row.id).sync })
    }

    /// Marks a channel unread.
    public func markUnread(_ channel: ChannelId) {
        act(again: { $0.markUnread(channel) }, { try await $0.markUnread(.channel(channel: channel)).sync })
    }

    /// Mutes a channel or lets it be heard again.
    public func mute(_ channel: ChannelId, _ muted: Bool) {
        act(
            again: { $0.mute(channel, muted) },
            { session in
                try await session.mute(channel, muted: muted)
                return nil
            })
    }

    /// Follows the thread under a message, or no longer.
    public func follow(_ channel: ChannelId, root: EventId, _ following: Bool) {
        let model = models[.thread(channel, root: root)]
        act(
            again: { $0.follow(channel, root: root, following) },
            { session in
                try await session.follow(channel, root: root, following: following)
                await model?.followed(following)
                return nil
            })
    }

    /// Whether the thread under a message is followed; `nil` when it cannot be said.
    public func isFollowed(_ channel: ChannelId, root: EventId) async -> Bool? {
        try? await session.following(channel, root: root)
    }

    /// Publishes reading marks again after that failed.
    public func retrySync() {
        act(
            again: { $0.retrySync() },
            { session in
                try await session.retrySync()
                return nil
            })
    }

    /// Loads everything that counts again; ends when that is done.
    public func refresh() async {
        let session = session
        if let failed = await failureOf({ try await session.refresh() }) {
            complain(failed) { model in Task { await model.refresh() } }
        }
    }

    /// Says that text was copied.
    public func copied() {
        tell(.copied)
    }

    /// The notice has been seen.
    public func dismiss(_ seen: Notice) {
        if notice?.id == seen.id { notice = nil }
    }

    private func target(of place: Place) -> Target {
        switch place {
        case .channel(let channel): .channel(channel: channel)
        case .thread(let channel, let root): .thread(channel: channel, root: root)
        }
    }

    private func act(
        again: @escaping @MainActor @Sendable (CommunityModel) -> Void,
        _ call: @escaping @Sendable (any WaggleSession) async throws -> SyncOutlook?
    ) {
        Task { [weak self, session] in
            var outlook: SyncOutlook?
            let failed = await failureOf { outlook = try await call(session) }
            guard let self else { return }
            if let failed {
                complain(failed, again)
            } else if outlook == .localOnly {
                tell(.onThisDeviceOnly)
            }
        }
    }

    private func complain(_ failure: Failure, _ again: @escaping @MainActor @Sendable (CommunityModel) -> Void) {
        let repeating: @MainActor @Sendable () -> Void = { [weak self] in
            if let self { again(self) }
        }
        tell(.failed(failure), again: failure.canTryAgain ? repeating : nil)
    }

    private func tell(_ content: Notice.Content, again: (@MainActor @Sendable () -> Void)? = nil) {
        notices += 1
        notice = Notice(id: notices, content: content, again: again)
    }
}
