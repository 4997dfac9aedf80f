import Testing
import Waggle
import WaggleFakes

@testable import WaggleKit

@MainActor @Suite struct ReaderTests {
    let settings = MemorySettings()

    private func reader(_ client: FakeClient) -> ReaderModel {
        ReaderModel(client: client, settings: settings, utcOffset: { 0 })
    }

    @Test func aNewPersonSignsInAndAddsACommunity() async {
        let client = FakeClient()
        let session = client.session(of: "chat.example")
        let reader = reader(client)
        reader.start()
        await reader.settled()
        guard case .signIn = reader.stage else { return #expect(Bool(false)) }
        reader.signIn(key: "  nsec1abc\n")
        await reader.settled()
        #expect(client.known == ["nsec1abc"] && settings.account == "nsec1abc")
        guard case .addCommunity = reader.stage else { return #expect(Bool(false)) }
        reader.addCommunity(" chat.example ")
        await reader.settled()
        #expect(reader.community?.host == "chat.example" && settings.communities == ["chat.example"])
        await eventually("it starts") { session.calls.contains(.start) }
    }

    @Test func aNewKeyIsShownOnceAndStaysOutOfLogs() async {
        let client = FakeClient()
        let reader = reader(client)
        reader.createAccount()
        await reader.settled()
        guard case .backup(let key) = reader.stage else { return #expect(Bool(false)) }
        #expect(key.text == "nsec of 9")
        #expect(!"\(key)\(String(reflecting: reader.stage))".contains("nsec"))
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!dumped.contains("nsec"))
        reader.backedUp()
        await reader.settled()
        guard case .addCommunity = reader.stage else { return #expect(Bool(false)) }
        #expect(await reader.backupKey()?.text == "nsec of 9")
    }

    @Test func aKnownPersonIsBackAtOnce() async {
        let client = FakeClient(accounts: [Fake.key(3), Fake.key(4)])
        settings.account = Fake.key(4)
        settings.communities = ["a", "b"]
        settings.current = "b"
        let reader = reader(client)
        reader.start()
        await reader.settled()
        #expect(reader.account == Fake.key(4) && reader.community?.host == "b")
    }

    @Test func aRefusedKeySaysWhy() async {
        let client = FakeClient()
        client.refuse(clientFailure("invalid_argument"))
        let reader = reader(client)
        reader.signIn(key: "x")
        await reader.settled()
        #expect(reader.failure?.code == "invalid_argument" && !reader.isBusy && reader.account == nil)
        guard case .signIn = reader.stage else { return #expect(Bool(false)) }
        reader.seen()
        #expect(reader.failure == nil)
    }

    @Test func switchingClosesTheOtherFirst() async {
        let client = FakeClient(accounts: [Fake.key(1)])
        settings.communities = ["a", "b"]
        settings.current = "a"
        let (a, b) = (client.session(of: "a"), client.session(of: "b"))
        let reader = reader(client)
        reader.start()
        await reader.settled()
        reader.switchTo("b")
        await reader.settled()
        #expect(a.calls.last == .close && reader.community?.host == "b" && settings.current == "b")
        await eventually("it starts") { b.calls.contains(.start) }
        reader.leaveCommunity()
        await reader.settled()
        #expect(b.calls.last == .leave && settings.communities == ["a"] && reader.communities == ["a"])
        guard case .addCommunity = reader.stage else { return #expect(Bool(false)) }
    }

    @Test func signingOutForgetsTheAccount() async {
        let client = FakeClient(accounts: [Fake.key(1)])
        settings.communities = ["a"]
        settings.current = "a"
        let session = client.session(of: "a")
        let reader = reader(client)
        reader.start()
        reader.signOut()
        await reader.settled()
        #expect(session.calls.last == .close && client.known.isEmpty && reader.account == nil && settings.account == nil)
        guard case .signIn = reader.stage else { return #expect(Bool(false)) }
    }

    @Test func theAppsLifeReachesTheCommunity() async {
        let client = FakeClient(accounts: [Fake.key(1)])
        settings.communities = ["a"]
        settings.current = "a"
        let session = client.session(of: "a")
        let reader = reader(client)
        await reader.enterBackground()
        reader.start()
        await reader.settled()
        await reader.networkChanged()
        #expect(!session.calls.contains(.networkChanged), "asleep")
        await reader.publishInBackground()
        #expect(session.calls.contains(.flush))
        await reader.enterForeground()
        await reader.networkChanged()
        #expect(session.calls.contains(.networkChanged))
        await reader.close()
        #expect(session.calls.last == .close && client.isClosed)
    }
}

@MainActor @Suite struct BadgeTests {
    @Test func aBadgeCountsWhatTheCoreCountsAndLeavesNothingOpen() async {
        let (client, settings) = (FakeClient(accounts: [Fake.key(1)]), MemorySettings())
        settings.account = Fake.key(1)
        settings.current = "a"
        let session = client.session(of: "a")
        let cue = { Cue(count: $0, target: nil, previews: [], attention: false, accessibleName: "") }
        session.show(cues: Cues(above: cue(1), below: cue(4)))
        #expect(await unreadConversations(client, settings) == 5)
        #expect(session.calls == [.start, .ensure] && client.isClosed)
    }

    @Test func noBadgeWithoutAnAnswer() async {
        let (client, settings) = (FakeClient(accounts: [Fake.key(1)]), MemorySettings())
        #expect(await unreadConversations(client, settings) == nil && client.isClosed)
        settings.account = Fake.key(1)
        settings.current = "a"
        let offlineClient = FakeClient(accounts: [Fake.key(1)])
        offlineClient.session(of: "a").fail(.ensure, with: offline())
        #expect(await unreadConversations(offlineClient, settings) == nil && offlineClient.isClosed)
    }
}
