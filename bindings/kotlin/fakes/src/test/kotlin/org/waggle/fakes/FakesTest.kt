package org.waggle.fakes

import app.cash.turbine.test
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.test.runTest
import org.junit.jupiter.api.Assertions.assertArrayEquals
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.waggle.More
import org.waggle.NetworkFailure
import org.waggle.Phase
import org.waggle.RetryClass
import org.waggle.SecretStoreException
import org.waggle.SessionException
import org.waggle.SessionLifecycle
import org.waggle.Target
import org.waggle.ThreadActivity
import org.waggle.Viewport
import org.waggle.WaggleSession
import org.waggle.retryAfter
import org.waggle.retryClass
import org.waggle.use

/** The fakes behave as an app may expect of the real ones, and never load the library. */
class FakesTest {
    private val general = fakeChannel(1)

    @Test
    fun `a session shows what it is told to show, until it ends`() = runTest {
        val session = FakeSession()
        session.sidebar.test {
            assertEquals(emptyList<Any>(), awaitItem().rows)
            session.show(listOf(fakeSidebarRow(name = "general", observed = 3, strong = true)))
            val now = awaitItem()
            assertEquals(3U, now.rows.single().observed)
            assertEquals(now, session.sidebarNow())
            session.close()
            awaitComplete()
        }
        assertEquals(0, session.sidebar.toList().size)
        assertEquals(0, session.unread(Target.Channel(general)).toList().size)
        assertEquals("closed", assertThrows(SessionException.Closed::class.java) { session.syncNow() }.failure.code)
        assertEquals(listOf<FakeCall>(FakeCall.Close), session.calls)
    }

    @Test
    fun `a script answers calls`() = runTest {
        val session = FakeSession()
        val target = Target.Channel(general)
        session.show(target, fakeUnread(observed = 2))
        session.script = { call ->
            when (call) {
                is FakeCall.MarkChannelRead -> session.show(Target.Channel(call.channel), fakeUnread(observed = 0))
                is FakeCall.Refresh -> throw SessionException.Network(NetworkFailure.Offline, fakeFailure())
                else -> {}
            }
        }
        assertEquals(2U, session.snapshot(target).observed)
        session.markChannelRead(general)
        assertEquals(0U, session.unread(target).first().observed)
        val offline = runCatching { session.refresh() }.exceptionOrNull() as SessionException.Network
        assertEquals(RetryClass.WHEN_ONLINE, offline.failure.retryClass)
        assertEquals(5.seconds, fakeFailure(retry = RetryClass.AFTER, after = 5.seconds).retryAfter)
        session.follow(general, fakeId(7), following = true)
        assertTrue(session.following(general, fakeId(7)))
        session.show(general, ThreadActivity(emptyList()))
        assertEquals(emptyList<Any>(), session.activity(general).items)
        assertEquals(
            listOf(FakeCall.MarkChannelRead(general), FakeCall.Refresh, FakeCall.Follow(general, fakeId(7), true)),
            session.calls,
        )
    }

    @Test
    fun `a timeline pages, receives and is opened again`() = runTest {
        val session = FakeSession()
        val fake = session.timelineOf(general)
        fake.show(listOf(fakeTimelineRow(fakeId(3)), fakeTimelineRow(fakeId(4))), fakeTimelineStatus(firstUnread = fakeId(1)))
        fake.addOlder(listOf(fakeTimelineRow(fakeId(2))))
        fake.addOlder(listOf(fakeTimelineRow(fakeId(1))))
        session.timeline(general).use { timeline ->
            assertEquals(More.YES, timeline.now().status.more)
            timeline.loadOlder()
            assertEquals(listOf(2, 3, 4).map(::fakeId), timeline.now().rows.map { it.id })
            assertTrue(timeline.jumpToFirstUnread())
            assertEquals(More.NO, timeline.now().status.more)
            fake.arrive(fakeTimelineRow(fakeId(5), text = "New"))
            assertEquals("New", timeline.rows.first().rows.last().text)
        }
        assertThrows(SessionException.Closed::class.java) { fake.now() }
        assertEquals(5, session.timeline(general).now().rows.size)
    }

    @Test
    fun `surfaces remember reports, lifecycles are heard`() = runTest {
        val fake = FakeSession()
        val session: WaggleSession = fake
        val viewport = Viewport(active = true, settled = true, visible = listOf(fakeId(1)), bottom = fakeId(1))
        session.surface(general).use { it.report(viewport) }
        assertEquals(listOf(viewport), fake.surfaces.single().reports)
        assertTrue(fake.surfaces.single().isClosed)
        fake.script = { if (it is FakeCall.Pause) throw SessionException.Busy("x", fakeFailure("busy")) }
        val lifecycle = SessionLifecycle(session, 2.seconds)
        lifecycle.onBackground()
        lifecycle.onForeground()
        lifecycle.onNetwork()
        assertEquals(listOf(FakeCall.Pause(2.seconds), FakeCall.Resume, FakeCall.NetworkChanged), fake.calls.drop(1))
        session.connectivity.test {
            assertEquals(Phase.ONLINE, awaitItem().phase)
            fake.show(fakeConnectivity(Phase.OFFLINE, "Offline", retryIn = 4))
            assertEquals(4U, awaitItem().retryIn)
            cancelAndIgnoreRemainingEvents()
        }
    }

    @Test
    fun `keys are kept in memory`() {
        val store = MemorySecretStore()
        assertNull(store.get("s", "a"))
        val key = ByteArray(32) { 7 }
        store.put("s", "a", key)
        key.fill(0)
        assertArrayEquals(ByteArray(32) { 7 }, store.get("s", "a"))
        assertEquals(listOf("a"), store.accounts("s"))
        assertEquals(emptyList<String>(), store.accounts("t"))
        store.refusal = SecretStoreException.Locked()
        assertThrows(SecretStoreException.Locked::class.java) { store.get("s", "a") }
        store.refusal = null
        store.delete("s", "a")
        assertEquals(0, store.size)
        assertFalse(store.accounts("s").contains("a"))
    }
}
