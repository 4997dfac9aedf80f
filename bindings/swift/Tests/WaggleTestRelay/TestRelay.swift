#if os(Linux) || os(macOS)

import Foundation
public import Waggle

/// What went wrong with the scaffolding of a test.
public struct Broken: Error, CustomStringConvertible {
    public let description: String

    public init(description: String) {
        self.description = description
    }
}

/// The test relay with its lived-in community, as a process of its own. It ends when this is let go or this process ends: its input does.
public actor TestRelay {
    /// One relay for the whole process. It has quotas, as real ones have: what asks much takes one of its own.
    public static func shared() async throws -> TestRelay {
        try await starting.value
    }

    private static let starting = Task { try TestRelay() }

    /// Where a client finds it.
    public nonisolated let host: String
    /// The key of the community's viewer, which is public knowledge.
    public nonisolated let viewerKey: String
    private let process = Process()
    private let commands: FileHandle
    private var answers: Lines

    /// Starts a relay.
    public init() throws {
        guard let path = ProcessInfo.processInfo.environment["WAGGLE_TEST_RELAY"] else {
            throw Broken(
                description: "WAGGLE_TEST_RELAY does not say where the test relay is; `cargo xtask test --only swift` does")
        }
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["--listen", "127.0.0.1:0", "--seed-community", "--activity", "0", "--control"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        commands = input.fileHandleForWriting
        var lines = Lines(output.fileHandleForReading)
        host = try lines.value(after: "relay")
        viewerKey = try lines.value(after: "viewer")
        _ = try lines.line(where: { $0.hasPrefix("The viewer key") })
        answers = lines
    }

    /// The id of a channel of the community.
    public func channel(_ name: String) throws -> ChannelId {
        try ask("channel \(name)")
    }

    /// Lets somebody post, and answers with the message's id.
    @discardableResult
    public func post(_ text: String, in channel: String, by author: String = "mara") throws -> EventId {
        try ask("post \(channel) \(author) \(text)")
    }

    /// Lets somebody reply, and answers with the reply's id.
    @discardableResult
    public func reply(_ text: String, to root: EventId, in channel: String, by author: String = "mara") throws -> EventId {
        try ask("reply \(channel) \(author) \(root) \(text)")
    }

    /// Lets somebody post `#1` to `#count`.
    public func burst(_ count: Int, in channel: String, by author: String = "mara") throws {
        _ = try ask("burst \(channel) \(author) \(count)")
    }

    private func ask(_ command: String) throws -> String {
        try commands.write(contentsOf: Data((command + "\n").utf8))
        let answer = try answers.line(where: { $0.hasPrefix("ok ") || $0.hasPrefix("error ") })
        guard answer.hasPrefix("ok ") else { throw Broken(description: "\(command): \(answer)") }
        return String(answer.dropFirst(3))
    }
}

/// Lines of a pipe.
private struct Lines {
    private let handle: FileHandle
    private var buffer = Data()

    init(_ handle: FileHandle) {
        self.handle = handle
    }

    /// The next line that is wanted.
    mutating func line(where wanted: (String) -> Bool) throws -> String {
        while true {
            while let end = buffer.firstIndex(of: 10) {
                let line = String(decoding: buffer[buffer.startIndex..<end], as: UTF8.self)
                buffer = Data(buffer[(end + 1)...])
                if wanted(line) { return line }
            }
            let more = handle.availableData
            if more.isEmpty { throw Broken(description: "the test relay ended") }
            buffer += more
        }
    }

    /// The word after a name at the start of a line.
    mutating func value(after name: String) throws -> String {
        let line = try line(where: { $0.hasPrefix(name + " ") })
        let words = line.split(separator: " ")
        guard words.count > 1 else { throw Broken(description: line) }
        return String(words[1])
    }
}

#endif
