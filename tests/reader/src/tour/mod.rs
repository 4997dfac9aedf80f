//! The guided tour: what the reader can do, shown without a terminal, each step verified.
//!
//! Two devices, "phone" and "tablet", each with its own directory and its own line to one embedded relay, all on the real clock. A step
//! says what it does, does it through the same session the screens use, checks what it claims, and fails the tour when the core did not do it.

mod devices;
mod steps;

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use waggle_test_relay::{Dialect, Storage, SystemClock};

use crate::embedded::{Embedded, Options};

pub use devices::Device;

/// Longest wait for something that takes a moment.
const SOON: Duration = Duration::from_secs(10);

/// The tour's stage.
pub struct Stage<'a> {
    embedded: Embedded,
    phone: Device,
    tablet: Device,
    out: &'a mut dyn Write,
    begun: Instant,
    step: usize,
}

impl std::fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stage(step {})", self.step)
    }
}

impl Stage<'_> {
    /// Announces a step.
    fn step(&mut self, title: &str) -> std::io::Result<()> {
        self.step += 1;
        writeln!(self.out, "\n{:>2}. {title}", self.step)
    }

    /// Says what was seen.
    fn say(&mut self, text: impl AsRef<str>) -> std::io::Result<()> {
        writeln!(self.out, "    {}", text.as_ref())
    }
}

/// Takes the tour. Fails with the first step that did not hold.
pub async fn run(out: &mut dyn Write, dialect: Dialect) -> anyhow::Result<()> {
    let begun = Instant::now();
    let dir = tempfile::tempdir().context("no temporary directory")?;
    let mut embedded = Embedded::open(Options {
        host: "127.0.0.1:7447".to_owned(),
        dialect,
        storage: Storage::Memory,
        clock: Arc::new(SystemClock),
    })?;
    embedded.keep_time();
    let phone = Device::new(&embedded, "phone", dir.path().join("phone"))?;
    let tablet = Device::new(&embedded, "tablet", dir.path().join("tablet"))?;
    writeln!(out, "Waggle, a guided tour: two devices on one embedded relay with a lived-in community.")?;
    writeln!(out, "With a terminal, the same command opens the reader.")?;
    let mut stage = Stage { embedded, phone, tablet, out, begun, step: 0 };
    steps::all(&mut stage).await?;
    let (steps, seconds) = (stage.step, stage.begun.elapsed().as_secs_f64());
    writeln!(stage.out, "\nAll {steps} steps held, in {seconds:.1} s.")?;
    Ok(())
}
