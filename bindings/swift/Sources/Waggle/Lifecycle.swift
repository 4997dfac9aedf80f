// Systems tell an app in quick succession that it leaves, comes back and has another network. Each of these takes a while to carry
// out, and they must not overtake each other: a session that resumes before it has suspended ends up asleep in a visible app.
//
// So events are carried out one after the other, in the order they were told; one that a later event made void is left out.

/// Tells a session about the app's life, in order. One for each session.
///
/// ```swift
/// // iOS: keep the process running until the session has flushed.
/// let task = UIApplication.shared.beginBackgroundTask()
/// await lifecycle.enterBackground()
/// UIApplication.shared.endBackgroundTask(task)
/// ```
public final class SessionLifecycle: Sendable {
    private enum Event {
        case background, foreground, network
    }

    private struct State {
        /// Ends when everything told so far is done.
        var tail: Task<Void, Never>?
        /// The newest of background and foreground.
        var wanted = Event.foreground
        /// How often the app changed between them.
        var turn = 0
    }

    /// The session this speaks to.
    public let session: any WaggleSession
    /// How long a session may publish when the app goes to the background.
    public let budget: Duration
    private let state = Guarded(State())

    /// A helper for a session that was started.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - budget: How long it may publish when the app goes to the background. iOS gives an app about five seconds, and a moment is
    ///     needed to close files.
    public init(session: any WaggleSession, budget: Duration = .seconds(3)) {
        self.session = session
        self.budget = budget
    }

    /// The app goes to the background. When it returns, what could be published is, and the socket is closed, so the system may stop the
    /// process.
    public func enterBackground() async {
        await tell(.background)
    }

    /// The app is in the foreground again.
    public func enterForeground() async {
        await tell(.foreground)
    }

    /// The network changed or is back.
    public func networkChanged() async {
        await tell(.network)
    }

    private func tell(_ event: Event) async {
        let task = state.with { state in
            if event != .network, event != state.wanted {
                state.wanted = event
                state.turn += 1
            }
            let (before, turn) = (state.tail, state.turn)
            let task = Task { [self] in
                await before?.value
                if event == .network || isCurrent(turn) { await carryOut(event) }
            }
            state.tail = task
            return task
        }
        await task.value
    }

    private func isCurrent(_ turn: Int) -> Bool {
        state.with { $0.turn == turn }
    }

    /// A failure here needs nobody: the session shows it in its connectivity, and connects again by itself.
    private func carryOut(_ event: Event) async {
        switch event {
        case .background: try? await session.suspend(budget: budget)
        case .foreground: try? await session.resume()
        case .network: try? await session.networkChanged()
        }
    }
}
