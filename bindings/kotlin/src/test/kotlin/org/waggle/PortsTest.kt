package org.waggle

import java.nio.file.Path
import java.util.Collections
import java.util.concurrent.ConcurrentHashMap
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import org.waggle.support.RelayTest
import org.waggle.support.config
import org.waggle.support.live

/** What an app brings itself: called from Waggle's threads, free to call Waggle back, unable to hurt it. */
class PortsTest : RelayTest() {
    @TempDir
    lateinit var folder: Path

    private open class Store : SecretStore {
        val kept = ConcurrentHashMap<String, ByteArray>()
        override fun get(service: String, account: String): ByteArray? = kept["$service/$account"]
        override fun put(service: String, account: String, secret: ByteArray) {
            kept["$service/$account"] = secret
        }
        override fun delete(service: String, account: String) {
            kept.remove("$service/$account")
        }
        override fun accounts(service: String): List<String> =
            kept.keys.filter { it.startsWith("$service/") }.map { it.substringAfter('/') }
    }

    @Test
    fun `an app's store keeps keys over restarts`() = live {
        val store = Store()
        Waggle.open(config(folder), store).use { it.signIn(relay.nsec) }
        assertEquals(listOf(32), store.kept.values.map { it.size })
        Waggle.open(config(folder), store).use { waggle ->
            assertEquals(listOf(relay.viewer), waggle.accounts())
            waggle.useAccount(relay.viewer)
            assertEquals(relay.nsec, waggle.backupKey(relay.viewer))
            waggle.signOut(relay.viewer)
        }
        assertTrue(store.kept.isEmpty())
    }

    @Test
    fun `a store may call the client and its session back`() = live {
        lateinit var waggle: Waggle
        var session: Session? = null
        val seen = Collections.synchronizedList(ArrayList<String>())
        val store = object : Store() {
            override fun put(service: String, account: String, secret: ByteArray) {
                seen += "account ${waggle.account}"
                session?.let {
                    seen += "rows ${it.sidebarNow().rows.isNotEmpty()}"
                    runBlocking {
                        seen += "accounts ${waggle.accounts().size}"
                        it.snapshot(Target.Channel(relay.channel("general")))
                        it.sidebar.first()
                        waggle.session(relay.host).close()
                    }
                }
                super.put(service, account, secret)
            }
        }
        waggle = Waggle.open(config(folder), store)
        waggle.use {
            waggle.signIn(relay.nsec)
            waggle.session(relay.host).use {
                it.start()
                it.ensure()
                session = it
                waggle.createAccount()
            }
        }
        assertEquals(listOf("account null", "account ${relay.viewer}", "rows true", "accounts 1"), seen)
    }

    @Test
    fun `a signer that refuses or throws fails what needed it, and nothing else`() = live {
        val refusals = mapOf(
            SignerException.Rejected() to "cancelled",
            IllegalStateException("private") to "invalid_answer",
            AssertionError("private") to "invalid_answer",
        )
        for ((refusal, code) in refusals) {
            val signer = object : Signer {
                override val publicKey = relay.viewer
                override val canPublish = true
                override val canDecrypt get() = throw IllegalStateException()
                override suspend fun sign(event: UnsignedEvent): String = throw refusal
                override fun decrypt(payload: String): String = throw refusal
            }
            Waggle.open(config(folder), KeyStorage.MEMORY).use { waggle ->
                assertEquals(relay.viewer, waggle.signIn(signer))
                waggle.session(relay.host).use { session ->
                    session.start()
                    assertEquals(Capability.UNSUPPORTED, session.syncNow().capability)
                    val failed = session.connectivity.first { it.error != null }
                    assertEquals(Phase.REFUSED, failed.phase)
                    assertEquals(code, failed.error?.code)
                    assertTrue("private" !in failed.toString())
                    session.snapshot(Target.Channel(relay.channel("general")))
                }
            }
        }
    }

    @Test
    fun `a signer that waits is cancelled when its session closes`() = live {
        val asked = CompletableDeferred<UnsignedEvent>()
        val cancelled = CompletableDeferred<Unit>()
        val signer = object : Signer {
            override val publicKey = relay.viewer
            override val canPublish = false
            override val canDecrypt = false
            override suspend fun sign(event: UnsignedEvent): String {
                asked.complete(event)
                try {
                    return CompletableDeferred<String>().await()
                } finally {
                    cancelled.complete(Unit)
                }
            }
            override fun decrypt(payload: String): String = throw SignerException.Undecryptable()
        }
        Waggle.open(config(folder), KeyStorage.MEMORY).use { waggle ->
            waggle.signIn(signer)
            waggle.session(relay.host).use { session ->
                session.start()
                // Signing in, which says nothing and keeps nothing secret; what else is ever signed is encrypted first.
                val event = asked.await()
                assertEquals(Pair("", false), Pair(event.content, event.encrypt))
            }
        }
        cancelled.await()
    }

    @Test
    fun `a signer's own key failure comes straight back`() = live {
        val signer = object : Signer {
            override val publicKey get() = throw UnsupportedOperationException("no key")
            override val canPublish = true
            override val canDecrypt = true
            override suspend fun sign(event: UnsignedEvent): String = ""
            override fun decrypt(payload: String): String = ""
        }
        Waggle.open(config(folder), KeyStorage.MEMORY).use { waggle ->
            failure<UnsupportedOperationException> { waggle.signIn(signer) }
        }
    }

    @Test
    fun `logging starts once, takes only levels that are some, and its flows end with their collector`() = live {
        assertEquals("log levels", failure<ClientException.InvalidArgument> { WaggleLog.start("=nonsense=") }.what)
        WaggleLog.start("info")
        assertEquals("busy", failure<ClientException.Other> { WaggleLog.start("info") }.failure.code)
        WaggleLog.sink { }
        val collecting = launch(start = CoroutineStart.UNDISPATCHED) { WaggleLog.lines.collect { } }
        assertTrue(collecting.isActive)
        collecting.cancelAndJoin()
        WaggleLog.sink(null)
    }

    @Test
    fun `a sink that throws hurts nobody`() {
        val heard = ArrayList<LogLine>()
        val sink = LoweredSink {
            heard += it
            throw AssertionError("a sink's own failure")
        }
        val line = LogLine(1UL, LogLevel.INFO, "waggle", "rows read count=3")
        sink.log(line)
        assertEquals(listOf(line), heard)
    }
}
