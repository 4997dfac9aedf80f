import Foundation
import Testing
import WaggleTestRelay

@testable import Waggle

@Suite struct LibraryTests {
    @Test func theLibraryAnswers() {
        let parts = WaggleCore.version.split(separator: ".")
        #expect(parts.count == 3 && parts.allSatisfy { UInt($0) != nil }, "\(WaggleCore.version)")
    }

    @Test func logLinesArrive() async throws {
        #expect(await error(ClientError.self) { try WaggleLog.start(levels: "=nonsense=") }?.failure.code == "invalid_argument")
        let sink = Sink()
        WaggleLog.send(to: sink)
        try WaggleLog.start(levels: "trace")
        #expect(await error(ClientError.self) { try WaggleLog.start(levels: "info") }?.failure.code == "busy")
        let folder = try Folder()
        let client = try WaggleClient(configuration: folder.configuration, keys: .memory)
        _ = try await client.createAccount()
        let session = try client.session(host: "ws://127.0.0.1:9")
        try await session.start()
        let line = try await inTime("a line") {
            for await line in WaggleLog.lines where line.target.hasPrefix("waggle") { return line }
            throw Broken(description: "no lines")
        }
        #expect(!line.message.isEmpty && line.at > 1_700_000_000)
        #expect(sink.lines.with { !$0.isEmpty })
        WaggleLog.send(to: nil)
        try await client.close()
        let reading = Task { for await _ in WaggleLog.batches {} }
        reading.cancel()
        try await inTime("the end") { await reading.value }
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
    let lines = Guarded([LogLine]())
    func log(line: LogLine) { lines.with { $0.append(line) } }
}
