//! Rosters, admins, metadata and notices without any reading: what each event does to access.

use super::*;
use crate::testing::{Author, channel, template};

/// The people of these tests and a directory that trusts the relay.
pub(super) struct Bench {
    pub(super) relay: Author,
    pub(super) me: Author,
    pub(super) ada: Author,
    pub(super) bo: Author,
    pub(super) directory: Directory,
    pub(super) out: Outbox,
}

use crate::request::Outbox;

impl Bench {
    pub(super) fn new() -> Self {
        let (relay, me) = (Author::named("relay"), Author::named("me"));
        let directory = Directory::new(me.key(), Trust::Key(relay.key()));
        let (ada, bo) = (Author::named("ada"), Author::named("bo"));
        Self { relay, me, ada, bo, directory, out: Outbox::default() }
    }

    pub(super) fn roster_by(&self, by: &Author, c: ChannelId, at: u64, people: &[&Author]) -> SharedEvent {
        let keys: Vec<_> = people.iter().map(|p| p.key().to_hex()).collect();
        let mut tags = vec![vec!["d".to_owned(), c.to_string()]];
        tags.extend(keys.iter().map(|k| vec!["p".into(), k.clone(), String::new(), "member".into()]));
        let mut t = template(kinds::MEMBERS, at, &[], "");
        t.tags = tags;
        by.sign(t)
    }

    pub(super) fn roster(&self, c: ChannelId, at: u64, people: &[&Author]) -> SharedEvent {
        self.roster_by(&self.relay, c, at, people)
    }

    pub(super) fn meta(&self, c: ChannelId, at: u64, tags: &[&[&str]]) -> SharedEvent {
        let d = c.to_string();
        let mut all: Vec<&[&str]> = vec![];
        let d_tag: &[&str] = &["d", &d];
        all.push(d_tag);
        all.extend(tags);
        self.relay.sign(template(kinds::CHANNEL, at, &all, ""))
    }

    pub(super) fn notice(&self, c: ChannelId, at: u64, added: bool) -> SharedEvent {
        let kind = if added { kinds::MEMBER_ADDED } else { kinds::MEMBER_REMOVED };
        self.relay.sign(template(kind, at, &[&["p", &self.me.key().to_hex()], &["h", &c.to_string()]], "{}"))
    }

    pub(super) fn live(&mut self, event: &SharedEvent) -> AccessChange {
        self.directory.on_event(event, &mut self.out)
    }

    fn allowed(&self, c: ChannelId) -> bool {
        self.directory.is_allowed(c)
    }
}

fn only(c: ChannelId) -> BTreeSet<ChannelId> {
    BTreeSet::from([c])
}

/// `unread.md` 1.25, 13.4: a roster or metadata by anybody but the relay is ignored.
#[test]
fn only_the_relay_gives_and_takes_access() {
    let mut b = Bench::new();
    let c = channel("ops");
    let forged = b.roster_by(&b.ada, c, 50, &[&b.me, &b.ada]);
    assert!(b.live(&forged).is_empty() && !b.allowed(c));
    let real = b.roster(c, 10, &[&b.me, &b.ada]);
    assert_eq!(b.live(&real).granted, only(c));
    let taken = b.roster_by(&b.ada, c, 90, &[&b.ada]);
    assert!(b.live(&taken).is_empty() && b.allowed(c));
    let dm = b.ada.sign(template(kinds::CHANNEL, 90, &[&["d", &c.to_string()], &["t", "dm"]], ""));
    assert!(b.live(&dm).is_empty());
    assert_eq!(b.directory.facts(c).unwrap().channel_type, ChannelType::Unknown);
}

/// R2: without an advertised key the transport stands in, and without either nothing counts.
#[test]
fn trust_without_a_relay_key() {
    let mut b = Bench::new();
    let c = channel("general");
    let roster = b.roster(c, 10, &[&b.me]);
    b.directory = Directory::new(b.me.key(), Trust::None);
    assert!(b.live(&roster).is_empty());
    b.directory = Directory::new(b.me.key(), Trust::Transport);
    assert_eq!(b.live(&roster).granted, only(c));
    // The relay turns out to have another key: what it did not sign is forgotten.
    let change = b.directory.set_trust(Trust::Key(b.ada.key()));
    assert_eq!((change.revoked, change.hidden), (only(c), only(c)));
}

/// `unread.md` 1.5: newest wins, a tie goes to the lower id, and the future is as good as any time (`relay-measured.md` 6).
#[test]
fn the_newest_roster_wins() {
    let mut b = Bench::new();
    let c = channel("general");
    let (with, without) = (b.roster(c, 10, &[&b.me]), b.roster(c, 10, &[&b.ada]));
    let (low, high) = if with.id < without.id { (with, without) } else { (without, with) };
    b.live(&high);
    b.live(&low);
    let by_low = b.allowed(c);
    assert_eq!(by_low, low.p_tags(&b.me.key().to_hex()));
    b.live(&high);
    assert_eq!(b.allowed(c), by_low);
    let far = b.roster(c, u64::MAX, &[&b.me]);
    b.live(&far);
    assert!(b.allowed(c));
}

/// `unread.md` 1.5: losing the `p` denies, and no older roster gives it back.
#[test]
fn denial_survives_a_replay() {
    let mut b = Bench::new();
    let c = channel("general");
    let (first, second) = (b.roster(c, 10, &[&b.me, &b.ada]), b.roster(c, 20, &[&b.ada]));
    b.live(&first);
    let change = b.live(&second);
    assert_eq!((&change.revoked, &change.hidden), (&only(c), &only(c)));
    assert!(b.live(&first).is_empty() && !b.allowed(c));
    assert_eq!(b.directory.facts(c), None);
    let third = b.roster(c, 30, &[&b.me]);
    assert_eq!(b.live(&third).granted, only(c));
}

/// R8b: the newest roster seen is remembered over restarts, and so is a denial that came without a roster.
#[test]
fn a_replayed_roster_gives_nothing_back_after_a_restart() {
    let mut b = Bench::new();
    let (c, d) = (channel("general"), channel("ops"));
    let old = b.roster(c, 10, &[&b.me]);
    for event in [old.clone(), b.roster(c, 20, &[&b.ada]), b.roster(d, 10, &[&b.me]), b.notice(d, 30, false)] {
        b.live(&event);
    }
    let stored = b.directory.take_unsaved();
    assert!(b.directory.take_unsaved().is_empty());
    b.directory = Directory::new(b.me.key(), Trust::Key(b.relay.key()));
    assert!(b.directory.restore(stored).granted.is_empty());
    b.live(&old);
    // Newer than the roster held, but older than the removal.
    let between = b.roster(d, 25, &[&b.me]);
    b.live(&between);
    assert!(!b.allowed(c) && !b.allowed(d));
    let rejoined = b.roster(d, 31, &[&b.me]);
    assert_eq!(b.live(&rejoined).granted, only(d));
}

/// R8b: a restored roster is access, unconfirmed.
#[test]
fn restored_rosters_are_access() {
    let mut b = Bench::new();
    let c = channel("general");
    for event in [b.roster(c, 10, &[&b.me]), b.meta(c, 10, &[&["name", "general"], &["t", "stream"]])] {
        b.live(&event);
    }
    let stored = b.directory.take_unsaved();
    b.directory = Directory::new(b.me.key(), Trust::Key(b.relay.key()));
    let change = b.directory.restore(stored.clone());
    assert_eq!(change.granted, only(c));
    let facts = b.directory.facts(c).unwrap();
    assert!(facts.allowed && !facts.confirmed && b.directory.is_cached());
    assert_eq!(facts.name.as_deref(), Some("general"));
    assert!(b.directory.take_unsaved().is_empty(), "what was just read is not written again");
    // A relay with another key: none of it counts.
    b.directory = Directory::new(b.me.key(), Trust::Key(b.ada.key()));
    assert!(b.directory.restore(stored).is_empty());
}

/// `unread.md` 1.2, 1.5: type, openness, archive and participants.
#[test]
fn metadata_is_read() {
    let mut b = Bench::new();
    let c = channel("town");
    let open = b.meta(c, 10, &[&["name", " town\n"], &["public"], &["closed"], &["t", "stream"], &["t", "dm"]]);
    let change = b.live(&open);
    assert!(change.granted.is_empty() && change.touched == only(c));
    let facts = b.directory.facts(c).unwrap().clone();
    assert!(!facts.allowed && !facts.archived && facts.name.as_deref() == Some("town"));
    assert_eq!(facts.channel_type, ChannelType::Stream);
    for (at, tags) in [(20, [["private"]]), (22, [["hidden"]])] {
        let closed = b.meta(c, at, &[&["public"], &tags[0]]);
        assert_eq!(b.live(&closed).hidden, only(c), "{tags:?}");
        let reopened = b.meta(c, at + 1, &[&["public"], &["archived", "true"]]);
        b.live(&reopened);
        assert!(b.directory.facts(c).unwrap().archived);
    }
    let dm = b.meta(c, 30, &[&["public"], &["t", "dm"]]);
    assert_eq!(b.live(&dm).hidden, only(c));
}

/// Late metadata changes the type of a channel one already reads (`unread.md` 1.5), and a DM has its other members.
#[test]
fn late_dm_metadata() {
    let mut b = Bench::new();
    let c = channel("dm");
    let mut people = vec![&b.bo, &b.me, &b.ada, &b.bo];
    people.sort_by_key(|p| p.key());
    let roster = b.roster(c, 10, &people);
    b.live(&roster);
    assert_eq!(b.directory.facts(c).unwrap().channel_type, ChannelType::Unknown);
    assert!(b.directory.facts(c).unwrap().participants.is_empty());
    let meta = b.meta(c, 10, &[&["name", "DM"], &["private"], &["hidden"], &["t", "dm"]]);
    let change = b.live(&meta);
    assert_eq!((&change.type_changed, &change.renamed), (&only(c), &only(c)));
    assert!(!change.allowed_changed());
    let mut others = vec![b.ada.key(), b.bo.key()];
    others.sort_unstable();
    assert_eq!(b.directory.facts(c).unwrap().participants, others);
}

/// R9: owners and admins by 39001 (role at index 2) and 39002 (role at index 3).
#[test]
fn admins_by_either_list() {
    let mut b = Bench::new();
    let (c, d) = (channel("general").to_string(), channel("general"));
    let (ada, bo) = (b.ada.key(), b.bo.key());
    let list = b.relay.sign(template(
        kinds::ADMINS,
        5,
        &[&["d", &c], &["p", &ada.to_hex(), "owner"], &["p", &bo.to_hex(), "", "admin"]],
        "",
    ));
    b.live(&list);
    assert!(b.directory.is_admin(d, &ada) && !b.directory.is_admin(d, &bo));
    let members = b.relay.sign(template(
        kinds::MEMBERS,
        5,
        &[&["d", &c], &["p", &bo.to_hex(), "", "admin"], &["p", &b.me.key().to_hex(), "", "member"]],
        "",
    ));
    b.live(&members);
    assert!(b.directory.is_admin(d, &bo) && !b.directory.is_admin(d, &b.me.key()));
    let forged = b.bo.sign(template(kinds::ADMINS, 9, &[&["d", &c], &["p", &b.me.key().to_hex(), "owner"]], ""));
    b.live(&forged);
    assert!(!b.directory.is_admin(d, &b.me.key()));
}

/// B10: leave and rejoin in either order, and of one second the higher id.
#[test]
fn leave_then_rejoin_in_any_order() {
    for (removed, added, swap) in [(20, 21, false), (20, 21, true), (20, 20, false), (20, 20, true)] {
        let mut b = Bench::new();
        let c = channel("general");
        let first = b.roster(c, 10, &[&b.me]);
        b.live(&first);
        let (gone, back) = (b.notice(c, removed, false), b.notice(c, added, true));
        let back_decides = (back.created_at, back.id) > (gone.created_at, gone.id);
        for notice in if swap { [&back, &gone] } else { [&gone, &back] } {
            b.live(notice);
        }
        let rejoined = b.roster(c, 22, &[&b.me]);
        b.live(&rejoined);
        assert!(b.allowed(c), "the roster of the rejoining is newer than either notice");
        if swap && back_decides {
            let mut again = Bench::new();
            again.live(&first);
            again.live(&back);
            assert!(again.live(&gone).is_empty(), "an older removal changes nothing");
        }
    }
}

/// A removal older than the roster held (rapid changes date rosters ahead) waits for the answer; anybody else's is ignored.
#[test]
fn removal_notices() {
    let mut b = Bench::new();
    let c = channel("general");
    let roster = b.roster(c, 12, &[&b.me]);
    b.live(&roster);
    let early = b.notice(c, 11, false);
    assert!(b.live(&early).is_empty() && b.allowed(c));
    let tags: &[&[&str]] = &[&["p", &b.me.key().to_hex()], &["h", &c.to_string()]];
    let forged = b.bo.sign(template(kinds::MEMBER_REMOVED, 50, tags, "{}"));
    assert!(b.live(&forged).is_empty() && b.allowed(c));
    let others = b.relay.sign(template(
        kinds::MEMBER_REMOVED,
        50,
        &[&["p", &b.ada.key().to_hex()], &["h", &c.to_string()]],
        "{}",
    ));
    assert!(b.live(&others).is_empty() && b.allowed(c));
    let real = b.notice(c, 50, false);
    assert_eq!(b.live(&real).revoked, only(c));
}

/// A channel lost and regained in one step is in both sets, one gained and lost only in `revoked`.
#[test]
fn one_change_tells_what_was_lost_meanwhile() {
    let mut b = Bench::new();
    let c = channel("general");
    let first = b.roster(c, 10, &[&b.me]);
    b.live(&first);
    let mut change = AccessChange::default();
    let (gone, back) = (b.roster(c, 11, &[&b.ada]), b.roster(c, 12, &[&b.me]));
    b.directory.take(&gone, Source::Live, &mut change);
    b.directory.take(&back, Source::Live, &mut change);
    assert_eq!((&change.revoked, &change.granted), (&only(c), &only(c)));
    let gone = b.roster(c, 13, &[&b.ada]);
    b.directory.take(&gone, Source::Live, &mut change);
    assert_eq!((&change.revoked, &change.granted), (&only(c), &BTreeSet::new()));
}

/// 1,024 ids per map; a joined channel's metadata displaces one that is only browsed.
#[test]
fn maps_are_bounded() {
    let mut b = Bench::new();
    let id = |n: usize| channel(&format!("c{n}"));
    for n in 0..limits::DIRECTORY_CHANNELS {
        let meta = b.meta(id(n), 5, &[&["public"], &["t", "stream"]]);
        b.live(&meta);
    }
    let late = b.meta(id(5_000), 5, &[&["public"]]);
    assert!(b.live(&late).is_empty());
    let roster = b.roster(id(5_000), 5, &[&b.me]);
    b.live(&roster);
    let change = b.live(&late);
    assert!(b.directory.facts(id(5_000)).unwrap().allowed);
    assert_eq!(b.directory.channels().count(), limits::DIRECTORY_CHANNELS);
    assert_eq!(change.hidden.len(), 1, "the displaced channel is told");
    for n in 0..limits::DIRECTORY_CHANNELS {
        let roster = b.roster(id(n + 10_000), 5, &[&b.me]);
        b.live(&roster);
    }
    assert_eq!(b.directory.allowed().count(), limits::DIRECTORY_CHANNELS);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Whatever the order of arrival, with repetitions, the newest roster decides (`unread.md` 1.5).
    #[test]
    fn rosters_converge(
        versions in proptest::collection::vec((1u64..4, proptest::bool::ANY), 1..5),
        arrivals in proptest::collection::vec(0usize..5, 1..12),
    ) {
        let mut b = Bench::new();
        let c = channel("general");
        let people = |listed: bool| if listed { vec![&b.me, &b.ada] } else { vec![&b.ada] };
        let rosters: Vec<_> = versions.iter().map(|(at, listed)| b.roster(c, *at, &people(*listed))).collect();
        for index in arrivals.into_iter().filter(|i| *i < rosters.len()).chain(0..rosters.len()) {
            b.live(&rosters[index]);
        }
        let newest = rosters.iter().min_by_key(|e| e.key()).unwrap();
        proptest::prop_assert_eq!(b.allowed(c), newest.p_tags(&b.me.key().to_hex()));
    }
}

#[test]
fn names_are_cut_and_debug_shows_no_ids() {
    let mut b = Bench::new();
    let c = channel("general");
    let long = "ä".repeat(500);
    let meta = b.meta(c, 5, &[&["public"], &["name", &long]]);
    b.live(&meta);
    assert_eq!(b.directory.facts(c).unwrap().name.as_ref().unwrap().chars().count(), limits::NAME_CHARS);
    let shown = format!("{:?} {:?}", b.directory, b.directory.facts(c));
    assert!(!shown.contains(&c.to_string()) && !shown.contains(&b.me.key().to_hex()) && !shown.contains("ää"));
}
