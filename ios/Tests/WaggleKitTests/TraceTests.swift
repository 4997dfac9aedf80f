import Foundation
import Testing
import Waggle
import WaggleFakes

@testable import WaggleKit

/// Scrolls, as `Traces/NAME.trace`: what happens, and after `>` what has to be reported for it. A step without such a line must report nothing.
/// A row is `ID@OFFSET+SIZE` as the list measured it, and `-` stands for what is no message. The Android app's tests read the same format.
@MainActor @Suite struct TraceTests {
    @Test(arguments: try traces("trace")) func everyTraceReportsWhatItSaysAndNothingElse(_ trace: URL) throws {
        let player = TracePlayer()
        let lines = try String(contentsOf: trace, encoding: .utf8).split(separator: "\n")
            .map(String.init).filter { !$0.hasPrefix("#") }
        var rest = lines[...]
        while let step = rest.popFirst() {
            let expected = rest.prefix { $0.hasPrefix("> ") }
            rest = rest.dropFirst(expected.count)
            try player.carryOut(step)
            #expect(player.said.take() == expected.map { String($0.dropFirst(2)) }, "\(trace.lastPathComponent): \(step)")
        }
    }

    @Test func thereAreTraces() throws {
        #expect(try traces("trace").count >= 6)
        #expect(try traces("frames").count >= 1)
    }

    /// In the tree, a trace that both apps have is one and the same.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["WAGGLE_ROOT"] != nil))
    func bothAppsHaveTheSameTraces() throws {
        let root = URL(fileURLWithPath: try #require(ProcessInfo.processInfo.environment["WAGGLE_ROOT"]))
        let theirs = root.appendingPathComponent("android/kit/src/test/resources/traces")
        for trace in try traces("trace") {
            let other = theirs.appendingPathComponent(trace.lastPathComponent)
            guard FileManager.default.fileExists(atPath: other.path) else { continue }
            #expect(try Data(contentsOf: trace) == Data(contentsOf: other), "\(trace.lastPathComponent)")
        }
    }

    @Test func aSurfaceThatComesAfterTheEndIsClosed() {
        let (said, reporter) = (Said(), ViewportReporter())
        reporter.close()
        reporter.attach(Heard(said))
        #expect(said.take() == ["closed"])
    }

    /// Row after row, frame after frame, through what gathers SwiftUI's callbacks.
    @Test func aFlingIsTwoReports() async throws {
        let trace = try #require(try traces("frames").first { $0.lastPathComponent == "fling.frames" })
        let (said, time, reporter) = (Said(), ManualTime(), ViewportReporter())
        let geometry = ListGeometry(pace: time.pace) { reporter.layout($0) }
        reporter.active(true)
        reporter.attach(Heard(said))
        geometry.newest("t")
        var (shown, now) = (Set<String>(), 0)
        var reports: [[String]] = []
        for line in try String(contentsOf: trace, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(separator: " ").map(String.init)
            if words[0] == "height" { geometry.resize(height: try #require(Double(words[1]))); continue }
            let at = try #require(Int(words[0]))
            await time.pass(.milliseconds(at - now))
            now = at
            let rows = words.dropFirst(2).map(placed)
            for gone in shown.subtracting(rows.map(\.key)) { geometry.remove(gone) }
            shown = Set(rows.map(\.key))
            for row in rows { geometry.place(row.key, id: row.key, top: row.top, bottom: row.top + row.size) }
            geometry.endsAt(try #require(Double(words[1].dropFirst(4))))
            reports.append(said.take())
        }
        await time.pass(ListGeometry.quiet)
        // The first frame, then the settled list; the fling begins; nothing for all its frames; it rests.
        #expect(reports[0] == ["active moving"])
        #expect(reports[1] == ["active settled visible=n,o,p,q,r,s,t bottom=t", "active moving"])
        #expect(reports.dropFirst(2).allSatisfy(\.isEmpty) && reports.count > 60)
        #expect(said.take().map { $0.hasPrefix("active settled visible=") && !$0.contains("bottom") } == [true])
        #expect(time.sleeps < reports.count, "no task a frame")
    }

    @Test func nothingMovesNothingIsSaid() async {
        let (time, layouts) = (ManualTime(), Said())
        let geometry = ListGeometry(pace: time.pace) { layouts.add($0.settled ? "settled" : "moving") }
        geometry.resize(height: 100)
        geometry.place("a", id: "a", top: 0, bottom: 50)
        #expect(layouts.take() == ["moving"])
        await time.pass(.milliseconds(99))
        #expect(layouts.take() == [])
        geometry.place("b", id: "b", top: 50, bottom: 90)
        await time.pass(.milliseconds(1))
        #expect(layouts.take() == [])
        await time.pass(.milliseconds(99))
        #expect(layouts.take() == ["settled"])
        for _ in 0..<60 {
            geometry.place("b", id: "b", top: 50, bottom: 90)
            geometry.resize(height: 100)
            await time.pass(.milliseconds(16))
        }
        #expect(layouts.take() == [] && time.sleeps == 2)
        geometry.positioning(true)
        await time.pass(ListGeometry.quiet)
        #expect(layouts.take() == ["moving", "moving"], "a list on its way is not settled")
        geometry.positioning(false)
        await time.pass(ListGeometry.quiet)
        #expect(layouts.take() == ["moving", "settled"])
    }
}

func traces(_ kind: String) throws -> [URL] {
    #if SWIFT_PACKAGE
    let bundle = Bundle.module
    #else
    let bundle = Bundle(for: Said.self)
    #endif
    let folder = try #require(bundle.url(forResource: "Traces", withExtension: nil))
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    return files.filter { $0.pathExtension == kind }.sorted { $0.path < $1.path }
}

private func placed(_ word: String) -> (key: String, top: Double, size: Double) {
    let parts = word.split(separator: "@")
    let place = parts[1].split(separator: "+")
    return (String(parts[0]), Double(place[0]) ?? .nan, Double(place[1]) ?? .nan)
}

/// What was said since it was last taken.
final class Said: @unchecked Sendable {
    private let lock = NSLock()
    private var words: [String] = []

    func add(_ word: String) { lock.withLock { words.append(word) } }

    func take() -> [String] {
        lock.withLock {
            defer { words = [] }
            return words
        }
    }
}

/// A surface that says what it hears.
private final class Heard: WaggleSurface {
    private let said: Said

    init(_ said: Said) { self.said = said }

    func report(_ viewport: Viewport) throws(SessionError) {
        var words = [viewport.active ? "active" : "inactive", viewport.settled ? "settled" : "moving"]
        if !viewport.visible.isEmpty { words.append("visible=" + viewport.visible.joined(separator: ",")) }
        if let bottom = viewport.bottom { words.append("bottom=" + bottom) }
        said.add(words.joined(separator: " "))
    }

    func close() { said.add("closed") }
}

@MainActor private final class TracePlayer {
    let said = Said()
    private let reporter = ViewportReporter()
    private var (reversed, start, end) = (false, 0.0, 0.0)

    func carryOut(_ step: String) throws {
        let words = step.split(separator: " ").map(String.init)
        switch words[0] {
        case "list":
            reversed = words[1] == "reversed"
            start = try #require(Double(words[2].dropFirst("start=".count)))
            end = try #require(Double(words[3].dropFirst("end=".count)))
        case "attach": reporter.attach(Heard(said))
        case "front": reporter.active(true)
        case "cover": reporter.active(false)
        case "leave": reporter.detach()
        case "frame": reporter.layout(layout(words))
        case "repeat":
            for _ in 0..<(try #require(Int(words[1]))) { reporter.layout(layout(Array(words.dropFirst(2)))) }
        default: Issue.record("no such step: \(step)")
        }
    }

    private func layout(_ words: [String]) -> ListLayout {
        let height = end - start
        let rows = words.dropFirst(5).map { word in
            let (key, offset, size) = placed(word)
            let top = reversed ? height - (offset - start) - size : offset - start
            return PlacedRow(id: key == "-" ? nil : key, top: top, bottom: top + size)
        }
        let newest = String(words[3].dropFirst("newest=".count))
        return ListLayout(
            rows: rows.sorted { $0.top < $1.top }, height: height, atEnd: words[2] == "end", newest: newest == "-" ? nil : newest,
            settled: words[1] == "still")
    }
}
