// swift-tools-version:6.0
import PackageDescription

// Waggle from the tree's sources where `cargo xtask` says where the built library is; else what `cargo xtask package apple` made, which
// carries the libraries of phones and simulators.
let fromSources = Context.environment["WAGGLE_NATIVE"] != nil
let strict: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny")]

var targets: [Target] = [
    .target(
        name: "WaggleKit", dependencies: [.product(name: "Waggle", package: "Waggle")], swiftSettings: strict),
    .testTarget(
        name: "WaggleKitTests",
        dependencies: ["WaggleKit", .product(name: "WaggleFakes", package: "Waggle")],
        resources: [.copy("Traces")], swiftSettings: strict),
]
if fromSources {
    // With the library of this system and the test relay, a process: not on a phone.
    targets.append(
        .testTarget(
            name: "EndToEndTests",
            dependencies: ["WaggleKit", .product(name: "WaggleTestRelay", package: "Waggle")], swiftSettings: strict))
}

let package = Package(
    name: "WaggleReader",
    defaultLocalization: "en",
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [.library(name: "WaggleKit", targets: ["WaggleKit"])],
    dependencies: [
        .package(name: "Waggle", path: fromSources ? "../bindings/swift" : "../target/package/apple/package")
    ],
    targets: targets,
    swiftLanguageModes: [.v6]
)
