package org.waggle

import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.withContext

/** Something that is closed by a call that may have to wait. */
public interface SuspendCloseable {
    /** Ends it and gives back what it holds. Idempotent. Not cut short when the coroutine is cancelled meanwhile. */
    public suspend fun close()
}

/** Runs [block] with this and closes it afterwards: also when the block fails, returns early or is cancelled. */
public suspend inline fun <T : SuspendCloseable, R> T.use(block: (T) -> R): R {
    var failed: Throwable? = null
    try {
        return block(this)
    } catch (e: Throwable) {
        failed = e
        throw e
    } finally {
        closeAfter(failed)
    }
}

/** Closes; a failure of closing does not hide the one of the work before it. */
@PublishedApi
internal suspend fun SuspendCloseable.closeAfter(failed: Throwable?): Unit = withContext(NonCancellable) {
    try {
        close()
    } catch (e: Throwable) {
        if (failed == null) throw e
        failed.addSuppressed(e)
    }
}
