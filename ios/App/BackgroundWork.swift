import BackgroundTasks
import Foundation
import UIKit

/// Time in the background, as the system grants it.
@MainActor enum BackgroundWork {
    /// Also in the Info.plist, under `BGTaskSchedulerPermittedIdentifiers`.
    nonisolated static let identifier = "org.waggle.reader.publish"

    /// Keeps the process running until the work is done or the system wants it back. The work bounds itself.
    static func whileGranted(_ work: @escaping @MainActor () async -> Void) {
        let application = UIApplication.shared
        let grant = Grant()
        grant.task = application.beginBackgroundTask(withName: "publish") { grant.end() }
        Task {
            await work()
            grant.end()
        }
    }

    /// Asks to be woken later, for what could not be published in time.
    static func schedule() {
        let request = BGAppRefreshTaskRequest(identifier: identifier)
        request.earliestBeginDate = Date(timeIntervalSinceNow: 15 * 60)
        // Refused where background refresh is off; then it is published when the app is next in front.
        try? BGTaskScheduler.shared.submit(request)
    }

    /// Must be ended exactly once.
    @MainActor private final class Grant {
        var task = UIBackgroundTaskIdentifier.invalid

        func end() {
            guard task != .invalid else { return }
            UIApplication.shared.endBackgroundTask(task)
            task = .invalid
        }
    }
}
