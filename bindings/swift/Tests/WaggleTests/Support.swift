import Foundation
import Testing
import Waggle
import WaggleTestRelay

/// A folder that goes away with its owner.
final class Folder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "waggle-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    var configuration: ClientConfig { ClientConfig(dataDir: path, mode: .app) }
}

/// One device of the community's viewer: signed in, started, and through its first look.
struct Device: Sendable {
    let folder: Folder
    let client: WaggleClient
    let session: Session
    let relay: TestRelay

    /// A device on this relay, or on one of its own.
    init(on relay: TestRelay? = nil) async throws {
        self.relay = try relay ?? TestRelay()
        folder = try Folder()
        client = try WaggleClient(configuration: folder.configuration, keys: .memory)
        try await client.signIn(key: self.relay.viewerKey)
        session = try client.session(host: self.relay.host)
        try await session.start()
        _ = try await first(of: session.connectivity, "online") { $0.phase == .online }
        try await session.ensure()
    }
}

/// Opens a device for a test and closes it whatever happens.
func withDevice(on relay: TestRelay? = nil, _ work: (Device) async throws -> Void) async throws {
    let device = try await Device(on: relay)
    do {
        try await work(device)
    } catch {
        try? await device.client.close()
        throw error
    }
    try await device.client.close()
}

/// The first value that is as wanted. The deadline only keeps a failed test from hanging.
@discardableResult
func first<Value>(
    of updates: Updates<Value>, _ what: String, where wanted: @escaping @Sendable (Value) -> Bool
) async throws -> Value {
    try await inTime(what) {
        for await value in updates where wanted(value) { return value }
        throw Broken(description: "ended before: \(what)")
    }
}

/// Does something that must come to an end. Whatever is late is left behind, so that a failed test cannot hang the run.
func inTime<T: Sendable>(_ what: String, _ work: @escaping @Sendable () async throws -> T) async throws -> T {
    let (outcomes, outcome) = AsyncStream<Result<T, any Error>>.makeStream()
    let working = Task {
        do {
            outcome.yield(.success(try await work()))
        } catch {
            outcome.yield(.failure(error))
        }
    }
    let waiting = Task {
        try await Task.sleep(for: .seconds(60))
        outcome.yield(.failure(Broken(description: "did not happen: \(what)")))
    }
    defer {
        working.cancel()
        waiting.cancel()
    }
    for await outcome in outcomes { return try outcome.get() }
    throw Broken(description: "cancelled: \(what)")
}

/// The error a call fails with, if it is of this sort.
func error<E: Error>(_ type: E.Type = E.self, of work: () async throws -> Void) async -> E? {
    do {
        try await work()
        return nil
    } catch {
        return error as? E
    }
}

/// Open files of this process, by what they are.
func openFiles() throws -> [String] {
    let folder = "/proc/self/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { number in
        try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(number)")
    }
}

/// Resident memory of this process, in KiB.
func residentMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line.flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int($0) } ?? 0
}
