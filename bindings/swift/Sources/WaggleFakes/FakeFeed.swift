// A value with a version, pulled as the core's views are: nothing is queued, a cancelled iteration loses nothing.

public import Waggle

/// Something that changes when a test says so, as the ``Updates`` an app reads.
public final class FakeFeed<Value: Sendable>: Sendable {
    private struct State {
        var version: UInt64 = 1
        var value: Value
        var closed = false
        /// Views under way, and who waits in each.
        var views: [Int: CheckedContinuation<Void, Never>?] = [:]
        var opened = 0
    }

    private let state: Guarded<State>

    /// A feed that begins with this value.
    public init(_ value: Value) {
        state = Guarded(State(value: value))
    }

    /// The newest value.
    public var value: Value { state.with { $0.value } }

    /// How many iterations are under way. A test that ends with zero has let go of everything.
    public var iterations: Int { state.with { $0.views.count } }

    /// Shows a newer value.
    public func send(_ value: Value) {
        change { $0.value = value }
    }

    /// Makes a newer value out of the newest. Answers with it.
    @discardableResult
    public func update(_ work: (inout Value) -> Void) -> Value {
        change { work(&$0.value) }
    }

    /// Ends every iteration once it has seen the newest value.
    public func close() {
        change { $0.closed = true }
    }

    /// The values, as an app reads them.
    public var updates: Updates<Value> {
        Updates { [self] in
            let view = state.with { state in
                state.opened += 1
                state.views[state.opened] = .some(nil)
                return state.opened
            }
            return Steps(advance: { try await self.newer(than: $0?.version ?? 0, in: view) }, cancel: { self.cancel(view) })
        }
    }

    @discardableResult
    private func change(_ work: (inout State) -> Void) -> Value {
        let (value, waiting) = state.with { state in
            if !state.closed {
                work(&state)
                if !state.closed { state.version += 1 }
            }
            let waiting = state.views.values.compactMap { $0 }
            for view in state.views.keys { state.views[view] = .some(nil) }
            return (state.value, waiting)
        }
        waiting.forEach { $0.resume() }
        return value
    }

    private func cancel(_ view: Int) {
        let waiting = state.with { $0.views.removeValue(forKey: view) }
        waiting??.resume()
    }

    private enum Look {
        case found(Versioned<Value>)
        case nothing
        case ended
    }

    private func newer(than last: UInt64, in view: Int) async throws -> Versioned<Value> {
        while true {
            switch look(from: last, in: view) {
            case .found(let value): return value
            case .ended: throw ViewError.Closed(failure: Fake.failure("closed"))
            case .nothing: break
            }
            await withCheckedContinuation { continuation in
                let parked = state.with { state in
                    guard case .nothing = Self.look(at: state, from: last, in: view) else { return false }
                    state.views[view] = .some(continuation)
                    return true
                }
                if !parked { continuation.resume() }
            }
        }
    }

    private func look(from last: UInt64, in view: Int) -> Look {
        state.with { Self.look(at: $0, from: last, in: view) }
    }

    private static func look(at state: State, from last: UInt64, in view: Int) -> Look {
        guard state.views.keys.contains(view) else { return .ended }
        if state.version > last { return .found(Versioned(version: state.version, value: state.value)) }
        return state.closed ? .ended : .nothing
    }
}
