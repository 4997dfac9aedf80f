//! Arguments, and what they lead to.

use std::fs::File;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, bail};
use clap::{Parser, ValueEnum};
use tokio::net::TcpListener;
use waggle::identity::{MemorySecrets, Secret, platform_secrets};
use waggle::ids::PublicKey;
use waggle::relay::net::{NetConfig, NetTransport};
use waggle::session::{Client, Config, Credential, Session, Waggle};
use waggle_test_relay::{Dialect, RelayClock as _, Storage, SystemClock};

use crate::app::{App, Settings};
use crate::driver::Driver;
use crate::embedded::meeting::{self, Meeting};
use crate::embedded::{Embedded, Options};
use crate::{frames, terminal, tour, waits};

/// Where the key may stand for `--relay`.
const KEY_VARIABLE: &str = "WAGGLE_NSEC";

/// Relay lines the embedded relay can imitate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum DialectArg {
    /// With the read-state snapshot and multi-channel filters.
    #[default]
    Current,
    /// As measured in August 2026.
    August,
}

impl From<DialectArg> for Dialect {
    fn from(arg: DialectArg) -> Self {
        match arg {
            DialectArg::Current => Self::Current,
            DialectArg::August => Self::August,
        }
    }
}

/// Waggle in a terminal: reads a Buzz community. Without arguments, one on a relay embedded in this process. Without a terminal, a guided
/// tour of it.
#[derive(Debug, Parser)]
#[command(version, about)]
pub struct Args {
    /// Read a real relay, wss://…, with the key in WAGGLE_NSEC or in the platform's key store.
    #[arg(long, value_name = "URL")]
    relay: Option<String>,
    /// The account to use where the key store holds several: its public key in hex.
    #[arg(long, value_name = "HEX", requires = "relay")]
    account: Option<String>,
    /// Keep the key of WAGGLE_NSEC in the platform's key store.
    #[arg(long, requires = "relay")]
    remember: bool,
    /// Name of this installation. Another name is another device: in a second terminal it shares the embedded relay.
    #[arg(long, value_name = "NAME", default_value = "desk", value_parser = device_name)]
    device: String,
    /// Keep files below this directory, the embedded relay's too, instead of starting afresh.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The relay line the embedded relay imitates.
    #[arg(long, value_enum, default_value_t)]
    dialect: DialectArg,
    /// Let nothing happen in the embedded community.
    #[arg(long)]
    no_live: bool,
    /// Write a log of shapes (no content, ids, keys or hosts) to this file.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Take the guided tour, also on a terminal.
    #[arg(long)]
    tour: bool,
    /// Measure frames: 300 channels, 1,000 events in a second.
    #[arg(long)]
    bench_frames: bool,
    /// Measure how long reading a snapshot takes during a repair (P17).
    #[arg(long)]
    bench_waits: bool,
}

fn device_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if text.is_empty() || text.len() > 32 || !text.chars().all(plain) {
        return Err("letters, digits and dashes, at most 32".to_owned());
    }
    Ok(text.to_owned())
}

/// Runs the reader.
pub fn main(args: Args) -> anyhow::Result<()> {
    if let Some(file) = &args.log {
        log_to(file)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(choose(args));
    // Watchers of a session that is closed have nothing to wait for.
    runtime.shutdown_background();
    outcome
}

async fn choose(args: Args) -> anyhow::Result<()> {
    if args.bench_frames {
        return frames::run().await;
    }
    if args.bench_waits {
        return waits::run().await;
    }
    let on_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if args.tour || (!on_terminal && args.relay.is_none()) {
        return tour::run(&mut std::io::stdout(), args.dialect.into()).await;
    }
    if !on_terminal {
        bail!("reading a relay needs a terminal");
    }
    match args.relay.clone() {
        Some(url) => read_relay(&args, &url).await,
        None => match Meeting::find().await {
            Some(meeting) => join(&args, &meeting).await,
            None => host(&args).await,
        },
    }
}

/// A log for the asking. The core logs shapes only; so does the reader.
fn log_to(file: &Path) -> anyhow::Result<()> {
    let file = File::create(file).context("the log file cannot be written")?;
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(Mutex::new(file))
        .init();
    Ok(())
}

/// Reads a real relay.
async fn read_relay(args: &Args, url: &str) -> anyhow::Result<()> {
    let transport = Arc::new(NetTransport::new(NetConfig::default())?);
    let dir = args.data.clone().map_or_else(user_data_dir, Ok)?.join(&args.device);
    let from_environment = std::env::var(KEY_VARIABLE).ok();
    let secrets: Arc<dyn waggle::identity::SecretStore> = match &from_environment {
        Some(_) if !args.remember => Arc::new(MemorySecrets::new()),
        _ => Arc::new(platform_secrets().context("the platform's key store cannot be opened")?),
    };
    let client = Waggle::open(Config::new(dir, secrets, transport))?;
    match from_environment {
        Some(text) => {
            let secret = Secret::parse(text.trim()).with_context(|| format!("{KEY_VARIABLE} is no key"))?;
            client.sign_in(Credential::Full(secret)).await?;
        }
        None => client.use_account(stored_account(args, &client).await?).await?,
    }
    read(&client, url, format!("Waggle · {}", args.device)).await
}

async fn stored_account(args: &Args, client: &Client) -> anyhow::Result<PublicKey> {
    if let Some(hex) = &args.account {
        return PublicKey::parse(hex).context("--account is no public key");
    }
    match client.accounts().await?.as_slice() {
        [one] => Ok(*one),
        [] => bail!("the key store holds no account: set {KEY_VARIABLE} once, with --remember"),
        _ => bail!("the key store holds several accounts: choose one with --account"),
    }
}

/// Reads the relay another reader serves.
async fn join(args: &Args, meeting: &Meeting) -> anyhow::Result<()> {
    let transport = Arc::new(NetTransport::new(NetConfig::default())?);
    let base = args.data.clone().unwrap_or_else(|| meeting::data_dir(&meeting.run));
    let config = Config::new(base.join(&args.device), Arc::new(MemorySecrets::new()), transport);
    let client = Waggle::open(config)?;
    client.sign_in(Credential::Full(Secret::parse(&meeting.viewer)?)).await?;
    let title = format!("Waggle · {} · the relay of the other reader", args.device);
    read(&client, &format!("ws://{}", meeting.host), title).await
}

/// Reads an embedded relay, and serves it to other readers meanwhile.
async fn host(args: &Args) -> anyhow::Result<()> {
    let run = format!("{:x}{:x}", std::process::id(), SystemClock.now_ms());
    let base = args.data.clone().unwrap_or_else(|| meeting::data_dir(&run));
    std::fs::create_dir_all(&base).context("the data directory cannot be made")?;
    let listener = listen(args.data.as_deref()).await?;
    let host = listener.local_addr()?.to_string();
    let mut embedded = Embedded::open(Options {
        host: host.clone(),
        dialect: args.dialect.into(),
        storage: args.data.as_ref().map_or(Storage::Memory, |d| Storage::File(d.join("relay.sqlite"))),
        clock: Arc::new(SystemClock),
    })?;
    embedded.serve(listener);
    if !args.no_live {
        embedded.keep_talking();
    }
    let meeting = Meeting { host, relay: embedded.relay.public_key(), run, viewer: embedded.community.viewer_nsec()? };
    // Without it a second reader starts a relay of its own; that is no reason not to read.
    if meeting.write().is_err() {
        tracing::warn!("other readers will not find this relay");
    }
    let config = Config::new(base.join(&args.device), Arc::new(MemorySecrets::new()), embedded.line(&args.device));
    let client = Waggle::open(config)?;
    client.sign_in(Credential::Full(embedded.viewer()?)).await?;
    let outcome = read(&client, &embedded.address(), format!("Waggle · {} · embedded relay", args.device)).await;
    meeting.remove();
    if args.data.is_none() {
        // The community these files are of is gone with its relay; what cannot be removed is the system's to tidy.
        let _ = std::fs::remove_dir_all(base);
    }
    outcome
}

/// A loopback port: the one used last with this data directory, since a community is known by its address, else any.
async fn listen(data: Option<&Path>) -> anyhow::Result<TcpListener> {
    let note = data.map(|d| d.join("relay.port"));
    let last = note.as_ref().and_then(|n| std::fs::read_to_string(n).ok()).and_then(|t| t.trim().parse::<u16>().ok());
    let bound = match last {
        Some(port) => TcpListener::bind(("127.0.0.1", port)).await,
        None => TcpListener::bind(("127.0.0.1", 0)).await,
    };
    let listener = bound.context("no port of this machine to serve the embedded relay on")?;
    if let Some(note) = note {
        std::fs::write(note, listener.local_addr()?.port().to_string())
            .context("the data directory cannot be written")?;
    }
    Ok(listener)
}

/// Opens a session and reads on the terminal.
async fn read(client: &Client, address: &str, title: String) -> anyhow::Result<()> {
    let session = open(client, address).await?;
    let settings = Settings { title, utc_offset: utc_offset() };
    terminal::run(Driver::new(session, App::new(settings))).await
}

/// A session that is ready locally and counts what is unread as soon as it can.
pub async fn open(client: &Client, address: &str) -> anyhow::Result<Session> {
    let session = client.session(address)?;
    session.start().await?;
    let counting = session.clone();
    tokio::spawn(async move {
        // Its failure is told by the status line and the counts themselves.
        let _ = counting.ensure().await;
    });
    Ok(session)
}

/// Where applications of this user keep their files.
fn user_data_dir() -> anyhow::Result<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = if cfg!(target_os = "windows") {
        variable("APPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|h| h.join("Library/Application Support"))
    } else {
        variable("XDG_DATA_HOME").or_else(|| variable("HOME").map(|h| h.join(".local/share")))
    };
    Ok(base.context("no home directory: say --data")?.join("waggle-reader"))
}

/// Seconds east of UTC. The standard library knows no time zone; the system's `date` does, and where there is none, days begin in UTC.
fn utc_offset() -> i32 {
    let asked = std::process::Command::new("date").arg("+%z").output().ok();
    asked.and_then(|out| parse_offset(String::from_utf8_lossy(&out.stdout).trim())).unwrap_or(0)
}

/// `+0530`, `-0800`.
fn parse_offset(text: &str) -> Option<i32> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number: i32 = digits.parse().ok()?;
    Some(sign * (number / 100 * 3600 + number % 100 * 60))
}

/// Tells of a failure, on the terminal that is the person's again.
pub fn tell(error: &anyhow::Error) {
    // Nowhere is left to tell it if this fails.
    let _ = writeln!(std::io::stderr(), "waggle-reader: {error:#}");
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn arguments_are_sound() {
        Args::command().debug_assert();
        assert!(Args::try_parse_from(["waggle-reader", "--device", "../up"]).is_err());
        assert!(Args::try_parse_from(["waggle-reader", "--device", "tablet", "--no-live"]).is_ok());
    }

    #[test]
    fn offsets() {
        assert_eq!(parse_offset("+0530"), Some(19_800));
        assert_eq!(parse_offset("-0800"), Some(-28_800));
        assert_eq!(parse_offset("+0000"), Some(0));
        for bad in ["", "0530", "+05", "+05:30", "+abcd"] {
            assert_eq!(parse_offset(bad), None, "{bad}");
        }
    }
}
