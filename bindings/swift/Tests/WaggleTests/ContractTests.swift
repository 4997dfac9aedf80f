import Foundation
import Testing
import Waggle
import WaggleTestRelay

/// Against the real library and a real relay. One after the other: some count files and memory.
@Suite(.serialized) struct Contract {}

extension Contract {
    /// What a reader does, from opening to closing.
    @Suite(.serialized) struct Reading {
        @Test func sidebarAndPages() async throws {
            try await withDevice { device in
                #expect(device.client.account == device.session.account)
                #expect(try await device.client.accounts() == [device.session.account])
                let sidebar = try await first(of: device.session.sidebar, "the channels") { $0.rows.count >= 10 && !$0.cached }
                let channel = try await device.relay.channel("apiary-log")
                let row = try #require(sidebar.rows.first { $0.channel == channel })
                #expect(row.name == "apiary-log" && row.section == .channels && row.joined)

                let timeline = try await device.session.timeline(channel)
                let page = try await first(of: timeline.rows, "a page") { $0.rows.count >= 50 && !$0.status.restored }
                #expect(page.status.channel == channel && page.status.more == .yes)
                try await timeline.loadOlder()
                let more = timeline.now()
                #expect(more.rows.count > page.rows.count && more.version > page.version)
                #expect(more.rows.suffix(page.rows.count).map(\.id) == page.rows.map(\.id))
                #expect(zip(more.rows, more.rows.dropFirst()).allSatisfy { $0.createdAt <= $1.createdAt })
                try await timeline.close()
            }
        }

        @Test func theFirstUnreadRowIsPagedTo() async throws {
            try await withDevice { device in
                let channel = try await device.relay.channel("apiary-log")
                let timeline = try await device.session.timeline(channel, pageSize: 20, utcOffset: 0)
                let unread = try #require(timeline.now().status.firstUnread)
                #expect(try await timeline.jumpToFirstUnread())
                #expect(timeline.now().rows.contains { $0.id == unread })
            }
        }

        @Test func whatArrivesIsShownAndCounted() async throws {
            try await withDevice { device in
                let channel = try await device.relay.channel("swarm-watch")
                let timeline = try await device.session.timeline(channel)
                let unread = try await device.session.unread(.channel(channel: channel))
                let before = try await first(of: unread, "a count") { $0.observed != nil }.observed ?? 0
                let message = try await device.relay.post("Cluster on the church gate, head high.", in: "swarm-watch")
                let shown = try await first(of: timeline.rows, "the message") { $0.rows.last?.id == message }
                #expect(shown.rows.last?.text == "Cluster on the church gate, head high.")
                #expect(shown.rows.last?.authorName == "Mara Lindqvist")
                try await first(of: unread, "one more unread") { $0.observed == before + 1 && $0.latest == message }
                #expect(try await device.session.snapshot(.channel(channel: channel)).observed == before + 1)
            }
        }

        @Test func dwellingReads() async throws {
            try await withDevice { device in
                let channel = try await device.relay.channel("queen-rearing")
                let message = try await device.relay.post("Cells are capped.", in: "queen-rearing")
                let timeline = try await device.session.timeline(channel)
                let unread = try await device.session.unread(.channel(channel: channel))
                let before =
                    try await first(of: unread, "something unread") { ($0.observed ?? 0) > 0 && $0.latest == message }.observed ?? 0
                let rows = try await first(of: timeline.rows, "the message") { $0.rows.last?.id == message }.rows
                let surface = try await device.session.surface(channel)
                try surface.report(
                    Viewport(active: true, settled: true, visible: rows.suffix(10).map(\.id), bottom: message))
                try await first(of: unread, "less unread") { $0.observed.map { $0 < before } == true }
                surface.close()
                try surface.report(Viewport(active: true, settled: true, visible: [], bottom: nil))
            }
        }

        @Test func marksAreSaved() async throws {
            try await withDevice { device in
                let channel = try await device.relay.channel("mite-counts")
                let target = Target.channel(channel: channel)
                let message = try await device.relay.post("Two per hundred.", in: "mite-counts", by: "priya")
                let unread = try await device.session.unread(target)
                try await first(of: unread, "the message") { $0.latest == message }
                #expect(try await device.session.markThrough(target, message: message).sync == .pending)
                try await first(of: unread, "nothing unread") { $0.observed == 0 }
                #expect(try await device.session.markUnread(target).sync == .localOnly)
                try await first(of: unread, "marked by hand") { $0.manual == .localOnly }
                try await device.session.clearUnread(target)
                try await first(of: unread, "no longer marked") { $0.manual == .none }

                // Times are in seconds, and what is of the marked second is read.
                try await Task.sleep(for: .milliseconds(1_100))
                let root = try await device.relay.post("Who has the alcohol wash kit?", in: "mite-counts", by: "priya")
                #expect(try await device.session.following(channel, root: root) == false)
                try await device.session.follow(channel, root: root, following: true)
                #expect(try await device.session.following(channel, root: root))
                let reply = try await device.relay.reply("I do.", to: root, in: "mite-counts", by: "edda")
                let threads = try await device.session.threadActivity(channel)
                let activity = try await first(of: threads, "the thread") { $0.items?.contains { $0.root == root } == true }
                #expect(activity.items?.first { $0.root == root }?.latest == reply)
                let thread = try await device.session.thread(channel, root: root)
                try await first(of: thread.rows, "root and reply") { $0.rows.map(\.id) == [root, reply] }
                try await device.session.markChannelRead(channel)
                _ = try await device.session.markAllChannelsRead()
                try await first(of: device.session.sidebar, "nothing strong") { !$0.rows.contains { $0.joined && $0.strong } }
            }
        }

        @Test func aMessageIsMarkedForAVisit() async throws {
            try await withDevice { device in
                let channel = try await device.relay.channel("honey-house")
                let message = try await device.relay.post("Bucket two is full.", in: "honey-house")
                let target = Target.message(channel: channel, message: message)
                try await first(of: device.session.unread(.channel(channel: channel)), "the message") { $0.latest == message }
                try await device.session.enterChannel(channel)
                try await device.session.markMessageRead(channel, message: message)
                #expect(try await device.session.snapshot(target).observed == 0)
                #expect(try await device.session.markMessageUnread(channel, message: message).sync == .localOnly)
                try await first(of: device.session.unread(target), "marked") { $0.manual == .localOnly }
                try await device.session.leaveChannel(channel)
                try await first(of: device.session.unread(.channel(channel: channel)), "the channel stays marked") {
                    $0.manual == .localOnly
                }
                try await device.session.enterChannel(channel)
                try await first(of: device.session.unread(.channel(channel: channel)), "no longer marked") { $0.manual == .none }
            }
        }

        @Test func mutesAndPresentation() async throws {
            try await withDevice { device in
                let channel = try await device.relay.channel("equipment")
                try await device.session.mute(channel, muted: true)
                try await first(of: device.session.sidebar, "muted") { $0.row(channel)?.muted == true }
                try await device.session.mute(channel, muted: false)
                try await first(of: device.session.sidebar, "no longer muted") { $0.row(channel)?.muted == false }
                let sidebar = device.session.sidebarNow()
                let none = device.session.cues(first: 0, last: UInt32(sidebar.rows.count))
                #expect(none.above.count == 0 && none.below.count == 0)
                let placed = sidebar.rows.enumerated().map { index, row in
                    Placed(
                        channel: row.channel, extent: Extent(top: Double(index), bottom: Double(index + 1)), collapsed: false,
                        filtered: false)
                }
                let beyond = try device.session.cues(placed: placed, viewport: Extent(top: -2, bottom: -1))
                #expect(beyond.above.count == 0 && Int(beyond.below.count) == sidebar.rows.count(where: \.counted))
            }
        }

        @Test func twoDevicesAgree() async throws {
            try await withDevice { phone in
                try await withDevice(on: phone.relay) { tablet in
                    let channel = try await phone.relay.channel("board")
                    let target = Target.channel(channel: channel)
                    let message = try await phone.relay.post("Minutes are out.", in: "board", by: "felix")
                    let there = try await tablet.session.unread(target)
                    try await first(of: there, "unread on the tablet") { $0.latest == message && ($0.observed ?? 0) > 0 }
                    try await first(of: phone.session.unread(target), "unread on the phone") { $0.latest == message }
                    try await phone.session.markThrough(target, message: message)
                    try await phone.session.flush()
                    try await first(of: phone.session.sync, "published") { $0.state == .reconciled && !$0.pending }
                    try await first(of: there, "read on the tablet") { $0.observed == 0 }
                }
            }
        }

        @Test func backgroundAndBack() async throws {
            try await withDevice { device in
                let lifecycle = SessionLifecycle(session: device.session)
                await lifecycle.enterBackground()
                try await first(of: device.session.connectivity, "asleep") { $0.phase == .suspended }
                let message = try await device.relay.post("While you slept.", in: "newcomers", by: "hana")
                await lifecycle.enterForeground()
                await lifecycle.networkChanged()
                try await first(of: device.session.connectivity, "back") { $0.phase == .online }
                let channel = try await device.relay.channel("newcomers")
                let unread = try await device.session.unread(.channel(channel: channel))
                try await first(of: unread, "what was missed") { $0.latest == message }
            }
        }
    }
}

extension SidebarSnapshot {
    func row(_ channel: ChannelId) -> SidebarRow? { rows.first { $0.channel == channel } }
}
