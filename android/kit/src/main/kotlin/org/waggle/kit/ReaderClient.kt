package org.waggle.kit

import org.waggle.PublicKey
import org.waggle.SuspendCloseable
import org.waggle.Waggle
import org.waggle.WaggleSession

/** What the reader needs of a client. [forReader] makes it of the real one; tests bring their own. */
interface ReaderClient : SuspendCloseable {
    /** The account that is signed in. */
    val account: PublicKey?

    /** Signs in with a key and keeps it in the phone's key store. */
    suspend fun signIn(key: String): PublicKey

    /** Makes a new account and signs it in. */
    suspend fun createAccount(): PublicKey

    /** Accounts whose keys are in the key store. */
    suspend fun accounts(): List<PublicKey>

    /** Takes one of them. */
    suspend fun useAccount(account: PublicKey)

    /** An account's key as text, for a backup. */
    suspend fun backupKey(account: PublicKey): String

    /** Forgets an account on this phone. */
    suspend fun signOut(account: PublicKey)

    /** A session with a community. */
    fun session(host: String): WaggleSession
}

/** The real client, for the reader. */
fun Waggle.forReader(): ReaderClient = WaggleClient(this)

private class WaggleClient(private val waggle: Waggle) : ReaderClient {
    override val account: PublicKey? get() = waggle.account

    override suspend fun signIn(key: String): PublicKey = waggle.signIn(key)

    override suspend fun createAccount(): PublicKey = waggle.createAccount()

    override suspend fun accounts(): List<PublicKey> = waggle.accounts()

    override suspend fun useAccount(account: PublicKey): Unit = waggle.useAccount(account)

    override suspend fun backupKey(account: PublicKey): String = waggle.backupKey(account)

    override suspend fun signOut(account: PublicKey): Unit = waggle.signOut(account)

    override fun session(host: String): WaggleSession = waggle.session(host)

    override suspend fun close(): Unit = waggle.close()
}

/** What the reader remembers of its person's choices. Kept by the app. */
interface ReaderSettings {
    /** The account that was used last. */
    var account: PublicKey?

    /** Hosts of the communities that were added, in order. */
    var communities: List<String>

    /** Host of the one that is shown. */
    var current: String?
}
