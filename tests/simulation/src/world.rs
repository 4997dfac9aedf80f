//! The world of a run: relay, people, channels, devices, time, and the model beside it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context as _;
use tempfile::TempDir;
use waggle::ids::{ChannelId, EventId, Target};
use waggle::journal::Key as WireKey;
use waggle_scenarios::clock::Time;
use waggle_scenarios::names::{Person, channel_id, sha256};
use waggle_scenarios::trace::Trace;
use waggle_test_relay::admin::{Bring, NewChannel};
use waggle_test_relay::{Dialect, Event, Relay, RelayConfig, Settings};

use crate::device::{Device, HOST};
use crate::disk::Disk;
use crate::line::Line;
use crate::model::{Installation, Key, Model, Msg};
use crate::plan::{Aim, Kind, MsgId, Plan, Post, Who};

/// Unix seconds at which every run begins.
pub const T0: u64 = 1_751_500_000;
/// Seconds a channel is older than the run.
const CHANNEL_AGE: u64 = 90 * 86_400;

/// Everything there is.
pub struct World {
    /// Virtual time.
    pub time: Arc<Time>,
    /// The relay.
    pub relay: Relay,
    /// The devices.
    pub devices: Vec<Device>,
    /// The reference model.
    pub model: Model,
    /// Ids of the channels.
    pub channels: Vec<ChannelId>,
    /// Numbers of the messages.
    pub numbers: BTreeMap<EventId, MsgId>,
    /// The trace.
    pub trace: Trace,
    people: [Person; 3],
    events: BTreeMap<MsgId, String>,
    made: u64,
    /// What the other client has published, and when last.
    peer: (BTreeMap<String, u64>, u64),
    _storage: TempDir,
}

impl World {
    /// Builds the world of a plan. No device runs yet.
    pub fn new(plan: &Plan, traced: bool) -> anyhow::Result<Self> {
        let time = Time::starting_at(T0);
        let trace = if traced { Trace::kept(time.clone()) } else { Trace::default() };
        let mut config = RelayConfig::new(time.clone());
        config.host = HOST.to_owned();
        config.secret_key = sha256("waggle/person/relay");
        config.seed = plan.seed;
        config.settings = Settings {
            dialect: if plan.world.august { Dialect::August } else { Dialect::Current },
            max_page: plan.world.max_page,
            max_rows: 500,
            // All devices have one key; what each of them may ask for is watched on its line.
            quotas: false,
            ..Settings::default()
        };
        let relay = Relay::open(config)?;
        let people = [Person::named("me")?, Person::named("ada")?, Person::named("bo")?];
        let mut world = Self {
            devices: Vec::new(),
            model: Model { kinds: plan.world.channels.clone(), ..Model::default() },
            channels: Vec::new(),
            numbers: BTreeMap::new(),
            events: BTreeMap::new(),
            made: 0,
            peer: (BTreeMap::new(), 0),
            _storage: storage()?,
            time,
            relay,
            trace,
            people,
        };
        world.populate(plan)?;
        world.equip(plan)?;
        Ok(world)
    }

    fn populate(&mut self, plan: &Plan) -> anyhow::Result<()> {
        let keys: Vec<String> = self.people.iter().map(Person::public).collect();
        let roles: Vec<(&str, &str)> = keys.iter().map(|k| (k.as_str(), "member")).collect();
        self.relay.admin().add_people(&roles)?;
        let mut made = Vec::new();
        for (number, kind) in plan.world.channels.iter().enumerate() {
            let id = channel_id(&format!("channel-{number}"));
            self.channels.push(ChannelId::parse(&id)?);
            self.model.member.push(true);
            let members = if *kind == Kind::Dm { &keys[..2] } else { &keys[..] };
            let members: Vec<&str> = members.iter().map(String::as_str).collect();
            let mut channel = NewChannel::stream(id, format!("channel {number}"), &members);
            channel.created_at = Some(T0 - CHANNEL_AGE);
            if *kind == Kind::Dm {
                "dm".clone_into(&mut channel.kind);
            }
            made.push(channel);
        }
        self.relay.admin().create_channels(made)?;
        for post in &plan.world.history {
            self.post(post, true)?;
        }
        Ok(())
    }

    fn equip(&mut self, plan: &Plan) -> anyhow::Result<()> {
        for (number, spec) in plan.world.devices.iter().enumerate() {
            let shared = spec.shares.filter(|other| *other < number);
            let (installation, dir) = match shared.and_then(|other| self.devices.get(other)) {
                Some(other) => (other.installation, other.dir.clone()),
                None => {
                    self.model.installations.push(Installation::default());
                    let dir = self._storage.path().join(format!("device-{number}"));
                    std::fs::create_dir(&dir)?;
                    (self.model.installations.len() - 1, dir)
                }
            };
            let name = format!("device-{number}");
            let seed = plan.seed.wrapping_mul(64).wrapping_add(number as u64);
            let line = Line::new(self.relay.clone(), &name, self.time.clone(), seed, self.trace.clone());
            self.devices.push(Device {
                name,
                dir,
                installation,
                signs: spec.signs,
                second: shared.is_some(),
                clock: waggle_scenarios::clock::VirtualClock::new(self.time.clone()),
                offset: 0,
                disk: Disk::new(line.clone()),
                line,
                live: None,
                suspended: false,
                calls: Vec::new(),
                seed,
                starts: 0,
            });
        }
        Ok(())
    }

    /// The viewer's secret key.
    pub fn secret(&self) -> [u8; 32] {
        self.people[0].secret()
    }

    /// The viewer.
    pub fn viewer(&self) -> &Person {
        &self.people[0]
    }

    fn person(&self, who: Who) -> &Person {
        match who {
            Who::Me => &self.people[0],
            Who::Ada => &self.people[1],
            Who::Bo => &self.people[2],
        }
    }

    fn channel_text(&self, channel: usize) -> String {
        self.channels[channel].to_string()
    }

    // --- What happens at the relay -------------------------------------------------------------------------------------

    /// A message arrives. Nothing happens when its number is taken or what it answers is not there (any more).
    pub fn post(&mut self, post: &Post, history: bool) -> anyhow::Result<bool> {
        let dm_outsider = self.model.is_dm(post.channel) && post.by == Who::Bo;
        let parent = post.reply_to.map(|id| self.model.message(id).cloned());
        let orphan = parent.as_ref().is_some_and(|p| p.as_ref().is_none_or(|p| p.deleted || p.channel != post.channel));
        let absent = post.by == Who::Me && self.model.member.get(post.channel) != Some(&true);
        let known = self.model.messages.contains_key(&post.id) || post.channel >= self.channels.len();
        if known || orphan || dm_outsider || absent {
            return Ok(false);
        }
        let parent = parent.flatten();
        let at = self.time.unix().saturating_add_signed(-post.age);
        let mut tags = vec![tag(&["h", &self.channel_text(post.channel)])];
        if let Some(parent) = &parent {
            if let Some(root) = parent.root.and_then(|r| self.model.message(r)) {
                tags.push(tag(&["e", &root.event.to_hex(), "", "root"]));
            }
            tags.push(tag(&["e", &parent.event.to_hex(), "", "reply"]));
        }
        if post.broadcast {
            tags.push(tag(&["broadcast", "1"]));
        }
        if post.mention {
            tags.push(tag(&["p", &self.people[0].public()]));
        }
        if post.quiet {
            tags.push(tag(&["audience", "agents"]));
        }
        let signed = self.person(post.by).sign(at, 9, tags, &format!("m{}", post.id), None);
        let event = Event::parse(&signed.json)?;
        let ahead = at > self.time.unix() + crate::model::AHEAD;
        if ahead {
            // No relay takes it from a client; it may hold it all the same.
            let bring = Bring { channel: Some(self.channel_text(post.channel)), ..Bring::default() };
            self.relay.admin().store(&event, &bring)?;
        } else {
            let bring = Bring { quiet: history, history, channel: None };
            self.relay.admin().accept(event, &bring)?.context("the relay refuses a message")?;
        }
        let id = EventId::parse(&signed.id)?;
        let root = parent.as_ref().map(|p| p.root.unwrap_or(p.id));
        let msg = Msg {
            id: post.id,
            event: id,
            by: post.by,
            channel: post.channel,
            at,
            parent: parent.as_ref().map(|p| p.id),
            root,
            depth: parent.as_ref().map_or(0, |p| p.depth + 1),
            broadcast: post.broadcast,
            mention: post.mention,
            quiet: post.quiet,
            deleted: false,
            late: !history && self.model.of_channel(post.channel).any(|m| (m.at, Reverse(m.event)) > (at, Reverse(id))),
        };
        self.model.messages.insert(post.id, msg);
        self.numbers.insert(id, post.id);
        self.events.insert(post.id, signed.json);
        Ok(true)
    }

    fn bring(
        &mut self,
        by: Who,
        kind: u16,
        mut tags: Vec<Vec<String>>,
        channel: usize,
        text: &str,
    ) -> anyhow::Result<bool> {
        if kind == 40003 {
            tags.insert(0, tag(&["h", &self.channel_text(channel)]));
        }
        // Two events of one second must differ.
        self.made += 1;
        let text = if kind == 7 { text.to_owned() } else { format!("{text}{}", self.made) };
        let signed = self.person(by).sign(self.time.unix(), kind, tags, &text, None);
        Ok(self.relay.admin().accept(Event::parse(&signed.json)?, &Bring::default())?.is_ok())
    }

    /// Whether its author can still do something to a message.
    fn touchable(&self, id: MsgId) -> Option<Msg> {
        let m = self.model.message(id).filter(|m| !m.deleted)?;
        let absent = m.by == Who::Me && !self.model.member[m.channel];
        (!absent).then(|| m.clone())
    }

    /// Its author deletes a message.
    pub fn delete(&mut self, id: MsgId) -> anyhow::Result<bool> {
        let Some(m) = self.touchable(id) else { return Ok(false) };
        let done = self.bring(m.by, 5, vec![tag(&["e", &m.event.to_hex()])], m.channel, "")?;
        if done && let Some(m) = self.model.messages.get_mut(&id) {
            m.deleted = true;
        }
        Ok(done)
    }

    /// Its author changes a message.
    pub fn edit(&mut self, id: MsgId) -> anyhow::Result<bool> {
        let Some(m) = self.touchable(id) else { return Ok(false) };
        self.bring(m.by, 40003, vec![tag(&["e", &m.event.to_hex()])], m.channel, "new ")
    }

    /// A peer reacts to a message.
    pub fn react(&mut self, id: MsgId) -> anyhow::Result<bool> {
        let Some(m) = self.touchable(id) else { return Ok(false) };
        self.bring(Who::Ada, 7, vec![tag(&["e", &m.event.to_hex()])], m.channel, "+")
    }

    /// Another client of the viewer publishes what it has read, and all it did before.
    pub fn peer(&mut self, marks: &[(Key, i64)]) -> anyhow::Result<bool> {
        let now = self.time.unix();
        let mut touched = BTreeMap::new();
        for (key, offset) in marks {
            let Some(wire) = self.wire_key(*key) else { continue };
            let value = now.saturating_add_signed(*offset);
            let kept = self.peer.0.entry(wire.to_string()).or_insert(value);
            *kept = value.max(*kept);
            touched.insert(*key, *kept);
        }
        self.model.peers.extend(touched);
        let at = now.max(self.peer.1 + 1);
        self.peer.1 = at;
        let blob = serde_json::json!({ "v": 1, "client_id": "peer", "contexts": self.peer.0 });
        self.store_read_state(&blob.to_string(), &"f".repeat(32), at, &Bring::default())
    }

    fn store_read_state(&self, blob: &str, slot: &str, at: u64, bring: &Bring) -> anyhow::Result<bool> {
        let tags = vec![tag(&["d", &format!("read-state:{slot}")]), tag(&["t", "read-state"])];
        let sealed = self.people[0].seal(blob, slot)?;
        let signed = self.people[0].sign(at, 30078, tags, &sealed, None);
        Ok(self.relay.admin().accept(Event::parse(&signed.json)?, bring)?.is_ok())
    }

    /// The viewer joins or loses a channel.
    pub fn set_member(&mut self, channel: usize, member: bool) -> anyhow::Result<bool> {
        if self.model.member.get(channel) != Some(&!member) {
            return Ok(false);
        }
        let (id, key) = (self.channel_text(channel), self.people[0].public());
        if member {
            self.relay.admin().grant(&id, &key, "member")?;
        } else {
            self.relay.admin().revoke(&id, &key)?;
        }
        self.model.member[channel] = member;
        Ok(true)
    }

    /// Puts a private mark on the relay, as no device may.
    pub fn publish_private(&self) {
        let Some(m) = self.model.messages.values().next() else { return };
        let blob = serde_json::json!({"v": 1, "client_id": "x", "contexts": {format!("msg:{}", m.event): m.at}});
        let quiet = Bring { quiet: true, ..Bring::default() };
        let _stored = self.store_read_state(&blob.to_string(), &"0".repeat(32), self.time.unix(), &quiet);
    }

    // --- Names ---------------------------------------------------------------------------------------------------------

    /// An event id.
    pub fn event(&self, id: MsgId) -> Option<EventId> {
        self.model.message(id).map(|m| m.event)
    }

    /// A target.
    pub fn target(&self, aim: Aim) -> Option<Target> {
        let channel = self.channels[self.model.channel_of(aim)?];
        Some(match aim {
            Aim::Channel(_) => Target::Channel(channel),
            Aim::Thread(root) => Target::Thread(channel, self.event(root)?),
            Aim::Message(id) => Target::Message(channel, self.event(id)?),
        })
    }

    /// A frontier key.
    pub fn wire_key(&self, key: Key) -> Option<WireKey> {
        Some(match key {
            Key::Channel(c) => WireKey::Channel(*self.channels.get(c)?),
            Key::Activity(c) => WireKey::Activity(*self.channels.get(c)?),
            Key::Thread(m) => WireKey::Thread(self.event(m)?),
            Key::ThreadActivity(m) => WireKey::ThreadActivity(self.event(m)?),
            Key::Message(m) => WireKey::Message(self.event(m)?),
        })
    }

    /// A frontier key of the wire; none for one that names nothing of this world.
    pub fn key(&self, text: &str) -> Option<Key> {
        let channel = |id: &ChannelId| self.channels.iter().position(|c| c == id);
        let message = |id: &EventId| self.numbers.get(id).copied();
        match WireKey::parse(text).ok()? {
            WireKey::Channel(c) => channel(&c).map(Key::Channel),
            WireKey::Activity(c) => channel(&c).map(Key::Activity),
            WireKey::Thread(m) => message(&m).map(Key::Thread),
            WireKey::ThreadActivity(m) => message(&m).map(Key::ThreadActivity),
            WireKey::Message(m) => message(&m).map(Key::Message),
            WireKey::Opaque(_) => None,
        }
    }
}

/// Memory, where the system lends some as files: a run makes thousands of small durable writes.
fn storage() -> std::io::Result<TempDir> {
    let memory = std::path::Path::new("/dev/shm");
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix("waggle-simulation");
        builder
    };
    if memory.is_dir()
        && let Ok(dir) = builder().tempdir_in(memory)
    {
        return Ok(dir);
    }
    builder().tempdir()
}

fn tag(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|p| (*p).to_owned()).collect()
}
