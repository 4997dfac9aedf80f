import Foundation
import UserNotifications
import Waggle
import WaggleKit

/// One notification on its way. The system's handler is called exactly once: with a badge when that could be had in time, else as it came.
final class NotificationWork: @unchecked Sendable {
    private let lock = NSLock()
    private var answer: (content: UNNotificationContent, handler: (UNNotificationContent) -> Void)?
    private var task: Task<Void, Never>?

    func begin(_ content: UNNotificationContent, _ handler: @escaping (UNNotificationContent) -> Void) {
        lock.withLock {
            answer = (content, handler)
            task = Task { [self] in end(badge: await Self.count()) }
        }
    }

    func end(badge: UInt32? = nil) {
        let (answer, task) = lock.withLock {
            defer { self.answer = nil }
            return (self.answer, self.task)
        }
        task?.cancel()
        guard let answer else { return }
        let content = answer.content.mutableCopy() as? UNMutableNotificationContent
        if let content, let badge { content.badge = NSNumber(value: badge) }
        answer.handler(content ?? answer.content)
    }

    /// In the mode of an extension the core has one thread, small caches and no live subscriptions.
    @MainActor private static func count() async -> UInt32? {
        guard
            let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: Shared.group),
            let defaults = UserDefaults(suiteName: Shared.group),
            let client = try? WaggleClient(configuration: ClientConfig(dataDir: Shared.folder(in: group), mode: .extension))
        else { return nil }
        return await unreadConversations(client, DefaultsSettings(defaults))
    }
}
