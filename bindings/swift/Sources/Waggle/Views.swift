// Views of single values are four generated classes of one shape; here they get a name for it.

import WaggleGenerated

/// A generated view of one value.
protocol ValueView: AnyObject, Sendable {
    associatedtype Value: Sendable
    /// Waits for a version newer than the one that was had last.
    func newer(than last: UInt64) async throws -> Versioned<Value>
    func cancel()
}

extension UnreadView: ValueView {
    func newer(than last: UInt64) async throws -> Versioned<UnreadSnapshot> {
        let update = try await next(after: last)
        return Versioned(version: update.version, value: update.value)
    }
}

extension ThreadActivityView: ValueView {
    func newer(than last: UInt64) async throws -> Versioned<ThreadActivity> {
        let update = try await next(after: last)
        return Versioned(version: update.version, value: update.value)
    }
}

extension SyncView: ValueView {
    func newer(than last: UInt64) async throws -> Versioned<SyncStatus> {
        let update = try await next(after: last)
        return Versioned(version: update.version, value: update.value)
    }
}

extension ConnectivityView: ValueView {
    func newer(than last: UInt64) async throws -> Versioned<Connectivity> {
        let update = try await next(after: last)
        return Versioned(version: update.version, value: update.value)
    }
}

extension LogStream: ValueView {
    func newer(than last: UInt64) async throws -> Versioned<LogBatch> {
        let batch = try await next(after: last)
        return Versioned(version: batch.version, value: batch)
    }
}

extension Steps {
    /// The steps of a view of one value.
    static func value<View: ValueView>(of view: View) -> Self where View.Value == Value {
        Steps(advance: { last in try await view.newer(than: last?.version ?? 0) }, cancel: { view.cancel() })
    }
}

/// A view that was opened before somebody iterates. The first iteration takes it, later ones open their own.
final class Handover<View: ValueView>: Sendable {
    private let view: Guarded<View?>

    init(_ view: View) {
        self.view = Guarded(view)
    }

    func take(or open: @Sendable () async throws -> View) async throws -> View {
        let ready = view.with { view in
            defer { view = nil }
            return view
        }
        if let ready { return ready }
        return try await open()
    }
}
