// swift-tools-version:6.0
import PackageDescription

// The sources of WaggleFFI and WaggleGenerated are made by `cargo xtask bindings`; `cargo xtask swift -- build` does both.
let package = Package(
    name: "Waggle",
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [
        .library(name: "Waggle", targets: ["Waggle"]),
    ],
    targets: [
        .systemLibrary(name: "WaggleFFI"),
        // Generated for both language modes; the Swift 6.0 compiler crashes while it checks it as Swift 6.
        .target(name: "WaggleGenerated", dependencies: ["WaggleFFI"], swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(name: "Waggle", dependencies: ["WaggleGenerated"]),
        .testTarget(name: "WaggleTests", dependencies: ["Waggle"]),
    ],
    swiftLanguageModes: [.v6]
)
