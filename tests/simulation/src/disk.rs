//! What stands before and inside a device's journal: held saves, disks that fail, and death at any effect.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use waggle::error::StorageKind;
use waggle::store::journal::{Effect, Hooks};
use waggle_scenarios::device::SaveGate;

use crate::line::Line;
use crate::plan::DiskEffect;

#[derive(Default)]
struct State {
    faults: Vec<(Effect, StorageKind, u32, u32)>,
    /// Effects until the process dies.
    dies_in: Option<u32>,
    dead: bool,
    /// Effects seen, ever.
    effects: u64,
}

/// A device's disk.
pub struct Disk {
    state: Mutex<State>,
    gate: Arc<SaveGate>,
    line: Arc<Line>,
}

impl Disk {
    /// A disk that works. When the process dies its line goes silent in the same moment.
    pub fn new(line: Arc<Line>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), gate: Arc::default(), line })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where saves wait.
    pub fn gate(&self) -> &Arc<SaveGate> {
        &self.gate
    }

    /// After `skip` passes of an effect, `times` of them fail.
    pub fn fail(&self, at: DiskEffect, full: bool, skip: u32, times: u32) {
        let at = match at {
            DiskEffect::Begin => Effect::Begin,
            DiskEffect::Save => Effect::Save,
            DiskEffect::Row => Effect::Row,
            DiskEffect::Commit => Effect::Commit,
        };
        let kind = if full { StorageKind::Full } else { StorageKind::Io };
        self.state().faults.push((at, kind, skip, times));
    }

    /// Everything works again.
    pub fn mend(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.dies_in = None;
        drop(state);
        self.gate.release();
    }

    /// The process dies at the n-th effect from now.
    pub fn die_in(&self, effects: u32) {
        self.state().dies_in = Some(effects);
    }

    /// Whether the process died; it is alive again after this.
    pub fn take_dead(&self) -> bool {
        std::mem::take(&mut self.state().dead)
    }

    /// Whether something is armed.
    pub fn is_armed(&self) -> bool {
        let state = self.state();
        self.gate.is_held() || !state.faults.is_empty() || state.dies_in.is_some() || state.dead
    }
}

impl Hooks for Disk {
    fn at(&self, effect: Effect) -> Result<(), StorageKind> {
        let mut state = self.state();
        state.effects += 1;
        if state.dead {
            return Err(StorageKind::Io);
        }
        if let Some(left) = &mut state.dies_in {
            if *left == 0 {
                state.dies_in = None;
                state.dead = true;
                drop(state);
                self.line.set_online(false);
                return Err(StorageKind::Io);
            }
            *left -= 1;
        }
        let Some(at) = state.faults.iter().position(|(at, ..)| *at == effect) else { return Ok(()) };
        let (_, kind, skip, times) = &mut state.faults[at];
        if *skip > 0 {
            *skip -= 1;
            return Ok(());
        }
        let kind = *kind;
        *times -= 1;
        if *times == 0 {
            state.faults.remove(at);
        }
        Err(kind)
    }
}
