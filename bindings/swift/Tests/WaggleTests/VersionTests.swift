import Testing
import Waggle

@Test func theLibraryAnswers() {
    let parts = Waggle.version.split(separator: ".")
    #expect(parts.count == 3 && parts.allSatisfy { UInt($0) != nil }, "\(Waggle.version)")
}
