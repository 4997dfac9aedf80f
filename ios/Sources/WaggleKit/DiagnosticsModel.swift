public import Observation
public import Waggle

/// One line of the diagnostics.
public struct Fact: Identifiable, Sendable, Hashable {
    /// What it is about.
    public let name: String
    /// What is so.
    public let value: String
    public var id: String { name }
}

/// What the connection and synchronisation are doing.
public func facts(_ connectivity: Connectivity?, _ sync: SyncStatus?) -> [Fact] {
    var facts: [Fact] = []
    if let connectivity {
        facts.append(Fact(name: "Connection", value: "\(connectivity.phase)"))
        if let seconds = connectivity.retryIn { facts.append(Fact(name: "Next attempt", value: "in \(seconds) s")) }
        if let repair = connectivity.repair {
            facts.append(Fact(name: "Counts loaded", value: "\(repair.done) of \(repair.total)"))
        }
        if let error = connectivity.error { facts.append(Fact(name: "Connection error", value: error.code)) }
    }
    if let sync {
        facts.append(Fact(name: "Synchronisation", value: "\(sync.state)"))
        facts.append(Fact(name: "Unpublished", value: sync.pending ? "yes" : "no"))
        facts.append(Fact(name: "Other devices' markers", value: "\(sync.completeness)"))
        facts.append(Fact(name: "This device", value: "\(sync.capability)"))
        if let error = sync.error { facts.append(Fact(name: "Synchronisation error", value: error.code)) }
    }
    return facts
}

/// What is known about one timeline, and within which bounds.
public func facts(_ status: TimelineStatus?, _ unread: UnreadSnapshot?) -> [Fact] {
    var facts: [Fact] = []
    if let status {
        facts.append(Fact(name: "Rows", value: status.restored ? "from this device" : "from the relay"))
        facts.append(Fact(name: "More", value: "\(status.more)"))
        facts.append(Fact(name: "Gap", value: status.gap.map { "above row \($0 + 1)" } ?? "none"))
        facts.append(Fact(name: "Counts and edits", value: "\(status.trust)"))
        if let error = status.error { facts.append(Fact(name: "Reading error", value: error.code)) }
    }
    if let unread {
        facts.append(Fact(name: "Coverage", value: "\(unread.coverage)"))
        facts.append(Fact(name: "Freshness", value: "\(unread.freshness)"))
        facts.append(Fact(name: "Unread", value: unread.observed.map { "\($0)" } ?? "unknown"))
        facts.append(Fact(name: "Wants attention", value: unread.attention.map { "\($0)" } ?? "unknown"))
        facts.append(Fact(name: "Look-ups", value: unread.pending ? "waiting" : "none waiting"))
        facts.append(Fact(name: "Marked by hand", value: "\(unread.manual)"))
        if let error = unread.error { facts.append(Fact(name: "Count error", value: error.code)) }
    }
    return facts
}

/// The newest lines of the core's log, which holds no content, ids, keys or hosts.
@MainActor @Observable public final class LogModel {
    /// As many as a person scrolls through.
    public static let limit = 200

    /// A line with a number of its own.
    public struct Line: Identifiable, Sendable {
        /// Grows with each line.
        public let id: Int
        /// The line.
        public let line: LogLine
    }

    /// Newest first.
    public private(set) var newest: [Line] = []
    @ObservationIgnored private var read = 0

    /// An empty log.
    public init() {}

    /// Reads lines until the task is cancelled. Not twice at once.
    public func follow() async {
        await follow(WaggleLog.batches)
    }

    func follow(_ batches: Updates<LogBatch>) async {
        newest = []
        for await batch in batches {
            for line in batch.lines.suffix(Self.limit) {
                read += 1
                newest.insert(Line(id: read, line: line), at: 0)
            }
            newest.removeLast(max(0, newest.count - Self.limit))
        }
    }
}

/// A channel's threads with unread replies.
@MainActor @Observable public final class ActivityModel {
    /// The threads, newest first; `nil` while nothing is known.
    public private(set) var items: [ThreadActivityItem]?
    /// Why they cannot be had.
    public private(set) var failure: Failure?
    @ObservationIgnored private let session: any WaggleSession
    @ObservationIgnored private let channel: ChannelId

    /// Threads of a channel of this community.
    public init(_ community: CommunityModel, channel: ChannelId) {
        session = community.session
        self.channel = channel
    }

    /// Reads until the task is cancelled.
    public func follow() async {
        failure = await failureOf {
            for await activity in try await session.threadActivity(channel) {
                items = activity.items
            }
        }
    }
}
