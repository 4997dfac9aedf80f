//! P5 to P8, P14 and P19: evidence and counts.

use std::sync::Arc;

use waggle::clock::Millis;
use waggle::entropy::Entropy;
use waggle::event::{Batch, SharedEvent, Verifier};
use waggle::evidence::ChannelAccess;
use waggle::ids::{ChannelId, PublicKey, Target};
use waggle::journal::{Fresh, Key, Mark, Mutation, NoFacts, Read, Record, apply};
use waggle::model::ChannelType;
use waggle::relay::protocol::{self, RelayMessage};
use waggle::request::{Answer, Outbox, Priority, Purpose, Request};
use waggle::store::cache::{Cache, Class};
use waggle::unread::{Context, MarkKey, MarkSource, NoMarks, Register, Unread};

use crate::fixtures::{Signed, Signer, T0};
use crate::{Line, ROUNDS, allocations, minima, time};

const WINDOW: usize = 4_096;

pub(crate) fn channel(n: usize) -> ChannelId {
    let mut id = [0u8; 16];
    id[..8].copy_from_slice(&(n as u64).to_be_bytes());
    id[6] = 0x40 | (id[6] & 0x0f);
    id[8] = 0x80;
    ChannelId(id)
}

pub(crate) fn message(n: usize, channels: usize, salt: &str) -> Signed {
    let h = vec!["h".to_owned(), channel(n % channels).to_string()];
    Signer::new(n % 30).sign(9, T0 + n as u64, vec![h], &format!("{salt} {n}: the smoker is in the shed"))
}

pub(crate) fn viewer() -> PublicKey {
    Signer::new("viewer").key()
}

pub(crate) fn context(marks: &dyn MarkSource) -> Context<'_> {
    Context { now: Millis(0), server: T0 + 10_000, marks }
}

/// An unread room with access to so many channels.
pub(crate) fn room(channels: usize) -> Unread {
    let mut unread = Unread::new(viewer(), None);
    let access = ChannelAccess {
        allowed: true,
        confirmed: true,
        channel_type: ChannelType::Stream,
        admins: Arc::from(Vec::new()),
    };
    unread.set_channels(
        (0..channels).map(|n| (channel(n), access.clone())),
        &context(&NoMarks),
        &mut Outbox::default(),
    );
    unread
}

/// Verified without the clock running: signatures of fixtures are not what is measured here.
pub(crate) fn verified(events: &[Signed]) -> Vec<SharedEvent> {
    let verifier = Verifier::new();
    events.iter().map(|e| verifier.event(&e.json).unwrap()).collect()
}

fn held(count: usize, channels: usize) -> Unread {
    let mut unread = room(channels);
    let events: Vec<Signed> = (0..count).map(|n| message(n, channels, "held")).collect();
    unread.intake(&verified(&events), &context(&NoMarks));
    unread.take_dirty();
    unread.take_cache_changes();
    unread
}

/// P5: live event, socket text → projection changed, against one signature check.
pub(crate) fn live_event() -> Vec<Line> {
    let mut unread = held(3_500, 300);
    let fresh: Vec<Signed> = (0..LIVE).map(|n| message(10_000 + n, 300, "live")).collect();
    let frames: Vec<String> = fresh.iter().map(|e| format!("[\"EVENT\",\"s\",{}]", e.json)).collect();
    let verifier = Verifier::new();
    // Authors of a running session are known: their keys are parsed.
    verified_authors(&verifier);
    let mut each = Vec::new();
    let mut floor = Vec::new();
    for (frame, event) in frames.iter().zip(&fresh) {
        floor.push(time(|| secp256k1::SECP256K1.verify_schnorr(&event.sig, &event.id.0, &event.key).unwrap()));
        each.push(time(|| {
            let RelayMessage::Event { event, .. } = protocol::receive(frame, &verifier) else { panic!("no event") };
            unread.intake(std::slice::from_ref(&event), &context(&NoMarks));
            unread.take_dirty()
        }));
    }
    each.sort_unstable();
    floor.sort_unstable();
    // Each event is new, so there is no minimum over rounds: the lower quartile of both stands for it.
    let ratio = each[LIVE / 4] as f64 / floor[LIVE / 4] as f64;
    vec![Line { promise: "P5", name: "live_event", ratio, limit: 1.20 }]
}

fn verified_authors(verifier: &Verifier) {
    for n in 0..30 {
        verifier.event(&Signer::new(n).sign(1, T0, Vec::new(), "hello").json).unwrap();
    }
}

/// Live events of a case, and the channels they go to.
const LIVE: usize = 256;

/// So much held, and the live events that come to it.
struct Live {
    channels: usize,
    held: Vec<SharedEvent>,
    /// One to each channel the measured ones go to.
    first: Vec<SharedEvent>,
    measured: Vec<SharedEvent>,
}

impl Live {
    fn new(count: usize, channels: usize) -> Self {
        let some = |from: usize, count: usize, salt: &str| {
            verified(&(from..from + count).map(|n| message(n, channels, salt)).collect::<Vec<_>>())
        };
        // 3,000 is a multiple of both numbers of channels: the same ones again.
        Self {
            channels,
            held: some(0, count, "held"),
            first: some(20_000, LIVE, "first"),
            measured: some(23_000, LIVE, "measured"),
        }
    }

    /// Nanoseconds of one event.
    ///
    /// Steady state, as a session is in: the channels that are live were live a moment ago, and the event was just made. A channel's first
    /// event after a while also fetches some lines of memory, which costs what memory costs.
    fn project(&self) -> u64 {
        let mut unread = room(self.channels);
        unread.intake(&self.held, &context(&NoMarks));
        let mut one = |event: &SharedEvent| {
            unread.intake(std::slice::from_ref(event), &context(&NoMarks));
            std::hint::black_box((unread.take_dirty(), unread.take_cache_changes()));
        };
        self.first.iter().for_each(&mut one);
        std::hint::black_box(self.measured.iter().map(|event| event.tags.len() + event.content.len()).sum::<usize>());
        time(|| self.measured.iter().for_each(&mut one))
    }
}

/// P6: the projection of one live event: a microsecond, flat in what is held and in channels, a hundredth of counting anew.
pub(crate) fn projection() -> Vec<Line> {
    let cases = [Live::new(WINDOW - 2 * LIVE, 300), Live::new(512, 300), Live::new(WINDOW - 2 * LIVE, 3_000)];
    let unread = held(WINDOW - 2 * LIVE, 300);
    let mut recompute = || {
        time(|| {
            let all = unread.recompute(&context(&NoMarks));
            std::hint::black_box(all.snapshot(&Target::Channel(channel(1))))
        })
    };
    let [full, small, wide] = &cases;
    let best =
        minima(ROUNDS, &mut [&mut || full.project(), &mut || small.project(), &mut || wide.project(), &mut recompute]);
    let [full, small, wide] = [0, 1, 2].map(|at| best[at] as f64 / LIVE as f64);
    let line = |name, ratio, limit| Line { promise: "P6", name, ratio, limit };
    vec![
        line("projection_microseconds", full / 1_000.0, 1.0),
        line("projection_full_over_small", full / small, 1.5),
        line("projection_3000_channels_over_300", wide / full, 1.25),
        line("projection_over_recompute", full / best[3] as f64, 0.01),
    ]
}

/// A record that reads one channel through one second.
struct Through(ChannelId, u64);

impl MarkSource for Through {
    fn frontier(&self, key: MarkKey) -> Option<u64> {
        (key == MarkKey::Channel(self.0)).then_some(self.1)
    }
    fn is_marked(&self, _: MarkKey) -> bool {
        false
    }
    fn register(&self, _: MarkKey) -> Option<Register> {
        None
    }
    fn has_registers(&self) -> bool {
        false
    }
    fn registered(&self) -> Vec<MarkKey> {
        Vec::new()
    }
}

/// P7: marking a channel read with k messages in between, over 1 µs + 0.2 µs·k; with 4,000 messages held in all.
pub(crate) fn mark_channel() -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, k) in [("mark_read_over_10", 10usize), ("mark_read_over_1000", 1_000)] {
        // One channel holds k, the rest lies elsewhere.
        let mut events: Vec<Signed> = (0..3_000).map(|n| message(n + 1, 300, "elsewhere")).collect();
        let h = vec!["h".to_owned(), channel(299).to_string()];
        events.extend((0..k).map(|n| Signer::new(n % 30).sign(9, T0 + 9_000 - n as u64, vec![h.clone()], "here")));
        let events = verified(&events);
        let mut best = u64::MAX;
        for _ in 0..ROUNDS {
            let mut unread = room(300);
            unread.intake(&events, &context(&NoMarks));
            unread.take_dirty();
            let before = Through(channel(299), T0 + 9_000 - k as u64);
            unread.marks_changed(&[MarkKey::Channel(channel(299))], &context(&before));
            unread.take_dirty();
            let marks = Through(channel(299), T0 + 9_000);
            best = best.min(time(|| {
                unread.marks_changed(&[MarkKey::Channel(channel(299))], &context(&marks));
                unread.take_dirty()
            }));
        }
        let allowed = 1_000.0 + 200.0 * k as f64;
        lines.push(Line { promise: "P7", name, ratio: best as f64 / allowed, limit: 1.0 });
    }
    lines
}

pub(crate) fn repair_request() -> Request {
    Request::query(Purpose::Evidence, Priority::Foreground, Vec::new())
}

/// Times F1(4096) and a case over the same events in interleaved chunks of 256.
fn over_f1(events: &[Signed], mut start: impl FnMut(), mut chunk: impl FnMut(&[Signed]), mut end: impl FnMut()) -> f64 {
    let (mut best_f1, mut best) = (u64::MAX, u64::MAX);
    for _ in 0..5 {
        start();
        let (mut f1, mut spent) = (0, 0);
        for part in events.chunks(256) {
            f1 += time(|| {
                for e in part {
                    secp256k1::SECP256K1.verify_schnorr(&e.sig, &e.id.0, &e.key).unwrap();
                }
            });
            spent += time(|| chunk(part));
        }
        spent += time(&mut end);
        best_f1 = best_f1.min(f1);
        best = best.min(spent);
    }
    best as f64 / best_f1 as f64
}

pub(crate) fn array(part: &[Signed]) -> String {
    let items: Vec<&str> = part.iter().map(|e| e.json.as_str()).collect();
    format!("[{}]", items.join(","))
}

/// P8: repair of 4,096 events: bytes → verified and stored, in one commit.
pub(crate) fn repair() -> Vec<Line> {
    let events: Vec<Signed> = (0..WINDOW).map(|n| message(n, 128, "repair")).collect();
    let arrays: Vec<String> = events.chunks(256).map(array).collect();
    let verifier = Verifier::new();
    let dir = tempfile::tempdir().unwrap();
    let state = std::cell::RefCell::new((room(128), Vec::<SharedEvent>::new(), 0usize));
    let mut rounds = 0;
    let ratio = over_f1(
        &events,
        || {
            verifier.forget();
            *state.borrow_mut() = (room(128), Vec::new(), 0);
        },
        |_| {
            let mut state = state.borrow_mut();
            let next = state.2;
            let outcome = protocol::decode(arrays[next].as_bytes(), &repair_request(), &verifier);
            let Ok(Answer::Events(Batch { events, .. })) = outcome else { panic!("no events") };
            state.0.intake(&events, &context(&NoMarks));
            state.1.extend(events);
            state.2 += 1;
        },
        || {
            rounds += 1;
            let mut cache = Cache::open(&dir.path().join(format!("{rounds}.sqlite"))).unwrap();
            let part = cache.partition("relay.example", &viewer()).unwrap();
            cache.put_events(part, Class::Evidence, &state.borrow().1).unwrap();
        },
    );
    vec![Line { promise: "P8", name: "repair_of_4096_events", ratio, limit: 1.20 }]
}

/// P14: restore of the full evidence from the store.
pub(crate) fn restore() -> Vec<Line> {
    let events: Vec<Signed> = (0..WINDOW).map(|n| message(n, 128, "restore")).collect();
    let verifier = Verifier::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    {
        let mut cache = Cache::open(&path).unwrap();
        let part = cache.partition("relay.example", &viewer()).unwrap();
        cache.put_events(part, Class::Evidence, &verified(&events)).unwrap();
        cache.close().unwrap();
    }
    let state = std::cell::RefCell::new((Vec::<String>::new(), Vec::<SharedEvent>::new()));
    let ratio = over_f1(
        &events,
        || {
            verifier.forget();
            *state.borrow_mut() = (Vec::new(), Vec::new());
        },
        |part| {
            let mut state = state.borrow_mut();
            if state.0.is_empty() {
                let mut cache = Cache::open(&path).unwrap();
                let partition = cache.partition("relay.example", &viewer()).unwrap();
                state.0 = cache.load_events(partition, Class::Evidence).unwrap();
            }
            for _ in part {
                let next = state.1.len();
                let event = verifier.event(&state.0[next]).unwrap();
                state.1.push(event);
            }
        },
        || room(128).restore(&state.borrow().1, &[], &[], &context(&NoMarks)),
    );
    vec![Line { promise: "P14", name: "restore_of_4096_events", ratio, limit: 1.20 }]
}

/// P19: allocations of one live event's projection in the steady state, the worst of 256.
pub(crate) fn allocations_per_event() -> Vec<Line> {
    let mut worst = 0;
    for count in [512, 3_500] {
        let mut unread = held(count, 300);
        let events = verified(&(0..256).map(|n| message(30_000 + n, 300, "counted")).collect::<Vec<_>>());
        let counted: Vec<usize> = events
            .iter()
            .map(|event| {
                allocations(|| {
                    unread.intake(std::slice::from_ref(event), &context(&NoMarks));
                    drop(unread.take_dirty());
                    drop(unread.take_cache_changes());
                })
            })
            .collect();
        // Tables double now and then; what every event costs is what most of them cost.
        let mut sorted = counted;
        sorted.sort_unstable();
        worst = worst.max(sorted[sorted.len() * 9 / 10]);
    }
    vec![Line { promise: "P19", name: "allocations_per_live_event", ratio: worst as f64, limit: 20.0 }]
}

/// A record for the journal's cases.
pub(crate) fn record(seed: u64) -> Record {
    let mut entropy = Entropy::from_seed(seed);
    Record::new(Fresh { slot: entropy.slot(), client_id: entropy.uuid() })
}

/// A mutation that reads one channel through one second.
pub(crate) fn read(n: usize, second: u64) -> Mutation {
    Mutation::Read(Read { marks: vec![Mark::always(Key::Channel(channel(n)), second)], ..Read::default() })
}

/// The pure half of P7: applying one mark to a record of a thousand.
pub(crate) fn apply_mark() -> Vec<Line> {
    let mut record = record(1);
    for n in 0..1_000 {
        let diff = apply(&record, &read(n, T0), &NoFacts).unwrap();
        record.adopt(&diff);
    }
    let mut second = T0;
    let best = minima(
        2_001,
        &mut [&mut || {
            second += 1;
            let mutation = read(500, second);
            let mut diff = None;
            let spent = time(|| diff = Some(apply(&record, &mutation, &NoFacts).unwrap()));
            record.adopt(&diff.unwrap());
            spent
        }],
    );
    vec![Line { promise: "P7", name: "apply_mark_microseconds", ratio: best[0] as f64 / 1_000.0, limit: 50.0 }]
}
