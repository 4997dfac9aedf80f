import Foundation
import Testing
import WaggleFakes
import WaggleTestRelay

@testable import Waggle

@Suite struct LibraryTests {
    @Test func theLibraryAnswers() {
        let parts = WaggleCore.version.split(separator: ".")
        #expect(parts.count == 3 && parts.allSatisfy { UInt($0) != nil }, "\(WaggleCore.version)")
    }

    /// That lines come is tested in Rust; a healthy core has next to nothing to say.
    @Test func loggingStartsOnce() async throws {
        #expect(await error(ClientError.self) { try WaggleLog.start(levels: "=nonsense=") }?.failure.code == "invalid_argument")
        WaggleLog.send(to: Sink())
        try WaggleLog.start(levels: "info")
        #expect(await error(ClientError.self) { try WaggleLog.start(levels: "info") }?.failure.code == "busy")
        WaggleLog.send(to: nil)
        let reading = Task { for await _ in WaggleLog.batches {} }
        reading.cancel()
        try await inTime("the end") { await reading.value }
    }

    @Test func batchesOfTheLogBecomeLines() async throws {
        func batch(_ version: UInt64, _ messages: [String]) -> LogBatch {
            LogBatch(
                version: version, lines: messages.map { LogLine(at: 0, level: .info, target: "waggle", message: $0) }, missed: 0)
        }
        let feed = FakeFeed(batch(1, ["a", "b"]))
        var lines = LogLines(batches: feed.updates).makeAsyncIterator()
        #expect(await [lines.next()?.message, lines.next()?.message] == ["a", "b"])
        feed.send(batch(2, []))
        feed.send(batch(3, ["c"]))
        #expect(await lines.next()?.message == "c")
        feed.close()
        #expect(await lines.next() == nil)
    }

    @Test func waitingEndsWithItsTask() async throws {
        let begun = AsyncStream<Void>.makeStream()
        let call = Task {
            try await abandonable { () -> Int in
                begun.continuation.yield()
                while true { try await Task.sleep(for: .seconds(3_600)) }
            }
        }
        for await _ in begun.stream { break }
        call.cancel()
        let failure = await error(SessionError.self) { _ = try await inTime("the end of the wait") { try await call.value } }
        #expect(failure?.failure.code == "cancelled")
    }
}

final class Sink: LogSink {
    func log(line: LogLine) {}
}
