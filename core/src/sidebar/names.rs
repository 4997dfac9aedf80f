//! What assistive technology reads: the same facts in words, and whether they are observed, possibly out of date, or this
//! device's own mark (`unread.md` 12.1, 12.3). Nothing is said about the unknown and about observed zero.

use crate::model::{ChannelType, Freshness, Manual, UnreadSnapshot};

/// What a conversation is called: a DM by the others in it (its own name says nothing, `relay-measured.md` 6), everything else by
/// its metadata.
pub fn conversation_name(
    channel_type: ChannelType,
    name: Option<&str>,
    others: impl IntoIterator<Item = String>,
) -> String {
    if channel_type != ChannelType::Dm {
        return name.unwrap_or("Unnamed channel").to_owned();
    }
    let others: Vec<_> = others.into_iter().collect();
    if others.is_empty() { "Notes to self".to_owned() } else { others.join(", ") }
}

/// The facts a name tells.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) unread: u32,
    pub(super) attention: u32,
    pub(super) threads: u32,
    pub(super) manual: Manual,
    pub(super) muted: bool,
    pub(super) freshness: Freshness,
}

fn count(n: u32, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

fn manual(manual: Manual) -> Option<String> {
    match manual {
        Manual::None => None,
        Manual::LocalOnly => Some("marked unread on this device only".into()),
        Manual::Remote => Some("marked unread on another device".into()),
    }
}

/// Counts that came before the last connection loss or failure are still shown, and said to be old.
fn staleness(claims: bool, freshness: Freshness) -> Option<String> {
    (claims && freshness == Freshness::Stale).then(|| "possibly out of date".into())
}

/// The name of a sidebar row.
pub(super) fn row(name: &str, said: &Said) -> String {
    let part = |n: u32, one: &str, many: &str| (n > 0).then(|| count(n, one, many));
    let parts = [
        Some(name.to_owned()),
        part(said.unread, "unread message", "unread messages"),
        part(said.attention, "for you", "for you"),
        part(said.threads, "thread with unread replies", "threads with unread replies"),
        staleness(said.unread > 0 || said.threads > 0, said.freshness),
        manual(said.manual),
        said.muted.then(|| "muted".into()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The name of an off-screen cue. It names count and direction, and promises no particular target.
pub(super) fn cue(conversations: u32, above: bool) -> String {
    let direction = if above { "above" } else { "below" };
    format!("{} {direction}", count(conversations, "unread conversation", "unread conversations"))
}

/// The button under a message that opens its thread (`unread.md` 12.3).
#[derive(Clone, PartialEq, Eq)]
pub struct ThreadButton {
    /// Unread replies, or marked unread by hand. Unknown and zero have none.
    pub dot: bool,
    /// What assistive technology reads.
    pub accessible_name: String,
}

crate::ids::hidden_debug!(ThreadButton);

/// Projects the thread button. `replies` as in [`crate::model::TimelineRow::replies`], `thread` the thread target's snapshot.
pub fn thread_button(replies: u32, thread: &UnreadSnapshot) -> ThreadButton {
    let unread = thread.observed.unwrap_or(0);
    let parts = [
        Some(count(replies, "reply", "replies")),
        (unread > 0).then(|| format!("{unread} unread")),
        staleness(unread > 0, thread.freshness),
        manual(thread.manual),
    ];
    let accessible_name = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    ThreadButton { dot: unread > 0 || thread.manual != Manual::None, accessible_name }
}
