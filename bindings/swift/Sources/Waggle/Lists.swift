// Lists cross as the rows that changed. They are put together here, once for each list, by one function.
//
// A step that does not fit the rows held (which only a fault could bring) changes nothing and asks for everything again.

import WaggleGenerated

/// One step from the rows held to newer ones.
enum Step<Row> {
    case insert(at: Int, Row)
    case update(at: Int, Row)
    case remove(at: Int)
}

/// Applies steps in order; `nil` when one does not fit.
func applying<Row>(_ steps: some Sequence<Step<Row>>, to rows: [Row]) -> [Row]? {
    var rows = rows
    for step in steps {
        switch step {
        case .insert(let at, let row):
            guard rows.indices.contains(at) || at == rows.endIndex else { return nil }
            rows.insert(row, at: at)
        case .update(let at, let row):
            guard rows.indices.contains(at) else { return nil }
            rows[at] = row
        case .remove(let at):
            guard rows.indices.contains(at) else { return nil }
            rows.remove(at: at)
        }
    }
    return rows
}

/// The sidebar at one moment: its rows in drawing order.
public struct SidebarSnapshot: Sendable, Hashable {
    /// The rows, in drawing order.
    public let rows: [SidebarRow]
    /// The channels shown are restored from this device and not confirmed by the relay yet.
    public let cached: Bool
    /// Grows with every change.
    public let version: UInt64

    /// A snapshot of these rows. Apps get theirs from ``WaggleSession/sidebar``; this is for previews and tests.
    public init(rows: [SidebarRow], cached: Bool = false, version: UInt64 = 1) {
        self.rows = rows
        self.cached = cached
        self.version = version
    }
}

/// A timeline at one moment: its rows, oldest first, and everything else about it.
public struct TimelineSnapshot: Sendable, Hashable {
    /// The rows, oldest first.
    public let rows: [TimelineRow]
    /// Everything but the rows.
    public let status: TimelineStatus
    /// Grows with every change.
    public let version: UInt64

    /// A snapshot of these rows. Apps get theirs from ``WaggleTimeline/rows``; this is for previews and tests.
    public init(rows: [TimelineRow], status: TimelineStatus, version: UInt64 = 1) {
        self.rows = rows
        self.status = status
        self.version = version
    }
}

extension SidebarSnapshot {
    /// A view's current state, which is always whole.
    init(whole update: SidebarUpdate) {
        self = SidebarSnapshot(update, after: []) ?? SidebarSnapshot(rows: [], cached: update.cached, version: update.version)
    }

    /// What an update makes of the rows before it; `nil` when it does not fit them.
    init?(_ update: SidebarUpdate, after before: [SidebarRow]) {
        switch update.rows {
        case .reset(let rows):
            self.init(rows: rows, cached: update.cached, version: update.version)
        case .changes(let changes):
            guard let rows = applying(changes.lazy.map(\.step), to: before) else { return nil }
            self.init(rows: rows, cached: update.cached, version: update.version)
        }
    }
}

extension TimelineSnapshot {
    /// A view's current state, which is always whole.
    init(whole update: TimelineUpdate) {
        self = TimelineSnapshot(update, after: []) ?? TimelineSnapshot(rows: [], status: update.status, version: update.version)
    }

    /// What an update makes of the rows before it; `nil` when it does not fit them.
    init?(_ update: TimelineUpdate, after before: [TimelineRow]) {
        switch update.rows {
        case .reset(let rows):
            self.init(rows: rows, status: update.status, version: update.version)
        case .changes(let changes):
            guard let rows = applying(changes.lazy.map(\.step), to: before) else { return nil }
            self.init(rows: rows, status: update.status, version: update.version)
        }
    }
}

extension SidebarChange {
    fileprivate var step: Step<SidebarRow> {
        switch self {
        case .insert(let at, let row): .insert(at: Int(at), row)
        case .update(let at, let row): .update(at: Int(at), row)
        case .remove(let at): .remove(at: Int(at))
        }
    }
}

extension TimelineChange {
    fileprivate var step: Step<TimelineRow> {
        switch self {
        case .insert(let at, let row): .insert(at: Int(at), row)
        case .update(let at, let row): .update(at: Int(at), row)
        case .remove(let at): .remove(at: Int(at))
        }
    }
}

extension Steps {
    /// The steps of a list's view: what changed is applied to what was had last; when that does not fit, everything is asked for.
    static func list<Update: Sendable>(
        next: @escaping @Sendable (UInt64) async throws -> Update,
        cancel: @escaping @Sendable () -> Void,
        apply: @escaping @Sendable (Update, Value?) -> Versioned<Value>?
    ) -> Self {
        Steps(
            advance: { last in
                if let fits = apply(try await next(last?.version ?? 0), last?.value) { return fits }
                if let whole = apply(try await next(0), nil) { return whole }
                throw ViewError.Failed(failure: .inside)
            }, cancel: cancel)
    }
}
