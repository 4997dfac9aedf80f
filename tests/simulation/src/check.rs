//! The invariants, looked at after every step.
//!
//! | name | what must hold |
//! | --- | --- |
//! | `lost` | what was seen saved in an installation's journal is there after any death of its process |
//! | `lowered` | no frontier goes back, on a device or over what the relay holds, unless a broader one reads as much |
//! | `early` | no frontier is beyond what a dwell or a call permitted, and no `msg:` mark is there for what was not shown |
//! | `count` | counts are those of the model where a device knows everything, and never more than can be unread where it does not; never a made-up zero |
//! | `manual`, `follow` | manual marks and follow choices are what was asked last |
//! | `call` | a call that must fail fails, one that must succeed succeeds |
//! | `bound`, `limit`, `refused` | bounds of what is published and shown; limits of the relay on every request; nothing refused but for a reason |
//!
//! A device is *clean* when nothing went wrong for it since its last complete refresh: then it knows everything, and what it says must be
//! exact. Everything it says otherwise must be possible.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use waggle::error::Error;
use waggle::limits;
use waggle::model::{ChannelType, Coverage, Freshness, Manual, SidebarRow, TimelineState, UnreadSnapshot};
use waggle::session::Session;

use crate::model::{Belief, Installation, Marks};
use crate::plan::{Act, Aim, MsgId, Plan, Screen, Step, Trouble};
use crate::run::{Broken, Run};
use crate::world::World;

/// What was seen so far.
#[derive(Default)]
pub struct Ledger {
    /// Devices that know everything.
    clean: Vec<bool>,
    /// Whether a refresh under way began in good order.
    begun: Vec<bool>,
    /// What each process was seen to hold.
    floor: Vec<Marks>,
    /// The greatest value per key over everything the relay holds.
    relay: Marks,
    /// Timelines opened in good order, for which nothing went wrong since, and what was posted to them since.
    sound: Vec<BTreeMap<Screen, BTreeSet<MsgId>>>,
    /// Publications already decoded.
    publishes: u64,
    decoded: BTreeMap<String, Marks>,
    refusals: usize,
    /// Whether copies of one journal publish side by side, or an old one may be misled by an old answer: then the relay's state can
    /// go back for a moment, and only the end counts.
    unordered: bool,
    /// Steps so far, for what is looked at in turns.
    turn: usize,
}

impl Ledger {
    /// An empty one.
    pub fn new(plan: &Plan) -> Self {
        let n = plan.world.devices.len();
        let copied = plan.steps.iter().any(|s| matches!(s, Step::Do(_, Act::CloneFrom(_) | Act::Restore)));
        Self {
            clean: vec![false; n],
            begun: vec![false; n],
            floor: vec![Marks::new(); n],
            sound: vec![BTreeMap::new(); n],
            unordered: copied,
            ..Self::default()
        }
    }

    /// A process runs: it must hold what its installation holds.
    pub fn started(&mut self, world: &World, on: usize) {
        self.clean[on] = false;
        self.floor[on] = world.model.installations[world.devices[on].installation].kept.clone();
    }

    /// A process is gone.
    pub fn forget(&mut self, on: usize) {
        self.clean[on] = false;
    }

    /// Whether a device knows everything.
    pub fn sees_all(&self, on: usize) -> bool {
        self.clean[on]
    }

    /// Something is wrong for a device: what it knows may be less than all until it has read again.
    pub fn cut_off(&mut self, on: usize) {
        self.clean[on] = false;
        self.begun[on] = false;
        self.sound[on].clear();
    }

    /// A timeline is open. If something goes wrong in the same step, it is noted after this.
    pub fn opened(&mut self, on: usize, screen: Screen) {
        self.sound[on].insert(screen, BTreeSet::new());
    }

    /// A message is posted: whoever has its channel open hears it.
    pub fn posted(&mut self, id: MsgId, channel: usize) {
        for (screen, heard) in self.sound.iter_mut().flatten() {
            if screen.channel == channel {
                heard.insert(id);
            }
        }
    }

    /// A timeline is gone.
    pub fn closed(&mut self, on: usize, screen: Screen) {
        self.sound[on].remove(&screen);
    }

    /// A call begins; `in_order` says that nothing is wrong then.
    pub fn asked(&mut self, on: usize, act: &Act, in_order: bool) {
        if matches!(act, Act::Refresh) {
            self.begun[on] = in_order;
        }
    }

    /// A call is over: whether it may end so.
    pub fn answered(&mut self, world: &World, on: usize, act: &Act, outcome: &Result<(), Error>) -> Result<(), Broken> {
        let device = &world.devices[on];
        match act {
            Act::Refresh if outcome.is_ok() && self.begun[on] && !device.second => {
                self.clean[on] = !device.line.lacks_notice();
            }
            Act::MarkThrough(aim, id) => {
                let fits = world.model.fits(*aim, *id);
                if !fits && outcome.is_ok() {
                    return Err(("call", format!("device {on}: {act:?} does not fit and succeeded")));
                }
                let there = world.model.message(*id).is_some_and(|m| !m.deleted && world.model.member[m.channel]);
                let root = match aim {
                    Aim::Thread(root) => world.model.message(*root).is_some_and(|m| !m.deleted),
                    _ => true,
                };
                if self.clean[on] && fits && there && root && device.signs && outcome.is_err() {
                    return Err(("call", format!("device {on}: {act:?} failed: {outcome:?}")));
                }
                if !device.signs && outcome.is_ok() {
                    return Err(("call", format!("device {on} cannot sign and {act:?} succeeded")));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Run {
    /// Devices for which something goes wrong are no longer clean.
    pub fn note_trouble(&mut self, step: Option<&Step>) {
        let all = matches!(step, Some(Step::Revoke(_) | Step::Grant(_) | Step::Restart));
        for on in 0..self.world.devices.len() {
            let mine = match step {
                Some(Step::Do(other, act)) => *other == on && !is_harmless(act),
                Some(Step::Fault(other, trouble)) => *other == on && !matches!(trouble, Trouble::Online),
                _ => false,
            };
            if all || mine || self.is_troubled(on) {
                self.ledger.cut_off(on);
            }
        }
    }

    /// Whether something is or was wrong for a device since this was last asked.
    pub fn is_troubled(&self, on: usize) -> bool {
        let device = &self.world.devices[on];
        let waiting = self.world.relay.faults();
        let named = waiting.iter().any(|fault| fault.label.as_deref() == Some(device.name.as_str()));
        let troubled = device.line.was_troubled() || device.disk.is_armed() || named;
        troubled || device.live.is_none() || device.suspended
    }

    /// Looks at everything; at every target if `thorough`.
    pub async fn check(&mut self, thorough: bool) -> Result<(), Broken> {
        self.ledger.turn += 1;
        for on in 0..self.world.devices.len() {
            if let Some(session) = self.world.devices[on].session() {
                let marks = self.check_marks(on, &session).await?;
                self.check_counts(on, &session, &marks, thorough).await?;
                if self.ledger.clean[on] && !self.world.devices[on].line.looks_up_again() {
                    self.check_activity(on, &session, &marks).await?;
                }
                if thorough {
                    self.check_follows(on, &session).await?;
                }
            }
            self.check_rows(on)?;
        }
        self.check_limits()?;
        self.check_relay()
    }

    // --- Frontiers -----------------------------------------------------------------------------------------------------

    /// The frontiers a device holds.
    pub async fn marks(&self, session: &Session) -> Result<Marks, Broken> {
        let keys = self.world.model.keys();
        let wire: Vec<_> = keys.iter().filter_map(|key| self.world.wire_key(*key)).collect();
        let values = session.journal(wire).await.map_err(|why| ("open", format!("the journal is silent: {why}")))?;
        Ok(keys.into_iter().zip(values).filter_map(|(key, value)| Some((key, u64::from(value?)))).collect())
    }

    async fn check_marks(&mut self, on: usize, session: &Session) -> Result<Marks, Broken> {
        let mut marks = self.marks(session).await?;
        if let Some(sabotage) = self.sabotage {
            sabotage.marks(self.ledger.turn, &mut marks);
        }
        let installation = self.world.devices[on].installation;
        let horizon = self.horizon(on).high;
        let model = &mut self.world.model;
        for (key, value) in &marks {
            let bound = model.bound(installation, *key, horizon);
            if bound.is_none_or(|bound| *value > bound) {
                return Err(("early", format!("device {on}: {key:?} = {value}, permitted {bound:?}")));
            }
        }
        let floor = &mut self.ledger.floor[on];
        if let Some((key, value)) = floor.iter().find(|(key, value)| !model.holds(&marks, **key, **value)) {
            let kept = model.installations[installation].kept.get(key) == Some(value);
            let name = if kept { "lost" } else { "lowered" };
            return Err((name, format!("device {on}: {key:?} was {value}, is {:?}", marks.get(key))));
        }
        for (key, value) in &marks {
            let seen = floor.entry(*key).or_insert(*value);
            *seen = (*seen).max(*value);
            let kept = model.installations[installation].kept.entry(*key).or_insert(*value);
            *kept = (*kept).max(*value);
        }
        Ok(marks)
    }

    // --- Counts --------------------------------------------------------------------------------------------------------

    fn aims(&self, thorough: bool) -> Vec<Aim> {
        let channels = (0..self.world.channels.len()).map(Aim::Channel);
        let messages = self.world.model.messages.values();
        let threads = messages.clone().filter(|m| m.parent.is_none()).map(|m| Aim::Thread(m.id));
        let single = messages.map(|m| Aim::Message(m.id));
        if thorough {
            return channels.chain(threads).chain(single).collect();
        }
        // One thread and one message a turn; the end looks at all of them.
        let (threads, single): (Vec<Aim>, Vec<Aim>) = (threads.collect(), single.collect());
        let turn = self.ledger.turn;
        let some = |all: &[Aim]| (!all.is_empty()).then(|| all[turn % all.len()]);
        channels.chain(some(&threads)).chain(some(&single)).collect()
    }

    /// What is certain about a device's manual marks and choices: nothing, while another process changes them too.
    fn certain(&self, on: usize) -> Installation {
        let number = self.world.devices[on].installation;
        let mine = &self.world.model.installations[number];
        let mut of =
            Installation { manual: mine.manual.clone(), choices: mine.choices.clone(), ..Installation::default() };
        if self.world.devices.iter().filter(|d| d.installation == number).count() > 1 {
            of.manual.values_mut().for_each(|belief| *belief = Belief::Maybe);
            of.choices.values_mut().for_each(|choice| *choice = None);
        }
        of
    }

    async fn check_counts(&mut self, on: usize, session: &Session, marks: &Marks, all: bool) -> Result<(), Broken> {
        let of = self.certain(on);
        for aim in self.aims(all) {
            let Some(target) = self.world.target(aim) else { continue };
            let mut seen = match session.snapshot(target).await {
                Ok(seen) => seen,
                Err(Error::Denied) => continue,
                Err(why) => return Err(("count", format!("device {on}: {aim:?} cannot be read: {why}"))),
            };
            if let Some(sabotage) = self.sabotage {
                sabotage.snapshot(&mut seen, self.ledger.clean[on]);
            }
            let wrong = |what: String| ("count", format!("device {on}: {aim:?} {what}: {}", shown(&seen)));
            self.possible(&of, marks, aim, &seen).map_err(&wrong)?;
            if self.ledger.clean[on] {
                self.exact(on, &of, marks, aim, &seen).map_err(&wrong)?;
            }
            self.check_manual(on, &of, aim, &seen)?;
            self.check_sidebar(on, session, aim, &seen)?;
        }
        Ok(())
    }

    /// A row of the sidebar says what the snapshot of its channel says, and is drawn by the table of `unread.md` 12.1.
    fn check_sidebar(&self, on: usize, session: &Session, aim: Aim, seen: &UnreadSnapshot) -> Result<(), Broken> {
        let Aim::Channel(channel) = aim else { return Ok(()) };
        let state = session.sidebar().current().value;
        let id = self.world.channels[channel];
        let Some(row) = state.rows.iter().find(|row| row.channel == id && row.joined) else { return Ok(()) };
        let same = self.sabotage.is_some()
            || (row.observed, row.attention, row.manual) == (seen.observed, seen.attention, seen.manual);
        if same && is_drawn_right(row, self.world.model.is_dm(channel)) {
            return Ok(());
        }
        Err(("count", format!("device {on}: the sidebar's row of channel {channel} is wrong: {}", shown(seen))))
    }

    /// Threads with unread replies.
    async fn check_activity(&self, on: usize, session: &Session, marks: &Marks) -> Result<(), Broken> {
        let of = self.certain(on);
        for (channel, id) in self.world.channels.iter().enumerate() {
            let (true, Ok(activity)) = (self.world.model.member[channel], session.activity(*id).await) else {
                continue;
            };
            let Some(items) = activity.items else { continue };
            let mut wanted = self.world.model.activity(&of, marks, channel, self.world.time.unix());
            let wrong = |what: String| Err(("count", format!("device {on}: activity of channel {channel}: {what}")));
            for item in &items {
                let range = self.world.numbers.get(&item.root).and_then(|root| wanted.remove(root));
                if !range.is_some_and(|range| range.has(item.count)) {
                    return wrong(format!("{} listed, expected {range:?}", item.count));
                }
            }
            if let Some((root, range)) = wanted.into_iter().find(|(_, range)| range.low > 0) {
                return wrong(format!("{root} is not listed, expected {range:?}"));
            }
            if !items.is_sorted_by_key(|item| (std::cmp::Reverse(item.created_at), item.latest)) {
                return wrong("out of order".into());
            }
        }
        Ok(())
    }

    /// What holds of any snapshot.
    fn possible(&self, of: &Installation, marks: &Marks, aim: Aim, seen: &UnreadSnapshot) -> Result<(), String> {
        let model = &self.world.model;
        let channel = model.channel_of(aim).unwrap_or_default();
        match (seen.observed, seen.attention) {
            (None, None) => {
                if seen.coverage == Coverage::Observed {
                    return Err("covered, and no count".into());
                }
            }
            (Some(observed), Some(attention)) => {
                if seen.coverage == Coverage::Unknown {
                    return Err("a count of what is not covered".into());
                }
                if model.of_channel(channel).next().is_none() {
                    return Err("a count where nothing was ever said".into());
                }
                let most = model.at_most(of, marks, aim, self.world.time.unix());
                if attention > observed || observed > most {
                    return Err(format!("at most {most} can be unread"));
                }
            }
            _ => return Err("one count without the other".into()),
        }
        match (aim, seen.latest.map(|id| self.world.numbers.get(&id).and_then(|id| model.message(*id)))) {
            (_, None) => Ok(()),
            (Aim::Channel(c), Some(Some(m))) if m.channel == c => Ok(()),
            _ => Err("a newest message that is none of it".into()),
        }
    }

    /// What holds of a device that knows everything.
    fn exact(
        &self,
        on: usize,
        of: &Installation,
        marks: &Marks,
        aim: Aim,
        seen: &UnreadSnapshot,
    ) -> Result<(), String> {
        let model = &self.world.model;
        let Some(channel) = model.channel_of(aim) else { return Ok(()) };
        if !model.member[channel] {
            return if seen.observed.is_none() { Ok(()) } else { Err("known without access".into()) };
        }
        if seen.pending {
            let waits = self.world.devices[on].line.looks_up_again();
            return if waits { Ok(()) } else { Err("a look-up that never ends".into()) };
        }
        let (unread, attention) = model.count(of, marks, aim, self.world.time.unix());
        let held = |id| model.message(id).is_some_and(|m| !m.deleted);
        let must_know = match aim {
            Aim::Channel(c) => model.of_channel(c).any(|m| !m.deleted),
            Aim::Thread(id) | Aim::Message(id) => held(id),
        };
        match (seen.observed, seen.attention) {
            (Some(a), Some(b)) if unread.has(a) && attention.has(b) => {}
            (None, None) if !must_know => {}
            _ => return Err(format!("expected {unread:?}, wanting attention {attention:?}")),
        }
        if seen.observed.is_some() && seen.freshness != Freshness::Observed {
            return Err("not fresh".into());
        }
        let newest = match aim {
            Aim::Channel(c) if model.of_channel(c).all(|m| !m.deleted) => {
                model.of_channel(c).max_by_key(|m| (m.at, std::cmp::Reverse(m.event))).map(|m| m.event)
            }
            _ => seen.latest,
        };
        if newest == seen.latest { Ok(()) } else { Err("another message is the newest".into()) }
    }

    fn check_manual(&mut self, on: usize, of: &Installation, aim: Aim, seen: &UnreadSnapshot) -> Result<(), Broken> {
        let held = matches!(aim, Aim::Channel(_)) || seen.coverage == Coverage::Observed;
        let number = self.world.devices[on].installation;
        let shared = self.world.devices.iter().filter(|d| d.installation == number).count() > 1;
        // Nothing tells a lost mark from one whose channel is hidden.
        if !held || shared || seen.coverage == Coverage::Unknown {
            return Ok(());
        }
        let is = seen.manual == Manual::LocalOnly;
        match of.manual(aim) {
            Belief::Yes if !is => Err(("manual", format!("device {on}: the mark on {aim:?} is gone"))),
            Belief::No if is => Err(("manual", format!("device {on}: {aim:?} is marked and nobody did"))),
            // Nothing that could still change it waits.
            Belief::Maybe if self.world.devices[on].calls.is_empty() && !self.world.devices[on].disk.is_armed() => {
                let known = if is { Belief::Yes } else { Belief::No };
                self.world.model.installations[number].manual.insert(aim, known);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn check_follows(&mut self, on: usize, session: &Session) -> Result<(), Broken> {
        for (root, choice) in self.certain(on).choices {
            let (Some(choice), Some(m)) = (choice, self.world.model.message(root)) else { continue };
            let following = session.following(self.world.channels[m.channel], m.event).await;
            if following.is_ok_and(|following| following != choice) {
                return Err(("follow", format!("device {on}: the choice for {root} was {choice} and is not kept")));
            }
        }
        Ok(())
    }

    // --- Screens -------------------------------------------------------------------------------------------------------

    /// Rows of open timelines: in order, each once, of their channel, not too many.
    fn check_rows(&self, on: usize) -> Result<(), Broken> {
        let Some(live) = &self.world.devices[on].live else { return Ok(()) };
        for (screen, timeline) in &live.timelines {
            let state = timeline.state();
            let wrong = |what: &str| Err(("timeline", format!("device {on}: {screen:?}: {what}")));
            if state.rows.len() > limits::TIMELINE_ROWS {
                return Err(("bound", format!("device {on}: {} rows", state.rows.len())));
            }
            let order: Vec<_> = state.rows.iter().map(|row| (row.created_at, std::cmp::Reverse(row.id))).collect();
            // The root of a thread stays on top whatever its time.
            let from = usize::from(screen.root.is_some());
            if !order.get(from..).unwrap_or_default().is_sorted() {
                return wrong("rows out of order");
            }
            let mut ids: Vec<_> = state.rows.iter().map(|row| row.id).collect();
            ids.sort_unstable();
            ids.dedup();
            if ids.len() != state.rows.len() {
                return wrong("a row twice");
            }
            for id in ids {
                let here = self.world.numbers.get(&id).and_then(|id| self.world.model.message(*id));
                if here.is_none_or(|m| m.channel != screen.channel) {
                    return wrong("a row of somewhere else");
                }
            }
            // An extension is told of nothing that happens after it asked.
            let heard = self.ledger.sound[on].get(screen).filter(|_| !self.world.devices[on].second);
            if screen.root.is_none() && heard.is_some_and(|heard| self.has_hole(screen.channel, &state, heard)) {
                return wrong("a hole");
            }
        }
        Ok(())
    }

    /// Whether a row is missing among those shown, where nothing says so. One that arrived late must be there if it was heard.
    fn has_hole(&self, channel: usize, state: &TimelineState, heard: &BTreeSet<MsgId>) -> bool {
        let Some(oldest) = state.rows.first().map(|row| (row.created_at, std::cmp::Reverse(row.id))) else {
            return false;
        };
        let wanted = self
            .world
            .model
            .of_channel(channel)
            .filter(|m| m.is_row() && !m.deleted && (!m.late || heard.contains(&m.id)));
        let mut wanted = wanted.filter(|m| (m.at, std::cmp::Reverse(m.event)) >= oldest);
        let settled = state.gap.is_none() && !state.restored && !state.loading && state.error.is_none();
        settled && wanted.any(|m| state.rows.iter().all(|row| row.id != m.event))
    }

    // --- The relay -----------------------------------------------------------------------------------------------------

    /// What devices published: small enough, nothing private, nothing too far, and never less than before.
    fn check_relay(&mut self) -> Result<(), Broken> {
        let counters = self.world.relay.counters();
        if let Some(text) =
            counters.refusals.get(self.ledger.refusals..).and_then(|new| new.iter().find(|t| !may_be(t)))
        {
            return Err(("refused", text.clone()));
        }
        self.ledger.refusals = counters.refusals.len();
        if counters.publishes == self.ledger.publishes {
            return Ok(());
        }
        self.ledger.publishes = counters.publishes;
        let now = self.read_relay()?;
        let lowered = self.ledger.relay.iter().find(|(key, value)| !self.world.model.holds(&now, **key, **value));
        if let Some((key, value)) = lowered
            && !self.ledger.unordered
        {
            return Err(("lowered", format!("the relay held {key:?} = {value}, now {:?}", now.get(key))));
        }
        self.ledger.relay = now;
        Ok(())
    }

    /// The greatest value per key over everything that devices published and the relay holds.
    pub fn read_relay(&mut self) -> Result<Marks, Broken> {
        let setup = |why: anyhow::Error| ("setup", format!("{why:#}"));
        let slots = self.world.relay.admin().read_state(&self.world.viewer().public()).map_err(setup)?;
        if slots.len() > limits::SLOTS * self.world.devices.len() {
            return Err(("bound", format!("{} coordinates", slots.len())));
        }
        let mut all = Marks::new();
        // The peer's word is its own, and it may say anything.
        let peer = format!("read-state:{}", "f".repeat(32));
        for slot in slots.into_iter().filter(|slot| slot.d != peer) {
            let marks = match self.ledger.decoded.get(&slot.event.id) {
                Some(marks) => marks.clone(),
                None => self.decode(&slot.event)?,
            };
            for (key, value) in &marks {
                let greatest = all.entry(*key).or_insert(*value);
                *greatest = (*greatest).max(*value);
            }
            self.ledger.decoded.insert(slot.event.id.clone(), marks);
        }
        Ok(all)
    }

    fn decode(&self, event: &waggle_test_relay::Event) -> Result<Marks, Broken> {
        let unreadable = |why: anyhow::Error| ("bound", format!("a publication cannot be read: {why:#}"));
        let plain = self.world.viewer().unseal(&event.content).map_err(unreadable)?;
        if plain.len() > limits::BLOB_BYTES || event.json.len() > limits::PENDING_BYTES {
            return Err(("bound", format!("a publication of {} bytes", plain.len())));
        }
        let blob: Value = serde_json::from_str(&plain).unwrap_or_default();
        let Some(contexts) = blob["contexts"].as_object() else {
            return Err(("bound", "a publication without contexts".into()));
        };
        let mut marks = Marks::new();
        for (text, value) in contexts {
            let (Some(key), Some(value)) = (self.world.key(text), value.as_u64()) else {
                return Err(("bound", format!("a strange entry was published: {} bytes", text.len())));
            };
            if key.is_private() {
                return Err(("bound", format!("{key:?} was published")));
            }
            let permitted = self.world.model.allowed.get(&key);
            if permitted.is_none_or(|permitted| value > *permitted) {
                return Err(("early", format!("published {key:?} = {value}, permitted {permitted:?}")));
            }
            marks.insert(key, value);
        }
        Ok(marks)
    }

    fn check_limits(&mut self) -> Result<(), Broken> {
        for device in &self.world.devices {
            if let Some(what) = device.line.violations().into_iter().next() {
                return Err(("limit", what));
            }
        }
        Ok(())
    }
}

/// Acts that take nothing from what a device knows.
fn is_harmless(act: &Act) -> bool {
    !matches!(act, Act::Start | Act::Stop | Act::Kill | Act::Suspend | Act::Resume | Act::Hold | Act::WipeCache)
}

/// Refusals that a well-behaved client may meet: access that changed while it asked, and a saved publication that became too old while
/// it waited (R22).
fn may_be(text: &str) -> bool {
    ["restricted", "not a channel member", "event timestamp too far"].iter().any(|known| text.contains(known))
}

/// `unread.md` 12.1, nothing muted and nothing presented otherwise.
fn is_drawn_right(row: &SidebarRow, dm: bool) -> bool {
    let (observed, attention) = (row.observed.unwrap_or(0), row.attention.unwrap_or(0));
    let manual = row.manual != Manual::None;
    // A DM whose metadata is not there yet is drawn as what is known.
    let (strong, dot) = match dm && row.channel_type == ChannelType::Dm {
        true => (observed > 0 || manual, observed > 0),
        false => (observed > attention || manual, attention > 0 || row.threads > 0),
    };
    let counted = observed > 0 || manual || row.threads > 0;
    (row.strong, row.dot, row.bell, row.counted) == (strong, dot, false, counted)
}

fn shown(seen: &UnreadSnapshot) -> String {
    format!(
        "observed {:?}, attention {:?}, {:?}, {:?}{}{}",
        seen.observed,
        seen.attention,
        seen.coverage,
        seen.freshness,
        if seen.pending { ", pending" } else { "" },
        seen.error.as_ref().map(|why| format!(", {why}")).unwrap_or_default()
    )
}
