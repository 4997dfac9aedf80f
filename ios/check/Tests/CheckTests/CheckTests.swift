import Foundation
import Testing

@testable import NotificationExtension
@testable import WaggleReader

/// That this package was built at all is the check: every view is type-checked then. These tests say that nothing was left out.
@Suite struct CheckTests {
    private let root: URL

    init() throws {
        root = URL(fileURLWithPath: try #require(ProcessInfo.processInfo.environment["WAGGLE_ROOT"]))
    }

    private func swiftFiles(_ folder: String) throws -> [String] {
        let found = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path)
        return (found?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".swift") }
    }

    private func text(_ file: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
    }

    @Test(arguments: ["App", "NotificationExtension"]) func whatIsCheckedIsTheAppItself(_ folder: String) throws {
        let checked = try FileManager.default.destinationOfSymbolicLink(
            atPath: root.appendingPathComponent("ios/check/Declarations/Checked/\(folder)").path)
        #expect(checked == "../../../\(folder)")
        #expect(try !swiftFiles("ios/\(folder)").isEmpty)
    }

    /// A source in a folder of its own would be in Xcode's project and not in this package.
    @Test func noSourceIsElsewhere() throws {
        let known = ["App/", "NotificationExtension/", "Sources/WaggleKit/", "Tests/", "check/"]
        let other = try swiftFiles("ios").filter { file in
            !known.contains { file.hasPrefix($0) } && file != "Package.swift" && !file.contains(".build/")
        }
        #expect(other == [])
    }

    @Test func projectAndSourcesNameTheSameThings() throws {
        let project = try text("ios/project.yml")
        #expect(project.contains("BGTaskSchedulerPermittedIdentifiers: [\(BackgroundWork.identifier)]"))
        let group = "com.apple.security.application-groups: [group.org.waggle.reader]"
        #expect(project.components(separatedBy: group).count == 3, "app and extension share a group")
        #expect(project.components(separatedBy: "keychain-access-groups:").count == 3, "and a keychain")
    }

    /// A system menu or alert that the model does not know of would lie over rows that go on being read.
    @Test func whatLiesOverTheTimelineIsTheModels() throws {
        for file in ["TimelineScreen", "TimelineItemView"] {
            let source = try text("ios/App/\(file).swift")
            for cover in [".contextMenu", "Menu {", ".sheet(", ".alert(", ".popover(", ".fullScreenCover(", ".confirmationDialog("]
            {
                #expect(!source.contains(cover), "\(file): \(cover)")
            }
        }
    }

    /// Type grows with the person's setting, and colours follow the appearance.
    @Test func noFixedSizesOrColours() throws {
        for file in try swiftFiles("ios/App") {
            let source = try text("ios/App/" + file)
            for fixed in [".system(size:", "Color(red:", "Color.white", "Color.black", "UIColor("] {
                #expect(!source.contains(fixed), "\(file): \(fixed)")
            }
        }
    }

    /// Every block of the how-to is a marked region of a file that is compiled: here, or by the suite of its language.
    @Test func theHowToSaysWhatIsCompiled() throws {
        let lines = try text("bindings/docs/howto.md").components(separatedBy: "\n")
        var (sample, blocks, block) = (nil as String?, 0, nil as [String]?)
        for line in lines {
            if line.hasPrefix("<!-- sample: ") {
                sample = String(line.dropFirst("<!-- sample: ".count).dropLast(" -->".count))
            } else if line.hasPrefix("```"), let body = block {
                let place = try #require(sample, "a block without a sample: \(body.first ?? "")").split(separator: "#").map(
                    String.init)
                let compiled = try region(place[1], of: place[0])
                #expect(body == compiled, "\(place)")
                (sample, block, blocks) = (nil, nil, blocks + 1)
            } else if line.hasPrefix("```") {
                block = []
            } else {
                block?.append(line)
            }
        }
        #expect(block == nil && sample == nil && blocks >= 14)
    }

    /// The lines between `// howto: NAME` and `// howto: end`, without what indents them all.
    private func region(_ name: String, of file: String) throws -> [String] {
        let lines = try text(file).components(separatedBy: "\n")
        let marker = { (line: String) in line.trimmingCharacters(in: .whitespaces) }
        let start = try #require(lines.firstIndex { marker($0) == "// howto: \(name)" }, "\(file) has no \(name)")
        let body = lines[(start + 1)...].prefix { marker($0) != "// howto: end" }.filter { !marker($0).hasPrefix("// howto: ") }
        let indent = body.filter { !marker($0).isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        let shifted = body.map { String($0.dropFirst(min(indent, $0.prefix { $0 == " " }.count))) }
        return Array(shifted.drop(while: \.isEmpty).reversed().drop(while: \.isEmpty).reversed())
    }
}
