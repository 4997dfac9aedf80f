// What an app may bring itself: a store for keys, and a signer that keeps its key to itself.
//
// Waggle calls both on threads of its own that may wait, never on one the app called Waggle from, so they may call Waggle again. Whatever
// they throw ends in a typed failure of the call that needed them, without its text: what a platform says may name accounts.
package org.waggle

import kotlinx.coroutines.CancellationException
import org.waggle.ffi.SecretStore as FfiSecretStore
import org.waggle.ffi.SecretStoreException as FfiSecretStoreException
import org.waggle.ffi.Signer as FfiSigner
import org.waggle.ffi.SignerException as FfiSignerException

/** Keeps keys by service and account. Calls may block and may ask the person. */
public interface SecretStore {
    /** The 32 bytes kept under this name; null when there are none. */
    @Throws(SecretStoreException::class)
    public fun get(service: String, account: String): ByteArray?

    /** Keeps 32 bytes, replacing older ones. */
    @Throws(SecretStoreException::class)
    public fun put(service: String, account: String, secret: ByteArray)

    /** Forgets. Fine when there is nothing. */
    @Throws(SecretStoreException::class)
    public fun delete(service: String, account: String)

    /** Accounts of a service. */
    @Throws(SecretStoreException::class)
    public fun accounts(service: String): List<String>
}

/** Why a [SecretStore] refused. Anything else that it throws counts as [Failed]. */
public sealed class SecretStoreException(message: String) : Exception(message) {
    /** The store cannot be used here. */
    public class Unavailable : SecretStoreException("the key store cannot be used here")

    /** The device is locked, or the person said no. */
    public class Locked : SecretStoreException("the key store is locked")

    /** There is no room. */
    public class Full : SecretStoreException("the key store is full")

    /** What is stored cannot be read. */
    public class Damaged : SecretStoreException("the key store is damaged")

    /** Anything else. */
    public class Failed : SecretStoreException("the key store failed")
}

/** Whoever holds the account's key. What it signs is checked: author, kind, time, tags and signature. */
public interface Signer {
    /** The account. Asked once. */
    public val publicKey: PublicKey

    /** Whether it signs read state and preferences, too. If not, this device shows what others read and publishes nothing. */
    public val canPublish: Boolean

    /** Whether it decrypts. If not, read state is not supported on this device. */
    public val canDecrypt: Boolean

    /** The signed event as compact JSON; with its content encrypted to the account itself first when the event says so. */
    @Throws(SignerException::class, CancellationException::class)
    public suspend fun sign(event: UnsignedEvent): String

    /** The plaintext of something the account encrypted to itself. Called on a thread that may wait. */
    @Throws(SignerException::class)
    public fun decrypt(payload: String): String
}

/** Why a [Signer] refused. Anything else that it throws counts as [Failed]. */
public sealed class SignerException(message: String) : Exception(message) {
    /** The person said no. */
    public class Rejected : SignerException("the signer refused")

    /** The signer cannot be reached. */
    public class Unavailable : SignerException("the signer cannot be reached")

    /** What was to be decrypted is not this account's. */
    public class Undecryptable : SignerException("not this account's")

    /** Anything else. */
    public class Failed : SignerException("the signer failed")
}

/** An app's store as the generated code wants it. It lets nothing but its own failures out: an Error would pass the generated code by. */
internal class LoweredStore(private val store: SecretStore) : FfiSecretStore {
    override fun get(service: String, account: String): ByteArray? = guarded { store.get(service, account) }

    override fun put(service: String, account: String, secret: ByteArray) =
        guarded { store.put(service, account, secret) }

    override fun delete(service: String, account: String) = guarded { store.delete(service, account) }

    override fun accounts(service: String): List<String> = guarded { store.accounts(service) }

    private inline fun <R> guarded(work: () -> R): R = try {
        work()
    } catch (e: Throwable) {
        throw when (e) {
            is SecretStoreException.Unavailable -> FfiSecretStoreException.Unavailable()
            is SecretStoreException.Locked -> FfiSecretStoreException.Locked()
            is SecretStoreException.Full -> FfiSecretStoreException.Full()
            is SecretStoreException.Damaged -> FfiSecretStoreException.Damaged()
            else -> FfiSecretStoreException.Failed()
        }
    }
}

/** An app's signer as the generated code wants it. */
internal class LoweredSigner(private val signer: Signer) : FfiSigner {
    private val key = signer.publicKey

    override fun publicKey(): PublicKey = key

    // These two cannot fail over there, so a signer that throws can do neither.
    override fun canPublish(): Boolean = runCatching { signer.canPublish }.getOrDefault(false)

    override fun canDecrypt(): Boolean = runCatching { signer.canDecrypt }.getOrDefault(false)

    override suspend fun sign(event: UnsignedEvent): String = guarded { signer.sign(event) }

    override fun decrypt(payload: String): String = guarded { signer.decrypt(payload) }

    private inline fun <R> guarded(work: () -> R): R = try {
        work()
    } catch (e: Throwable) {
        throw when (e) {
            is SignerException.Rejected -> FfiSignerException.Rejected()
            is SignerException.Unavailable -> FfiSignerException.Unavailable()
            is SignerException.Undecryptable -> FfiSignerException.Undecryptable()
            else -> FfiSignerException.Failed()
        }
    }
}
