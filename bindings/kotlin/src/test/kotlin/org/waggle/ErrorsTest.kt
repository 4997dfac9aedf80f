package org.waggle

import java.nio.file.Path
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.flow.toList
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertInstanceOf
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import org.waggle.ffi.Retry
import org.waggle.support.RelayTest
import org.waggle.support.config
import org.waggle.support.device
import org.waggle.support.live
import org.waggle.support.readyDevice
import org.waggle.ffi.ClientException as FfiClientException
import org.waggle.ffi.NetworkFailure as FfiNetworkFailure
import org.waggle.ffi.SessionException as FfiSessionException
import org.waggle.ffi.ViewException as FfiViewException

/** How failures come out: typed, with the core's code, retry class and sentence. */
class ErrorsTest : RelayTest() {
    @TempDir
    lateinit var folder: Path

    private val relayKey get() = relay.nsec

    /** A store that fails with what it is told to. */
    private class Refusing(private val refusal: Throwable) : SecretStore {
        override fun get(service: String, account: String): ByteArray? = throw refusal
        override fun put(service: String, account: String, secret: ByteArray): Unit = throw refusal
        override fun delete(service: String, account: String): Unit = throw refusal
        override fun accounts(service: String): List<String> = throw refusal
    }

    private suspend fun storageKind(refusal: Throwable): StorageKind =
        Waggle.open(config(folder), Refusing(refusal)).use { waggle ->
            val e = failure<ClientException.Storage> { waggle.signIn(relayKey) }
            assertNull(waggle.account)
            assertEquals(e.kind, failure<ClientException.Storage> { waggle.accounts() }.kind)
            assertEquals(e.kind, failure<ClientException.Storage> { waggle.useAccount(relay.viewer) }.kind)
            assertEquals(e.kind, failure<ClientException.Storage> { waggle.signOut(relay.viewer) }.kind)
            assertTrue("secret" !in e.stackTraceToString()) { "what a store says stays there" }
            e.kind
        }

    @Test
    fun `whatever a key store throws is a typed failure`() = live {
        assertEquals(StorageKind.LOCKED, storageKind(SecretStoreException.Locked()))
        assertEquals(StorageKind.FULL, storageKind(SecretStoreException.Full()))
        assertEquals(StorageKind.CORRUPT, storageKind(SecretStoreException.Damaged()))
        assertEquals(StorageKind.IO, storageKind(SecretStoreException.Failed()))
        assertEquals(StorageKind.IO, storageKind(IllegalArgumentException("a secret word")))
        assertEquals(StorageKind.IO, storageKind(AssertionError("a secret word")))
        Waggle.open(config(folder), Refusing(SecretStoreException.Unavailable())).use { waggle ->
            val e = failure<ClientException.Unsupported> { waggle.signIn(relayKey) }
            assertEquals("unsupported", e.failure.code)
            assertNull(waggle.account)
        }
    }

    @Test
    fun `a key store that answers nonsense is damaged`() = live {
        val nonsense = object : SecretStore by Refusing(IllegalStateException()) {
            override fun get(service: String, account: String): ByteArray = ByteArray(5)
        }
        Waggle.open(config(folder), nonsense).use { waggle ->
            assertEquals(StorageKind.CORRUPT, failure<ClientException.Storage> { waggle.useAccount(relay.viewer) }.kind)
        }
    }

    @Test
    fun `clients refuse what is malformed`() = live {
        assertEquals("data folder", failure<ClientException.InvalidArgument> { Waggle.open(ClientConfig("", Mode.APP)) }.what)
        Waggle.open(config(folder), KeyStorage.MEMORY).use { waggle ->
            val e = failure<ClientException.InvalidArgument> { waggle.signIn("nsec1nonsense") }
            assertEquals("invalid_argument", e.failure.code)
            assertEquals(e.failure.sentence, e.message)
            assertEquals(e.failure, e.waggleFailure)
            assertEquals(RetryClass.NEVER, e.failure.retryClass)
            failure<ClientException.InvalidArgument> { waggle.session(relay.host) }
            failure<ClientException.NotFound> { waggle.useAccount(relay.viewer) }
            failure<ClientException.NotFound> { waggle.backupKey(relay.viewer) }
            waggle.signIn(relayKey)
            failure<ClientException.InvalidArgument> { waggle.session("no address at all") }
        }
    }

    @Test
    fun `sessions refuse what is malformed, unknown or not theirs`() = live {
        relay.readyDevice(folder) { session ->
            val channel = relay.channel("general")
            val nobody = "ab".repeat(32)
            failure<SessionException.InvalidArgument> { session.timeline("general") }
            failure<SessionException.InvalidArgument> { session.cues(listOf(Placed("x", Extent(0.0, 1.0), false, false)), Extent(0.0, 1.0)) }
            failure<SessionException.Denied> { session.timeline("00000000-0000-4000-8000-000000000000") }
            failure<SessionException.NotFound> { session.markThrough(Target.Channel(channel), nobody) }
            session.surface(channel).use { surface ->
                failure<SessionException.InvalidArgument> { surface.report(Viewport(true, true, listOf("x"), null)) }
            }
        }
    }

    @Test
    fun `a session that cannot publish says so`() = live {
        Waggle.open(config(folder), KeyStorage.MEMORY).use { waggle ->
            waggle.signInReadOnly(relayKey)
            waggle.session(relay.host).use { session ->
                session.start()
                session.ensure()
                assertEquals(Capability.READ_ONLY, session.syncNow().capability)
                failure<SessionException.ReadOnly> { session.mute(relay.channel("general"), true) }
            }
        }
    }

    @Test
    fun `calls after the end fail with closed, flows end`() = live {
        val channel = relay.channel("general")
        val waggle = Waggle.open(config(folder), KeyStorage.MEMORY)
        waggle.signIn(relayKey)
        val session = waggle.session(relay.host)
        session.start()
        session.ensure()
        val timeline = session.timeline(channel)
        val late = session.timeline(channel)
        val surface = session.surface(channel)
        timeline.close()
        timeline.close()
        assertEquals("closed", failure<SessionException.Closed> { timeline.loadOlder() }.failure.code)
        failure<SessionException.Closed> { timeline.now() }
        assertEquals(0, timeline.rows.toList().size)

        session.close()
        session.close()
        failure<SessionException.Closed> { session.start() }
        failure<SessionException.Closed> { session.snapshot(Target.Channel(channel)) }
        failure<SessionException.Closed> { session.sidebarNow() }
        failure<SessionException.Closed> { session.syncNow() }
        failure<SessionException.Closed> { session.leave() }
        failure<SessionException.Closed> { late.loadOlder() }
        assertEquals(relay.viewer, session.account)
        assertEquals(0, session.sidebar.toList().size)
        assertEquals(0, session.unread(Target.Channel(channel)).toList().size)
        surface.report(Viewport(true, true, emptyList(), null))
        surface.close()
        surface.close()
        late.close()

        val open = waggle.session(relay.host)
        waggle.close()
        waggle.close()
        assertEquals("closed", failure<ClientException.Closed> { waggle.signIn(relayKey) }.failure.code)
        failure<ClientException.Closed> { waggle.session(relay.host) }
        failure<SessionException.Closed> { open.start() }
        assertNull(waggle.account)
        open.close()
    }

    @Test
    fun `a community is left, and only that`() = live {
        relay.device(folder) { session ->
            session.ensure()
            session.leave()
            failure<SessionException.Closed> { session.start() }
        }
        relay.device(folder) { assertTrue(it.sidebarNow().rows.isEmpty() || it.sidebarNow().cached) }
    }

    @Test
    fun `use closes on failure and lets the first failure through`() = live {
        class Broken : SuspendCloseable {
            var closed = 0
            override suspend fun close() {
                closed++
                error("closing")
            }
        }
        val broken = Broken()
        val e = failure<IllegalArgumentException> { broken.use { throw IllegalArgumentException("work") } }
        assertEquals(listOf("closing"), e.suppressed.map { it.message })
        assertEquals("closing", failure<IllegalStateException> { broken.use { } }.message)
        assertEquals(2, broken.closed)
        suspend fun early(): Int = broken.use { return 1 }
        failure<IllegalStateException> { early() }
        assertEquals(3, broken.closed)
    }

    @Test
    fun `every failure of the generated code has its type here`() {
        val failure = Failure("code", Retry.Never, "A sentence.")
        for (e in listOf(
            FfiClientException.InvalidArgument("w", failure), FfiClientException.NotFound("w", failure),
            FfiClientException.Storage(StorageKind.FULL, failure), FfiClientException.Unsupported("w", failure),
            FfiClientException.Capacity("w", failure), FfiClientException.Closed(failure), FfiClientException.Other(failure),
        )) same(e, e.lifted(), failure)
        for (e in listOf(
            FfiSessionException.NotFound("w", failure), FfiSessionException.Denied(failure),
            FfiSessionException.InvalidTarget("w", failure), FfiSessionException.InvalidArgument("w", failure),
            FfiSessionException.Cancelled("w", failure), FfiSessionException.Storage(StorageKind.IO, failure),
            FfiSessionException.Unsupported("w", failure), FfiSessionException.ReadOnly(failure),
            FfiSessionException.Capacity("w", failure), FfiSessionException.Closed(failure),
            FfiSessionException.Busy("w", failure), FfiSessionException.Network(FfiNetworkFailure.Lost, failure),
            FfiSessionException.RelayRefused(Refusal.AUTH, failure), FfiSessionException.InvalidAnswer("w", failure),
            FfiSessionException.Failed("w", failure), FfiSessionException.Clock(-90, failure),
        )) same(e, e.lifted(), failure)
        same(FfiViewException.Closed(failure), FfiViewException.Closed(failure).lifted(), failure)
        same(FfiViewException.Failed(failure), FfiViewException.Failed(failure).lifted(), failure)
        val clock = FfiSessionException.Clock(-90, failure).lifted() as SessionException.Clock
        assertEquals((-90).seconds, clock.skew)
        val why = listOf(
            FfiNetworkFailure.Offline, FfiNetworkFailure.Lost, FfiNetworkFailure.TimedOut, FfiNetworkFailure.Server(503U),
            FfiNetworkFailure.Truncated, FfiNetworkFailure.Oversized,
        ).map { (FfiSessionException.Network(it, failure).lifted() as SessionException.Network).why }
        assertEquals(
            listOf(
                NetworkFailure.Offline, NetworkFailure.Lost, NetworkFailure.TimedOut, NetworkFailure.Server(503),
                NetworkFailure.Truncated, NetworkFailure.Oversized,
            ),
            why,
        )
    }

    @Test
    fun `retry classes`() {
        fun of(retry: Retry) = Failure("c", retry, "s").let { it.retryClass to it.retryAfter }
        assertEquals(RetryClass.NEVER to null, of(Retry.Never))
        assertEquals(RetryClass.NOW to null, of(Retry.Now))
        assertEquals(RetryClass.AFTER to 30.seconds, of(Retry.After(30U)))
        assertEquals(RetryClass.WHEN_ONLINE to null, of(Retry.WhenOnline))
        assertEquals(RetryClass.AFTER_ACTION to null as Duration?, of(Retry.AfterAction))
        assertNull(IllegalStateException().waggleFailure)
    }

    private fun same(from: Exception, to: WaggleException, failure: Failure) {
        assertEquals(from::class.simpleName, to::class.simpleName)
        assertEquals(failure, to.failure)
        assertEquals("A sentence.", to.message)
    }
}

/** Does something that has to fail in this way. */
internal suspend inline fun <reified E : Throwable> failure(crossinline work: suspend () -> Unit): E {
    try {
        work()
    } catch (e: Throwable) {
        return assertInstanceOf(E::class.java, e)
    }
    throw AssertionError("nothing failed, ${E::class.simpleName} was expected")
}
