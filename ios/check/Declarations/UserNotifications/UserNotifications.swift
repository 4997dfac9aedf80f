// UserNotifications' API as far as the extension uses it. Nothing of it does anything.

@_exported public import FoundationOnApple

open class UNNotificationContent: NSObject {
    open override func mutableCopy() -> Any { UNMutableNotificationContent() }
}

open class UNMutableNotificationContent: UNNotificationContent {
    open var badge: NSNumber?
}

open class UNNotificationRequest: NSObject {
    open var content: UNNotificationContent { fatalError("declared only") }
}

open class UNNotificationServiceExtension: NSObject {
    open func didReceive(
        _ request: UNNotificationRequest, withContentHandler contentHandler: @escaping (UNNotificationContent) -> Void
    ) {}
    open func serviceExtensionTimeWillExpire() {}
}
