//! Every numeric bound, with its reason and what happens at it. This is the inventory (`architecture.md`, decision 1).

/// Largest event JSON ever parsed, bytes: the relay's content cap of 256 KiB, escaped, plus tags. Larger ones are dropped.
pub const EVENT_BYTES: usize = 1 << 20;
/// Most tags of one event. More than any client sends; a larger event is dropped alone.
pub const EVENT_TAGS: usize = 4_096;
/// Most texts in all tags of one event, sixteen a tag: a text of two bytes takes two dozen in memory. A larger event is dropped alone.
pub const EVENT_TAG_TEXTS: usize = 65_536;
/// Verified (id, signature) pairs remembered; the least recently used is forgotten and would be verified again. Twice the
/// evidence window, so that a repair, a page and the live stream of one start-up fit.
pub const VERIFIED_IDS: usize = 16_384;
/// Parsed public keys remembered; the least recently used is forgotten and would be parsed again.
pub const PARSED_KEYS: usize = 2_048;

/// The same in an extension, which lives for one look: a page, a repair batch, and what both share.
pub const EXTENSION_VERIFIED_IDS: usize = 1_024;
/// Parsed public keys remembered in an extension.
pub const EXTENSION_PARSED_KEYS: usize = 256;
/// KiB of each file's pages that SQLite keeps in memory in an extension; its own default of 2,000 is a third of what one may take.
pub const EXTENSION_FILE_KIB: i64 = 256;

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

/// Earlier values a view remembers for differences; a caller further behind gets a reset.
pub const VIEW_HISTORY: usize = 16;
/// Open reading surfaces; the next one fails with `capacity` (`unread.md` 3.1).
pub const SURFACES: usize = 64;
/// Rows of one viewport report that count; the rest is ignored (R14a).
pub const VISIBLE_ROWS: usize = 128;
/// Milliseconds a row must stay visible before it is read (seed).
pub const DWELL_MS: u64 = 300;
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
/// Accounts listed per service of a secret store; more than anybody has. A further one is refused.
pub const ACCOUNTS: usize = 64;

/// Host of a relay with its port, bytes: a DNS name's bound and a port. Longer is no address.
pub const HOST_BYTES: usize = 261;
/// One WebSocket message from the relay, bytes: an event of [`EVENT_BYTES`] cannot arrive larger. The socket ends at a larger one.
pub const FRAME_BYTES: usize = 1 << 20;
/// Frames waiting to be sent: more than pacing ever releases at once. Waiting for room holds back the sender.
pub const SOCKET_OUT_FRAMES: usize = 64;
/// Received frames waiting for the actor: at a full queue reading stops, and the relay sees a slow reader (nothing is dropped).
pub const SOCKET_IN_FRAMES: usize = 1_024;
/// Relay texts (OK, CLOSED, NOTICE, error members, challenges) kept, bytes. The rest is cut off (`unread.md` 13.16).
pub const RELAY_TEXT_BYTES: usize = 512;
/// Discovery document, bytes. Reading stops there and the attempt to connect fails.
pub const DOCUMENT_BYTES: usize = 64 << 10;
/// Answer to a publication, and body of any refusal, bytes. Reading stops there.
pub const RECEIPT_BYTES: usize = 64 << 10;
/// Items of one answer: twice what a batch of 128 single-channel filters of 500 rows gives. A longer answer is refused, so that
/// a body of tiny items cannot grow in memory.
pub const ANSWER_ITEMS: usize = 131_072;
/// Longest wait in seconds taken from a relay's text: an hour. A longer one counts as this.
pub const RETRY_AFTER_MAX: u32 = 3_600;

/// Requests in flight at once; further ones queue (pitfalls B7).
pub const REQUESTS_IN_FLIGHT: usize = 4;
/// Of those, background requests, so that a read never waits behind catch-up.
pub const BACKGROUND_IN_FLIGHT: usize = 3;
/// Requests queued; one more fails as timed out, which at the relay's pace it would be.
pub const REQUESTS_QUEUED: usize = 1_024;
/// Milliseconds of the relay's HTTP quota window.
pub const QUOTA_WINDOW_MS: u64 = 60_000;
/// HTTP calls in any such window: the relay's 300 and a margin, since its windows are fixed and arrivals bunch (`relay-measured.md` 7).
pub const QUOTA_CALLS: usize = 280;
/// Of those, background calls; the rest is kept for what somebody waits for.
pub const QUOTA_BACKGROUND: usize = 240;

/// Milliseconds of the relay's frame quota window.
pub const PACE_WINDOW_MS: u64 = 5_000;
/// Frames in any such window (R4); further subscriptions wait.
pub const PACE_FRAMES: usize = 40;
/// Of those, frames for channels nobody looks at; the rest is kept for what is opened.
pub const PACE_BACKGROUND: usize = 36;
/// Channels subscribed to at once: far above any roster, within the relay's subscriptions in either dialect. Further ones, by
/// id, are not live and are read by repair only.
pub const LIVE_CHANNELS: usize = 1_000;
/// Milliseconds to wait for EOSE before going on without it (R3). The subscription is asked for again.
pub const ARM_TIMEOUT_MS: u64 = 5_000;
/// Milliseconds for the discovery document, for the dial, and for each step of signing in (pitfalls B12). The relay itself gives
/// five seconds for the whole sign-in.
pub const DISCOVERY_DEADLINE_MS: u64 = 10_000;
/// See [`DISCOVERY_DEADLINE_MS`].
pub const DIAL_DEADLINE_MS: u64 = 10_000;
/// See [`DISCOVERY_DEADLINE_MS`].
pub const SIGN_IN_STEP_MS: u64 = 5_000;
/// Milliseconds of silence before the socket is probed: two of the relay's pings missed and a margin.
pub const SILENCE_MS: u64 = 75_000;
/// Milliseconds a probed socket has to give any sign of life (pitfalls B4). It is replaced after that.
pub const PROBE_DEADLINE_MS: u64 = 5_000;
/// First wait between attempts to connect, milliseconds; the very first retry is immediate.
pub const RECONNECT_FIRST_MS: u64 = 1_000;
/// Longest wait between attempts to connect, milliseconds. With all deadlines of one attempt it stays below the 120 s of R25c.
pub const RECONNECT_MAX_MS: u64 = 60_000;
/// Transient sign-in refusals in a row after which only the person can help (pitfalls B13).
pub const SIGN_IN_REFUSALS: u32 = 3;
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
/// Evidence: events held (`unread.md` 3.1). The next one clears all evidence with a visible error.
pub const EVIDENCE_EVENTS: usize = 4_096;
/// Evidence: bytes held, summed over the JSON length of each event (`unread.md` 3.1). One byte more clears all evidence with a
/// visible error.
pub const EVIDENCE_BYTES: usize = 8 << 20;
/// Levels of auxiliary events over a message (deletion of an edit of a message is two). A deeper one is refused
/// (`unread.md` 3.2).
pub const AUX_LEVELS: u8 = 32;
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
/// Milliseconds a journal transaction waits for another process's, which takes a few; then it fails as locked.
pub const JOURNAL_BUSY_MS: u64 = 5_000;
/// Length the journal's log is kept at, bytes: 126 pages, where a usual mark writes two (P11).
pub const JOURNAL_LOG_BYTES: u64 = 256 << 10;
/// Rows after which the journal's log is written back when nobody waits: well before it would grow.
pub const JOURNAL_LOG_ROWS: u32 = 64;

/// Bytes of kept pages per community and account; the least recently kept channels are evicted. A device holds a few of these.
pub const CACHE_BYTES: i64 = 64 << 20;
/// Events in kept pages per community and account, evicted in the same way.
pub const CACHE_EVENTS: u32 = 50_000;
/// Structure events (parents and roots) kept per community and account: twice the evidence window; the oldest is forgotten and a
/// thread mark then reaches its replies only after a look-up.
pub const CACHE_STRUCTURE: u32 = 8_192;

/// Rounds an input may take to settle; each carries things forward only, so reaching this is a bug that stops here.
pub const SETTLE_ROUNDS: usize = 64;
/// Saves waiting for the journal; the next one fails with `busy`. "Mark all read" of a full directory fits twice.
pub const SAVES_UNDER_WAY: usize = 2_048;
/// Milliseconds a close may spend on publishing, so that it ends within half a second.
pub const CLOSE_BUDGET_MS: u64 = 400;
/// Targets with a live view; the next one fails with `capacity` (`unread.md` 3.1).
pub const SELECTORS: usize = 4_096;

/// Commands waiting for the session's task; a caller beyond that waits in line.
pub const COMMANDS: usize = 256;
/// Reports waiting for the session's task; beyond that, sockets and exchanges hold back, which holds the relay back.
pub const SESSION_INPUTS: usize = 1_024;
/// Reports taken in before changes are published: a burst costs a publication for every so many.
pub const BATCH_INPUTS: usize = 256;
/// Answers up to this size are decoded where they arrive: a handful of signatures.
pub const DECODE_INLINE_BYTES: usize = 4 << 10;
/// Milliseconds after which a channel that answered nothing at all is read once more: relays cache access for ten seconds.
pub const SECOND_LOOK_MS: u64 = 11_000;
