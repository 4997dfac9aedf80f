// Cancelling a Swift task does not reach Rust: UniFFI's calls wait until they have their answer. A call that waits for a network is
// therefore made in a task of its own, and a caller that is cancelled stops waiting for it. The call itself goes on; whatever it brings
// (a timeline, a view) is let go, which closes it.
//
// Each continuation is resumed exactly once: by the answer or by the cancellation, whichever takes it first.

import Foundation

/// Makes a call that the caller may stop waiting for, by cancelling its task.
func abandonable<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) async throws(SessionError) -> T {
    let answer = Answer<T>()
    let outcome = await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
            guard answer.wait(continuation) else { return }
            Task {
                do {
                    answer.give(.success(try await work()))
                } catch {
                    answer.give(.failure(narrowed(error)))
                }
            }
        }
    } onCancel: {
        answer.give(.failure(.abandoned))
    }
    return try outcome.get()
}

/// Where a caller waits for an answer that comes once.
private final class Answer<T: Sendable>: Sendable {
    private enum State {
        case fresh
        case waiting(CheckedContinuation<Result<T, SessionError>, Never>)
        case given
    }

    private let state = Guarded(State.fresh)

    /// Waits, unless the caller was cancelled before: then it is answered at once and nothing need be done.
    func wait(_ continuation: CheckedContinuation<Result<T, SessionError>, Never>) -> Bool {
        let begun = state.with { state in
            guard case .fresh = state else { return false }
            state = .waiting(continuation)
            return true
        }
        if !begun {
            continuation.resume(returning: .failure(.abandoned))
        }
        return begun
    }

    /// Answers whoever waits. Later answers are dropped.
    func give(_ result: Result<T, SessionError>) {
        let before = state.with { state in
            defer { state = .given }
            return state
        }
        if case .waiting(let continuation) = before {
            continuation.resume(returning: result)
        }
    }
}
