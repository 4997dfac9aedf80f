package org.waggle.kit

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.channels.BufferOverflow
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.receiveAsFlow
import org.waggle.Failure
import org.waggle.Receipt
import org.waggle.RetryClass
import org.waggle.SyncOutlook
import org.waggle.retryClass
import org.waggle.waggleFailure

/** Something to be told in passing. */
sealed interface Notice {
    /** A call failed; [again] repeats it, where that can help. */
    data class Failed(val failure: Failure, val again: (() -> Unit)?) : Notice

    /** It is saved, and other devices will not learn of it. */
    data object OnThisDeviceOnly : Notice

    /** So many channels were marked read. */
    data class MarkedRead(val channels: Int) : Notice

    /** Text was copied. */
    data object Copied : Notice
}

/** Whether a button for trying again makes sense. */
val Failure.canTryAgain: Boolean
    get() = retryClass != RetryClass.NEVER

/** Collects notices until they are shown. Of too many at once the oldest are dropped. */
class Notices {
    private val waiting = Channel<Notice>(LIMIT, BufferOverflow.DROP_OLDEST)

    /** For whoever shows them, one at a time. */
    val flow: Flow<Notice> = waiting.receiveAsFlow()

    /** Adds one. */
    fun add(notice: Notice) {
        waiting.trySend(notice)
    }

    /** Says what a receipt says that a person would not expect. */
    fun add(receipt: Receipt) {
        if (receipt.sync == SyncOutlook.LOCAL_ONLY) add(Notice.OnThisDeviceOnly)
    }

    private companion object {
        /** More than anybody reads. */
        const val LIMIT = 8
    }
}

/** Runs a call and answers its failure as data. What is no failure of Waggle's is a fault, and goes on. */
suspend fun failureOf(call: suspend () -> Unit): Failure? = try {
    call()
    null
} catch (e: CancellationException) {
    throw e
} catch (e: Exception) {
    e.waggleFailure ?: throw e
}
