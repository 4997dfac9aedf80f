package org.waggle

import java.util.concurrent.atomic.AtomicBoolean
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.withContext
import org.waggle.ffi.Client as FfiClient
import org.waggle.ffi.ClientException as FfiClientException
import org.waggle.ffi.GENERATED_FOR_BUILD
import org.waggle.ffi.buildId
import org.waggle.ffi.coreVersion

/**
 * One installation: its accounts and its sessions. Close it to end its sessions and its threads.
 *
 * Every call may be made from any thread and any dispatcher; none blocks. Calls fail with [ClientException]; after [close] with
 * [ClientException.Closed].
 */
public class Waggle internal constructor(inner: FfiClient) : SuspendCloseable {
    private val held = Held(inner) { ClientException.Closed(it) }
    private val released = AtomicBoolean()

    /**
     * Signs an account in with its key (`nsec1…` or 64 hex digits) and remembers it in the key store. Nobody is signed in when it fails.
     * The core wipes its copy; the text given is the app's to forget.
     */
    public suspend fun signIn(key: String): PublicKey = held.call { signIn(key) }

    /** As [signIn], with a key that signs in and reads but never publishes. */
    public suspend fun signInReadOnly(key: String): PublicKey = held.call { signInReadOnly(key) }

    /** Signs in with a signer of the app's own, which keeps the key to itself. What its `publicKey` throws is thrown here. */
    public fun signIn(signer: Signer): PublicKey {
        val lowered = LoweredSigner(signer)
        return held.call { signInWith(lowered) }
    }

    /** Makes a new account with a key of its own, and signs it in. */
    public suspend fun createAccount(): PublicKey = held.call { createAccount() }

    /** Takes an account whose key is in the key store. Fails with [ClientException.NotFound] when it is not. */
    public suspend fun useAccount(account: PublicKey): Unit = held.call { useAccount(account) }

    /** Accounts whose keys are in the key store. */
    public suspend fun accounts(): List<PublicKey> = held.call { accounts() }

    /** The account that is signed in; null when nobody is, and after [close]. */
    public val account: PublicKey?
        get() = try {
            held.call { account() }
        } catch (_: ClientException.Closed) {
            null
        }

    /** An account's key as `nsec1…`, for a backup the person asked for. Show it and forget it. */
    public suspend fun backupKey(account: PublicKey): String = held.call { backupKey(account) }

    /**
     * Forgets an account on this device: its reading marks and messages first, its key last. Its sessions must be closed. Safe to repeat
     * after a failure.
     */
    public suspend fun signOut(account: PublicKey): Unit = held.call { signOut(account) }

    /**
     * A session of the signed-in account with the community at [host] (`wss://…`, or a host alone). Nothing happens until it is started.
     * Fails with [ClientException.InvalidArgument] for an address that is none, or when nobody is signed in.
     */
    public fun session(host: String): Session = Session(held.call { session(host) })

    /** Closes every session, then ends the client's threads. When it returns, every file and lock is released. */
    override suspend fun close(): Unit = withContext(NonCancellable) {
        if (held.isReleased) return@withContext
        try {
            held.call { shutDown() }
        } finally {
            release()
        }
    }

    private fun release() {
        if (!released.compareAndSet(false, true)) return
        try {
            held.inner.session("").destroy()
        } catch (e: FfiClientException.Closed) {
            held.release(e.failure)
        }
    }

    /** Opens clients. */
    public companion object {
        /** Version of the core this module was built with. */
        public val version: String get() = coreVersion()

        /**
         * Opens a client. Cheap: no file is touched and nothing is sent until an account signs in and a session starts. Fails with
         * [ClientException.Unsupported] where the system lacks what is needed. An Android app hands over a [SecretStore] of its own instead:
         * the platform's is open there only to a process that told `ndk-context` of its context.
         */
        public fun open(config: ClientConfig, keys: KeyStorage = KeyStorage.PLATFORM): Waggle =
            opened { FfiClient(config, keys) }

        /** Opens a client that keeps keys in the app's own store. */
        public fun open(config: ClientConfig, store: SecretStore): Waggle =
            opened { FfiClient.withSecretStore(config, LoweredStore(store)) }

        private inline fun opened(make: () -> FfiClient): Waggle = try {
            // Code and library are made together; two of different builds would misread each other.
            check(buildId() == GENERATED_FOR_BUILD) { "The Waggle library is of another build than its Kotlin code." }
            Waggle(make())
        } catch (e: FfiClientException) {
            throw e.lifted()
        }
    }
}
