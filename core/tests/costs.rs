//! Promises about work that need no clock: signature checks and allocations. (Bytes, syncs and statements are `journal_disk`'s.)
#![allow(clippy::unwrap_used, reason = "a test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use secp256k1::{Keypair, SECP256K1, SecretKey};
use sha2::{Digest as _, Sha256};
use waggle::clock::Millis;
use waggle::event::kept::{KeptNext, KeptPage};
use waggle::event::{SharedEvent, Verifier, canonical_id};
use waggle::evidence::ChannelAccess;
use waggle::ids::{ChannelId, PublicKey};
use waggle::model::ChannelType;
use waggle::relay::protocol::{self, RelayMessage};
use waggle::request::{Answer, Outbox, Priority, Purpose, Request};
use waggle::store::cache::{self, Cache, Class};
use waggle::unread::{Context, NoMarks, Unread};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Counts what this thread allocates; growing counts as well.
struct Counting;

fn count() {
    // While a thread ends there is nothing to count in.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged; the counter needs no memory of its own.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const T0: u64 = 1_751_500_000;

fn pair(n: usize) -> Keypair {
    SecretKey::from_slice(&Sha256::digest(format!("waggle/costs/{n}"))).unwrap().keypair(SECP256K1)
}

fn key(n: usize) -> PublicKey {
    PublicKey(pair(n).x_only_public_key().0.serialize())
}

fn channel(n: usize) -> ChannelId {
    let mut id = *b"\0\0\0\0\0\0\x40\0\x80\0\0\0\0\0\0\0";
    id[..4].copy_from_slice(&u32::try_from(n).unwrap().to_be_bytes());
    ChannelId(id)
}

fn message(n: usize, channels: usize) -> String {
    let tags = vec![vec!["h".to_owned(), channel(n % channels).to_string()]];
    let (content, created_at) = (format!("{n}: the smoker is in the shed"), T0 + n as u64);
    let id = canonical_id(&key(n % 5), created_at, 9, &tags, &content);
    let sig = SECP256K1.sign_schnorr_no_aux_rand(&id.0, &pair(n % 5));
    serde_json::json!({
        "content": content, "created_at": created_at, "id": id.to_hex(), "kind": 9,
        "pubkey": key(n % 5).to_hex(), "sig": hex::encode(sig.as_ref()), "tags": tags,
    })
    .to_string()
}

fn answer(events: &[String], purpose: Purpose, verifier: &Verifier) -> Vec<SharedEvent> {
    let request = Request::query(purpose, Priority::Foreground, Vec::new());
    match protocol::decode(format!("[{}]", events.join(",")).as_bytes(), &request, verifier) {
        Ok(Answer::Events(batch)) => batch.events,
        other => panic!("{other:?}"),
    }
}

/// P4: an event that was verified is not verified again, whatever it comes by: page, repair, live, kept page, kept evidence.
#[test]
fn p4_no_signature_is_checked_twice() {
    let events: Vec<String> = (0..20).map(|n| message(n, 3)).collect();
    let verifier = Verifier::new();
    let verified = answer(&events, Purpose::Head, &verifier);
    assert_eq!((verified.len(), verifier.signature_checks()), (20, 20));
    answer(&events, Purpose::Older, &verifier);
    answer(&events, Purpose::Evidence, &verifier);
    for event in &events {
        let frame = format!("[\"EVENT\",\"s\",{event}]");
        assert!(matches!(protocol::receive(&frame, &verifier), RelayMessage::Event { .. }));
    }
    let dir = tempfile::tempdir().unwrap();
    let mut cache = Cache::open(&dir.path().join("cache.sqlite")).unwrap();
    let part = cache.partition("relay.example", &key(0)).unwrap();
    let page = KeptPage {
        row_mode: false,
        next: KeptNext::End,
        rows: verified.clone(),
        changes: Vec::new(),
        summaries: Vec::new(),
    };
    cache.put_pages(part, channel(0), None, &[page]).unwrap();
    let kept = cache::verify(&cache.load_pages(part, channel(0), None).unwrap(), &verifier);
    assert_eq!(kept[0].rows.len(), 20);
    cache.put_events(part, Class::Evidence, &verified).unwrap();
    let stored = cache.load_events(part, Class::Evidence).unwrap();
    assert_eq!(stored.len(), 20);
    stored.iter().for_each(|json| drop(verifier.event(json).unwrap()));
    assert_eq!(verifier.signature_checks(), 20);
}

/// P19: a live event allocates a dozen times or so, however much is held and in however many channels.
#[test]
fn p19_allocations_of_a_live_event() {
    let usual = |held: usize, channels: usize| {
        let ctx = Context { now: Millis(0), server: T0 + 10_000, marks: &NoMarks };
        let mut unread = Unread::new(key(77), None);
        let access = ChannelAccess {
            allowed: true,
            confirmed: true,
            channel_type: ChannelType::Stream,
            admins: Arc::from(Vec::new()),
        };
        unread.set_channels((0..channels).map(|n| (channel(n), access.clone())), &ctx, &mut Outbox::default());
        let verifier = Verifier::new();
        let mut all: Vec<_> = (0..held + 60).map(|n| verifier.event(&message(n, channels)).unwrap()).collect();
        let live = all.split_off(held);
        unread.intake(&all, &ctx);
        drop((unread.take_dirty(), unread.take_cache_changes()));
        let mut counts: Vec<usize> = live
            .iter()
            .map(|event| {
                let before = ALLOCATIONS.get();
                unread.intake(std::slice::from_ref(event), &ctx);
                drop((unread.take_dirty(), unread.take_cache_changes()));
                ALLOCATIONS.get() - before
            })
            .collect();
        counts.sort_unstable();
        // A table doubles now and then; that is not what an event costs.
        counts[counts.len() * 9 / 10]
    };
    let (few, many) = (usual(60, 10), usual(700, 100));
    assert!(few <= 20 && many <= 20, "{few} with little held, {many} with more");
    assert!(many <= few + 2, "{few} with little held, {many} with more");
}
