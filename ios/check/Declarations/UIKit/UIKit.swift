// UIKit's API as far as the app uses it. Nothing of it does anything.

@_exported import FoundationOnApple

public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)
}

@MainActor open class UIApplication {
    public class var shared: UIApplication { fatalError("declared only") }
    public func beginBackgroundTask(
        withName taskName: String?, expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier { .invalid }
    public func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
}

@MainActor open class UIPasteboard {
    public struct OptionsKey: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let localOnly = OptionsKey(rawValue: "")
        public static let expirationDate = OptionsKey(rawValue: "")
    }

    public class var general: UIPasteboard { fatalError("declared only") }
    public var string: String?
    public func setItems(_ items: [[String: Any]], options: [OptionsKey: Any] = [:]) {}
    init() {}
}

public struct UITextContentType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let password = UITextContentType(rawValue: "")
    public static let URL = UITextContentType(rawValue: "")
}

public enum UIKeyboardType: Int, Sendable {
    case `default`, URL
}
