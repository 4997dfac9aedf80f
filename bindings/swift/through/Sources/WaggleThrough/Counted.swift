// One thread for all of Swift's concurrency, which tells the runner when it has something to do, so that virtual time stands still until it
// has nothing left. A task that waits for the core is nothing to do; waking it puts it in the queue within the call that wakes it.
//
// The layer makes tasks of its own, so counting must stand where every task passes: the hook of the runtime's global executor.

import Foundation
import WaggleThroughGenerated

final class Counted: TaskExecutor, @unchecked Sendable {
    static let shared = Counted()

    private let queue = DispatchQueue(label: "devices")
    private let lock = NSLock()
    private var activity: Activity?

    /// From now on this one's runtime waits; all devices of a scenario share one.
    func begin(countingWith activity: Activity) {
        lock.withLock { self.activity = activity }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        put(UnownedJob(job))
    }

    fileprivate func put(_ job: UnownedJob) {
        let counted = lock.withLock { activity }
        counted?.begin()
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            counted?.end()
        }
    }

    /// Takes over the runtime's global executor. False where the runtime has no hook for it.
    func install() -> Bool {
        guard let library = dlopen(nil, RTLD_LAZY), let place = dlsym(library, "swift_task_enqueueGlobal_hook") else {
            return false
        }
        let hook: Hook = { job, _ in Counted.shared.put(job) }
        place.assumingMemoryBound(to: Hook?.self).pointee = hook
        return true
    }
}

private typealias Original = @convention(thin) (UnownedJob) -> Void
private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void
