public import Observation
public import Waggle

/// Where a timeline's screen is to scroll.
public struct ScrollGoal: Sendable, Hashable {
    /// The item to show.
    public let item: String
    /// At the upper edge, or at the lower one.
    public let atTop: Bool
}

/// One channel's or thread's timeline on a screen. It opens by itself and tries again when asked; ``close()`` ends it.
///
/// It keeps a reading surface while it is shown, and gives it back at once when that ends.
@MainActor @Observable public final class TimelineModel {
    /// The channel.
    public let channel: ChannelId
    /// The root, for a thread.
    public let root: EventId?

    /// Oldest first; empty until it is open.
    public private(set) var items: [TimelineItem] = []
    /// Everything but the rows; `nil` until it is open.
    public private(set) var status: TimelineStatus?
    /// More rows are being loaded because the person asked for them.
    public private(set) var isLoading = false
    /// Why opening or loading failed; the rows stay.
    public private(set) var failure: Failure?
    /// What is known about what is unread here.
    public private(set) var unread: UnreadSnapshot?
    /// Whether the thread is followed; `nil` for a channel and until known.
    public private(set) var isFollowed: Bool?
    /// Where the screen is to scroll.
    public private(set) var goal: ScrollGoal?

    /// The list shows its end.
    public private(set) var isAtEnd = true

    /// Takes where rows lie.
    @ObservationIgnored public private(set) var geometry: ListGeometry

    @ObservationIgnored private let session: any WaggleSession
    /// Seconds east of UTC by which its days begin.
    @ObservationIgnored public let utcOffset: Int32
    @ObservationIgnored private let reporter: ViewportReporter
    @ObservationIgnored private var timeline: (any WaggleTimeline)?
    @ObservationIgnored private var opening: Task<Void, Never>?
    @ObservationIgnored private var paging: Task<Void, Never>?
    @ObservationIgnored private var facts: [Task<Void, Never>] = []
    @ObservationIgnored private var isShown = false
    @ObservationIgnored private var isClosed = false

    /// Opens a channel's timeline, or with a root a thread's.
    public init(
        session: any WaggleSession, channel: ChannelId, root: EventId? = nil, utcOffset: Int32,
        pace: ListGeometry.Pace = .continuous
    ) {
        self.session = session
        self.channel = channel
        self.root = root
        self.utcOffset = utcOffset
        let reporter = ViewportReporter()
        self.reporter = reporter
        geometry = ListGeometry(pace: pace) { _ in }
        geometry = ListGeometry(pace: pace) { [weak self] in
            reporter.layout($0)
            if let self, isAtEnd != $0.atEnd { isAtEnd = $0.atEnd }
        }
        open()
        watch()
    }

    /// What marks made here are about.
    public var target: Target {
        if let root { .thread(channel: channel, root: root) } else { .channel(channel: channel) }
    }

    /// The first row that was unread when the screen opened is known.
    public var canJumpToFirstUnread: Bool { status?.firstUnread != nil }

    // MARK: Rows

    /// Opens it, or tries again after that failed.
    public func open() {
        guard opening == nil, !isClosed else { return }
        failure = nil
        opening = Task { [weak self, session, channel, root, utcOffset] in
            var opened: (any WaggleTimeline)?
            let failure = await failureOf {
                if let root {
                    opened = try await session.thread(channel, root: root, utcOffset: utcOffset)
                } else {
                    opened = try await session.timeline(channel, utcOffset: utcOffset)
                }
            }
            guard let self, !self.isClosed else {
                try? await opened?.close()
                return
            }
            timeline = opened
            if let failure {
                self.failure = failure
                opening = nil
                return
            }
            guard let rows = opened?.rows else { return }
            for await snapshot in rows {
                take(snapshot)
                if isClosed { return }
            }
        }
    }

    private func take(_ snapshot: TimelineSnapshot) {
        items = timelineItems(snapshot, utcOffset: utcOffset)
        status = snapshot.status
        geometry.newest(newestRow(snapshot))
    }

    private func watch() {
        facts.append(
            Task { [weak self, session, target] in
                guard let updates = try? await session.unread(target) else { return }
                for await unread in updates {
                    guard let self else { return }
                    self.unread = unread
                }
            })
        guard let root else { return }
        facts.append(
            Task { [weak self, session, channel] in
                let following = try? await session.following(channel, root: root)
                self?.isFollowed = following
            })
    }

    /// Loads one more page. One at a time; one that failed is not repeated until ``tryAgain()``.
    public func loadMore() {
        guard failure == nil, status?.more == .yes || status?.gap != nil else { return }
        page { try await $0.loadOlder() }
    }

    /// Repeats what failed.
    public func tryAgain() {
        failure = nil
        if timeline == nil { open() } else { page { try await $0.loadOlder() } }
    }

    private func page(_ load: @escaping @MainActor (any WaggleTimeline) async throws -> Void) {
        guard let timeline, paging == nil else { return }
        isLoading = true
        failure = nil
        paging = Task { [weak self] in
            let failure = await failureOf { try await load(timeline) }
            guard let self else { return }
            self.failure = failure
            isLoading = false
            paging = nil
        }
    }

    // MARK: Scrolling

    /// Loads up to the first unread row and asks the screen to show it.
    public func jumpToFirstUnread() {
        page { [weak self] timeline in
            guard try await timeline.jumpToFirstUnread(), let self else { return }
            // The rows may be newer than what the list was told.
            take(timeline.now())
            aim(at: .firstUnread, atTop: true)
        }
    }

    /// Asks the screen to show the newest row.
    public func jumpToLatest() {
        if let last = items.last { aim(at: last, atTop: false) }
    }

    private func aim(at item: TimelineItem, atTop: Bool) {
        goal = ScrollGoal(item: item.id, atTop: atTop)
        geometry.positioning(true)
    }

    /// The screen has scrolled there.
    public func arrived() {
        goal = nil
        geometry.positioning(false)
    }

    // MARK: Reading

    /// Whether its screen is in front, of an app that is in front, with nothing over it. When not, nothing is read from this moment on.
    func shown(_ shown: Bool) {
        guard shown != isShown, !isClosed else { return }
        isShown = shown
        guard shown else { return reporter.detach() }
        Task { [weak self, session, channel, root] in
            // A channel that can only be looked at has no surface: what is seen there counts nowhere.
            guard let surface = try? await session.surface(channel, root: root) else { return }
            guard let self, self.isShown, !self.isClosed, !self.reporter.isAttached else { return surface.close() }
            self.reporter.attach(surface)
        }
    }

    /// Whether there is a surface that hears what shows.
    var isReading: Bool { reporter.isAttached }

    /// Whether the app takes the person's touches.
    func active(_ active: Bool) {
        reporter.active(active)
    }

    /// The follow choice was changed from here.
    func followed(_ following: Bool) {
        if root != nil { isFollowed = following }
    }

    /// Ends it. Its surface is closed when this returns; the rest follows.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        isShown = false
        reporter.close()
        geometry.reset()
        facts.forEach { $0.cancel() }
        opening?.cancel()
        if let timeline {
            Task { try? await timeline.close() }
        }
    }
}
