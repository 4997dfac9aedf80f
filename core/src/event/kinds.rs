//! Event kinds of the Buzz protocol and what each one is to Waggle (`unread.md` 1.1, R6).

/// Profile metadata.
pub const PROFILE: u16 = 0;
/// Deletion request by the author (NIP-09).
pub const DELETION: u16 = 5;
/// Reaction (NIP-25).
pub const REACTION: u16 = 7;
/// Chat message.
pub const CHAT: u16 = 9;
/// Deletion by a moderator (NIP-29).
pub const MODERATION: u16 = 9005;
/// Socket authentication (NIP-42).
pub const AUTH: u16 = 22242;
/// HTTP authentication (NIP-98).
pub const HTTP_AUTH: u16 = 27235;
/// Application data: read state and preferences (NIP-78, NIP-RS).
pub const APP_DATA: u16 = 30078;
/// Channel metadata, relay-signed.
pub const CHANNEL: u16 = 39000;
/// Channel admins, relay-signed; the role stands at tag index 2.
pub const ADMINS: u16 = 39001;
/// Channel members, relay-signed; the role stands at tag index 3.
pub const MEMBERS: u16 = 39002;
/// Thread summary overlay, relay-signed, never stored.
pub const SUMMARY: u16 = 39005;
/// Window bounds overlay, relay-signed, never stored.
pub const BOUNDS: u16 = 39006;
/// Message with a structured body.
pub const RICH: u16 = 40002;
/// Edit of a message.
pub const EDIT: u16 = 40003;
/// Diff message.
pub const DIFF: u16 = 40008;
/// System notice, relay-signed.
pub const NOTICE: u16 = 40099;
/// First of the agent job kinds.
pub const JOB_FIRST: u16 = 43001;
/// Last of the agent job kinds.
pub const JOB_LAST: u16 = 43006;
/// The viewer was added to a channel, relay-signed.
pub const MEMBER_ADDED: u16 = 44100;
/// The viewer was removed from a channel, relay-signed.
pub const MEMBER_REMOVED: u16 = 44101;
/// Huddle started.
pub const HUDDLE: u16 = 48100;

/// Kinds that are evidence, can be unread and are asked for by repair, in filter order.
pub const CONTENT: [u16; 3] = [CHAT, RICH, DIFF];
/// Kinds a channel window asks for: everything drawn as a row (R6).
pub const ROWS: [u16; 11] = [CHAT, RICH, DIFF, NOTICE, 43001, 43002, 43003, 43004, 43005, 43006, HUDDLE];
/// Kinds that change other events.
pub const AUXILIARY: [u16; 4] = [DELETION, REACTION, MODERATION, EDIT];

/// Whether the kind is evidence and can be unread.
pub fn is_content(kind: u16) -> bool {
    CONTENT.contains(&kind)
}

/// Whether the kind is drawn as a timeline row.
pub fn is_row(kind: u16) -> bool {
    ROWS.contains(&kind)
}

/// Whether the kind changes other events.
pub fn is_auxiliary(kind: u16) -> bool {
    AUXILIARY.contains(&kind)
}

/// Whether the kind is a deletion.
pub fn is_deletion(kind: u16) -> bool {
    matches!(kind, DELETION | MODERATION)
}
