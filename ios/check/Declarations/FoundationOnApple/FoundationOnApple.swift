// What Foundation has on Apple's systems only.

@_exported import Foundation

extension FileManager {
    public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}

extension URL {
    public static var applicationSupportDirectory: URL { URL(fileURLWithPath: "/") }
}
