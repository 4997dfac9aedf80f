//! Which replies are the viewer's business: conversations, look-ups, follow choices (`unread.md` 4 and 10).
//!
//! A reply belongs to the viewer's conversations by an explicit choice about its claimed root, else by taking part: the viewer
//! wrote in the thread, wrote the parent, or answered it. What is retained answers at once; otherwise one look-up per
//! (channel, parent) asks the relay. [`Relevance`] answers for single messages; *who* must be asked again after a change it says
//! through [`Touch`]es, so that nothing is recomputed that did not change.
//!
//! Invariants: references never grant access and never cause reads but these look-ups; fetched messages never count; every
//! collection is bounded (`limits`).

mod conversations;
mod fetch;
mod follows;
mod lookups;
mod structure;

use std::collections::BTreeSet;

use crate::clock::Millis;
use crate::event::{Event, SharedEvent, kinds};
use crate::evidence::{Access, Evidence};
use crate::ids::{ChannelId, EventId};
use crate::limits;
use crate::request::{Outbox, Outcome, RequestId};

use conversations::Conversations;
use fetch::Fetch;
use follows::Follows;
use lookups::{Asked, Lookups};
use structure::Structures;

pub use follows::{FollowChoice, parse_follows};
pub use lookups::LookupKey;
pub use structure::Structure;

/// A message or root named within a channel; the same id named in another channel is another place.
pub type Place = (ChannelId, EventId);

/// Replies whose standing may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// Those that answer this message.
    Parent(Place),
    /// Those that claim this root.
    Claimed(Place),
    /// Those whose root is found by way of this message: it became known, or was forgotten.
    Structure(Place),
}

/// How a reply stands to the viewer's conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relation {
    /// It belongs to one of them.
    pub conversation: bool,
    /// The explicit choice, if there is one.
    pub choice: Option<bool>,
    /// Its look-up is over.
    pub settled: bool,
}

/// Conversations of one account in one community.
#[derive(Default)]
pub struct Relevance {
    conversations: Conversations,
    follows: Follows,
    lookups: Lookups,
    structures: Structures,
    fetch: Fetch,
    online: bool,
}

impl Relevance {
    /// How a reply stands (`unread.md` 4.1). `own_parent`: its parent is a retained, not deleted message of the viewer in this
    /// channel.
    pub fn relation(&self, channel: ChannelId, parent: EventId, claimed: EventId, own_parent: bool) -> Relation {
        let (thread, parent) = ((channel, claimed), (channel, parent));
        let choice = self.follows.get(thread);
        let conversation =
            choice.unwrap_or_else(|| own_parent || self.participates(thread) || self.conversations.has_joined(parent));
        let key = LookupKey { channel, id: parent.1, structure: false };
        let settled = !conversation && choice.is_none() && self.lookups.is_settled(&key, &claimed);
        Relation { conversation, choice, settled }
    }

    /// Whether the viewer took part in the thread, by what is retained or was looked up.
    fn participates(&self, thread: Place) -> bool {
        self.conversations.in_thread(thread) || self.lookups.in_thread(thread)
    }

    /// The effective state of following: the explicit choice, else participation (`unread.md` 10).
    pub fn is_following(&self, thread: Place) -> bool {
        self.follows.get(thread).unwrap_or_else(|| self.participates(thread))
    }

    /// The explicit choice.
    pub fn choice(&self, thread: Place) -> Option<bool> {
        self.follows.get(thread)
    }

    /// All explicit choices, oldest first.
    pub fn follows(&self) -> Vec<FollowChoice> {
        self.follows.list()
    }

    /// The list to save for one more choice; nothing changes until it is handed to [`Self::set_follows`].
    pub fn with_choice(&self, choice: FollowChoice) -> Vec<FollowChoice> {
        self.follows.with(choice)
    }

    /// Takes over the saved list.
    pub(crate) fn set_follows(&mut self, list: &[FollowChoice], touched: &mut Vec<Touch>) -> Vec<Place> {
        let changed = self.follows.replace(list);
        touched.extend(changed.iter().map(|thread| Touch::Claimed(*thread)));
        changed
    }

    /// A message that is known from look-ups or the cache only.
    pub fn structure(&self, id: &EventId) -> Option<&Structure> {
        self.structures.get(id)
    }

    /// Thread targets of a channel that only structure makes accessible, in no particular order.
    pub(crate) fn structures_of(&self, channel: ChannelId) -> impl Iterator<Item = Place> + '_ {
        self.structures.of_channel(channel).map(move |id| (channel, id))
    }

    /// Structures that claim this root.
    pub(crate) fn claiming(&self, root: &EventId) -> &[EventId] {
        self.structures.claiming(root)
    }

    /// Threads the viewer takes part in by a look-up, for the oracle.
    pub(crate) fn looked_up_threads(&self) -> impl Iterator<Item = Place> + '_ {
        self.lookups.threads()
    }

    /// Whether the look-up for a reply that claims `root` is over.
    pub(crate) fn is_settled(&self, key: &LookupKey, root: &EventId) -> bool {
        self.lookups.is_settled(key, root)
    }

    /// Look-ups, structures, witnesses, retracted ids and queued look-ups held, for tests of the bounds.
    pub fn sizes(&self) -> [usize; 5] {
        let lookups = &self.lookups;
        [lookups.len(), self.structures.len(), lookups.witnesses(), lookups.retracted(), lookups.queued()]
    }

    /// A retained message of the viewer came, is deleted, or left.
    pub(crate) fn own_message(&mut self, event: &Event, present: bool, touched: &mut Vec<Touch>) {
        let Some(own) = Structure::of(event) else { return };
        self.conversations.own(own.channel, event, present, touched);
        if present {
            self.lookups.note_own(&own, touched);
        }
    }

    /// Deletions in a batch, before and independent of its intake: those by the viewer retract what they name, retained or not;
    /// so does any other that may delete a witness (`unread.md` 4.5, R9).
    pub(crate) fn see_deletions(&mut self, events: &[SharedEvent], access: &Access, touched: &mut Vec<Touch>) {
        for event in events.iter().filter(|e| kinds::is_deletion(e.kind)) {
            for id in event.e_targets() {
                let by_admin = || {
                    event.kind == kinds::MODERATION
                        && self.lookups.witness(&id).is_some_and(|w| access.is_admin(w.channel, &event.pubkey))
                };
                if event.pubkey == access.viewer() || by_admin() {
                    self.retract(id, access, touched);
                }
            }
        }
    }

    /// A message of the viewer is deleted.
    pub(crate) fn retract(&mut self, id: EventId, access: &Access, touched: &mut Vec<Touch>) {
        self.lookups.retract(id, touched);
        if let Some(structure) = self.structures.get(&id).copied()
            && structure.pubkey == access.viewer()
        {
            self.structures.remove(&id);
            touched.push(Touch::Structure((structure.channel, id)));
        }
    }

    /// A reply waits for its look-up.
    pub(crate) fn want(&mut self, key: LookupKey, claimed: EventId, touched: &mut Vec<Touch>) {
        self.lookups.want(key, claimed, touched);
    }

    /// Adds a parent or root that is structure only.
    pub(crate) fn add_structure(&mut self, structure: Structure, touched: &mut Vec<Touch>) {
        let Some(forgotten) = self.structures.insert(structure) else { return };
        touched.push(Touch::Structure((structure.channel, structure.id)));
        touched.extend(forgotten.iter().map(|old| Touch::Structure((old.channel, old.id))));
    }

    /// The connection came or went. What was out is asked again on the next one, without a wait.
    pub(crate) fn set_online(&mut self, online: bool, out: &mut Outbox) {
        self.online = online;
        if !online {
            self.abandon(out);
        }
    }

    fn abandon(&mut self, out: &mut Outbox) {
        let keys = self.fetch.abandon(out);
        self.lookups.put_back(keys.into_iter());
    }

    /// The set of allowed channels changed: denied ones are forgotten, answers under way are not wanted any more.
    pub(crate) fn access_changed(&mut self, access: &Access, out: &mut Outbox) {
        self.abandon(out);
        self.lookups.retain(|channel| access.is_allowed(channel));
        self.structures.retain(|structure| access.is_allowed(structure.channel));
    }

    /// Evidence is gone (overflow) or will be handed in again (`own_message`); look-ups stay.
    pub(crate) fn evidence_reset(&mut self) {
        self.conversations.clear();
    }

    /// The cache was cleared: everything but the follow choices goes.
    pub(crate) fn clear(&mut self, out: &mut Outbox) {
        self.conversations.clear();
        self.fetch.reset(out);
        self.lookups = Lookups::default();
        self.structures = Structures::default();
    }

    /// Whether no look-up is queued or under way.
    pub fn is_quiet(&self) -> bool {
        self.fetch.is_idle() && self.lookups.queued() == 0
    }

    /// When a failed look-up is to be tried again. While offline nothing is waited for: coming online is what starts it again.
    pub fn next_wake(&self) -> Option<Millis> {
        self.fetch.retry_at().filter(|_| self.online)
    }

    /// Starts the next look-up, if one is queued, none runs and no wait is on.
    pub(crate) fn poll(
        &mut self,
        now: Millis,
        evidence: &Evidence,
        access: &Access,
        out: &mut Outbox,
        touched: &mut Vec<Touch>,
    ) {
        while self.online && self.fetch.is_ready(now) {
            let Some((channel, asked)) = self.lookups.take() else { return };
            let ids = asked.iter().flat_map(|a| a.roots.iter().copied().chain([a.key.id]));
            let missing: BTreeSet<_> =
                ids.filter(|id| evidence.get(id).is_none() && self.structures.get(id).is_none()).collect();
            self.fetch.start(channel, asked, missing, &access.viewer(), out);
            // Everything may be held already.
            self.advance(None, now, evidence, access, out, touched);
        }
    }

    /// Whether the request is a look-up under way.
    pub(crate) fn owns(&self, id: RequestId) -> bool {
        self.fetch.owns(id)
    }

    /// An answer arrived. The parents and roots it brought, for the message cache (R8d).
    #[expect(clippy::too_many_arguments, reason = "the rooms below are handed in, not owned")]
    pub(crate) fn on_answer(
        &mut self,
        id: RequestId,
        outcome: Outcome,
        now: Millis,
        evidence: &Evidence,
        access: &Access,
        out: &mut Outbox,
        touched: &mut Vec<Touch>,
    ) -> Vec<SharedEvent> {
        self.advance(Some((id, outcome)), now, evidence, access, out, touched)
    }

    fn advance(
        &mut self,
        answer: Option<(RequestId, Outcome)>,
        now: Millis,
        evidence: &Evidence,
        access: &Access,
        out: &mut Outbox,
        touched: &mut Vec<Touch>,
    ) -> Vec<SharedEvent> {
        let mut progress = self.fetch.answered(answer, now, &access.viewer(), out);
        self.lookups.put_back(progress.returned.into_iter());
        progress.fetched.retain(|event| !self.lookups.is_retracted(&event.id));
        for structure in progress.fetched.iter().filter_map(|event| Structure::of(event)) {
            self.add_structure(structure, touched);
        }
        for asked in &progress.structural {
            self.lookups.finish(asked, None, false, touched);
        }
        for (parents, rows) in &progress.decided {
            for asked in parents {
                self.decide(asked, rows, evidence, access, touched);
            }
        }
        progress.fetched
    }

    /// Finds the witness: the viewer's own live parent, else root, else the newest deciding reply, lower id on ties.
    fn decide(
        &mut self,
        asked: &Asked,
        rows: &[Structure],
        evidence: &Evidence,
        access: &Access,
        touched: &mut Vec<Touch>,
    ) {
        let own = |id: &EventId| self.own_live(id, asked.key.channel, evidence, access);
        let others = asked.roots.iter().filter(|root| **root != asked.key.id);
        let held: Vec<_> = std::iter::once(&asked.key.id).chain(others).filter_map(own).collect();
        let is_new = |row: &&Structure| {
            asked.decided_by(row) && !self.lookups.is_retracted(&row.id) && held.iter().all(|h| h.id != row.id)
        };
        let mut replies: Vec<_> = rows.iter().filter(is_new).copied().collect();
        replies.sort_unstable_by(|a, b| b.created_at.cmp(&a.created_at).then(a.id.cmp(&b.id)));
        replies.dedup_by_key(|row| row.id);
        let witness = held.first().or(replies.first()).copied();
        self.lookups.finish(asked, witness, held.len() + replies.len() > 1, touched);
    }

    fn own_live(&self, id: &EventId, channel: ChannelId, evidence: &Evidence, access: &Access) -> Option<Structure> {
        let held = match evidence.get(id) {
            Some(entry) if entry.deleted() => return None,
            Some(entry) => Structure::of(entry.event())?,
            None => *self.structures.get(id)?,
        };
        let is_own = held.channel == channel && held.pubkey == access.viewer() && !self.lookups.is_retracted(id);
        is_own.then_some(held)
    }

    /// The root a reply or message leads to (`unread.md` 2.2): claimed roots are followed through known messages of the channel,
    /// deleted ones too. At most [`limits::ROOT_STEPS`] are examined, which also ends every cycle.
    pub fn resolve(&self, channel: ChannelId, event: &Event, evidence: &Evidence) -> Option<EventId> {
        let mut claimed = match event.reference {
            None => return Some(event.id),
            Some(reference) => reference.root,
        };
        for _ in 1..limits::ROOT_STEPS {
            let (home, reference) = match evidence.get(&claimed) {
                Some(entry) => (entry.channel(), entry.event().reference),
                None => self.structures.get(&claimed).map(|s| (Some(s.channel), s.reference))?,
            };
            if home != Some(channel) {
                return None;
            }
            match reference {
                None => return Some(claimed),
                Some(reference) => claimed = reference.root,
            }
        }
        None
    }
}

impl std::fmt::Debug for Relevance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [lookups, structures, witnesses, retracted, queued] = self.sizes();
        write!(
            f,
            "Relevance({lookups} look-ups, {structures} structures, {witnesses} witnesses, {retracted} retracted, {queued} queued)"
        )
    }
}
