// swift-tools-version:6.0
import PackageDescription

// Runs scenario files through the Swift layer, in virtual time: `cargo xtask through swift FILE…`. Not shipped.
// The sources of WaggleThroughFFI and WaggleThroughGenerated are made by that command.
let package = Package(
    name: "WaggleThrough",
    dependencies: [.package(name: "Waggle", path: "..")],
    targets: [
        .systemLibrary(name: "WaggleThroughFFI"),
        .target(
            name: "WaggleThroughGenerated",
            dependencies: ["WaggleThroughFFI", .product(name: "Waggle", package: "Waggle")],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        .executableTarget(
            name: "WaggleThrough",
            dependencies: ["WaggleThroughGenerated", .product(name: "Waggle", package: "Waggle")]),
    ],
    swiftLanguageModes: [.v6]
)
