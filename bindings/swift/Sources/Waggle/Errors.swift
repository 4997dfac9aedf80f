// Failures are the generated enums, thrown as they are: `throws(SessionError)` says all that a call can fail with. What they have in
// common is a protocol, for code that only wants to tell a person.

public import Foundation
public import WaggleGenerated

/// Any failure of Waggle: ``ClientError``, ``SessionError`` and ``ViewError``. Its `localizedDescription` is the failure's sentence.
public protocol WaggleError: LocalizedError, Sendable {
    /// Code, retry class and sentence, the same in every area.
    var failure: Failure { get }
}

extension WaggleError {
    /// One sentence for a person.
    public var errorDescription: String? { failure.sentence }
}

extension ClientError: WaggleError {
    /// Code, retry class and sentence.
    public var failure: Failure {
        switch self {
        case .InvalidArgument(_, let failure), .NotFound(_, let failure), .Storage(_, let failure), .Unsupported(_, let failure),
            .Capacity(_, let failure), .Closed(let failure), .Other(let failure):
            failure
        }
    }
}

extension SessionError: WaggleError {
    /// Code, retry class and sentence.
    public var failure: Failure {
        switch self {
        case .NotFound(_, let failure), .Denied(let failure), .InvalidTarget(_, let failure), .InvalidArgument(_, let failure),
            .Cancelled(_, let failure), .Storage(_, let failure), .Unsupported(_, let failure), .ReadOnly(let failure),
            .Capacity(_, let failure), .Closed(let failure), .Busy(_, let failure), .Network(_, let failure),
            .RelayRefused(_, let failure), .InvalidAnswer(_, let failure), .Failed(_, let failure), .Clock(_, let failure):
            failure
        }
    }

    /// The caller's task was cancelled. What it had asked for goes on without it.
    static let abandoned = SessionError.Cancelled(
        why: "task", failure: Failure(code: "cancelled", retry: .now, sentence: "This was called off."))
}

extension ViewError: WaggleError {
    /// Code, retry class and sentence.
    public var failure: Failure {
        switch self {
        case .Closed(let failure), .Failed(let failure): failure
        }
    }
}

extension Failure {
    /// A failure of the layers between Swift and the core, which nothing is meant to have.
    static let inside = Failure(
        code: "failed", retry: .never, sentence: "Waggle failed inside. What was saved is safe; start again.")
}

/// Narrows what the generated code throws (it says only `throws`) to the errors of clients.
func clientCall<T>(_ work: () throws -> T) throws(ClientError) -> T {
    do {
        return try work()
    } catch {
        throw error as? ClientError ?? .Other(failure: .inside)
    }
}

/// As above, for what waits.
func clientCall<T: Sendable>(_ work: @Sendable () async throws -> T) async throws(ClientError) -> T {
    do {
        return try await work()
    } catch {
        throw error as? ClientError ?? .Other(failure: .inside)
    }
}

/// Narrows what the generated code throws to the errors of sessions.
func sessionCall<T>(_ work: () throws -> T) throws(SessionError) -> T {
    do {
        return try work()
    } catch {
        throw narrowed(error)
    }
}

/// As above, for what waits.
func sessionCall<T: Sendable>(_ work: @Sendable () async throws -> T) async throws(SessionError) -> T {
    do {
        return try await work()
    } catch {
        throw narrowed(error)
    }
}

/// An error as one of sessions.
func narrowed(_ error: any Error) -> SessionError {
    error as? SessionError ?? .Failed(task: "bindings", failure: .inside)
}
