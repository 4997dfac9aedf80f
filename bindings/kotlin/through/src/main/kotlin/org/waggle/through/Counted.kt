package org.waggle.through

import java.util.concurrent.Executors
import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.Runnable
import org.waggle.through.ffi.Activity

/**
 * One thread that tells the runner when it has something to do, so that virtual time stands still until it has nothing left. A coroutine
 * that waits for the core is nothing to do; waking it puts it in the queue within the call that wakes it.
 */
internal class Counted(private val activity: Activity) : CoroutineDispatcher() {
    private val thread = Executors.newSingleThreadExecutor { work -> Thread(work, "device").apply { isDaemon = true } }

    override fun dispatch(context: CoroutineContext, block: Runnable) {
        activity.begin()
        thread.execute {
            try {
                block.run()
            } finally {
                activity.end()
            }
        }
    }
}
