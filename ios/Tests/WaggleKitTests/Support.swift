import Foundation
import Testing
import Waggle
import WaggleFakes
import WaggleKit

/// Waits until something is so. The deadline only keeps a failed test from hanging.
@MainActor func eventually(
    _ what: String, at location: SourceLocation = #_sourceLocation, _ isSo: @MainActor () -> Bool
) async {
    for _ in 0..<5_000 {
        if isSo() { return }
        try? await Task.sleep(for: .milliseconds(1))
    }
    Issue.record("did not happen: \(what)", sourceLocation: location)
}

/// Lets everything run that is ready to.
@MainActor func idle() async {
    for _ in 0..<200 { await Task.yield() }
}

/// Time that stands still until a test moves it on.
@MainActor final class ManualTime {
    private var now = Duration.zero
    private var sleepers: [(until: Duration, wake: CheckedContinuation<Void, Never>)] = []

    var pace: ListGeometry.Pace {
        ListGeometry.Pace(now: { self.now }, sleep: { await self.sleep($0) })
    }

    /// How often somebody went to sleep.
    private(set) var sleeps = 0

    private func sleep(_ duration: Duration) async {
        sleeps += 1
        await withCheckedContinuation { sleepers.append((now + duration, $0)) }
    }

    /// Moves on, and lets those run whose time has come.
    func pass(_ duration: Duration) async {
        await idle()
        now += duration
        let due = sleepers.filter { $0.until <= now }
        sleepers.removeAll { $0.until <= now }
        due.forEach { $0.wake.resume() }
        await idle()
    }
}

/// Choices in memory.
@MainActor final class MemorySettings: ReaderSettings {
    var account: PublicKey?
    var communities: [String] = []
    var current: String?
    var collapsed: [String] = []
}

/// A client whose sessions are scripted.
final class FakeClient: ReaderClient {
    private struct State {
        var account: PublicKey?
        var accounts: [PublicKey] = []
        var sessions: [String: FakeSession] = [:]
        var refusal: ClientError?
        var closed = false
    }

    private let lock = NSLock()
    nonisolated(unsafe) private var state = State()

    init(accounts: [PublicKey] = []) {
        state.accounts = accounts
    }

    private func with<T>(_ work: (inout State) -> T) -> T {
        lock.withLock { work(&state) }
    }

    var isClosed: Bool { with { $0.closed } }
    var known: [PublicKey] { with { $0.accounts } }

    /// Lets signing in and opening fail, or no longer.
    func refuse(_ refusal: ClientError?) { with { $0.refusal = refusal } }

    /// The session of a community.
    func session(of host: String) -> FakeSession {
        with { state in
            let session = state.sessions[host] ?? FakeSession()
            state.sessions[host] = session
            return session
        }
    }

    private func checked() throws(ClientError) {
        if let refusal = with({ $0.refusal }) { throw refusal }
    }

    private func add(_ account: PublicKey) -> PublicKey {
        with { state in
            state.accounts.append(account)
            state.account = account
        }
        return account
    }

    var account: PublicKey? { with { $0.account } }
    func signIn(key: String) async throws(ClientError) -> PublicKey {
        try checked()
        return add(key)
    }
    func createAccount() async throws(ClientError) -> PublicKey {
        try checked()
        return add(Fake.key(9))
    }
    func accounts() async throws(ClientError) -> [PublicKey] { with { $0.accounts } }
    func useAccount(_ account: PublicKey) async throws(ClientError) { with { $0.account = account } }
    func backupKey(of account: PublicKey) async throws(ClientError) -> String { "nsec of \(account.suffix(1))" }
    func signOut(_ account: PublicKey) async throws(ClientError) {
        try checked()
        with { state in
            state.accounts.removeAll { $0 == account }
            state.account = nil
        }
    }
    func open(host: String) throws(ClientError) -> any WaggleSession {
        try checked()
        let session = session(of: host)
        with { $0.sessions[host] = nil }
        return session
    }
    func close() async throws(ClientError) { with { $0.closed = true } }
}

func clientFailure(_ code: String) -> ClientError {
    .InvalidArgument(what: "test", failure: Fake.failure(code))
}

func offline() -> SessionError {
    .Network(why: .offline, failure: Fake.failure("network", retry: .whenOnline, sentence: "You are offline."))
}
