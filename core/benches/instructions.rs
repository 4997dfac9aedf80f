//! What callgrind counts for P6 and P7: `cargo xtask test --only instructions` runs this once a case and compares the counts.
//!
//!     instructions live HELD CHANNELS | recompute HELD CHANNELS | mark HELD MESSAGES
//!
//! Instructions need no clock and no calm machine, so growth with what is held is seen in every run of the suites. Only what
//! [`counted_by_callgrind`] calls is counted. It runs as tests are built: ratios of counts tell how work grows in any profile.
#![allow(clippy::unwrap_used, missing_docs, reason = "a broken fixture should stop it")]

use std::sync::Arc;

use waggle::clock::Millis;
use waggle::event::{Event, Scope, SharedEvent};
use waggle::evidence::ChannelAccess;
use waggle::ids::{ChannelId, EventId, PublicKey, Signature, Target};
use waggle::model::ChannelType;
use waggle::request::Outbox;
use waggle::unread::{Context, MarkKey, MarkSource, NoMarks, Register, Unread};

const T0: u64 = 1_751_500_000;
/// Live events that are counted, each to a channel of its own.
const LIVE: usize = 64;

/// The one function callgrind is told of.
#[inline(never)]
fn counted_by_callgrind(work: &mut dyn FnMut()) {
    work();
}

fn channel(n: usize) -> ChannelId {
    let mut id = *b"\0\0\0\0\0\0\x40\0\x80\0\0\0\0\0\0\0";
    id[..4].copy_from_slice(&u32::try_from(n).unwrap().to_be_bytes());
    ChannelId(id)
}

/// A message as if it had been verified: thousands of signatures under callgrind would take minutes, and nothing here looks at one.
fn message(n: usize, channel: ChannelId, created_at: u64) -> SharedEvent {
    let mut id = [0; 32];
    // Ids are hashes, so they are spread.
    id[..8].copy_from_slice(&(n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    let author = u8::try_from(n % 30).unwrap();
    Arc::new(Event {
        id: EventId(id),
        pubkey: PublicKey([author + 1; 32]),
        created_at,
        kind: 9,
        tags: vec![vec!["h".to_owned(), channel.to_string()]],
        content: format!("{n}: the smoker is in the shed"),
        sig: Signature([0; 64]),
        json_len: 400,
        scope: Scope::Channel(channel),
        reference: None,
        broadcast: false,
        quiet: false,
        addressed: false,
    })
}

fn context(marks: &dyn MarkSource) -> Context<'_> {
    Context { now: Millis(0), server: T0 + 100_000, marks }
}

/// An unread room with so many channels that holds these.
fn room(channels: usize, held: &[SharedEvent]) -> Unread {
    let mut unread = Unread::new(PublicKey([99; 32]), None);
    let access = ChannelAccess {
        allowed: true,
        confirmed: true,
        channel_type: ChannelType::Stream,
        admins: Arc::from(Vec::new()),
    };
    let all = (0..channels).map(|n| (channel(n), access.clone()));
    unread.set_channels(all, &context(&NoMarks), &mut Outbox::default());
    unread.intake(held, &context(&NoMarks));
    drop((unread.take_dirty(), unread.take_cache_changes()));
    assert_eq!(unread.evidence().len(), held.len());
    unread
}

fn spread(from: usize, count: usize, channels: usize) -> Vec<SharedEvent> {
    (from..from + count).map(|n| message(n, channel(n % channels), T0 + n as u64)).collect()
}

/// P6: so many live events, in channels that were live a moment ago.
fn live(held: usize, channels: usize) {
    let mut unread = room(channels, &spread(0, held - 2 * LIVE, channels));
    let mut one = |event: &SharedEvent| {
        unread.intake(std::slice::from_ref(event), &context(&NoMarks));
        std::hint::black_box((unread.take_dirty(), unread.take_cache_changes()));
    };
    // A multiple of every number of channels, so that both go to the same ones.
    spread(30_000, LIVE, channels).iter().for_each(&mut one);
    let counted = spread(60_000, LIVE, channels);
    counted_by_callgrind(&mut || counted.iter().for_each(&mut one));
}

/// What P6 is held against: counting everything anew, once.
fn recompute(held: usize, channels: usize) {
    let unread = room(channels, &spread(0, held - 2 * LIVE, channels));
    counted_by_callgrind(&mut || {
        let all = unread.recompute(&context(&NoMarks));
        std::hint::black_box(all.snapshot(&Target::Channel(channel(1))));
    });
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

/// P7: a channel with so many messages is read through the last of them, with so much held in all.
fn mark(held: usize, messages: usize) {
    const CHANNELS: usize = 300;
    let (read, key) = (channel(0), [MarkKey::Channel(channel(0))]);
    let elsewhere = (0..held - messages).map(|n| message(n, channel(1 + n % (CHANNELS - 1)), T0 + n as u64));
    let here = (0..messages).map(|n| message(50_000 + n, read, T0 + 50_000 + n as u64));
    let mut unread = room(CHANNELS, &elsewhere.chain(here).collect::<Vec<_>>());
    unread.marks_changed(&key, &context(&Through(read, T0)));
    drop(unread.take_dirty());
    let marks = Through(read, T0 + 60_000);
    counted_by_callgrind(&mut || {
        unread.marks_changed(&key, &context(&marks));
        std::hint::black_box(unread.take_dirty());
    });
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, held, other] = &arguments[..] else { panic!("usage: instructions CASE HELD OTHER") };
    let (held, other) = (held.parse().unwrap(), other.parse().unwrap());
    match case.as_str() {
        "live" => live(held, other),
        "recompute" => recompute(held, other),
        "mark" => mark(held, other),
        _ => panic!("no case {case}"),
    }
}
