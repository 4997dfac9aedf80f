public import Foundation
public import Waggle

/// A key store in memory, which can be told to fail.
public final class MemorySecretStore: SecretStore {
    private struct Name: Hashable {
        let service: String
        let account: String
    }

    private struct State {
        var secrets: [Name: Data] = [:]
        var failure: (any Error)?
        var calls = 0
    }

    private let state = Guarded(State())

    /// An empty store.
    public init() {}

    /// Lets every call fail with this, or no longer. Waggle takes anything but a `SecretStoreError` for one of `Failed`.
    public func fail(with error: (any Error)?) {
        state.with { $0.failure = error }
    }

    /// How often it was called.
    public var calls: Int { state.with { $0.calls } }

    public func get(service: String, account: String) throws -> Data? {
        try called { $0[Name(service: service, account: account)] }
    }

    public func put(service: String, account: String, secret: Data) throws {
        try called { $0[Name(service: service, account: account)] = secret }
    }

    public func delete(service: String, account: String) throws {
        try called { $0[Name(service: service, account: account)] = nil }
    }

    public func accounts(service: String) throws -> [String] {
        try called { secrets in secrets.keys.filter { $0.service == service }.map(\.account) }
    }

    private func called<T>(_ work: (inout [Name: Data]) -> T) throws -> T {
        let outcome: Result<T, any Error> = state.with { state in
            state.calls += 1
            if let failure = state.failure { return .failure(failure) }
            return .success(work(&state.secrets))
        }
        return try outcome.get()
    }
}
