public import Waggle

extension Failure {
    /// Whether a button for trying again makes sense.
    public var canTryAgain: Bool { retry != .never }

    /// For what is no failure of Waggle's, which no call is meant to throw.
    static let unexpected = Failure(code: "unexpected", retry: .never, sentence: "Something unexpected went wrong.")
}

/// Makes a call and answers how it failed, as data. A call that was called off with its task did not fail.
@MainActor func failureOf(_ call: () async throws -> Void) async -> Failure? {
    do {
        try await call()
        return nil
    } catch {
        if Task.isCancelled { return nil }
        return (error as? any WaggleError)?.failure ?? .unexpected
    }
}

/// Something to be told in passing.
public struct Notice: Identifiable, Sendable {
    /// What it is about.
    public enum Content: Sendable, Hashable {
        /// A call failed.
        case failed(Failure)
        /// It is saved, and other devices will not learn of it.
        case onThisDeviceOnly
        /// So many channels were marked read.
        case markedRead(UInt32)
        /// Text was copied.
        case copied
    }

    /// Different for each notice, also for two that say the same.
    public let id: Int
    /// What it is about.
    public let content: Content
    /// Repeats what failed, where that can help.
    public let again: (@MainActor @Sendable () -> Void)?
}
