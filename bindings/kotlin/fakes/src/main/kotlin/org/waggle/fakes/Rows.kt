// Values with sensible defaults, for tests and previews that care about one or two fields.
package org.waggle.fakes

import kotlin.time.Duration
import org.waggle.ChannelId
import org.waggle.ChannelType
import org.waggle.Connectivity
import org.waggle.Completeness
import org.waggle.Capability
import org.waggle.Coverage
import org.waggle.Cue
import org.waggle.Cues
import org.waggle.EventId
import org.waggle.Failure
import org.waggle.Freshness
import org.waggle.Manual
import org.waggle.More
import org.waggle.OverlayTrust
import org.waggle.Phase
import org.waggle.PublicKey
import org.waggle.RetryClass
import org.waggle.RowKind
import org.waggle.SidebarRow
import org.waggle.SidebarSection
import org.waggle.SyncState
import org.waggle.SyncStatus
import org.waggle.TimelineRow
import org.waggle.TimelineStatus
import org.waggle.UnreadSnapshot
import org.waggle.ffi.Retry

/** A well-formed id of 64 hex digits made from a number: for messages and keys. */
public fun fakeId(number: Int): String = number.toString(16).padStart(64, '0')

/** A well-formed channel id made from a number. */
public fun fakeChannel(number: Int): ChannelId = "00000000-0000-4000-8000-" + number.toString(16).padStart(12, '0')

/** A sidebar row of a joined channel with nothing unread. */
public fun fakeSidebarRow(
    channel: ChannelId = fakeChannel(1),
    name: String = "general",
    section: SidebarSection = SidebarSection.CHANNELS,
    channelType: ChannelType = ChannelType.STREAM,
    participants: List<PublicKey> = emptyList(),
    strong: Boolean = false,
    dot: Boolean = false,
    bell: Boolean = false,
    counted: Boolean = false,
    threads: Int = 0,
    observed: Int? = 0,
    attention: Int? = 0,
    manual: Manual = Manual.NONE,
    accessibleName: String = name,
    joined: Boolean = true,
    archived: Boolean = false,
    muted: Boolean = false,
    latestAt: Long? = null,
): SidebarRow = SidebarRow(
    channel = channel,
    name = name,
    section = section,
    channelType = channelType,
    participants = participants,
    strong = strong,
    dot = dot,
    bell = bell,
    counted = counted,
    threads = threads.toUInt(),
    observed = observed?.toUInt(),
    attention = attention?.toUInt(),
    manual = manual,
    accessibleName = accessibleName,
    joined = joined,
    archived = archived,
    muted = muted,
    latestAt = latestAt?.toULong(),
)

/** A plain message of somebody else's. */
public fun fakeTimelineRow(
    id: EventId = fakeId(1),
    text: String = "Hello",
    createdAt: Long = 1_750_000_000,
    author: PublicKey = fakeId(0xa),
    authorName: String = "Mara",
    kind: RowKind = RowKind.MESSAGE,
    edited: Boolean = false,
    own: Boolean = false,
    mentioned: Boolean = false,
    quiet: Boolean = false,
    threadRoot: EventId? = null,
    replies: Int = 0,
    threadDot: Boolean = false,
    reactions: List<org.waggle.Reaction> = emptyList(),
    startsDay: Boolean = false,
    grouped: Boolean = false,
): TimelineRow = TimelineRow(
    id = id,
    createdAt = createdAt.toULong(),
    author = author,
    authorName = authorName,
    kind = kind,
    text = text,
    edited = edited,
    own = own,
    mentioned = mentioned,
    quiet = quiet,
    threadRoot = threadRoot,
    replies = replies.toUInt(),
    threadDot = threadDot,
    reactions = reactions,
    startsDay = startsDay,
    grouped = grouped,
)

/** The status of a timeline that is complete and at rest. */
public fun fakeTimelineStatus(
    channel: ChannelId = fakeChannel(1),
    root: EventId? = null,
    more: More = More.NO,
    gap: Int? = null,
    firstUnread: EventId? = null,
    loading: Boolean = false,
    restored: Boolean = false,
    trust: OverlayTrust = OverlayTrust.IDENTITY,
    error: Failure? = null,
): TimelineStatus = TimelineStatus(
    channel = channel,
    root = root,
    more = more,
    gap = gap?.toUInt(),
    firstUnread = firstUnread,
    loading = loading,
    restored = restored,
    trust = trust,
    error = error,
)

/** A target about which nothing is known. */
public fun fakeUnread(
    observed: Int? = null,
    attention: Int? = null,
    latest: EventId? = null,
    coverage: Coverage = if (observed == null) Coverage.UNKNOWN else Coverage.OBSERVED,
    freshness: Freshness = if (observed == null) Freshness.UNKNOWN else Freshness.OBSERVED,
    manual: Manual = Manual.NONE,
    pending: Boolean = false,
    error: Failure? = null,
): UnreadSnapshot = UnreadSnapshot(
    observed = observed?.toUInt(),
    attention = attention?.toUInt(),
    latest = latest,
    coverage = coverage,
    freshness = freshness,
    manual = manual,
    pending = pending,
    error = error,
)

/** Synchronisation with nothing to publish. */
public fun fakeSync(
    state: SyncState = SyncState.LOCAL,
    completeness: Completeness = Completeness.SNAPSHOT,
    pending: Boolean = false,
    capability: Capability = Capability.FRONTIER_SYNC,
    error: Failure? = null,
): SyncStatus = SyncStatus(state, completeness, pending, capability, error)

/** A session that is online. */
public fun fakeConnectivity(
    phase: Phase = Phase.ONLINE,
    sentence: String = "Up to date",
    retryIn: Int? = null,
    error: Failure? = null,
): Connectivity = Connectivity(phase, sentence, null, retryIn?.toUInt(), error)

/** An edge beyond which there is nothing. */
public fun fakeCue(count: Int = 0, attention: Boolean = false, accessibleName: String = ""): Cue =
    Cue(count.toUInt(), null, emptyList(), attention, accessibleName)

/** Two edges beyond which there is nothing. */
public fun fakeCues(above: Cue = fakeCue(), below: Cue = fakeCue()): Cues = Cues(above, below)

/** A failure as data, for scripted exceptions. [after] counts for [RetryClass.AFTER] only. */
public fun fakeFailure(
    code: String = "network",
    retry: RetryClass = RetryClass.WHEN_ONLINE,
    sentence: String = "You are offline.",
    after: Duration = Duration.ZERO,
): Failure = Failure(
    code,
    when (retry) {
        RetryClass.NEVER -> Retry.Never
        RetryClass.NOW -> Retry.Now
        RetryClass.AFTER -> Retry.After(after.inWholeSeconds.toUInt())
        RetryClass.WHEN_ONLINE -> Retry.WhenOnline
        RetryClass.AFTER_ACTION -> Retry.AfterAction
    },
    sentence,
)
