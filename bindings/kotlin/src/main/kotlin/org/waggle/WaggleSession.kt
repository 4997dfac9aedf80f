package org.waggle

import kotlin.time.Duration
import kotlinx.coroutines.flow.Flow

/**
 * One account in one community, as apps program against it: [Session] is the real one, `waggle-fakes` has a scripted one.
 *
 * Every call may be made from any thread and any dispatcher; none blocks. A cancelled call that had begun is carried out all the same.
 * Calls fail with [SessionException]; after [close] with [SessionException.Closed].
 *
 * Flows are cold. Each collection starts with the newest state, skips what a slow collector has no time for, ends by itself when the
 * session closes, and leaves nothing behind when it is cancelled.
 */
public interface WaggleSession : SuspendCloseable {
    /** The account the session belongs to. */
    public val account: PublicKey

    /**
     * Makes the session *locally ready*: what this device holds can be read when this returns, whatever the network does. Connecting
     * begins and goes on by itself. Fails with [SessionException.Storage] when reading marks cannot be opened; nothing is changed then.
     */
    public suspend fun start()

    /**
     * First bounded look at markers and messages. Concurrent calls share it; after a failure it fails at once with the standing error
     * until [refresh] or a reconnect.
     */
    public suspend fun ensure()

    /** Loads markers and then everything that counts again, in full. */
    public suspend fun refresh()

    /** Loads markers again, then publishes what is unpublished. Fails with the outcome. */
    public suspend fun retrySync()

    /** Publishes what is unpublished now. Fails with the outcome. */
    public suspend fun flush()

    /** Completes when no conversation look-up is queued, running or waiting to be tried again. */
    public suspend fun settleLookups()

    /** The sidebar's rows as they change. */
    public val sidebar: Flow<Sidebar>

    /** The sidebar now. */
    public fun sidebarNow(): Sidebar

    /** What lies beyond the edges of [viewport], for rows at measured places. */
    public fun cues(placed: List<Placed>, viewport: Extent): Cues

    /** What lies beyond the edges when the newest rows from index [first] to [last] show, if only partly. [first] above [last]: none shows. */
    public fun cues(first: Int, last: Int): Cues

    /** Read-state synchronisation as it changes. */
    public val sync: Flow<SyncStatus>

    /** Read-state synchronisation now. */
    public fun syncNow(): SyncStatus

    /** What the session is doing, in words a person can be shown. */
    public val connectivity: Flow<Connectivity>

    /** What the session is doing now. */
    public fun connectivityNow(): Connectivity

    /** What is unread about a target as it changes. The collection fails with [SessionException.Capacity] when too many are in use. */
    public fun unread(target: Target): Flow<UnreadSnapshot>

    /** What is unread about a target now. Never fails for want of knowledge: what cannot be known is absent. */
    public suspend fun snapshot(target: Target): UnreadSnapshot

    /** A channel's threads with unread replies as they change. */
    public fun threadActivity(channel: ChannelId): Flow<ThreadActivity>

    /** A channel's threads with unread replies now. */
    public suspend fun activity(channel: ChannelId): ThreadActivity

    /**
     * Opens a channel's timeline: with its first page, or at once with what is held while offline.
     *
     * @param pageSize rows a page, 1 to 200 (others are taken as the nearest of these); 50 when absent.
     * @param utcOffset seconds east of UTC by which days begin.
     */
    public suspend fun timeline(channel: ChannelId, pageSize: Int? = null, utcOffset: Int = 0): WaggleTimeline

    /**
     * Opens a thread's timeline by its root.
     *
     * @param pageSize rows a page, 1 to 500 (others are taken as the nearest of these); 100 when absent.
     * @param utcOffset seconds east of UTC by which days begin.
     */
    public suspend fun thread(
        channel: ChannelId,
        root: EventId,
        pageSize: Int? = null,
        utcOffset: Int = 0,
    ): WaggleTimeline

    /** Opens a reading surface for a channel's timeline, or for the timeline of the thread under [root]. */
    public suspend fun surface(channel: ChannelId, root: EventId? = null): WaggleSurface

    /** Reads a target through one of its messages, unloaded earlier ones included. Not for what is merely visible: use a [surface]. */
    public suspend fun markThrough(target: Target, message: EventId): Receipt

    /** Marks a channel read through now or its newest message, and ends its manual marks. */
    public suspend fun markChannelRead(channel: ChannelId): Receipt

    /**
     * Marks every channel with something unread as read; answers how many were saved. One failure does not stop the rest; the first is the
     * call's error at the end.
     */
    public suspend fun markAllChannelsRead(): Int

    /** Marks a target unread, on this device only. */
    public suspend fun markUnread(target: Target): Receipt

    /** Takes [markUnread] back. */
    public suspend fun clearUnread(target: Target): Receipt

    /**
     * A person came to a channel to look at it: ends the mark that [markMessageUnread] left behind on an earlier visit. A jump to one
     * message or thread is no such visit.
     */
    public suspend fun enterChannel(channel: ChannelId)

    /** The person left it: what was marked message by message counts by what was read again, and the channel stays marked. */
    public suspend fun leaveChannel(channel: ChannelId)

    /** Marks a message and its loaded replies unread for as long as the channel is being looked at, on this device only. */
    public suspend fun markMessageUnread(channel: ChannelId, message: EventId): Receipt

    /** Marks a message and its loaded replies read and ends the manual marks on them. */
    public suspend fun markMessageRead(channel: ChannelId, message: EventId): Receipt

    /** Whether the thread under [root] is one of the viewer's conversations, by choice or participation. */
    public suspend fun following(channel: ChannelId, root: EventId): Boolean

    /** Follows or unfollows a thread, on this device only. Fails without change when it cannot be saved. */
    public suspend fun follow(channel: ChannelId, root: EventId, following: Boolean)

    /** Mutes or unmutes a channel on all devices; counts once the relay has accepted it. */
    public suspend fun mute(channel: ChannelId, muted: Boolean)

    /** Says how the app presents a conversation; the sidebar follows. */
    public suspend fun presentAs(channel: ChannelId, presentation: PresentationClass)

    /** The app goes to the background: publishes what can be published within [budget], then closes the socket. */
    public suspend fun pause(budget: Duration)

    /** The app is back. */
    public suspend fun resume()

    /** The system says that the network changed or is back: connects at once instead of waiting. */
    public suspend fun networkChanged()

    /** Publishes what can be published at once, then ends the session. When it returns, every file and lock is released. */
    override suspend fun close()

    /** Forgets this community's state on this device, and only that; the session ends with it. */
    public suspend fun leave()
}

/** An open timeline. Close it when its screen goes. */
public interface WaggleTimeline : SuspendCloseable {
    /** The rows as they change. Ends when the timeline or its session closes. */
    public val rows: Flow<TimelineSnapshot>

    /** The rows now. */
    public fun now(): TimelineSnapshot

    /**
     * One more page: an older one for a channel, the next one for a thread. Does nothing when there is none. An open gap is filled first.
     * The rows stay as they were when it fails.
     */
    public suspend fun loadOlder()

    /** Pages until the first unread row of this visit is among the rows; answers whether it is. */
    public suspend fun jumpToFirstUnread(): Boolean
}

/**
 * One place where messages are read: a channel's timeline or a thread's, on one screen.
 *
 * Report whenever what is visible changes; close it when the screen goes.
 */
public interface WaggleSurface : AutoCloseable {
    /**
     * Says what the surface shows now. Never waits. Ignored after [close]; fails with [SessionException.InvalidArgument] for an id that is
     * none, and the report counts for nothing then.
     */
    public fun report(viewport: Viewport)

    /** Ends the surface: a running dwell reads nothing, and a save that still waits is void. Idempotent. */
    override fun close()
}
