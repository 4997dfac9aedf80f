//! Explicit actions: what a person asked for by name (`unread.md` 7; R12, R14b, R16–R16b).
//!
//! Everything is decided at the call. Because all saves go through one queue in call order, a later action meets the record that
//! an earlier one left, and the order of calls is the order of effects.

use std::collections::{BTreeMap, BTreeSet};

use super::dwell::message_covers;
use super::{Facts, Intent, MessageFact, horizon};
use crate::error::Error;
use crate::ids::{ChannelId, EventId, Target};
use crate::journal::{Key, LocalKey, Mark, Read};

/// Reads a target through one of its messages and ends the target's own manual mark.
///
/// Fails with `denied`, `not_found` (not retained), `invalid_target` (a reply on a channel, a message of another thread, another
/// message) or `read_only`.
pub fn mark_through(target: &Target, id: EventId, server_now: u64, facts: &impl Facts) -> Result<Intent, Error> {
    let channel = target.channel();
    if !facts.allowed(channel) {
        return Err(Error::Denied);
    }
    let fact = facts.message(channel, id).ok_or(Error::NotFound { what: "message" })?;
    check_belongs(target, &fact)?;
    if !facts.can_write_frontiers() {
        return Err(Error::ReadOnly);
    }
    let mut intent = Intent { witnesses: vec![id], ..Intent::default() };
    let ahead = horizon(server_now);
    if fact.created_at <= ahead || matches!(target, Target::Message(..)) {
        intent.read.marks.push(Mark::always(Key::from(*target), fact.created_at));
    } else {
        // R14b: its own mark, and the prefix up to the newest that is not so dated.
        intent.read.marks.push(Mark::always(Key::Message(id), fact.created_at));
        let within = |m: &MessageFact| m.created_at <= ahead && belongs(target, m);
        if let Some(cut) = facts.messages(channel).iter().filter(|m| within(m)).map(|m| m.created_at).max() {
            intent.read.marks.push(Mark::always(Key::from(*target), cut));
        }
    }
    intent.read.clear.push(LocalKey::from(*target));
    Ok(intent)
}

fn belongs(target: &Target, fact: &MessageFact) -> bool {
    match target {
        Target::Channel(_) => fact.reference.is_none(),
        Target::Thread(_, root) => fact.resolved_root == Some(*root),
        Target::Message(_, id) => fact.id == *id,
    }
}

fn check_belongs(target: &Target, fact: &MessageFact) -> Result<(), Error> {
    if belongs(target, fact) {
        return Ok(());
    }
    Err(Error::InvalidTarget {
        why: match target {
            Target::Channel(_) => "a channel is read through a top-level message",
            Target::Thread(..) => "the message is not in this thread",
            Target::Message(..) => "a message is read through itself",
        },
    })
}

/// Marks a whole channel read: through `click` (the session's best estimate of server time at the call) or the newest retained message,
/// whichever is later, and ends all manual marks the channel can be shown to own.
pub fn mark_channel_read(channel: ChannelId, click: u64, facts: &impl Facts) -> Result<Intent, Error> {
    if !facts.allowed(channel) {
        return Err(Error::Denied);
    }
    let messages = facts.messages(channel);
    let mut clear: Vec<LocalKey> = owned_marks(channel, &messages).into_iter().collect();
    clear.push(LocalKey::MessageForce(channel));
    let mut intent = Intent { read: Read { clear, ..Read::default() }, ..Intent::default() };
    if !facts.can_write_frontiers() {
        // Without evidence there is no frontier to invent: the marks alone are cleared (`unread.md` 7.2).
        return if messages.is_empty() { Ok(intent) } else { Err(Error::ReadOnly) };
    }
    let ahead = horizon(click);
    let newest = messages.iter().map(|m| m.created_at).filter(|t| *t <= ahead).max();
    intent.read.marks.push(Mark::always(Key::Channel(channel), newest.map_or(click, |t| t.max(click))));
    for m in messages.iter().filter(|m| m.created_at > ahead && !m.own && !m.quiet) {
        intent.mark(Key::Message(m.id), m.created_at, message_covers(channel, m));
    }
    Ok(intent)
}

/// Keys of local marks that belong to the channel by retained evidence: the channel's, its messages', the threads' of its replies and
/// of its top-level messages.
fn owned_marks(channel: ChannelId, messages: &[MessageFact]) -> BTreeSet<LocalKey> {
    let mut keys = BTreeSet::from([LocalKey::Channel(channel)]);
    for m in messages {
        keys.insert(LocalKey::Message(m.id));
        match (m.reference, m.resolved_root) {
            (None, _) => drop(keys.insert(LocalKey::Thread(m.id))),
            (Some(_), Some(root)) => drop(keys.insert(LocalKey::Thread(root))),
            (Some(_), None) => {}
        }
    }
    keys
}

/// Whether "mark all read" has anything to do in the channel besides unread members: a local mark on it, one of its messages or threads.
pub fn has_owned_mark(channel: ChannelId, facts: &impl Facts) -> bool {
    let messages = facts.messages(channel);
    owned_marks(channel, &messages).iter().any(|k| facts.mark_revision(k).is_some())
}

/// The message a menu was opened on and the loaded replies below it, without quiet ones below (`unread.md` 2.3, 7.5).
///
/// Fails with `denied`, `not_found` (not retained) or `invalid_target` (a quiet agent message has no such action).
pub fn subtree(channel: ChannelId, id: EventId, facts: &impl Facts) -> Result<Vec<MessageFact>, Error> {
    manual_key(&Target::Message(channel, id), facts)?;
    let messages = facts.messages(channel);
    let mut replies: BTreeMap<EventId, Vec<&MessageFact>> = BTreeMap::new();
    for m in messages.iter().filter(|m| m.id != id && m.resolved_root.is_some()) {
        if let Some(reference) = m.reference {
            replies.entry(reference.parent).or_default().push(m);
        }
    }
    let mut rows: Vec<MessageFact> = messages.iter().filter(|m| m.id == id).copied().collect();
    let mut next = vec![id];
    // Each parent's replies are taken once, so a cycle ends.
    while let Some(below) = next.pop().map(|parent| replies.remove(&parent).unwrap_or_default()) {
        next.extend(below.iter().map(|m| m.id));
        rows.extend(below.into_iter().filter(|m| !m.quiet).copied());
    }
    Ok(rows)
}

/// Reads rows of a [`subtree`] and ends the manual marks on them; with `last`, the channel's hint too: nothing else is kept unread.
///
/// Fails with `read_only` where this device writes no frontiers and some row is not read already (7.28).
pub fn mark_rows_read(
    channel: ChannelId,
    rows: &[MessageFact],
    last: bool,
    facts: &impl Facts,
) -> Result<Intent, Error> {
    let wanted = || rows.iter().filter(|m| !m.own && !m.quiet);
    let mut intent = Intent { witnesses: rows.iter().map(|m| m.id).collect(), ..Intent::default() };
    if facts.can_write_frontiers() {
        intent.read.marks.extend(wanted().map(|m| Mark::always(Key::Message(m.id), m.created_at)));
    } else if wanted().any(|m| m.beyond_frontier) {
        return Err(Error::ReadOnly);
    }
    intent.read.clear.extend(rows.iter().map(|m| LocalKey::Message(m.id)));
    intent.read.clear.extend(last.then_some(LocalKey::MessageForce(channel)));
    Ok(intent)
}

/// Checks that a target may be marked unread or cleared, and names its key. A thread needs its root retained and undeleted, a message
/// needs to be retained; a quiet agent message has no such action (`unread.md` 7.4, 1.3).
pub fn manual_key(target: &Target, facts: &impl Facts) -> Result<LocalKey, Error> {
    let channel = target.channel();
    if !facts.allowed(channel) {
        return Err(Error::Denied);
    }
    match target {
        Target::Channel(_) => {}
        Target::Thread(_, root) => {
            let fact = facts.message(channel, *root).ok_or(Error::NotFound { what: "thread root" })?;
            if fact.reference.is_some() {
                return Err(Error::InvalidTarget { why: "a thread is named by its root" });
            }
        }
        Target::Message(_, id) => {
            let fact = facts.message(channel, *id).ok_or(Error::NotFound { what: "message" })?;
            if fact.quiet {
                return Err(Error::InvalidTarget { why: "quiet agent messages are never unread" });
            }
        }
    }
    Ok(LocalKey::from(*target))
}
