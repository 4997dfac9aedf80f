import Foundation
import Testing
import Waggle
import WaggleTestRelay

extension Contract {
    /// Cancelling a task ends its waits in Rust and loses nothing.
    @Suite(.serialized) struct Cancellation {
        @Test func aWaitingIterationEnds() async throws {
            try await withDevice { device in
                for _ in 0..<50 {
                    let begun = AsyncStream<Void>.makeStream()
                    let waiting = Task {
                        for await _ in device.session.sync { begun.continuation.yield() }
                    }
                    for await _ in begun.stream { break }
                    waiting.cancel()
                    try await inTime("the end of a cancelled iteration") { await waiting.value }
                }
            }
        }

        @Test func cancelledBeforeItBegins() async throws {
            try await withDevice { device in
                let task = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    var seen = 0
                    for await _ in device.session.sidebar { seen += 1 }
                    return seen
                }
                let seen = try await inTime("the end") { await task.value }
                #expect(seen == 0)
            }
        }

        /// Each of 5,000 changes is seen by a reader who is cancelled at any moment and begins again, and none is seen after a later one.
        @Test func fiveThousandUpdatesUnderRandomCancellation() async throws {
            try await withDevice { device in
                let channel = try await device.relay.channel("dm-mara")
                let seen = AsyncStream<(SidebarSection, UInt64)>.makeStream()
                let reader = Task {
                    while !Task.isCancelled {
                        let walk = Task {
                            for await sidebar in device.session.sidebar {
                                guard let row = sidebar.row(channel) else { continue }
                                seen.continuation.yield((row.section, sidebar.version))
                            }
                        }
                        try? await Task.sleep(for: .microseconds(.random(in: 0...8_000)))
                        walk.cancel()
                        await walk.value
                    }
                }
                try await inTime("5,000 updates") {
                    var news = seen.stream.makeAsyncIterator()
                    var newest: UInt64 = 0
                    for number in 0..<5_000 {
                        let promoted = number % 2 == 0
                        try await device.session.presentAs(channel, promoted ? .solo : .normal)
                        let wanted: SidebarSection = promoted ? .solo : .directMessages
                        while let (section, version) = await news.next() {
                            try #require(version >= newest)
                            newest = version
                            if section == wanted { break }
                        }
                    }
                    #expect(newest >= 5_000)
                }
                reader.cancel()
                await reader.value
            }
        }

        /// What is put together from changes is what the core has.
        @Test func changesAddUp() async throws {
            try await withDevice { device in
                let channel = try await device.relay.channel("bee-photos")
                let timeline = try await device.session.timeline(channel)
                let wanted = Set((1...200).map { "#\($0)" })
                let reader = Task {
                    var last: TimelineSnapshot?
                    for await snapshot in timeline.rows {
                        if let last { #expect(snapshot.version > last.version) }
                        last = snapshot
                        if wanted.isSubset(of: snapshot.rows.map(\.text)) { break }
                    }
                    return last
                }
                try await device.relay.burst(200, in: "bee-photos", by: "ines")
                let last = try await inTime("the last message") { await reader.value }
                let now = timeline.now()
                #expect(last?.version != now.version || last == now)
                #expect(now.rows.filter { wanted.contains($0.text) }.count == 200)
                #expect(Set(now.rows.map(\.id)).count == now.rows.count)
            }
        }

        /// A caller may stop waiting; what it asked for goes on.
        @Test func abandonedCalls() async throws {
            try await withDevice { device in
                let channel = try await device.relay.channel("apiary-log")
                let call = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    _ = try await device.session.timeline(channel)
                }
                let failure = await error(SessionError.self) { try await call.value }
                guard case .Cancelled(let why, let said) = failure else {
                    Issue.record("\(String(describing: failure))")
                    return
                }
                #expect(why == "task" && said.code == "cancelled")
                // Changes and closing do not care.
                let change = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    try await device.session.markUnread(.channel(channel: channel))
                    try await device.session.clearUnread(.channel(channel: channel))
                    try await device.session.close()
                }
                try await change.value
            }
        }
    }
}
