package org.waggle.reader

import android.view.WindowManager
import androidx.compose.ui.semantics.SemanticsActions
import androidx.compose.ui.test.hasContentDescription
import androidx.compose.ui.test.hasText
import androidx.compose.ui.test.longClick
import androidx.compose.ui.test.performSemanticsAction
import androidx.compose.ui.test.performTouchInput
import androidx.compose.ui.test.swipeDown
import androidx.compose.ui.test.hasTestTag
import androidx.compose.ui.test.performScrollToNode
import androidx.lifecycle.Lifecycle
import org.junit.After
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertTrue
import org.junit.Before
import org.junit.Test
import org.waggle.Manual
import org.waggle.Phase
import org.waggle.SidebarRow
import org.waggle.SyncState
import org.waggle.kit.TimelineItem

/** What a person does, end to end: this window, the real core, the real relay. */
class JourneyTest : ReaderTest() {
    private lateinit var relay: TestRelay

    @Before
    fun start() {
        relay = TestRelay(folder.root)
    }

    @After
    fun stop() = relay.close()

    private fun row(name: String): SidebarRow = community.state.value.rows.first { it.name == name }

    /** A channel's row, which is found by what assistive technology reads: the core's words. */
    private fun open(name: String) {
        eventually("$name in the list") { community.state.value.rows.any { it.name == name } }
        val described = hasContentDescription(row(name).accessibleName)
        find(hasTestTag("channels")).performScrollToNode(described)
        // As TalkBack does it: a cue may float over the row.
        find(described).performSemanticsAction(SemanticsActions.OnClick)
        eventually("rows of $name") { timeline.state.value.items.any { it is TimelineItem.Message } }
    }

    private fun messages() = timeline.state.value.items.count { it is TimelineItem.Message }

    private fun back() {
        touch(hasContentDescription("Back"))
        pass()
    }

    @Test
    fun `signing in, reading, scrolling, marking`() {
        window
        type("Account key", "nsec1wrong")
        touch(hasText("Sign in"))
        eventually("a sentence about the key") { shows(hasText("That is not something Waggle understands.")) }
        enter(relay)
        assertEquals("the key is kept", 1, keys().size)
        assertFalse("…and encrypted", keys().values.any { relay.key in "$it" })

        // A dwell reads what shows: the direct message's row loses its dot.
        val unread = { community.state.value.rows.find { it.participants.size == 1 && it.strong && it.dot } }
        eventually("a direct message") { unread() != null }
        val jonah = unread()!!.name
        open(jonah)
        eventually("the dwell to be over") { !row(jonah).strong && !row(jonah).dot }
        back()

        // Three pages back, then to the newest message again.
        open("apiary-log")
        val first = messages()
        eventually("three more pages") {
            find(hasTestTag("timeline")).performTouchInput { swipeDown(durationMillis = 60) }
            messages() >= first + 150
        }
        touch(hasText("Latest"))
        val newest = timeline.state.value.newest!!
        eventually("the newest row") { timeline.state.value.goal == null && shows(hasText("Latest")).not() }
        assertEquals(newest, timeline.state.value.newest)
        back()

        // A message arrives while its channel shows.
        open("general")
        relay.tell("post general tomas The kettle is on.")
        eventually("the live arrival") { shows(hasText("The kettle is on.")) }

        // Marked unread by hand, on this device only.
        find(hasText("The kettle is on.")).performTouchInput { longClick() }
        touch(hasText("Mark as unread"))
        eventually("a word about this device") { shows(hasText("Saved on this device only")) }
        back()
        eventually("the channel to stay marked") { row("general").strong }
        // Who comes back has seen the mark, and then the message.
        open("general")
        eventually("the mark to be gone") { row("general").manual == Manual.NONE && !row("general").strong }
    }

    @Test
    fun `a new account, its key kept safe, and gone again`() {
        window
        touch(hasText("Create a new account"))
        eventually("its key") { shows(hasText("nsec1", substring = true)) }
        assertTrue("pictures of the key are refused", secure())
        assertEquals(1, keys().size)
        touch(hasText("I have kept it safe"))
        eventually("a place for an address") { shows(hasText("Address")) }
        assertFalse(secure())
        touch(hasText("Sign out"))
        eventually("a question") { shows(hasText("Cancel")) }
        val all = rule.onAllNodes(hasText("Sign out"))
        all[all.fetchSemanticsNodes().lastIndex].performSemanticsAction(SemanticsActions.OnClick)
        eventually("nobody signed in") { shows(hasText("Account key")) }
        assertEquals(0, keys().size)
    }

    private fun keys() = app.getSharedPreferences("keys", 0).all

    private fun secure(): Boolean {
        var flags = 0
        window.onActivity { flags = it.window.attributes.flags }
        return flags and WindowManager.LayoutParams.FLAG_SECURE != 0
    }

    @Test
    fun `following and muting`() {
        enter(relay)
        // A thread: opened by its button, followed and unfollowed by its menu.
        open("swarm-watch")
        eventually("a button for a thread") { shows(hasText("replies", substring = true)) }
        find(hasText("replies", substring = true)).performSemanticsAction(SemanticsActions.OnClick)
        eventually("the thread") { timeline.root != null && messages() > 1 && timeline.state.value.following != null }
        val followed = timeline.state.value.following!!
        touch(hasContentDescription("More"))
        touch(hasText(if (followed) "Unfollow the thread" else "Follow the thread"))
        eventually("the other choice") { timeline.state.value.following == !followed }
        back()
        back()

        // Muted: the relay has to agree, then the row carries the bell.
        find(hasTestTag("channels")).performScrollToNode(hasContentDescription(row("board").accessibleName))
        find(hasContentDescription(row("board").accessibleName)).performSemanticsAction(SemanticsActions.OnLongClick)
        touch(hasText("Mute"))
        eventually("the bell") { row("board").bell && row("board").muted }
        assertTrue("muted" in row("board").accessibleName)
    }

    @Test
    fun `offline and back, rotated, and gone in the middle of a save`() {
        enter(relay)
        open("market-stall")
        back()
        open("honey-house")
        val before = messages()

        // The relay goes: what is held stays, and a sentence says why nothing new comes.
        relay.go()
        eventually("a sentence about being offline") {
            community.state.value.connectivity?.phase == Phase.OFFLINE && shows(hasText("Try again"))
        }
        assertEquals(before, messages())
        back()
        open("market-stall")
        assertTrue(messages() > 0)
        relay.come()
        touch(hasText("Try again"))
        eventually("the connection") { community.state.value.connectivity?.phase == Phase.ONLINE }
        relay.tell("post market-stall felix Back again.")
        eventually("what is new") { shows(hasText("Back again.")) }

        // The window is rebuilt: same place, same session.
        val model = timeline
        window.recreate()
        eventually("the same rows") { shows(hasText("Back again.")) }
        assertTrue(model === timeline)
        assertEquals(Phase.ONLINE, community.state.value.connectivity?.phase)
        back()

        // The app goes while a mark is being saved: the mark is kept, and published in time.
        val unread = row("apiary-log").also { assertTrue(it.strong) }
        community.markRead(unread.channel)
        window.moveToState(Lifecycle.State.CREATED)
        eventually("the session's rest") { community.state.value.connectivity?.phase == Phase.SUSPENDED }
        assertTrue(community.state.value.sync?.pending == false || community.state.value.sync?.state == SyncState.STALE)
        window.moveToState(Lifecycle.State.RESUMED)
        eventually("the mark") { !row("apiary-log").strong && row("apiary-log").manual == Manual.NONE }
        eventually("publication") { community.state.value.sync?.state == SyncState.RECONCILED || community.state.value.sync?.pending == false }
    }
}
