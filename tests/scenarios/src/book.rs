//! The book of a scenario: whom and what its names stand for, and the events built from them.
//!
//! Events are built in the order of the file, because an event's id enters the tags of those that name it. The thread root
//! of a reply is taken from its parent's own tags, so a parent with tags of the file's making is followed as a client would.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow, bail};
use serde_json::json;

use crate::driver::{Place, TargetId};
use crate::names::{Person, Signed, channel_id};
use crate::scenario::{
    EventSpec, Form, KeyName, KeyRef, PlaceRef, RawValue, ReadStateSpec, SlotSpec, TagText, TargetRef, Value,
};

/// An event of the file.
#[derive(Debug, Clone)]
pub struct Built {
    /// The event.
    pub event: Signed,
    /// Author's name.
    pub by: String,
    /// Its channel's UUID.
    pub channel: Option<String>,
}

impl Built {
    /// The root a reply claims: its last `root` marker, else its last `reply` marker; none for a message that is no reply.
    fn claimed_root(&self) -> Option<&str> {
        let marked = |marker: &str| {
            let tags = self.event.tags.iter().rev();
            tags.filter(|t| t.len() >= 4 && t[0] == "e" && t[3] == marker && t[1].len() == 64)
                .map(|t| t[1].as_str())
                .next()
        };
        let parent = marked("reply")?;
        Some(marked("root").unwrap_or(parent))
    }
}

/// What names stand for.
#[derive(Debug, Default)]
pub struct Book {
    t0: u64,
    people: BTreeMap<String, Person>,
    events: BTreeMap<String, Built>,
    refs: BTreeMap<String, String>,
    channels: BTreeMap<String, String>,
}

impl Book {
    /// A book whose times count from `t0`.
    pub fn new(t0: u64) -> Self {
        Self { t0, ..Self::default() }
    }

    /// A person.
    pub fn person(&mut self, name: &str) -> anyhow::Result<Person> {
        if let Some(person) = self.people.get(name) {
            return Ok(person.clone());
        }
        let person = Person::named(name)?;
        self.people.insert(name.to_owned(), person.clone());
        Ok(person)
    }

    /// A channel's id, remembered for messages to people.
    pub fn channel(&mut self, name: &str) -> String {
        let id = channel_id(name);
        self.channels.insert(id.clone(), name.to_owned());
        id
    }

    /// An event of the file.
    pub fn built(&self, name: &str) -> anyhow::Result<&Built> {
        self.events.get(name).ok_or_else(|| anyhow!("no event {name}"))
    }

    /// An event's id.
    pub fn id(&self, name: &str) -> anyhow::Result<String> {
        Ok(self.built(name)?.event.id.clone())
    }

    /// The ids of some refs.
    pub fn ids(&self, names: &[String]) -> anyhow::Result<Vec<String>> {
        names.iter().map(|n| self.id(n)).collect()
    }

    /// The ref of an event id, for messages to people; a short form of an id the file does not know.
    pub fn name_of(&self, id: &str) -> String {
        match self.refs.get(id) {
            Some(name) => name.clone(),
            None => format!("?{}", id.get(..8).unwrap_or(id)),
        }
    }

    /// The name of a channel's id, likewise.
    pub fn channel_name(&self, id: &str) -> String {
        self.channels.get(id).cloned().unwrap_or_else(|| format!("?{}", id.get(..8).unwrap_or(id)))
    }

    fn channel_of(&self, name: &str) -> anyhow::Result<String> {
        self.built(name)?.channel.clone().ok_or_else(|| anyhow!("{name} belongs to no channel"))
    }

    /// A timeline or surface.
    pub fn place(&mut self, place: &PlaceRef) -> anyhow::Result<Place> {
        let root = place.root.as_deref().map(|r| self.id(r)).transpose()?;
        Ok(Place { channel: self.channel(&place.channel), root })
    }

    /// A target. Its channel is the message's unless the file names it.
    pub fn target(&mut self, target: &TargetRef) -> anyhow::Result<TargetId> {
        let mut within = |name: &str, channel: &Option<String>| match channel {
            Some(channel) => Ok(self.channel(channel)),
            None => self.channel_of(name),
        };
        Ok(match target {
            TargetRef::Channel(name) => TargetId::Channel { channel: self.channel(name) },
            TargetRef::Thread(name, channel) => {
                TargetId::Thread { channel: within(name, channel)?, root: self.id(name)? }
            }
            TargetRef::Message(name, channel) => {
                TargetId::Message { channel: within(name, channel)?, message: self.id(name)? }
            }
        })
    }

    /// A frontier key on the wire.
    pub fn key(&mut self, key: &KeyRef) -> anyhow::Result<String> {
        let name = match &key.name {
            KeyName::Channel(name) => self.channel(name),
            KeyName::Ref(name) => self.id(name)?,
            KeyName::Raw(text) => text.clone(),
        };
        Ok(format!("{}{name}", key.prefix))
    }

    /// A frontier value.
    pub fn value(&self, value: &Value) -> anyhow::Result<Option<u64>> {
        Ok(match value {
            Value::Null => None,
            Value::Number(n) => Some(*n),
            Value::At(name, offset) => Some(self.time(name)?.saturating_add_signed(*offset)),
        })
    }

    /// An event's time.
    pub fn time(&self, name: &str) -> anyhow::Result<u64> {
        Ok(self.built(name)?.event.created_at)
    }

    /// Builds an event or a series. `now` is the time of events that name none, `slots` the primary slots of devices.
    pub fn build(
        &mut self,
        spec: &EventSpec,
        now: u64,
        slots: &BTreeMap<String, String>,
    ) -> anyhow::Result<Vec<String>> {
        let start = match spec.at {
            Some(at) => self.t0.checked_add_signed(at).context("a time before 1970")?,
            None => now,
        };
        let refs = spec.refs();
        for (i, name) in refs.iter().enumerate() {
            let offset = spec.step.saturating_mul(i64::try_from(i)?);
            let at = start.checked_add_signed(offset).context("a time before 1970")?;
            let number = spec.repeat.map(|_| i + 1);
            let built = self.build_one(spec, name, number, at, slots).with_context(|| format!("event {name}"))?;
            if let Some(other) = self.refs.insert(built.event.id.clone(), name.clone()) {
                bail!("{name} and {other} are the same event");
            }
            self.events.insert(name.clone(), built);
        }
        Ok(refs)
    }

    fn build_one(
        &mut self,
        spec: &EventSpec,
        name: &str,
        number: Option<usize>,
        at: u64,
        slots: &BTreeMap<String, String>,
    ) -> anyhow::Result<Built> {
        let author = self.person(&spec.by)?;
        let text = match (&spec.text, number) {
            (Some(text), Some(n)) => format!("{text}{n}"),
            (Some(text), None) => text.clone(),
            (None, _) if matches!(spec.form, Form::React(_)) => "+".to_owned(),
            (None, _) => name.to_owned(),
        };
        let channel = match (&spec.channel, self.subject(&spec.form)) {
            (Some(channel), _) => Some(self.channel(channel)),
            (None, Some(subject)) => self.built(subject)?.channel.clone(),
            (None, None) => None,
        };
        let (kind, content, own) = self.form(spec, &author, name, text, at, slots)?;
        let mut tags = Vec::new();
        let scoped =
            matches!(spec.form, Form::Message { .. } | Form::Edit(_) | Form::Moderate(_)) || spec.channel.is_some();
        if let (true, Some(channel)) = (scoped, &channel) {
            tags.push(tag(&["h", channel]));
        }
        self.reply_tags(spec, &mut tags)?;
        self.common_tags(spec, &mut tags)?;
        tags.extend(own);
        for raw in &spec.tags {
            tags.push(raw.iter().map(|t| self.text(t)).collect::<anyhow::Result<_>>()?);
        }
        let event = author.sign(at, kind, tags, &content, spec.forge);
        let channel = channel.or_else(|| {
            let h = event.tags.iter().find(|t| t.len() >= 2 && t[0] == "h");
            h.map(|t| t[1].clone())
        });
        Ok(Built { event, by: spec.by.clone(), channel })
    }

    /// The message an event is about, whose channel it shares.
    fn subject<'a>(&self, form: &'a Form) -> Option<&'a str> {
        match form {
            Form::Edit(name) | Form::React(name) => Some(name),
            Form::Delete(names) | Form::Moderate(names) => names.first().map(String::as_str),
            Form::Message { .. } | Form::Raw { .. } | Form::ReadState(_) | Form::Mutes(_) => None,
        }
    }

    fn reply_tags(&self, spec: &EventSpec, tags: &mut Vec<Vec<String>>) -> anyhow::Result<()> {
        let Some(parent) = &spec.reply_to else { return Ok(()) };
        let parent = self.built(parent)?;
        if let Some(root) = parent.claimed_root() {
            tags.push(tag(&["e", root, "", "root"]));
        }
        tags.push(tag(&["e", &parent.event.id, "", "reply"]));
        Ok(())
    }

    fn common_tags(&mut self, spec: &EventSpec, tags: &mut Vec<Vec<String>>) -> anyhow::Result<()> {
        if spec.broadcast {
            tags.push(tag(&["broadcast", "1"]));
        }
        if let Form::Message { workflow: Some((owner, mention)), .. } = &spec.form {
            let owner = self.person(owner)?.public();
            tags.push(tag(&["p", &owner]));
            tags.push(tag(&["buzz:workflow", "true"]));
            tags.push(tag(&["buzz:workflow-owner", &owner]));
            if *mention {
                tags.push(tag(&["buzz:workflow-mention", &owner]));
            }
        }
        for name in &spec.mentions {
            tags.push(tag(&["p", &self.person(name)?.public()]));
        }
        if let Some(audience) = &spec.audience {
            tags.push(tag(&["audience", audience]));
        }
        Ok(())
    }

    /// Kind, content and own tags of a form.
    fn form(
        &mut self,
        spec: &EventSpec,
        author: &Person,
        name: &str,
        text: String,
        at: u64,
        slots: &BTreeMap<String, String>,
    ) -> anyhow::Result<(u16, String, Vec<Vec<String>>)> {
        let e = |ids: Vec<String>| ids.iter().map(|id| tag(&["e", id])).collect::<Vec<_>>();
        Ok(match &spec.form {
            Form::Message { kind, .. } => (*kind, text, Vec::new()),
            Form::Edit(target) => (40003, text, e(vec![self.id(target)?])),
            Form::React(target) => (7, text, e(vec![self.id(target)?])),
            Form::Delete(targets) => (5, text, e(self.ids(targets)?)),
            Form::Moderate(targets) => (9005, text, e(self.ids(targets)?)),
            Form::Raw { kind, tags, content } => {
                let texts = |tag: &Vec<TagText>| tag.iter().map(|t| self.text(t)).collect::<anyhow::Result<Vec<_>>>();
                (*kind, content.clone(), tags.iter().map(texts).collect::<anyhow::Result<_>>()?)
            }
            Form::ReadState(blob) => {
                let slot = match &blob.slot {
                    SlotSpec::Given(slot) => slot.clone(),
                    SlotSpec::OwnOf(device) => {
                        slots.get(device).cloned().with_context(|| format!("{device} has no slot yet"))?
                    }
                };
                let sealed = author.seal(&self.blob(blob)?, name)?;
                (30078, sealed, vec![tag(&["d", &format!("read-state:{slot}")]), tag(&["t", "read-state"])])
            }
            Form::Mutes(mutes) => {
                let channels: serde_json::Map<_, _> = mutes
                    .iter()
                    .map(|(channel, muted)| (self.channel(channel), json!({"muted": muted, "updatedAt": at})))
                    .collect();
                let sealed = author.seal(&json!({"version": 1, "channels": channels}).to_string(), name)?;
                (30078, sealed, vec![tag(&["d", "channel-mutes"]), tag(&["t", "channel-mutes"])])
            }
        })
    }

    fn blob(&mut self, blob: &ReadStateSpec) -> anyhow::Result<String> {
        if let Some(content) = &blob.content {
            return Ok(content.clone());
        }
        let mut contexts = serde_json::Map::new();
        for (key, value) in &blob.contexts {
            contexts.insert(self.key(key)?, self.raw(value)?);
        }
        for (register, key, value) in &blob.overrides {
            contexts.insert(format!("ov_{register}:{}", self.key(key)?), self.raw(value)?);
        }
        let version = blob.version.clone().unwrap_or_else(|| json!(1));
        Ok(json!({"v": version, "client_id": blob.client, "contexts": contexts}).to_string())
    }

    fn raw(&self, value: &RawValue) -> anyhow::Result<serde_json::Value> {
        Ok(match value {
            RawValue::At(name, offset) => json!(self.time(name)?.saturating_add_signed(*offset)),
            RawValue::Raw(value) => value.clone(),
        })
    }

    fn text(&self, text: &TagText) -> anyhow::Result<String> {
        Ok(match text {
            TagText::Plain(text) => text.clone(),
            TagText::Id(name) => self.id(name)?,
            TagText::Key(name) => Person::named(name)?.public(),
            TagText::Channel(name) => channel_id(name),
        })
    }
}

fn tag(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|p| (*p).to_owned()).collect()
}
