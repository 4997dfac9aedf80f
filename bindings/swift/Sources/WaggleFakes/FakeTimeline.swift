public import Waggle
public import WaggleGenerated

/// A timeline whose rows a test or a preview gives.
public final class FakeTimeline: WaggleTimeline {
    private struct State {
        var older: [[TimelineRow]]
        var failure: SessionError?
        var loads = 0
    }

    private let feed: FakeFeed<TimelineSnapshot>
    private let state: Guarded<State>

    /// A timeline that shows these rows.
    ///
    /// - Parameters:
    ///   - rows: The rows, oldest first.
    ///   - older: Pages that ``loadOlder()`` brings, the next one first, each with its oldest row first. While there are some, the
    ///     status says that there is more.
    ///   - status: Everything else; its channel and root say which timeline it is.
    public init(rows: [TimelineRow] = [], older: [[TimelineRow]] = [], status: TimelineStatus = Fake.status()) {
        feed = FakeFeed(TimelineSnapshot(rows: rows, status: older.isEmpty ? status : status.with(more: .yes)))
        state = Guarded(State(older: older))
    }

    // MARK: The script

    /// Shows these rows from now on, and this status if there is one.
    public func show(_ rows: [TimelineRow], status: TimelineStatus? = nil) {
        feed.update { $0 = TimelineSnapshot(rows: rows, status: status ?? $0.status, version: $0.version + 1) }
    }

    /// Shows one more row, at the bottom.
    public func append(_ row: TimelineRow) {
        feed.update { $0 = TimelineSnapshot(rows: $0.rows + [row], status: $0.status, version: $0.version + 1) }
    }

    /// Lets paging fail, or no longer.
    public func fail(with error: SessionError?) {
        state.with { $0.failure = error }
    }

    /// How many pages were asked for.
    public var loads: Int { state.with { $0.loads } }

    /// How many iterations of the rows are under way.
    public var iterations: Int { feed.iterations }

    // MARK: Asked by the app

    public var rows: Updates<TimelineSnapshot> { feed.updates }
    public func now() -> TimelineSnapshot { feed.value }

    public func loadOlder() async throws(SessionError) {
        let (failure, page, last) = state.with { state in
            state.loads += 1
            if let failure = state.failure { return (failure as SessionError?, [] as [TimelineRow], false) }
            let page = state.older.isEmpty ? [] : state.older.removeFirst()
            return (nil, page, state.older.isEmpty)
        }
        if let failure { throw failure }
        if page.isEmpty { return }
        feed.update {
            let status = last ? $0.status.with(more: .no) : $0.status
            $0 = TimelineSnapshot(rows: page + $0.rows, status: status, version: $0.version + 1)
        }
    }

    @discardableResult
    public func jumpToFirstUnread() async throws(SessionError) -> Bool {
        guard let first = feed.value.status.firstUnread else { return false }
        while !feed.value.rows.contains(where: { $0.id == first }) {
            if state.with({ $0.older.isEmpty }) { return false }
            try await loadOlder()
        }
        return true
    }

    public func close() async throws(SessionError) {
        end()
    }

    func end() {
        feed.close()
    }
}

extension TimelineStatus {
    fileprivate func with(more: More) -> TimelineStatus {
        TimelineStatus(
            channel: channel, root: root, more: more, gap: gap, firstUnread: firstUnread, loading: loading, restored: restored,
            trust: trust, error: error)
    }
}

/// A surface that notes down what it is told.
public final class FakeSurface: WaggleSurface {
    private let state = Guarded((reports: [] as [Viewport], closed: false))

    /// A surface nobody has reported to.
    public init() {}

    /// What was reported before the close, oldest first.
    public var reports: [Viewport] { state.with { $0.reports } }

    /// Whether it was closed.
    public var isClosed: Bool { state.with { $0.closed } }

    public func report(_ viewport: Viewport) throws(SessionError) {
        state.with { if !$0.closed { $0.reports.append(viewport) } }
    }

    public func close() {
        state.with { $0.closed = true }
    }
}
