import WaggleGenerated

/// The Waggle library.
public enum WaggleCore {
    /// Version of the core this package was built with.
    public static var version: String { coreVersion() }
}

/// One installation: its accounts and its sessions. An app has one.
///
/// Every call may be made from any thread or actor, and none blocks the caller. Close it when the app is done with it; a client that
/// is merely let go ends its threads, too, but nobody can wait for that.
public final class WaggleClient: Sendable {
    private let generated: WaggleGenerated.Client

    /// Opens a client whose keys are kept where `keys` says. Cheap: no file is touched and nothing is sent until an account signs in
    /// and a session starts. Fails with `Unsupported` where the system lacks what is needed.
    public init(configuration: ClientConfig, keys: KeyStorage = .platform) throws(ClientError) {
        Self.checkBuild()
        generated = try clientCall { try Client(config: configuration, keys: keys) }
    }

    /// Opens a client that keeps keys in the app's own store.
    public init(configuration: ClientConfig, store: any SecretStore) throws(ClientError) {
        Self.checkBuild()
        generated = try clientCall { try Client.withSecretStore(config: configuration, store: store) }
    }

    /// A client that Rust code made, for scenario files that run through this layer (`through/`).
    init(_ generated: WaggleGenerated.Client) {
        self.generated = generated
    }

    /// Code and library are made together; two of different builds would misread each other.
    private static func checkBuild() {
        precondition(buildId() == generatedForBuild, "The Waggle library is of another build than its Swift code.")
    }

    // MARK: Accounts

    /// Signs an account in with its key (`nsec1…` or 64 hex digits) and remembers it in the key store. Nobody is signed in when it fails.
    @discardableResult
    public func signIn(key: String) async throws(ClientError) -> PublicKey {
        try await clientCall { try await generated.signIn(key: key) }
    }

    /// As ``signIn(key:)``, with a key that signs in and reads but never publishes.
    @discardableResult
    public func signInReadOnly(key: String) async throws(ClientError) -> PublicKey {
        try await clientCall { try await generated.signInReadOnly(key: key) }
    }

    /// Signs in with a signer of the app's own, which keeps the key to itself.
    @discardableResult
    public func signIn(signer: any Signer) throws(ClientError) -> PublicKey {
        try clientCall { try generated.signInWith(signer: signer) }
    }

    /// Makes a new account with a key of its own, and signs it in.
    public func createAccount() async throws(ClientError) -> PublicKey {
        try await clientCall { try await generated.createAccount() }
    }

    /// Takes an account whose key is in the key store. Fails with `NotFound` when it is not.
    public func useAccount(_ account: PublicKey) async throws(ClientError) {
        try await clientCall { try await generated.useAccount(account: account) }
    }

    /// Accounts whose keys are in the key store.
    public func accounts() async throws(ClientError) -> [PublicKey] {
        try await clientCall { try await generated.accounts() }
    }

    /// The account that is signed in.
    public var account: PublicKey? { generated.account() }

    /// An account's key as `nsec1…`, for a backup the person asked for. Show it and forget it.
    public func backupKey(of account: PublicKey) async throws(ClientError) -> String {
        try await clientCall { try await generated.backupKey(account: account) }
    }

    /// Forgets an account on this device: its reading marks and messages first, its key last. Its sessions must be closed. Safe to
    /// repeat after a failure.
    public func signOut(_ account: PublicKey) async throws(ClientError) {
        try await clientCall { try await generated.signOut(account: account) }
    }

    // MARK: Sessions

    /// A session of the signed-in account with the community at `host` (`wss://…`, or a host alone). Nothing happens until it is
    /// started. Fails with `InvalidArgument` for an address that is none, or when nobody is signed in.
    public func session(host: String) throws(ClientError) -> Session {
        try Session(clientCall { try generated.session(host: host) })
    }

    /// Closes every session, then ends the client's threads. When it returns, every file and lock is released, also if the caller's task
    /// was cancelled meanwhile. Idempotent; calls after it fail with `Closed`.
    public func close() async throws(ClientError) {
        try await clientCall { try await generated.close() }
    }
}
