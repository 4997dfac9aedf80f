package org.waggle.kit

import java.time.ZoneOffset
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.test.TestScope
import kotlinx.coroutines.test.UnconfinedTestDispatcher
import kotlinx.coroutines.test.runTest
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import org.junit.Assert.assertEquals
import org.junit.Assert.assertFalse
import org.junit.Assert.assertNotNull
import org.junit.Assert.assertNull
import org.junit.Assert.assertTrue
import org.junit.Test
import org.waggle.ClientException
import org.waggle.More
import org.waggle.PublicKey
import org.waggle.Receipt
import org.waggle.RetryClass
import org.waggle.SessionException
import org.waggle.SyncOutlook
import org.waggle.Target
import org.waggle.WaggleSession
import org.waggle.fakes.FakeCall
import org.waggle.fakes.FakeSession
import org.waggle.fakes.fakeChannel
import org.waggle.fakes.fakeFailure
import org.waggle.fakes.fakeId
import org.waggle.fakes.fakeSidebarRow
import org.waggle.fakes.fakeTimelineRow
import org.waggle.fakes.fakeTimelineStatus

/** The state holders over scripted sessions. */
@OptIn(ExperimentalCoroutinesApi::class)
class ReaderModelTest {
    private class Client(val known: MutableList<PublicKey> = ArrayList()) : ReaderClient {
        val sessions = LinkedHashMap<String, FakeSession>()
        override var account: PublicKey? = null

        override suspend fun signIn(key: String): PublicKey {
            if (key != "nsec1good") throw ClientException.InvalidArgument("key", fakeFailure("invalid_argument", RetryClass.NEVER, "No key."))
            return fakeId(7).also { use(it) }
        }

        override suspend fun createAccount(): PublicKey = fakeId(8).also { use(it) }

        override suspend fun accounts(): List<PublicKey> = known

        override suspend fun useAccount(account: PublicKey) = use(account)

        override suspend fun backupKey(account: PublicKey) = "nsec1backup"

        override suspend fun signOut(account: PublicKey) {
            known.remove(account)
            this.account = null
        }

        override fun session(host: String): WaggleSession = if (host == "nowhere") throw noAddress() else FakeSession(account!!).also { sessions[host] = it }

        override suspend fun close() = Unit

        private fun noAddress() = ClientException.InvalidArgument("host", fakeFailure("invalid_argument", RetryClass.NEVER, "No address."))

        private fun use(account: PublicKey) {
            this.account = account
            if (account !in known) known.add(account)
        }
    }

    private class Settings : ReaderSettings {
        override var account: PublicKey? = null
        override var communities: List<String> = emptyList()
        override var current: String? = null
    }

    private val client = Client()
    private val settings = Settings()

    private fun test(body: suspend TestScope.(ReaderModel) -> Unit) = runTest {
        val scope = CoroutineScope(UnconfinedTestDispatcher(testScheduler) + SupervisorJob())
        body(ReaderModel(client, settings, scope) { ZoneOffset.UTC })
        scope.cancel()
    }

    private fun ReaderModel.opened(): Pair<CommunityModel, FakeSession> {
        start()
        signIn("nsec1good")
        addCommunity("wss://one")
        return community!! to client.sessions.getValue("wss://one")
    }

    @Test
    fun `a wrong key says so, and a right one leads on`() = test { reader ->
        reader.start()
        assertEquals(Stage.SignIn, reader.state.value.stage)
        reader.signIn("nonsense")
        assertEquals("No key.", reader.state.value.failure?.sentence)
        assertEquals(Stage.SignIn, reader.state.value.stage)
        reader.signIn(" nsec1good\n")
        assertEquals(Stage.AddCommunity, reader.state.value.stage)
        assertNull(reader.state.value.failure)
    }

    @Test
    fun `a new account shows its key before anything else`() = test { reader ->
        reader.start()
        reader.createAccount()
        val stage = reader.state.value.stage
        assertEquals(Stage.Backup("nsec1backup"), stage)
        assertFalse("$stage", "nsec" in "$stage")
        reader.backedUp()
        assertEquals(Stage.AddCommunity, reader.state.value.stage)
    }

    @Test
    fun `account and community of last time are taken again`() = test { reader ->
        client.known += listOf(fakeId(3), fakeId(4))
        settings.account = fakeId(4)
        settings.communities = listOf("wss://one", "wss://two")
        settings.current = "wss://two"
        reader.start()
        assertEquals(fakeId(4), client.account)
        assertEquals("wss://two", reader.community?.host)
        reader.switchTo("wss://one")
        assertTrue(client.sessions.getValue("wss://two").calls.contains(FakeCall.Close))
        assertEquals("wss://one", settings.current)
        reader.signOut()
        assertEquals(Stage.SignIn, reader.state.value.stage)
        assertFalse(fakeId(4) in client.known)
    }

    @Test
    fun `an address that is none closes nothing, and one that was kept leads to where another can be typed`() = test { reader ->
        val (community, session) = reader.opened()
        reader.addCommunity("nowhere")
        assertEquals("No address.", reader.state.value.failure?.sentence)
        assertEquals(community, reader.community)
        assertFalse(FakeCall.Close in session.calls)
        settings.communities = listOf("nowhere")
        settings.current = "nowhere"
        val next = ReaderModel(client, settings, this) { ZoneOffset.UTC }
        next.start()
        testScheduler.advanceUntilIdle()
        assertEquals(Stage.AddCommunity, next.state.value.stage)
    }

    @Test
    fun `the list is grouped in the order it comes in`() = test { reader ->
        val (community, session) = reader.opened()
        session.show(listOf(fakeSidebarRow(fakeChannel(1)), fakeSidebarRow(fakeChannel(2), section = org.waggle.SidebarSection.OPEN)))
        assertEquals(listOf(1, 1), community.state.value.groups!!.map { it.rows.size })
        assertEquals(listOf(FakeCall.Start, FakeCall.Ensure), session.calls.take(2))
    }

    @Test
    fun `only the front-most timeline of a running app has a surface`() = test { reader ->
        val (community, session) = reader.opened()
        community.open(fakeChannel(1))
        community.open(fakeChannel(1), fakeId(5))
        assertEquals(listOf(null, fakeId(5)), session.surfaces.map { it.root })
        assertEquals(listOf(true, false), session.surfaces.map { it.isClosed })
        community.back()
        assertEquals(listOf(true, true, false), session.surfaces.map { it.isClosed })
        reader.onBackground()
        assertTrue(session.surfaces.last().isClosed)
        assertTrue(session.calls.last() is FakeCall.Pause)
        reader.onForeground()
        assertFalse(session.surfaces.last().isClosed)
        assertEquals(4, session.surfaces.size)
        community.openDiagnostics()
        assertTrue(session.surfaces.last().isClosed)
        assertNotNull((community.state.value.places.last() as Place.Diagnostics).about)
    }

    @Test
    fun `a visit begins with a channel's own timeline and ends with the last of it`() = test { reader ->
        val (community, session) = reader.opened()
        val visits = { session.calls.filter { it is FakeCall.EnterChannel || it is FakeCall.LeaveChannel } }
        community.open(fakeChannel(1))
        community.open(fakeChannel(1), fakeId(5))
        community.openDiagnostics()
        repeat(2) { community.back() }
        assertEquals(listOf(FakeCall.EnterChannel(fakeChannel(1))), visits())
        community.back()
        community.open(fakeChannel(2), fakeId(6))
        community.back()
        val left = listOf(1, 2).map { FakeCall.LeaveChannel(fakeChannel(it)) }
        assertEquals(listOf(FakeCall.EnterChannel(fakeChannel(1))) + left, visits())
    }

    @Test
    fun `the app may go in the middle of a save`() = test { reader ->
        val (community, session) = reader.opened()
        val saving = CompletableDeferred<Unit>()
        session.script = { if (it is FakeCall.MarkChannelRead) saving.await() }
        session.receipt = Receipt(SyncOutlook.LOCAL_ONLY)
        community.markRead(fakeChannel(1))
        reader.onBackground()
        assertTrue(session.calls.last() is FakeCall.Pause)
        saving.complete(Unit)
        assertEquals(Notice.OnThisDeviceOnly, community.notices.first())
    }

    @Test
    fun `a failed action is told with a way to repeat it where that helps`() = test { reader ->
        val (community, session) = reader.opened()
        session.script = { if (it is FakeCall.Mute) throw SessionException.Closed(fakeFailure()) }
        community.mute(fakeChannel(1), true)
        val failed = community.notices.first() as Notice.Failed
        session.script = {}
        failed.again!!.invoke()
        assertEquals(2, session.calls.count { it is FakeCall.Mute })
        session.script = { if (it is FakeCall.MarkUnread) throw SessionException.Denied(fakeFailure("denied", RetryClass.NEVER, "No.")) }
        community.markUnread(Target.Channel(fakeChannel(1)))
        assertNull((community.notices.first() as Notice.Failed).again)
    }

    @Test
    fun `pages come one by one, and a failed one waits for the person`() = test { reader ->
        val (community, session) = reader.opened()
        val fake = session.timelineOf(fakeChannel(1))
        fake.show(listOf(fakeTimelineRow(fakeId(3))))
        fake.addOlder(listOf(fakeTimelineRow(fakeId(2))))
        fake.addOlder(listOf(fakeTimelineRow(fakeId(1))))
        community.open(fakeChannel(1))
        val model = (community.state.value.places.last() as Place.Timeline).model
        val count = { model.state.value.items.count { it is TimelineItem.Message } }
        model.loadMore()
        assertEquals(2, count())
        fake.script = { throw SessionException.Closed(fakeFailure()) }
        model.loadMore()
        assertNotNull(model.state.value.failure)
        fake.script = {}
        model.loadMore()
        assertEquals("a failed page is not asked for again by scrolling", 2, count())
        model.tryAgain()
        assertEquals(3, count())
        model.loadMore()
        assertEquals(3, count())
    }

    @Test
    fun `the way to the first unread row is asked for once`() = test { reader ->
        val (community, session) = reader.opened()
        val fake = session.timelineOf(fakeChannel(1))
        fake.show(listOf(fakeTimelineRow(fakeId(3))), fakeTimelineStatus(firstUnread = fakeId(2)))
        fake.addOlder(listOf(fakeTimelineRow(fakeId(2))))
        community.open(fakeChannel(1))
        val model = (community.state.value.places.last() as Place.Timeline).model
        assertTrue(model.state.value.canJump)
        model.jumpToFirstUnread()
        assertEquals(ScrollGoal.FirstUnread, model.state.value.goal)
        assertTrue(TimelineItem.FirstUnread in model.state.value.items)
        model.arrived()
        assertNull(model.state.value.goal)
    }

    @Test
    fun `a thread whose end is not known is asked once for each newest row`() = test { reader ->
        val (community, session) = reader.opened()
        val fake = session.timelineOf(fakeChannel(1), fakeId(1))
        var asked = 0
        fake.script = { asked++ }
        fake.show(listOf(fakeTimelineRow(fakeId(1))), fakeTimelineStatus(root = fakeId(1), more = More.UNKNOWN))
        community.open(fakeChannel(1), fakeId(1))
        val model = (community.state.value.places.last() as Place.Timeline).model
        repeat(3) { model.loadMore() }
        assertEquals(1, asked)
        fake.arrive(fakeTimelineRow(fakeId(2)))
        repeat(3) { model.loadMore() }
        assertEquals(2, asked)
    }
}
