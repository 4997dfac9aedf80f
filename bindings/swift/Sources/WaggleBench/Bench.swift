// P16: a 50-row page across the FFI, in Swift. `cargo xtask bench` runs it, built for release against a release library.
//
//     WaggleBench F1
//
// F1 is the time of F1(123) in microseconds, as the ratio bench measures it. The page is read by `Timeline.now()`, which crosses once.
// Rounds are timed by the thread's CPU clock, after a warm-up, and the fastest counts, as for F1. Prints a line
// `P16 swift RATIO LIMIT`, and ends with 1 when the ratio is past its limit.

import Foundation
import Waggle
import WaggleTestRelay

@main
struct Bench {
    static let limit = 0.10
    static let rows = 50
    static let warmUp = 500
    static let rounds = 2_000

    static func main() async throws {
        guard CommandLine.arguments.count == 2, let f1 = Double(CommandLine.arguments[1]), f1 > 0 else {
            throw Broken(description: "usage: WaggleBench F1, the time of F1(123) in microseconds")
        }
        let relay = try await TestRelay.shared()
        let folder = NSTemporaryDirectory() + "waggle-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let client = try WaggleClient(configuration: ClientConfig(dataDir: folder, mode: .app), keys: .memory)
        try await client.signIn(key: relay.viewerKey)
        let session = try client.session(host: relay.host)
        try await session.start()
        for await connectivity in session.connectivity where connectivity.phase == .online { break }
        let timeline = try await session.timeline(relay.channel("apiary-log"), pageSize: UInt32(rows), utcOffset: 0)
        guard timeline.now().rows.count == rows else {
            throw Broken(description: "the page has \(timeline.now().rows.count) rows, not \(rows)")
        }
        _ = fastest(of: warmUp, reading: timeline)
        let page = fastest(of: rounds, reading: timeline)
        try await client.close()
        let past = page / f1 > limit
        print("P16 swift", String(format: "%.3f %.2f", page / f1, limit) + (past ? "  PAST THE LIMIT" : ""))
        if past { exit(1) }
    }

    /// Microseconds of the fastest reading.
    static func fastest(of rounds: Int, reading timeline: any WaggleTimeline) -> Double {
        var fastest = Double.infinity
        var seen = 0
        for _ in 0..<rounds {
            let before = microseconds()
            seen += timeline.now().rows.count
            fastest = min(fastest, microseconds() - before)
        }
        precondition(seen == rounds * rows, "the page changed while it was measured")
        return fastest
    }

    static func microseconds() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
        return Double(now.tv_sec) * 1e6 + Double(now.tv_nsec) / 1e3
    }
}
