package org.waggle

import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext

/**
 * Tells a session what the system says about the app: foreground, background, network.
 *
 * Call it from where the platform reports these (on Android, a `ProcessLifecycleOwner` observer and a `ConnectivityManager` callback), in
 * the order they come; one is carried out after the other. It never fails: what went wrong shows in [WaggleSession.sync] and
 * [WaggleSession.connectivity], and a closed session has nothing to be told.
 *
 * @param budget how long going to the background may take to publish what is unpublished. Systems give a few seconds.
 */
public class SessionLifecycle(private val session: WaggleSession, private val budget: Duration = 3.seconds) {
    private val order = Mutex()

    /** The app is in the foreground. */
    public suspend fun onForeground(): Unit = tell { resume() }

    /** The app goes to the background: publishes in time, then disconnects. Carried out even if the caller's scope ends meanwhile. */
    public suspend fun onBackground(): Unit = withContext(NonCancellable) { tell { pause(budget) } }

    /** The network changed or is back. */
    public suspend fun onNetwork(): Unit = tell { networkChanged() }

    private suspend fun tell(what: suspend WaggleSession.() -> Unit) = order.withLock {
        try {
            session.what()
        } catch (_: SessionException) {
            // The session's own views say it.
        }
    }
}
