// The one way in which changing things reach an app: versioned pull as an `AsyncSequence`.
//
// An iteration opens a view of its own and asks it for whatever is newer than the version it had last. Nothing is queued, so a slow
// reader gets the newest value next and never an old one twice. When the task is cancelled, when the loop is left and when the session
// closes, the view is cancelled, which ends its wait in Rust: UniFFI does not carry a task's cancellation across. Nothing is lost by
// that: the next iteration begins with the newest value.

/// Values of something that changes, newest last: the current one at once, then each newer one.
///
/// ```swift
/// for await sidebar in session.sidebar {
///     rows = sidebar.rows
/// }
/// ```
///
/// It ends when the session closes or the task is cancelled. It may be iterated as often as wanted, at the same time too; every
/// iteration has its own place. Versions that nobody was ready for are skipped, the newest one never.
///
/// A fault inside Waggle ends it as well, and every call of the session says so from then on; ``throwing`` tells the two apart.
public struct Updates<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value

    private let open: @Sendable () async throws -> Steps<Value>

    /// A sequence that opens a view for each iteration.
    package init(open: @escaping @Sendable () async throws -> Steps<Value>) {
        self.open = open
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(walk: Walk(open))
    }

    /// The same values, with a failure thrown instead of ending the sequence. A close and a cancellation still end it.
    public var throwing: ThrowingUpdates<Value> {
        ThrowingUpdates(open: open)
    }

    /// One way through the values. Letting go of it ends its view.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        let walk: Walk<Value>

        /// The next value; `nil` when there will be none.
        public mutating func next() async -> Value? {
            try? await walk.next()
        }
    }
}

/// ``Updates`` that throw when they end by a failure. Made by ``Updates/throwing``.
public struct ThrowingUpdates<Value: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Value

    let open: @Sendable () async throws -> Steps<Value>

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(walk: Walk(open))
    }

    /// One way through the values. Letting go of it ends its view.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        let walk: Walk<Value>

        /// The next value; `nil` after a close or a cancellation. Throws a ``WaggleError``.
        public mutating func next() async throws -> Value? {
            try await walk.next()
        }
    }
}

/// A view as an iteration uses it.
package struct Steps<Value: Sendable>: Sendable {
    /// Waits for something newer than what was had last. Throws ``ViewError/Closed(failure:)`` at an orderly end.
    package let advance: @Sendable (Versioned<Value>?) async throws -> Versioned<Value>
    /// Ends waits, now and later. Idempotent.
    package let cancel: @Sendable () -> Void

    package init(
        advance: @escaping @Sendable (Versioned<Value>?) async throws -> Versioned<Value>, cancel: @escaping @Sendable () -> Void
    ) {
        self.advance = advance
        self.cancel = cancel
    }
}

/// A value and the version it has.
package struct Versioned<Value: Sendable>: Sendable {
    package let version: UInt64
    package let value: Value

    package init(version: UInt64, value: Value) {
        self.version = version
        self.value = value
    }
}

/// An iteration under way: its view once that is open, and what it saw last.
final class Walk<Value: Sendable>: Sendable {
    private enum View {
        case unopened
        case open(Steps<Value>)
        case ended
    }

    private struct State {
        var view = View.unopened
        var last: Versioned<Value>?
    }

    private let opening: @Sendable () async throws -> Steps<Value>
    private let state = Guarded(State())

    init(_ opening: @escaping @Sendable () async throws -> Steps<Value>) {
        self.opening = opening
    }

    deinit {
        end()
    }

    /// The next value; nothing at an orderly end, and ever after an end.
    func next() async throws -> Value? {
        try await withTaskCancellationHandler {
            do {
                guard let steps = try await opened() else { return nil }
                let now = try await steps.advance(state.with { $0.last })
                state.with { $0.last = now }
                return now.value
            } catch {
                let wasEnded = end()
                if wasEnded || isClosed(error) { return nil }
                throw error
            }
        } onCancel: {
            end()
        }
    }

    /// The view, opened if it was not yet; nothing when the iteration has ended, perhaps meanwhile.
    private func opened() async throws -> Steps<Value>? {
        switch state.with({ $0.view }) {
        case .open(let steps): return steps
        case .ended: return nil
        case .unopened: break
        }
        let steps = try await opening()
        let taken = state.with { state in
            guard case .unopened = state.view else { return false }
            state.view = .open(steps)
            return true
        }
        if !taken { steps.cancel() }
        return taken ? steps : nil
    }

    /// Ends the iteration and says whether it had ended before.
    @discardableResult
    private func end() -> Bool {
        let before = state.with { state in
            defer { state.view = .ended }
            return state.view
        }
        switch before {
        case .open(let steps):
            steps.cancel()
            return false
        case .unopened: return false
        case .ended: return true
        }
    }
}

/// Whether a view ended in good order.
private func isClosed(_ error: any Error) -> Bool {
    switch error {
    case ViewError.Closed, SessionError.Closed: true
    default: false
    }
}
