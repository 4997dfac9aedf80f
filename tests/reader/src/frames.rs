//! How long a frame takes while the community is busy: 300 channels, 1,000 events within one second.
//!
//! The real session, driver and screen, drawn into memory at the terminal's pace. A frame is what the person waits for: taking in what
//! changed, laying out, drawing, reporting. The relay and the core work beside it, as they do in the reader.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use waggle::identity::MemorySecrets;
use waggle::session::{Client, Config, Credential, Session, Waggle};
use waggle_test_relay::admin::{Bring, NewChannel};
use waggle_test_relay::{Event as RelayEvent, Keys, Relay, RelayClock as _, RelayConfig, SystemClock, sha256};

use crate::app::{App, Event, Settings};
use crate::driver::{Driver, wait_until};
use crate::embedded::Line;
use crate::terminal::FRAME;
use crate::waits::taken_away;
use crate::{run, ui};

const CHANNELS: usize = 300;
const EVENTS: usize = 1_000;
const HOST: &str = "127.0.0.1:7447";

/// What was measured.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Milliseconds of each frame, sorted.
    pub frames: Vec<f64>,
    /// Those during which the system did not give the processor to somebody else, sorted: what frames cost by themselves.
    pub undisturbed: Vec<f64>,
    /// Channels in the list.
    pub channels: usize,
    /// Channels with something unread in the end.
    pub unread: usize,
}

impl Measured {
    /// The value that so many percent of the frames do not exceed.
    pub fn percentile(&self, percent: usize) -> f64 {
        percentile(&self.frames, percent)
    }
}

fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or(0.0)
}

/// Measures and says what came out.
pub async fn run() -> anyhow::Result<()> {
    let measured = measure(CHANNELS, EVENTS).await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} channels, {EVENTS} events in one second, {} unread", measured.channels, measured.unread)?;
    let (half, most, worst) = (measured.percentile(50), measured.percentile(99), measured.percentile(100));
    writeln!(out, "{} frames: p50 {half:.2} ms, p99 {most:.2} ms, max {worst:.2} ms", measured.frames.len())?;
    let own = &measured.undisturbed;
    let (half, worst) = (percentile(own, 50), percentile(own, 100));
    writeln!(out, "{} of them undisturbed by other processes: p50 {half:.2} ms, max {worst:.2} ms", own.len())?;
    Ok(())
}

pub(crate) fn channel_id(n: usize) -> String {
    let hash = sha256(format!("waggle/frames/channel/{n}").as_bytes());
    let hex: String = hash[..16].iter().map(|b| format!("{b:02x}")).collect();
    format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

struct Crowd {
    relay: Relay,
    viewer: Keys,
    events: Vec<RelayEvent>,
}

/// A relay with so many channels, and messages to come, signed beforehand.
fn crowd(channels: usize, events: usize) -> anyhow::Result<Crowd> {
    let mut config = RelayConfig::new(Arc::new(SystemClock));
    (config.host, config.secure) = (HOST.to_owned(), false);
    let relay = Relay::open(config)?;
    let viewer = Keys::new(sha256(b"waggle/frames/viewer"))?;
    let other = Keys::new(sha256(b"waggle/frames/other"))?;
    let members = [viewer.public().to_owned(), other.public().to_owned()];
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    let roster: Vec<_> = members.iter().map(|m| (*m, "member")).collect();
    relay.admin().add_people(&roster)?;
    let new = |n| NewChannel::stream(channel_id(n), format!("channel-{n:03}"), &members);
    relay.admin().create_channels((0..channels).map(new).collect())?;
    let now = SystemClock.now_ms() / 1000;
    let message = |n: usize, at: u64| {
        let h = vec!["h".to_owned(), channel_id(n % channels)];
        other.sign(at, 9, vec![h], format!("Message {n}, long enough to be wrapped over a line or two of a pane."))
    };
    for n in 0..channels {
        let history = Bring { history: true, ..Bring::default() };
        relay.admin().accept(message(n, now - 3_600), &history)??;
    }
    let events = (0..events).map(|n| message(channels + n * 7, now)).collect();
    Ok(Crowd { relay, viewer, events })
}

/// What [`opened`] makes. Files and client live as long as the session.
pub(crate) struct Opened {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) client: Client,
    pub(crate) session: Session,
    pub(crate) relay: Relay,
    pub(crate) events: Vec<RelayEvent>,
}

/// A session with such a community, its channels listed and read once; and the messages to come.
pub(crate) async fn opened(channels: usize, events: usize) -> anyhow::Result<Opened> {
    let Crowd { relay, viewer, events } = crowd(channels, events)?;
    let dir = tempfile::tempdir()?;
    let line = Line::new(relay.clone(), "bench");
    let client = Waggle::open(Config::new(dir.path().to_owned(), Arc::new(MemorySecrets::new()), line))?;
    client.sign_in(Credential::Full(waggle::identity::Secret::from_bytes(viewer.secret())?)).await?;
    let session = run::open(&client, &format!("ws://{HOST}")).await?;
    let listed = wait_until(&session.sidebar(), Duration::from_secs(30), |s| s.rows.len() == channels).await;
    listed.context("the channels were not listed")?;
    session.ensure().await?;
    Ok(Opened { dir, client, session, relay, events })
}

/// Draws frames while the events arrive, spread over a second.
pub async fn measure(channels: usize, events: usize) -> anyhow::Result<Measured> {
    let Opened { dir: _dir, client: _client, session, relay, events } = opened(channels, events).await?;
    let mut driver = Driver::new(session, App::new(Settings::default()));
    let mut terminal = Terminal::new(TestBackend::new(160, 50))?;
    picture(&mut driver, &mut terminal)?;
    driver.handle(Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
    let gap = Duration::from_secs(1) / u32::try_from(events.len().max(1))?;
    let arrivals = tokio::task::spawn_blocking(move || {
        let begun = Instant::now();
        for (n, event) in events.into_iter().enumerate() {
            let due = gap * u32::try_from(n).unwrap_or(u32::MAX);
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
            relay.admin().accept(event, &Bring::default())??;
        }
        anyhow::Ok(())
    });
    let (mut frames, mut undisturbed) = (Vec::new(), Vec::new());
    while !arrivals.is_finished() {
        let before = taken_away();
        let begun = Instant::now();
        picture(&mut driver, &mut terminal)?;
        let spent = begun.elapsed().as_secs_f64() * 1_000.0;
        frames.push(spent);
        if taken_away() == before {
            undisturbed.push(spent);
        }
        tokio::time::sleep(FRAME.saturating_sub(begun.elapsed())).await;
    }
    arrivals.await??;
    tokio::time::sleep(Duration::from_millis(500)).await;
    picture(&mut driver, &mut terminal)?;
    let rows = &driver.app.sidebar.state.rows;
    let unread = rows.iter().filter(|r| r.observed.is_some_and(|n| n > 0)).count();
    let listed = rows.len();
    frames.sort_by(f64::total_cmp);
    undisturbed.sort_by(f64::total_cmp);
    driver.close().await?;
    Ok(Measured { frames, undisturbed, channels: listed, unread })
}

fn picture(driver: &mut Driver, terminal: &mut Terminal<TestBackend>) -> anyhow::Result<()> {
    driver.pull();
    if driver.app.take_changed() {
        terminal.draw(|frame| {
            driver.app.arrange(frame.area());
            ui::draw(&driver.app, frame.buffer_mut());
        })?;
        driver.drawn();
    }
    Ok(())
}
