//! What an earned dwell reads (`unread.md` 6.2, 6.3; R12, R14, R14a, R15).

use super::{Facts, Intent, Lease, MessageFact};
use crate::ids::{ChannelId, EventId};
use crate::journal::{Fence, Key, LocalKey, Read};

/// Where a dwell happened.
pub(super) struct Scene {
    pub(super) channel: ChannelId,
    /// The thread shown, if the surface shows one.
    pub(super) root: Option<EventId>,
    /// The newest time a prefix may reach.
    pub(super) horizon: u64,
}

/// The intents of a dwell, in the order they are to be saved: catch-up first.
pub(super) fn evaluate(scene: &Scene, lease: &Lease, facts: &impl Facts) -> Vec<Intent> {
    let newer_mark = facts.mark_revision(&LocalKey::Channel(scene.channel)).is_some_and(|r| r > lease.revision);
    if newer_mark || !facts.allowed(scene.channel) || !facts.can_write_frontiers() {
        return Vec::new();
    }
    let intents = if facts.is_dm(scene.channel) {
        vec![dm(scene, lease, facts)]
    } else {
        let catch_up = match scene.root {
            Some(root) => thread_bottom(scene, lease, root, facts),
            None => channel_bottom(scene, lease, facts),
        };
        vec![catch_up, Some(rows(scene, lease, facts))]
    };
    intents.into_iter().flatten().filter(|i| !i.is_empty()).collect()
}

fn intent(fences: &[LocalKey], witnesses: Vec<EventId>, lease: &Lease) -> Intent {
    let fences = fences.iter().map(|key| Fence { key: *key, revision: lease.revision }).collect();
    Intent { read: Read { fences, ..Read::default() }, witnesses }
}

/// Marks each visible message alone. Own and quiet rows are read already; notices and rows not held are nobody's to mark.
fn rows(scene: &Scene, lease: &Lease, facts: &impl Facts) -> Intent {
    let mut intent = intent(&[LocalKey::Channel(scene.channel)], Vec::new(), lease);
    for fact in lease.visible.iter().filter_map(|id| facts.message(scene.channel, *id)) {
        if fact.own || fact.quiet {
            continue;
        }
        let covers = row_covers(scene, &fact, facts);
        intent.mark(Key::Message(fact.id), fact.created_at, covers);
        intent.witnesses.push(fact.id);
    }
    intent
}

/// Keys under which a visible row needs no mark of its own (`unread.md` 6.2).
fn row_covers(scene: &Scene, fact: &MessageFact, facts: &impl Facts) -> Vec<Key> {
    let mut covers = message_covers(scene.channel, fact);
    if fact.ordinary() && facts.type_known(scene.channel) && !fact.overridden {
        covers.push(Key::Activity(scene.channel));
    }
    covers
}

/// Frontiers that read any message: its channel's and its thread's.
pub(super) fn message_covers(channel: ChannelId, fact: &MessageFact) -> Vec<Key> {
    let mut covers = vec![Key::Channel(channel)];
    // `thread:` marks read replies, never the root itself (R8f).
    if let Some(root) = fact.resolved_root.filter(|_| fact.reference.is_some()) {
        covers.push(Key::Thread(root));
    }
    covers
}

/// The message a bottom row stands for: itself, or the newest message row above a notice (R14a).
fn bottom_message(scene: &Scene, bottom: EventId, messages: &[MessageFact], facts: &impl Facts) -> Option<MessageFact> {
    if let Some(fact) = messages.iter().find(|m| m.id == bottom) {
        return Some(*fact);
    }
    let notice = facts.other_row(scene.channel, bottom)?;
    messages.iter().rev().find(|m| m.row && (m.created_at, m.id) <= (notice.created_at, m.id)).copied()
}

fn newest_within(messages: &[MessageFact], horizon: u64) -> Option<u64> {
    messages.iter().map(|m| m.created_at).filter(|t| *t <= horizon).max()
}

fn channel_bottom(scene: &Scene, lease: &Lease, facts: &impl Facts) -> Option<Intent> {
    let messages = facts.messages(scene.channel);
    let bottom = bottom_message(scene, lease.bottom?, &messages, facts).filter(|m| m.row)?;
    if messages.iter().any(|m| m.row && m.created_at > bottom.created_at) {
        return None;
    }
    let mut intent = intent(&[LocalKey::Channel(scene.channel)], vec![bottom.id], lease);
    if let Some(cut) = newest_within(&messages, scene.horizon) {
        intent.mark(Key::Activity(scene.channel), cut, vec![Key::Channel(scene.channel)]);
    }
    for m in messages.iter().filter(|m| m.row && m.created_at <= bottom.created_at && !m.own && !m.quiet) {
        // What `activity:` cannot read: priority, and anything dated beyond the horizon.
        if (m.priority || m.created_at > scene.horizon) && !m.marked {
            intent.mark(Key::Message(m.id), m.created_at, message_covers(scene.channel, m));
        }
    }
    if facts.mark_revision(&LocalKey::Channel(scene.channel)).is_some() {
        intent.read.clear.push(LocalKey::Channel(scene.channel));
    }
    Some(intent)
}

fn thread_bottom(scene: &Scene, lease: &Lease, root: EventId, facts: &impl Facts) -> Option<Intent> {
    let newer_mark = facts.mark_revision(&LocalKey::Thread(root)).is_some_and(|r| r > lease.revision);
    let messages = facts.messages(scene.channel);
    let replies: Vec<_> =
        messages.into_iter().filter(|m| m.reference.is_some() && m.resolved_root == Some(root)).collect();
    let bottom = *replies.iter().find(|m| Some(m.id) == lease.bottom)?;
    if newer_mark || replies.iter().any(|m| m.created_at > bottom.created_at) {
        return None;
    }
    let mut intent = intent(&[LocalKey::Channel(scene.channel), LocalKey::Thread(root)], vec![bottom.id], lease);
    if let Some(cut) = newest_within(&replies, scene.horizon) {
        intent.mark(Key::ThreadActivity(root), cut, vec![Key::Channel(scene.channel), Key::Thread(root)]);
    }
    for m in replies.iter().filter(|m| m.created_at > scene.horizon && !m.own && !m.quiet && !m.marked) {
        intent.mark(Key::Message(m.id), m.created_at, message_covers(scene.channel, m));
    }
    Some(intent)
}

/// A DM is read whole through its channel frontier; a thread of it stops before the earliest unread message outside.
fn dm(scene: &Scene, lease: &Lease, facts: &impl Facts) -> Option<Intent> {
    let shown: Vec<MessageFact> =
        lease.visible.iter().chain(lease.bottom.as_ref()).filter_map(|id| facts.message(scene.channel, *id)).collect();
    let witness = shown.first()?.id;
    let messages = facts.messages(scene.channel);
    let newest = newest_within(&messages, scene.horizon);
    let cut = match scene.root {
        None => newest,
        Some(root) => newest.and_then(|n| {
            let outside = earliest_outside(scene, root, &shown, &messages, facts);
            outside.map_or(Some(n), |t| t.checked_sub(1).map(|before| n.min(before)))
        }),
    };
    let mut intent = intent(&[LocalKey::Channel(scene.channel)], vec![witness], lease);
    if let Some(cut) = cut {
        intent.mark(Key::Channel(scene.channel), cut, Vec::new());
    }
    for m in shown.iter().filter(|m| m.created_at > scene.horizon && !m.own && !m.quiet) {
        if !intent.read.marks.iter().any(|mark| mark.key == Key::Message(m.id)) {
            intent.mark(Key::Message(m.id), m.created_at, vec![Key::Channel(scene.channel)]);
        }
    }
    // R15: a cut that stops early leaves the DM's manual mark alone.
    if cut == newest && facts.mark_revision(&LocalKey::Channel(scene.channel)).is_some() {
        intent.read.clear.push(LocalKey::Channel(scene.channel));
    }
    Some(intent)
}

/// Time of the earliest message outside the thread that frontiers leave unread (`unread.md` 6.3).
fn earliest_outside(
    scene: &Scene,
    root: EventId,
    shown: &[MessageFact],
    messages: &[MessageFact],
    facts: &impl Facts,
) -> Option<u64> {
    // A view of one reply whose original cannot be had shows that reply alone; the thread's others are hidden there.
    let first = shown.first().map(|m| m.id);
    let alone = shown.iter().all(|m| Some(m.id) == first)
        && shown.first().is_some_and(|m| m.reference.is_some())
        && !facts.knows(scene.channel, root);
    let member = |m: &MessageFact| if alone { Some(m.id) == first } else { m.id == root || m.claimed_root() == root };
    messages
        .iter()
        .filter(|m| !m.own && !m.quiet && !m.marked && m.created_at <= scene.horizon && m.beyond_frontier && !member(m))
        .map(|m| m.created_at)
        .min()
}
