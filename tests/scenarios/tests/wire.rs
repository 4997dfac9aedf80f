//! Resources on the real wire: the core's own transport against the embedded relay over loopback, in a process of its own.
//!
//! One test, because descriptors and memory are the process's: what an extension takes, live events at a steady rate with every count right, and every
//! descriptor released by a close. `cargo xtask load` runs it at full size (`WAGGLE_LOAD_RATE` a second for `WAGGLE_LOAD_SECONDS`); nothing is timed
//! unless that asks for it.

#![allow(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::print_stdout, reason = "cargo xtask load shows what it measured")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use waggle::identity::{MemorySecrets, Secret};
use waggle::ids::{ChannelId, Target};
use waggle::relay::net::{NetConfig, NetTransport};
use waggle::session::{Config, Credential, Mode, Session, TimelineOptions, Waggle};
use waggle_scenarios::names::{Person, channel_id};
use waggle_test_relay::admin::{Bring, NewChannel};
use waggle_test_relay::{Event, Relay, RelayClock as _, RelayConfig, Settings, SystemClock};

/// What an extension may take beside the process it is in, bytes.
const EXTENSION_BYTES: u64 = 12 << 20;
/// Messages among the live events; the others are reactions to them. All of them stay within the evidence window.
const MESSAGES: u64 = 2_000;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

fn person(name: &str) -> Person {
    Person::named(name).unwrap()
}

fn now() -> u64 {
    SystemClock.now_ms() / 1_000
}

/// A message, or a reaction to one.
fn signed(by: &str, at: u64, kind: u16, tags: &[&[&str]], text: &str) -> Event {
    let tags = tags.iter().map(|tag| tag.iter().map(|t| (*t).to_owned()).collect()).collect();
    Event::parse(&person(by).sign(at, kind, tags, text, None).json).unwrap()
}

fn relay(host: &str) -> Relay {
    let mut config = RelayConfig::new(Arc::new(SystemClock));
    host.clone_into(&mut config.host);
    config.secure = false;
    config.settings = Settings { quotas: false, ..Settings::default() };
    let relay = Relay::open(config).unwrap();
    let [me, ada, bo] = ["me", "ada", "bo"].map(|name| person(name).public());
    relay.admin().add_people(&[(&me, "member"), (&ada, "member"), (&bo, "member")]).unwrap();
    let channels = (0..40).map(|i| NewChannel {
        created_at: Some(now() - 86_400),
        ..NewChannel::stream(channel_id(&format!("room {i}")), format!("room {i}"), &[&me, &ada, &bo])
    });
    relay.admin().create_channels(channels.collect()).unwrap();
    let history: Vec<Event> = (0..1_200u64)
        .map(|i| {
            let h = channel_id(&format!("room {}", i % 40));
            signed("ada", now() - 40_000 + i, 9, &[&["h", &h]], &format!("message {i} {}", "with words ".repeat(8)))
        })
        .collect();
    let bring = Bring { quiet: true, history: true, channel: None };
    relay.admin().accept_all(history, &bring).unwrap().unwrap();
    relay
}

async fn session(dir: &std::path::Path, host: &str, mode: Mode) -> Session {
    let transport = Arc::new(NetTransport::new(NetConfig { allow_plain: true }).unwrap());
    let mut config = Config::new(dir.to_owned(), Arc::new(MemorySecrets::new()), transport);
    config.mode = mode;
    let client = Waggle::open(config).unwrap();
    client.sign_in(Credential::Full(Secret::from_bytes(person("me").secret()).unwrap())).await.unwrap();
    let session = client.session(&format!("ws://{host}")).unwrap();
    session.start().await.unwrap();
    until("the roster is there", async || (session.sidebar().current().value.rows.len() == 40).then_some(())).await;
    session
}

/// Waits until something holds, at most a minute.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("never: {what}");
}

/// Open descriptors, by what they are.
fn descriptors() -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir("/proc/self/fd").unwrap().flatten() {
        if let Ok(what) = std::fs::read_link(entry.path()) {
            let what = what.to_string_lossy();
            // The listing's own descriptor names this process.
            if !what.starts_with("/proc") {
                *found.entry(what.split(':').next().unwrap_or_default().to_owned()).or_insert(0) += 1;
            }
        }
    }
    found
}

/// Open descriptors when nothing closes any more: the relay's ends of sockets go a moment later than ours.
async fn at_rest() -> BTreeMap<String, usize> {
    let mut last = descriptors();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        let now = descriptors();
        if now == last {
            break;
        }
        last = now;
    }
    last
}

/// Memory of this process that is not shared with files, bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() << 10
}

#[test]
fn the_wire() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let relay = relay(&host);
        let served = tokio::spawn(relay.clone().serve(listener));
        let dir = tempfile::tempdir().unwrap();
        // Whatever the first use of a library leaves open or allocated is no session's.
        look_once(&dir.path().join("first"), &host, Mode::App).await;
        let before = at_rest().await;
        let took = extension(&dir.path().join("extension"), &host, &relay).await;
        println!("an extension took {} KiB", took >> 10);
        assert!(took <= EXTENSION_BYTES, "an extension took {} KiB", took >> 10);
        load(&dir.path().join("load"), &host, &relay).await;
        let after = at_rest().await;
        let more: Vec<_> = after.iter().filter(|(what, n)| before.get(*what).is_none_or(|held| held < n)).collect();
        assert!(more.is_empty(), "not released: {more:?}; before {before:?}");
        served.abort();
    });
}

/// A session that looks at everything and closes.
async fn look_once(dir: &std::path::Path, host: &str, mode: Mode) {
    let session = session(dir, host, mode).await;
    session.ensure().await.unwrap();
    session.close().await.unwrap();
}

/// What an extension takes to count everything and show a page; it asks for no live stream.
async fn extension(dir: &std::path::Path, host: &str, relay: &Relay) -> u64 {
    relay.reset_counters();
    let before = memory();
    let session = session(dir, host, Mode::Extension).await;
    session.ensure().await.unwrap();
    let channel = ChannelId::parse(&channel_id("room 7")).unwrap();
    let seen = session.snapshot(Target::Channel(channel)).await.unwrap();
    assert!(seen.observed.is_some_and(|n| n > 0), "an extension counts");
    let timeline = session.timeline(channel, TimelineOptions::default()).await.unwrap();
    assert!(!timeline.state().rows.is_empty(), "an extension shows a page");
    let took = memory().saturating_sub(before);
    assert_eq!(relay.counters().subscriptions, 0, "an extension has no live subscriptions");
    timeline.close().await.unwrap();
    session.close().await.unwrap();
    took
}

/// Live events at a steady rate into an open timeline; in the end every count is right.
async fn load(dir: &std::path::Path, host: &str, relay: &Relay) {
    let (rate, seconds) = (setting("WAGGLE_LOAD_RATE", 200), setting("WAGGLE_LOAD_SECONDS", 3));
    let full = std::env::var_os("WAGGLE_LOAD_RATE").is_some();
    let session = session(dir, host, Mode::App).await;
    session.ensure().await.unwrap();
    let channel = ChannelId::parse(&channel_id("room 0")).unwrap();
    session.mark_channel_read(channel).await.unwrap();
    let timeline = session.timeline(channel, TimelineOptions::default()).await.unwrap();
    let all = rate * seconds;
    let messages = MESSAGES.min(all / 4);
    let events = script(all, messages);
    let (start, mut worst) = (Instant::now(), Duration::ZERO);
    for (i, chunk) in events.chunks(usize::try_from(rate / 10).unwrap().max(1)).enumerate() {
        let due = start + Duration::from_millis(100 * i as u64);
        tokio::time::sleep_until(due.into()).await;
        worst = worst.max(due.elapsed());
        for event in chunk {
            relay.admin().accept(event.clone(), &Bring::default()).unwrap().unwrap();
        }
    }
    let posted = start.elapsed();
    let reacted = all - messages;
    until("every event is counted", async || {
        let seen = session.snapshot(Target::Channel(channel)).await.unwrap();
        let drawn: u64 = timeline.state().rows.iter().flat_map(|r| &r.reactions).map(|r| u64::from(r.count)).sum();
        (seen.observed.map(u64::from) == Some(messages) && drawn == reacted).then_some(())
    })
    .await;
    let behind = start.elapsed().saturating_sub(posted);
    println!(
        "{all} events, {messages} of them messages, in {} ms; seen {} ms after the last",
        posted.as_millis(),
        behind.as_millis()
    );
    println!("the writer was at most {} ms late", worst.as_millis());
    // A queue that grew would still be full: a second's worth of events may be on its way, not more.
    assert!(!full || behind < Duration::from_secs(2), "the reader fell {} ms behind", behind.as_millis());
    let close = Instant::now();
    timeline.close().await.unwrap();
    session.close().await.unwrap();
    println!("closed in {} ms", close.elapsed().as_millis());
    assert!(!full || close.elapsed() < Duration::from_millis(500), "closing took {} ms", close.elapsed().as_millis());
}

/// Messages first and then now and again, reactions between, each one another person's or another sign.
fn script(all: u64, messages: u64) -> Vec<Event> {
    let h = channel_id("room 0");
    let at = now() + 1;
    let mut ids: Vec<String> = Vec::new();
    let every = (all / messages.max(1)).max(1);
    (0..all)
        .map(|i| {
            if i % every == 0 && (ids.len() as u64) < messages {
                let event = signed("ada", at, 9, &[&["h", &h]], &format!("live {i}"));
                ids.push(event.id.clone());
                return event;
            }
            let target = &ids[usize::try_from(i).unwrap() % ids.len()];
            let by = if i % 2 == 0 { "bo" } else { "ada" };
            signed(by, at, 7, &[&["h", &h], &["e", target]], &format!("s{i}"))
        })
        .collect()
}
