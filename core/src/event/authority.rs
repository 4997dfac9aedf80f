//! Who may change another event: deletion, edit, and the relay's deletion notice (R9; `unread.md` 3.3).
//!
//! Pure functions over verified events, shared by `evidence` (what counts) and `window` (what is drawn), so that both say the
//! same. Time plays no part: a deletion may be older than its target.
//!
//! Where an event says it belongs decides little: R9 asks who signed it, and 3.2 takes a deletion in by its own `h` *and* the channels of all
//! its targets, so one deletion may name messages of two channels (3.11), whichever of them it is tagged with. An author's
//! deletion or edit therefore counts under any `h`, or none. Rights that come with a channel do not travel: a moderator's deletion and a notice
//! must lie in their target's channel.
//!
//! Invariants: nobody but an author changes a target from another channel; an event with several `h` tags changes nothing.

use super::{Event, Scope, kinds};
use crate::ids::{EventId, PublicKey};

/// Whether `deletion` (kind 5 or 9005) removes `target` (R9): the target's signer, the author the relay attributes a target to
/// that it signed itself, and for kind 9005 also an owner or admin of the target's channel.
///
/// `relay` is the trusted NIP-11 `self`. `is_channel_admin` answers by the relay-signed 39001/39002 of the *target's* channel.
/// That the deletion names the target is the caller's to check.
pub fn may_delete(
    deletion: &Event,
    target: &Event,
    relay: Option<&PublicKey>,
    is_channel_admin: impl Fn(&PublicKey) -> bool,
) -> bool {
    if !kinds::is_deletion(deletion.kind) || deletion.scope == Scope::Invalid {
        return false;
    }
    is_author(&deletion.pubkey, target, relay)
        || (deletion.kind == kinds::MODERATION && same_channel(deletion, target) && is_channel_admin(&deletion.pubkey))
}

/// Whether `edit` (kind 40003) replaces the text of `target` (R9, R11): the signer or attributed author of a row that people
/// write. A notice is nobody's to edit.
pub fn may_edit(edit: &Event, target: &Event, relay: Option<&PublicKey>) -> bool {
    edit.kind == kinds::EDIT
        && kinds::is_row(target.kind)
        && target.kind != kinds::NOTICE
        && edit.scope != Scope::Invalid
        && is_author(&edit.pubkey, target, relay)
}

/// The message that a relay-signed `message_deleted` notice (kind 40099) names, if that is what `notice` is (R9). Without a
/// trusted relay key no notice deletes anything.
pub fn notice_deletes(notice: &Event, relay: Option<&PublicKey>) -> Option<EventId> {
    if notice.kind != kinds::NOTICE || relay != Some(&notice.pubkey) {
        return None;
    }
    let body: serde_json::Value = serde_json::from_str(&notice.content).ok()?;
    if body.get("type")?.as_str()? != "message_deleted" {
        return None;
    }
    EventId::parse_reference(body.get("target_event_id")?.as_str()?)
}

/// Whether a notice for which [`notice_deletes`] named `target` lies in the target's channel, as it must.
pub fn notice_fits(notice: &Event, target: &Event) -> bool {
    notice.channel().is_some() && notice.channel() == target.channel()
}

/// The event that an edit or a reaction is about: its last valid `e` tag (`protocol.md` 6.6).
pub fn last_target(event: &Event) -> Option<EventId> {
    event.e_targets().last()
}

fn is_author(key: &PublicKey, target: &Event, relay: Option<&PublicKey>) -> bool {
    *key == target.pubkey || *key == target.author(relay)
}

/// Whether a moderator acts in the target's channel. The event need not name one; a target without a channel of its own (a
/// reaction, an edit sent without `h`) fits any.
fn same_channel(event: &Event, target: &Event) -> bool {
    match (event.scope, target.scope) {
        (Scope::None, _) | (_, Scope::None) => true,
        (own, other) => own == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Author, channel, message, template};

    fn nobody(_: &PublicKey) -> bool {
        false
    }

    fn deletion(by: &Author, kind: u16, target: &Event, h: &[&str]) -> std::sync::Arc<Event> {
        let id = target.id.to_hex();
        let mut tags: Vec<Vec<&str>> = h.iter().map(|c| vec!["h", *c]).collect();
        tags.push(vec!["e", &id]);
        let tags: Vec<&[&str]> = tags.iter().map(Vec::as_slice).collect();
        by.sign(template(kind, 5, &tags, ""))
    }

    /// R9: author, attributed author, channel admin by kind 9005; nobody else.
    #[test]
    fn who_may_delete() {
        let (ada, bo, relay) = (Author::named("ada"), Author::named("bo"), Author::named("relay"));
        let general = channel("general");
        let target = message(&ada, general, 10, "x");
        assert!(may_delete(&deletion(&ada, 5, &target, &[]), &target, None, nobody));
        assert!(!may_delete(&deletion(&bo, 5, &target, &[]), &target, None, |_| true), "kind 5 gives an admin nothing");
        assert!(!may_delete(&deletion(&bo, 9005, &target, &[]), &target, None, nobody));
        assert!(may_delete(&deletion(&bo, 9005, &target, &[]), &target, None, |k| *k == bo.key()));
        let posted = relay.sign(template(9, 10, &[&["h", &general.to_string()], &["actor", &ada.key().to_hex()]], "x"));
        let by_ada = deletion(&ada, 5, &posted, &[]);
        assert!(may_delete(&by_ada, &posted, Some(&relay.key()), nobody));
        assert!(!may_delete(&by_ada, &posted, None, nobody), "no attribution without a trusted relay key");
        assert!(!may_delete(&message(&ada, general, 5, ""), &target, None, nobody), "a message deletes nothing");
    }

    #[test]
    fn another_channels_tag_takes_nothing_from_an_author_and_gives_nobody_a_right() {
        let ada = Author::named("ada");
        let (general, ops) = (channel("general"), channel("ops"));
        let target = message(&ada, general, 10, "x");
        let (g, o) = (general.to_string(), ops.to_string());
        assert!(may_delete(&deletion(&ada, 5, &target, &[&g]), &target, None, nobody));
        assert!(may_delete(&deletion(&ada, 5, &target, &[&o]), &target, None, nobody), "R9 asks who, not where");
        assert!(!may_delete(&deletion(&ada, 5, &target, &[&g, &o]), &target, None, nobody));
        let bo = Author::named("bo");
        let moderated = |h: &[&str]| may_delete(&deletion(&bo, 9005, &target, h), &target, None, |k| *k == bo.key());
        assert!(moderated(&[&g]) && moderated(&[]));
        assert!(!moderated(&[&o]) && !moderated(&[&g, &o]));
        let id = target.id.to_hex();
        let edit = |by: &Author, h: &[&[&str]]| by.sign(template(40003, 20, &[h, &[&["e", &id]]].concat(), "y"));
        assert!(may_edit(&edit(&ada, &[&["h", &o]]), &target, None));
        assert!(!may_edit(&edit(&bo, &[&["h", &o]]), &target, None));
        assert!(!may_edit(&edit(&ada, &[&["h", &g], &["h", &o]]), &target, None));
    }

    #[test]
    fn who_may_edit() {
        let (ada, bo, relay) = (Author::named("ada"), Author::named("bo"), Author::named("relay"));
        let general = channel("general");
        let target = message(&ada, general, 10, "x");
        let id = target.id.to_hex();
        let edit = |by: &Author| by.sign(template(40003, 20, &[&["h", &general.to_string()], &["e", &id]], "y"));
        assert!(may_edit(&edit(&ada), &target, None));
        assert!(!may_edit(&edit(&bo), &target, None));
        let notice = relay.sign(template(40099, 10, &[&["h", &general.to_string()]], "{}"));
        assert!(!may_edit(&edit(&relay), &notice, Some(&relay.key())));
    }

    #[test]
    fn only_the_relays_notice_deletes() {
        let (ada, relay) = (Author::named("ada"), Author::named("relay"));
        let (general, ops) = (channel("general"), channel("ops"));
        let target = message(&ada, general, 10, "x");
        let body = format!(r#"{{"type":"message_deleted","target_event_id":"{}"}}"#, target.id);
        let notice = |by: &Author, c, body: &str| by.sign(template(40099, 11, &[&["h", &format!("{c}")]], body));
        let key = relay.key();
        assert_eq!(notice_deletes(&notice(&relay, general, &body), Some(&key)), Some(target.id));
        assert_eq!(notice_deletes(&notice(&ada, general, &body), Some(&key)), None);
        assert_eq!(notice_deletes(&notice(&relay, general, &body), None), None);
        assert_eq!(notice_deletes(&notice(&relay, general, &body.replace("deleted", "pinned")), Some(&key)), None);
        assert_eq!(notice_deletes(&notice(&relay, general, "not json"), Some(&key)), None);
        assert!(notice_fits(&notice(&relay, general, &body), &target));
        assert!(!notice_fits(&notice(&relay, ops, &body), &target));
    }
}
