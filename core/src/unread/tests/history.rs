//! Random histories: after every step every target's answer is the oracle's ([`World::with`] compares), and the same events in
//! another order of arrival end in the same counts.

use std::sync::{Arc, OnceLock};

use proptest::prelude::*;

use super::kit::{World, bare, find, member, say};
use crate::entropy::Entropy;
use crate::error::Error;
use crate::event::SharedEvent;
use crate::ids::EventId;
use crate::limits;
use crate::model::ChannelType;
use crate::relevance::FollowChoice;
use crate::testing::{Author, channel};
use crate::unread::{MarkKey, Register};

const CHANNELS: [&str; 3] = ["c", "d", "a-dm"];
const PEOPLE: [&str; 4] = ["me", "ada", "bo", "relay"];
/// Message times are 1 to this.
const LATEST: u64 = 40;

/// Messages in threads of every shape, and deletions, edits and notices about them. Signed once.
fn pool() -> &'static [SharedEvent] {
    static POOL: OnceLock<Vec<SharedEvent>> = OnceLock::new();
    POOL.get_or_init(|| {
        let mut random = Entropy::from_seed(7);
        let mut events: Vec<SharedEvent> = Vec::new();
        let mut pick = |n: usize| usize::try_from(random.below(n as u64)).unwrap();
        for n in 0..48 {
            let home = CHANNELS[pick(3)];
            let mut message = say(PEOPLE[pick(4)], home, 1 + pick(LATEST as usize) as u64).text(&n.to_string());
            if n > 4 && pick(10) < 7 {
                let parent = &events[pick(n)];
                let stranger = EventId([u8::try_from(pick(3)).unwrap() + 1; 32]);
                message = match pick(8) {
                    0 => message.to(&stranger),
                    1 => message.under(&events[pick(n)].id, &parent.id),
                    2 => message.under(&stranger, &parent.id),
                    _ => message.under(&parent.claimed_root(), &parent.id),
                };
            }
            for (chance, tag) in [(6, 0), (8, 1), (10, 2)] {
                if pick(chance) == 0 {
                    message =
                        [super::kit::Say::mention, super::kit::Say::broadcast, super::kit::Say::quiet][tag](message);
                }
            }
            events.push(message.sign());
        }
        for _ in 0..24 {
            let target = events[pick(48)].clone();
            let author = PEOPLE.into_iter().find(|p| Author::named(p).key() == target.pubkey).unwrap();
            let about = |by, kind| bare(by, 50).kind(kind).about(&[&target.id]);
            let home = target.channel().unwrap().to_string();
            let notice = format!(r#"{{"type":"message_deleted","target_event_id":"{}"}}"#, target.id);
            events.push(match pick(6) {
                0 => about(PEOPLE[pick(4)], 5).sign(),
                1 => about(author, 5).sign(),
                2 => about(author, 5).about(&[&events[pick(48)].id]).sign(),
                3 => about("bo", 9005).sign(),
                4 => bare("relay", 50).kind(40099).tag(&["h", &home]).text(&notice).sign(),
                _ => about(author, 40003).text("edited").sign(),
            });
        }
        for n in 0..4 {
            let change = events.iter().filter(|e| e.kind == 40003).nth(n).cloned();
            events.extend(change.map(|e| bare("ada", 60).kind(5).about(&[&e.id]).sign()));
        }
        events
    })
}

fn flood() -> &'static [SharedEvent] {
    static FLOOD: OnceLock<Vec<SharedEvent>> = OnceLock::new();
    FLOOD.get_or_init(|| {
        let large = "x".repeat(1_000_000);
        (0..9).map(|at| say("ada", "c", at).text(&large).sign()).collect()
    })
}

#[derive(Debug, Clone)]
enum Step {
    Intake(Vec<usize>),
    Restore(Vec<usize>),
    Frontier(usize, Option<u64>),
    Force(usize),
    Register(usize, Option<(u64, u64, u64)>),
    Reload,
    /// For each channel: denied, restored, stream, DM, type unknown.
    Access([u8; 3], bool),
    Follow(usize, usize, bool),
    Unfollowed,
    Time(u64),
    /// Lets look-ups run, the relay holding every n-th event.
    Lookups(usize),
    LookupFails,
    LookupLost,
    Connection(bool),
    Relay(bool),
    Clear,
    Flood,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let events = || prop::collection::vec(0..pool().len(), 1..6);
    let value = || prop::option::weighted(0.8, 0..LATEST + 2);
    let step = prop_oneof![
        12 => events().prop_map(Step::Intake),
        2 => events().prop_map(Step::Restore),
        8 => (any::<usize>(), value()).prop_map(|(k, v)| Step::Frontier(k, v)),
        2 => any::<usize>().prop_map(Step::Force),
        2 => (any::<usize>(), prop::option::weighted(0.6, (0..3u64, 0..3u64, 0..LATEST)))
            .prop_map(|(k, r)| Step::Register(k, r)),
        1 => Just(Step::Reload),
        3 => ([0..5u8, 0..5u8, 0..5u8], any::<bool>()).prop_map(|(kinds, admin)| Step::Access(kinds, admin)),
        3 => (any::<usize>(), 0..3usize, any::<bool>()).prop_map(|(r, c, f)| Step::Follow(r, c, f)),
        1 => Just(Step::Unfollowed),
        3 => (0..LATEST + 4).prop_map(Step::Time),
        4 => (1..4usize).prop_map(Step::Lookups),
        1 => Just(Step::LookupFails),
        1 => Just(Step::LookupLost),
        1 => any::<bool>().prop_map(Step::Connection),
        1 => any::<bool>().prop_map(Step::Relay),
        1 => Just(Step::Clear),
        1 => Just(Step::Flood),
    ];
    prop::collection::vec(step, 1..40)
}

fn key(n: usize) -> MarkKey {
    let id = pool()[(n / 8) % 48].id;
    let home = channel(CHANNELS[(n / 8) % 3]);
    match n % 8 {
        0 | 1 => MarkKey::Channel(home),
        2 => MarkKey::Activity(home),
        3 | 4 => MarkKey::Thread(id),
        5 => MarkKey::ThreadActivity(id),
        _ => MarkKey::Message(id),
    }
}

fn picked(events: &[usize]) -> Vec<&'static SharedEvent> {
    events.iter().map(|n| &pool()[*n]).collect()
}

fn play(world: &mut World, step: &Step) {
    match step {
        Step::Intake(events) => world.intake(&picked(events)),
        Step::Restore(events) => {
            let all: Vec<_> = picked(events).into_iter().cloned().collect();
            let (structure, kept) = all.split_at(all.len() / 3);
            let deleted: Vec<_> = kept.first().map(|e| e.id).into_iter().collect();
            world.with(|unread, ctx, _| unread.restore(kept, &deleted, structure, ctx));
        }
        Step::Frontier(n, Some(value)) => world.mark(key(*n), *value),
        Step::Frontier(n, None) => {
            world.marks.frontiers.remove(&key(*n));
            world.with(|unread, ctx, _| unread.marks_changed(&[key(*n)], ctx));
        }
        Step::Force(n) => {
            let on = !world.marks.local.contains(&key(*n));
            world.force(key(*n), on);
        }
        Step::Register(n, register) => {
            match register {
                Some((set, clear, baseline)) => {
                    let register = Register { set: *set, clear: *clear, baseline: *baseline };
                    world.marks.registers.insert(key(*n), register);
                }
                None => _ = world.marks.registers.remove(&key(*n)),
            }
            world.with(|unread, ctx, _| unread.marks_changed(&[key(*n)], ctx));
        }
        Step::Reload => world.with(|unread, ctx, _| unread.marks_reset(ctx)),
        Step::Access(kinds, admin) => regrant(world, kinds, *admin),
        Step::Follow(root, home, following) => {
            let choice =
                FollowChoice { channel: channel(CHANNELS[*home]), root: pool()[root % 48].id, following: *following };
            if let Ok(list) = world.unread.prepare_follow(choice) {
                world.with(|unread, ctx, _| unread.set_follows(&list, ctx));
            }
        }
        Step::Unfollowed => world.with(|unread, ctx, _| unread.set_follows(&[], ctx)),
        Step::Time(floor) => {
            world.server = limits::FLOOR_AGE + floor;
            world.poll();
        }
        Step::Lookups(nth) => {
            world.mono += 60_000;
            let relay: Vec<_> = pool().iter().step_by(*nth).collect();
            world.settle(&relay);
        }
        Step::LookupFails => interrupt(world, false),
        Step::LookupLost => interrupt(world, true),
        Step::Connection(true) => world.with(|unread, _, out| unread.connected(out)),
        Step::Connection(false) => world.with(|unread, _, out| unread.disconnected(out)),
        Step::Relay(known) => {
            let key = known.then(|| Author::named("relay").key());
            world.with(|unread, ctx, _| unread.set_relay(key, ctx));
        }
        Step::Clear => world.with(|unread, _, out| unread.clear(&Error::Cancelled { why: "cache cleared" }, out)),
        Step::Flood => world.intake(&flood().iter().collect::<Vec<_>>()),
    }
}

fn regrant(world: &mut World, kinds: &[u8; 3], admin: bool) {
    for (name, kind) in CHANNELS.iter().zip(kinds) {
        let types =
            [ChannelType::Stream, ChannelType::Stream, ChannelType::Stream, ChannelType::Dm, ChannelType::Unknown];
        let mut access = member(types[usize::from(*kind)]);
        (access.allowed, access.confirmed) = (*kind != 0, *kind > 1);
        if admin {
            access.admins = Arc::new([Author::named("bo").key()]);
        }
        world.access.insert(channel(name), access);
    }
    world.set_access();
}

/// The first read of a look-up is answered, the second fails; or the connection goes while both are out.
fn interrupt(world: &mut World, lost: bool) {
    world.mono += 60_000;
    world.poll();
    let sent = world.sent();
    if let Some((id, request)) = sent.first() {
        let found = find(&pool().iter().collect::<Vec<_>>(), &super::kit::filters(request));
        world.answer(*id, &found.iter().collect::<Vec<_>>());
    }
    if lost {
        play(world, &Step::Connection(false));
        play(world, &Step::Connection(true));
    } else if let Some((id, _)) = sent.get(1) {
        world.fail(*id);
    }
    for (id, _) in world.sent() {
        world.fail(id);
    }
}

/// `PROPTEST_CASES` and `PROPTEST_RNG_SEED` make a campaign of it.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { 96 };
    ProptestConfig { failure_persistence: None, cases, max_shrink_iters: 8_192, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_history_counts_as_the_oracle(steps in steps()) {
        let mut world = World::new(&CHANNELS);
        for step in &steps {
            play(&mut world, step);
        }
        prop_assert!(world.unread.relevance().sizes()[4] <= limits::LOOKUPS);
    }

    /// Dirty targets: whatever a step changes is named.
    #[test]
    fn every_change_is_announced(steps in steps()) {
        let mut world = World::new(&CHANNELS);
        for step in &steps {
            let before = answers(&world);
            world.unread.take_dirty();
            play(&mut world, step);
            let dirty = world.unread.take_dirty();
            if dirty.all {
                continue;
            }
            for ((target, was), (_, is)) in before.iter().zip(answers(&world)) {
                let named = match target {
                    Answer::Channel(id) => dirty.channels.contains(id),
                    Answer::Activity(id) => dirty.activity.contains(id),
                    Answer::Thread(place) => dirty.threads.contains(place),
                    Answer::Message(place) => dirty.messages.contains(place),
                };
                prop_assert!(named || *was == is, "{target:?} changed unannounced");
            }
        }
    }

    /// The order of arrival does not matter, as long as no deletion names several messages (R9a).
    #[test]
    fn any_order_of_arrival_ends_alike(order in Just((0..pool().len()).collect::<Vec<_>>()).prop_shuffle()) {
        let simple = |n: &usize| pool()[*n].kind != 5 || pool()[*n].values("e").count() == 1;
        let (mut one, mut two) = (World::new(&CHANNELS), World::new(&CHANNELS));
        let straight: Vec<_> = (0..pool().len()).filter(simple).collect();
        one.intake(&picked(&straight));
        for n in order.iter().filter(|n| simple(n) && pool()[**n].kind != 40003) {
            two.intake(&picked(&[*n]));
        }
        // An edit that overtakes its message is lost until it is delivered again (`unread.md` 3.2).
        two.intake(&picked(&straight));
        let all: Vec<_> = pool().iter().collect();
        one.settle(&all);
        two.settle(&all);
        for name in CHANNELS {
            prop_assert_eq!(one.channel(name), two.channel(name));
            prop_assert_eq!(one.unread.thread_activity(channel(name)), two.unread.thread_activity(channel(name)));
        }
    }
}

#[derive(Debug)]
enum Answer {
    Channel(crate::ids::ChannelId),
    Activity(crate::ids::ChannelId),
    Thread(crate::relevance::Place),
    Message(crate::relevance::Place),
}

/// Every answer there is, as text.
fn answers(world: &World) -> Vec<(Answer, String)> {
    use crate::ids::Target;
    let mut all = Vec::new();
    for home in CHANNELS.map(channel) {
        all.push((Answer::Channel(home), format!("{:?}", Shown(&world.snapshot(Target::Channel(home))))));
        let items = world.unread.thread_activity(home).items;
        let items = items.map(|items| {
            items.into_iter().map(|i| (i.root.to_hex(), i.latest.to_hex(), i.count, i.text)).collect::<Vec<_>>()
        });
        all.push((Answer::Activity(home), format!("{items:?}")));
        for event in &pool()[..48] {
            let thread = world.snapshot(Target::Thread(home, event.id));
            all.push((Answer::Thread((home, event.id)), format!("{:?}", Shown(&thread))));
            let message = world.snapshot(Target::Message(home, event.id));
            all.push((Answer::Message((home, event.id)), format!("{:?}", Shown(&message))));
        }
    }
    all
}

/// A snapshot with its id readable.
struct Shown<'a>(&'a crate::model::UnreadSnapshot);

impl std::fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:?}", self.0, self.0.latest.map(|id| id.to_hex()))
    }
}

#[test]
fn the_pool_has_every_shape() {
    let pool = pool();
    let count = |f: fn(&SharedEvent) -> bool| pool.iter().filter(|e| f(e)).count();
    assert!(count(|e| e.reference.is_some()) > 20 && count(|e| e.kind == 5) > 4 && count(|e| e.kind == 40003) > 1);
    assert!(count(|e| e.kind == 9005) > 0 && count(|e| e.kind == 40099) > 0 && count(|e| e.quiet) > 0);
}
