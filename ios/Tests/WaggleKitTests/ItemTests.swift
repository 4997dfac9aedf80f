import Foundation
import Testing
import Waggle
import WaggleFakes

@testable import WaggleKit

@Suite struct ItemTests {
    private func snapshot(_ rows: [TimelineRow], _ status: TimelineStatus) -> TimelineSnapshot {
        TimelineSnapshot(rows: rows, status: status)
    }

    @Test func marksStandWhereTheCoreSays() {
        let rows = [
            Fake.row(1, createdAt: 1_750_000_000, startsDay: true), Fake.row(2, createdAt: 1_750_000_100),
            Fake.row(3, createdAt: 1_750_090_000, startsDay: true), Fake.row(4, createdAt: 1_750_090_100),
        ]
        let items = timelineItems(snapshot(rows, Fake.status(more: .no, gap: 2, firstUnread: Fake.event(4))), utcOffset: 0)
        let days = [1_749_945_600, 1_750_032_000].map { TimelineItem.day(Date(timeIntervalSince1970: $0)) }
        #expect(
            items == [
                .beginning, days[0], .message(rows[0]), .message(rows[1]), .gap, days[1], .message(rows[2]), .firstUnread,
                .message(rows[3]),
            ])
        #expect(Set(items.map(\.id)).count == items.count)
        #expect(items.compactMap(\.message) == rows.map(\.id))
    }

    @Test func aChannelGoesOnAboveAndAThreadBelow() {
        let rows = [Fake.row(1), Fake.row(2)]
        let channel = snapshot(rows, Fake.status(more: .yes))
        #expect(timelineItems(channel, utcOffset: 0).first == .goesOn)
        #expect(newestRow(channel) == Fake.event(2))
        let thread = snapshot(rows, Fake.status(root: Fake.event(1), more: .yes))
        #expect(timelineItems(thread, utcOffset: 0).last == .goesOn)
        #expect(newestRow(thread) == nil)
        let whole = snapshot(rows, Fake.status(root: Fake.event(1), more: .no))
        #expect(timelineItems(whole, utcOffset: 0).count == 2 && newestRow(whole) == Fake.event(2))
        #expect(timelineItems(snapshot(rows, Fake.status(more: .unknown)), utcOffset: 0).first == .uncertain)
        #expect(timelineItems(snapshot([], Fake.status(more: .no)), utcOffset: 0).isEmpty)
    }

    @Test func aDayBeginsByTheOffset() {
        let row = Fake.row(1, createdAt: 1_750_030_000, startsDay: true)
        let east = timelineItems(snapshot([row], Fake.status(more: .yes)), utcOffset: 7_200)
        #expect(east[1] == .day(Date(timeIntervalSince1970: 1_750_024_800)))
        let again = timelineItems(
            snapshot([row, Fake.row(2, createdAt: 1_750_030_001, startsDay: true)], Fake.status()), utcOffset: 0)
        #expect(Set(again.map(\.id)).count == again.count, "a day twice is one item")
    }

    @Test func timesAndNumbers() {
        let formats = Formats(locale: Locale(identifier: "en_GB"), utcOffset: 3_600)
        #expect(formats.time(1_750_000_000) == "16:06")
        #expect(formats.stamp(1_750_000_007) == "16:06:47")
        #expect(formats.count(12_345) == "12,345")
        let now = Date(timeIntervalSince1970: 1_750_000_000)
        #expect(formats.day(now.addingTimeInterval(-3_600), now: now) == "Today")
        #expect(formats.day(now.addingTimeInterval(-86_400), now: now) == "Yesterday")
        #expect(formats.day(now.addingTimeInterval(-86_400 * 3), now: now).contains("June"))
        #expect(initials("Mara van Dijk") == "MV" && initials("#general") == "G" && initials("") == "")
    }

    @Test func aRowIsReadAloudWhole() {
        let formats = Formats(locale: Locale(identifier: "en_GB"), utcOffset: 0)
        let row = Fake.row(
            1, text: "Done", author: "Ana", edited: true, mentioned: true, replies: 2, threadDot: true,
            reactions: [Reaction(emoji: "👍", count: 3, mine: true)])
        #expect(spoken(row, formats) == "Ana, Done, 15:06, edited, mentions you, 3 × 👍, one is yours, 2 replies, unread")
        #expect(replies(Fake.row(1, replies: 1), formats) == "1 reply")
    }

    @Test func factsAreShapes() {
        let all = facts(
            Fake.connectivity(.offline, retryIn: 7, error: Fake.failure("network")),
            Fake.sync(.error, completeness: .bounded, pending: true, error: Fake.failure("relay"))
        )
        #expect(all.contains(Fact(name: "Next attempt", value: "in 7 s")))
        #expect(all.contains(Fact(name: "Other devices' markers", value: "bounded")))
        #expect(all.contains(Fact(name: "Synchronisation error", value: "relay")))
        let place = facts(Fake.status(gap: 3, trust: .transport), Fake.unread(observed: nil, attention: 0, coverage: .unknown))
        #expect(place.contains(Fact(name: "Gap", value: "above row 4")))
        #expect(place.contains(Fact(name: "Unread", value: "unknown")))
        #expect(Set((all + place).map(\.id)).count == all.count + place.count)
    }
}
