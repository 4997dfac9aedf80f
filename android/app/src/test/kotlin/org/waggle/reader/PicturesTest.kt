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
        window
        eventually("signing in") { shows(hasText("Sign in")) }
        picture("01-sign-in")
        touch(hasText("Create a new account"))
        eventually("a backup") { shows(hasText("I have kept it safe")) }
        picture("02-backup")
        touch(hasText("I have kept it safe"))
        touch(hasText("Sign out"))
        eventually("a question") { shows(hasText("Cancel")) }
        touchLast("Sign out")
        TestRelay(folder.root).use { relay ->
            enter(relay)
            picture("03-channels")
            openRow("general")
            picture("04-channel")
            find(hasText("Everyone who can", substring = true)).performTouchInput { longClick() }
            eventually("a menu") { shows(hasText("Copy the text")) }
            pass(300)
            picture("05-message-menu")
            touch(hasText("Open the thread"))
            eventually("a thread") { timeline.root != null && timeline.state.value.items.size > 2 && timeline.state.value.status?.more == More.NO }
            picture("06-thread")
            back()
            touch(hasContentDescription("More"))
            touch(hasText("Diagnostics"))
            pass(200)
            picture("07-diagnostics")
            back()
            back()
            RuntimeEnvironment.setQualifiers("+night")
            window.recreate()
            eventually("the list again") { shows(hasTestTag("channels")) }
            picture("08-channels-dark")
            openRow("apiary-log")
            picture("09-channel-dark")
            RuntimeEnvironment.setQualifiers("+notnight")
            RuntimeEnvironment.setFontScale(1.6f)
            window.recreate()
            eventually("the rows again") { shows(hasTestTag("timeline")) }
            picture("10-channel-large-font")
            back()
            picture("11-channels-large-font")
            RuntimeEnvironment.setFontScale(1f)
            window.recreate()
            relay.go()
            eventually("being offline") { shows(hasText("Try again")) }
            picture("12-offline")
        }
    }

    private fun touchLast(text: String) {
        val all = rule.onAllNodes(hasText(text))
        all[all.fetchSemanticsNodes().lastIndex].performSemanticsAction(SemanticsActions.OnClick)
        eventually("nobody signed in") { shows(hasText("Account key")) }
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
        type("Address", "wss://example.org")
        touch(hasText("Open"))
        touch(hasContentDescription("meadow"))
        eventually("a sentence") { shows(hasText("You cannot read this channel.")) }
        picture("13-error")
        session.script = {}
        touch(hasText("Try again"))
        eventually("an empty channel") { shows(hasText("Nothing has been said here yet.")) }
        picture("14-empty-channel")
        back()
        session.show(emptyList())
        eventually("no channels") { shows(hasText("No channels yet", substring = true)) }
        picture("15-no-channels")
    }
}
