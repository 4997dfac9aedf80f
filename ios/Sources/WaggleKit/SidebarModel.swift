// The channel list, and what lies beyond its edges.
//
// A lazy list lays out only what is near its visible part, so most rows have no measured place. But the list is made of lines in a known order,
// headers and rows, and the measured ones say which lines show. So every row is placed at its line, rows of a folded section at their header's,
// and the core counts from there.

public import Observation
public import Waggle

/// Rows that stand together.
public struct SidebarGroup: Identifiable, Sendable, Hashable {
    /// The section.
    public let section: SidebarSection
    /// Its rows, in drawing order.
    public let rows: [SidebarRow]

    /// Unique within the list.
    public var id: String { Self.id(section) }

    static func id(_ section: SidebarSection) -> String {
        switch section {
        case .promoted: "promoted"
        case .channels: "channels"
        case .directMessages: "direct messages"
        case .solo: "solo"
        case .open: "open"
        case .archived: "archived"
        }
    }
}

/// Rows in groups, in the order they come in.
public func grouped(_ rows: [SidebarRow]) -> [SidebarGroup] {
    var groups: [SidebarGroup] = []
    for row in rows {
        if let last = groups.last, last.section == row.section {
            groups[groups.count - 1] = SidebarGroup(section: last.section, rows: last.rows + [row])
        } else {
            groups.append(SidebarGroup(section: row.section, rows: [row]))
        }
    }
    return groups
}

/// Which groups show their rows. As a value, so that a view can bind to one of them.
public struct Folding: Sendable, Hashable {
    fileprivate(set) var folded: Set<String>

    /// Whether the rows of the group with this id show.
    public subscript(shows group: String) -> Bool {
        get { !folded.contains(group) }
        set { if newValue { folded.remove(group) } else { folded.insert(group) } }
    }
}

/// The channel list as it is shown.
@MainActor @Observable public final class SidebarModel {
    /// The list; `nil` until it is known.
    public private(set) var groups: [SidebarGroup]?
    /// It is a copy that the relay has not confirmed yet.
    public private(set) var isCached = false
    /// What lies beyond its edges.
    public private(set) var cues: Cues?
    /// Which line to scroll to the middle.
    public private(set) var goal: String?
    /// Which groups are folded away. Remembered.
    public var folding: Folding {
        didSet {
            guard folding != oldValue else { return }
            settings.collapsed = folding.folded.sorted()
            arrange()
        }
    }

    @ObservationIgnored private let ask: (_ placed: [Placed], _ viewport: Extent) -> Cues?
    @ObservationIgnored private let settings: any ReaderSettings
    @ObservationIgnored private var frames: [String: Extent] = [:]
    @ObservationIgnored private var height = 0.0
    @ObservationIgnored private var lines: [String: Int] = [:]
    @ObservationIgnored private var placed: [Placed] = []
    @ObservationIgnored private var shown: ClosedRange<Int>?

    /// - Parameter ask: What lies beyond the edges, by the core.
    init(settings: any ReaderSettings, ask: @escaping (_ placed: [Placed], _ viewport: Extent) -> Cues?) {
        self.ask = ask
        self.settings = settings
        folding = Folding(folded: Set(settings.collapsed))
    }

    func take(_ snapshot: SidebarSnapshot) {
        groups = grouped(snapshot.rows)
        isCached = snapshot.cached
        arrange()
    }

    /// A channel's row.
    public func row(_ channel: ChannelId) -> SidebarRow? {
        groups?.lazy.flatMap(\.rows).first { $0.channel == channel }
    }

    /// Scrolls to the nearest row of a cue, which opens and reads nothing.
    public func follow(_ cue: Cue) {
        guard let target = cue.target else { return }
        if target.collapsed, let group = groups?.first(where: { $0.rows.contains { $0.channel == target.channel } }) {
            folding[shows: group.id] = true
        }
        goal = target.channel
    }

    /// The list has scrolled there.
    public func arrived() {
        goal = nil
    }

    // MARK: Places

    /// A line (a group's header by its id, a row by its channel) lies here, from the upper edge of the visible part.
    public func place(_ line: String, top: Double, bottom: Double) {
        let frame = Extent(top: top, bottom: bottom)
        guard frames.updateValue(frame, forKey: line) != frame else { return }
        look()
    }

    /// A line is laid out no longer.
    public func remove(_ line: String) {
        guard frames.removeValue(forKey: line) != nil else { return }
        look()
    }

    /// The visible part is so high.
    public func resize(height: Double) {
        guard height != self.height else { return }
        self.height = height
        look()
    }

    /// Numbers the lines anew.
    private func arrange() {
        lines = [:]
        placed = []
        var next = 0
        for group in groups ?? [] {
            let (header, folded) = (next, !folding[shows: group.id])
            lines[group.id] = header
            next += 1
            for row in group.rows {
                let line = folded ? header : next
                if !folded {
                    lines[row.channel] = next
                    next += 1
                }
                placed.append(Placed(channel: row.channel, extent: extent(line...line), collapsed: folded, filtered: false))
            }
        }
        shown = nil
        look()
    }

    private func extent(_ lines: ClosedRange<Int>) -> Extent {
        Extent(top: Double(lines.lowerBound), bottom: Double(lines.upperBound + 1))
    }

    /// Asks the core again if other lines show than before.
    private func look() {
        let visible = frames.compactMap { line, frame in
            frame.bottom > 0 && frame.top < height && frame.bottom > frame.top ? lines[line] : nil
        }
        guard let first = visible.min(), let last = visible.max() else { return }
        guard first...last != shown else { return }
        shown = first...last
        let found = ask(placed, extent(first...last))
        if found != cues { cues = found }
    }
}
