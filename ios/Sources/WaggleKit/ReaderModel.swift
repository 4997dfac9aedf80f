public import Observation
public import Waggle

/// What fills the window.
public enum Stage {
    /// The key store is being asked.
    case opening
    /// Nobody is signed in.
    case signIn
    /// A new account's key is shown, once, to be kept somewhere safe.
    case backup(BackupKey)
    /// Signed in, and no community is chosen.
    case addCommunity
    /// A community.
    case community(CommunityModel)
}

/// An account's key as text. It stays out of logs, whatever prints it.
public struct BackupKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The key, to be shown and forgotten.
    public let text: String
    public var description: String { "BackupKey" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The reader: account, communities, and the one that is open. It does one thing after the other.
@MainActor @Observable public final class ReaderModel {
    /// What fills the window.
    public private(set) var stage = Stage.opening
    /// The account that is signed in.
    public private(set) var account: PublicKey?
    /// Hosts of the communities that were added.
    public private(set) var communities: [String]
    /// A call is under way; buttons wait.
    public private(set) var isBusy = false
    /// Why the last one failed.
    public private(set) var failure: Failure?

    @ObservationIgnored private let client: any ReaderClient
    @ObservationIgnored private let settings: any ReaderSettings
    @ObservationIgnored private let utcOffset: @MainActor () -> Int32
    @ObservationIgnored private var turn: Task<Void, Never>?
    @ObservationIgnored private var inForeground = true

    /// A reader that has not looked at anything yet.
    public init(client: any ReaderClient, settings: any ReaderSettings, utcOffset: @escaping @MainActor () -> Int32) {
        self.client = client
        self.settings = settings
        self.utcOffset = utcOffset
        communities = settings.communities
    }

    /// The community that is open.
    public var community: CommunityModel? {
        if case .community(let model) = stage { model } else { nil }
    }

    // MARK: Account

    /// Takes the account that was used last, if its key is still there.
    public func start() {
        doing { reader in
            let known = try await reader.client.accounts()
            let last = reader.settings.account.flatMap { known.contains($0) ? $0 : nil } ?? known.first
            guard let last else { return reader.stage = .signIn }
            try await reader.client.useAccount(last)
            try reader.signedIn(last)
        }
    }

    /// Signs in with a key the person has.
    public func signIn(key: String) {
        doing { reader in
            try reader.signedIn(await reader.client.signIn(key: trimmed(key)))
        }
    }

    /// Makes an account and shows its key.
    public func createAccount() {
        doing { reader in
            let account = try await reader.client.createAccount()
            reader.settings.account = account
            reader.account = account
            reader.stage = .backup(BackupKey(text: try await reader.client.backupKey(of: account)))
        }
    }

    /// The person has kept the key.
    public func backedUp() {
        doing { reader in
            if let account = reader.client.account { try reader.signedIn(account) }
        }
    }

    /// The key of the account, for a backup the person asked for. `nil` when it cannot be had; ``failure`` says why.
    public func backupKey() async -> BackupKey? {
        guard let account else { return nil }
        do {
            return BackupKey(text: try await client.backupKey(of: account))
        } catch {
            failure = error.failure
            return nil
        }
    }

    /// Forgets the account on this device: its reading marks and its key.
    public func signOut() {
        doing { reader in
            guard let account = reader.client.account else { return }
            await reader.leaveStage()
            try await reader.client.signOut(account)
            reader.settings.account = nil
            reader.account = nil
            reader.stage = .signIn
        }
    }

    private func signedIn(_ account: PublicKey) throws {
        settings.account = account
        self.account = account
        if let current = settings.current, settings.communities.contains(current) {
            try enter(current)
        } else {
            stage = .addCommunity
        }
    }

    // MARK: Communities

    /// Goes to where communities are added.
    public func chooseCommunity() {
        doing { reader in await reader.leaveStage() }
    }

    /// Adds a community by its address and opens it.
    public func addCommunity(_ address: String) {
        doing { reader in
            let host = trimmed(address)
            await reader.leaveStage()
            try reader.enter(host)
            if !reader.communities.contains(host) {
                reader.settings.communities.append(host)
                reader.communities = reader.settings.communities
            }
        }
    }

    /// Opens another community.
    public func switchTo(_ host: String) {
        doing { reader in
            if reader.community?.host == host { return }
            await reader.leaveStage()
            try reader.enter(host)
        }
    }

    /// Forgets the open community on this device.
    public func leaveCommunity() {
        doing { reader in
            guard let left = reader.community else { return }
            try await left.leave()
            reader.settings.communities.removeAll { $0 == left.host }
            reader.settings.current = nil
            reader.communities = reader.settings.communities
            reader.stage = .addCommunity
        }
    }

    private func enter(_ host: String) throws {
        let model = CommunityModel(
            host: host, session: try client.open(host: host), settings: settings, utcOffset: utcOffset())
        settings.current = host
        stage = .community(model)
        model.start()
        if !inForeground { model.appeared(inForeground: false, isActive: false) }
    }

    private func leaveStage() async {
        guard let community else { return }
        await community.close()
        stage = .addCommunity
    }

    // MARK: The app's life

    /// Says what the system says: whether the app is in front, and whether it takes touches.
    public func appeared(inForeground: Bool, isActive: Bool) {
        self.inForeground = inForeground
        community?.appeared(inForeground: inForeground, isActive: isActive)
    }

    /// The app goes. When this returns, what could be published is.
    public func enterBackground() async {
        appeared(inForeground: false, isActive: false)
        await community?.enterBackground()
    }

    /// The app is in front again.
    public func enterForeground() async {
        inForeground = true
        await community?.enterForeground()
    }

    /// The system has a network, or another one.
    public func networkChanged() async {
        if inForeground { await community?.reconnect() }
    }

    /// Publishes what is unpublished, woken by the system in the background.
    public func publishInBackground() async {
        await turn?.value
        await community?.publishInBackground()
    }

    /// Ends everything and waits for it.
    public func close() async {
        await turn?.value
        await community?.close()
        try? await client.close()
    }

    /// The failure has been seen.
    public func seen() {
        failure = nil
    }

    /// Ends when everything asked so far is done.
    func settled() async {
        await turn?.value
    }

    private func doing(_ work: @escaping @MainActor (ReaderModel) async throws -> Void) {
        let before = turn
        turn = Task {
            await before?.value
            isBusy = true
            failure = nil
            failure = await failureOf { try await work(self) }
            if failure != nil, case .opening = stage { stage = .signIn }
            isBusy = false
        }
    }
}

private func trimmed(_ text: String) -> String {
    String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
}
