package org.waggle

import kotlinx.coroutines.CancellationException
import org.waggle.ffi.Disposable
import org.waggle.ffi.ViewException
import org.waggle.ffi.ClientException as FfiClientException
import org.waggle.ffi.SessionException as FfiSessionException

/**
 * A generated handle that is given back when it is closed, while other calls may be under way: the generated code lets those end first.
 * Calls after that fail with what [ended] makes of the core's own words.
 */
internal class Held<out T : Disposable>(val inner: T, private val ended: (Failure) -> WaggleException) {
    @Volatile
    private var words: Failure? = null

    /** Whether it was given back. */
    val isReleased: Boolean get() = words != null

    /** Makes a call; its failures come out in this package's types. */
    inline fun <R> call(work: T.() -> R): R {
        refuseAfterEnd()
        try {
            return inner.work()
        } catch (e: FfiSessionException) {
            throw e.lifted()
        } catch (e: FfiClientException) {
            throw e.lifted()
        } catch (e: CancellationException) {
            throw e
        } catch (e: IllegalStateException) {
            // Given back between the look and the call.
            refuseAfterEnd()
            throw e
        }
    }

    /** Fails once it was given back. */
    fun refuseAfterEnd() {
        words?.let { throw ended(it) }
    }

    /** Gives the handle back. [words] is what the core says to later calls. Idempotent. */
    fun release(words: Failure) {
        this.words = words
        inner.destroy()
    }
}

/** What the core says about something that was ended. [ask] asks a cancelled view, which answers nothing else. */
internal suspend fun wordsOfTheEnd(ask: suspend () -> Any): Failure {
    try {
        ask()
    } catch (e: ViewException.Closed) {
        return e.failure
    }
    error("a cancelled view has no next version")
}
