import Foundation
import Testing
import Waggle
import WaggleFakes
import WaggleTestRelay

extension Contract {
    /// Failures keep their sort and their facts on the way.
    @Suite(.serialized) struct Failures {
        struct Unexpected: Error {}

        static let stores: [(any Error, String, StorageKind?)] = [
            (SecretStoreError.Unavailable, "unsupported", nil),
            (SecretStoreError.Locked, "storage", .locked),
            (SecretStoreError.Full, "storage", .full),
            (SecretStoreError.Damaged, "storage", .corrupt),
            (SecretStoreError.Failed, "storage", .io),
            (Unexpected(), "storage", .io),
        ]

        @Test(arguments: stores.indices) func ofAForeignKeyStore(number: Int) async throws {
            let (thrown, code, kind) = Self.stores[number]
            let (folder, store) = (try Folder(), MemorySecretStore())
            let client = try WaggleClient(configuration: folder.configuration, store: store)
            store.fail(with: thrown)
            let failure = await error(ClientError.self) { _ = try await client.createAccount() }
            #expect(failure?.failure.code == code)
            if case .Storage(let told, _) = failure { #expect(told == kind) } else { #expect(kind == nil) }
            #expect(client.account == nil)
            #expect(await error(ClientError.self) { _ = try await client.accounts() }?.failure.code == code)
            store.fail(with: nil)
            let account = try await client.createAccount()
            #expect(client.account == account)
            try await client.close()
        }

        @Test func aForeignKeyStoreKeepsAccounts() async throws {
            let (folder, store) = (try Folder(), MemorySecretStore())
            let client = try WaggleClient(configuration: folder.configuration, store: store)
            let account = try await client.createAccount()
            let key = try await client.backupKey(of: account)
            #expect(key.hasPrefix("nsec1"))
            try await client.close()

            let later = try WaggleClient(configuration: folder.configuration, store: store)
            #expect(try await later.accounts() == [account])
            try await later.useAccount(account)
            #expect(later.account == account)
            try await later.signOut(account)
            #expect(try await later.accounts().isEmpty)
            let failure = await error(ClientError.self) { try await later.useAccount(account) }
            guard case .NotFound = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            try await later.close()
        }

        @Test func aCallbackMayCallWaggleAgain() async throws {
            let (folder, store) = (try Folder(), ReentrantStore())
            let client = try WaggleClient(configuration: folder.configuration, store: store)
            store.client.with { $0 = client }
            let account = try await inTime("an account") { try await client.createAccount() }
            #expect(try await inTime("the accounts") { try await client.accounts() } == [account])
            #expect(store.again.with { $0 } > 0)
            store.client.with { $0 = nil }
            try await client.close()
        }

        @Test func ofArguments() async throws {
            try await withDevice { device in
                for bad in ["", "AB", String(repeating: "AB", count: 32), String(repeating: "é", count: 36)] {
                    let failure = await error(SessionError.self) { _ = try await device.session.timeline(bad) }
                    guard case .InvalidArgument(_, let said) = failure else {
                        Issue.record("\(String(describing: failure))")
                        continue
                    }
                    #expect(said.code == "invalid_argument" && said.retry == .never)
                }
                let surface = try await device.session.surface(device.relay.channel("general"))
                let viewport = Viewport(active: true, settled: true, visible: ["no id"], bottom: nil)
                #expect(await error(SessionError.self) { try surface.report(viewport) }?.failure.code == "invalid_argument")
                let elsewhere = "00000000-0000-4000-8000-00000000ffff"
                let denied = await error(SessionError.self) { _ = try await device.session.timeline(elsewhere) }
                guard case .Denied = denied else {
                    Issue.record("\(String(describing: denied))")
                    return
                }
                #expect(await error(ClientError.self) { _ = try device.client.session(host: "no host") } != nil)
                #expect(await error(ClientError.self) { try await device.client.signIn(key: "nsec1nonsense") } != nil)
                #expect(device.client.account == device.session.account)
            }
        }

        @Test func ofWhatIsNotThere() async throws {
            let folder = try Folder()
            let client = try WaggleClient(configuration: folder.configuration, keys: .memory)
            _ = try await client.createAccount()
            let session = try client.session(host: "ws://127.0.0.1:9")
            try await session.start()
            let failure = await error(SessionError.self) { try await session.retrySync() }
            guard case .Network(_, let said) = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(said.code == "network" && said.retry == .whenOnline)
            #expect((failure as (any Error)?)?.localizedDescription == said.sentence)
            let waiting = try await first(of: session.connectivity, "offline") { $0.phase == .offline }
            #expect(!waiting.sentence.isEmpty)
            try await client.close()
        }

        @Test func ofASignerOfTheAppsOwn() async throws {
            let folder = try Folder()
            let client = try WaggleClient(configuration: folder.configuration, keys: .memory)
            let account = try client.signIn(signer: RefusingSigner())
            #expect(client.account == account)
            let relay = try TestRelay()
            let session = try client.session(host: relay.host)
            try await session.start()
            let refused = try await first(of: session.connectivity, "not signed in") { $0.error != nil }
            #expect(refused.phase != .online)
            try await client.close()
        }
    }
}

/// A store that asks Waggle while Waggle asks it.
final class ReentrantStore: SecretStore {
    let client = Guarded<WaggleClient?>(nil)
    let again = Guarded(0)
    private let inner = MemorySecretStore()

    func get(service: String, account: String) throws -> Data? {
        try askBack()
        return try inner.get(service: service, account: account)
    }

    func put(service: String, account: String, secret: Data) throws {
        try askBack()
        try inner.put(service: service, account: account, secret: secret)
    }

    func delete(service: String, account: String) throws {
        try inner.delete(service: service, account: account)
    }

    func accounts(service: String) throws -> [String] {
        try inner.accounts(service: service)
    }

    private func askBack() throws {
        guard let client = client.with({ $0 }) else { return }
        let done = DispatchSemaphore(value: 0)
        Task {
            _ = client.account
            _ = try? await client.accounts()
            again.with { $0 += 1 }
            done.signal()
        }
        if done.wait(timeout: .now() + 60) == .timedOut { throw SecretStoreError.Failed }
    }
}

/// A signer whose person always says no.
final class RefusingSigner: Signer {
    func publicKey() -> PublicKey { "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798" }
    func canPublish() -> Bool { true }
    func canDecrypt() -> Bool { true }
    func sign(event: UnsignedEvent) async throws -> String { throw SignerError.Rejected }
    func decrypt(payload: String) throws -> String { throw SignerError.Undecryptable }
}
