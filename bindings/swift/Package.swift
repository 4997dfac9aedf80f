// swift-tools-version:6.0
import PackageDescription

// The sources of WaggleFFI and WaggleGenerated are made by `cargo xtask bindings`; `cargo xtask swift -- build` does both.
let package = Package(
    name: "Waggle",
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [
        .library(name: "Waggle", targets: ["Waggle"]),
        .library(name: "WaggleFakes", targets: ["WaggleFakes"]),
    ],
    targets: [
        .systemLibrary(name: "WaggleFFI"),
        .target(name: "WaggleGenerated", dependencies: ["WaggleFFI"]),
        .target(name: "Waggle", dependencies: ["WaggleGenerated"]),
        .target(name: "WaggleFakes", dependencies: ["Waggle", "WaggleGenerated"]),
        .target(name: "WaggleTestRelay", dependencies: ["Waggle"], path: "Tests/WaggleTestRelay"),
        .executableTarget(name: "WaggleBench", dependencies: ["Waggle", "WaggleTestRelay"]),
        .testTarget(name: "WaggleTests", dependencies: ["Waggle", "WaggleFakes", "WaggleGenerated", "WaggleTestRelay"]),
    ],
    swiftLanguageModes: [.v6]
)
