import Foundation
import Testing
import Waggle
import WaggleKit
import WaggleTestRelay

/// The models on the real library and the test relay with its lived-in community.
@MainActor @Suite(.serialized) struct EndToEndTests {
    /// Choices in memory.
    final class Settings: ReaderSettings {
        var account: PublicKey?
        var communities: [String] = []
        var current: String?
        var collapsed: [String] = []
    }

    private func eventually(
        _ what: String, at location: SourceLocation = #_sourceLocation, _ isSo: @MainActor () -> Bool
    ) async throws {
        for _ in 0..<12_000 {
            if isSo() { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("did not happen: \(what)", sourceLocation: location)
        throw Broken(description: what)
    }

    private func withReader(_ work: (ReaderModel, TestRelay) async throws -> Void) async throws {
        let relay = try TestRelay()
        let folder = NSTemporaryDirectory() + "waggle-kit-\(UUID().uuidString)"
        let client = try WaggleClient(configuration: ClientConfig(dataDir: folder, mode: .app), keys: .memory)
        let reader = ReaderModel(client: client, settings: Settings(), utcOffset: { 0 })
        defer { try? FileManager.default.removeItem(atPath: folder) }
        do {
            try await work(reader, relay)
        } catch {
            await reader.close()
            throw error
        }
        await reader.close()
    }

    /// From the key to a read channel: everything on the way is a model's.
    @Test func aPersonSignsInOpensAChannelAndReadsIt() async throws {
        try await withReader { reader, relay in
            reader.start()
            try await eventually("the key store's answer") { if case .signIn = reader.stage { true } else { false } }
            reader.signIn(key: relay.viewerKey)
            try await eventually("signed in") { reader.account != nil && !reader.isBusy }
            reader.addCommunity(relay.host)
            try await eventually("a community") { reader.community != nil }
            let community = try #require(reader.community)
            try await eventually("online") { community.connectivity?.phase == .online }
            let channel = try await relay.channel("general")
            try await eventually("the sidebar") { community.sidebar.row(channel) != nil }

            let message = try await relay.post("Read me, please.", in: "general")
            try await eventually("it is unread") { (community.sidebar.row(channel)?.observed ?? 0) > 0 }
            community.open(.channel(channel))
            let timeline = community.timeline(.channel(channel))
            try await eventually("its row") { timeline.items.contains { $0.message == message } }
            #expect(timeline.items.contains { if case .day = $0 { true } else { false } })
            #expect(timeline.canJumpToFirstUnread)

            // The list is long enough for all of it.
            let items = timeline.items
            timeline.geometry.resize(height: Double(items.count) * 50)
            for (index, item) in items.enumerated() {
                timeline.geometry.place(item.id, id: item.message, top: Double(index) * 50, bottom: Double(index + 1) * 50)
            }
            timeline.geometry.endsAt(Double(items.count) * 50)
            try await eventually("it is read") { community.sidebar.row(channel)?.observed == 0 }
        }
    }

    @Test func pagesThreadsAndMarks() async throws {
        try await withReader { reader, relay in
            reader.signIn(key: relay.viewerKey)
            reader.addCommunity(relay.host)
            try await eventually("a community") { reader.community != nil }
            let community = try #require(reader.community)
            try await eventually("online") { community.connectivity?.phase == .online }
            // A second's messages come in an order of their own, so a thread has another channel than a burst.
            let (busy, channel) = (try await relay.channel("apiary-log"), try await relay.channel("general"))
            try await relay.burst(120, in: "apiary-log")
            community.open(.channel(busy))
            let timeline = community.timeline(.channel(busy))
            try await eventually("rows") { timeline.items.first == .goesOn && timeline.items.count > 50 }
            let before = timeline.items.compactMap(\.message).count
            timeline.loadMore()
            try await eventually("a page") { timeline.items.compactMap(\.message).count > before }
            #expect(timeline.failure == nil)

            let root = try await relay.post("A question.", in: "general")
            let reply = try await relay.reply("An answer.", to: root, in: "general")
            community.open(.thread(channel, root: root))
            let thread = community.timeline(.thread(channel, root: root))
            try await eventually("the thread") { thread.items.compactMap(\.message) == [root, reply] }
            community.markRead(channel)
            try await eventually("read") { community.sidebar.row(channel)?.observed == 0 }
            community.markUnread(channel)
            try await eventually("marked") { community.sidebar.row(channel)?.manual == .localOnly }
            #expect(community.notice?.content == .onThisDeviceOnly)
            await community.enterBackground()
            #expect(community.connectivity?.phase != .refused)
            await community.enterForeground()
            try await eventually("back") { community.connectivity?.phase == .online }
        }
    }
}
