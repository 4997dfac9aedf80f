package org.waggle.kit

import java.time.ZoneOffset
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Job
import kotlinx.coroutines.cancel
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.update
import kotlinx.coroutines.job
import kotlinx.coroutines.launch
import org.waggle.ChannelId
import org.waggle.EventId
import org.waggle.Failure
import org.waggle.More
import org.waggle.Target
import org.waggle.TimelineSnapshot
import org.waggle.TimelineStatus
import org.waggle.UnreadSnapshot
import org.waggle.WaggleSession
import org.waggle.WaggleTimeline

/** Where a timeline's screen is to scroll. */
sealed interface ScrollGoal {
    /** To the first unread row. */
    data object FirstUnread : ScrollGoal

    /** To the newest row. */
    data object Latest : ScrollGoal
}

/**
 * A timeline's screen at one moment.
 *
 * @property items oldest first.
 * @property status null until it is open.
 * @property loading more rows are being loaded because the person asked for them.
 * @property refreshing the person asked for everything again.
 * @property failure why opening or loading failed; the rows stay.
 * @property following whether the thread is followed; null for a channel and until known.
 */
data class TimelineState(
    val items: List<TimelineItem> = emptyList(),
    val status: TimelineStatus? = null,
    val newest: EventId? = null,
    val loading: Boolean = false,
    val refreshing: Boolean = false,
    val failure: Failure? = null,
    val unread: UnreadSnapshot? = null,
    val following: Boolean? = null,
    val goal: ScrollGoal? = null,
) {
    /** The first unread row of this visit is known and not shown yet. */
    val canJump: Boolean get() = status?.firstUnread != null
}

/**
 * One channel's or thread's timeline on a screen. Opens by itself and tries again when asked; [close] ends it.
 *
 * It keeps a reading surface while [shown] is true, and gives it back at once when that ends. Calls are for the main thread.
 */
class TimelineModel(
    private val session: WaggleSession,
    val channel: ChannelId,
    val root: EventId?,
    private val offset: ZoneOffset,
    private val parent: CoroutineScope,
) {
    private val scope = CoroutineScope(parent.coroutineContext + Job(parent.coroutineContext.job))
    private val changes = MutableStateFlow(TimelineState())
    private var timeline: WaggleTimeline? = null
    private var opening: Job? = null
    private var paging: Job? = null
    private var shown = false
    private var asked: EventId? = null

    /** The screen. */
    val state: StateFlow<TimelineState> = changes

    /** Takes what the list shows. */
    val reporter = ViewportReporter()

    /** What marks made here are about. */
    val target: Target = if (root == null) Target.Channel(channel) else Target.Thread(channel, root)

    init {
        open()
        scope.launch {
            failureOf { session.unread(target).collect { unread -> changes.update { it.copy(unread = unread) } } }
        }
        if (root != null) scope.launch {
            failureOf { session.following(channel, root).let { is_ -> changes.update { it.copy(following = is_) } } }
        }
    }

    /** Opens it, or tries again after that failed. */
    fun open() {
        if (opening?.isActive == true) return
        changes.update { it.copy(failure = null) }
        opening = scope.launch {
            val failure = failureOf {
                val timeline = timeline ?: session.open().also { timeline = it }
                timeline.rows.collect(::take)
            }
            if (failure != null) changes.update { it.copy(failure = failure) }
        }
    }

    private suspend fun WaggleSession.open(): WaggleTimeline {
        val seconds = offset.totalSeconds
        return if (root == null) timeline(channel, utcOffset = seconds) else thread(channel, root, utcOffset = seconds)
    }

    private fun take(snapshot: TimelineSnapshot) {
        val items = timelineItems(snapshot.rows, snapshot.status, offset)
        val newest = newestOf(snapshot.rows, snapshot.status)
        changes.update { it.copy(items = items, status = snapshot.status, newest = newest) }
    }

    /**
     * Loads one more page, as the person nears the end. One at a time; one that failed is not repeated until [tryAgain]. Where a thread's end
     * is not known, it asks once after each newest row.
     */
    fun loadMore() {
        val state = state.value
        if (state.failure != null || paging?.isActive == true) return
        when (state.status?.more) {
            null, More.NO -> return
            More.YES -> Unit
            More.UNKNOWN -> {
                if (root == null || state.newest == null || state.newest == asked) return
                asked = state.newest
            }
        }
        page { loadOlder() }
    }

    /** Repeats what failed. */
    fun tryAgain() {
        val failed = timeline
        changes.update { it.copy(failure = null) }
        if (failed == null) open() else page { loadOlder() }
    }

    /** Loads up to the first unread row and asks the screen to show it. */
    fun jumpToFirstUnread() = page {
        if (jumpToFirstUnread()) changes.update { it.copy(goal = ScrollGoal.FirstUnread) }
    }

    /** Asks the screen to show the newest row. */
    fun jumpToLatest(): Unit = changes.update { it.copy(goal = ScrollGoal.Latest) }

    /** The screen has scrolled there. */
    fun arrived(): Unit = changes.update { it.copy(goal = null) }

    private fun page(load: suspend WaggleTimeline.() -> Unit) {
        val timeline = timeline ?: return
        if (paging?.isActive == true) return
        paging = scope.launch {
            changes.update { it.copy(loading = true, failure = null) }
            val failure = failureOf { timeline.load() }
            changes.update { it.copy(loading = false, failure = failure) }
        }
    }

    /** Loads everything that counts again. */
    fun refresh() {
        if (state.value.refreshing) return
        scope.launch {
            changes.update { it.copy(refreshing = true, failure = null) }
            val failure = failureOf { session.refresh() }
            changes.update { it.copy(refreshing = false, failure = failure) }
        }
    }

    /** Follows the thread or not. */
    suspend fun follow(following: Boolean) {
        session.follow(channel, root ?: return, following)
        changes.update { it.copy(following = following) }
    }

    /** Whether its screen is the one in front of a running app. When not, nothing can be read from this moment on. */
    fun shown(shown: Boolean) {
        if (this.shown == shown) return
        this.shown = shown
        if (!shown) return reporter.detach()
        scope.launch {
            // Channels that can only be looked at have none. What is read there counts nowhere.
            failureOf {
                val surface = session.surface(channel, root)
                if (this@TimelineModel.shown && !reporter.isAttached) reporter.attach(surface) else surface.close()
            }
        }
    }

    /** Ends it. Its surface is closed when this returns; the rest follows. */
    fun close() {
        shown = false
        reporter.close()
        val timeline = timeline
        scope.cancel()
        if (timeline != null) parent.launch { failureOf { timeline.close() } }
    }
}
