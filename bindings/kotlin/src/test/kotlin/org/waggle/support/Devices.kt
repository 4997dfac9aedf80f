package org.waggle.support

import java.nio.file.Path
import kotlin.time.Duration.Companion.seconds
import kotlin.time.Duration
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.test.runTest
import kotlinx.coroutines.withContext
import org.waggle.ClientConfig
import org.waggle.KeyStorage
import org.waggle.Mode
import org.waggle.Phase
import org.waggle.Session
import org.waggle.SidebarRow
import org.waggle.UnreadSnapshot
import org.waggle.Waggle
import org.waggle.WaggleSession
import org.waggle.use

/** What a client in this folder is opened with. */
fun config(folder: Path): ClientConfig = ClientConfig(folder.toString(), Mode.APP)

/** A test against the real library: real time, on real threads. One that hangs fails after [within]. */
fun live(within: Duration = 60.seconds, body: suspend CoroutineScope.() -> Unit) = runTest(timeout = within) {
    withContext(Dispatchers.Default) { body() }
}

/** A device of the viewer's in this folder: signed in, started, and closed afterwards. */
suspend fun <R> TestRelay.device(folder: Path, body: suspend (Session) -> R): R =
    Waggle.open(config(folder), KeyStorage.MEMORY).use { waggle ->
        waggle.signIn(nsec)
        waggle.session(host).use { session ->
            session.start()
            body(session)
        }
    }

/** As [device], online and with everything counted. */
suspend fun <R> TestRelay.readyDevice(folder: Path, body: suspend (Session) -> R): R = device(folder) { session ->
    session.connectivity.first { it.phase == Phase.ONLINE }
    session.ensure()
    body(session)
}

/** The sidebar row of a channel. */
suspend fun WaggleSession.row(channel: String, wanted: (SidebarRow) -> Boolean = { true }): SidebarRow =
    sidebar.first { it.rows.any { row -> row.channel == channel && wanted(row) } }.rows.first { it.channel == channel }

/** Waits until a target's unread snapshot is as wanted. */
suspend fun WaggleSession.unreadWhen(target: org.waggle.Target, wanted: (UnreadSnapshot) -> Boolean): UnreadSnapshot =
    unread(target).first(wanted)
