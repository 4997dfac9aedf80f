//! Intake of events from clients: every check before something is stored, in the real relay's order and words.
//!
//! Order: author = caller → kind → clock → size → id and signature → duplicate → the rules of the kind. A duplicate or a
//! superseded replaceable event answers `accepted: true` with `duplicate:` and stores nothing. The admin path skips the
//! caller, clock and signature checks and keeps all others.

use crate::{
    channels::pair,
    event::{Event, is_hex},
    filter::channel_id,
    kinds,
    state::State,
    store::{Entry, Origin, Place, Stored, coordinate},
};

/// The refusal of an event too far from server time.
pub(crate) const TOO_FAR: &str = "invalid: event timestamp too far from server time";
const DUPLICATE: &str = "duplicate:";
const MAX_CONTENT: usize = 262_144;
const DRIFT: u64 = 900;
const MAX_DEPTH: u32 = 100;

/// How an event came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Via {
    Http,
    Socket,
    Admin,
}

/// The circumstances of an intake.
#[derive(Debug, Clone)]
pub(crate) struct Intake {
    pub(crate) via: Via,
    pub(crate) label: Option<String>,
    /// The server time (seconds) the event is taken to arrive at.
    pub(crate) arrival: u64,
}

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// `accepted: true` with this message; only an empty one proves it was stored.
    Accepted(String),
    /// `accepted: false` with status 200.
    Declined(String),
    /// An error status with this text.
    Refused(u16, String),
}

/// Why a rule turned an event down: always answered 400.
pub(crate) type Rule<T> = Result<T, Verdict>;

pub(crate) fn refused(text: impl Into<String>) -> Verdict {
    Verdict::Refused(400, text.into())
}

pub(crate) fn stored() -> Verdict {
    Verdict::Accepted(String::new())
}

impl State {
    /// Takes an event in from `me`.
    pub(crate) fn submit(&mut self, event: Event, me: &str, intake: &Intake) -> anyhow::Result<Verdict> {
        if let Err(verdict) = self.check_shape(&event, me, intake) {
            return Ok(verdict);
        }
        if self.store.knows(&event.id)? {
            return Ok(Verdict::Accepted(DUPLICATE.into()));
        }
        if intake.via == Via::Admin && event.pubkey == self.keys.public() && event.kind != 5 {
            return self.take_own(&event, intake);
        }
        match event.kind {
            5 => self.take_deletion(&event, intake),
            7 => self.take_reaction(&event, intake),
            9005 => self.take_moderation(&event, intake),
            9030 => self.take_roster_command(&event, intake),
            20001 | 20002 => self.take_ephemeral(&event, me),
            40003 => self.take_edit(&event, intake),
            41010 => self.take_dm_open(&event, intake),
            41012 => self.take_dm_hide(&event, intake),
            kind if kinds::is_channel_command(kind) => self.take_channel_command(&event, intake),
            kind if kinds::is_channel_content(kind) => self.take_content(&event, intake),
            _ => self.keep(&event, &Place::default(), intake),
        }
    }

    /// Everything that needs no look at what is stored.
    fn check_shape(&self, event: &Event, me: &str, intake: &Intake) -> Rule<()> {
        let admin = intake.via == Via::Admin;
        if !admin && event.pubkey != me {
            return Err(Verdict::Refused(403, "invalid: event pubkey does not match authenticated identity".into()));
        }
        if !(admin && event.pubkey == self.keys.public()) {
            check_kind(event.kind, intake.via)?;
        }
        if !admin && self.now().abs_diff(event.created_at) > DRIFT {
            return Err(refused(TOO_FAR));
        }
        if event.content.len() > MAX_CONTENT {
            let got = event.content.len();
            return Err(refused(format!("invalid: content exceeds maximum size of {MAX_CONTENT} bytes (got {got})")));
        }
        if !admin {
            let computed = event.computed_id();
            if computed != event.id {
                return Err(refused(format!("invalid: invalid event id: computed {computed}, got {}", event.id)));
            }
            if !event.signature_is_valid() {
                return Err(refused("invalid: invalid schnorr signature"));
            }
        }
        Ok(())
    }

    /// Stores an event, replacing its predecessor where its kind has coordinates, and pushes it.
    pub(crate) fn keep(&mut self, event: &Event, place: &Place, intake: &Intake) -> anyhow::Result<Verdict> {
        if let Some(d) = coordinate(event)
            && let Some(old) = self.store.at_coordinate(&event.pubkey, event.kind, d)?
        {
            let newer = (event.created_at, &old.event.id) > (old.event.created_at, &event.id);
            if !newer {
                return Ok(Verdict::Accepted(DUPLICATE.into()));
            }
            self.store.hide(old.seq, 2)?;
        }
        let client = intake.via != Via::Admin;
        let origin = if client { Origin::Client } else { Origin::Admin };
        self.store.insert(&Entry { event, place, counted: true, origin, label: intake.label.as_deref() })?;
        if client && kinds::is_read_state(event.kind, event.tag("d")) {
            self.counters.publishes += 1;
        }
        self.push(event, place.channel.as_deref());
        Ok(stored())
    }

    /// An event of the relay itself, brought by a test: stored with its place, announced, nothing refused.
    fn take_own(&mut self, event: &Event, intake: &Intake) -> anyhow::Result<Verdict> {
        let place = self.lenient_place(event, None)?;
        if kinds::is_group_state(event.kind) {
            self.announce(event, &place)?;
            return Ok(stored());
        }
        let verdict = self.keep(event, &place, intake)?;
        self.after_reply(&place, intake.arrival)?;
        Ok(verdict)
    }

    /// The channel an event names, when its author may write there.
    pub(crate) fn writable_channel(&self, event: &Event) -> Rule<String> {
        let named = event.tag("h").and_then(channel_id);
        let id = named.ok_or_else(|| refused("invalid: channel-scoped events must include an h tag"))?;
        self.check_writer(&id, &event.pubkey)?;
        Ok(id)
    }

    /// Whether someone may write in a channel: a member, or anyone of the community when it is open.
    pub(crate) fn check_writer(&self, channel: &str, pubkey: &str) -> Rule<()> {
        if !self.can_read(pubkey, channel) {
            return Err(refused("restricted: not a channel member"));
        }
        if self.channels.get(channel).is_some_and(|c| c.archived) {
            return Err(refused("invalid: channel is archived"));
        }
        Ok(())
    }

    /// Where a message stands in its thread, or why it is refused.
    fn place_in_thread(&self, event: &Event, channel: &str) -> anyhow::Result<Rule<Place>> {
        let mut place =
            Place { channel: Some(channel.to_owned()), broadcast: event.is_broadcast(), ..Place::default() };
        let Some(parent_id) = event.marked("reply") else { return Ok(Ok(place)) };
        let Some(parent) = self.store.live(&parent_id)? else {
            return Ok(Err(refused("invalid: reply parent not found")));
        };
        if parent.place.channel.as_deref() != Some(channel) {
            return Ok(Err(refused("invalid: parent event belongs to a different channel")));
        }
        let root = parent.place.root.clone().unwrap_or_else(|| parent_id.clone());
        if event.marked("root").is_some_and(|claimed| claimed != root) {
            return Ok(Err(refused("invalid: root tag does not match thread ancestry")));
        }
        if parent.place.depth >= MAX_DEPTH {
            return Ok(Err(refused("invalid: thread depth limit exceeded")));
        }
        place.depth = parent.place.depth + 1;
        place.root = Some(root);
        place.parent = Some(parent_id);
        Ok(Ok(place))
    }

    fn take_content(&mut self, event: &Event, intake: &Intake) -> anyhow::Result<Verdict> {
        let channel = match self.writable_channel(event) {
            Ok(channel) => channel,
            Err(verdict) => return Ok(verdict),
        };
        let place = match self.place_in_thread(event, &channel)? {
            Ok(place) => place,
            Err(verdict) => return Ok(verdict),
        };
        let verdict = self.keep(event, &place, intake)?;
        self.after_reply(&place, intake.arrival)?;
        Ok(verdict)
    }

    /// Where an event that nobody checked stands: what its tags and the store say, without refusing anything.
    pub(crate) fn lenient_place(&self, event: &Event, channel: Option<&str>) -> anyhow::Result<Place> {
        let mut place = Place { broadcast: event.is_broadcast(), ..Place::default() };
        place.channel = self.lenient_channel(event, channel)?;
        let Some(parent_id) = event.marked("reply") else { return Ok(place) };
        let parent = self.store.any(&parent_id)?.filter(|p| p.place.channel == place.channel);
        let (depth, root) = match parent {
            Some(p) => (p.place.depth + 1, p.place.root.unwrap_or_else(|| parent_id.clone())),
            None => (1, event.marked("root").unwrap_or_else(|| parent_id.clone())),
        };
        (place.depth, place.root, place.parent) = (depth, Some(root), Some(parent_id));
        Ok(place)
    }

    /// The channel of an unchecked event: given, else its `h` (or `d`) tag, else that of a stored event it names.
    fn lenient_channel(&self, event: &Event, given: Option<&str>) -> anyhow::Result<Option<String>> {
        if kinds::P_GATED.contains(&event.kind) || kinds::is_global(event.kind) || event.kind == 13534 {
            return Ok(None);
        }
        if let Some(channel) = given {
            return Ok(Some(channel.to_owned()));
        }
        let own = if kinds::is_group_state(event.kind) { event.tag("d") } else { event.tag("h") };
        if let Some(channel) = own.and_then(channel_id) {
            return Ok(Some(channel));
        }
        for id in event.values("e").filter(|id| is_hex(id, 64)) {
            if let Some(target) = self.store.any(&id.to_ascii_lowercase())? {
                return Ok(target.place.channel);
            }
        }
        Ok(None)
    }

    /// Kind 7: one live reaction per author, target and emoji, in the target's channel.
    fn take_reaction(&mut self, event: &Event, intake: &Intake) -> anyhow::Result<Verdict> {
        let target = event.values("e").filter(|id| is_hex(id, 64)).last().map(str::to_ascii_lowercase);
        let found = target.as_deref().map(|id| self.store.live(id)).transpose()?.flatten();
        let Some(target) = found else { return Ok(refused("invalid: reaction target event not found")) };
        if event.content.chars().count() > 64 {
            return Ok(refused("invalid: reaction content exceeds 64 characters"));
        }
        if let Some(channel) = &target.place.channel
            && let Err(verdict) = self.check_writer(channel, &event.pubkey)
        {
            return Ok(verdict);
        }
        if self.has_reaction(event, &target.event.id)? {
            return Ok(Verdict::Declined("duplicate: reaction already exists".into()));
        }
        self.keep(event, &Place { channel: target.place.channel, ..Place::default() }, intake)
    }

    fn has_reaction(&self, event: &Event, target: &str) -> anyhow::Result<bool> {
        let emoji = |content: &str| if content.is_empty() { "+".to_owned() } else { content.to_owned() };
        let select = crate::store::Select {
            authors: Some(vec![event.pubkey.clone()]),
            kinds: Some(vec![7]),
            tags: vec![('e', vec![target.to_owned()])],
            ..crate::store::Select::default()
        };
        let mut found = false;
        self.store.walk(&select, |other| {
            found = emoji(&other.event.content) == emoji(&event.content);
            !found
        })?;
        Ok(found)
    }

    /// Kind 40003: the author's new text.
    fn take_edit(&mut self, event: &Event, intake: &Intake) -> anyhow::Result<Verdict> {
        let channel = match self.writable_channel(event) {
            Ok(channel) => channel,
            Err(verdict) => return Ok(verdict),
        };
        let Some(target) = self.target(event)?.filter(|t| t.live && t.place.channel.as_deref() == Some(&channel))
        else {
            return Ok(refused("invalid: edit target event not found"));
        };
        if target.event.pubkey != event.pubkey {
            return Ok(refused("invalid: must be event author to edit"));
        }
        self.keep(event, &Place { channel: Some(channel), ..Place::default() }, intake)
    }

    /// The stored event the first `e` tag names, deleted or not.
    pub(crate) fn target(&self, event: &Event) -> anyhow::Result<Option<Stored>> {
        let id = event.tag("e").filter(|id| is_hex(id, 64)).map(str::to_ascii_lowercase);
        Ok(id.map(|id| self.store.any(&id)).transpose()?.flatten())
    }

    /// Presence and typing: heard by whoever listens, kept nowhere.
    fn take_ephemeral(&mut self, event: &Event, me: &str) -> anyhow::Result<Verdict> {
        if event.kind == 20001 {
            self.push(event, None);
            return Ok(stored());
        }
        match self.writable_channel(event) {
            Ok(channel) if self.can_read(me, &channel) => {
                self.push(event, Some(&channel));
                Ok(stored())
            }
            Ok(_) => Ok(refused("restricted: not a channel member")),
            Err(verdict) => Ok(verdict),
        }
    }

    /// 9030: an owner or admin of the community adds someone. Not stored; the roster follows.
    fn take_roster_command(&mut self, event: &Event, intake: &Intake) -> anyhow::Result<Verdict> {
        if !matches!(self.community_role(&event.pubkey), Some("owner" | "admin")) {
            return Ok(refused("restricted: not a relay admin"));
        }
        if intake.arrival.abs_diff(event.created_at) > 120 {
            return Ok(refused(TOO_FAR));
        }
        let Some(person) = event.tag("p").filter(|p| is_hex(p, 64)).map(str::to_ascii_lowercase) else {
            return Ok(refused("invalid: p tag is required"));
        };
        let role = event.tag("role").unwrap_or("member").to_owned();
        if !matches!(role.as_str(), "member" | "admin") {
            return Ok(refused("invalid: role must be member or admin"));
        }
        self.set_community_role(&person, &role);
        self.publish_roster(intake.arrival)?;
        Ok(stored())
    }

    pub(crate) fn set_community_role(&mut self, pubkey: &str, role: &str) {
        match self.roster.iter_mut().find(|(p, _)| p == pubkey) {
            Some(entry) => entry.1 = role.to_owned(),
            None => self.roster.push((pubkey.to_owned(), role.to_owned())),
        }
    }

    /// A fresh 39005 of a thread to whoever listens for it, when its root is still there.
    pub(crate) fn push_summary(&mut self, root: &str) -> anyhow::Result<()> {
        if self.quiet || self.conns.is_empty() {
            return Ok(());
        }
        let Some(stored) = self.store.live(root)? else { return Ok(()) };
        let Some(channel) = stored.place.channel else { return Ok(()) };
        let (_, content) = self.summary_content(root)?;
        let tags = vec![pair("e", root), pair("d", root), pair("h", &channel)];
        let event = self.keys.sign(self.now(), 39005, tags, content);
        self.push(&event, Some(&channel));
        Ok(())
    }

    /// What a stored reply sets in motion.
    fn after_reply(&mut self, place: &Place, arrival: u64) -> anyhow::Result<()> {
        if let (Some(parent), Some(root)) = (&place.parent, &place.root) {
            self.store.note_reply(parent, arrival)?;
            self.push_summary(root)?;
        }
        Ok(())
    }
}

/// Whether clients may write this kind this way.
fn check_kind(kind: u32, via: Via) -> Rule<()> {
    if kind == 22242 {
        return Err(refused("invalid: AUTH events cannot be submitted"));
    }
    if via == Via::Http && matches!(kind, 20001 | 1059) {
        return Err(refused(format!("invalid: kind {kind} is only accepted via WebSocket")));
    }
    if kinds::RELAY_ONLY.contains(&kind) {
        return Err(refused("restricted: relay-only kind"));
    }
    if matches!(kind, 44100 | 44101) {
        return Err(refused("invalid: membership notifications are relay-signed only"));
    }
    let known = kinds::is_global(kind)
        || kinds::is_channel_content(kind)
        || kinds::is_channel_command(kind)
        || matches!(kind, 5 | 7 | 9005 | 9030 | 40003 | 41010 | 41012)
        || (via == Via::Socket && matches!(kind, 20001 | 20002));
    if known { Ok(()) } else { Err(refused("restricted: unknown event kind")) }
}
