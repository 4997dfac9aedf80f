//! A reader in virtual time: the real session on a seeded embedded relay, drawn into memory.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "test support")]

mod svg;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Modifier;
use waggle::identity::MemorySecrets;
use waggle::session::{Config, Credential, Waggle};
use waggle_reader::app::{App, Event, Settings, text};
use waggle_reader::driver::Driver;
use waggle_reader::embedded::{Embedded, Line, Options};
use waggle_reader::ui;
use waggle_scenarios::clock::{Time, VirtualClock, rest};
use waggle_test_relay::admin::Bring;
use waggle_test_relay::{Dialect, Storage};

/// Thursday, 3 July 2025, 09:00 UTC.
const T0: u64 = 1_751_533_200;
const HOST: &str = "127.0.0.1:7447";

/// A reader and its world.
pub(crate) struct Reader {
    pub(crate) driver: Driver,
    pub(crate) embedded: Embedded,
    pub(crate) line: Arc<Line>,
    time: Arc<Time>,
    terminal: Terminal<TestBackend>,
    dir: Arc<tempfile::TempDir>,
}

/// Runs a test in virtual time.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(test);
}

impl Reader {
    /// A reader on a screen of this size, counted and idle.
    pub(crate) async fn open(width: u16, height: u16) -> Self {
        let time = Time::starting_at(T0);
        let options =
            Options { host: HOST.to_owned(), dialect: Dialect::Current, storage: Storage::Memory, clock: time.clone() };
        let embedded = Embedded::open(options).unwrap();
        let dir = Arc::new(tempfile::tempdir().unwrap());
        let line = embedded.line("desk");
        let mut reader = Self::on(embedded, line, time, dir, (width, height)).await;
        reader.settle().await;
        reader
    }

    async fn on(
        embedded: Embedded,
        line: Arc<Line>,
        time: Arc<Time>,
        dir: Arc<tempfile::TempDir>,
        (width, height): (u16, u16),
    ) -> Self {
        let mut config = Config::new(dir.path().to_owned(), Arc::new(MemorySecrets::new()), line.clone());
        config.clock = VirtualClock::new(time.clone());
        config.seed = Some(7);
        let client = Waggle::open(config).unwrap();
        client.sign_in(Credential::Full(embedded.viewer().unwrap())).await.unwrap();
        let session = waggle_reader::run::open(&client, &embedded.address()).await.unwrap();
        let settings = Settings { title: "Waggle · desk · embedded relay".to_owned(), utc_offset: 0 };
        let driver = Driver::new(session, App::new(settings));
        let terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        Self { driver, embedded, line, time, terminal, dir }
    }

    /// Closes the reader and opens it again without a network.
    pub(crate) async fn reopen_offline(self) -> Self {
        let Self { driver, embedded, line, time, terminal, dir } = self;
        let size = terminal.size().unwrap();
        driver.close().await.unwrap();
        line.cut();
        let mut reader = Self::on(embedded, line, time, dir, (size.width, size.height)).await;
        reader.settle().await;
        reader
    }

    /// Until nothing happens any more without time passing.
    pub(crate) async fn settle(&mut self) {
        for _ in 0..200 {
            rest().await;
            let ms = self.time.now_ms();
            self.driver.handle(Event::Tick(ms, self.time.unix()));
            self.driver.pull();
            if !self.driver.app.take_changed() {
                return;
            }
            self.draw();
        }
        panic!("the reader never settles");
    }

    fn draw(&mut self) {
        let driver = &mut self.driver;
        self.terminal
            .draw(|frame| {
                driver.app.arrange(frame.area());
                ui::draw(&driver.app, frame.buffer_mut());
            })
            .unwrap();
        driver.drawn();
    }

    /// Lets time pass, timer by timer.
    pub(crate) async fn pass(&mut self, ms: u64) {
        let end = self.time.now_ms() + ms;
        // What can run now may ask for a timer.
        self.settle().await;
        loop {
            let next = self.time.next_deadline().filter(|at| *at <= end);
            self.time.move_to(next.unwrap_or(end));
            self.embedded.relay.tick();
            self.settle().await;
            if next.is_none() {
                return;
            }
        }
    }

    pub(crate) async fn key(&mut self, code: KeyCode) {
        self.driver.handle(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        self.settle().await;
    }

    pub(crate) async fn keys(&mut self, text: &str) {
        for c in text.chars() {
            self.key(KeyCode::Char(c)).await;
        }
    }

    /// Puts the list's cursor on a channel and opens it.
    pub(crate) async fn open_channel(&mut self, name: &str) {
        let rows = self.driver.app.sidebar.state.rows.clone();
        let at = rows.iter().position(|r| r.name == name).unwrap_or_else(|| panic!("no channel {name}"));
        while self.driver.app.focus != waggle_reader::app::Focus::Sidebar {
            self.key(KeyCode::Tab).await;
        }
        self.key(KeyCode::Home).await;
        for _ in 0..at {
            self.key(KeyCode::Down).await;
        }
        self.key(KeyCode::Enter).await;
    }

    /// Somebody writes in a channel.
    pub(crate) fn post(&self, by: &str, channel: &str, said: &str) {
        let community = &self.embedded.community;
        let h = vec!["h".to_owned(), community.channels[channel].clone()];
        let event = community.people[by].sign(self.embedded.seconds(), 9, vec![h], said);
        self.embedded.relay.admin().accept(event, &Bring::default()).unwrap().unwrap();
    }

    /// Compares the screen with its snapshot. `WAGGLE_PICTURES` names a folder that gets a picture of it, too.
    pub(crate) fn expect(&mut self, name: &str) {
        self.draw();
        if let Some(folder) = std::env::var_os("WAGGLE_PICTURES") {
            let file = PathBuf::from(folder).join(format!("{name}.svg"));
            std::fs::write(file, svg::drawn(self.terminal.backend().buffer())).unwrap();
        }
        let seen = picture(self.terminal.backend().buffer());
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("snapshots").join(format!("{name}.txt"));
        if std::env::var_os("WAGGLE_UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(&file, &seen).unwrap();
            return;
        }
        let wanted = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            seen == wanted,
            "{name} differs; WAGGLE_UPDATE_SNAPSHOTS=1 takes it over\n{}",
            difference(&wanted, &seen)
        );
    }

    /// The screen as text.
    pub(crate) fn screen(&self) -> String {
        picture(self.terminal.backend().buffer())
    }
}

/// Text of a buffer, then what is bold in it: weight carries meaning.
fn picture(buffer: &Buffer) -> String {
    let (mut lines, mut strong) = (String::new(), String::new());
    let area = buffer.area();
    for y in 0..area.height {
        let (mut line, mut bold) = (String::new(), String::new());
        let mut x = 0;
        while x < area.width {
            let cell = &buffer[(x, y)];
            line.push_str(cell.symbol());
            bold.push_str(if cell.modifier.contains(Modifier::BOLD) { cell.symbol() } else { " " });
            x += u16::try_from(text::width(cell.symbol()).max(1)).unwrap();
        }
        writeln!(lines, "{}", line.trim_end()).unwrap();
        if !bold.trim().is_empty() {
            let words: Vec<_> = bold.split("  ").map(str::trim).filter(|w| !w.is_empty()).collect();
            writeln!(strong, "{y:>3}: {}", words.join(" | ")).unwrap();
        }
    }
    format!("{lines}bold:\n{strong}")
}

fn difference(wanted: &str, seen: &str) -> String {
    let mut out = String::new();
    let (wanted, seen): (Vec<_>, Vec<_>) = (wanted.lines().collect(), seen.lines().collect());
    for at in 0..wanted.len().max(seen.len()) {
        let (a, b) = (wanted.get(at).copied().unwrap_or(""), seen.get(at).copied().unwrap_or(""));
        if a != b {
            writeln!(out, "{at:>3} - {a}\n    + {b}").unwrap();
        }
    }
    out
}
