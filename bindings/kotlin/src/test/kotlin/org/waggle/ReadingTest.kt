package org.waggle

import app.cash.turbine.test
import java.nio.file.Path
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.filter
import kotlinx.coroutines.flow.first
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertFalse
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir
import org.waggle.support.RelayTest
import org.waggle.support.TestRelay
import org.waggle.support.config
import org.waggle.support.live
import org.waggle.support.readyDevice
import org.waggle.support.row
import org.waggle.support.unreadWhen

/** What a reader does, through the library, against the embedded relay. */
class ReadingTest : RelayTest() {
    @TempDir
    lateinit var folder: Path

    @Test
    fun `a client opens, signs in and knows its account`() = live {
        Waggle.open(config(folder), KeyStorage.MEMORY).use { waggle ->
            assertEquals(null, waggle.account)
            assertEquals(relay.viewer, waggle.signIn(relay.nsec))
            assertEquals(relay.viewer, waggle.account)
            assertEquals(listOf(relay.viewer), waggle.accounts())
            assertEquals(relay.nsec, waggle.backupKey(relay.viewer))
            val made = waggle.createAccount()
            assertEquals(setOf(made, relay.viewer), waggle.accounts().toSet())
            waggle.useAccount(relay.viewer)
            assertEquals(relay.viewer, waggle.session(relay.host).use { it.account })
            waggle.signOut(made)
            assertEquals(listOf(relay.viewer), waggle.accounts())
        }
    }

    @Test
    fun `a timeline pages back to its beginning and shows what arrives`() = live {
        relay.readyDevice(folder) { session ->
            val channel = relay.channel("apiary-log")
            session.timeline(channel, pageSize = 50).use { timeline ->
                val first = timeline.now()
                assertEquals(50, first.rows.size)
                timeline.loadOlder()
                val second = timeline.now()
                assertEquals(100, second.rows.size)
                assertEquals(first.rows.map { it.id }, second.rows.takeLast(50).map { it.id })
                assertTrue(second.rows.zipWithNext().all { (a, b) -> a.createdAt <= b.createdAt })
                timeline.rows.test(timeout = 30.seconds) {
                    assertEquals(second.rows, awaitItem().rows)
                    val id = relay.post("apiary-log", "mara", "The third hive is humming")
                    var now = awaitItem()
                    while (now.rows.last().id != id) now = awaitItem()
                    assertEquals("The third hive is humming", now.rows.last().text)
                    assertEquals("Mara Lindqvist", now.rows.last().authorName)
                    assertEquals(now.rows, timeline.now().rows)
                    cancelAndIgnoreRemainingEvents()
                }
            }
        }
    }

    @Test
    fun `what stays visible is read after the dwell`() = live {
        relay.readyDevice(folder) { session ->
            val channel = relay.channel("general")
            val id = relay.post("general", "jonah", "Who has the van keys?")
            session.unreadWhen(Target.Channel(channel)) { it.latest == id && (it.observed ?: 0U) > 0U }
            session.row(channel) { it.strong }
            session.timeline(channel).use { timeline ->
                val rows = timeline.rows.first { it.rows.lastOrNull()?.id == id }.rows
                session.surface(channel).use { surface ->
                    surface.report(Viewport(active = true, settled = true, rows.takeLast(10).map { it.id }, bottom = id))
                    val read = session.unreadWhen(Target.Channel(channel)) { it.observed == 0U }
                    assertEquals(0U, read.attention)
                }
                assertFalse(session.row(channel) { it.observed == 0U }.strong)
            }
        }
    }

    @Test
    fun `a mark reaches another device, a manual mark does not`(@TempDir other: Path) = live {
        relay.readyDevice(folder) { phone ->
            relay.readyDevice(other) { tablet ->
                val channel = relay.channel("honey-house")
                val target = Target.Channel(channel)
                val id = relay.post("honey-house", "sol", "Frames are drying")
                phone.unreadWhen(target) { it.latest == id && (it.observed ?: 0U) > 0U }
                tablet.unreadWhen(target) { it.latest == id && (it.observed ?: 0U) > 0U }
                assertEquals(SyncOutlook.PENDING, phone.markThrough(target, id).sync)
                assertEquals(0U, phone.snapshot(target).observed)
                phone.flush()
                assertEquals(SyncState.RECONCILED, phone.sync.first { it.state == SyncState.RECONCILED }.state)
                tablet.unreadWhen(target) { it.observed == 0U }

                assertEquals(SyncOutlook.LOCAL_ONLY, phone.markUnread(target).sync)
                assertEquals(Manual.LOCAL_ONLY, phone.snapshot(target).manual)
                assertEquals(Manual.NONE, tablet.snapshot(target).manual)
                phone.clearUnread(target)
                assertEquals(Manual.NONE, phone.snapshot(target).manual)
            }
        }
    }

    @Test
    fun `a message is marked unread during a visit, and read again`() = live {
        relay.readyDevice(folder) { session ->
            val channel = relay.channel("general")
            val id = relay.post("general", "sol", "Lids for the top bars")
            val message = Target.Message(channel, id)
            session.unreadWhen(Target.Channel(channel)) { it.latest == id }
            session.enterChannel(channel)
            session.markChannelRead(channel)
            assertEquals(0U, session.snapshot(Target.Channel(channel)).observed)
            assertEquals(SyncOutlook.LOCAL_ONLY, session.markMessageUnread(channel, id).sync)
            assertEquals(Manual.LOCAL_ONLY, session.snapshot(message).manual)
            session.markMessageRead(channel, id)
            assertEquals(Manual.NONE, session.snapshot(message).manual)
            session.leaveChannel(channel)
        }
    }

    @Test
    fun `a thread is followed, counted and read`() = live {
        relay.readyDevice(folder) { session ->
            val channel = relay.channel("general")
            val root = relay.post("general", "edda", "Varroa counts, please")
            session.unreadWhen(Target.Channel(channel)) { it.latest == root }
            session.follow(channel, root, following = true)
            assertTrue(session.following(channel, root))
            session.threadActivity(channel).filter { it.items != null }.test(timeout = 30.seconds) {
                awaitItem()
                val reply = relay.reply("general", "priya", root, "Two in a hundred")
                var now = awaitItem()
                while (now.items?.any { it.root == root } != true) now = awaitItem()
                assertEquals(1U, now.items?.first { it.root == root }?.count)
                session.thread(channel, root).use { thread ->
                    assertEquals(listOf(root, reply), thread.rows.first { it.rows.size == 2 }.rows.map { it.id })
                }
                session.markThrough(Target.Thread(channel, root), reply)
                while (now.items?.any { it.root == root } == true) now = awaitItem()
                cancelAndIgnoreRemainingEvents()
            }
            assertEquals(emptyList<String>(), session.activity(channel).items?.filter { it.root == root }?.map { it.root })
        }
    }

    @Test
    fun `the first unread row is jumped to, and cues tell what lies off screen`() = live {
        relay.readyDevice(folder) { session ->
            val channel = relay.channel("recipes")
            session.markChannelRead(channel)
            // A mark covers its second.
            delay(1_100.milliseconds)
            val posted = List(3) { relay.post("recipes", "tomas", "Mead, step ${it + 1}") }
            session.unreadWhen(Target.Channel(channel)) { it.observed == 3U }
            session.timeline(channel).use { timeline ->
                assertTrue(timeline.jumpToFirstUnread())
                val first = timeline.now().status.firstUnread
                assertTrue(first in posted)
                assertEquals(first, timeline.now().rows.first { it.id in posted }.id)
            }
            val rows = session.sidebarNow().rows
            val none = session.cues(0, rows.lastIndex)
            assertEquals(0U, none.above.count + none.below.count)
            val all = session.cues(0, -1)
            val placed = rows.mapIndexed { at, row ->
                Placed(row.channel, Extent(at * 10.0, at * 10.0 + 10.0), collapsed = false, filtered = false)
            }
            val counted = rows.count { it.counted }.toUInt()
            assertTrue(counted > 0U)
            assertEquals(counted, all.above.count + all.below.count)
            assertEquals(counted, session.cues(placed, Extent(-20.0, -10.0)).below.count)
        }
    }

    @Test
    fun `muting and presenting change the sidebar`() = live {
        relay.readyDevice(folder) { session ->
            val channel = relay.channel("dm-jonah")
            session.presentAs(channel, PresentationClass.SOLO)
            assertEquals(SidebarSection.SOLO, session.row(channel) { it.section == SidebarSection.SOLO }.section)
            session.mute(channel, muted = true)
            assertTrue(session.row(channel) { it.muted }.muted)
            session.mute(channel, muted = false)
            assertFalse(session.row(channel) { !it.muted }.muted)
            assertTrue(session.markAllChannelsRead() >= 0)
            assertTrue(session.sidebar.first { now -> now.rows.none { (it.observed ?: 0U) > 0U } }.rows.isNotEmpty())
        }
    }

    @Test
    fun `the background and the network are told to the session`() = live {
        relay.readyDevice(folder) { session ->
            val lifecycle = SessionLifecycle(session, budget = 2.seconds)
            lifecycle.onBackground()
            assertEquals(Phase.SUSPENDED, session.connectivity.first { it.phase == Phase.SUSPENDED }.phase)
            lifecycle.onForeground()
            session.connectivity.first { it.phase == Phase.ONLINE }
            relay.drop()
            lifecycle.onNetwork()
            refreshedOnceOnline(session)
            session.settleLookups()
            session.retrySync()
        }
    }

    /** The old connection may still look alive when it was just cut; then the first answer is that it is not. */
    private suspend fun refreshedOnceOnline(session: WaggleSession) {
        while (true) {
            session.connectivity.first { it.phase == Phase.ONLINE }
            try {
                return session.refresh()
            } catch (_: SessionException.Network) {
                delay(20.milliseconds)
            }
        }
    }

    @Test
    fun `what was read is there again without the relay`() = live {
        val (host, channel, shown) = TestRelay.start().use { gone ->
            val channel = gone.channel("general")
            gone.readyDevice(folder) { session ->
                Triple(gone.host, channel, session.timeline(channel).use { it.now().rows })
            }
        }
        assertTrue(shown.isNotEmpty())
        Waggle.open(config(folder), KeyStorage.MEMORY).use { waggle ->
            waggle.signIn(relay.nsec)
            waggle.session(host).use { session ->
                session.start()
                assertTrue(session.sidebarNow().rows.any { it.channel == channel })
                session.timeline(channel).use { timeline ->
                    val held = timeline.rows.first { it.rows.isNotEmpty() }
                    assertTrue(held.status.restored)
                    assertEquals(shown.map { it.id }, held.rows.map { it.id })
                }
                val failed = session.connectivity.first { it.error != null }
                assertEquals(RetryClass.WHEN_ONLINE, failed.error?.retryClass)
            }
        }
    }
}
