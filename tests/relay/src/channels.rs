//! Channels: their facts, and the relay-signed group state that tells of them.
//!
//! Every change re-signs 39000, 39001 and 39002 together with a `created_at` at least one second after the last revision,
//! so quick changes run ahead of the clock; newest wins without a tie.

use serde::{Deserialize, Serialize};

use crate::{
    event::Event,
    state::State,
    store::{Entry, Origin, Place},
};

/// A channel.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Channel {
    pub(crate) id: String,
    pub(crate) name: String,
    /// `stream`, `dm`, `forum` or `workflow`.
    pub(crate) kind: String,
    pub(crate) open: bool,
    pub(crate) about: Option<String>,
    pub(crate) topic: Option<String>,
    pub(crate) purpose: Option<String>,
    pub(crate) archived: bool,
    pub(crate) deleted: bool,
    /// Whether 39000 is sent.
    pub(crate) metadata: bool,
    /// Members in order of joining, with their role.
    pub(crate) members: Vec<(String, String)>,
    /// `created_at` of the newest group state.
    pub(crate) revision: u64,
}

impl Channel {
    pub(crate) fn role(&self, pubkey: &str) -> Option<&str> {
        self.members.iter().find(|(p, _)| p == pubkey).map(|(_, r)| r.as_str())
    }

    pub(crate) fn is_led_by(&self, pubkey: &str) -> bool {
        matches!(self.role(pubkey), Some("owner" | "admin"))
    }

    fn metadata_tags(&self) -> Vec<Vec<String>> {
        let mut tags = vec![pair("d", &self.id), pair("name", if self.kind == "dm" { "DM" } else { &self.name })];
        tags.extend(self.about.as_deref().map(|v| pair("about", v)));
        tags.push(vec![if self.open { "public" } else { "private" }.into()]);
        if self.kind == "dm" {
            tags.push(vec!["hidden".into()]);
            tags.extend(self.members.iter().map(|(p, _)| pair("p", p)));
        }
        tags.push(vec!["closed".into()]);
        tags.push(pair("t", &self.kind));
        tags.extend(self.topic.as_deref().map(|v| pair("topic", v)));
        tags.extend(self.purpose.as_deref().map(|v| pair("purpose", v)));
        if self.archived {
            tags.push(pair("archived", "true"));
        }
        tags
    }

    fn admin_tags(&self) -> Vec<Vec<String>> {
        let leaders = self.members.iter().filter(|(_, r)| r == "owner" || r == "admin");
        let people = leaders.map(|(p, r)| vec!["p".into(), p.clone(), r.clone()]);
        std::iter::once(pair("d", &self.id)).chain(people).collect()
    }

    fn member_tags(&self) -> Vec<Vec<String>> {
        let people = self.members.iter().map(|(p, r)| vec!["p".into(), p.clone(), String::new(), r.clone()]);
        std::iter::once(pair("d", &self.id)).chain(people).collect()
    }
}

pub(crate) fn pair(name: &str, value: &str) -> Vec<String> {
    vec![name.to_owned(), value.to_owned()]
}

impl State {
    /// Signs and stores an event of the relay, replacing its predecessor at the same coordinate, and pushes it.
    pub(crate) fn announce(&mut self, event: &Event, place: &Place) -> anyhow::Result<()> {
        if let Some(d) = crate::store::coordinate(event)
            && let Some(old) = self.store.at_coordinate(&event.pubkey, event.kind, d)?
        {
            self.store.hide(old.seq, 2)?;
        }
        self.store.insert(&Entry { event, place, counted: true, origin: Origin::Relay, label: None })?;
        self.push(event, place.channel.as_deref());
        Ok(())
    }

    /// Re-signs a channel's group state and saves the channel.
    pub(crate) fn publish_channel(&mut self, id: &str, arrival: u64) -> anyhow::Result<()> {
        let Some(channel) = self.channels.get_mut(id) else { return Ok(()) };
        channel.revision = arrival.max(channel.revision + 1);
        let (at, place) = (channel.revision, Place { channel: Some(id.to_owned()), ..Place::default() });
        let mut states = vec![(39001, channel.admin_tags()), (39002, channel.member_tags())];
        if channel.metadata {
            states.insert(0, (39000, channel.metadata_tags()));
        }
        let json = serde_json::to_string(channel)?;
        self.store.save_channel(id, &json)?;
        for (kind, tags) in states {
            let event = self.keys.sign(at, kind, tags, "");
            self.announce(&event, &place)?;
        }
        Ok(())
    }

    /// Adds or changes a member; true when they are new.
    pub(crate) fn put_member(&mut self, channel: &str, pubkey: &str, role: &str) -> bool {
        let Some(ch) = self.channels.get_mut(channel) else { return false };
        if let Some(member) = ch.members.iter_mut().find(|(p, _)| p == pubkey) {
            member.1 = role.to_owned();
            return false;
        }
        ch.members.push((pubkey.to_owned(), role.to_owned()));
        self.memberships.entry(pubkey.to_owned()).or_default().insert(channel.to_owned());
        true
    }

    /// Removes a member; true when they were one.
    pub(crate) fn drop_member(&mut self, channel: &str, pubkey: &str) -> bool {
        let Some(ch) = self.channels.get_mut(channel) else { return false };
        let before = ch.members.len();
        ch.members.retain(|(p, _)| p != pubkey);
        let gone = ch.members.len() < before;
        if let Some(set) = self.memberships.get_mut(pubkey) {
            set.remove(channel);
        }
        gone
    }

    /// 44100 or 44101 to one person.
    pub(crate) fn notify_member(&mut self, kind: u32, p: &str, h: &str, actor: &str, at: u64) -> anyhow::Result<()> {
        let what = if kind == 44100 { "member_added" } else { "member_removed" };
        let content = serde_json::json!({ "actor": actor, "channel_id": h, "type": what }).to_string();
        let mut event = self.keys.sign(at, kind, vec![pair("p", p), pair("h", h)], content.clone());
        let mut second = at;
        // Two equal notices in one second would share an id and be taken for one.
        while self.store.knows(&event.id)? {
            second += 1;
            event = self.keys.sign(second, kind, vec![pair("p", p), pair("h", h)], content.clone());
        }
        self.announce(&event, &Place::default())
    }

    /// A 40099 notice in a channel.
    pub(crate) fn notice(&mut self, channel: &str, content: &serde_json::Value, at: u64) -> anyhow::Result<()> {
        let event = self.keys.sign(at, 40099, vec![pair("h", channel)], content.to_string());
        if self.store.knows(&event.id)? {
            return Ok(());
        }
        self.announce(&event, &Place { channel: Some(channel.to_owned()), ..Place::default() })
    }

    /// The list of community members, kind 13534.
    pub(crate) fn publish_roster(&mut self, at: u64) -> anyhow::Result<()> {
        self.save_roster()?;
        let mut tags = vec![vec!["-".to_owned()]];
        tags.extend(self.roster.iter().map(|(p, r)| vec!["member".into(), p.clone(), r.clone()]));
        let last = self.store.at_coordinate(self.keys.public(), 13534, None)?.map_or(0, |s| s.event.created_at);
        let event = self.keys.sign(at.max(last + 1), 13534, tags, "");
        self.announce(&event, &Place::default())
    }

    /// The hidden DMs of one person, kind 30622.
    pub(crate) fn publish_hidden(&mut self, pubkey: &str, at: u64) -> anyhow::Result<()> {
        self.save_hidden()?;
        let mut tags = vec![pair("d", pubkey), pair("p", pubkey)];
        tags.extend(self.hidden.get(pubkey).into_iter().flatten().map(|h| pair("h", h)));
        let last = self.store.at_coordinate(self.keys.public(), 30622, Some(pubkey))?.map_or(0, |s| s.event.created_at);
        let event = self.keys.sign(at.max(last + 1), 30622, tags, "");
        self.announce(&event, &Place::default())
    }
}
