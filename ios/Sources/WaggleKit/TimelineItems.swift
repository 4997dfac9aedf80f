public import Foundation
public import Waggle

/// What a timeline's list is made of.
public enum TimelineItem: Identifiable, Sendable, Hashable {
    /// A message or what else the core made a row of.
    case message(TimelineRow)
    /// A day begins; its first moment.
    case day(Date)
    /// The first row that was unread when the screen opened is below.
    case firstUnread
    /// Rows may be missing here.
    case gap
    /// The list goes on: older rows of a channel, further ones of a thread.
    case goesOn
    /// Whether it goes on is not known here.
    case uncertain
    /// A channel's first word.
    case beginning

    /// Unique within the list, and stays with the item as the list changes.
    public var id: String {
        switch self {
        case .message(let row): row.id
        case .day(let day): "day \(Int(day.timeIntervalSince1970))"
        case .firstUnread: "first unread"
        case .gap: "gap"
        case .goesOn: "goes on"
        case .uncertain: "uncertain"
        case .beginning: "beginning"
        }
    }

    /// The message's id, for what is one.
    public var message: EventId? {
        if case .message(let row) = self { row.id } else { nil }
    }
}

/// Items of a timeline, oldest first. Nothing is decided here: rows and status say where each mark belongs.
///
/// - Parameter utcOffset: Seconds east of UTC by which days begin; the one the timeline was opened with.
public func timelineItems(_ snapshot: TimelineSnapshot, utcOffset: Int32) -> [TimelineItem] {
    let status = snapshot.status
    let more: TimelineItem? =
        switch status.more {
        case .yes: .goesOn
        case .unknown: .uncertain
        case .no: status.root == nil && !snapshot.rows.isEmpty ? .beginning : nil
        }
    var items: [TimelineItem] = []
    items.reserveCapacity(snapshot.rows.count + 8)
    if status.root == nil, let more { items.append(more) }
    var days = Set<String>()
    for (index, row) in snapshot.rows.enumerated() {
        if let gap = status.gap, Int(gap) == index { items.append(.gap) }
        // Around a gap the same day may begin twice; a list takes each item once.
        let day = TimelineItem.day(startOfDay(row.createdAt, utcOffset: utcOffset))
        if row.startsDay, days.insert(day.id).inserted { items.append(day) }
        if row.id == status.firstUnread { items.append(.firstUnread) }
        items.append(.message(row))
    }
    if status.root != nil, let more { items.append(more) }
    return items
}

/// The newest row of a list that has all newer ones; a thread that goes on does not have its newest row yet.
public func newestRow(_ snapshot: TimelineSnapshot) -> EventId? {
    if snapshot.status.root != nil, snapshot.status.more == .yes { return nil }
    return snapshot.rows.last?.id
}

private func startOfDay(_ seconds: UInt64, utcOffset: Int32) -> Date {
    let local = Int64(clamping: seconds) + Int64(utcOffset)
    let day = local - (local % 86_400 + 86_400) % 86_400
    return Date(timeIntervalSince1970: TimeInterval(day - Int64(utcOffset)))
}
