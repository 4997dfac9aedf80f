//! P1 to P4, P12 and P13: pages of a channel; and F1 by itself.

use waggle::clock::{Millis, Now};
use waggle::event::kept::{KeptNext, KeptPage};
use waggle::event::{Event, FoldFacts, SharedEvent, Verifier};
use waggle::ids::{ChannelId, EventId, PublicKey};
use waggle::relay::protocol;
use waggle::request::{Outbox, Request};
use waggle::store::cache::{self, Cache};
use waggle::window::{CallToken, RelayFacts, TimelineKey, Windows};

use crate::fixtures::{Authors, CHANNEL, Page, T0};
use crate::{Line, ROUNDS, minima, time};

const ROWS: usize = 123;
const SPREADS: [(&str, Authors); 3] =
    [("one_author", Authors::One), ("30_authors", Authors::Thirty), ("distinct_authors", Authors::Distinct)];

struct Facts(PublicKey);

impl FoldFacts for Facts {
    fn relay(&self) -> Option<&PublicKey> {
        Some(&self.0)
    }
    fn is_channel_admin(&self, _: ChannelId, _: &PublicKey) -> bool {
        false
    }
    fn retained(&self, _: &EventId) -> bool {
        false
    }
}

/// An open timeline that waits for its head page, and the request it waits for.
fn waiting(relay: PublicKey) -> (Windows, Request, waggle::request::RequestId) {
    let (mut windows, mut out) = (Windows::new(relay), Outbox::default());
    let facts = RelayFacts { self_key: Some(relay), secure_or_loopback: true, thread_replies_in_channel: false };
    windows.on_connected(facts, &mut out);
    windows.open(TimelineKey::channel(CHANNEL), Some(200), CallToken(1), &mut out);
    windows.take_restores();
    windows.restored(&TimelineKey::channel(CHANNEL), Vec::new(), &Facts(relay), &mut out);
    let (id, request) = out.sent.pop().unwrap();
    (windows, request, id)
}

/// Bytes to an accepted page; answers how many rows show.
fn ingest(json: &[u8], relay: PublicKey, verifier: &Verifier) -> usize {
    let (mut windows, request, id) = waiting(relay);
    let outcome = protocol::decode(json, &request, verifier);
    let now = Now { mono: Millis(0), wall: T0 };
    windows.on_answer(id, &outcome, &Facts(relay), now, &mut Outbox::default());
    windows.view(&TimelineKey::channel(CHANNEL)).unwrap().order().len()
}

fn page_case(forged: bool, remembered: bool, promise: &'static str, name: &'static str, limit: f64) -> Vec<Line> {
    let mut worst = 0.0f64;
    for (_, authors) in SPREADS {
        let page = Page::new(ROWS, authors, "page");
        let mut json = page.json();
        let mut rows = page.rows;
        if forged {
            let sig = serde_json::from_str::<serde_json::Value>(&page.events[7].json).unwrap()["sig"]
                .as_str()
                .unwrap()
                .to_owned();
            let other = serde_json::from_str::<serde_json::Value>(&page.events[8].json).unwrap()["sig"]
                .as_str()
                .unwrap()
                .to_owned();
            json = json.replacen(&sig, &other, 1);
            rows -= 1;
        }
        let verifier = Verifier::new();
        assert_eq!(ingest(json.as_bytes(), page.relay, &verifier), rows);
        let best = minima(
            ROUNDS,
            &mut [&mut || time(|| page.verify_one_by_one()), &mut || {
                if !remembered {
                    verifier.forget();
                }
                time(|| ingest(json.as_bytes(), page.relay, &verifier))
            }],
        );
        worst = worst.max(best[1] as f64 / best[0] as f64);
    }
    vec![Line { promise, name, ratio: worst, limit }]
}

/// P1: bytes → verified, classified, cursor-checked page, the worst of three spreads of authors.
pub(crate) fn page_ingest() -> Vec<Line> {
    page_case(false, false, "P1", "page_ingest", 1.12)
}

/// P2: the same without the signatures: every one is remembered.
pub(crate) fn page_without_signatures() -> Vec<Line> {
    page_case(false, true, "P2", "page_without_signatures", 0.12)
}

/// P3: one forged event is rejected alone.
pub(crate) fn one_forged() -> Vec<Line> {
    page_case(true, false, "P3", "one_forged_of_a_page", 1.75)
}

/// P4: the same (id, signature) again costs no signature check, whatever it comes by.
pub(crate) fn seen_again() -> Vec<Line> {
    let page = Page::new(ROWS, Authors::Thirty, "again");
    let verifier = Verifier::new();
    ingest(page.json().as_bytes(), page.relay, &verifier);
    let before = verifier.signature_checks();
    ingest(page.json().as_bytes(), page.relay, &verifier);
    for event in &page.events {
        verifier.event(&event.json).unwrap();
    }
    let again = verifier.signature_checks() - before;
    vec![Line { promise: "P4", name: "signature_checks_of_seen_events", ratio: again as f64, limit: 0.0 }]
}

/// A page as the store keeps it.
fn kept(page: &Page) -> KeptPage {
    let verifier = Verifier::new();
    let events: Vec<SharedEvent> = page.events.iter().map(|e| verifier.event(&e.json).unwrap()).collect();
    let of = |pick: fn(&Event) -> bool| events.iter().filter(|e| pick(e)).cloned().collect::<Vec<_>>();
    KeptPage {
        row_mode: false,
        next: KeptNext::End,
        rows: of(|e| e.kind == 9),
        changes: of(|e| matches!(e.kind, 7 | 40003)),
        summaries: of(|e| e.kind == 39005),
    }
}

/// P12: open the store → first 50-row page, verified, handed out; warm. The limit is 1.25 F1 of the page and one millisecond, so the
/// ratio is of what remains after that millisecond. Wall clock, as a disk is part of it.
pub(crate) fn first_page() -> Vec<Line> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let page = Page::new(50, Authors::Thirty, "kept");
    let verifier = Verifier::new();
    let kept = kept(&page);
    {
        let mut cache = Cache::open(&path).unwrap();
        let part = cache.partition("relay.example", &page.relay).unwrap();
        cache.put_pages(part, CHANNEL, None, std::slice::from_ref(&kept)).unwrap();
        cache.close().unwrap();
    }
    let mut open = || {
        verifier.forget();
        let start = std::time::Instant::now();
        let mut cache = Cache::open(&path).unwrap();
        let part = cache.partition("relay.example", &page.relay).unwrap();
        let stored = cache.load_head(part, CHANNEL, None).unwrap();
        let pages = cache::verify(&stored.into_iter().collect::<Vec<_>>(), &verifier);
        let (mut windows, ..) = waiting(page.relay);
        windows.restored(&TimelineKey::channel(CHANNEL), pages, &Facts(page.relay), &mut Outbox::default());
        let spent = u64::try_from(start.elapsed().as_nanos()).unwrap();
        cache.close().unwrap();
        spent
    };
    let best = minima(ROUNDS, &mut [&mut || time(|| page.verify_one_by_one()), &mut open]);
    let after = best[1].saturating_sub(1_000_000) as f64;
    vec![Line { promise: "P12", name: "first_page_from_the_store", ratio: after / best[0] as f64, limit: 1.25 }]
}

/// Bytes this thread has read so far, from the operating system's cache or from the disk alike: a cold cache reads them all from the disk.
fn bytes_read() -> Option<u64> {
    let account = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    account.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse().ok()
}

/// P13: pages of the database read from opening it to the first page of a channel, with 299 other channels and a thousand events in it. Only
/// Linux counts what a thread reads. (`store::cache::tests` holds the same.)
pub(crate) fn cold_page() -> Vec<Line> {
    const PAGE: f64 = 16_384.0;
    if bytes_read().is_none() {
        return Vec::new();
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    let page = Page::new(50, Authors::Thirty, "cold");
    let kept = kept(&page);
    let asked = crate::counting::channel(150);
    {
        let mut cache = Cache::open(&path).unwrap();
        let part = cache.partition("relay.example", &page.relay).unwrap();
        for n in 0..300 {
            cache.put_pages(part, crate::counting::channel(n), None, std::slice::from_ref(&kept)).unwrap();
        }
        let events: Vec<_> = (0..1_000).map(|n| crate::counting::message(n, 300, "cold")).collect();
        cache.put_events(part, cache::Class::Evidence, &crate::counting::verified(&events)).unwrap();
        cache.close().unwrap();
    }
    let before = bytes_read().unwrap();
    let mut cache = Cache::open(&path).unwrap();
    let part = cache.partition("relay.example", &page.relay).unwrap();
    let head = cache.load_head(part, asked, None).unwrap().unwrap();
    let read = bytes_read().unwrap() - before;
    assert_eq!(cache::verify(&[head], &Verifier::new())[0].rows.len(), 50);
    vec![Line { promise: "P13", name: "database_pages_of_a_cold_start", ratio: read as f64 / PAGE, limit: 40.0 }]
}

/// F1(123): what the promises that are measured in other processes are held against.
pub(crate) fn f1_microseconds() -> f64 {
    let page = Page::new(ROWS, Authors::Thirty, "yardstick");
    let mut verify = || {
        time(|| {
            for e in page.events.iter().take(ROWS) {
                secp256k1::SECP256K1.verify_schnorr(&e.sig, &e.id.0, &e.key).unwrap();
            }
        })
    };
    minima(ROUNDS, &mut [&mut verify])[0] as f64 / 1_000.0
}
