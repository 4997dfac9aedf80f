public import Waggle
// Cases of its enums are default arguments here.
public import WaggleGenerated

/// Records for previews and tests. Every argument has a default, so that a test names only what it is about.
public enum Fake {
    /// A message's id, another one for each number.
    public static func event(_ number: Int) -> EventId { hex(number) }

    /// An account's key, another one for each number.
    public static func key(_ number: Int) -> PublicKey { hex(number) }

    /// A channel's id, another one for each number.
    public static func channel(_ number: Int) -> ChannelId {
        "00000000-0000-4000-8000-" + String(hex(number).suffix(12))
    }

    /// A failure as data.
    public static func failure(
        _ code: String = "failed", retry: Retry = .never, sentence: String = "This was called off by a test."
    ) -> Failure {
        Failure(code: code, retry: retry, sentence: sentence)
    }

    /// A finished row of a timeline.
    public static func row(
        _ number: Int = 1, text: String = "A message", author: String = "Ana", createdAt: UInt64 = 1_750_000_000,
        kind: RowKind = .message, edited: Bool = false, own: Bool = false, mentioned: Bool = false, quiet: Bool = false,
        threadRoot: EventId? = nil, replies: UInt32 = 0, threadDot: Bool = false, reactions: [Reaction] = [],
        startsDay: Bool = false, grouped: Bool = false
    ) -> TimelineRow {
        TimelineRow(
            id: event(number), createdAt: createdAt, author: key(author.unicodeScalars.reduce(0) { $0 + Int($1.value) }),
            authorName: author, kind: kind, text: text, edited: edited, own: own, mentioned: mentioned, quiet: quiet,
            threadRoot: threadRoot, replies: replies, threadDot: threadDot, reactions: reactions, startsDay: startsDay,
            grouped: grouped)
    }

    /// Everything about a timeline but its rows.
    public static func status(
        channel: ChannelId = Fake.channel(1), root: EventId? = nil, more: More = .no, gap: UInt32? = nil,
        firstUnread: EventId? = nil, loading: Bool = false, restored: Bool = false, trust: OverlayTrust = .identity,
        error: Failure? = nil
    ) -> TimelineStatus {
        TimelineStatus(
            channel: channel, root: root, more: more, gap: gap, firstUnread: firstUnread, loading: loading, restored: restored,
            trust: trust, error: error)
    }

    /// A sidebar row.
    public static func sidebarRow(
        _ number: Int = 1, name: String = "general", section: SidebarSection = .channels, channelType: ChannelType = .stream,
        participants: [PublicKey] = [], strong: Bool = false, dot: Bool = false, bell: Bool = false, counted: Bool = false,
        threads: UInt32 = 0, observed: UInt32? = 0, attention: UInt32? = 0, manual: Manual = .none, accessibleName: String? = nil,
        joined: Bool = true, archived: Bool = false, muted: Bool = false, latestAt: UInt64? = nil
    ) -> SidebarRow {
        SidebarRow(
            channel: channel(number), name: name, section: section, channelType: channelType, participants: participants,
            strong: strong, dot: dot, bell: bell, counted: counted, threads: threads, observed: observed, attention: attention,
            manual: manual, accessibleName: accessibleName ?? name, joined: joined, archived: archived, muted: muted,
            latestAt: latestAt)
    }

    /// What is unread about a target.
    public static func unread(
        observed: UInt32? = 0, attention: UInt32? = 0, latest: EventId? = nil, coverage: Coverage = .observed,
        freshness: Freshness = .observed, manual: Manual = .none, pending: Bool = false, error: Failure? = nil
    ) -> UnreadSnapshot {
        UnreadSnapshot(
            observed: observed, attention: attention, latest: latest, coverage: coverage, freshness: freshness, manual: manual,
            pending: pending, error: error)
    }

    /// Read-state synchronisation.
    public static func sync(
        _ state: SyncState = .local, completeness: Completeness = .snapshot, pending: Bool = false,
        capability: Capability = .frontierSync, error: Failure? = nil
    ) -> SyncStatus {
        SyncStatus(state: state, completeness: completeness, pending: pending, capability: capability, error: error)
    }

    /// What the session is doing.
    public static func connectivity(
        _ phase: Phase = .online, sentence: String = "Up to date.", repair: RepairProgress? = nil, retryIn: UInt32? = nil,
        error: Failure? = nil
    ) -> Connectivity {
        Connectivity(phase: phase, sentence: sentence, repair: repair, retryIn: retryIn, error: error)
    }

    /// Nothing beyond either edge.
    public static let noCues = Cues(above: noCue, below: noCue)

    private static let noCue = Cue(count: 0, target: nil, previews: [], attention: false, accessibleName: "")

    private static func hex(_ number: Int) -> String {
        let digits = String(UInt64(bitPattern: Int64(number)), radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }
}
