import Foundation
import Testing
import Waggle
import WaggleTestRelay

extension Contract {
    /// Handles are freed and memory stays flat.
    @Suite(.serialized) struct Endurance {
        @Test func aHundredThousandCallsInFlatMemory() async throws {
            try await withDevice { device in
                let target = Target.channel(channel: try await device.relay.channel("general"))
                func calls(_ count: Int) async throws {
                    for _ in 0..<count { _ = try await device.session.snapshot(target) }
                }
                try await calls(20_000)
                let before = try residentMemory()
                try await calls(100_000)
                let growth = try residentMemory() - before
                #expect(growth < 4_096, "grew by \(growth) KiB")
            }
        }

        @Test func surfacesTimelinesAndViewsAreFreed() async throws {
            try await withDevice { device in
                let channel = try await device.relay.channel("general")
                // The core keeps 64 surfaces and no more: without freeing, the 65th fails.
                for _ in 0..<300 {
                    let surface = try await device.session.surface(channel)
                    try surface.report(Viewport(active: false, settled: true, visible: [], bottom: nil))
                }
                // Each asks the relay for a page, and a session asks it for no more than 280 a minute.
                for _ in 0..<150 {
                    let timeline = try await device.session.timeline(channel)
                    for await rows in timeline.rows {
                        #expect(!rows.rows.isEmpty)
                        break
                    }
                }
                for number in 0..<3_000 {
                    let message = String(repeating: "0", count: 59) + String(format: "%05d", number)
                    let updates = try await device.session.unread(.message(channel: channel, message: message))
                    for await _ in updates { break }
                }
            }
        }

        @Test func iterationsAreFreed() async throws {
            try await withDevice { device in
                func iterate(_ count: Int) async {
                    for _ in 0..<count {
                        for await _ in device.session.sidebar { break }
                        for await _ in device.session.connectivity { break }
                    }
                }
                await iterate(1_000)
                let before = try residentMemory()
                await iterate(5_000)
                let growth = try residentMemory() - before
                #expect(growth < 4_096, "grew by \(growth) KiB")
            }
        }
    }
}
