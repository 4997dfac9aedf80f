// Records and enums come from the generated layer as they are. Apps see them under these names and never import `WaggleGenerated`,
// whose objects are wrapped in this module. The meaning of each field is documented where it is declared.

public import WaggleGenerated

/// A message's id: 64 lower-case hex digits. Checked where it enters Waggle; a malformed one is an `InvalidArgument`.
public typealias EventId = WaggleGenerated.EventId
/// A channel's id: a hyphenated lower-case UUID.
public typealias ChannelId = WaggleGenerated.ChannelId
/// An account's public key: 64 lower-case hex digits.
public typealias PublicKey = WaggleGenerated.PublicKey
/// What unread marks and counts are about: a channel, the replies under one root, or one message.
public typealias Target = WaggleGenerated.Target

// MARK: Opening

/// What a client is opened with: where its files lie and what sort of process it is in.
public typealias ClientConfig = WaggleGenerated.ClientConfig
/// What sort of process this is: an app, or a short-lived extension beside it.
public typealias Mode = WaggleGenerated.Mode
/// Where keys are kept: in the platform's key store, or in memory for tests and previews.
public typealias KeyStorage = WaggleGenerated.KeyStorage
/// Keeps keys by service and account: the app's own key store, handed to ``WaggleClient/init(configuration:store:)``.
///
/// Calls come on threads that may wait, so an implementation may block, ask the person, and call Waggle. What it throws should be a
/// ``SecretStoreError``; anything else counts as `Failed`.
public typealias SecretStore = WaggleGenerated.SecretStore
/// Why a key store of the app's own refused.
public typealias SecretStoreError = WaggleGenerated.SecretStoreError
/// Whoever holds the account's key, when Waggle should not: see ``WaggleClient/signIn(signer:)``. What it signs is checked.
public typealias Signer = WaggleGenerated.Signer
/// Why a signer of the app's own refused.
public typealias SignerError = WaggleGenerated.SignerError
/// An event to be signed by a ``Signer``: authentication, read state or the mute preference, nothing else.
public typealias UnsignedEvent = WaggleGenerated.UnsignedEvent

// MARK: Failures

/// Of clients and accounts: opening, signing in and out.
public typealias ClientError = WaggleGenerated.ClientError
/// Of everything that reads, marks, counts or synchronises in a session.
public typealias SessionError = WaggleGenerated.SessionError
/// Of waiting for a view's next version.
public typealias ViewError = WaggleGenerated.ViewError
/// A failure as data: a stable code, whether to try again, and one sentence for a person.
public typealias Failure = WaggleGenerated.Failure
/// Whether trying again can help, and when.
public typealias Retry = WaggleGenerated.Retry
/// Kinds of storage failure.
public typealias StorageKind = WaggleGenerated.StorageKind
/// Kinds of missing answers.
public typealias NetworkFailure = WaggleGenerated.NetworkFailure
/// Classes of an answered refusal.
public typealias Refusal = WaggleGenerated.Refusal

// MARK: Unread and synchronisation

/// What is unread about one target. An absent count is unknown, never a made-up zero.
public typealias UnreadSnapshot = WaggleGenerated.UnreadSnapshot
/// Whether anything is known about a target's messages.
public typealias Coverage = WaggleGenerated.Coverage
/// How current the evidence is.
public typealias Freshness = WaggleGenerated.Freshness
/// Whether something was marked unread by hand.
public typealias Manual = WaggleGenerated.Manual
/// Threads of a channel with unread replies, newest first.
public typealias ThreadActivity = WaggleGenerated.ThreadActivity
/// One thread with unread replies.
public typealias ThreadActivityItem = WaggleGenerated.ThreadActivityItem
/// Answer of a change: it is saved on this device.
public typealias Receipt = WaggleGenerated.Receipt
/// Whether other devices will learn of a change.
public typealias SyncOutlook = WaggleGenerated.SyncOutlook
/// Read-state synchronisation at one moment.
public typealias SyncStatus = WaggleGenerated.SyncStatus
/// State of read-state synchronisation.
public typealias SyncState = WaggleGenerated.SyncState
/// How complete the markers of other devices are known.
public typealias Completeness = WaggleGenerated.Completeness
/// What this device can do with read state.
public typealias Capability = WaggleGenerated.Capability
/// What the session is doing, for a status line.
public typealias Connectivity = WaggleGenerated.Connectivity
/// Coarse phase of the connection.
public typealias Phase = WaggleGenerated.Phase
/// How far a running repair of counts has come.
public typealias RepairProgress = WaggleGenerated.RepairProgress

// MARK: Sidebar

/// One sidebar row, ready to draw.
public typealias SidebarRow = WaggleGenerated.SidebarRow
/// Part of the sidebar a row stands in, in the order they are drawn.
public typealias SidebarSection = WaggleGenerated.SidebarSection
/// Type of a channel by its metadata.
public typealias ChannelType = WaggleGenerated.ChannelType
/// How an app presents a conversation.
public typealias PresentationClass = WaggleGenerated.PresentationClass
/// One row as the app placed it, for the cues of what lies beyond the edges.
public typealias Placed = WaggleGenerated.Placed
/// Vertical extent, top to bottom, in any unit; the same one for rows and viewport.
public typealias Extent = WaggleGenerated.Extent
/// What lies beyond both edges of the visible part of the sidebar.
public typealias Cues = WaggleGenerated.Cues
/// One edge of the list. With a count of zero there is nothing to draw.
public typealias Cue = WaggleGenerated.Cue
/// The row a cue scrolls to.
public typealias CueTarget = WaggleGenerated.CueTarget

// MARK: Timelines and reading

/// One finished row of a timeline.
public typealias TimelineRow = WaggleGenerated.TimelineRow
/// A timeline without its rows.
public typealias TimelineStatus = WaggleGenerated.TimelineStatus
/// What sort of row it is; how it looks is the app's business.
public typealias RowKind = WaggleGenerated.RowKind
/// How reactions of one emoji add up.
public typealias Reaction = WaggleGenerated.Reaction
/// Whether there are older rows; for a thread, further ones.
public typealias More = WaggleGenerated.More
/// Who vouches for counts and edits that the relay sends along.
public typealias OverlayTrust = WaggleGenerated.OverlayTrust
/// What one surface shows, as the app reports it.
public typealias Viewport = WaggleGenerated.Viewport

// MARK: Logs

/// One line of Waggle's log. It carries shapes, never content, ids, keys or hosts.
public typealias LogLine = WaggleGenerated.LogLine
/// How grave a line is.
public typealias LogLevel = WaggleGenerated.LogLevel
/// Lines of the log since the last pull.
public typealias LogBatch = WaggleGenerated.LogBatch
/// Takes log lines as they come. Called from Waggle's threads; must not wait and must not call Waggle.
public typealias LogSink = WaggleGenerated.LogSink
