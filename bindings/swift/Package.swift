// swift-tools-version:6.0
import PackageDescription

// The sources of WaggleFFI and WaggleGenerated are made by `cargo xtask bindings`; `cargo xtask swift -- build` does both.
let strict: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "Waggle",
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [
        .library(name: "Waggle", targets: ["Waggle"]),
        .library(name: "WaggleFakes", targets: ["WaggleFakes"]),
        // For tests of apps in this tree.
        .library(name: "WaggleTestRelay", targets: ["WaggleTestRelay"]),
    ],
    targets: [
        .systemLibrary(name: "WaggleFFI"),
        // Swift 6.0 crashes over generated code in the mode of Swift 6; what it hands out is `Sendable` in either.
        .target(name: "WaggleGenerated", dependencies: ["WaggleFFI"], swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(name: "Waggle", dependencies: ["WaggleGenerated"], swiftSettings: strict),
        .target(name: "WaggleFakes", dependencies: ["Waggle", "WaggleGenerated"], swiftSettings: strict),
        .target(name: "WaggleTestRelay", dependencies: ["Waggle"], path: "Tests/WaggleTestRelay", swiftSettings: strict),
        .executableTarget(name: "WaggleBench", dependencies: ["Waggle", "WaggleTestRelay"], swiftSettings: strict),
        .testTarget(
            name: "WaggleTests", dependencies: ["Waggle", "WaggleFakes", "WaggleGenerated", "WaggleTestRelay"],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
