package org.waggle.fakes

import org.waggle.SecretStore
import org.waggle.SecretStoreException

/** Keeps keys in memory, copied in and out. Safe for use from several threads. */
public class MemorySecretStore : SecretStore {
    private val kept = HashMap<Pair<String, String>, ByteArray>()

    /** What every call fails with while it is set; for the states of a real store, such as a locked device. */
    @Volatile
    public var refusal: SecretStoreException? = null

    /** How many keys are kept, of all services. */
    public val size: Int get() = synchronized(kept) { kept.size }

    override fun get(service: String, account: String): ByteArray? = open { get(service to account)?.copyOf() }

    override fun put(service: String, account: String, secret: ByteArray): Unit =
        open { put(service to account, secret.copyOf())?.fill(0) }

    override fun delete(service: String, account: String): Unit = open { remove(service to account)?.fill(0) }

    override fun accounts(service: String): List<String> = open { keys.filter { it.first == service }.map { it.second } }

    private inline fun <R> open(work: HashMap<Pair<String, String>, ByteArray>.() -> R): R {
        refusal?.let { throw it }
        return synchronized(kept) { kept.work() }
    }
}
