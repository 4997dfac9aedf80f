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

/// Channels each directory map holds (`unread.md` 1.5). Further ids are ignored; metadata of a joined channel may displace
/// that of one the viewer only browses.
pub const DIRECTORY_CHANNELS: usize = 1_024;
/// Events asked for by one page of a directory listing: what other clients use; the relay's own cap is 500 to 1,000.
pub const DIRECTORY_PAGE: u32 = 500;
/// Pages of one directory listing; at more the listing counts as incomplete and takes no access away. Four times what
/// [`DIRECTORY_CHANNELS`] needs at a relay that caps a page at a quarter of [`DIRECTORY_PAGE`].
pub const DIRECTORY_PAGES: u32 = 32;
/// A directory page with fewer events than this is the last one: no relay caps its answers lower. A longer page is followed
/// by another, because a relay's cap cannot be told from the end of the list.
pub const DIRECTORY_SURE_PAGE: usize = 20;
/// Milliseconds before a failed directory read is repeated; doubles up to [`RETRY_MAX_MS`].
pub const RETRY_MIN_MS: u64 = 1_000;
/// Longest wait before a failed background read is repeated.
pub const RETRY_MAX_MS: u64 = 60_000;
/// Times a channel is asked for again when the relay announced a membership that its roster does not show yet.
pub const GRANT_CHECKS: u8 = 5;
/// Characters of a channel's or person's name; the rest is cut off. Names are drawn on one line.
pub const NAME_CHARS: usize = 128;
/// People whose profile is remembered; the least recently used is forgotten and would be asked for again.
pub const PROFILES: usize = 2_048;
/// Authors of one profile look-up, and most authors waiting for one are [`PROFILES`].
pub const PROFILE_BATCH: usize = 100;
/// Channels of the mute preference. Beyond it the ones changed longest ago are dropped.
pub const MUTES: usize = 4_096;
/// Mute calls waiting; a further one fails with `capacity`.
pub const MUTE_CALLS: usize = 64;
/// Times a mute is read, merged and published again because another device wrote in between; then it fails.
pub const MUTE_ATTEMPTS: u8 = 3;
/// One-to-one DMs previewed by an off-screen cue (`unread.md` 12.2).
pub const CUE_PREVIEWS: usize = 3;
