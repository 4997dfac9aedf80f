package org.waggle.fakes

import kotlin.time.Duration
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.transformWhile
import kotlinx.coroutines.flow.update
import org.waggle.ChannelId
import org.waggle.Connectivity
import org.waggle.Cues
import org.waggle.EventId
import org.waggle.Extent
import org.waggle.Phase
import org.waggle.Placed
import org.waggle.PresentationClass
import org.waggle.PublicKey
import org.waggle.Receipt
import org.waggle.RetryClass
import org.waggle.SessionException
import org.waggle.Sidebar
import org.waggle.SidebarRow
import org.waggle.SyncOutlook
import org.waggle.SyncStatus
import org.waggle.Target
import org.waggle.ThreadActivity
import org.waggle.UnreadSnapshot
import org.waggle.WaggleSession
import org.waggle.WaggleSurface
import org.waggle.WaggleTimeline

/** A call that a fake got, with its arguments. */
public sealed interface FakeCall {
    /** [WaggleSession.start]. */
    public data object Start : FakeCall

    /** [WaggleSession.ensure]. */
    public data object Ensure : FakeCall

    /** [WaggleSession.refresh]. */
    public data object Refresh : FakeCall

    /** [WaggleSession.retrySync]. */
    public data object RetrySync : FakeCall

    /** [WaggleSession.flush]. */
    public data object Flush : FakeCall

    /** [WaggleSession.settleLookups]. */
    public data object SettleLookups : FakeCall

    /** [WaggleSession.timeline] or, with a root, [WaggleSession.thread]. */
    public data class OpenTimeline(val channel: ChannelId, val root: EventId?) : FakeCall

    /** [WaggleSession.surface]. */
    public data class OpenSurface(val channel: ChannelId, val root: EventId?) : FakeCall

    /** [WaggleSession.markThrough]. */
    public data class MarkThrough(val target: Target, val message: EventId) : FakeCall

    /** [WaggleSession.markChannelRead]. */
    public data class MarkChannelRead(val channel: ChannelId) : FakeCall

    /** [WaggleSession.markAllChannelsRead]. */
    public data object MarkAllChannelsRead : FakeCall

    /** [WaggleSession.markUnread]. */
    public data class MarkUnread(val target: Target) : FakeCall

    /** [WaggleSession.clearUnread]. */
    public data class ClearUnread(val target: Target) : FakeCall

    /** [WaggleSession.enterChannel]. */
    public data class EnterChannel(val channel: ChannelId) : FakeCall

    /** [WaggleSession.leaveChannel]. */
    public data class LeaveChannel(val channel: ChannelId) : FakeCall

    /** [WaggleSession.markMessageUnread]. */
    public data class MarkMessageUnread(val channel: ChannelId, val message: EventId) : FakeCall

    /** [WaggleSession.markMessageRead]. */
    public data class MarkMessageRead(val channel: ChannelId, val message: EventId) : FakeCall

    /** [WaggleSession.follow]. */
    public data class Follow(val channel: ChannelId, val root: EventId, val following: Boolean) : FakeCall

    /** [WaggleSession.mute]. */
    public data class Mute(val channel: ChannelId, val muted: Boolean) : FakeCall

    /** [WaggleSession.presentAs]. */
    public data class PresentAs(val channel: ChannelId, val presentation: PresentationClass) : FakeCall

    /** [WaggleSession.pause]. */
    public data class Pause(val budget: Duration) : FakeCall

    /** [WaggleSession.resume]. */
    public data object Resume : FakeCall

    /** [WaggleSession.networkChanged]. */
    public data object NetworkChanged : FakeCall

    /** [WaggleSession.close]. */
    public data object Close : FakeCall

    /** [WaggleSession.leave]. */
    public data object Leave : FakeCall
}

/**
 * A session that shows what it is told to show and remembers what it was asked.
 *
 * It has no rules of its own: a mark changes no count unless the test's [script] shows another count. As the real one, its flows start
 * with the newest value and end when it closes, and calls after that fail with [SessionException.Closed].
 */
public class FakeSession(override val account: PublicKey = fakeId(1)) : WaggleSession {
    private val sidebarSource = Source(Sidebar(emptyList(), cached = false, version = 1UL))
    private val syncSource = Source(fakeSync())
    private val connectivitySource = Source(fakeConnectivity())
    private val unreadSources = HashMap<Target, Source<UnreadSnapshot>>()
    private val activitySources = HashMap<ChannelId, Source<ThreadActivity>>()
    private val timelines = HashMap<Pair<ChannelId, EventId?>, FakeTimeline>()
    private val opened = ArrayList<FakeSurface>()
    private val heard = ArrayList<FakeCall>()
    private val follows = HashSet<Pair<ChannelId, EventId>>()
    private val lock = Any()

    @Volatile
    private var ended = false

    /** Runs in every call before it answers. What it throws is what the call fails with; what it waits for, the call waits for. */
    @Volatile
    public var script: suspend (FakeCall) -> Unit = {}

    /** What marks are answered with. */
    @Volatile
    public var receipt: Receipt = Receipt(SyncOutlook.PENDING)

    /** What [cues] answers. */
    @Volatile
    public var cues: Cues = fakeCues()

    /** Everything it was asked to do, in order. */
    public val calls: List<FakeCall> get() = synchronized(lock) { heard.toList() }

    /** The surfaces opened so far, in order. */
    public val surfaces: List<FakeSurface> get() = synchronized(lock) { opened.toList() }

    /** Shows these sidebar rows. */
    public fun show(rows: List<SidebarRow>, cached: Boolean = false): Unit =
        sidebarSource.change { Sidebar(rows, cached, it.version + 1UL) }

    /** Shows this state of synchronisation. */
    public fun show(sync: SyncStatus): Unit = syncSource.change { sync }

    /** Shows this connection. */
    public fun show(connectivity: Connectivity): Unit = connectivitySource.change { connectivity }

    /** Shows this as unread. */
    public fun show(target: Target, unread: UnreadSnapshot): Unit = unreadOf(target).change { unread }

    /** Shows this thread activity. */
    public fun show(channel: ChannelId, activity: ThreadActivity): Unit = activityOf(channel).change { activity }

    /** The timeline that [timeline] and, with a [root], [thread] open; made when first asked for. */
    public fun timelineOf(channel: ChannelId, root: EventId? = null): FakeTimeline =
        synchronized(lock) { timelines.getOrPut(channel to root) { FakeTimeline(channel, root) } }

    override suspend fun start(): Unit = asked(FakeCall.Start)

    override suspend fun ensure(): Unit = asked(FakeCall.Ensure)

    override suspend fun refresh(): Unit = asked(FakeCall.Refresh)

    override suspend fun retrySync(): Unit = asked(FakeCall.RetrySync)

    override suspend fun flush(): Unit = asked(FakeCall.Flush)

    override suspend fun settleLookups(): Unit = asked(FakeCall.SettleLookups)

    override val sidebar: Flow<Sidebar> = sidebarSource.flow

    override fun sidebarNow(): Sidebar = open { sidebarSource.now }

    override fun cues(placed: List<Placed>, viewport: Extent): Cues = open { cues }

    override fun cues(first: Int, last: Int): Cues = open { cues }

    override val sync: Flow<SyncStatus> = syncSource.flow

    override fun syncNow(): SyncStatus = open { syncSource.now }

    override val connectivity: Flow<Connectivity> = connectivitySource.flow

    override fun connectivityNow(): Connectivity = open { connectivitySource.now }

    override fun unread(target: Target): Flow<UnreadSnapshot> = unreadOf(target).flow

    override suspend fun snapshot(target: Target): UnreadSnapshot = open { unreadOf(target).now }

    override fun threadActivity(channel: ChannelId): Flow<ThreadActivity> = activityOf(channel).flow

    override suspend fun activity(channel: ChannelId): ThreadActivity = open { activityOf(channel).now }

    override suspend fun timeline(channel: ChannelId, pageSize: Int?, utcOffset: Int): WaggleTimeline {
        asked(FakeCall.OpenTimeline(channel, null))
        return timelineOf(channel).also { it.reopen() }
    }

    override suspend fun thread(channel: ChannelId, root: EventId, pageSize: Int?, utcOffset: Int): WaggleTimeline {
        asked(FakeCall.OpenTimeline(channel, root))
        return timelineOf(channel, root).also { it.reopen() }
    }

    override suspend fun surface(channel: ChannelId, root: EventId?): WaggleSurface {
        asked(FakeCall.OpenSurface(channel, root))
        return FakeSurface(channel, root).also { synchronized(lock) { opened.add(it) } }
    }

    override suspend fun markThrough(target: Target, message: EventId): Receipt =
        marked(FakeCall.MarkThrough(target, message))

    override suspend fun markChannelRead(channel: ChannelId): Receipt = marked(FakeCall.MarkChannelRead(channel))

    /** Counts the channels shown with something unread. */
    override suspend fun markAllChannelsRead(): Int {
        val unread = sidebarSource.now.rows.count { (it.observed ?: 0U) > 0U }
        asked(FakeCall.MarkAllChannelsRead)
        return unread
    }

    override suspend fun markUnread(target: Target): Receipt = marked(FakeCall.MarkUnread(target))

    override suspend fun clearUnread(target: Target): Receipt = marked(FakeCall.ClearUnread(target))

    override suspend fun enterChannel(channel: ChannelId): Unit = asked(FakeCall.EnterChannel(channel))

    override suspend fun leaveChannel(channel: ChannelId): Unit = asked(FakeCall.LeaveChannel(channel))

    override suspend fun markMessageUnread(channel: ChannelId, message: EventId): Receipt =
        marked(FakeCall.MarkMessageUnread(channel, message))

    override suspend fun markMessageRead(channel: ChannelId, message: EventId): Receipt =
        marked(FakeCall.MarkMessageRead(channel, message))

    override suspend fun following(channel: ChannelId, root: EventId): Boolean =
        open { synchronized(lock) { channel to root in follows } }

    override suspend fun follow(channel: ChannelId, root: EventId, following: Boolean) {
        asked(FakeCall.Follow(channel, root, following))
        synchronized(lock) { if (following) follows.add(channel to root) else follows.remove(channel to root) }
    }

    override suspend fun mute(channel: ChannelId, muted: Boolean): Unit = asked(FakeCall.Mute(channel, muted))

    override suspend fun presentAs(channel: ChannelId, presentation: PresentationClass): Unit =
        asked(FakeCall.PresentAs(channel, presentation))

    override suspend fun pause(budget: Duration): Unit = asked(FakeCall.Pause(budget))

    override suspend fun resume(): Unit = asked(FakeCall.Resume)

    override suspend fun networkChanged(): Unit = asked(FakeCall.NetworkChanged)

    override suspend fun close() {
        if (ended) return
        asked(FakeCall.Close)
        end()
    }

    override suspend fun leave() {
        asked(FakeCall.Leave)
        end()
    }

    private fun end() {
        ended = true
        connectivitySource.change { it.copy(phase = Phase.CLOSED) }
        val sources = synchronized(lock) { unreadSources.values + activitySources.values }
        (sources + listOf(sidebarSource, syncSource, connectivitySource)).forEach { it.end() }
        synchronized(lock) { timelines.values.toList() }.forEach { it.end() }
        surfaces.forEach { it.close() }
    }

    private suspend fun asked(call: FakeCall): Unit = open {
        synchronized(lock) { heard.add(call) }
        script(call)
    }

    private suspend fun marked(call: FakeCall): Receipt {
        asked(call)
        return receipt
    }

    private inline fun <R> open(answer: () -> R): R {
        if (ended) throw SessionException.Closed(closedFailure())
        return answer()
    }

    private fun unreadOf(target: Target) =
        synchronized(lock) { unreadSources.getOrPut(target) { Source(fakeUnread()).also { if (ended) it.end() } } }

    private fun activityOf(channel: ChannelId) =
        synchronized(lock) { activitySources.getOrPut(channel) { Source(ThreadActivity(null)).also { if (ended) it.end() } } }
}

/** A value that is shown until it ends. */
internal class Source<T>(initial: T) {
    private class State<T>(val value: T, val ended: Boolean)

    private val state = MutableStateFlow(State(initial, ended = false))

    val now: T get() = state.value.value

    val flow: Flow<T> = state.transformWhile {
        if (!it.ended) emit(it.value)
        !it.ended
    }

    fun change(next: (T) -> T) = state.update { State(next(it.value), it.ended) }

    fun end() = state.update { State(it.value, ended = true) }

    fun reopen() = state.update { State(it.value, ended = false) }
}

internal fun closedFailure() = fakeFailure("closed", RetryClass.NEVER, "This session is closed.")
