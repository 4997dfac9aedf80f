// What was seen, as scenario files write it.

import Foundation
import Waggle

/// A reply as `driver::Reply`.
enum Answer {
    case done
    case failed(String?, String)
    case seen([String: Any])

    var line: String {
        let value: Any =
            switch self {
            case .done: "done"
            case .failed(let code, let text): ["failed": ["code": orNull(code), "text": text]]
            case .seen(let fact): ["seen": fact]
            }
        let data = try? JSONSerialization.data(withJSONObject: value, options: [.fragmentsAllowed])
        return data.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

private func orNull(_ value: Any?) -> Any {
    value ?? NSNull()
}

/// An enum's case as scenario files write it: `localOnly` is `local-only`.
private func word(_ value: Any) -> String {
    var word = ""
    for character in "\(value)" {
        word += character.isUppercase ? "-\(character.lowercased())" : String(character)
    }
    return word
}

func unreadFact(_ snapshot: UnreadSnapshot) -> [String: Any] {
    [
        "fact": "unread",
        "observed": orNull(snapshot.observed),
        "attention": orNull(snapshot.attention),
        "latest": orNull(snapshot.latest),
        "coverage": word(snapshot.coverage),
        "freshness": word(snapshot.freshness),
        "manual": word(snapshot.manual),
        "pending": snapshot.pending,
        "error": snapshot.error != nil,
    ]
}

func timelineFact(_ now: TimelineSnapshot) -> [String: Any] {
    let rows: [[String: Any]] = now.rows.map { row in
        [
            "id": row.id,
            "text": row.text,
            "edited": row.edited,
            "replies": row.replies,
            "reactions": Dictionary(uniqueKeysWithValues: row.reactions.map { ($0.emoji, $0.count) }),
            "thread_dot": row.threadDot,
        ]
    }
    return [
        "fact": "timeline",
        "rows": rows,
        "more": word(now.status.more),
        "gap": now.status.gap != nil,
        "first_unread": orNull(now.status.firstUnread),
    ]
}

func activityFact(_ activity: ThreadActivity) -> [String: Any] {
    let items: [[String: Any]]? = activity.items?.map { ["root": $0.root, "latest": $0.latest, "count": $0.count] }
    return ["fact": "activity", "items": orNull(items)]
}

func sidebarFact(_ sidebar: SidebarSnapshot) -> [String: Any] {
    let rows: [[String: Any]] = sidebar.rows.map { row in
        ["channel": row.channel, "strong": row.strong, "dot": row.dot, "bell": row.bell, "counted": row.counted]
    }
    return ["fact": "sidebar", "rows": rows]
}

func syncFact(_ status: SyncStatus) -> [String: Any] {
    [
        "fact": "sync",
        "state": word(status.state),
        "completeness": word(status.completeness),
        "pending": status.pending,
        "capability": word(status.capability),
    ]
}
