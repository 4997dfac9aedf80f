//! Every numeric bound, with its reason and what happens at it. This is the inventory (`architecture.md`, decision 1).

/// Largest event JSON ever parsed, bytes: the relay's content cap of 256 KiB, escaped, plus tags. Larger ones are dropped.
pub const EVENT_BYTES: usize = 1 << 20;
/// Most tags of one event. More than any client sends; a larger event is dropped alone.
pub const EVENT_TAGS: usize = 4_096;
/// Verified (id, signature) pairs remembered; the least recently used is forgotten and would be verified again. Twice the
/// evidence window, so that a repair, a page and the live stream of one start-up fit.
pub const VERIFIED_IDS: usize = 16_384;
/// Parsed public keys remembered; the least recently used is forgotten and would be parsed again.
pub const PARSED_KEYS: usize = 2_048;

/// Channel ids in all filters of one request: the relay refuses more (R4).
pub const CHANNELS_PER_REQUEST: usize = 128;
/// Window page: rows asked for when the app names no size; the relay's default.
pub const PAGE_ROWS: u32 = 50;
/// Window page: most rows a relay gives.
pub const PAGE_ROWS_MAX: u32 = 200;
/// Thread page: rows asked for when the app names no size; the relay's default.
pub const THREAD_ROWS: u32 = 100;
/// Thread page: most rows a relay gives.
pub const THREAD_ROWS_MAX: u32 = 500;

/// Seconds an event's `created_at` may be off the relay's clock: the relay's acceptance window (`relay-measured.md` 4).
pub const RELAY_DRIFT: u64 = 900;
/// Seconds a bounded re-read reaches back: the acceptance window and a margin (seed; `unread.md` 3.6).
pub const REREAD_MARGIN: u64 = 960;
/// Messages at or below this age in seconds are read, frontiers there are not published (R17): 30 days.
pub const FLOOR_AGE: u64 = 2_592_000;

/// Answer bodies other than the snapshot: reading stops there and the answer is refused. 1,000 events of the usual size
/// are 1 MB; a repair batch of 500 rows with all its auxiliary events stays far below.
pub const ANSWER_BYTES: usize = 32 << 20;
/// The snapshot's answer stream, counted before parsing (`unread.md` 9.4).
pub const SNAPSHOT_STREAM_BYTES: usize = (8 << 20) + (4 << 10);
/// Milliseconds a request may take, its time in the queue included (`unread.md` 3.5).
pub const REQUEST_DEADLINE_MS: u64 = 10_000;

/// A frontier key on the wire, UTF-8 bytes, prefixes included; a longer one is dropped or refused (`unread.md` 9.2).
pub const KEY_BYTES: usize = 256;
/// The sync journal's serialized frontiers and overrides, bytes as counted in `unread.md` 8.3. At it the least valuable
/// frontiers move to the reserve; with overrides, where nothing may go, the save fails.
pub const JOURNAL_BYTES: usize = 98_304;
/// Keys of the sync journal; as [`JOURNAL_BYTES`].
pub const JOURNAL_KEYS: usize = 10_000;
/// The record as a blob; a stored one beyond is damaged (`unread.md` 8.1).
pub const RECORD_BLOB_BYTES: usize = 131_072;
/// Plaintext of one publication blob, bytes (`unread.md` 9.4).
pub const BLOB_BYTES: usize = 40_960;
/// The reserve, exact bytes of its JSON. At it the narrowest and oldest receipts are forgotten (`unread.md` 8.7).
pub const RESERVE_BYTES: usize = 524_288;
/// Receipts of the reserve; as [`RESERVE_BYTES`].
pub const RESERVE_KEYS: usize = 5_000;
/// Manual marks; one more is refused (`unread.md` 8.1).
pub const LOCAL_MARKS: usize = 10_000;
/// Frontiers this installation advanced and still publishes; the lowest value beyond is no longer published. As many as the
/// journal can hold, which 24 blobs carry.
pub const OWN_KEYS: usize = 10_000;
/// Coordinates of one installation: twice what [`OWN_KEYS`] can fill. One more is refused.
pub const SLOTS: usize = 48;
/// JSON of a signed read-state event, bytes (`unread.md` 9.4).
pub const PENDING_BYTES: usize = 65_536;
/// Follow choices; the oldest beyond are forgotten (`unread.md` 10).
pub const FOLLOWS: usize = 1_000;
/// Messages asked for in one request for their channels (`unread.md` 8.6).
pub const HOMES_PER_REQUEST: usize = 100;

/// Read state: largest plaintext read from another client, bytes; a larger one fails the marker load (`unread.md` 9.4).
pub const BLOB_READ_BYTES: usize = 131_072;
/// Read state: keys of one blob, and of merged state (one a frontier, three an override); more are refused whole (NIP-RS).
pub const BLOB_KEYS: usize = 10_000;
/// Read state: code points of a client id; a blob with a longer one is refused (NIP-RS).
pub const CLIENT_ID_CHARS: usize = 64;
/// Read state: largest event read, bytes: older clients fill NIP-44's 65,535 bytes of plaintext, 87,472 in base64. A larger one fails
/// the marker load.
pub const READ_STATE_EVENT_BYTES: usize = 98_304;
/// Read state: events asked for where no snapshot is offered; what lies beyond is not seen, so such a load is never complete.
pub const READ_STATE_ROWS: u32 = 500;
/// Read state: coordinates whose versions are remembered; with more, they are forgotten and the load fails (`unread.md` 9.4).
pub const COORDINATES: usize = 4_096;
/// Snapshot: events of a usable one, and of one that a publication may lead to; beyond, it is refused or not begun.
pub const SNAPSHOT_EVENTS: usize = 4_096;
/// Snapshot: bytes of its event array; as [`SNAPSHOT_EVENTS`].
pub const SNAPSHOT_ARRAY_BYTES: usize = 8 << 20;
/// Read state: events handed to the cipher in one job, so that no job and no result is large.
pub const DECODE_EVENTS: usize = 16;
/// Read state: bytes of events handed to the cipher in one job; as [`DECODE_EVENTS`].
pub const DECODE_BYTES: usize = 524_288;
/// Read state: values of other devices too far ahead to be merged yet (R12). The furthest are forgotten first; the next start brings
/// them again.
pub const AHEAD_VALUES: usize = 10_000;
/// Read state: milliseconds from the first unpublished read to its publication. Later reads do not push it back.
pub const PUBLISH_DELAY_MS: u64 = 5_000;
/// Read state: seconds a publication's clock may run ahead of the relay's (`unread.md` 9.9). Beyond, publishing waits.
pub const PUBLISH_LEAD: u64 = 60;
/// Read state: milliseconds a signer or the publisher lock may take before a flush gives up on it.
pub const SIGNER_DEADLINE_MS: u64 = 10_000;
/// Read state: times one flush may find a slot taken over and move away, before it gives up.
pub const SLOT_MOVES: usize = 4;
/// Seconds to wait after a rate limit that named no wait: the relay's windows are of that length at most.
pub const RATE_LIMIT_WAIT: u32 = 60;
/// Milliseconds a journal transaction waits for another process's, which takes a few; then it fails as locked.
pub const JOURNAL_BUSY_MS: u64 = 5_000;
