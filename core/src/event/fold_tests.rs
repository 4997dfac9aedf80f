use super::*;
use crate::testing::{Author, channel, message, template};

struct Facts {
    relay: PublicKey,
    admin: Option<PublicKey>,
    elsewhere: Vec<EventId>,
}

impl FoldFacts for Facts {
    fn relay(&self) -> Option<&PublicKey> {
        Some(&self.relay)
    }
    fn is_channel_admin(&self, _: ChannelId, key: &PublicKey) -> bool {
        self.admin == Some(*key)
    }
    fn retained(&self, id: &EventId) -> bool {
        self.elsewhere.contains(id)
    }
}

fn facts() -> Facts {
    Facts { relay: Author::named("relay").key(), admin: None, elsewhere: Vec::new() }
}

fn about(by: &Author, kind: u16, at: u64, targets: &[EventId], text: &str) -> SharedEvent {
    let hex: Vec<String> = targets.iter().map(EventId::to_hex).collect();
    let tags: Vec<Vec<&str>> = hex.iter().map(|h| vec!["e", h.as_str()]).collect();
    let tags: Vec<&[&str]> = tags.iter().map(Vec::as_slice).collect();
    by.sign(template(kind, at, &tags, text))
}

fn text(fold: &Fold, row: &EventId) -> String {
    fold.edit(row).map_or_else(|| fold.get(row).unwrap().content.clone(), |e| e.content.clone())
}

#[test]
fn newest_edit_stands_and_its_deletion_restores() {
    let (ada, bo, f) = (Author::named("ada"), Author::named("bo"), facts());
    let row = message(&ada, channel("general"), 10, "one");
    let (e1, e2) = (about(&ada, 40003, 20, &[row.id], "two"), about(&ada, 40003, 30, &[row.id], "three"));
    let foreign = about(&bo, 40003, 99, &[row.id], "mine");
    let mut fold = Fold::default();
    fold.hold(&row, &f, 1);
    for e in [&e2, &e1, &foreign] {
        fold.apply(e, &f, 1);
    }
    assert_eq!(text(&fold, &row.id), "three");
    assert_eq!(fold.apply(&about(&ada, 5, 40, &[e2.id], ""), &f, 1), vec![row.id]);
    assert_eq!(text(&fold, &row.id), "two");
    fold.apply(&about(&ada, 5, 41, &[e1.id], ""), &f, 1);
    assert_eq!(text(&fold, &row.id), "one");
    assert!(fold.apply(&e1, &f, 1).is_empty(), "a deletion cannot be undone by hearing the edit again");
    assert_eq!(text(&fold, &row.id), "one");
}

#[test]
fn a_tie_of_edits_goes_to_the_lower_id() {
    let (ada, f) = (Author::named("ada"), facts());
    let row = message(&ada, channel("general"), 10, "one");
    let (a, b) = (about(&ada, 40003, 20, &[row.id], "a"), about(&ada, 40003, 20, &[row.id], "b"));
    let winner = if a.id < b.id { "a" } else { "b" };
    for order in [[&a, &b], [&b, &a]] {
        let mut fold = Fold::default();
        fold.hold(&row, &f, 1);
        order.iter().for_each(|e| drop(fold.apply(e, &f, 1)));
        assert_eq!(text(&fold, &row.id), winner);
    }
}

#[test]
fn reactions_count_once_for_each_actor_and_emoji() {
    let (ada, bo, f) = (Author::named("ada"), Author::named("bo"), facts());
    let row = message(&ada, channel("general"), 10, "one");
    let mut fold = Fold::default();
    fold.hold(&row, &f, 1);
    let (k1, k2) = (about(&bo, 7, 20, &[row.id], ""), about(&bo, 7, 21, &[row.id], "+"));
    let other = about(&ada, 7, 22, &[EventId([9; 32]), row.id], "🎉");
    for k in [&k1, &k2, &other, &about(&ada, 7, 23, &[row.id], &"x".repeat(300))] {
        fold.apply(k, &f, 1);
    }
    let mut got = fold.reactions(&row.id, None);
    got.sort_by_key(|(_, e)| (*e).to_owned());
    assert_eq!(got, vec![(bo.key(), "+"), (ada.key(), "🎉")], "the last e tag is the target");
    fold.apply(&about(&bo, 5, 30, &[k1.id], ""), &f, 1);
    assert_eq!(fold.reactions(&row.id, None).len(), 2, "the second of two equal reactions still stands");
    fold.apply(&about(&bo, 5, 31, &[k2.id], ""), &f, 1);
    assert_eq!(fold.reactions(&row.id, None), vec![(ada.key(), "🎉")]);
    fold.apply(&about(&ada, 5, 32, &[k2.id, other.id], ""), &f, 1);
    assert!(fold.reactions(&row.id, None).is_empty());
}

/// R9a: whatever arrives before its target waits for it, and authority is checked then.
#[test]
fn changes_may_overtake_their_target() {
    let (ada, bo, f) = (Author::named("ada"), Author::named("bo"), facts());
    let row = message(&ada, channel("general"), 10, "one");
    let edit = about(&ada, 40003, 20, &[row.id], "two");
    let mut fold = Fold::default();
    assert!(fold.apply(&edit, &f, 1).is_empty());
    fold.apply(&about(&bo, 5, 30, &[row.id], ""), &f, 1);
    fold.hold(&row, &f, 1);
    assert_eq!(text(&fold, &row.id), "two");
    assert!(!fold.is_deleted(&row.id), "a stranger's deletion waited in vain");
    let late = message(&ada, channel("general"), 11, "x");
    fold.apply(&about(&ada, 5, 31, &[late.id], ""), &f, 1);
    fold.hold(&late, &f, 1);
    assert!(fold.is_deleted(&late.id));
    let undone = about(&ada, 40003, 21, &[late.id], "y");
    fold.apply(&about(&ada, 5, 31, &[undone.id], ""), &f, 1);
    assert!(fold.apply(&undone, &f, 1).is_empty(), "an edit deleted before it came changes nothing");
    assert!(fold.edit(&late.id).is_none());
}

/// R9a, pitfalls I2.
#[test]
fn several_targets_are_taken_together_or_not_at_all() {
    let (ada, bo, mut f) = (Author::named("ada"), Author::named("bo"), facts());
    let general = channel("general");
    let (m1, m2, m3) = (message(&ada, general, 1, "1"), message(&ada, general, 2, "2"), message(&bo, general, 3, "3"));
    let mut fold = Fold::default();
    for m in [&m1, &m2, &m3] {
        fold.hold(m, &f, 1);
    }
    let unknown = EventId([7; 32]);
    assert!(fold.apply(&about(&ada, 5, 9, &[m1.id, unknown], ""), &f, 1).is_empty());
    assert!(!fold.is_deleted(&m1.id));
    f.elsewhere.push(unknown);
    assert_eq!(fold.apply(&about(&ada, 5, 9, &[m1.id, unknown], ""), &f, 1), vec![m1.id]);
    let rows = fold.apply(&about(&ada, 5, 9, &[m2.id, m3.id], ""), &f, 1);
    assert_eq!(rows, vec![m2.id]);
    assert!(!fold.is_deleted(&m3.id));
}

#[test]
fn admins_and_notices_delete() {
    let (ada, bo, relay, mut f) = (Author::named("ada"), Author::named("bo"), Author::named("relay"), facts());
    let general = channel("general");
    let (m1, m2) = (message(&ada, general, 1, "1"), message(&ada, general, 2, "2"));
    let mut fold = Fold::default();
    fold.hold(&m1, &f, 1);
    fold.apply(&about(&bo, 9005, 9, &[m1.id], ""), &f, 1);
    assert!(!fold.is_deleted(&m1.id));
    f.admin = Some(bo.key());
    fold.apply(&about(&bo, 9005, 10, &[m1.id], ""), &f, 1);
    assert!(fold.is_deleted(&m1.id));
    let body = format!(r#"{{"type":"message_deleted","target_event_id":"{}"}}"#, m2.id);
    fold.apply(&relay.sign(template(40099, 5, &[&["h", &general.to_string()]], &body)), &f, 1);
    fold.hold(&m2, &f, 1);
    assert!(fold.is_deleted(&m2.id), "a notice waits for its target as a deletion does");
}

#[test]
fn what_a_later_read_lacks_is_gone() {
    let (ada, f) = (Author::named("ada"), facts());
    let row = message(&ada, channel("general"), 10, "one");
    let (old, new) = (about(&ada, 7, 20, &[row.id], "a"), about(&ada, 7, 21, &[row.id], "b"));
    let mut fold = Fold::default();
    fold.hold(&row, &f, 1);
    fold.apply(&old, &f, 1);
    fold.apply(&new, &f, 2);
    assert!(fold.forget_unseen(&row.id, 2));
    assert_eq!(fold.reactions(&row.id, None), vec![(ada.key(), "b")]);
    assert!(!fold.forget_unseen(&row.id, 2));
    fold.retain(|_| false);
    assert!(fold.is_empty());
}

/// The oldest of what waits is forgotten at the bound.
#[test]
fn what_waits_is_bounded() {
    let ada = Author::named("ada");
    let event = message(&ada, channel("general"), 10, "one");
    let mut aside = Aside::default();
    let target = |i: u16| EventId([(i >> 8) as u8, i as u8].repeat(16).try_into().unwrap());
    for i in 0..50 {
        aside.keep(target(i), &event, 0, 10);
        aside.keep(target(i), &event, 0, 10);
    }
    assert_eq!(aside.len, 10);
    assert!(aside.take(&target(39)).is_empty());
    assert_eq!(aside.take(&target(40)).len(), 1);
    assert_eq!(aside.len, 9);
    for i in 100..1_000 {
        aside.keep(target(i), &event, 0, 10);
        aside.take(&target(i));
    }
    assert!(aside.order.len() <= 21 && aside.len <= 10);
}
