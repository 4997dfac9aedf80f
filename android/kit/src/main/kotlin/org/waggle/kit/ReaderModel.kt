package org.waggle.kit

import java.time.ZoneOffset
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.update
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import org.waggle.Failure
import org.waggle.PublicKey

/** What fills the window. */
sealed interface Stage {
    /** The key store is being asked. */
    data object Opening : Stage

    /** Nobody is signed in. */
    data object SignIn : Stage

    /** A new account's key is shown, once, to be written down. */
    data class Backup(val key: String) : Stage {
        // Keys stay out of logs.
        override fun toString(): String = "Backup"
    }

    /** Signed in, and no community is chosen. */
    data object AddCommunity : Stage

    /** A community. */
    data class InCommunity(val model: CommunityModel) : Stage
}

/**
 * The whole reader at one moment.
 *
 * @property busy a call is under way; buttons wait.
 * @property failure why the last one failed.
 */
data class ReaderState(
    val stage: Stage = Stage.Opening,
    val account: PublicKey? = null,
    val communities: List<String> = emptyList(),
    val busy: Boolean = false,
    val failure: Failure? = null,
)

/**
 * The reader: account, communities, and the one that is open. One at a time does something; [scope] lives as long as the process.
 *
 * Calls are for the main thread.
 */
class ReaderModel(
    private val client: ReaderClient,
    private val settings: ReaderSettings,
    private val scope: CoroutineScope,
    private val offset: () -> ZoneOffset,
) {
    private val changes = MutableStateFlow(ReaderState())
    private val turn = Mutex()
    private var foreground = true

    /** What to show. */
    val state: StateFlow<ReaderState> = changes

    /** The community that is open. */
    val community: CommunityModel? get() = (changes.value.stage as? Stage.InCommunity)?.model

    /** Takes the account that was used last, if its key is still there. */
    fun start(): Unit = doing {
        changes.update { it.copy(communities = settings.communities) }
        val known = client.accounts()
        val last = settings.account?.takeIf { it in known } ?: known.firstOrNull()
        if (last == null) return@doing changes.update { it.copy(stage = Stage.SignIn) }
        client.useAccount(last)
        signedIn(last)
    }

    /** Signs in with a key the person has. */
    fun signIn(key: String): Unit = doing { signedIn(client.signIn(key.trim())) }

    /** Makes an account and shows its key. */
    fun createAccount(): Unit = doing {
        val account = client.createAccount()
        settings.account = account
        changes.update { it.copy(stage = Stage.Backup(client.backupKey(account)), account = account) }
    }

    /** The person has written the key down. */
    fun backedUp(): Unit = doing { client.account?.let { signedIn(it) } }

    /** Forgets the account on this phone: its reading marks and its key. */
    fun signOut(): Unit = doing {
        val account = client.account ?: return@doing
        community?.close()
        client.signOut(account)
        settings.account = null
        changes.update { it.copy(stage = Stage.SignIn, account = null) }
    }

    private suspend fun signedIn(account: PublicKey) {
        settings.account = account
        changes.update { it.copy(account = account) }
        val current = settings.current?.takeIf { it in settings.communities }
        if (current == null) changes.update { it.copy(stage = Stage.AddCommunity) } else enter(current)
    }

    /** Closes the open community and goes to where others are added. */
    fun chooseCommunity(): Unit = doing {
        community?.close()
        changes.update { it.copy(stage = Stage.AddCommunity) }
    }

    /** Adds a community by its address and opens it. */
    fun addCommunity(address: String): Unit = doing {
        val host = address.trim()
        enter(host)
        if (host !in settings.communities) settings.communities += host
        changes.update { it.copy(communities = settings.communities) }
    }

    /** Opens another community. */
    fun switchTo(host: String): Unit = doing {
        if (community?.host != host) enter(host)
    }

    /** Forgets the open community on this phone. */
    fun leaveCommunity(): Unit = doing {
        val left = community ?: return@doing
        left.leave()
        settings.communities -= left.host
        settings.current = null
        changes.update { it.copy(stage = Stage.AddCommunity, communities = settings.communities) }
    }

    /** An address that is none fails before anything is closed. */
    private suspend fun enter(host: String) {
        val model = CommunityModel(host, client.session(host), offset(), scope)
        community?.close()
        settings.current = host
        changes.update { it.copy(stage = Stage.InCommunity(model)) }
        model.start()
        if (!foreground) model.onBackground()
    }

    /** The failure has been seen. */
    fun seen(): Unit = changes.update { it.copy(failure = null) }

    /** The app is in front. */
    fun onForeground() {
        if (foreground) return
        foreground = true
        community?.onForeground()
    }

    /** The app goes. */
    fun onBackground() {
        if (!foreground) return
        foreground = false
        community?.onBackground()
    }

    /** The system has a network, or another one. */
    fun onNetwork() {
        if (foreground) community?.reconnect()
    }

    /** Ends everything and waits for it. */
    suspend fun close() {
        turn.withLock { community?.close() }
        client.close()
    }

    private fun doing(call: suspend () -> Unit) {
        scope.launch {
            turn.withLock {
                changes.update { it.copy(busy = true, failure = null) }
                val failure = failureOf(call)
                changes.update { state ->
                    val stuck = failure != null && state.stage == Stage.Opening
                    val stage = if (stuck) placeToBegin() else state.stage
                    state.copy(stage = stage, busy = false, failure = failure)
                }
            }
        }
    }

    /** Where a person can do something about a reader that did not open. */
    private fun placeToBegin(): Stage = if (client.account == null) Stage.SignIn else Stage.AddCommunity
}
