package org.waggle

import java.util.concurrent.atomic.AtomicBoolean
import kotlin.time.Duration
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.withContext
import org.waggle.ffi.TimelineOptions
import org.waggle.ffi.Session as FfiSession

/**
 * One account in one community. Start it, then read; close it and wait, so that every file is released.
 *
 * Obtained from [Waggle.session]; see [WaggleSession] for what calls and flows have in common.
 */
public class Session internal constructor(inner: FfiSession) : WaggleSession {
    private val held = Held(inner, { SessionException.Closed(it) })
    override val account: PublicKey = inner.account()

    // Views of what every session shows, for looks without waiting. They hold nothing but the newest value.
    private val sidebarView = inner.sidebar()
    private val syncView = inner.sync()
    private val connectivityView = inner.connectivity()
    private val released = AtomicBoolean()

    override suspend fun start(): Unit = held.call { start() }

    override suspend fun ensure(): Unit = held.call { ensure() }

    override suspend fun refresh(): Unit = held.call { refresh() }

    override suspend fun retrySync(): Unit = held.call { retrySync() }

    override suspend fun flush(): Unit = held.call { flush() }

    override suspend fun settleLookups(): Unit = held.call { settleLookups() }

    override val sidebar: Flow<Sidebar> = updates(
        open = {
            val view = held.call { sidebar() }
            Pull(view::next) { view.run { cancel(); destroy() } }
        },
        fold = ::sidebarAfter,
    )

    override fun sidebarNow(): Sidebar = held.call {
        val now = sidebarView.current()
        Sidebar(now.rows.applyTo(emptyList()).orEmpty(), now.cached, now.version)
    }

    override fun cues(placed: List<Placed>, viewport: Extent): Cues = held.call { sidebarView.cues(placed, viewport) }

    override fun cues(first: Int, last: Int): Cues = held.call {
        if (last < 0 || first > last) sidebarView.cuesOfRange(1U, 0U)
        else sidebarView.cuesOfRange(first.coerceAtLeast(0).toUInt(), last.toUInt())
    }

    override val sync: Flow<SyncStatus> = updates(
        open = {
            val view = held.call { sync() }
            Pull(view::next) { view.run { cancel(); destroy() } }
        },
        fold = { _, update -> Step(update.version, update.value) },
    )

    override fun syncNow(): SyncStatus = held.call { syncView.current().value }

    override val connectivity: Flow<Connectivity> = updates(
        open = {
            val view = held.call { connectivity() }
            Pull(view::next) { view.run { cancel(); destroy() } }
        },
        fold = { _, update -> Step(update.version, update.value) },
    )

    override fun connectivityNow(): Connectivity = held.call { connectivityView.current().value }

    override fun unread(target: Target): Flow<UnreadSnapshot> = updates(
        open = {
            val view = held.call { unread(target.lowered()) }
            Pull(view::next) { view.run { cancel(); destroy() } }
        },
        fold = { _, update -> Step(update.version, update.value) },
    )

    override suspend fun snapshot(target: Target): UnreadSnapshot = held.call { snapshot(target.lowered()) }

    override fun threadActivity(channel: ChannelId): Flow<ThreadActivity> = updates(
        open = {
            val view = held.call { threadActivity(channel) }
            Pull(view::next) { view.run { cancel(); destroy() } }
        },
        fold = { _, update -> Step(update.version, update.value) },
    )

    override suspend fun activity(channel: ChannelId): ThreadActivity = held.call { activity(channel) }

    override suspend fun timeline(channel: ChannelId, pageSize: Int?, utcOffset: Int): WaggleTimeline =
        Timeline(held.call { timeline(channel, TimelineOptions(pageSize?.toUInt(), utcOffset)) })

    override suspend fun thread(channel: ChannelId, root: EventId, pageSize: Int?, utcOffset: Int): WaggleTimeline =
        Timeline(held.call { thread(channel, root, TimelineOptions(pageSize?.toUInt(), utcOffset)) })

    override suspend fun surface(channel: ChannelId, root: EventId?): WaggleSurface =
        ReadingSurface(held.call { surface(channel, root) })

    override suspend fun markThrough(target: Target, message: EventId): Receipt =
        held.call { markThrough(target.lowered(), message) }

    override suspend fun markChannelRead(channel: ChannelId): Receipt = held.call { markChannelRead(channel) }

    override suspend fun markAllChannelsRead(): Int = held.call { markAllChannelsRead() }.toInt()

    override suspend fun markUnread(target: Target): Receipt = held.call { markUnread(target.lowered()) }

    override suspend fun clearUnread(target: Target): Receipt = held.call { clearUnread(target.lowered()) }

    override suspend fun enterChannel(channel: ChannelId): Unit = held.call { enterChannel(channel) }

    override suspend fun leaveChannel(channel: ChannelId): Unit = held.call { leaveChannel(channel) }

    override suspend fun markMessageUnread(channel: ChannelId, message: EventId): Receipt =
        held.call { markMessageUnread(channel, message) }

    override suspend fun markMessageRead(channel: ChannelId, message: EventId): Receipt =
        held.call { markMessageRead(channel, message) }

    override suspend fun following(channel: ChannelId, root: EventId): Boolean =
        held.call { following(channel, root) }

    override suspend fun follow(channel: ChannelId, root: EventId, following: Boolean): Unit =
        held.call { follow(channel, root, following) }

    override suspend fun mute(channel: ChannelId, muted: Boolean): Unit = held.call { mute(channel, muted) }

    override suspend fun presentAs(channel: ChannelId, presentation: PresentationClass): Unit =
        held.call { presentAs(channel, presentation) }

    override suspend fun pause(budget: Duration): Unit =
        held.call { `suspend`(budget.inWholeMilliseconds.coerceAtLeast(0).toULong()) }

    override suspend fun resume(): Unit = held.call { resume() }

    override suspend fun networkChanged(): Unit = held.call { networkChanged() }

    override suspend fun close(): Unit = end { shutDown() }

    override suspend fun leave() {
        held.refuseAfterEnd()
        end { leave() }
    }

    /** Ends the session and gives its handles back, whatever comes of it. A session that has ended already is fine. */
    private suspend fun end(how: suspend FfiSession.() -> Unit) = withContext(NonCancellable) {
        if (held.isReleased) return@withContext
        try {
            held.call { how() }
        } catch (_: SessionException.Closed) {
            // Another call, or the client, ended it.
        } finally {
            release()
        }
    }

    private suspend fun release() {
        if (!released.compareAndSet(false, true)) return
        syncView.cancel()
        held.release(wordsOfTheEnd { syncView.next(0UL) })
        sidebarView.destroy()
        syncView.destroy()
        connectivityView.destroy()
    }
}
