//! Reads a scenario file: everything but its steps.
//!
//! One pass in the order of the file, so a ref can only be used after the event that defines it. People are whoever the
//! file names as a member, an author or otherwise; they are collected first, because a tag may name someone who speaks later.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::{At, Fault, Fields, Json, Read, parse};
use crate::names::{Forge, slot_of};
use crate::scenario::{
    ChannelKind, ChannelSpec, DeviceSpec, EventSpec, Form, KeyName, KeyRef, RawValue, ReadStateSpec, RelaySet,
    Scenario, SlotSpec, TagText, Value,
};

const T0: i64 = 1_751_500_000;

/// The names a file may refer to, so far.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) channels: BTreeSet<String>,
    pub(crate) refs: BTreeSet<String>,
    pub(crate) devices: Vec<String>,
    people: BTreeSet<String>,
}

impl Known {
    /// A channel's name.
    pub(crate) fn channel(&self, at: &At<'_>) -> Read<String> {
        let name = at.string()?;
        if self.channels.contains(&name) { Ok(name) } else { at.fault(format!("unknown channel {name:?}")) }
    }

    /// A ref defined before.
    pub(crate) fn message(&self, at: &At<'_>) -> Read<String> {
        let name = at.string()?;
        if self.refs.contains(&name) { Ok(name) } else { at.fault(format!("unknown ref {name:?}")) }
    }

    /// A device's name.
    pub(crate) fn device(&self, at: &At<'_>) -> Read<String> {
        let name = at.string()?;
        if self.devices.contains(&name) { Ok(name) } else { at.fault(format!("unknown device {name:?}")) }
    }

    /// `@ref`, `@ref+5`, `@ref-1`; none when the text is no such thing.
    fn time_of(&self, text: &str) -> Option<(String, i64)> {
        let name = text.strip_prefix('@')?;
        if self.refs.contains(name) {
            return Some((name.to_owned(), 0));
        }
        let split = name.rfind(['+', '-'])?;
        let (name, digits) = name.split_at(split);
        if !self.refs.contains(name) || !digits[1..].bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok().map(|offset| (name.to_owned(), offset))
    }

    /// A frontier value.
    pub(crate) fn value(&self, at: &At<'_>) -> Read<Value> {
        match at.json {
            Json::Null => Ok(Value::Null),
            Json::String(text) => match self.time_of(text) {
                Some((name, offset)) => Ok(Value::At(name, offset)),
                None => at.fault(format!("{text:?} is not '@ref', a number or null")),
            },
            _ => Ok(Value::Number(u64::try_from(at.at_least(0)?).unwrap_or_default())),
        }
    }

    fn raw_value(&self, at: &At<'_>) -> Read<RawValue> {
        match at.json {
            Json::String(text) if text.starts_with('@') => match self.time_of(text) {
                Some((name, offset)) => Ok(RawValue::At(name, offset)),
                None => at.fault(format!("unknown ref in {text:?}")),
            },
            other => Ok(RawValue::Raw(other.to_value())),
        }
    }

    /// A frontier key whose name must be known.
    pub(crate) fn key(&self, text: &str, at: &At<'_>) -> Read<KeyRef> {
        let key = self.raw_key(text);
        match (&key.name, key.prefix.as_str()) {
            (KeyName::Channel(_), "" | "activity:") | (KeyName::Ref(_), "thread:" | "thread-activity:" | "msg:") => {
                Ok(key)
            }
            (_, "" | "activity:") => at.fault(format!("unknown channel in key {text:?}")),
            (_, "thread:" | "thread-activity:" | "msg:") => at.fault(format!("unknown ref in key {text:?}")),
            _ => at.fault(format!("unknown sort of key {text:?}")),
        }
    }

    /// A key in a blob: names are replaced where they are known, anything else goes out as it is.
    fn raw_key(&self, text: &str) -> KeyRef {
        let split = text.rfind(':').map_or(0, |i| i + 1);
        let (prefix, rest) = text.split_at(split);
        let message = ["thread:", "thread-activity:", "msg:"].iter().any(|p| prefix.ends_with(p));
        let name = if message && self.refs.contains(rest) {
            KeyName::Ref(rest.to_owned())
        } else if !message && self.channels.contains(rest) {
            KeyName::Channel(rest.to_owned())
        } else {
            KeyName::Raw(rest.to_owned())
        };
        KeyRef { text: text.to_owned(), prefix: prefix.to_owned(), name }
    }

    fn tag_text(&self, at: &At<'_>) -> Read<TagText> {
        let text = at.string()?;
        if let Some(name) = text.strip_prefix('$') {
            if self.refs.contains(name) {
                return Ok(TagText::Id(name.to_owned()));
            }
            if self.people.contains(name) {
                return Ok(TagText::Key(name.to_owned()));
            }
            return at.fault(format!("{text:?} is neither a ref nor a person"));
        }
        if let Some(name) = text.strip_prefix('#') {
            if self.channels.contains(name) {
                return Ok(TagText::Channel(name.to_owned()));
            }
            return at.fault(format!("unknown channel {name:?}"));
        }
        Ok(TagText::Plain(text))
    }

    fn tags(&self, at: &At<'_>) -> Read<Vec<Vec<TagText>>> {
        at.list(|tag| tag.list(|text| self.tag_text(&text)))
    }

    /// Notes everyone a file names anywhere.
    fn meet(&mut self, json: &Json, key: &str) {
        match json {
            Json::String(name)
                if ["by", "viewer", "members", "admins", "mentions", "person", "owner"].contains(&key) =>
            {
                self.people.insert(name.clone());
            }
            Json::Array(items) => items.iter().for_each(|item| self.meet(item, key)),
            Json::Object(fields) => fields.iter().for_each(|(key, value)| self.meet(value, key)),
            _ => {}
        }
    }
}

/// Reads a file's text.
pub fn read_scenario(text: &str) -> Result<Scenario, Fault> {
    let json = parse(text)?;
    let fields = At::root(&json).object()?;
    let version = fields.need("scenario")?;
    if version.integer()? != 1 {
        return version.fault("only format 1 is known");
    }
    let title = fields.need("title")?;
    let name = title.string()?;
    if name.chars().count() < 8 {
        return title.fault("expected at least 8 characters");
    }
    fields.get("covers", |at| at.list(|line| line.string()))?;
    let mut known = Known::default();
    known.meet(&json, "");
    known.people.insert("relay".to_owned());
    let t0 = fields.get("t0", |at| at.at_least(0))?.unwrap_or(T0);
    let viewer = fields.get("viewer", At::string)?.unwrap_or_else(|| "me".to_owned());
    known.people.insert(viewer.clone());
    let relay = fields.get("relay", relay_set)?.unwrap_or_default();
    let channels = channels(&fields.need("channels")?, &mut known)?;
    let devices = devices(fields.take("devices"), &mut known)?;
    let history =
        fields.get("history", |at| at.list(|event| read_event(&event, &mut known, true)))?.unwrap_or_default();
    let at = fields.need("steps")?;
    let steps = at.list(|step| crate::read_steps::read_step(&step, &mut known))?;
    if steps.is_empty() {
        return at.fault("expected at least one step");
    }
    fields.finish()?;
    let t0 = u64::try_from(t0).unwrap_or_default();
    Ok(Scenario { title: name, t0, viewer, relay, channels, history, devices, steps })
}

/// Reads relay switches.
pub(crate) fn relay_set(at: &At<'_>) -> Read<RelaySet> {
    let fields = at.object()?;
    let set = RelaySet {
        dialect: fields.get("dialect", |at| at.word("dialect"))?,
        thread_replies_in_channel: fields.get("thread_replies_in_channel", At::boolean)?,
        max_page: fields.get("max_page", |at| at.count(1))?,
        max_rows: fields.get("max_rows", |at| at.count(1))?,
        channel_window: fields.get("channel_window", At::boolean)?,
        identity: fields.get("identity", At::boolean)?,
    };
    fields.finish()?;
    Ok(set)
}

fn channels(at: &At<'_>, known: &mut Known) -> Read<Vec<ChannelSpec>> {
    let mut all = Vec::new();
    for at in at.array()? {
        let fields = at.object()?;
        let name = fields.need("name")?.string()?;
        let people = |at: &At<'_>| at.list(|name| name.string());
        let one = ChannelSpec {
            name: name.clone(),
            kind: fields.get("type", |at| at.word("channel type"))?.unwrap_or(ChannelKind::Stream),
            members: people(&fields.need("members")?)?,
            admins: fields.get("admins", people)?.unwrap_or_default(),
            open: fields.get("visibility", visibility)?.unwrap_or(false),
            metadata: fields.get("metadata", At::boolean)?.unwrap_or(true),
        };
        let names = match fields.get("repeat", |at| at.count(1))? {
            Some(n) => (1..=n).map(|i| format!("{name}{i}")).collect(),
            None => vec![name],
        };
        fields.finish()?;
        for name in names {
            if !known.channels.insert(name.clone()) {
                return at.fault(format!("channel {name:?} is defined twice"));
            }
            all.push(ChannelSpec { name, ..one.clone() });
        }
    }
    Ok(all)
}

fn visibility(at: &At<'_>) -> Read<bool> {
    match at.string()?.as_str() {
        "open" => Ok(true),
        "private" => Ok(false),
        other => at.fault(format!("unknown visibility {other:?}")),
    }
}

fn devices(at: Option<At<'_>>, known: &mut Known) -> Read<Vec<DeviceSpec>> {
    let Some(at) = at else {
        known.devices.push("phone".to_owned());
        return Ok(vec![DeviceSpec { name: "phone".to_owned(), signs: true }]);
    };
    let all = at.list(|at| {
        let device = if matches!(at.json, Json::String(_)) {
            DeviceSpec { name: at.string()?, signs: true }
        } else {
            let fields = at.object()?;
            let name = fields.need("name")?.string()?;
            let signs = fields.get("signer", signer)?.unwrap_or(true);
            fields.finish()?;
            DeviceSpec { name, signs }
        };
        if known.devices.contains(&device.name) {
            return at.fault(format!("device {:?} is defined twice", device.name));
        }
        known.devices.push(device.name.clone());
        Ok(device)
    })?;
    if all.is_empty() { at.fault("expected at least one device") } else { Ok(all) }
}

fn signer(at: &At<'_>) -> Read<bool> {
    match at.string()?.as_str() {
        "full" => Ok(true),
        "none" => Ok(false),
        other => at.fault(format!("unknown signer {other:?}")),
    }
}

/// Reads an event and makes its refs known. `stored` is for history alone.
pub(crate) fn read_event(at: &At<'_>, known: &mut Known, history: bool) -> Read<EventSpec> {
    let fields = at.object()?;
    let forge = fields.get("forge", forge)?;
    let event = EventSpec {
        name: fields.need("ref")?.string()?,
        repeat: fields.get("repeat", |at| at.count(1))?,
        step: fields.get("step", At::integer)?.unwrap_or(1),
        by: fields.need("by")?.string()?,
        at: fields.get("at", At::integer)?,
        channel: fields.get("in", |at| known.channel(at))?,
        form: form(&fields, known)?,
        text: fields.get("text", At::string)?,
        reply_to: fields.get("reply_to", |at| known.message(at))?,
        broadcast: fields.get("broadcast", At::boolean)?.unwrap_or(false),
        mentions: fields.get("mentions", |at| at.list(|name| name.string()))?.unwrap_or_default(),
        audience: fields.get("audience", At::string)?,
        tags: fields.get("tags", |at| known.tags(at))?.unwrap_or_default(),
        unchecked: fields.get("unchecked", At::boolean)?.unwrap_or(false) || forge.is_some(),
        stored: if history { fields.get("stored", At::boolean)?.unwrap_or(true) } else { true },
        forge,
    };
    check_event(&event, &fields)?;
    fields.finish()?;
    for name in event.refs() {
        if !known.refs.insert(name.clone()) {
            return at.fault(format!("ref {name:?} is defined twice"));
        }
    }
    Ok(event)
}

fn check_event(event: &EventSpec, fields: &Fields<'_>) -> Read<()> {
    let at = fields.at();
    if matches!(event.form, Form::Message { .. }) && event.channel.is_none() {
        return at.fault("a message needs \"in\"");
    }
    if event.repeat.is_none() && fields.has("step") {
        return at.fault("\"step\" needs \"repeat\"");
    }
    if event.text.is_some() && matches!(event.form, Form::Raw { .. } | Form::ReadState(_) | Form::Mutes(_)) {
        return at.fault("\"text\" does not go with this form, it has content of its own");
    }
    Ok(())
}

fn forge(at: &At<'_>) -> Read<Forge> {
    match at.string()?.as_str() {
        "id" => Ok(Forge::Id),
        "signature" => Ok(Forge::Signature),
        other => at.fault(format!("unknown damage {other:?}")),
    }
}

const FORMS: [&str; 7] = ["edit", "delete", "moderate", "react", "raw", "read_state", "mutes"];

fn form(fields: &Fields<'_>, known: &Known) -> Read<Form> {
    let named: Vec<&str> = FORMS.into_iter().filter(|f| fields.has(f)).collect();
    if named.len() > 1 {
        return fields.at().fault(format!("{:?} and {:?} do not go together", named[0], named[1]));
    }
    let Some(name) = named.first() else {
        let kind = fields.get("kind", kind)?.unwrap_or(9);
        let workflow = fields.get("workflow", workflow)?;
        return Ok(Form::Message { kind, workflow });
    };
    let at = fields.need(name)?;
    let messages = |at: &At<'_>| at.list(|one| known.message(&one));
    match *name {
        "edit" => Ok(Form::Edit(known.message(&at)?)),
        "delete" => Ok(Form::Delete(messages(&at)?)),
        "moderate" => Ok(Form::Moderate(messages(&at)?)),
        "react" => Ok(Form::React(known.message(&at)?)),
        "raw" => raw(&at, known),
        "read_state" => Ok(Form::ReadState(read_state(&at, known)?)),
        _ => {
            let mut mutes = BTreeMap::new();
            for (channel, at) in at.object()?.entries() {
                if !known.channels.contains(&channel) {
                    return at.fault(format!("unknown channel {channel:?}"));
                }
                mutes.insert(channel, at.boolean()?);
            }
            Ok(Form::Mutes(mutes))
        }
    }
}

fn kind(at: &At<'_>) -> Read<u16> {
    u16::try_from(at.integer()?).or_else(|_| at.fault("expected a kind between 0 and 65535"))
}

fn workflow(at: &At<'_>) -> Read<(String, bool)> {
    let fields = at.object()?;
    let owner = fields.need("owner")?.string()?;
    let mention = fields.get("mention", At::boolean)?.unwrap_or(false);
    fields.finish()?;
    Ok((owner, mention))
}

fn raw(at: &At<'_>, known: &Known) -> Read<Form> {
    let fields = at.object()?;
    let form = Form::Raw {
        kind: kind(&fields.need("kind")?)?,
        tags: fields.get("tags", |at| known.tags(at))?.unwrap_or_default(),
        content: fields.get("content", At::string)?.unwrap_or_default(),
    };
    fields.finish()?;
    Ok(form)
}

fn read_state(at: &At<'_>, known: &Known) -> Read<ReadStateSpec> {
    let fields = at.object()?;
    let client = fields.get("client", At::string)?.unwrap_or_else(|| "peer".to_owned());
    let slot = fields.get("slot", |at| slot(at, known))?.unwrap_or_else(|| SlotSpec::Given(slot_of(&client)));
    let mut spec = ReadStateSpec {
        client,
        slot,
        contexts: Vec::new(),
        overrides: Vec::new(),
        version: fields.take("v").map(|at| at.json.to_value()),
        content: fields.get("content", At::string)?,
    };
    if let Some(at) = fields.take("contexts") {
        for (key, at) in at.object()?.entries() {
            spec.contexts.push((known.raw_key(&key), known.raw_value(&at)?));
        }
    }
    if let Some(at) = fields.take("overrides") {
        for (key, at) in at.object()?.entries() {
            let registers = at.object()?;
            for (name, letter) in [("set", 's'), ("clear", 'c'), ("baseline", 'b')] {
                if let Some(at) = registers.take(name) {
                    spec.overrides.push((letter, known.raw_key(&key), known.raw_value(&at)?));
                }
            }
            registers.finish()?;
        }
    }
    fields.finish()?;
    Ok(spec)
}

fn slot(at: &At<'_>, known: &Known) -> Read<SlotSpec> {
    let text = at.string()?;
    match text.strip_prefix('$') {
        Some(device) if known.devices.iter().any(|d| d == device) => Ok(SlotSpec::OwnOf(device.to_owned())),
        Some(device) => at.fault(format!("unknown device {device:?}")),
        None => Ok(SlotSpec::Given(text)),
    }
}
