//! The real terminal: keys in, frames out, and given back whatever happens.
//!
//! A frame is drawn when something changed, at most every [`FRAME`]; keys are taken at once in between. The terminal is restored when the
//! reader ends, fails, panics or is told to stop.

use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, DisableFocusChange, EnableFocusChange};
use ratatui::crossterm::execute;
use tokio::sync::mpsc;

use crate::app::Event;
use crate::driver::Driver;
use crate::ui;

/// Shortest time from one frame to the next.
pub const FRAME: Duration = Duration::from_millis(16);
/// How often the clock is looked at when nothing happens.
const TICK: Duration = Duration::from_millis(250);
/// Keys waiting for the app; a faster typist waits.
const KEYS: usize = 64;

/// Gives the terminal back when dropped, also while a panic unwinds.
struct Screen(DefaultTerminal);

impl Screen {
    fn take() -> io::Result<Self> {
        // Installs a panic hook that restores the terminal before the panic is told.
        let terminal = ratatui::try_init()?;
        let screen = Self(terminal);
        execute!(io::stdout(), EnableFocusChange)?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nothing better can be done about a terminal that is gone.
        let _ = execute!(io::stdout(), DisableFocusChange);
        ratatui::restore();
    }
}

/// Reads the terminal on a thread of its own, which ends with the process: a blocked read cannot be called off.
fn read_keys() -> mpsc::Receiver<io::Result<event::Event>> {
    let (sender, keys) = mpsc::channel(KEYS);
    std::thread::spawn(move || {
        loop {
            let read = event::read();
            let failed = read.is_err();
            if sender.blocking_send(read).is_err() || failed {
                return;
            }
        }
    });
    keys
}

/// Completes when the system asks the process to stop.
async fn told_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut term), Ok(mut hangup)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup())) else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = hangup.recv() => {}
        }
    }
    #[cfg(not(unix))]
    std::future::pending::<()>().await;
}

fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// Runs the reader on the terminal until the person leaves.
pub async fn run(mut driver: Driver) -> anyhow::Result<()> {
    let mut screen = Screen::take()?;
    let outcome = frames(&mut driver, &mut screen.0).await;
    drop(screen);
    // Reading is saved already; what cannot be published now is published at the next start.
    let closed = driver.close().await;
    outcome?;
    Ok(closed?)
}

async fn frames(driver: &mut Driver, terminal: &mut DefaultTerminal) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut keys = read_keys();
    let mut stop = std::pin::pin!(told_to_stop());
    let mut tick = tokio::time::interval(TICK);
    let mut next_frame = Instant::now();
    let mut resized = true;
    loop {
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        driver.handle(Event::Tick(ms, unix_now()));
        let due = Instant::now() >= next_frame;
        if due {
            driver.pull();
            if driver.app.take_changed() || std::mem::take(&mut resized) {
                terminal.draw(|frame| {
                    driver.app.arrange(frame.area());
                    ui::draw(&driver.app, frame.buffer_mut());
                })?;
                driver.drawn();
                next_frame = Instant::now() + FRAME;
            }
        }
        if driver.app.quit {
            return Ok(());
        }
        tokio::select! {
            () = &mut stop => return Ok(()),
            key = keys.recv() => match key {
                Some(Ok(event::Event::Key(key))) => driver.handle(Event::Key(key)),
                Some(Ok(event::Event::Resize(..))) => resized = true,
                Some(Ok(event::Event::FocusGained)) => driver.handle(Event::Focus(true)),
                Some(Ok(event::Event::FocusLost)) => driver.handle(Event::Focus(false)),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
                None => return Ok(()),
            },
            () = driver.changed(), if due => {}
            () = tokio::time::sleep_until(next_frame.into()), if !due => {}
            _ = tick.tick() => {}
        }
    }
}
