import Foundation
import UserNotifications
import WaggleKit

/// Adds what is unread to a notification before it is shown. It reads with the account the app left in the shared Keychain, and never
/// publishes.
final class NotificationService: UNNotificationServiceExtension {
    private let work = NotificationWork()

    override func didReceive(
        _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {
        work.begin(request.content, contentHandler)
    }

    /// The system wants an answer now.
    override func serviceExtensionTimeWillExpire() {
        work.end()
    }
}
