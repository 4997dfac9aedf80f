// swift-tools-version:6.0
import PackageDescription

// Released package: the library comes as an XCFramework. Made by `cargo xtask package apple`.
let package = Package(
    name: "Waggle",
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [
        .library(name: "Waggle", targets: ["Waggle"]),
        .library(name: "WaggleFakes", targets: ["WaggleFakes"]),
    ],
    targets: [
        .binaryTarget(
            name: "WaggleFFI",
            @BINARY@
        ),
        .target(name: "WaggleGenerated", dependencies: ["WaggleFFI"], swiftSettings: [.swiftLanguageMode(.v5)]),
        .target(name: "Waggle", dependencies: ["WaggleGenerated"], resources: [.copy("PrivacyInfo.xcprivacy")]),
        .target(name: "WaggleFakes", dependencies: ["Waggle", "WaggleGenerated"]),
    ],
    swiftLanguageModes: [.v6]
)
