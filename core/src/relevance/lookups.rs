//! Which conversations were asked about, and what came of it (`unread.md` 4.2, 4.4, 4.5).
//!
//! An entry is *open* from the moment a reply needs it until an answer decides it. A positive one names a *witness*, one message of
//! the viewer, and counts only through the root that witness claims. Entries survive evidence overflow.
//!
//! Invariants: at most [`limits::LOOKUPS`] entries, the oldest forgotten; one witness per positive entry, so there are never more
//! witnesses than entries; an open entry is queued or in flight; whatever changes an answer says so through a [`Touch`].

use std::collections::{BTreeMap, HashSet, VecDeque};

use crate::evidence::IdMap;

use super::conversations::count;
use super::structure::Structure;
use super::{Place, Touch};
use crate::ids::{ChannelId, EventId};
use crate::limits;

/// What is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LookupKey {
    /// The reply's channel.
    pub channel: ChannelId,
    /// Its parent; for a structural look-up the root it claims.
    pub id: EventId,
    /// Only the message itself is wanted, not the viewer's part in it.
    pub structure: bool,
}

impl LookupKey {
    fn place(&self) -> Place {
        (self.channel, self.id)
    }

    fn touch(&self) -> Touch {
        if self.structure { Touch::Claimed(self.place()) } else { Touch::Parent(self.place()) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// `more`: the viewer has further messages that would have decided it.
    Done {
        witness: Option<EventId>,
        more: bool,
    },
}

struct Entry {
    age: u64,
    /// Roots that replies claim, in the order they came.
    roots: Vec<EventId>,
    /// How many of them an answer has covered.
    settled: usize,
    state: State,
}

impl Entry {
    /// A further root cannot be recorded.
    fn is_full(&self) -> bool {
        self.roots.len() >= limits::LOOKUP_ROOTS
    }

    fn is_settled(&self, root: &EventId) -> bool {
        if matches!(self.state, State::Done { witness: Some(_), .. }) {
            return true;
        }
        match self.roots.iter().position(|known| known == root) {
            Some(at) => at < self.settled,
            // Not asked about, and never will be.
            None => self.is_full() && self.settled == self.roots.len(),
        }
    }
}

/// A parent to be asked about, with the roots its replies claim (R8f).
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) key: LookupKey,
    pub(super) roots: Vec<EventId>,
}

impl Asked {
    /// Whether the viewer's message decides it: it is the parent or a root, answers the parent, or claims a root.
    pub(super) fn decided_by(&self, own: &Structure) -> bool {
        decides(&self.key, &self.roots, own)
    }
}

fn decides(key: &LookupKey, roots: &[EventId], own: &Structure) -> bool {
    let answers = own.reference.is_some_and(|r| r.parent == key.id || roots.contains(&r.root));
    own.channel == key.channel && (answers || own.id == key.id || roots.contains(&own.id))
}

// One witness per positive entry: bounding the entries bounds the witnesses.
const _: () = assert!(limits::LOOKUPS <= limits::WITNESSES);

#[derive(Default)]
pub(super) struct Lookups {
    next: u64,
    entries: IdMap<LookupKey, Entry>,
    by_age: BTreeMap<u64, LookupKey>,
    /// Entries that ask about participation, by parent and by each root.
    subjects: IdMap<Place, Vec<LookupKey>>,
    queue: VecDeque<LookupKey>,
    witnesses: IdMap<EventId, (Structure, Vec<LookupKey>)>,
    /// Threads the viewer takes part in by a witness.
    threads: IdMap<Place, u32>,
    retracted: HashSet<EventId>,
    retracted_order: VecDeque<EventId>,
}

impl Lookups {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn witnesses(&self) -> usize {
        self.witnesses.len()
    }

    pub(super) fn retracted(&self) -> usize {
        self.retracted.len()
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn in_thread(&self, thread: Place) -> bool {
        self.threads.contains_key(&thread)
    }

    pub(super) fn is_retracted(&self, id: &EventId) -> bool {
        self.retracted.contains(id)
    }

    /// A message of the viewer that backs a positive answer.
    pub(super) fn witness(&self, id: &EventId) -> Option<&Structure> {
        self.witnesses.get(id).map(|(witness, _)| witness)
    }

    /// Threads in which a witness is, for the oracle.
    pub(super) fn threads(&self) -> impl Iterator<Item = Place> + '_ {
        self.threads.keys().copied()
    }

    /// Whether nothing more is to be learned for a reply that claims `root`. A negative answer says nothing about a root that
    /// was not asked about: a reply is decided by its own root (seed; `unread.md` 4.8 row 4.12).
    pub(super) fn is_settled(&self, key: &LookupKey, root: &EventId) -> bool {
        self.entries
            .get(key)
            .is_some_and(|entry| entry.is_settled(root) || (key.structure && entry.state != State::Open))
    }

    /// Asks, unless that was done already. `root` is what the reply claims.
    pub(super) fn want(&mut self, key: LookupKey, root: EventId, touched: &mut Vec<Touch>) {
        if let Some(entry) = self.entries.get_mut(&key) {
            if key.structure || entry.roots.contains(&root) || entry.is_full() {
                return;
            }
            match entry.state {
                State::Open => {}
                State::Done { witness: Some(_), .. } => return,
                State::Done { witness: None, .. } => {
                    entry.state = State::Open;
                    self.queue.push_back(key);
                }
            }
            entry.roots.push(root);
            index(&mut self.subjects, key, [root]);
            return;
        }
        let roots = if key.structure { Vec::new() } else { vec![root] };
        if !key.structure {
            index(&mut self.subjects, key, [key.id, root]);
        }
        self.entries.insert(key, Entry { age: self.next, roots, settled: 0, state: State::Open });
        self.by_age.insert(self.next, key);
        self.next += 1;
        self.queue.push_back(key);
        while self.entries.len() > limits::LOOKUPS {
            let Some((_, oldest)) = self.by_age.first_key_value() else { break };
            let oldest = *oldest;
            self.forget(&oldest, touched);
        }
    }

    /// The next parents to ask about: all of one channel, that at the head of the queue.
    pub(super) fn take(&mut self) -> Option<(ChannelId, Vec<Asked>)> {
        let channel = self.queue.front()?.channel;
        let mut asked = Vec::new();
        let mut left = VecDeque::with_capacity(self.queue.len());
        while let Some(key) = self.queue.pop_front() {
            let Some(entry) = self.entries.get(&key) else { continue };
            if key.channel == channel && asked.len() < limits::LOOKUP_PARENTS {
                asked.push(Asked { key, roots: entry.roots.clone() });
            } else {
                left.push_back(key);
            }
        }
        self.queue = left;
        Some((channel, asked))
    }

    /// Puts parents back that are still remembered and undecided, before everything else.
    pub(super) fn put_back(&mut self, keys: impl DoubleEndedIterator<Item = LookupKey>) {
        for key in keys.rev() {
            if self.is_open(&key) && !self.queue.contains(&key) {
                self.queue.push_front(key);
            }
        }
    }

    pub(super) fn is_open(&self, key: &LookupKey) -> bool {
        self.entries.get(key).is_some_and(|entry| entry.state == State::Open)
    }

    /// Decides an entry.
    pub(super) fn finish(&mut self, asked: &Asked, witness: Option<Structure>, more: bool, touched: &mut Vec<Touch>) {
        let key = asked.key;
        if !self.is_open(&key) {
            return;
        }
        if let Some(witness) = witness {
            self.attach(key, witness, touched);
        }
        let Some(entry) = self.entries.get_mut(&key) else { return };
        entry.state = State::Done { witness: witness.map(|w| w.id), more };
        // Roots are only ever added at the end, so those asked about are the first.
        entry.settled = asked.roots.len();
        touched.push(key.touch());
        // A further root was claimed while the question was out: it is asked again for that one.
        if witness.is_none() && entry.settled < entry.roots.len() {
            entry.state = State::Open;
            self.queue.push_back(key);
        }
    }

    fn attach(&mut self, key: LookupKey, witness: Structure, touched: &mut Vec<Touch>) {
        let thread = (key.channel, witness.claimed_root());
        if count(&mut self.threads, thread, true) {
            touched.push(Touch::Claimed(thread));
        }
        self.witnesses.entry(witness.id).or_insert_with(|| (witness, Vec::new())).1.push(key);
    }

    /// A message of the viewer is retained: it becomes the witness of answers that were negative, and one more for the others.
    pub(super) fn note_own(&mut self, own: &Structure, touched: &mut Vec<Touch>) {
        if self.subjects.is_empty() {
            return;
        }
        let mut keys = Vec::new();
        let ids = own.reference.map_or([Some(own.id), None, None], |r| [Some(own.id), Some(r.parent), Some(r.root)]);
        for id in ids.into_iter().flatten() {
            keys.extend(self.subjects.get(&(own.channel, id)).into_iter().flatten().copied());
        }
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            if !decides(&key, &entry.roots, own) {
                continue;
            }
            match &mut entry.state {
                State::Open => {}
                State::Done { witness: Some(id), more } => *more |= *id != own.id,
                State::Done { witness, .. } => {
                    *witness = Some(own.id);
                    self.attach(key, *own, touched);
                    touched.push(key.touch());
                }
            }
        }
    }

    /// The viewer's message was deleted: what it backed ends, or is asked again if there were others (`unread.md` 4.5).
    pub(super) fn retract(&mut self, id: EventId, touched: &mut Vec<Touch>) {
        if self.retracted.insert(id) {
            self.retracted_order.push_back(id);
            if self.retracted_order.len() > limits::RETRACTED
                && let Some(oldest) = self.retracted_order.pop_front()
            {
                self.retracted.remove(&oldest);
            }
        }
        let Some((witness, keys)) = self.witnesses.remove(&id) else { return };
        for key in keys {
            self.leave((key.channel, witness.claimed_root()), touched);
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            let asked_again = matches!(entry.state, State::Done { more: true, .. });
            entry.state = State::Done { witness: None, more: false };
            entry.settled = entry.roots.len();
            if asked_again {
                self.forget(&key, touched);
            } else {
                touched.push(key.touch());
            }
        }
    }

    fn leave(&mut self, thread: Place, touched: &mut Vec<Touch>) {
        if count(&mut self.threads, thread, false) {
            touched.push(Touch::Claimed(thread));
        }
    }

    fn forget(&mut self, key: &LookupKey, touched: &mut Vec<Touch>) {
        let Some(entry) = self.entries.remove(key) else { return };
        self.by_age.remove(&entry.age);
        for id in entry.roots.iter().chain([&key.id]) {
            if let Some(keys) = self.subjects.get_mut(&(key.channel, *id)) {
                keys.retain(|k| k != key);
                if keys.is_empty() {
                    self.subjects.remove(&(key.channel, *id));
                }
            }
        }
        if entry.state == State::Open {
            self.queue.retain(|k| k != key);
        }
        if let State::Done { witness: Some(id), .. } = entry.state
            && let Some((witness, keys)) = self.witnesses.get_mut(&id)
        {
            let thread = (key.channel, witness.claimed_root());
            keys.retain(|k| k != key);
            if keys.is_empty() {
                self.witnesses.remove(&id);
            }
            self.leave(thread, touched);
        }
        touched.push(key.touch());
    }

    /// Forgets everything of channels that are not allowed any more.
    pub(super) fn retain(&mut self, keep: impl Fn(ChannelId) -> bool) {
        let gone: Vec<_> = self.entries.keys().filter(|key| !keep(key.channel)).copied().collect();
        let mut ignored = Vec::new();
        for key in gone {
            self.forget(&key, &mut ignored);
        }
    }
}

fn index(subjects: &mut IdMap<Place, Vec<LookupKey>>, key: LookupKey, ids: impl IntoIterator<Item = EventId>) {
    for id in ids {
        let keys = subjects.entry((key.channel, id)).or_default();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
}
