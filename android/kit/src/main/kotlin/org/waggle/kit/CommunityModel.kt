package org.waggle.kit

import java.time.ZoneOffset
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.cancel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.update
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import org.waggle.ChannelId
import org.waggle.Connectivity
import org.waggle.Cues
import org.waggle.EventId
import org.waggle.Failure
import org.waggle.Receipt
import org.waggle.SessionException
import org.waggle.SessionLifecycle
import org.waggle.SidebarRow
import org.waggle.SidebarSection
import org.waggle.SyncStatus
import org.waggle.Target
import org.waggle.ThreadActivity
import org.waggle.UnreadSnapshot
import org.waggle.WaggleSession

/** What is open over the channel list. */
sealed interface Place {
    /** A channel's timeline, or with a root a thread's. */
    data class Timeline(val model: TimelineModel) : Place

    /** What the core is doing, in all or about one timeline. */
    data class Diagnostics(val about: TimelineModel?) : Place
}

/** Rows that stand together. */
data class SidebarGroup(val section: SidebarSection, val rows: List<SidebarRow>)

/**
 * The community's screens at one moment.
 *
 * @property groups the channel list; null until it is known.
 * @property cached the list is a copy that the relay has not confirmed yet.
 * @property failure the community could not be opened, or ended by itself.
 * @property places what is open, the front-most last; empty for the channel list.
 */
data class CommunityState(
    val groups: List<SidebarGroup>? = null,
    val cached: Boolean = false,
    val connectivity: Connectivity? = null,
    val sync: SyncStatus? = null,
    val failure: Failure? = null,
    val refreshing: Boolean = false,
    val places: List<Place> = emptyList(),
) {
    /** All rows in drawing order. */
    val rows: List<SidebarRow> get() = groups.orEmpty().flatMap { it.rows }

    /** A channel's row. */
    fun row(channel: ChannelId): SidebarRow? = rows.find { it.channel == channel }
}

/** Rows in groups, in the order they come in. */
fun grouped(rows: List<SidebarRow>): List<SidebarGroup> =
    rows.groupBy { it.section }.map { (section, rows) -> SidebarGroup(section, rows) }

/**
 * One community: its channel list, what is open over it, and what can be done. [start] begins, [close] ends it and waits for every file.
 *
 * Calls are for the main thread. Actions answer at once; what goes wrong is told through [notices].
 */
class CommunityModel(
    /** Its host. */
    val host: String,
    private val session: WaggleSession,
    private val offset: ZoneOffset,
    parent: CoroutineScope,
    flushBudget: Duration = 3.seconds,
) {
    private val scope = CoroutineScope(parent.coroutineContext + Job(parent.coroutineContext.job))
    private val lifecycle = SessionLifecycle(session, flushBudget)
    private val changes = MutableStateFlow(CommunityState())
    private val told = Notices()
    private var watching: Job? = null
    private var visits: Job? = null
    private var foreground = true
    private var covered = false

    /** The screens. */
    val state: StateFlow<CommunityState> = changes

    /** What is to be told in passing. */
    val notices: Flow<Notice> get() = told.flow

    /** Opens what this phone holds and begins to connect; or tries that again after it failed. */
    fun start() {
        changes.update { it.copy(failure = null) }
        watching?.cancel()
        watching = scope.launch {
            watch { session.sidebar.collect { now -> changes.update { it.copy(groups = grouped(now.rows), cached = now.cached) } } }
            watch { session.connectivity.collect { now -> changes.update { it.copy(connectivity = now) } } }
            watch { session.sync.collect { now -> changes.update { it.copy(sync = now) } } }
            watch {
                session.start()
                // A first look that fails shows in connectivity, which says what to do.
                failureOf { session.ensure() }
            }
        }
    }

    private fun CoroutineScope.watch(work: suspend () -> Unit) = launch {
        val failure = failureOf(work)
        if (failure != null) changes.update { it.copy(failure = failure) }
    }

    /** What lies beyond the edges of the list while the rows from [first] to [last] show. */
    fun cues(first: Int, last: Int): Cues? = try {
        session.cues(first, last)
    } catch (_: SessionException) {
        null
    }

    /** A channel's threads with unread replies. */
    fun activity(channel: ChannelId): Flow<ThreadActivity> = session.threadActivity(channel)

    /** What is known about a channel. */
    fun unread(channel: ChannelId): Flow<UnreadSnapshot> = session.unread(Target.Channel(channel))

    /** Whether a thread is followed; null when it cannot be said. */
    suspend fun following(channel: ChannelId, root: EventId): Boolean? {
        var following: Boolean? = null
        failureOf { following = session.following(channel, root) }
        return following
    }

    // ---- what is open ----

    /** Opens a channel over the list, or a thread over what is open. */
    fun open(channel: ChannelId, root: EventId? = null) {
        val front = (changes.value.places.lastOrNull() as? Place.Timeline)?.model
        if (front?.channel == channel && front.root == root) return
        push(Place.Timeline(TimelineModel(session, channel, root, offset, scope)))
    }

    /** Opens the diagnostics; with those of the front-most timeline, if there is one. */
    fun openDiagnostics(): Unit = push(Place.Diagnostics((changes.value.places.lastOrNull() as? Place.Timeline)?.model))

    /** Closes the front-most place. */
    fun back() {
        val before = changes.value.places
        val front = before.lastOrNull() ?: return
        changes.update { it.copy(places = it.places.dropLast(1)) }
        (front as? Place.Timeline)?.model?.close()
        showFront()
        visit(before)
    }

    /** A menu, dialog or drawer lies over everything, or no longer does. */
    fun covered(covered: Boolean) {
        this.covered = covered
        showFront()
    }

    private fun push(place: Place) {
        val before = changes.value.places
        changes.update { it.copy(places = it.places + place) }
        showFront()
        visit(before)
    }

    /** Says, in order, which channels the person came to look at and which were left. A thread opened by itself is no visit of its channel. */
    private fun visit(before: List<Place>) {
        val (earlier, now) = timelines(before) to timelines(changes.value.places)
        val entered = (now - earlier.toSet()).filter { it.root == null }.map { it.channel }
        val left = earlier.map { it.channel }.toSet() - now.map { it.channel }.toSet()
        if (entered.isEmpty() && left.isEmpty()) return
        val previous = visits
        visits = scope.launch {
            previous?.join()
            // What these do is about marks by hand; a channel that is gone has none.
            left.forEach { failureOf { session.leaveChannel(it) } }
            entered.forEach { failureOf { session.enterChannel(it) } }
        }
    }

    private fun timelines(places: List<Place>) = places.mapNotNull { (it as? Place.Timeline)?.model }

    /** Only the front-most timeline of a running app has a surface, and it is active only while nothing covers it. */
    private fun showFront() {
        val places = changes.value.places
        places.forEachIndexed { index, place ->
            val model = (place as? Place.Timeline)?.model ?: return@forEachIndexed
            val front = foreground && index == places.lastIndex
            model.reporter.active(front && !covered)
            model.shown(front)
        }
    }

    // ---- what can be done ----

    /** Marks a channel read. */
    fun markRead(channel: ChannelId): Unit = act({ markRead(channel) }) { told.add(markChannelRead(channel)) }

    /** Marks every channel read. */
    fun markAllRead(): Unit = act({ markAllRead() }) { told.add(Notice.MarkedRead(markAllChannelsRead())) }

    /** Reads a target through a message. */
    fun markThrough(target: Target, message: EventId): Unit =
        act({ markThrough(target, message) }) { told.add(markThrough(target, message)) }

    /** Marks a target unread, or takes that back. */
    fun markUnread(target: Target, unread: Boolean = true): Unit = act({ markUnread(target, unread) }) {
        if (unread) told.add(markUnread(target)) else clearUnread(target)
    }

    /** Marks a message unread for as long as its channel is being looked at. */
    fun markMessageUnread(channel: ChannelId, message: EventId): Unit =
        act({ markMessageUnread(channel, message) }) { told.add(markMessageUnread(channel, message)) }

    /** Mutes a channel or lets it be heard again. */
    fun mute(channel: ChannelId, muted: Boolean): Unit = act({ mute(channel, muted) }) { mute(channel, muted) }

    /** Follows a thread or not. */
    fun follow(channel: ChannelId, root: EventId, following: Boolean): Unit =
        act({ follow(channel, root, following) }) {
            val open = changes.value.places.firstNotNullOfOrNull { place ->
                (place as? Place.Timeline)?.model?.takeIf { it.channel == channel && it.root == root }
            }
            if (open != null) open.follow(following) else follow(channel, root, following)
        }

    /** Publishes reading marks again after that failed. */
    fun retrySync(): Unit = act({ retrySync() }) { retrySync() }

    /** Connects at once instead of waiting. */
    fun reconnect() {
        scope.launch { lifecycle.onNetwork() }
    }

    /** Loads everything that counts again. */
    fun refresh() {
        if (changes.value.refreshing) return
        scope.launch {
            changes.update { it.copy(refreshing = true) }
            val failure = failureOf { session.refresh() }
            changes.update { it.copy(refreshing = false) }
            failure?.let { told.add(Notice.Failed(it, ::refresh.takeIf { _ -> failure.canTryAgain })) }
        }
    }

    /** Says that text was copied. */
    fun copied(): Unit = told.add(Notice.Copied)

    private fun act(again: () -> Unit, call: suspend WaggleSession.() -> Unit) {
        scope.launch {
            failureOf { session.call() }?.let { told.add(Notice.Failed(it, again.takeIf { _ -> it.canTryAgain })) }
        }
    }

    // ---- what the system says ----

    /** The app is in front again. */
    fun onForeground() {
        foreground = true
        showFront()
        scope.launch { lifecycle.onForeground() }
    }

    /** The app goes: nothing is read from this moment on, and what is unpublished is published in time. */
    fun onBackground() {
        foreground = false
        showFront()
        scope.launch { lifecycle.onBackground() }
    }

    /** Ends it and waits for every file. */
    suspend fun close() {
        changes.value.places.forEach { (it as? Place.Timeline)?.model?.close() }
        scope.cancel()
        failureOf { session.close() }
    }

    /** Forgets this community on this phone. */
    suspend fun leave() {
        changes.value.places.forEach { (it as? Place.Timeline)?.model?.close() }
        session.leave()
        scope.cancel()
    }
}
