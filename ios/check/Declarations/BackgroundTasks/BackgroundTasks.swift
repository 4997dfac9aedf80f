// BackgroundTasks' API as far as the app uses it. Nothing of it does anything.

public import Foundation

open class BGTaskRequest: NSObject {
    public let identifier: String
    public var earliestBeginDate: Date?

    init(identifier: String) {
        self.identifier = identifier
    }
}

open class BGAppRefreshTaskRequest: BGTaskRequest {
    public override init(identifier: String) {
        super.init(identifier: identifier)
    }
}

open class BGTaskScheduler: NSObject {
    public class var shared: BGTaskScheduler { fatalError("declared only") }
    public func submit(_ taskRequest: BGTaskRequest) throws {}
}
