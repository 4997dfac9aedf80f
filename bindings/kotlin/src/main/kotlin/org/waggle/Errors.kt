// Failures by area, as exceptions. Each says which variant it is, with its facts, and carries a Failure that says the same in every area
// and language: code, retry class, sentence. The sentence is also the exception's message; no message names content, ids, keys or hosts.
package org.waggle

import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import org.waggle.ffi.ClientException as FfiClientException
import org.waggle.ffi.NetworkFailure as FfiNetworkFailure
import org.waggle.ffi.Retry as FfiRetry
import org.waggle.ffi.SessionException as FfiSessionException
import org.waggle.ffi.ViewException as FfiViewException

/** Whether trying again can help. */
public enum class RetryClass {
    /** The same call will fail again. */
    NEVER,

    /** The same call may succeed at once or soon. */
    NOW,

    /** After [retryAfter]. */
    AFTER,

    /** When the connection is back. */
    WHEN_ONLINE,

    /** After the person has done something: freed space, set the clock, signed in. */
    AFTER_ACTION,
}

/** Whether trying again can help. */
public val Failure.retryClass: RetryClass
    get() = when (retry) {
        FfiRetry.Never -> RetryClass.NEVER
        FfiRetry.Now -> RetryClass.NOW
        is FfiRetry.After -> RetryClass.AFTER
        FfiRetry.WhenOnline -> RetryClass.WHEN_ONLINE
        FfiRetry.AfterAction -> RetryClass.AFTER_ACTION
    }

/** How long to wait before trying again; absent unless the class is [RetryClass.AFTER]. */
public val Failure.retryAfter: Duration?
    get() = (retry as? FfiRetry.After)?.seconds?.toLong()?.seconds

/** Code, retry class and sentence of any failure of Waggle's; absent for exceptions of others. */
public val Throwable.waggleFailure: Failure?
    get() = (this as? WaggleException)?.failure

/**
 * Any failure of Waggle's.
 *
 * @property failure code, retry class and sentence.
 */
public sealed class WaggleException(public val failure: Failure, cause: Throwable?) : Exception(failure.sentence, cause)

/** Kinds of missing answers. */
public sealed interface NetworkFailure {
    /** There is no connection now. */
    public data object Offline : NetworkFailure

    /** The connection was cut while waiting. */
    public data object Lost : NetworkFailure

    /** No answer in time. */
    public data object TimedOut : NetworkFailure

    /** The relay failed, with an HTTP status of 500 to 599. */
    public data class Server(val status: Int) : NetworkFailure

    /** The answer ended early or was no JSON. */
    public data object Truncated : NetworkFailure

    /** The answer was larger than its bound. */
    public data object Oversized : NetworkFailure
}

/** Of clients and accounts: opening, signing in and out. */
public sealed class ClientException(failure: Failure, cause: Throwable?) : WaggleException(failure, cause) {
    /** A key, address or name that is none, or nobody is signed in; [what] says which argument. */
    public class InvalidArgument(public val what: String, failure: Failure, cause: Throwable? = null) :
        ClientException(failure, cause)

    /** The account's key is not in the key store. */
    public class NotFound(public val what: String, failure: Failure, cause: Throwable? = null) :
        ClientException(failure, cause)

    /** The key store or the disk refused; nothing was changed. */
    public class Storage(public val kind: StorageKind, failure: Failure, cause: Throwable? = null) :
        ClientException(failure, cause)

    /** The platform cannot do this; [what] is missing. */
    public class Unsupported(public val what: String, failure: Failure, cause: Throwable? = null) :
        ClientException(failure, cause)

    /** A bound was reached; [what] says which. */
    public class Capacity(public val what: String, failure: Failure, cause: Throwable? = null) :
        ClientException(failure, cause)

    /** The client was closed. */
    public class Closed(failure: Failure, cause: Throwable? = null) : ClientException(failure, cause)

    /** Anything else; the failure says what. */
    public class Other(failure: Failure, cause: Throwable? = null) : ClientException(failure, cause)
}

/** Of everything that reads, marks, counts or synchronises in a session. */
public sealed class SessionException(failure: Failure, cause: Throwable?) : WaggleException(failure, cause) {
    /** The message or root is not held by this device. */
    public class NotFound(public val what: String, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** The channel is not accessible to this account now. */
    public class Denied(failure: Failure, cause: Throwable? = null) : SessionException(failure, cause)

    /** A target of the wrong sort, or a message that does not belong to its target; [why] names the rule. */
    public class InvalidTarget(public val why: String, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** An argument that is malformed or out of bounds; [what] says which. */
    public class InvalidArgument(public val what: String, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** Something that happened meanwhile made the call void; [why] says what. (Not a cancelled coroutine.) */
    public class Cancelled(public val why: String, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** The disk refused; nothing was changed. */
    public class Storage(public val kind: StorageKind, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** The relay, platform or configuration cannot do this; [what] is missing. */
    public class Unsupported(public val what: String, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** This device has no signer, so nothing can be published. */
    public class ReadOnly(failure: Failure, cause: Throwable? = null) : SessionException(failure, cause)

    /** A bound was reached; [what] says which. */
    public class Capacity(public val what: String, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** The session was closed. */
    public class Closed(failure: Failure, cause: Throwable? = null) : SessionException(failure, cause)

    /** Another call or process is doing the same; [what] is in use. */
    public class Busy(public val what: String, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** No usable answer; [why] says what happened. */
    public class Network(public val why: NetworkFailure, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** The relay answered and refused; how long to wait, if it said so, is the failure's [retryAfter]. */
    public class RelayRefused(public val why: Refusal, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** The relay answered with something that cannot be accepted; [why] names the check. */
    public class InvalidAnswer(public val why: String, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** A fault of Waggle itself; what was saved is safe. [task] says where. */
    public class Failed(public val task: String, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)

    /** The device clock is too far from the relay's: by [skew], device minus relay. */
    public class Clock(public val skew: Duration, failure: Failure, cause: Throwable? = null) :
        SessionException(failure, cause)
}

internal fun FfiClientException.lifted(): ClientException = when (this) {
    is FfiClientException.InvalidArgument -> ClientException.InvalidArgument(what, failure, this)
    is FfiClientException.NotFound -> ClientException.NotFound(what, failure, this)
    is FfiClientException.Storage -> ClientException.Storage(kind, failure, this)
    is FfiClientException.Unsupported -> ClientException.Unsupported(what, failure, this)
    is FfiClientException.Capacity -> ClientException.Capacity(what, failure, this)
    is FfiClientException.Closed -> ClientException.Closed(failure, this)
    is FfiClientException.Other -> ClientException.Other(failure, this)
}

internal fun FfiSessionException.lifted(): SessionException = when (this) {
    is FfiSessionException.NotFound -> SessionException.NotFound(what, failure, this)
    is FfiSessionException.Denied -> SessionException.Denied(failure, this)
    is FfiSessionException.InvalidTarget -> SessionException.InvalidTarget(why, failure, this)
    is FfiSessionException.InvalidArgument -> SessionException.InvalidArgument(what, failure, this)
    is FfiSessionException.Cancelled -> SessionException.Cancelled(why, failure, this)
    is FfiSessionException.Storage -> SessionException.Storage(kind, failure, this)
    is FfiSessionException.Unsupported -> SessionException.Unsupported(what, failure, this)
    is FfiSessionException.ReadOnly -> SessionException.ReadOnly(failure, this)
    is FfiSessionException.Capacity -> SessionException.Capacity(what, failure, this)
    is FfiSessionException.Closed -> SessionException.Closed(failure, this)
    is FfiSessionException.Busy -> SessionException.Busy(what, failure, this)
    is FfiSessionException.Network -> SessionException.Network(why.lifted(), failure, this)
    is FfiSessionException.RelayRefused -> SessionException.RelayRefused(why, failure, this)
    is FfiSessionException.InvalidAnswer -> SessionException.InvalidAnswer(why, failure, this)
    is FfiSessionException.Failed -> SessionException.Failed(task, failure, this)
    is FfiSessionException.Clock -> SessionException.Clock(skew.seconds, failure, this)
}

/** A view's end as a session's: only a fault of Waggle itself is left when the orderly end was dealt with. */
internal fun FfiViewException.lifted(): SessionException = when (this) {
    is FfiViewException.Closed -> SessionException.Closed(failure, this)
    is FfiViewException.Failed -> SessionException.Failed("view", failure, this)
}

private fun FfiNetworkFailure.lifted(): NetworkFailure = when (this) {
    FfiNetworkFailure.Offline -> NetworkFailure.Offline
    FfiNetworkFailure.Lost -> NetworkFailure.Lost
    FfiNetworkFailure.TimedOut -> NetworkFailure.TimedOut
    is FfiNetworkFailure.Server -> NetworkFailure.Server(status.toInt())
    FfiNetworkFailure.Truncated -> NetworkFailure.Truncated
    FfiNetworkFailure.Oversized -> NetworkFailure.Oversized
}
