// Finished values as they cross from the core, under their own names. What each field means is documented at the type itself.
package org.waggle

/** A message's id: 64 lower-case hex digits. */
public typealias EventId = org.waggle.ffi.EventId

/** A channel's id: a hyphenated lower-case UUID. */
public typealias ChannelId = org.waggle.ffi.ChannelId

/** An account's public key: 64 lower-case hex digits. */
public typealias PublicKey = org.waggle.ffi.PublicKey

/** What a client is opened with: the folder of its files, what sort of process it is, and whether it may speak without TLS. */
public typealias ClientConfig = org.waggle.ffi.ClientConfig

/** What sort of process a client lives in. */
public typealias Mode = org.waggle.ffi.Mode

/** Where keys are kept when the app brings no store of its own. */
public typealias KeyStorage = org.waggle.ffi.KeyStorage

/** What is unread about one target. Absent counts are unknown, never zero. */
public typealias UnreadSnapshot = org.waggle.ffi.UnreadSnapshot

/** Threads of a channel with unread replies, newest first; absent when nothing is known. */
public typealias ThreadActivity = org.waggle.ffi.ThreadActivity

/** One thread with unread replies. */
public typealias ThreadActivityItem = org.waggle.ffi.ThreadActivityItem

/** Read-state synchronisation at one moment. */
public typealias SyncStatus = org.waggle.ffi.SyncStatus

/** State of read-state synchronisation. */
public typealias SyncState = org.waggle.ffi.SyncState

/** How complete the markers of other devices are known. */
public typealias Completeness = org.waggle.ffi.Completeness

/** What this device can do with read state. */
public typealias Capability = org.waggle.ffi.Capability

/** What the session is doing, in words a person can be shown. */
public typealias Connectivity = org.waggle.ffi.Connectivity

/** Coarse phase of the connection. */
public typealias Phase = org.waggle.ffi.Phase

/** How far a running repair of counts has come. */
public typealias RepairProgress = org.waggle.ffi.RepairProgress

/** Whether anything is known about a target's messages. */
public typealias Coverage = org.waggle.ffi.Coverage

/** How current the evidence is. */
public typealias Freshness = org.waggle.ffi.Freshness

/** Whether something was marked unread by hand. */
public typealias Manual = org.waggle.ffi.Manual

/** Answer of a change: it is saved on this device. */
public typealias Receipt = org.waggle.ffi.Receipt

/** Whether other devices will learn of a change. */
public typealias SyncOutlook = org.waggle.ffi.SyncOutlook

/** How an app presents a conversation. */
public typealias PresentationClass = org.waggle.ffi.PresentationClass

/** What one surface shows, as the app reports it. */
public typealias Viewport = org.waggle.ffi.Viewport

/** One sidebar row, ready to draw. */
public typealias SidebarRow = org.waggle.ffi.SidebarRow

/** Part of the sidebar a row stands in, in the order they are drawn. */
public typealias SidebarSection = org.waggle.ffi.SidebarSection

/** Type of a channel by its metadata. */
public typealias ChannelType = org.waggle.ffi.ChannelType

/** A vertical extent in any unit that grows downwards. */
public typealias Extent = org.waggle.ffi.Extent

/** One row as the app placed it. */
public typealias Placed = org.waggle.ffi.Placed

/** What lies beyond both edges of the visible part. */
public typealias Cues = org.waggle.ffi.Cues

/** What lies beyond one edge. With a count of zero there is nothing to draw. */
public typealias Cue = org.waggle.ffi.Cue

/** The row to scroll to. */
public typealias CueTarget = org.waggle.ffi.CueTarget

/** One finished row of a timeline. */
public typealias TimelineRow = org.waggle.ffi.TimelineRow

/** What sort of row it is. */
public typealias RowKind = org.waggle.ffi.RowKind

/** How reactions of one emoji add up. */
public typealias Reaction = org.waggle.ffi.Reaction

/** A timeline without its rows. */
public typealias TimelineStatus = org.waggle.ffi.TimelineStatus

/** Whether there are older rows; for a thread, further ones. */
public typealias More = org.waggle.ffi.More

/** Who vouches for counts and edits that the relay sends along. */
public typealias OverlayTrust = org.waggle.ffi.OverlayTrust

/** An event a [Signer] is asked to sign. */
public typealias UnsignedEvent = org.waggle.ffi.UnsignedEvent

/** One line of the log. */
public typealias LogLine = org.waggle.ffi.LogLine

/** How grave a line of the log is. */
public typealias LogLevel = org.waggle.ffi.LogLevel

/** A failure as data: a stable code, whether to try again, and one sentence for a person. See [retryClass] and [retryAfter]. */
public typealias Failure = org.waggle.ffi.Failure

/** Kinds of storage failure. */
public typealias StorageKind = org.waggle.ffi.StorageKind

/** Classes of an answered refusal. */
public typealias Refusal = org.waggle.ffi.Refusal

/** What unread marks and counts are about. */
public sealed interface Target {
    /** The channel it is in. */
    public val channel: ChannelId

    /** The whole channel. */
    public data class Channel(override val channel: ChannelId) : Target

    /** The replies under one root. */
    public data class Thread(override val channel: ChannelId, val root: EventId) : Target

    /** One message. */
    public data class Message(override val channel: ChannelId, val message: EventId) : Target
}

internal fun Target.lowered(): org.waggle.ffi.Target = when (this) {
    is Target.Channel -> org.waggle.ffi.Target.Channel(channel)
    is Target.Thread -> org.waggle.ffi.Target.Thread(channel, root)
    is Target.Message -> org.waggle.ffi.Target.Message(channel, message)
}

/**
 * The sidebar at one moment.
 *
 * @property rows all rows, in drawing order.
 * @property cached the channels are restored from this device and not confirmed by the relay yet.
 * @property version grows with every change within one session.
 */
public data class Sidebar(val rows: List<SidebarRow>, val cached: Boolean, val version: ULong)

/**
 * A timeline at one moment.
 *
 * @property rows all rows held, oldest first.
 * @property status everything but the rows.
 * @property version grows with every change while the timeline is open.
 */
public data class TimelineSnapshot(val rows: List<TimelineRow>, val status: TimelineStatus, val version: ULong)
