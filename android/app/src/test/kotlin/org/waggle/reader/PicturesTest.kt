package org.waggle.reader

import androidx.compose.ui.semantics.SemanticsActions
import androidx.compose.ui.test.hasContentDescription
import androidx.compose.ui.test.hasTestTag
import androidx.compose.ui.test.hasText
import androidx.compose.ui.test.longClick
import androidx.compose.ui.test.performScrollToNode
import androidx.compose.ui.test.performSemanticsAction
import androidx.compose.ui.test.performTouchInput
import org.junit.Test
import org.robolectric.RuntimeEnvironment
import org.robolectric.annotation.Config
import org.waggle.More
import org.waggle.RetryClass
import org.waggle.SessionException
import org.waggle.SyncState
import org.waggle.fakes.FakeCall
import org.waggle.fakes.fakeChannel
import org.waggle.fakes.fakeFailure
import org.waggle.fakes.fakeSidebarRow
import org.waggle.kit.TimelineItem

/** Pictures of the screens, in the states that matter. `cargo xtask screenshots` keeps them in `android/screenshots`. */
class PicturesTest : ReaderTest() {
    private fun openRow(name: String) {
        val described = hasContentDescription(community.state.value.rows.first { it.name == name }.accessibleName)
        find(hasTestTag("channels")).performScrollToNode(described)
        find(described).performSemanticsAction(SemanticsActions.OnClick)
        eventually("rows of $name") { timeline.state.value.items.any { it is TimelineItem.Message } }
        pass(200)
    }

    private fun back() {
        touch(hasContentDescription("Back"))
        pass()
    }

    @Test
    @Config(application = HoneyApplication::class)
    fun `the relay's community by day, by night and in large letters`() {
        TestRelay(folder.root).use { relay ->
            enter(relay)
            picture("03-channels")
            byDay()
            byNight()
            inLargeLetters()
            relay.go()
            touch(hasText("Try again"))
            eventually("what that means") { shows(hasText("You are offline", substring = true)) }
            picture("13-offline")
        }
    }

    private fun byDay() {
        openRow("general")
        picture("04-channel")
        find(hasText("Everyone who can", substring = true)).performTouchInput { longClick() }
        eventually("a menu") { shows(hasText("Copy the text")) }
        pass(300)
        picture("05-message-menu")
        touch(hasText("Open the thread"))
        eventually("all of a thread") { timeline.root != null && timeline.state.value.status?.more == More.NO }
        picture("06-thread")
        back()
        touch(hasContentDescription("More"))
        touch(hasText("Diagnostics"))
        eventually("what was read to be published") { community.state.value.sync?.state == SyncState.RECONCILED }
        pass(200)
        picture("07-diagnostics")
        back()
        touch(hasText("First unread"))
        eventually("the line") { timeline.state.value.goal == null && shows(hasText("New")) }
        pass(200)
        picture("08-first-unread")
        back()
    }

    private fun byNight() {
        RuntimeEnvironment.setQualifiers("+night")
        window.recreate()
        eventually("the list again") { shows(hasTestTag("channels")) }
        picture("09-channels-dark")
        // A little larger than usual: days before yesterday, whose captions are dates, lie above the picture then.
        RuntimeEnvironment.setFontScale(1.3f)
        window.recreate()
        openRow("swarm-watch")
        picture("10-channel-dark")
        RuntimeEnvironment.setQualifiers("+notnight")
    }

    private fun inLargeLetters() {
        RuntimeEnvironment.setFontScale(1.6f)
        window.recreate()
        eventually("the rows again") { shows(hasTestTag("timeline")) }
        picture("11-channel-large-font")
        back()
        picture("12-channels-large-font")
        RuntimeEnvironment.setFontScale(1f)
        window.recreate()
    }

    @Test
    @Config(application = ScriptedApplication::class)
    fun `nothing to show and what goes wrong`() {
        val session = (app as ScriptedApplication).session
        session.show(listOf(fakeSidebarRow(fakeChannel(1), "meadow")))
        session.script = {
            if (it is FakeCall.OpenTimeline) {
                throw SessionException.Denied(fakeFailure("denied", RetryClass.NOW, "You cannot read this channel."))
            }
        }
        window
        eventually("signing in") { shows(hasText("Sign in")) }
        picture("01-sign-in")
        touch(hasText("Create a new account"))
        eventually("a backup") { shows(hasText("I have kept it safe")) }
        picture("02-backup")
        touch(hasText("I have kept it safe"))
        type("Address", "wss://example.org")
        touch(hasText("Open"))
        touch(hasContentDescription("meadow"))
        eventually("a sentence") { shows(hasText("You cannot read this channel.")) }
        picture("14-error")
        session.script = {}
        touch(hasText("Try again"))
        eventually("an empty channel") { shows(hasText("Nothing has been said here yet.")) }
        picture("15-empty-channel")
        back()
        session.show(emptyList())
        eventually("no channels") { shows(hasText("No channels yet", substring = true)) }
        picture("16-no-channels")
    }
}
