// One device of a scenario, as an app on the Swift layer. Everything runs on one counted thread.

import Foundation
@testable import Waggle
import class WaggleGenerated.Client
import WaggleThroughGenerated

/// How long a suspended app gives its session.
private let budget = Duration.seconds(5)

/// A timeline or surface: a channel's, or a thread's when it has a root.
struct Place: Hashable, Decodable {
    let channel: String
    let root: String?
}

/// What an unread question is about.
struct Aim: Decodable {
    let of: String
    let channel: String
    let root: String?
    let message: String?

    var target: Target {
        get throws {
            switch (of, root, message) {
            case ("channel", _, _): .channel(channel: channel)
            case ("thread", let root?, _): .thread(channel: channel, root: root)
            case ("message", _, let message?): .message(channel: channel, message: message)
            default: throw Misuse(text: "no such target: \(of)")
            }
        }
    }
}

/// What a surface shows.
struct Shown: Decodable {
    let rows: [String]
    let bottom: String?
    let active: Bool
    let settled: Bool
}

/// A line as `driver::Ask`: which fields are there depends on the word.
struct Ask: Decodable {
    let op: String?
    let observe: String?
    let place: Place?
    let limit: UInt32?
    let viewport: Shown?
    let target: Aim?
    let channel: String?
    let root: String?
    let message: String?
    let value: Bool?
    let `class`: String?
}

/// A fault of the runner or of this program, which no scenario expects.
struct Misuse: Error {
    let text: String
}

func need<T>(_ value: T?, _ name: String = #function) throws -> T {
    guard let value else { throw Misuse(text: "something is missing in \(name)") }
    return value
}

/// What runs between start and end of an app.
private final class Live: @unchecked Sendable {
    let client: WaggleClient
    let session: Session
    var timelines: [Place: any WaggleTimeline] = [:]
    var surfaces: [Place: any WaggleSurface] = [:]

    init(client: WaggleClient, session: Session) {
        self.client = client
        self.session = session
    }
}

final class Device: DeviceApp, @unchecked Sendable {
    private var live: Live?
    private var tasks: [Task<Void, Never>] = []
    private let lock = NSLock()

    func start(client: Client, origin: String, question: Question) {
        answer(question) {
            let client = WaggleClient(client)
            let session = try client.session(host: origin)
            try await session.start()
            self.lock.withLock { self.live = Live(client: client, session: session) }
            return .done
        }
    }

    func ask(line: String, question: Question) {
        answer(question) {
            let ask = try JSONDecoder().decode(Ask.self, from: Data(line.utf8))
            let live = try need(self.lock.withLock { self.live }, "the running device")
            if let what = ask.observe {
                return .seen(try await look(live, what, ask))
            }
            try await carryOut(live, try need(ask.op), ask)
            return .done
        }
    }

    func gone() {
        lock.withLock {
            tasks.forEach { $0.cancel() }
            tasks = []
            live = nil
        }
    }

    private func answer(_ question: Question, _ work: @escaping @Sendable () async throws -> Answer) {
        let task = Task {
            let answer: Answer
            do {
                answer = try await work()
            } catch let error as SessionError {
                answer = .failed(error.failure.code, "\(error)")
            } catch let error as ClientError {
                answer = .failed(error.failure.code, "\(error)")
            } catch {
                answer = .failed(nil, "\(error)")
            }
            question.answer(reply: answer.line)
        }
        lock.withLock { tasks.append(task) }
    }
}

private func carryOut(_ live: Live, _ op: String, _ ask: Ask) async throws {
    let session = live.session
    switch op {
    case "stop": try await session.close()
    case "leave": try await session.leave()
    case "suspend": try await session.suspend(budget: budget)
    case "resume": try await session.resume()
    case "ensure": try await session.ensure()
    case "refresh": try await session.refresh()
    case "retry_sync": try await session.retrySync()
    case "flush": try await session.flush()
    case "settle_lookups": try await session.settleLookups()
    case "open", "older", "close", "show", "hide": try await screen(live, op, try need(ask.place), ask)
    case "mark_through": try await session.markThrough(try need(ask.target).target, message: try need(ask.message))
    case "mark_channel_read": try await session.markChannelRead(try need(ask.channel))
    case "mark_all_read": try await session.markAllChannelsRead()
    case "mark_unread": try await session.markUnread(try need(ask.target).target)
    case "clear_unread": try await session.clearUnread(try need(ask.target).target)
    case "follow":
        try await session.follow(try need(ask.channel), root: try need(ask.root), following: try need(ask.value))
    case "mute": try await session.mute(try need(ask.channel), muted: try need(ask.value))
    case "present_as":
        let classes: [String: PresentationClass] = ["normal": .normal, "solo": .solo, "promoted": .promoted]
        try await session.presentAs(try need(ask.channel), try need(classes[try need(ask.class)]))
    default: throw Misuse(text: "no such operation: \(op)")
    }
}

private func screen(_ live: Live, _ op: String, _ place: Place, _ ask: Ask) async throws {
    switch op {
    case "open":
        try await close(live, place)
        if let root = place.root {
            live.timelines[place] = try await live.session.thread(
                place.channel, root: root, pageSize: ask.limit, utcOffset: 0)
        } else {
            live.timelines[place] = try await live.session.timeline(place.channel, pageSize: ask.limit, utcOffset: 0)
        }
    case "older":
        let timeline = try need(live.timelines[place])
        try await timeline.loadOlder()
    case "close": try await close(live, place)
    case "hide":
        if let surface = live.surfaces.removeValue(forKey: place) {
            surface.close()
        }
    default:
        let shown = try need(ask.viewport)
        // There is nothing to read where there is no access.
        guard let surface = try await surface(live, place) else { return }
        try surface.report(
            Viewport(active: shown.active, settled: shown.settled, visible: shown.rows, bottom: shown.bottom))
    }
}

private func close(_ live: Live, _ place: Place) async throws {
    if let timeline = live.timelines.removeValue(forKey: place) {
        try await timeline.close()
    }
}

/// The surface of a place; none where access is denied.
private func surface(_ live: Live, _ place: Place) async throws -> (any WaggleSurface)? {
    if let surface = live.surfaces[place] {
        return surface
    }
    do {
        let surface = try await live.session.surface(place.channel, root: place.root)
        live.surfaces[place] = surface
        return surface
    } catch {
        // Swift 6.0 crashes over a pattern here.
        guard error.failure.code == "denied" else { throw error }
        return nil
    }
}

private func look(_ live: Live, _ what: String, _ ask: Ask) async throws -> [String: Any] {
    switch what {
    case "unread": unreadFact(try await live.session.snapshot(try need(ask.target).target))
    case "timeline": timelineFact(try need(live.timelines[try need(ask.place)]).now())
    case "activity": activityFact(try await live.session.activity(try need(ask.channel)))
    case "sidebar": sidebarFact(live.session.sidebarNow())
    case "following":
        ["fact": "following", "value": try await live.session.following(try need(ask.channel), root: try need(ask.root))]
    case "sync": syncFact(live.session.syncNow())
    default: throw Misuse(text: "nothing to see: \(what)")
    }
}
