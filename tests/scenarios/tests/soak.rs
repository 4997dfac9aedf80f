//! A long time with much traffic: memory stays flat and files stay bounded.
//!
//! A week goes by in virtual time while people write in many channels. After the first fifth everything that has a bound has reached it; from then on the
//! process must not grow. `cargo xtask soak` runs a thousand channels and a million events; here the same runs small.

#![allow(clippy::unwrap_used, reason = "a test")]
#![expect(clippy::print_stdout, reason = "cargo xtask soak shows what it measured")]

use std::sync::Arc;

use waggle::identity::{MemorySecrets, Secret};
use waggle::ids::{ChannelId, Target};
use waggle::limits;
use waggle::session::{Blocking, Config, Credential, Session, TimelineOptions, Waggle};
use waggle_scenarios::clock::{Time, VirtualClock, rest, settled};
use waggle_scenarios::device::Link;
use waggle_scenarios::names::{Person, channel_id, sha256};
use waggle_scenarios::trace::Trace;
use waggle_scenarios::transport::InProcess;
use waggle_test_relay::admin::{Bring, NewChannel};
use waggle_test_relay::{Event, Relay, RelayConfig, Settings, Storage};

const T0: u64 = 1_751_500_000;
const WEEK_MS: u64 = 7 * 86_400_000;
/// Looks at memory and files.
const LOOKS: u64 = 50;

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// Memory of this process that is not shared with files, KiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

/// Bytes of a folder's files whose names begin so.
fn files(dir: &std::path::Path, prefix: &str) -> u64 {
    let all = std::fs::read_dir(dir).unwrap().flatten();
    let named = all.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    named.filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
}

struct Soak {
    relay: Relay,
    time: Arc<Time>,
    session: Session,
    channels: Vec<String>,
}

impl Soak {
    async fn new(dir: &std::path::Path, channels: u64) -> Self {
        let time = Time::starting_at(T0);
        let mut config = RelayConfig::new(time.clone());
        config.secret_key = sha256("waggle/person/relay");
        config.settings = Settings { quotas: false, ..Settings::default() };
        // On disk, so that what the relay keeps is not taken for the reader's memory.
        config.storage = Storage::File(dir.join("relay.sqlite"));
        let relay = Relay::open(config).unwrap();
        let [me, ada, bo] = ["me", "ada", "bo"].map(|name| Person::named(name).unwrap().public());
        relay.admin().add_people(&[(&me, "member"), (&ada, "member"), (&bo, "member")]).unwrap();
        let ids: Vec<String> = (0..channels).map(|i| channel_id(&format!("room {i}"))).collect();
        let new = ids.iter().map(|id| NewChannel {
            created_at: Some(T0 - 86_400),
            ..NewChannel::stream(id.clone(), "room", &[&me, &ada, &bo])
        });
        relay.admin().create_channels(new.collect()).unwrap();
        let link = Link::new(relay.clone(), "reader", Trace::default());
        let transport = Arc::new(InProcess(link));
        let mut config = Config::new(dir.join("data"), Arc::new(MemorySecrets::new()), transport);
        config.clock = VirtualClock::new(time.clone());
        config.seed = Some(7);
        config.blocking = Blocking::Inline;
        let client = Waggle::open(config).unwrap();
        let secret = Secret::from_bytes(Person::named("me").unwrap().secret()).unwrap();
        client.sign_in(Credential::Full(secret)).await.unwrap();
        let session = client.session("https://relay.test").unwrap();
        session.start().await.unwrap();
        Self { relay, time, session, channels: ids }
    }

    async fn to(&mut self, target: u64) {
        rest().await;
        while self.time.now_ms() < target {
            let now = self.time.now_ms();
            // The relay pings every half a minute.
            let stop = self.time.next_deadline().unwrap_or(target).min(now + 15_000).min(target).max(now);
            self.time.move_to(stop);
            self.relay.tick();
            rest().await;
        }
    }

    async fn finish<T>(&mut self, call: impl Future<Output = T>) -> T {
        let mut call = Box::pin(call);
        loop {
            match settled(call).await {
                Ok(result) => return result,
                Err(unfinished) => call = unfinished,
            }
            let at = self.time.now_ms() + 500;
            self.to(at).await;
        }
    }
}

#[test]
fn memory_stays_flat_and_files_stay_bounded() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let (events, channels) = (setting("WAGGLE_SOAK_EVENTS", 5_000), setting("WAGGLE_SOAK_CHANNELS", 20));
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let mut soak = Soak::new(dir.path(), channels).await;
        soak.to(60_000).await;
        let session = soak.session.clone();
        soak.finish(session.ensure()).await.unwrap();
        let open = ChannelId::parse(&soak.channels[0]).unwrap();
        let timeline = soak.finish(session.timeline(open, TimelineOptions::default())).await.unwrap();
        let people = ["ada", "bo"].map(|name| Person::named(name).unwrap());
        let (each, mut settled, mut last) = (events.div_ceil(LOOKS), 0, 0);
        for look in 1..=LOOKS {
            let from = soak.time.now_ms();
            let until = WEEK_MS / LOOKS * look;
            for i in 0..each {
                let n = (look - 1) * each + i;
                let at = from + (until.saturating_sub(from)) * i / each;
                soak.to(at).await;
                let h = soak.channels[usize::try_from(n * 7 % channels).unwrap()].clone();
                let tags = vec![vec!["h".to_owned(), h]];
                let signed = people[usize::try_from(n % 2).unwrap()].sign(
                    soak.time.unix(),
                    9,
                    tags,
                    &format!("message {n}"),
                    None,
                );
                let event = Event::parse(&signed.json).unwrap();
                soak.relay.admin().accept(event, &Bring::default()).unwrap().unwrap();
            }
            soak.to(until).await;
            // A reader comes by, reads everything, and what overflowed meanwhile is read anew.
            soak.finish(session.mark_all_channels_read()).await.unwrap();
            let _ = soak.finish(session.refresh()).await;
            last = memory();
            if look == LOOKS / 5 {
                settled = last;
            }
            let (journal, cache) =
                (files(&dir.path().join("data"), "journal"), files(&dir.path().join("data"), "cache"));
            assert!(journal < 8 << 20, "the journal has {journal} bytes");
            assert!(cache < 2 * u64::try_from(limits::CACHE_BYTES).unwrap(), "the cache has {cache} bytes");
            if look % 10 == 0 {
                println!(
                    "{:>8} events: {last} KiB, journal {} KiB, cache {} KiB",
                    look * each,
                    journal >> 10,
                    cache >> 10
                );
            }
        }
        let grown = last.saturating_sub(settled);
        println!(
            "{events} events in {channels} channels over a week: {settled} KiB after a fifth, {last} KiB at the end"
        );
        assert!(grown < settled / 4 + 8_192, "memory grew by {grown} KiB from {settled} KiB");
        soak.to(WEEK_MS + 60_000).await;
        let target = Target::Channel(open);
        assert_eq!(soak.finish(session.snapshot(target)).await.unwrap().observed.unwrap_or(0), 0);
        soak.finish(timeline.close()).await.unwrap();
        soak.finish(session.close()).await.unwrap();
    });
    runtime.shutdown_background();
}
