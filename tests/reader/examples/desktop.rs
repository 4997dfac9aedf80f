//! Waggle in a desktop app that already exists: the app's loop owns its thread and its state, Waggle lives on a runtime of its own, and
//! values come over as messages. The marked regions are the blocks of `bindings/docs/howto.md`.
//!
//! The "app" here draws lines of text, on a relay in this process. `cargo run -p waggle-reader --example desktop`; it ends by itself, with
//! success if the message it showed was read.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::Context as _;
use tokio::runtime::Runtime;
use waggle::identity::MemorySecrets;
use waggle::ids::ChannelId;
use waggle::model::{Connectivity, Phase, SidebarState, TimelineState, Viewport};
use waggle::session::{Client, Config, Credential, ReadingSurface, Session, Timeline, TimelineOptions, View, Waggle};
use waggle_reader::embedded::{Embedded, Options};
use waggle_test_relay::{Dialect, Storage, SystemClock};

// howto: rust-messages
/// What Waggle tells the app's loop. Values are shared, not copied.
enum News {
    Sidebar(Arc<SidebarState>),
    Connectivity(Arc<Connectivity>),
    Timeline(Arc<TimelineState>),
}
// howto: end

/// The app's own state: what its window shows.
#[derive(Default)]
struct Window {
    sidebar: Option<Arc<SidebarState>>,
    timeline: Option<Arc<TimelineState>>,
    online: bool,
}

/// What belongs to an open channel. Dropping it closes it.
struct Open {
    channel: ChannelId,
    surface: ReadingSurface,
    timeline: Timeline,
    told: Option<Viewport>,
}

struct App {
    runtime: Runtime,
    client: Client,
    session: Session,
    news: Sender<News>,
    window: Window,
    open: Option<Open>,
}

impl App {
    // howto: rust-open
    /// Opens the client on a runtime of its own, signs in, and starts: what this device holds can be read when that returns.
    fn open(config: Config, credential: Credential, host: &str, news: Sender<News>) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let client = Waggle::open(config)?;
        let session = runtime.block_on(async {
            client.sign_in(credential).await?;
            let session = client.session(host)?;
            session.start().await?;
            Ok::<_, waggle::error::Error>(session)
        })?;
        // Counts what is unread. If it cannot, the counts say so themselves.
        let counting = session.clone();
        runtime.spawn(async move { counting.ensure().await });
        let app = Self { runtime, client, session, news, window: Window::default(), open: None };
        app.pull(app.session.sidebar(), News::Sidebar);
        app.pull(app.session.connectivity(), News::Connectivity);
        Ok(app)
    }
    // howto: end

    // howto: rust-watch
    /// Pulls a view and sends what is new to the loop. `next` waits for a version newer than the last; it ends when the session closes.
    fn pull<T: PartialEq + Send + Sync + 'static>(&self, view: View<T>, wrap: fn(Arc<T>) -> News) {
        let news = self.news.clone();
        self.runtime.spawn(async move {
            let mut seen = 0;
            while let Ok(now) = view.next(seen).await {
                seen = now.version;
                if news.send(wrap(now.value)).is_err() {
                    break;
                }
            }
        });
    }
    // howto: end

    // howto: rust-channel
    /// Opens a channel: its rows come as news, and the surface takes what the window shows of them.
    fn show(&mut self, channel: ChannelId) -> anyhow::Result<()> {
        let session = &self.session;
        let (timeline, surface) = self.runtime.block_on(async {
            let timeline = session.timeline(channel, TimelineOptions::default()).await?;
            Ok::<_, waggle::error::Error>((timeline, session.surface(channel, None).await?))
        })?;
        self.pull(timeline.view(), News::Timeline);
        self.open = Some(Open { channel, surface, timeline, told: None });
        Ok(())
    }
    // howto: end

    // howto: rust-visible
    /// After drawing: says which rows show in full. What was read follows from that, and the core decides it.
    fn drawn(&mut self, focused: bool, scrolling: bool) {
        let (Some(open), Some(timeline)) = (&mut self.open, &self.window.timeline) else { return };
        let shown: Vec<_> = timeline.rows.iter().rev().take(20).rev().map(|row| row.id).collect();
        let bottom = shown.last().copied();
        let viewport = Viewport { active: focused, settled: !scrolling, visible: shown, bottom };
        // Only what is new: each report starts the dwell again.
        if open.told.as_ref() != Some(&viewport) {
            open.told = Some(viewport.clone());
            open.surface.report(viewport);
        }
    }
    // howto: end

    /// One turn of the app's loop: takes what is new, and draws.
    fn turn(&mut self, news: News, out: &mut impl std::io::Write) -> anyhow::Result<()> {
        match news {
            News::Sidebar(sidebar) => self.window.sidebar = Some(sidebar),
            News::Timeline(timeline) => self.window.timeline = Some(timeline),
            News::Connectivity(now) => {
                self.window.online = now.phase == Phase::Online;
                writeln!(out, "status: {}", now.sentence)?;
            }
        }
        self.drawn(true, false);
        Ok(())
    }

    /// Unread messages of the open channel, as the channel list says.
    fn unread(&self) -> Option<u32> {
        let open = self.open.as_ref()?;
        let row = self.window.sidebar.as_ref()?.rows.iter().find(|row| row.channel == open.channel)?;
        row.observed
    }

    // howto: rust-close
    /// Publishes what can be published and releases every file; the window may go before.
    fn close(mut self) -> anyhow::Result<()> {
        if let Some(open) = self.open.take() {
            self.runtime.block_on(open.timeline.close())?;
        }
        self.runtime.block_on(self.session.close())?;
        drop(self.client);
        self.runtime.shutdown_timeout(Duration::from_secs(5));
        Ok(())
    }
    // howto: end
}

fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let stage = Runtime::new()?;
    let _inside = stage.enter();
    let mut relay = Embedded::open(Options {
        host: "127.0.0.1:7447".to_owned(),
        dialect: Dialect::Current,
        storage: Storage::Memory,
        clock: Arc::new(SystemClock),
    })?;
    relay.keep_time();
    let config = Config::new(folder.path().to_owned(), Arc::new(MemorySecrets::new()), relay.line("desktop"));
    let (sender, news): (_, Receiver<News>) = channel();
    let mut app = App::open(config, Credential::Full(relay.viewer()?), &relay.address(), sender)?;
    let mut out = std::io::stdout().lock();
    let mut before: Option<u32> = None;
    loop {
        let next = news.recv_timeout(Duration::from_secs(30)).context("nothing happens any more")?;
        app.turn(next, &mut out)?;
        if app.open.is_none() && app.window.online {
            let rows = app.window.sidebar.iter().flat_map(|sidebar| sidebar.rows.iter());
            let unread = rows.into_iter().find(|row| row.joined && row.observed > Some(0)).cloned();
            let Some(row) = unread else { continue };
            writeln!(out, "opening {}, {} unread", row.name, row.observed.unwrap_or_default())?;
            before = row.observed;
            app.show(row.channel)?;
        }
        if let (Some(before), Some(now)) = (before, app.unread())
            && now < before
        {
            writeln!(out, "read: {now} unread now")?;
            break;
        }
    }
    app.close()
}

#[cfg(test)]
#[test]
fn it_runs_to_its_end() {
    main().unwrap();
}
