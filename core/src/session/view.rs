//! Versioned pull views: how finished facts leave the session.
//!
//! A view holds the newest value of something and a version that grows with every change. [`View::next`] waits for a version
//! newer than the one the caller has. Nothing is queued, so nothing is lost when a caller is cancelled: it asks again with the same
//! version. Views of lists answer with keyed differences where they can.
//!
//! Publication is all or nothing: the engine's changes are written into all affected cells under one lock before any reader can
//! look at one of them, and only then are waiters woken (`unread.md` 3.7, 5.6). An equal value changes no version and wakes nobody.
//! No lock is held over disk, network or signatures (P17).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::Notify;

use crate::error::Error;
use crate::limits;
use crate::model::{SidebarRow, SidebarState, TimelineRow, TimelineState};

/// A value and the version it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<T> {
    /// Grows by at least one with every change; 0 is "nothing seen yet".
    pub version: u64,
    /// The value.
    pub value: Arc<T>,
}

/// The lock that makes a publication of many cells one step. One per session.
#[derive(Debug, Default)]
pub(crate) struct Board {
    gate: RwLock<()>,
    /// How often a waiter had reason to wake: the counter behind P15.
    wakeups: AtomicU64,
}

impl Board {
    /// Writes all changed cells, then wakes their waiters. Returns how many cells changed.
    pub(crate) fn publish(&self, updates: Vec<Box<dyn Update>>) -> usize {
        let mut changed = Vec::new();
        {
            let _gate = self.gate.write().unwrap_or_else(PoisonError::into_inner);
            for mut update in updates {
                if update.write() {
                    changed.push(update);
                }
            }
        }
        self.wakeups.fetch_add(changed.len() as u64, Ordering::Relaxed);
        for update in &changed {
            update.wake();
        }
        changed.len()
    }

    /// Cells changed so far.
    #[cfg(test)]
    pub(crate) fn wakeups(&self) -> u64 {
        self.wakeups.load(Ordering::Relaxed)
    }
}

/// One pending change of one cell.
pub(crate) trait Update: Send {
    /// Writes it; false when the cell held an equal value.
    fn write(&mut self) -> bool;
    /// Wakes the cell's waiters.
    fn wake(&self);
}

struct State<T> {
    version: u64,
    value: Arc<T>,
    /// Earlier values, newest last, for differences. Values share their rows, so this is cheap.
    past: VecDeque<(u64, Arc<T>)>,
}

/// Where the engine writes one view's value.
pub(crate) struct Cell<T> {
    board: Arc<Board>,
    state: Mutex<State<T>>,
    changed: Notify,
    closed: AtomicBool,
}

impl<T: PartialEq + Send + Sync + 'static> Cell<T> {
    pub(crate) fn new(board: Arc<Board>, value: T) -> Arc<Self> {
        let state = State { version: 1, value: Arc::new(value), past: VecDeque::new() };
        Arc::new(Self { board, state: Mutex::new(state), changed: Notify::new(), closed: AtomicBool::new(false) })
    }

    /// A change to be published.
    pub(crate) fn update(self: &Arc<Self>, value: T) -> Box<dyn Update> {
        struct Pending<T> {
            cell: Arc<Cell<T>>,
            value: Option<T>,
        }
        impl<T: PartialEq + Send + Sync + 'static> Update for Pending<T> {
            fn write(&mut self) -> bool {
                self.value.take().is_some_and(|value| self.cell.write(value))
            }
            fn wake(&self) {
                self.cell.changed.notify_waiters();
            }
        }
        Box::new(Pending { cell: self.clone(), value: Some(value) })
    }

    fn write(&self, value: T) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state.value == value {
            return false;
        }
        let old = std::mem::replace(&mut state.value, Arc::new(value));
        let version = state.version;
        state.past.push_back((version, old));
        if state.past.len() > limits::VIEW_HISTORY {
            state.past.pop_front();
        }
        state.version += 1;
        true
    }

    /// No further value will come; waiters end.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    fn read(&self) -> Versioned<T> {
        let _gate = self.board.gate.read().unwrap_or_else(PoisonError::into_inner);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Versioned { version: state.version, value: state.value.clone() }
    }

    fn at(&self, version: u64) -> Option<Arc<T>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.past.iter().find(|(v, _)| *v == version).map(|(_, value)| value.clone())
    }
}

/// A view of one value. Clones share the value but are cancelled one by one.
pub struct View<T> {
    cell: Arc<Cell<T>>,
    cancelled: Arc<AtomicBool>,
}

impl<T: PartialEq + Send + Sync + 'static> View<T> {
    pub(crate) fn new(cell: Arc<Cell<T>>) -> Self {
        Self { cell, cancelled: Arc::default() }
    }

    /// The newest value, at once.
    pub fn current(&self) -> Versioned<T> {
        self.cell.read()
    }

    /// Waits for a version newer than `after`. Ends with [`Error::Closed`] after [`View::cancel`] or when the session closed,
    /// once the last value was seen.
    pub async fn next(&self, after: u64) -> Result<Versioned<T>, Error> {
        loop {
            // Registered before looking, so that a change in between is not missed.
            let changed = self.cell.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.cancelled.load(Ordering::Acquire) {
                return Err(Error::Closed);
            }
            let now = self.cell.read();
            if now.version > after {
                return Ok(now);
            }
            if self.cell.closed.load(Ordering::Acquire) {
                return Err(Error::Closed);
            }
            changed.await;
        }
    }

    /// Ends this view's waits, now and later. Idempotent.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.cell.changed.notify_waiters();
    }
}

impl<T> Clone for View<T> {
    fn clone(&self) -> Self {
        Self { cell: self.cell.clone(), cancelled: Arc::default() }
    }
}

impl<T> std::fmt::Debug for View<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("View(…)")
    }
}

/// One step from one list to another. Apply them in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowChange<R> {
    /// A row appears at this index.
    Insert(usize, Arc<R>),
    /// The row at this index is another version of itself.
    Update(usize, Arc<R>),
    /// The row at this index disappears.
    Remove(usize),
}

/// What a list view answers with: a whole state, or the rows that changed since the version asked from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListUpdate<T, R> {
    /// Everything: the asked version is unknown, or too much changed.
    Reset(Arc<T>),
    /// Only these rows; `state` carries the rest and shares its rows.
    Changes(Vec<RowChange<R>>, Arc<T>),
}

/// States that are lists of keyed rows.
pub trait Listed: PartialEq + Send + Sync + 'static {
    /// The row record.
    type Row: PartialEq;
    /// The rows in drawing order.
    fn rows(&self) -> &[Arc<Self::Row>];
    /// Whether two rows are versions of the same one.
    fn same(a: &Self::Row, b: &Self::Row) -> bool;
}

impl Listed for TimelineState {
    type Row = TimelineRow;
    fn rows(&self) -> &[Arc<TimelineRow>] {
        &self.rows
    }
    fn same(a: &TimelineRow, b: &TimelineRow) -> bool {
        a.id == b.id
    }
}

impl Listed for SidebarState {
    type Row = SidebarRow;
    fn rows(&self) -> &[Arc<SidebarRow>] {
        &self.rows
    }
    fn same(a: &SidebarRow, b: &SidebarRow) -> bool {
        a.channel == b.channel
    }
}

impl<T: Listed> View<T> {
    /// As [`View::next`], with differences to the version asked from where that version is still remembered.
    pub async fn next_changes(&self, after: u64) -> Result<(u64, ListUpdate<T, T::Row>), Error> {
        let now = self.next(after).await?;
        let update = match self.cell.at(after) {
            Some(old) => match changes::<T>(old.rows(), now.value.rows()) {
                Some(steps) => ListUpdate::Changes(steps, now.value),
                None => ListUpdate::Reset(now.value),
            },
            None => ListUpdate::Reset(now.value),
        };
        Ok((now.version, update))
    }
}

/// Steps from `old` to `new`; `None` when more than half of the rows would have to move, where a reset is cheaper.
///
/// The common head and tail are skipped, the middle is replaced row by row: timelines grow at the ends and change in place, so the
/// middle is short. Rows are compared by pointer first, since unchanged ones are shared.
fn changes<T: Listed>(old: &[Arc<T::Row>], new: &[Arc<T::Row>]) -> Option<Vec<RowChange<T::Row>>> {
    let same = |a: &Arc<T::Row>, b: &Arc<T::Row>| Arc::ptr_eq(a, b) || T::same(a, b);
    let head = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| same(a, b)).count();
    let mut steps = Vec::new();
    for at in (head..old.len() - tail).rev() {
        steps.push(RowChange::Remove(at));
    }
    for (offset, row) in new[head..new.len() - tail].iter().enumerate() {
        steps.push(RowChange::Insert(head + offset, row.clone()));
    }
    let shift = new.len() - tail;
    let kept = (0..head).map(|i| (i, &old[i], &new[i]));
    let kept_tail = (0..tail).map(|i| (shift + i, &old[old.len() - tail + i], &new[shift + i]));
    for (at, before, after) in kept.chain(kept_tail) {
        if !Arc::ptr_eq(before, after) && before != after {
            steps.push(RowChange::Update(at, after.clone()));
        }
    }
    (steps.len() <= new.len() / 2 + 2).then_some(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(PartialEq)]
    struct List(Vec<Arc<(u8, u8)>>);
    impl Listed for List {
        type Row = (u8, u8);
        fn rows(&self) -> &[Arc<(u8, u8)>] {
            &self.0
        }
        fn same(a: &(u8, u8), b: &(u8, u8)) -> bool {
            a.0 == b.0
        }
    }

    fn list(rows: &[(u8, u8)]) -> Vec<Arc<(u8, u8)>> {
        rows.iter().map(|r| Arc::new(*r)).collect()
    }

    fn apply(mut rows: Vec<Arc<(u8, u8)>>, steps: Vec<RowChange<(u8, u8)>>) -> Vec<Arc<(u8, u8)>> {
        for step in steps {
            match step {
                RowChange::Insert(at, row) => rows.insert(at, row),
                RowChange::Update(at, row) => rows[at] = row,
                RowChange::Remove(at) => drop(rows.remove(at)),
            }
        }
        rows
    }

    proptest::proptest! {
        #[test]
        fn changes_lead_from_one_list_to_the_other(
            a in proptest::collection::btree_map(0u8..20, 0u8..3, 0..20), b in proptest::collection::btree_map(0u8..20, 0u8..3, 0..20)
        ) {
            let (a, b) = (list(&a.into_iter().collect::<Vec<_>>()), list(&b.into_iter().collect::<Vec<_>>()));
            if let Some(steps) = changes::<List>(&a, &b) {
                proptest::prop_assert_eq!(apply(a, steps), b);
            }
        }
    }

    #[test]
    fn an_equal_value_wakes_nobody_and_cells_change_together() {
        let board = Arc::new(Board::default());
        let (a, b) = (Cell::new(board.clone(), 1), Cell::new(board.clone(), 1));
        assert_eq!(board.publish(vec![a.update(1), b.update(2)]), 1);
        assert_eq!((a.read().version, b.read().version), (1, 2));
        assert_eq!(board.wakeups(), 1);
    }

    #[tokio::test]
    async fn a_cancelled_wait_loses_nothing() {
        let board = Arc::new(Board::default());
        let cell = Cell::new(board.clone(), 0);
        let view = View::new(cell.clone());
        let first = view.next(0).await.unwrap();
        assert_eq!(*first.value, 0);
        {
            let waiting = view.next(first.version);
            tokio::pin!(waiting);
            assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        }
        board.publish(vec![cell.update(7)]);
        assert_eq!(*view.next(first.version).await.unwrap().value, 7);
        let other = view.clone();
        view.cancel();
        assert_eq!(view.next(0).await, Err(Error::Closed));
        assert_eq!(*other.next(0).await.unwrap().value, 7);
        cell.close();
        assert_eq!(other.next(2).await, Err(Error::Closed));
    }
}
