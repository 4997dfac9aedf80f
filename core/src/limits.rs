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

/// Deletions of a target that is not held, kept until it comes (R9a); the oldest is forgotten, and its target then shows until the
/// relay is read again.
pub const ASIDE_DELETIONS: usize = 1_024;
/// Edits and reactions kept until their target comes; the oldest is forgotten. They overtake their row only while a page is on its
/// way, so this is plenty, and a later read brings them again.
pub const ASIDE_CHANGES: usize = 1_024;
/// Edits and reactions that can change one row; further ones are ignored. More than the relay gives with a page (1,000 a hop).
pub const CHANGES_PER_ROW: usize = 4_096;
/// Longest content of a reaction, bytes: 64 characters (`protocol.md` 6.6) of four bytes. A longer one is ignored.
pub const REACTION_BYTES: usize = 256;

/// Edits, reactions and deletions asked for in one query about held rows. The read goes on while a page is full.
pub const CHANGES_PAGE: u32 = 500;
/// Row ids named in one such query (`relay-measured.md` 5.1 measured 520).
pub const CHANGES_IDS: usize = 500;
/// Pages of one such query; then what came is used, and nothing is taken to be absent.
pub const CHANGES_PAGES: u32 = 16;
/// Auxiliary events a relay gives with a window page for each hop (`protocol.md` 1.4); at that many, absence proves nothing.
pub const CHANGES_HOP: usize = 1_000;
/// Timelines open at once in a session; opening another fails with `capacity`.
pub const OPEN_TIMELINES: usize = 64;
/// Rows one open timeline holds. Nothing a person scrolled to is dropped; asking for more fails with `capacity`, and of live
/// rows beyond it the oldest page is given up, which can be read again.
pub const TIMELINE_ROWS: usize = 20_000;
/// Chains of pages with gaps between them that one timeline keeps; older ones are dropped and read again when scrolled to.
pub const TIMELINE_CHAINS: usize = 8;
/// Calls waiting for one timeline; a further one fails with `busy`.
pub const TIMELINE_CALLS: usize = 64;
/// Replies remembered for the counts of held rows, per row and in all; further ones are left to the relay's summaries.
pub const KNOWN_REPLIES_PER_ROW: usize = 1_024;
/// See [`KNOWN_REPLIES_PER_ROW`].
pub const KNOWN_REPLIES: usize = 16_384;
/// Pages of a relay without windows read for one call until a row turns up; then the call ends, and the next goes on.
pub const PLAIN_PAGES_PER_CALL: u32 = 8;
/// Milliseconds until an automatic read that failed is tried again; doubles up to [`REREAD_BACKOFF_MAX_MS`] (R5).
pub const REREAD_BACKOFF_MS: u64 = 1_000;
/// See [`REREAD_BACKOFF_MS`].
pub const REREAD_BACKOFF_MAX_MS: u64 = 60_000;
/// Rows of an open timeline handed to the cache: its newest pages, or a thread's first ones.
pub const KEPT_ROWS: usize = 400;
/// Depth asked for in a thread page: as deep as the relay allows replies to nest.
pub const THREAD_DEPTH: u32 = 100;

/// Bytes of kept pages per community and account; the least recently kept channels are evicted. A device holds a few of these.
pub const CACHE_BYTES: i64 = 64 << 20;
/// Events in kept pages per community and account, evicted in the same way.
pub const CACHE_EVENTS: u32 = 50_000;
/// Structure events (parents and roots) kept per community and account: twice the evidence window; the oldest is forgotten and a
/// thread mark then reaches its replies only after a look-up.
pub const CACHE_STRUCTURE: u32 = 8_192;
/// Milliseconds after which a channel that answered nothing at all is read once more: relays cache access for ten seconds.
pub const SECOND_LOOK_MS: u64 = 11_000;
