//! How long reading a snapshot can take while evidence is repaired (P17): 300 channels, 1,500 messages.
//!
//! A thread of its own reads views as fast as it can, as an app's drawing does, while the session reads all evidence again, checks its
//! signatures and writes it down. A wait for a lock would be one for as long as its holder works. Readings during which the system took the
//! processor away from the thread measure the system, and are left out; a wait gives the processor up by itself and stays in.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::Context as _;
use waggle::ids::{ChannelId, Target};

use crate::frames::{Opened, channel_id, opened};

const CHANNELS: usize = 300;
const EVENTS: usize = 1_200;
const REPAIRS: usize = 5;

/// Milliseconds a reading may take (P17).
const LIMIT: f64 = 2.0;

/// How often the system took the processor away from this thread.
pub(crate) fn taken_away() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// Measures and says what came out, in the ratio bench's form. Fails past the limit.
pub async fn run() -> anyhow::Result<()> {
    let Opened { dir: _dir, client: _client, session, relay, events } = opened(CHANNELS, EVENTS).await?;
    for event in events {
        relay.admin().accept(event, &waggle_test_relay::admin::Bring::default())??;
    }
    let channel = ChannelId::parse(&channel_id(1)).map_err(|e| anyhow::anyhow!("{e}"))?;
    let (sidebar, unread) = (session.sidebar(), session.unread(Target::Channel(channel)).await?);
    let over = Arc::new(AtomicBool::new(false));
    let reader = {
        let over = over.clone();
        std::thread::spawn(move || {
            let (mut worst, mut readings) = (0.0f64, 0u64);
            while !over.load(Ordering::Relaxed) {
                let before = taken_away();
                let mut longest = 0.0f64;
                for _ in 0..64 {
                    let begun = Instant::now();
                    std::hint::black_box((sidebar.current(), unread.current()));
                    longest = longest.max(begun.elapsed().as_secs_f64() * 1_000.0);
                }
                if taken_away() == before {
                    (worst, readings) = (worst.max(longest), readings + 64);
                }
            }
            (worst, readings)
        })
    };
    for _ in 0..REPAIRS {
        session.refresh().await?;
    }
    over.store(true, Ordering::Relaxed);
    let (worst, readings) = reader.join().ok().context("the reading thread failed")?;
    session.close().await?;
    let mark = if worst <= LIMIT { "" } else { "  PAST THE LIMIT" };
    writeln!(std::io::stdout().lock(), "P17 snapshot_wait_ms {worst:.3} {LIMIT:.2}{mark}")?;
    anyhow::ensure!(readings > 10_000, "too few readings: {readings}");
    anyhow::ensure!(worst <= LIMIT, "past the limit");
    Ok(())
}
