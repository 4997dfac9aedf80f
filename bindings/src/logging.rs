//! Logs: to the platform's log, to a sink of the app's own, and to a stream that is pulled.
//!
//! The core logs shapes, never values: counts, kinds, durations, codes; no content, id, key or host (policy test). What arrives here may
//! therefore be shown and shared. One subscriber serves the whole process; levels per target are set when it is installed.
//!
//! The stream keeps the newest [`LINES`] lines. Whoever pulls too slowly is told how many lines it missed.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing_subscriber::filter::{FilterExt as _, Targets, filter_fn};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry};
use waggle::clock::{Clock as _, SystemClock};

use crate::errors::{ClientError, ViewError};
use crate::runtime::guarded;

/// Lines the stream keeps.
pub const LINES: usize = 1_000;

/// How grave a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, uniffi::Enum)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something is odd.
    Warn,
    /// Something worth knowing.
    Info,
    /// Steps.
    Debug,
    /// Everything.
    Trace,
}

impl From<tracing::Level> for LogLevel {
    fn from(level: tracing::Level) -> Self {
        match level {
            tracing::Level::ERROR => Self::Error,
            tracing::Level::WARN => Self::Warn,
            tracing::Level::INFO => Self::Info,
            tracing::Level::DEBUG => Self::Debug,
            tracing::Level::TRACE => Self::Trace,
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct LogLine {
    /// Seconds since 1970, by the device's clock.
    pub at: u64,
    /// How grave.
    pub level: LogLevel,
    /// Which part of Waggle.
    pub target: String,
    /// What happened.
    pub message: String,
}

/// Takes lines as they come. Called from Waggle's threads; must not wait and must not call Waggle.
#[uniffi::export(with_foreign)]
pub trait LogSink: Send + Sync {
    /// One line.
    fn log(&self, line: LogLine);
}

/// Lines since the last pull.
#[derive(Debug, Clone, PartialEq, Eq, uniffi::Record)]
pub struct LogBatch {
    /// Ask for the next batch with it.
    pub version: u64,
    /// Lines, oldest first.
    pub lines: Vec<LogLine>,
    /// Lines that were dropped before they were pulled.
    pub missed: u64,
}

#[derive(Default)]
struct Ring {
    lines: VecDeque<LogLine>,
    /// Number of the newest line; the first is 1.
    written: u64,
}

#[derive(Default)]
struct Hub {
    ring: Mutex<Ring>,
    changed: Notify,
    sink: RwLock<Option<Arc<dyn LogSink>>>,
}

static HUB: LazyLock<Hub> = LazyLock::new(Hub::default);

impl Hub {
    fn take(&self, line: LogLine) {
        let sink = self.sink.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(sink) = sink {
            sink.log(line.clone());
        }
        {
            let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
            if ring.lines.len() == LINES {
                ring.lines.pop_front();
            }
            ring.lines.push_back(line);
            ring.written += 1;
        }
        self.changed.notify_waiters();
    }

    fn since(&self, after: u64) -> Option<LogBatch> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        if ring.written <= after {
            return None;
        }
        let oldest = ring.written - ring.lines.len() as u64;
        let skip = usize::try_from(after.saturating_sub(oldest)).unwrap_or(usize::MAX);
        let lines = ring.lines.iter().skip(skip).cloned().collect();
        Some(LogBatch { version: ring.written, lines, missed: oldest.saturating_sub(after) })
    }
}

/// Writes fields one after the other, as `message name=value`.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

/// Hands every event that passed the filter to the hub.
struct ToHub(SystemClock);

impl Layer<Registry> for ToHub {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, Registry>) {
        let mut text = Text::default();
        event.record(&mut text);
        let (level, target) = (*event.metadata().level(), event.metadata().target().to_owned());
        HUB.take(LogLine { at: self.0.now().wall, level: level.into(), target, message: text.0.trim().to_owned() });
    }
}

#[cfg(any(target_os = "macos", target_os = "ios"))]
fn platform() -> Option<Box<dyn Layer<Registry> + Send + Sync>> {
    Some(tracing_oslog::OsLogger::new("org.waggle", "core").boxed())
}

#[cfg(target_os = "android")]
fn platform() -> Option<Box<dyn Layer<Registry> + Send + Sync>> {
    Some(paranoid_android::layer("waggle").boxed())
}

/// Elsewhere there is no such log; the stream and the sink serve.
#[cfg(not(any(target_os = "macos", target_os = "ios", target_os = "android")))]
fn platform() -> Option<Box<dyn Layer<Registry> + Send + Sync>> {
    None
}

/// Starts logging for the whole process. `levels` says how much of what, as in `info,waggle::session=debug`. Fails with `InvalidArgument`
/// for levels that are none, and with `Other` (`busy`) when the process logs already.
#[uniffi::export]
pub fn start_logging(levels: String) -> Result<(), ClientError> {
    const NO_LEVELS: waggle::error::Error = waggle::error::Error::InvalidArgument { what: "log levels" };
    // Libraries below name hosts in their own lines; only Waggle's are known to carry shapes.
    let own = || filter_fn(|line| line.target().starts_with("waggle"));
    let filter = |levels: &str| levels.parse::<Targets>().map(|f| f.and(own())).map_err(|_| NO_LEVELS);
    let mut layers: Vec<Box<dyn Layer<Registry> + Send + Sync>> =
        vec![ToHub(SystemClock::new()).with_filter(filter(&levels)?).boxed()];
    if let Some(layer) = platform() {
        layers.push(layer.with_filter(filter(&levels)?).boxed());
    }
    let started = tracing_subscriber::registry().with(layers).try_init();
    Ok(started.map_err(|_| waggle::error::Error::Busy { what: "logging" })?)
}

/// Sends lines to a sink as well, in place of an earlier one; none ends that.
#[uniffi::export]
pub fn set_log_sink(sink: Option<Arc<dyn LogSink>>) {
    *HUB.sink.write().unwrap_or_else(PoisonError::into_inner) = sink;
}

/// Pulls log lines.
#[derive(Debug, Default, uniffi::Object)]
pub struct LogStream {
    cancelled: AtomicBool,
}

#[uniffi::export]
impl LogStream {
    /// A stream of the process's log.
    #[uniffi::constructor]
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Waits for lines newer than `after`; 0 takes what is kept. Ends with `Closed` after `cancel`.
    pub async fn next(&self, after: u64) -> Result<LogBatch, ViewError> {
        let wait = async {
            loop {
                let changed = HUB.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if self.cancelled.load(Ordering::Acquire) {
                    return Err(waggle::error::Error::Closed);
                }
                if let Some(batch) = HUB.since(after) {
                    return Ok(batch);
                }
                changed.await;
            }
        };
        Ok(guarded(wait).await?)
    }

    /// Ends this stream's waits, now and later. Idempotent.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        HUB.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: usize) -> LogLine {
        LogLine { at: 0, level: LogLevel::Info, target: "t".to_owned(), message: n.to_string() }
    }

    #[test]
    fn a_slow_reader_learns_what_it_missed_and_the_ring_is_bounded() {
        let hub = Hub::default();
        assert_eq!(hub.since(0), None);
        (0..LINES + 5).for_each(|n| hub.take(line(n)));
        let all = hub.since(0).unwrap();
        assert_eq!((all.lines.len(), all.missed, all.version), (LINES, 5, LINES as u64 + 5));
        assert_eq!(all.lines[0], line(5));
        assert_eq!(hub.since(all.version), None);
        hub.take(line(9));
        let more = hub.since(all.version).unwrap();
        assert_eq!((more.lines, more.missed), (vec![line(9)], 0));
    }

    #[test]
    fn lines_arrive_by_stream_and_sink_and_bad_levels_are_refused() {
        struct Sink(Mutex<Vec<String>>);
        impl LogSink for Sink {
            fn log(&self, line: LogLine) {
                self.0.lock().unwrap().push(line.message);
            }
        }
        assert!(matches!(start_logging("=nonsense=".to_owned()), Err(ClientError::InvalidArgument { .. })));
        start_logging("warn,waggle_test=info,hyper=trace".to_owned()).unwrap();
        assert!(matches!(start_logging("info".to_owned()), Err(ClientError::Other { .. })));
        let sink = Arc::new(Sink(Mutex::default()));
        set_log_sink(Some(sink.clone()));
        tracing::info!(target: "waggle_test", count = 3, "rows read");
        tracing::debug!(target: "waggle_test", "not this");
        tracing::error!(target: "hyper", "nor what a library says");
        set_log_sink(None);
        tracing::info!(target: "waggle_test", "after");
        assert_eq!(*sink.0.lock().unwrap(), ["rows read count=3"]);
        let stream = LogStream::new();
        let batch = futures_util::FutureExt::now_or_never(stream.next(0)).unwrap().unwrap();
        assert!(batch.lines.iter().any(|l| l.message == "rows read count=3" && l.level == LogLevel::Info));
        let waiting = stream.next(batch.version);
        stream.cancel();
        assert!(matches!(futures_util::FutureExt::now_or_never(waiting), Some(Err(ViewError::Closed { .. }))));
    }
}
