//! Random lives of an installation: whatever happens in between, what it read ends up on the relay, once, and nothing else does.
//!
//! The world checks at each step that only own values are sealed, that events are saved before they are sent, and that no other
//! client's slot is written to.

use proptest::prelude::*;

use super::harness::*;
use crate::model::SyncState;

#[derive(Debug, Clone)]
enum Event {
    Read(u16, u16),
    ReadMany(u16),
    Peer(u8, u16, u16),
    /// Another client writes to one of this installation's slots, pushed live or not.
    TakeOver(bool),
    /// A clone of this installation writes to its primary slot.
    Clone(u16, u16),
    Reply(u8),
    FailSave,
    Mute(bool),
    Readback(bool),
    Flush,
    Disconnect,
    Connect(bool),
    Restart,
    Restore,
    Advance(u32),
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..30u16, 0..100u16).prop_map(|(c, v)| Event::Read(c, v)),
        1 => (1..900u16).prop_map(Event::ReadMany),
        2 => (100..110u8, 0..30u16, 0..100u16).prop_map(|(s, c, v)| Event::Peer(s, c, v)),
        1 => any::<bool>().prop_map(Event::TakeOver),
        1 => (0..30u16, 0..100u16).prop_map(|(c, v)| Event::Clone(c, v)),
        4 => (0..5u8).prop_map(Event::Reply),
        1 => Just(Event::FailSave),
        1 => any::<bool>().prop_map(Event::Mute),
        1 => any::<bool>().prop_map(Event::Readback),
        3 => Just(Event::Flush),
        2 => Just(Event::Disconnect),
        3 => any::<bool>().prop_map(Event::Connect),
        1 => Just(Event::Restart),
        1 => Just(Event::Restore),
        3 => (1..2_000_000u32).prop_map(Event::Advance),
    ]
}

struct Life {
    world: World,
    backup: crate::journal::Record,
    online: bool,
}

impl Life {
    fn happen(&mut self, event: &Event) {
        let world = &mut self.world;
        let now = world.now.wall;
        match *event {
            Event::Read(c, v) => world.read(channel(c), T0 - u64::from(v)),
            Event::ReadMany(n) => world.read_all((0..n).map(channel), T0 - 200),
            Event::Peer(s, c, v) => {
                let peer = world.peer(slot(s), now, &[(&channel(c), at(-i64::from(v)))]);
                world.store(&peer);
                if self.online {
                    world.push(&peer);
                }
            }
            Event::TakeOver(live) => {
                let taken = *world.record.slots().last().unwrap();
                let foreign = world.peer(taken, now + 30, &[(&channel(3), at(-500))]);
                world.store(&foreign);
                if live && self.online {
                    world.push(&foreign);
                }
            }
            Event::Clone(c, v) => {
                let client = world.record.header().client_id.clone();
                let primary = world.record.slots()[0];
                let clone = world.blob_by(&client, primary, now + 5, &[(&channel(c), at(-i64::from(v)))]);
                world.store(&clone);
                if self.online {
                    world.push(&clone);
                }
            }
            Event::Reply(kind) => world.replies.push_back(match kind {
                0 => Reply::Lost,
                1 => Reply::Refused(TOO_FAR),
                2 => Reply::Refused("blocked: no"),
                3 => Reply::RateLimited(30),
                _ => Reply::Duplicate,
            }),
            Event::FailSave => world.saves.push_back(Err(full())),
            Event::Mute(mute) => world.mute = mute,
            Event::Readback(empty) => world.readback_empty = empty,
            Event::Flush => drop(world.open(super::sync::Sync::flush)),
            Event::Disconnect => {
                self.online = false;
                world.disconnect();
            }
            Event::Connect(offered) => {
                self.online = true;
                world.connect_with(offered.then_some(OFFER));
            }
            Event::Restart => {
                self.online = false;
                world.restart();
            }
            Event::Restore => {
                self.online = false;
                std::mem::swap(&mut world.record, &mut self.backup);
                self.backup = world.record.clone();
                world.restart();
            }
            Event::Advance(ms) => world.advance(u64::from(ms)),
        }
    }

    /// Everything works again: the machine must come to rest with all own values on the relay.
    fn recover(&mut self) {
        let world = &mut self.world;
        world.replies.clear();
        world.saves.clear();
        (world.mute, world.readback_empty) = (false, false);
        world.disconnect();
        // A clone's clock may run up to 60 s ahead; after that nothing is in the way.
        world.advance(120_000);
        world.connect();
        let outcomes: Vec<_> = (0..4).map(|_| world.flush()).collect();
        assert_eq!(outcomes.last(), Some(&Ok(())), "{outcomes:?}");
        assert!(world.record.pending().is_empty() && !world.record.is_unpublished());
        let state = world.status().state;
        assert!(matches!(state, SyncState::Reconciled | SyncState::Local), "{state:?}");
        let sent = world.published.len();
        world.flush().unwrap();
        world.advance(3_600_000);
        assert_eq!(world.published.len(), sent, "idle");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_read_ends_up_on_the_relay(story in prop::collection::vec(events(), 1..40)) {
        let world = World::new();
        let mut life = Life { backup: world.record.clone(), world, online: false };
        for event in &story {
            life.happen(event);
        }
        life.recover();
        // A last intent makes sure that all slots are looked at again after takeovers nobody was told of.
        life.world.read(channel(29), T0 + 1);
        life.world.flush().unwrap();
        let world = &life.world;
        let now = world.server.at(world.now);
        for (key, value, _) in super::plan::publishable(&world.record, now) {
            prop_assert!(world.on_relay(key).is_some_and(|held| held >= value));
        }
    }
}
