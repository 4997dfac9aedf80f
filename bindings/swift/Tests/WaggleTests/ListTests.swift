import Testing
import WaggleFakes
import WaggleGenerated

@testable import Waggle

@Suite struct ListTests {
    private func apply(_ steps: [Step<Int>], to rows: [Int]) -> [Int]? { applying(steps, to: rows) }

    @Test func stepsAreAppliedInOrder() {
        #expect(apply([], to: [1]) == [1])
        #expect(apply([.insert(at: 0, 1), .insert(at: 1, 3), .insert(at: 1, 2)], to: []) == [1, 2, 3])
        #expect(apply([.remove(at: 2), .remove(at: 0), .update(at: 0, 9)], to: [1, 2, 3]) == [9])
    }

    @Test func aStepThatDoesNotFitChangesNothing() {
        for bad: Step<Int> in [.insert(at: 3, 0), .update(at: 2, 0), .remove(at: 2), .insert(at: -1, 0), .remove(at: .max)] {
            #expect(apply([bad], to: [1, 2]) == nil)
        }
        #expect(apply([.remove(at: 0)], to: []) == nil)
    }

    @Test func aMisfitAsksForEverything() async throws {
        let asked = Guarded([UInt64]())
        let answers = [
            SidebarUpdate(version: 5, cached: false, rows: .reset(rows: [Fake.sidebarRow(1)])),
            SidebarUpdate(version: 6, cached: false, rows: .changes(changes: [.insert(at: 1, row: Fake.sidebarRow(2))])),
            SidebarUpdate(version: 7, cached: false, rows: .changes(changes: [.remove(at: 9)])),
            SidebarUpdate(version: 8, cached: true, rows: .reset(rows: [Fake.sidebarRow(3)])),
            SidebarUpdate(version: 9, cached: false, rows: .changes(changes: [.remove(at: 9)])),
            SidebarUpdate(version: 9, cached: false, rows: .changes(changes: [.remove(at: 9)])),
        ]
        let updates = Updates {
            Steps<SidebarSnapshot>.list(
                next: { after in
                    answers[
                        asked.with { asked in
                            asked.append(after)
                            return asked.count - 1
                        }]
                }, cancel: {}
            ) { update, last in
                SidebarSnapshot(update, after: last?.rows ?? []).map { Versioned(version: $0.version, value: $0) }
            }
        }
        var seen: [[ChannelId]] = []
        let failure = await error(ViewError.self) {
            for try await sidebar in updates.throwing { seen.append(sidebar.rows.map(\.channel)) }
        }
        #expect(seen == [[Fake.channel(1)], [Fake.channel(1), Fake.channel(2)], [Fake.channel(3)]])
        #expect(asked.with { $0 } == [0, 5, 6, 0, 8, 0])
        guard case .Failed = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }
}

@Suite struct DurationTests {
    @Test func milliseconds() {
        for (duration, wanted) in [
            (Duration.seconds(3), UInt64(3_000)), (.milliseconds(1_500), 1_500), (.microseconds(1_999), 1), (.zero, 0),
            (.seconds(-1), 0), (.seconds(Int64.max), .max),
        ] {
            #expect(duration.wholeMilliseconds == wanted)
        }
    }
}
