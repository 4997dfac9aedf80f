// swift-tools-version:6.0
import PackageDescription

// Type-checks every source of the app and of the samples on Linux, against modules that only declare the API in use. It is a package of its own,
// so that these modules can never stand in for the real ones: Xcode does not know it.
let strict: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny")]

func declared(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Declarations/" + name)
}

let package = Package(
    name: "WaggleReaderCheck",
    platforms: [.iOS(.v17), .macOS(.v14)],
    dependencies: [.package(name: "WaggleReader", path: ".."), .package(name: "Waggle", path: "../../bindings/swift")],
    targets: [
        declared("FoundationOnApple"), declared("UIKit", ["FoundationOnApple"]), declared("SwiftUI", ["UIKit"]),
        declared("BackgroundTasks"), declared("UserNotifications", ["FoundationOnApple"]),
        declared("Network"),
        .executableTarget(
            name: "WaggleReader",
            dependencies: [
                "SwiftUI", "UIKit", "BackgroundTasks", "Network", .product(name: "WaggleKit", package: "WaggleReader"),
                .product(name: "Waggle", package: "Waggle"),
            ],
            path: "Declarations/Checked/App", exclude: ["Assets.xcassets"], swiftSettings: strict),
        .target(
            name: "NotificationExtension",
            dependencies: [
                "UserNotifications", .product(name: "WaggleKit", package: "WaggleReader"),
                .product(name: "Waggle", package: "Waggle"),
            ],
            path: "Declarations/Checked/NotificationExtension", swiftSettings: strict),
        // Not a test target: they would run here, and nothing of what is declared does anything.
        .target(
            name: "AppTests",
            dependencies: [
                "WaggleReader", "SwiftUI", "UIKit", .product(name: "WaggleKit", package: "WaggleReader"),
                .product(name: "WaggleFakes", package: "Waggle"),
            ],
            path: "Declarations/Checked/AppTests", swiftSettings: strict),
        .target(
            name: "SwiftUISample", dependencies: ["SwiftUI", "UIKit", .product(name: "Waggle", package: "Waggle")],
            path: "Declarations/Checked/SwiftUISample", swiftSettings: strict),
        .target(
            name: "UIKitSample", dependencies: ["UIKit", .product(name: "Waggle", package: "Waggle")],
            path: "Declarations/Checked/UIKitSample", swiftSettings: strict),
        .testTarget(
            name: "CheckTests", dependencies: ["WaggleReader", "NotificationExtension", "SwiftUISample", "UIKitSample"],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
