//! The test relay alone, for trying a reader by hand. It is a test relay: it says so, and nobody should deploy it.

mod control;

use std::{io::Write, path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context;
use clap::{Parser, ValueEnum};
use futures_util::future::OptionFuture;
use tokio::net::TcpListener;
use waggle_test_relay::{
    Dialect, Relay, RelayClock, RelayConfig, Settings, Storage, SystemClock, community,
    community::{Community, seed_community},
};

#[derive(Clone, Copy, ValueEnum)]
enum DialectArg {
    /// With the read-state snapshot and multi-channel filters.
    Current,
    /// As measured in August 2026.
    August,
}

/// A small Buzz relay for tests and demos. Not for deployment.
#[derive(Parser)]
#[command(version, about)]
struct Args {
    /// Address to listen on; also the host clients must use.
    #[arg(long, default_value = "127.0.0.1:7447")]
    listen: String,
    /// The relay line to imitate.
    #[arg(long, value_enum, default_value = "current")]
    dialect: DialectArg,
    /// Every reply is a row of the channel window.
    #[arg(long)]
    row_mode: bool,
    /// Keep events in this file instead of memory.
    #[arg(long)]
    db: Option<PathBuf>,
    /// Fill it with a lived-in community, and let things happen there.
    #[arg(long)]
    seed_community: bool,
    /// Let its talk end at this moment (seconds since 1970) instead of now: the same moment gives the same events.
    #[arg(long, requires = "seed_community")]
    seed_at: Option<u64>,
    /// Seconds between arrivals in the seeded community; 0 for none.
    #[arg(long, default_value_t = 20)]
    activity: u64,
    /// Take commands for the seeded community on standard input, one a line, and end when it ends (see `control.rs`).
    #[arg(long, requires = "seed_community")]
    control: bool,
    /// Leave `self` out of the discovery document.
    #[arg(long)]
    anonymous: bool,
}

fn config(args: &Args, host: String) -> RelayConfig {
    let mut config = RelayConfig::new(Arc::new(SystemClock));
    config.host = host;
    config.secure = false;
    config.seed = SystemClock.now_ms();
    config.storage = args.db.clone().map_or(Storage::Memory, Storage::File);
    config.settings = Settings {
        dialect: match args.dialect {
            DialectArg::Current => Dialect::Current,
            DialectArg::August => Dialect::August,
        },
        thread_replies_in_channel: args.row_mode,
        identity: !args.anonymous,
        ..Settings::default()
    };
    config
}

fn now() -> u64 {
    SystemClock.now_ms() / 1000
}

/// Says where the relay is and who the viewer is.
fn introduce(host: &str, relay: &Relay, community: Option<&Community>) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "waggle test relay: for tests and demos only, do not deploy it.")?;
    writeln!(out, "relay   ws://{host}  (http://{host}; other names of this address are other communities, so 404)")?;
    writeln!(out, "self    {}", relay.public_key())?;
    if let Some(community) = community {
        writeln!(out, "viewer  {}  ({})", community.viewer_nsec()?, community.viewer.public())?;
        writeln!(out, "The viewer key is public knowledge. Use it here and nowhere else.")?;
    }
    Ok(out.flush()?)
}

/// Lets something happen every so often.
async fn arrivals(relay: Relay, mut live: community::Live, secs: u64) {
    let mut interval = tokio::time::interval(Duration::from_secs(secs));
    interval.tick().await;
    loop {
        interval.tick().await;
        // A refused arrival (an archived channel, say) is skipped; the next comes anyway.
        let _skipped = live.next_activity(&relay, now());
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let listener =
        TcpListener::bind(&args.listen).await.with_context(|| format!("cannot listen on {}", args.listen))?;
    let host = match args.listen.rsplit_once(':') {
        Some((name, "0")) => format!("{name}:{}", listener.local_addr()?.port()),
        _ => args.listen.clone(),
    };
    let relay = Relay::open(config(&args, host.clone()))?;
    let talk_ends = args.seed_at.unwrap_or_else(now);
    let community =
        if args.seed_community { Some(seed_community(&relay, talk_ends).context("cannot seed")?) } else { None };
    introduce(&host, &relay, community.as_ref())?;
    if let Some(community) = community.as_ref().filter(|_| args.activity > 0) {
        tokio::spawn(arrivals(relay.clone(), community.live(), args.activity));
    }
    let commands = community.filter(|_| args.control).map(|community| control::start(relay.clone(), community));
    tokio::select! {
        served = relay.serve(listener) => Ok(served?),
        Some(ended) = OptionFuture::from(commands) => Ok(ended??),
        stopped = tokio::signal::ctrl_c() => Ok(stopped?),
    }
}
