import Foundation

/// A value behind a lock. `Mutex` of the standard library needs iOS 18.
package final class Guarded<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    package init(_ value: sending Value) {
        self.value = value
    }

    /// Looks at the value, or changes it, alone. The work must be short and must not come back here.
    package func with<Result>(_ work: (inout Value) -> Result) -> Result {
        lock.withLock { work(&value) }
    }
}
