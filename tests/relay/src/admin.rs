//! What tests do with their own hand: people, channels, events past the checks, access changes, look-ups.
//!
//! Channels made and changed here announce themselves through group state, 44100/44101 and CLOSED only; they leave no 40099
//! notice, so a test's timeline holds what the test put there. `store` keeps an event byte for byte and does nothing else
//! with it; `accept` treats it as a client's, except that its author, clock and signature are not questioned.

use std::fmt;

use crate::{
    Event, Keys, Relay, Stored,
    channels::Channel,
    counters::ReadStateSlot,
    ingest::{Intake, Verdict, Via},
    kinds,
    state::State,
    store::{Entry, Origin, Place, Select},
};

/// A channel to make.
#[derive(Debug, Clone)]
pub struct NewChannel {
    /// Its UUID, lower-case.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `stream`, `dm`, `forum` or `workflow`.
    pub kind: String,
    /// Whether everyone of the community may read it.
    pub open: bool,
    /// `about` of 39000.
    pub about: Option<String>,
    /// Members' public keys, in order.
    pub members: Vec<String>,
    /// Those of them who are admins.
    pub admins: Vec<String>,
    /// Whether 39000 is sent; without it none comes before [`Admin::set_type`].
    pub metadata: bool,
    /// `created_at` of its group state; now by default.
    pub created_at: Option<u64>,
}

impl NewChannel {
    /// A private stream.
    pub fn stream(id: impl Into<String>, name: impl Into<String>, members: &[&str]) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            kind: "stream".into(),
            open: false,
            about: None,
            members: members.iter().map(|m| (*m).to_owned()).collect(),
            admins: Vec::new(),
            metadata: true,
            created_at: None,
        }
    }
}

/// How an event is brought in.
#[derive(Debug, Clone, Default)]
pub struct Bring {
    /// Stored, but not pushed, nor anything it sets in motion.
    pub quiet: bool,
    /// The channel it belongs to, where its tags do not say (unchecked events only).
    pub channel: Option<String>,
    /// The server time it is taken to arrive at: its own `created_at` for history, now otherwise.
    pub history: bool,
}

/// What an accepted event was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// False for the answers that accept nothing though they are no error.
    pub accepted: bool,
    /// Empty when stored; `duplicate:…`, `response:…` otherwise.
    pub message: String,
}

/// Why an event was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The status an HTTP client would have got.
    pub status: u16,
    /// The text.
    pub text: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text, self.status)
    }
}

impl std::error::Error for Refused {}

/// The tests' own hand on a relay.
#[derive(Debug, Clone, Copy)]
pub struct Admin<'a>(&'a Relay);

impl<'a> Admin<'a> {
    pub(crate) fn new(relay: &'a Relay) -> Self {
        Self(relay)
    }

    fn with<T>(self, quiet: bool, work: impl FnOnce(&mut State) -> anyhow::Result<T>) -> anyhow::Result<T> {
        let mut state = self.0.state();
        state.quiet = quiet;
        let result = work(&mut state);
        state.quiet = false;
        state.flush();
        result
    }

    /// Adds people to the community, in one roster revision.
    pub fn add_people(self, people: &[(&str, &str)]) -> anyhow::Result<()> {
        self.with(false, |s| {
            for (pubkey, role) in people {
                s.set_community_role(pubkey, role);
            }
            let now = s.now();
            s.publish_roster(now)
        })
    }

    /// Removes someone from the community; their sockets stay open, their requests are refused.
    pub fn remove_person(self, pubkey: &str) -> anyhow::Result<()> {
        self.with(false, |s| {
            s.roster.retain(|(p, _)| p != pubkey);
            let now = s.now();
            s.publish_roster(now)
        })
    }

    /// Makes a channel. Members who are new to the community join it.
    pub fn create_channel(self, new: NewChannel) -> anyhow::Result<()> {
        self.create_channels(vec![new])
    }

    /// Makes many channels at once (one transaction).
    pub fn create_channels(self, all: Vec<NewChannel>) -> anyhow::Result<()> {
        self.with(false, |s| {
            s.store.begin()?;
            let made = all.into_iter().try_for_each(|new| s.make_channel(new));
            s.store.commit()?;
            made
        })
    }

    /// Takes an event in as if a client had sent it, with all it sets in motion.
    pub fn accept(self, event: Event, bring: &Bring) -> anyhow::Result<Result<Accepted, Refused>> {
        self.with(bring.quiet, |s| s.accept_event(event, bring.history))
    }

    /// Takes many events in, in order, in one transaction; the first refusal stops it and names its event.
    pub fn accept_all(self, events: Vec<Event>, bring: &Bring) -> anyhow::Result<Result<(), (String, Refused)>> {
        self.with(bring.quiet, |s| {
            s.store.begin()?;
            let outcome = s.accept_events(events, bring.history);
            s.store.commit()?;
            outcome
        })
    }

    /// Stores an event past every check and pushes it; nothing else happens.
    pub fn store(self, event: &Event, bring: &Bring) -> anyhow::Result<()> {
        self.with(bring.quiet, |s| {
            let place = s.lenient_place(event, bring.channel.as_deref())?;
            if !s.store.knows(&event.id)? {
                s.store.insert(&Entry { event, place: &place, counted: false, origin: Origin::Admin, label: None })?;
            }
            s.push(event, place.channel.as_deref());
            Ok(())
        })
    }

    /// Makes someone a member (or changes their role) and announces it: 39002 and 44100.
    pub fn grant(self, channel: &str, pubkey: &str, role: &str) -> anyhow::Result<()> {
        self.with(false, |s| {
            let now = s.now();
            if s.community_role(pubkey).is_none() {
                s.set_community_role(pubkey, "member");
                s.publish_roster(now)?;
            }
            s.put_member(channel, pubkey, role);
            s.publish_channel(channel, now)?;
            let relay = s.keys.public().to_owned();
            s.notify_member(44100, pubkey, channel, &relay, now)
        })
    }

    /// Ends a membership and announces it: CLOSED, 39002 and 44101.
    pub fn revoke(self, channel: &str, pubkey: &str) -> anyhow::Result<()> {
        self.with(false, |s| {
            let now = s.now();
            s.drop_member(channel, pubkey);
            s.revoke_subs(channel, Some(pubkey));
            s.publish_channel(channel, now)?;
            let relay = s.keys.public().to_owned();
            s.notify_member(44101, pubkey, channel, &relay, now)
        })
    }

    /// Changes a channel's type, sends its 39000 from now on, and tells its members to look again (44100).
    pub fn set_type(self, channel: &str, kind: &str) -> anyhow::Result<()> {
        self.change_channel(channel, |c| {
            c.kind = kind.to_owned();
            c.metadata = true;
        })
    }

    /// Opens a channel to the community, or closes it.
    pub fn set_open(self, channel: &str, open: bool) -> anyhow::Result<()> {
        self.change_channel(channel, |c| c.open = open)
    }

    /// Archives a channel (its subscriptions end) or brings it back.
    pub fn set_archived(self, channel: &str, archived: bool) -> anyhow::Result<()> {
        self.change_channel(channel, |c| c.archived = archived)?;
        if archived {
            self.with(false, |s| {
                s.revoke_subs(channel, None);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn change_channel(self, channel: &str, change: impl FnOnce(&mut Channel)) -> anyhow::Result<()> {
        self.with(false, |s| {
            let Some(ch) = s.channels.get_mut(channel) else { anyhow::bail!("no channel {channel}") };
            change(ch);
            let (open, members) = (ch.open, ch.members.iter().map(|(p, _)| p.clone()).collect::<Vec<_>>());
            let now = s.now();
            s.publish_channel(channel, now)?;
            if !open {
                s.revoke_outsiders(channel, &members);
            }
            let relay = s.keys.public().to_owned();
            members.iter().try_for_each(|p| s.notify_member(44100, p, channel, &relay, now))
        })
    }

    /// Hides a DM from someone's list (30622).
    pub fn hide_dm(self, channel: &str, pubkey: &str) -> anyhow::Result<()> {
        self.with(false, |s| {
            s.hidden.entry(pubkey.to_owned()).or_default().insert(channel.to_owned());
            let now = s.now();
            s.publish_hidden(pubkey, now)
        })
    }

    /// An event signed by the relay; neither stored nor pushed.
    pub fn relay_event(self, created_at: u64, kind: u32, tags: Vec<Vec<String>>, content: &str) -> Event {
        self.0.state().keys.sign(created_at, kind, tags, content)
    }

    /// The relay's keys.
    pub fn relay_keys(self) -> Keys {
        self.0.state().keys.clone()
    }

    /// Everything ever stored, in order of arrival, deleted events included.
    pub fn events(self, kind: Option<u32>, author: Option<&str>) -> anyhow::Result<Vec<Stored>> {
        self.0.state().store.all(kind, author)
    }

    /// A stored event by id, deleted ones included.
    pub fn event(self, id: &str) -> anyhow::Result<Option<Stored>> {
        self.0.state().store.any(id)
    }

    /// The live read-state coordinates of an author.
    pub fn read_state(self, author: &str) -> anyhow::Result<Vec<ReadStateSlot>> {
        let state = self.0.state();
        let select = Select { authors: Some(vec![author.to_owned()]), kinds: Some(vec![30078]), ..Select::default() };
        let mut slots = Vec::new();
        state.store.walk(&select, |stored| {
            if let Some(d) = stored.event.tag("d").filter(|d| kinds::is_read_state(30078, Some(d))).map(str::to_owned) {
                slots.push(ReadStateSlot {
                    pubkey: author.to_owned(),
                    d,
                    by_client: stored.origin == Origin::Client,
                    label: stored.label,
                    event: stored.event,
                });
            }
            true
        })?;
        Ok(slots)
    }

    /// Ends the connections of a device (or all) without a farewell; how many there were.
    pub fn drop_sockets(self, label: Option<&str>) -> usize {
        let mut state = self.0.state();
        let before = state.conns.len();
        state.conns.retain(|_, c| label.is_some() && c.label.as_deref() != label);
        before - state.conns.len()
    }

    /// Ends all connections as a restart does, with close code 1012.
    pub fn restart(self) {
        let mut state = self.0.state();
        let all: Vec<u64> = state.conns.keys().copied().collect();
        all.into_iter().for_each(|id| state.hang_up(id, Some(1012)));
    }

    /// How many connections are open.
    pub fn open_sockets(self) -> usize {
        self.0.state().conns.len()
    }
}

impl State {
    fn accept_event(&mut self, event: Event, history: bool) -> anyhow::Result<Result<Accepted, Refused>> {
        let arrival = if history { event.created_at } else { self.now() };
        let me = event.pubkey.clone();
        let intake = Intake { via: Via::Admin, label: None, arrival };
        Ok(match self.submit(event, &me, &intake)? {
            Verdict::Accepted(message) => Ok(Accepted { accepted: true, message }),
            Verdict::Declined(message) => Ok(Accepted { accepted: false, message }),
            Verdict::Refused(status, text) => Err(Refused { status, text }),
        })
    }

    fn accept_events(&mut self, events: Vec<Event>, history: bool) -> anyhow::Result<Result<(), (String, Refused)>> {
        for event in events {
            let id = event.id.clone();
            if let Err(refused) = self.accept_event(event, history)? {
                return Ok(Err((id, refused)));
            }
        }
        Ok(Ok(()))
    }

    fn make_channel(&mut self, new: NewChannel) -> anyhow::Result<()> {
        anyhow::ensure!(!self.channels.contains_key(&new.id), "channel {} exists", new.id);
        let at = new.created_at.unwrap_or(self.now());
        let role = |p: &String| if new.admins.contains(p) { "admin" } else { "member" }.to_owned();
        let mut members: Vec<(String, String)> = new.members.iter().map(|p| (p.clone(), role(p))).collect();
        let absent = new.admins.iter().filter(|a| !new.members.contains(a));
        members.extend(absent.map(|a| (a.clone(), "admin".to_owned())));
        let mut newcomers = false;
        for (pubkey, _) in &members {
            if self.community_role(pubkey).is_none() {
                self.set_community_role(pubkey, "member");
                newcomers = true;
            }
        }
        if newcomers {
            self.publish_roster(at)?;
        }
        let channel = Channel {
            id: new.id.clone(),
            name: new.name,
            kind: new.kind,
            open: new.open,
            about: new.about,
            metadata: new.metadata,
            members,
            ..Channel::default()
        };
        self.index_members(&channel);
        self.channels.insert(new.id.clone(), channel);
        self.publish_channel(&new.id, at)
    }
}

/// An empty place, for callers that build [`Stored`] values in tests.
impl Place {
    /// A top-level place in a channel.
    pub fn top(channel: impl Into<String>) -> Self {
        Self { channel: Some(channel.into()), ..Self::default() }
    }
}
