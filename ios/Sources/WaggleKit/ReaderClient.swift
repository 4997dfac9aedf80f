public import Foundation
public import Waggle

/// What the reader needs of a client. ``WaggleClient`` is the real one; tests bring their own.
public protocol ReaderClient: AnyObject, Sendable {
    /// The account that is signed in.
    var account: PublicKey? { get }
    /// Signs in with a key and keeps it in the key store.
    func signIn(key: String) async throws(ClientError) -> PublicKey
    /// Makes a new account and signs it in.
    func createAccount() async throws(ClientError) -> PublicKey
    /// Accounts whose keys are in the key store.
    func accounts() async throws(ClientError) -> [PublicKey]
    /// Takes one of them.
    func useAccount(_ account: PublicKey) async throws(ClientError)
    /// An account's key as text, for a backup.
    func backupKey(of account: PublicKey) async throws(ClientError) -> String
    /// Forgets an account on this device.
    func signOut(_ account: PublicKey) async throws(ClientError)
    /// A session with a community.
    func open(host: String) throws(ClientError) -> any WaggleSession
    /// Ends every session and releases every file.
    func close() async throws(ClientError)
}

extension WaggleClient: ReaderClient {
    public func open(host: String) throws(ClientError) -> any WaggleSession {
        try session(host: host)
    }
}

/// What the reader remembers of its person's choices.
@MainActor public protocol ReaderSettings: AnyObject {
    /// The account that was used last.
    var account: PublicKey? { get set }
    /// Hosts of the communities that were added, in order.
    var communities: [String] { get set }
    /// Host of the one that is shown.
    var current: String? { get set }
    /// Sections of the channel list that are folded away, by name.
    var collapsed: [String] { get set }
}

/// Choices in the user defaults: of an App Group, so that an extension finds them.
@MainActor public final class DefaultsSettings: ReaderSettings {
    private let defaults: UserDefaults

    /// Choices in these defaults.
    public init(_ defaults: UserDefaults) {
        self.defaults = defaults
    }

    public var account: PublicKey? {
        get { defaults.string(forKey: "account") }
        set { defaults.set(newValue, forKey: "account") }
    }

    public var communities: [String] {
        get { defaults.stringArray(forKey: "communities") ?? [] }
        set { defaults.set(newValue, forKey: "communities") }
    }

    public var current: String? {
        get { defaults.string(forKey: "current") }
        set { defaults.set(newValue, forKey: "current") }
    }

    public var collapsed: [String] {
        get { defaults.stringArray(forKey: "collapsed") ?? [] }
        set { defaults.set(newValue, forKey: "collapsed") }
    }
}

/// Where the app and its extension keep what they share.
public enum Shared {
    /// The App Group of the entitlements.
    public static let group = "group.org.waggle.reader"

    /// Folder of the core's files within the group's. Not in its caches, so that reading marks are kept and backed up.
    public static func folder(in group: URL) -> String {
        group.appendingPathComponent("waggle", isDirectory: true).path(percentEncoded: false)
    }
}
