//! Which channels there are, who may read them, and what they are.
//!
//! # How it works
//! The directory keeps, per channel, the newest relay-signed roster (39002), admin list (39001) and metadata (39000), and
//! derives [`ChannelFacts`] from them. It reads them in [`discovery`](self): a listing of the viewer's rosters, metadata of
//! those channels, a listing of open channels, and single channels again whenever the relay hints that something changed
//! (44100, 44101, a closed subscription). Every change of the facts comes out as an [`AccessChange`].
//!
//! # Invariants
//! * Only relay-signed events count ([`Trust`]); per channel and kind the newest wins and nothing older ever comes back.
//! * *Allowed* means that the newest roster lists the viewer and the channel is not denied. A channel is denied by a roster
//!   without the viewer, by a relay-signed 44101, or by its absence from a complete answer. A denial ends only by a roster
//!   that lists the viewer, is no older than the denial, and is newer than the held one or was asked for after it.
//! * A failed, damaged or surprisingly empty answer takes nothing away; a surprisingly empty one is asked again by id (R25).
//! * Restored rosters give access to what the device holds (R8b) until the first complete listing replaces them.
//!
//! [`profiles`] knows people's names, [`mutes`] the account's mute preference.

mod discovery;
mod facts;
pub mod mutes;
pub mod profiles;

#[cfg(test)]
mod discovery_tests;
#[cfg(test)]
mod mute_tests;
#[cfg(test)]
mod profile_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::event::{Event, SharedEvent, kinds};
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::limits;
use crate::model::ChannelType;
use crate::request::Filter;

use discovery::Discovery;
use facts::{Held, Metadata, Register, Roster, Standing};

pub use facts::{ChannelFacts, Trust};

/// Relay-signed kinds a channel's own live subscription should carry, so that changes arrive there (`protocol.md` 5.3).
pub const LIVE_KINDS: [u16; 3] = [kinds::CHANNEL, kinds::ADMINS, kinds::MEMBERS];

/// What changed for the rest of the core. Apply `revoked` and `hidden` before `granted`: a channel may be in both, when it was
/// lost and regained meanwhile. `granted` names only channels that are allowed now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessChange {
    /// Became allowed.
    pub granted: BTreeSet<ChannelId>,
    /// Stopped being allowed, if only for a moment: tokens die, projections hide.
    pub revoked: BTreeSet<ChannelId>,
    /// Can no longer be read at all: open timelines close. Not every revoked channel is (it may be open).
    pub hidden: BTreeSet<ChannelId>,
    /// Allowed before and now, but of another type; leases stay valid (`unread.md` 3.7).
    pub type_changed: BTreeSet<ChannelId>,
    /// Readable before and now, with another name or other participants.
    pub renamed: BTreeSet<ChannelId>,
    /// Allowed before by a restored roster only, now confirmed by the relay.
    pub confirmed: BTreeSet<ChannelId>,
    /// Every channel of which any fact changed, those above included: sidebar rows to project anew.
    pub touched: BTreeSet<ChannelId>,
    /// The first complete listing of this session was just taken in (R8b).
    pub first_confirmed: bool,
}

impl AccessChange {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.touched.is_empty() && !self.first_confirmed
    }

    /// Whether the set of allowed channels changed: the epoch moves (`unread.md` 3.7).
    pub fn allowed_changed(&self) -> bool {
        !self.granted.is_empty() || !self.revoked.is_empty()
    }
}

/// What is kept of one channel over restarts: raw events for the cache, to be verified again when read back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredChannel {
    /// Newest roster.
    pub members: Option<SharedEvent>,
    /// Newest admin list.
    pub admins: Option<SharedEvent>,
    /// Newest metadata.
    pub metadata: Option<SharedEvent>,
    /// Set while access is denied although the roster may list the viewer: rosters dated before this time (seconds) do not
    /// end it.
    pub denied: Option<u64>,
}

/// What is known of the viewer's standing in a channel beside the roster.
#[derive(Debug, Default)]
struct Membership {
    /// Denied; the seconds before which no roster counts, and the tick at which it was denied.
    denied: Option<(u64, u64)>,
    /// Newest membership notice: its time and id, and whether it announces membership.
    notice: Option<(u64, EventId, bool)>,
    /// The relay listed the viewer in this session.
    confirmed: bool,
    /// Tick of the last change of roster or denial.
    changed: u64,
}

/// Where an event came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// Pushed by the relay.
    Live,
    /// In the answer to a read begun at this tick.
    Read(u64),
    /// From this device.
    Restored,
}

/// The directory of one community for one viewer.
pub struct Directory {
    viewer: PublicKey,
    viewer_hex: String,
    trust: Trust,
    /// Counts changes and reads, so that each read knows what changed since it began.
    tick: u64,
    members: Register<Roster>,
    admins: Register<Vec<PublicKey>>,
    metadata: Register<Metadata>,
    /// Open channels whose metadata the relay no longer shows.
    withdrawn: BTreeSet<ChannelId>,
    standing: BTreeMap<ChannelId, Membership>,
    /// Derived: every readable channel.
    facts: BTreeMap<ChannelId, ChannelFacts>,
    unsaved: BTreeSet<ChannelId>,
    discovery: Discovery,
}

impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Directory({} readable channels, {} allowed)", self.facts.len(), self.allowed().count())
    }
}

impl Directory {
    /// An empty directory. `trust` may be what an earlier session learned, so that restored events can be judged offline.
    pub fn new(viewer: PublicKey, trust: Trust) -> Self {
        Self {
            viewer,
            viewer_hex: viewer.to_hex(),
            trust,
            tick: 0,
            members: Register::default(),
            admins: Register::default(),
            metadata: Register::default(),
            withdrawn: BTreeSet::new(),
            standing: BTreeMap::new(),
            facts: BTreeMap::new(),
            unsaved: BTreeSet::new(),
            discovery: Discovery::default(),
        }
    }

    /// Facts of a channel that can be read; none for any other, whether it exists or not.
    pub fn facts(&self, channel: ChannelId) -> Option<&ChannelFacts> {
        self.facts.get(&channel)
    }

    /// All channels that can be read, in id order.
    pub fn channels(&self) -> impl Iterator<Item = (ChannelId, &ChannelFacts)> {
        self.facts.iter().map(|(c, f)| (*c, f))
    }

    /// Allowed channels in id order, the order of repair (R13).
    pub fn allowed(&self) -> impl Iterator<Item = ChannelId> + '_ {
        self.facts.iter().filter(|(_, f)| f.allowed).map(|(c, _)| *c)
    }

    /// Whether the viewer is a member, as far as is known now.
    pub fn is_allowed(&self, channel: ChannelId) -> bool {
        self.facts.get(&channel).is_some_and(|f| f.allowed)
    }

    /// Whether a timeline of it may be opened: allowed, or open to everyone.
    pub fn is_readable(&self, channel: ChannelId) -> bool {
        self.facts.contains_key(&channel)
    }

    /// Whether the person is an owner or admin of the channel by the relay's word, and so may moderate in it (R9).
    pub fn is_admin(&self, channel: ChannelId, person: &PublicKey) -> bool {
        let listed = |keys: &[PublicKey]| keys.binary_search(person).is_ok();
        self.admins.get(channel).is_some_and(|a| listed(&a.facts))
            || self.members.get(channel).is_some_and(|m| listed(&m.facts.leaders))
    }

    /// Owners and admins of a channel by the relay's word, sorted (R9).
    pub fn leaders(&self, channel: ChannelId) -> Vec<PublicKey> {
        let admins = self.admins.get(channel).into_iter().flat_map(|a| &a.facts);
        let leaders = self.members.get(channel).into_iter().flat_map(|m| &m.facts.leaders);
        let all: BTreeSet<PublicKey> = admins.chain(leaders).copied().collect();
        all.into_iter().collect()
    }

    /// The rosters are this device's own and no complete listing has confirmed them yet (R8b).
    pub fn is_cached(&self) -> bool {
        !self.discovery.complete()
    }

    /// Why the last read failed, until one succeeds.
    pub fn error(&self) -> Option<&Error> {
        self.discovery.error()
    }

    /// Whose word counts now.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// Filter of the one live subscription without a channel: notices of the viewer's own memberships (R3).
    pub fn notice_filter(&self) -> Filter {
        Filter {
            p: Some(vec![self.viewer_hex.clone()]),
            ..Filter::kinds(&[kinds::MEMBER_ADDED, kinds::MEMBER_REMOVED])
        }
        .limit(0)
    }

    /// Takes in whom to trust, when the discovery document was read. What another key signed is forgotten.
    pub fn set_trust(&mut self, trust: Trust) -> AccessChange {
        let mut change = AccessChange::default();
        if trust == self.trust {
            return change;
        }
        self.trust = trust;
        let all: BTreeSet<_> =
            self.members.channels().chain(self.admins.channels()).chain(self.metadata.channels()).collect();
        self.members.retain(|e| trust.accepts(e));
        self.admins.retain(|e| trust.accepts(e));
        self.metadata.retain(|e| trust.accepts(e));
        for channel in all {
            self.derive(channel, &mut change);
        }
        change
    }

    /// Takes in what an earlier session saved. Events were verified when they were read from the disk; the signer is
    /// checked here.
    pub fn restore(&mut self, stored: Vec<(ChannelId, StoredChannel)>) -> AccessChange {
        let mut change = AccessChange::default();
        for (channel, kept) in stored {
            for event in [kept.members, kept.admins, kept.metadata].into_iter().flatten() {
                if directory_channel(&event) == Some(channel) {
                    self.take(&event, Source::Restored, &mut change);
                }
            }
            if let Some(floor) = kept.denied {
                self.deny(channel, floor, &mut change);
            }
            self.unsaved.remove(&channel);
        }
        change
    }

    /// What changed since the last call and should be kept over restarts, in id order.
    pub fn take_unsaved(&mut self) -> Vec<(ChannelId, StoredChannel)> {
        let unsaved = std::mem::take(&mut self.unsaved);
        unsaved.into_iter().map(|channel| (channel, self.stored(channel))).collect()
    }

    fn stored(&self, channel: ChannelId) -> StoredChannel {
        StoredChannel {
            members: self.members.get(channel).map(|h| h.event.clone()),
            admins: self.admins.get(channel).map(|h| h.event.clone()),
            metadata: self.metadata.get(channel).map(|h| h.event.clone()),
            denied: self.standing.get(&channel).and_then(|m| m.denied).map(|(floor, _)| floor),
        }
    }

    /// Takes in one directory event or nothing. Says whether it is a relay-signed roster and its channel is allowed now.
    fn take(&mut self, event: &SharedEvent, source: Source, change: &mut AccessChange) -> bool {
        let Some(channel) = directory_channel(event).filter(|_| self.trust.accepts(event)) else { return false };
        let listed = match event.kind {
            kinds::MEMBERS => self.take_roster(channel, event, source, change),
            kinds::ADMINS => {
                if self.admins.standing(channel, event) == Standing::Newer && self.admins.fits(channel) {
                    let held = Held { event: event.clone(), facts: facts::admins(event), since: self.next_tick() };
                    self.admins.insert(channel, held);
                    self.unsaved.insert(channel);
                }
                false
            }
            _ => {
                self.take_metadata(channel, event, source, change);
                false
            }
        };
        self.derive(channel, change);
        listed
    }

    fn take_roster(
        &mut self,
        channel: ChannelId,
        event: &SharedEvent,
        source: Source,
        change: &mut AccessChange,
    ) -> bool {
        let standing = self.members.standing(channel, event);
        if standing == Standing::Older || !self.members.fits(channel) {
            // A relay that is behind still lists a member.
            return self.member(channel);
        }
        let facts = Roster::parse(event, &self.viewer_hex);
        let listed = facts.viewer;
        if standing == Standing::Newer {
            let since = self.next_tick();
            self.members.insert(channel, Held { event: event.clone(), facts, since });
            self.standing.entry(channel).or_default().changed = since;
            self.unsaved.insert(channel);
        }
        let membership = self.standing.entry(channel).or_default();
        let Some((floor, at)) = membership.denied else {
            let confirms = matches!(source, Source::Read(_)) || (source == Source::Live && standing == Standing::Newer);
            membership.confirmed |= listed && confirms;
            return listed;
        };
        let asked_since = matches!(source, Source::Read(began) if began >= at);
        let lifts = event.created_at >= floor && (standing == Standing::Newer || asked_since);
        if !lifts || source == Source::Restored {
            return false;
        }
        membership.denied = None;
        membership.confirmed = listed;
        self.tick += 1;
        membership.changed = self.tick;
        self.unsaved.insert(channel);
        self.derive(channel, change);
        listed
    }

    fn take_metadata(&mut self, channel: ChannelId, event: &SharedEvent, source: Source, change: &mut AccessChange) {
        let standing = self.metadata.standing(channel, event);
        if standing == Standing::Older || (!self.metadata.fits(channel) && !self.make_room(channel, change)) {
            return;
        }
        if standing == Standing::Newer || source != Source::Live {
            self.withdrawn.remove(&channel);
        }
        if standing == Standing::Newer {
            let held = Held { event: event.clone(), facts: Metadata::parse(event), since: self.next_tick() };
            self.metadata.insert(channel, held);
            self.unsaved.insert(channel);
        }
    }

    /// Makes room for a joined channel's metadata at the cost of one the viewer only browses.
    fn make_room(&mut self, channel: ChannelId, change: &mut AccessChange) -> bool {
        if !self.member(channel) {
            return false;
        }
        let Some(spare) = self.metadata.channels().filter(|c| !self.member(*c)).last() else { return false };
        self.metadata.remove(spare);
        self.withdrawn.remove(&spare);
        self.unsaved.insert(spare);
        self.derive(spare, change);
        true
    }

    fn member(&self, channel: ChannelId) -> bool {
        self.members.get(channel).is_some_and(|m| m.facts.viewer)
            && self.standing.get(&channel).is_none_or(|m| m.denied.is_none())
    }

    /// Denies a channel: no roster dated before `floor` gives it back.
    fn deny(&mut self, channel: ChannelId, floor: u64, change: &mut AccessChange) {
        if !self.members.fits(channel) {
            return;
        }
        let at = self.next_tick();
        let membership = self.standing.entry(channel).or_default();
        let floor = membership.denied.map_or(floor, |(held, _)| held.max(floor));
        membership.denied = Some((floor, at));
        membership.confirmed = false;
        membership.changed = at;
        self.unsaved.insert(channel);
        self.derive(channel, change);
    }

    /// Denies a channel that a complete answer omitted, unless its roster changed since that read began.
    fn deny_omitted(&mut self, channel: ChannelId, began: u64, change: &mut AccessChange) {
        let changed = self.standing.get(&channel).map_or(0, |m| m.changed);
        if !self.member(channel) || changed > began {
            return;
        }
        let floor = self.members.get(channel).map_or(0, |m| m.event.created_at);
        self.deny(channel, floor, change);
    }

    /// Forgets that a channel is open when a complete answer omitted its metadata, unless that changed meanwhile.
    fn withdraw(&mut self, channel: ChannelId, began: u64, change: &mut AccessChange) {
        if self.metadata.get(channel).is_some_and(|m| m.since <= began) && self.withdrawn.insert(channel) {
            self.derive(channel, change);
        }
    }

    /// A relay-signed membership notice of the viewer. Newest by `(created_at, id)` decides (B10). Says which channel to ask
    /// for.
    fn take_notice(&mut self, event: &Event, change: &mut AccessChange) -> Option<ChannelId> {
        let channel = event.channel()?;
        if !self.trust.accepts(event) || !event.p_tags(&self.viewer_hex) {
            return None;
        }
        let added = event.kind == kinds::MEMBER_ADDED;
        if !self.standing.contains_key(&channel) && self.standing.len() >= limits::DIRECTORY_CHANNELS * 2 {
            return Some(channel);
        }
        let membership = self.standing.entry(channel).or_default();
        if membership.notice.is_some_and(|(at, id, _)| (at, id) >= (event.created_at, event.id)) {
            return Some(channel);
        }
        membership.notice = Some((event.created_at, event.id, added));
        // A roster may be dated later than the removal it precedes; then only the answer to the question decides.
        let newest = self.members.get(channel).map_or(0, |m| m.event.created_at);
        if !added && event.created_at >= newest {
            self.deny(channel, event.created_at, change);
        }
        Some(channel)
    }

    /// Computes the facts of one channel anew and notes what changed.
    fn derive(&mut self, channel: ChannelId, change: &mut AccessChange) {
        let allowed = self.member(channel);
        let metadata = self.metadata.get(channel).map(|m| &m.facts);
        let open = metadata.is_some_and(|m| m.open) && !self.withdrawn.contains(&channel);
        let new = (allowed || open).then(|| {
            let channel_type = metadata.map_or(ChannelType::Unknown, |m| m.channel_type);
            let people = self.members.get(channel).filter(|_| channel_type == ChannelType::Dm);
            let others = people.iter().flat_map(|m| &m.facts.people).filter(|p| **p != self.viewer);
            ChannelFacts {
                allowed,
                confirmed: allowed && self.standing.get(&channel).is_some_and(|m| m.confirmed),
                channel_type,
                name: metadata.and_then(|m| m.name.clone()),
                participants: others.copied().collect(),
                archived: metadata.is_some_and(|m| m.archived),
            }
        });
        let old = match &new {
            Some(facts) => self.facts.insert(channel, facts.clone()),
            None => self.facts.remove(&channel),
        };
        note(channel, old.as_ref(), new.as_ref(), change);
    }

    fn next_tick(&mut self) -> u64 {
        self.tick += 1;
        self.tick
    }
}

/// Adds the difference between two states of a channel to the change.
fn note(channel: ChannelId, old: Option<&ChannelFacts>, new: Option<&ChannelFacts>, change: &mut AccessChange) {
    if old == new {
        return;
    }
    change.touched.insert(channel);
    let (was, is) = (old.is_some_and(|f| f.allowed), new.is_some_and(|f| f.allowed));
    if was && !is {
        change.revoked.insert(channel);
        change.granted.remove(&channel);
    } else if is && !was {
        change.granted.insert(channel);
    }
    if new.is_none() {
        change.hidden.insert(channel);
    }
    let (Some(old), Some(new)) = (old, new) else { return };
    if was && is && old.channel_type != new.channel_type {
        change.type_changed.insert(channel);
    }
    if old.name != new.name || old.participants != new.participants {
        change.renamed.insert(channel);
    }
    if was && is && !old.confirmed && new.confirmed {
        change.confirmed.insert(channel);
    }
}

/// The channel a directory event is about: its only `d` tag.
fn directory_channel(event: &Event) -> Option<ChannelId> {
    if !LIVE_KINDS.contains(&event.kind) {
        return None;
    }
    ChannelId::parse(event.single("d")?).ok()
}
