//! The public formal model of NIP-RS's override layer (`docs/formal/nip-rs-unread` of the relay's repository), over this code.
//!
//! That model proves its invariants by search and shows that they have teeth by eight mutants, each a rule weakened as an earlier draft had
//! it. Here the invariants are searched over our own rules, which must break none, and over each mutant, which must break the one it is
//! named with. M9 is ours: keys without their escape. What the model leaves out, slots and the order of a publication, recovery and
//! read-back, is `slot_tests`, `publish_tests` and `sim_tests`.

use super::algebra::{Canonical, State, canonical, mark_read, mark_unread};
use super::blob;
use crate::journal::{Key, Override};

/// The rules a mutant may weaken.
#[derive(Clone, Copy)]
struct Rules {
    active: fn(Override, u32) -> bool,
    unread: fn(Override, u32) -> Override,
    read: fn(Override) -> Override,
    /// What is kept of a register at this frontier.
    compact: fn(Rules, Override, u32) -> Override,
    merge: fn(Override, Override) -> Override,
    /// Slots as they go over the wire.
    publish: fn(Rules, &State) -> Vec<String>,
    receive: fn(&str) -> State,
}

fn reg(set: u32, clear: u32, baseline: u32) -> Override {
    Override { set, clear, baseline }
}

const OURS: Rules = Rules {
    active: Override::is_active,
    unread: |register, frontier| mark_unread(register, frontier).unwrap(),
    read: |register| mark_read(register).unwrap(),
    compact: |_, register, frontier| match canonical(register, Some(frontier)) {
        Some(Canonical::Live(live)) => live,
        Some(Canonical::Floor(clear)) => reg(0, clear, 0),
        None => Override::default(),
    },
    merge: Override::merge,
    publish: |_, state| vec![blob::write("c", state).unwrap()],
    receive: |text| blob::parse(text.as_bytes()).unwrap().state,
};

fn room() -> Key {
    Key::parse("room").unwrap()
}

fn state(register: Override, frontier: u32) -> State {
    State { frontiers: [(room(), frontier)].into(), overrides: [(room(), register)].into() }
}

/// A device with one context, under given rules.
#[derive(Clone)]
struct Device {
    rules: Rules,
    register: Override,
    frontier: u32,
}

impl Device {
    fn new(rules: Rules, register: Override, frontier: u32) -> Self {
        Self { rules, register, frontier }
    }

    fn is_set(&self) -> bool {
        (self.rules.active)(self.register, self.frontier)
    }

    fn publish(&self) -> Vec<String> {
        (self.rules.publish)(self.rules, &state(self.register, self.frontier))
    }

    fn receive(&mut self, text: &str) {
        let state = (self.rules.receive)(text);
        self.frontier = self.frontier.max(state.frontiers.get(&room()).copied().unwrap_or(0));
        if let Some(register) = state.overrides.get(&room()) {
            self.register = (self.rules.merge)(self.register, *register);
        }
    }

    fn act(&mut self, action: u32) {
        match action {
            0 => self.register = (self.rules.unread)(self.register, self.frontier),
            1 => self.register = (self.rules.read)(self.register),
            2 => self.frontier += 1,
            _ => self.register = (self.rules.compact)(self.rules, self.register, self.frontier),
        }
    }
}

/// The last mark of one's own decides, whatever came before, until reading goes past its baseline.
fn the_last_mark_decides(rules: Rules) -> bool {
    (0..4u32.pow(6)).all(|code| {
        let mut device = Device::new(rules, Override::default(), 0);
        let mut expected = None;
        (0..6).all(|step| {
            let action = code / 4u32.pow(step) % 4;
            device.act(action);
            expected = match action {
                0 => Some(device.frontier),
                1 => None,
                _ => expected,
            };
            let holds = expected.is_some_and(|baseline| device.frontier <= baseline);
            // A floor forgets its baseline: what it ended stays ended.
            expected = expected.filter(|_| holds);
            device.is_set() == holds
        })
    })
}

/// Set and cleared as often, at the same time on two devices: cleared, on both.
fn clear_wins_ties(rules: Rules) -> bool {
    let (mut a, mut b) = (Device::new(rules, reg(1, 0, 5), 5), Device::new(rules, reg(0, 1, 5), 5));
    let (from_a, from_b) = (a.publish(), b.publish());
    from_b.iter().for_each(|text| a.receive(text));
    from_a.iter().for_each(|text| b.receive(text));
    !a.is_set() && !b.is_set()
}

/// Whatever order publications arrive in, and however often, devices end up the same.
fn devices_converge(rules: Rules) -> bool {
    let cube = || (0..3).flat_map(|s| (0..3).flat_map(move |c| (0..3).map(move |b| reg(s, c, b))));
    cube().all(|first| {
        cube().all(|second| {
            let texts: Vec<_> = [first, second].iter().flat_map(|r| Device::new(rules, *r, 1).publish()).collect();
            let fresh = || Device::new(rules, Override::default(), 0);
            let (mut a, mut b) = (fresh(), fresh());
            texts.iter().for_each(|text| a.receive(text));
            texts.iter().chain(texts.iter().rev()).for_each(|text| b.receive(text));
            (a.register, a.frontier) == (b.register, b.frontier)
        })
    })
}

/// Ended, compacted, marked and read again: an old copy of oneself that arrives late brings nothing back.
fn the_past_does_not_come_back(rules: Rules) -> bool {
    (0..5).all(|set| {
        (0..5).all(|clear| {
            let stale = Device::new(rules, reg(set, clear, 10), 10);
            let mut device = stale.clone();
            device.frontier = 20;
            for action in [3, 0, 1] {
                device.act(action);
            }
            stale.publish().iter().for_each(|text| device.receive(text));
            !device.is_set()
        })
    })
}

/// Nothing that is published by devices on which it is dead is live where they meet, also by way of a third.
fn the_dead_stay_dead(rules: Rules) -> bool {
    let cube =
        (0..4).flat_map(|s| (0..4).flat_map(move |c| [0, 50, 100].map(move |b| (reg(s, c, b), 50 + 50 * (b / 100)))));
    let dead: Vec<_> = cube.filter(|(r, frontier)| !r.is_active(*frontier)).collect();
    dead.iter().all(|(a, at)| {
        dead.iter().all(|(b, bt)| {
            let mut observer = Device::new(rules, Override::default(), 0);
            Device::new(rules, *a, *at).publish().iter().for_each(|text| observer.receive(text));
            let relayed = observer.publish();
            Device::new(rules, *b, *bt).publish().iter().chain(&relayed).for_each(|text| observer.receive(text));
            !observer.is_set()
        })
    })
}

/// A number that no register holds is no part of one.
fn numbers_are_bounded(rules: Rules) -> bool {
    let state =
        (rules.receive)(r#"{"v":1,"client_id":"c","contexts":{"ov_s:room":4294967296,"ov_c:room":0,"ov_b:room":10}}"#);
    state.overrides.is_empty()
}

/// An observer that has one of several slots, and publishes what it makes of it, suppresses nothing.
fn slots_may_arrive_apart(rules: Rules) -> bool {
    let source = Device::new(rules, reg(1, 0, 10), 10);
    let slots = source.publish();
    slots.iter().all(|slot| {
        let mut observer = Device::new(rules, Override::default(), 0);
        observer.receive(slot);
        observer.act(3);
        let early = observer.publish();
        slots.iter().chain(&early).for_each(|text| observer.receive(text));
        observer.is_set()
    })
}

/// A frontier of any name is that frontier again.
fn names_come_through(rules: Rules) -> bool {
    ["ov_s:x", "ov_c:x", "esc:x", "esc:ov_c:x", "x"].iter().all(|name| {
        let sent = State { frontiers: [(Key::parse(name).unwrap(), 7)].into(), ..State::default() };
        let texts = (rules.publish)(rules, &sent);
        let mut back = State::default();
        texts.iter().for_each(|text| back.merge(&(rules.receive)(text)));
        back == sent
    })
}

type Invariant = (&'static str, fn(Rules) -> bool);

const INVARIANTS: [Invariant; 8] = [
    ("the last mark decides", the_last_mark_decides),
    ("clear wins ties", clear_wins_ties),
    ("devices converge", devices_converge),
    ("the past does not come back", the_past_does_not_come_back),
    ("the dead stay dead", the_dead_stay_dead),
    ("numbers are bounded", numbers_are_bounded),
    ("slots may arrive apart", slots_may_arrive_apart),
    ("names come through", names_come_through),
];

fn broken(rules: Rules) -> Vec<&'static str> {
    INVARIANTS.iter().filter(|(_, holds)| !holds(rules)).map(|(name, _)| *name).collect()
}

/// Contexts as they are, entry by entry.
fn raw(entries: &[(String, u32)]) -> String {
    let entries: Vec<String> = entries.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!(r#"{{"v":1,"client_id":"c","contexts":{{{}}}}}"#, entries.join(","))
}

fn frontiers(state: &State) -> Vec<(String, u32)> {
    // Only what the real writer would not escape.
    state.frontiers.iter().map(|(key, value)| (key.to_string(), *value)).collect()
}

fn parts(state: &State) -> Vec<(String, u32)> {
    let parts = |(key, r): (&Key, &Override)| {
        [(format!("ov_s:{key}"), r.set), (format!("ov_c:{key}"), r.clear), (format!("ov_b:{key}"), r.baseline)]
    };
    state.overrides.iter().flat_map(parts).collect()
}

/// A reader that takes half a group for a group.
fn lenient(text: &str) -> State {
    let mut state = blob::parse(text.as_bytes()).unwrap().state;
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    let part = |name: &str| json["contexts"][name].as_u64().and_then(|n| u32::try_from(n).ok());
    let (set, clear, baseline) = (part("ov_s:room"), part("ov_c:room"), part("ov_b:room"));
    if set.or(clear).or(baseline).is_some() {
        let register = reg(set.unwrap_or(0), clear.unwrap_or(0), baseline.unwrap_or(0));
        state.overrides.insert(room(), register);
    }
    state
}

fn mutants() -> Vec<(&'static str, Rules, &'static str)> {
    let no_dominance: fn(Override, u32) -> bool = |r, _| r.set > r.clear;
    vec![
        ("M1: reading past the baseline ends nothing", Rules { active: no_dominance, ..OURS }, "the last mark decides"),
        (
            "M2: a counter passes itself, not both",
            Rules {
                unread: |r, frontier| Override { set: r.set + 1, baseline: frontier, ..r },
                read: |r| Override { clear: r.clear + 1, ..r },
                ..OURS
            },
            "the last mark decides",
        ),
        (
            "M3: set wins ties",
            Rules { active: |r, frontier| r.set > 0 && r.set >= r.clear && frontier <= r.baseline, ..OURS },
            "clear wins ties",
        ),
        (
            "M4: what is dead is forgotten, floor and all",
            Rules {
                compact: |rules, r, frontier| if (rules.active)(r, frontier) { r } else { Override::default() },
                ..OURS
            },
            "the past does not come back",
        ),
        (
            "M5: numbers wrap",
            Rules { receive: |text| blob::parse(text.replace("4294967296", "1").as_bytes()).unwrap().state, ..OURS },
            "numbers are bounded",
        ),
        ("M6: the last write wins", Rules { merge: |_, new| new, ..OURS }, "devices converge"),
        (
            "M7: registers are published as they are",
            Rules { publish: |_, state| vec![raw(&[frontiers(state), parts(state)].concat())], ..OURS },
            "the dead stay dead",
        ),
        (
            "M8: a group is split over slots, and read in parts",
            Rules {
                publish: |_, state| {
                    let (set, rest): (Vec<_>, Vec<_>) =
                        parts(state).into_iter().partition(|(key, _)| key.starts_with("ov_s:"));
                    vec![raw(&[frontiers(state), set].concat()), raw(&rest)]
                },
                receive: lenient,
                ..OURS
            },
            "slots may arrive apart",
        ),
        (
            "M9: keys are not escaped",
            Rules { publish: |_, state| vec![raw(&[frontiers(state), parts(state)].concat())], ..OURS },
            "names come through",
        ),
    ]
}

#[test]
fn our_rules_break_no_invariant() {
    assert_eq!(broken(OURS), Vec::<&str>::new());
}

#[test]
fn every_mutant_of_the_formal_model_is_killed() {
    for (name, rules, invariant) in mutants() {
        let broken = broken(rules);
        assert!(broken.contains(&invariant), "{name} survives: only {broken:?}");
    }
}

/// M8 the other way round: even if somebody else splits a group, we take no half of it.
#[test]
fn halves_that_others_send_are_no_register() {
    let halves = [r#""room":10,"ov_s:room":1"#, r#""ov_c:room":0,"ov_b:room":10"#];
    for half in halves {
        let text = format!(r#"{{"v":1,"client_id":"c","contexts":{{{half}}}}}"#);
        assert!((OURS.receive)(&text).overrides.is_empty(), "{half}");
    }
}
