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

/// Evidence: events held (`unread.md` 3.1). The next one clears all evidence with a visible error.
pub const EVIDENCE_EVENTS: usize = 4_096;
/// Evidence: bytes held, summed over the JSON length of each event (`unread.md` 3.1). One byte more clears all evidence with a
/// visible error.
pub const EVIDENCE_BYTES: usize = 8 << 20;
/// Levels of auxiliary events over a message (deletion of an edit of a message is two). A deeper one is refused
/// (`unread.md` 3.2).
pub const AUX_LEVELS: u8 = 32;
/// Deletions of one message that is not held, kept until it arrives (R9a). The oldest is forgotten.
pub const ASIDE_DELETIONS: usize = 1_024;
/// Bytes of those deletions, so that large ones cannot fill memory: a kilobyte each on average. The oldest is forgotten.
pub const ASIDE_BYTES: usize = 1 << 20;
/// Rows asked for in one evidence read (`unread.md` 3.5).
pub const REPAIR_ROWS: u32 = 500;
/// Events examined when a reply's root is resolved (`unread.md` 2.2). A longer chain has no root.
pub const ROOT_STEPS: usize = 32;
/// Follow choices held (`unread.md` 10). The oldest is forgotten.
pub const FOLLOW_CHOICES: usize = 1_000;
/// Conversation look-ups remembered, finished or not (`unread.md` 4.4). The oldest is forgotten and may be asked again.
pub const LOOKUPS: usize = 4_096;
/// Parents and roots known from look-ups only (`unread.md` 4.4). The oldest is forgotten.
pub const STRUCTURES: usize = 1_024;
/// Messages of the viewer that made a look-up positive (`unread.md` 4.4). The oldest is forgotten with the look-ups it backs.
pub const WITNESSES: usize = 4_096;
/// Ids of the viewer's deleted messages, kept out of look-ups (`unread.md` 4.4). The oldest is forgotten.
pub const RETRACTED: usize = 1_024;
/// Parents asked for in one look-up (`unread.md` 4.3). The rest waits for the next one.
pub const LOOKUP_PARENTS: usize = 50;
/// Rows asked for in one page of the viewer's replies (`unread.md` 4.3). A full page is split or paged back.
pub const LOOKUP_ROWS: u32 = 500;
/// Pages read back for one parent (`unread.md` 4.3). Then the look-up is decided by what was seen.
pub const LOOKUP_PAGES: u32 = 10;
/// Claimed roots recorded for one parent (R8f). Honest replies agree on one; a further claim is not asked about.
pub const LOOKUP_ROOTS: usize = 8;
/// First and longest wait after a failed look-up, milliseconds (`unread.md` 4.6).
pub const LOOKUP_RETRY_MS: (u64, u64) = (1_000, 60_000);
