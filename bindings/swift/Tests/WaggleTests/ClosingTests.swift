import Foundation
import Testing
import Waggle
import WaggleTestRelay

extension Contract {
    /// Closing is real: files are released, calls say so, and nothing that is under way hangs or crashes.
    @Suite(.serialized) struct Closing {
        @Test func everyFileIsReleased() async throws {
            let relay = try TestRelay()
            let before = try openFiles()
            let device = try await Device(on: relay)
            let timeline = try await device.session.timeline(device.relay.channel("general"))
            let rows = Task { for await _ in timeline.rows {} }
            let during = try openFiles()
            #expect(during.contains { $0.hasPrefix(device.folder.path) })
            #expect(during.count > before.count)
            try await device.client.close()
            try await inTime("the end of the rows") { await rows.value }
            let after = try openFiles()
            #expect(!after.contains { $0.hasPrefix(device.folder.path) }, "\(after)")
        }

        @Test func aSessionClosedAloneReleasesItsFilesAndCanBeOpenedAgain() async throws {
            let device = try await Device()
            try await device.session.close()
            #expect(try !openFiles().contains { $0.hasPrefix(device.folder.path) })
            let again = try device.client.session(host: device.relay.host)
            try await again.start()
            try await first(of: again.sidebar, "what was kept") { !$0.rows.isEmpty }
            try await again.close()
            try await device.client.close()
            try await device.client.close()
        }

        @Test func callsAfterwardsAreClosed() async throws {
            let device = try await Device()
            let channel = try await device.relay.channel("general")
            let timeline = try await device.session.timeline(channel)
            let surface = try await device.session.surface(channel)
            let unread = try await device.session.unread(.channel(channel: channel))
            try await device.session.close()
            let failures = [
                await error(SessionError.self) { try await device.session.refresh() },
                await error { try await device.session.ensure() },
                await error { _ = try await device.session.timeline(channel) },
                await error { _ = try await device.session.surface(channel) },
                await error { _ = try await device.session.unread(.channel(channel: channel)) },
                await error { try await device.session.markChannelRead(channel) },
                await error { try await timeline.loadOlder() },
            ]
            for failure in failures {
                guard case .Closed(let said) = failure else {
                    Issue.record("\(String(describing: failure))")
                    continue
                }
                #expect(said.code == "closed" && said.retry == .never && !said.sentence.isEmpty)
            }
            try surface.report(Viewport(active: true, settled: true, visible: [], bottom: nil))
            surface.close()
            try await inTime("ends") {
                for await _ in device.session.sidebar {}
                for await _ in device.session.connectivity {}
                for await _ in timeline.rows {}
                for await _ in unread {}
                for await _ in unread {}
            }
            try await inTime("a close throws nothing") { for try await _ in device.session.sync.throwing {} }
            try await device.client.close()
            let closed: ClientError? = await error { _ = try device.client.session(host: device.relay.host) }
            guard case .Closed = closed else {
                Issue.record("\(String(describing: closed))")
                return
            }
            #expect(await error(ClientError.self) { _ = try await device.client.accounts() }?.failure.code == "closed")
        }

        @Test func closingWhileCallsAreUnderWay() async throws {
            for round in 0..<5 {
                let device = try await Device()
                let channel = try await device.relay.channel("apiary-log")
                let calls = (0..<20).map { number in
                    Task {
                        do {
                            switch number % 4 {
                            case 0: _ = try await device.session.timeline(channel)
                            case 1: try await device.session.refresh()
                            case 2: for await _ in device.session.sidebar {}
                            default: while true { _ = try await device.session.snapshot(.channel(channel: channel)) }
                            }
                        } catch let error as SessionError {
                            return ["closed", "cancelled", "network"].contains(error.failure.code)
                        }
                        return true
                    }
                }
                try await Task.sleep(for: .milliseconds(round * 7))
                try await device.client.close()
                for call in calls {
                    #expect(try await inTime("the end of a call") { try await call.value })
                }
            }
        }

        @Test func lettingGoWhileCallsAreUnderWay() async throws {
            var calls: [Task<Void, any Error>] = []
            for _ in 0..<5 {
                let device = try await Device()
                let channel = try await device.relay.channel("general")
                let session = device.session
                calls.append(Task { for _ in 0..<50 { _ = try await session.snapshot(.channel(channel: channel)) } })
                calls.append(Task { _ = try await session.timeline(channel).loadOlder() })
            }
            // Clients and folders are gone; sessions live as long as their calls.
            for call in calls {
                try await inTime("the end of a call") { _ = await call.result }
            }
        }
    }
}
