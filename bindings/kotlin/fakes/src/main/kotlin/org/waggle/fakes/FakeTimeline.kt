package org.waggle.fakes

import kotlinx.coroutines.flow.Flow
import org.waggle.ChannelId
import org.waggle.EventId
import org.waggle.More
import org.waggle.SessionException
import org.waggle.TimelineRow
import org.waggle.TimelineSnapshot
import org.waggle.TimelineStatus
import org.waggle.Viewport
import org.waggle.WaggleSurface
import org.waggle.WaggleTimeline

/** A timeline that shows what it is told to show, and has scripted older pages. */
public class FakeTimeline(
    /** The channel. */
    public val channel: ChannelId = fakeChannel(1),
    /** The root, for a thread. */
    public val root: EventId? = null,
) : WaggleTimeline {
    private val source = Source(TimelineSnapshot(emptyList(), fakeTimelineStatus(channel, root), 1UL))
    private val pages = ArrayDeque<List<TimelineRow>>()

    @Volatile
    private var ended = false

    /** Runs in [loadOlder] and [jumpToFirstUnread] before they do anything. What it throws is what they fail with. */
    @Volatile
    public var script: suspend () -> Unit = {}

    /** Shows these rows, oldest first. */
    public fun show(rows: List<TimelineRow>, status: TimelineStatus = now().status): Unit =
        source.change { TimelineSnapshot(rows, status, it.version + 1UL) }

    /** Shows one more row at the end, as a live arrival. */
    public fun arrive(row: TimelineRow): Unit =
        source.change { TimelineSnapshot(it.rows + row, it.status, it.version + 1UL) }

    /** Adds a page for [loadOlder], oldest row first. The first one added is the first one loaded. */
    public fun addOlder(page: List<TimelineRow>) {
        synchronized(pages) { pages.addLast(page) }
        source.change { it.copy(status = it.status.copy(more = More.YES), version = it.version + 1UL) }
    }

    override val rows: Flow<TimelineSnapshot> = source.flow

    override fun now(): TimelineSnapshot {
        open()
        return source.now
    }

    override suspend fun loadOlder() {
        open()
        script()
        val (page, left) = synchronized(pages) { pages.removeFirstOrNull() to pages.size }
        if (page == null) return
        val more = if (left > 0) More.YES else More.NO
        source.change { TimelineSnapshot(page + it.rows, it.status.copy(more = more), it.version + 1UL) }
    }

    override suspend fun jumpToFirstUnread(): Boolean {
        open()
        script()
        val wanted = source.now.status.firstUnread ?: return false
        while (source.now.rows.none { it.id == wanted }) {
            if (synchronized(pages) { pages.isEmpty() }) return false
            loadOlder()
        }
        return true
    }

    override suspend fun close(): Unit = end()

    internal fun end() {
        ended = true
        source.end()
    }

    /** Opened once more, it shows what it showed last. */
    internal fun reopen() {
        ended = false
        source.reopen()
    }

    private fun open() {
        if (ended) throw SessionException.Closed(closedFailure())
    }
}

/** A surface that remembers what was reported. */
public class FakeSurface(
    /** The channel. */
    public val channel: ChannelId,
    /** The root, for a thread's. */
    public val root: EventId? = null,
) : WaggleSurface {
    private val heard = ArrayList<Viewport>()

    /** Whether it was closed. */
    @Volatile
    public var isClosed: Boolean = false
        private set

    /** Reports before it was closed, in order. */
    public val reports: List<Viewport> get() = synchronized(heard) { heard.toList() }

    override fun report(viewport: Viewport) {
        if (!isClosed) synchronized(heard) { heard.add(viewport) }
    }

    override fun close() {
        isClosed = true
    }
}
