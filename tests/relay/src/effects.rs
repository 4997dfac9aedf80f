//! What accepted commands set in motion: deletions, channel commands, DMs.
//!
//! A deletion hides its target and keeps itself. Channel commands change the channel, then re-sign its group state, then
//! tell: CLOSED to whoever lost access comes before the 44101 that says so. Notices (40099) are stored in the channel.

use serde_json::json;

use crate::{
    channels::Channel,
    event::{Event, is_hex},
    filter::channel_id,
    ingest::{Intake, Rule, Verdict, refused, stored},
    state::State,
    store::{Place, Stored},
};

/// A member as the group state will list them.
fn person(event: &Event) -> Rule<String> {
    let p = event.tag("p").filter(|p| is_hex(p, 64)).map(str::to_ascii_lowercase);
    p.ok_or_else(|| refused("invalid: p tag is required"))
}

impl State {
    /// Kind 5: the author takes back exactly one event.
    pub(crate) fn take_deletion(&mut self, event: &Event, intake: &Intake) -> anyhow::Result<Verdict> {
        let (e, a) = (event.values("e").count(), event.values("a").count());
        if e + a != 1 {
            return Ok(refused(format!(
                "invalid: deletion events must reference exactly one target via e or a tag (got e={e}, a={a})"
            )));
        }
        let target = if e == 1 { self.target(event)? } else { self.addressed(event)? };
        let Some(target) = target else { return Ok(refused("invalid: deletion target event not found")) };
        if target.event.pubkey != event.pubkey {
            return Ok(refused("invalid: must be event author"));
        }
        self.delete(event, target, intake)
    }

    /// The live event an `a` tag names.
    fn addressed(&self, event: &Event) -> anyhow::Result<Option<Stored>> {
        let mut parts = event.tag("a").unwrap_or_default().splitn(3, ':');
        let (Some(kind), Some(pubkey), d) = (parts.next().and_then(|k| k.parse().ok()), parts.next(), parts.next())
        else {
            return Ok(None);
        };
        self.store.at_coordinate(pubkey, kind, Some(d.unwrap_or("")))
    }

    /// Kind 9005: a channel's owner or admin, or the author, removes a message; a notice tells.
    pub(crate) fn take_moderation(&mut self, event: &Event, intake: &Intake) -> anyhow::Result<Verdict> {
        let channel = match self.writable_channel(event) {
            Ok(channel) => channel,
            Err(verdict) => return Ok(verdict),
        };
        let target = self.target(event)?.filter(|t| t.place.channel.as_deref() == Some(&channel));
        let Some(target) = target else { return Ok(refused("invalid: deletion target event not found")) };
        let leads = self.channels.get(&channel).is_some_and(|c| c.is_led_by(&event.pubkey));
        if target.event.pubkey != event.pubkey && !leads {
            return Ok(refused("invalid: must be event author or channel owner/admin"));
        }
        let gone = target.event.id.clone();
        let verdict = self.delete(event, target, intake)?;
        let content = json!({ "actor": event.pubkey, "target_event_id": gone, "type": "message_deleted" });
        self.notice(&channel, &content, intake.arrival)?;
        Ok(verdict)
    }

    fn delete(&mut self, event: &Event, target: Stored, intake: &Intake) -> anyhow::Result<Verdict> {
        let place = Place { channel: target.place.channel, ..Place::default() };
        let verdict = self.keep(event, &place, intake)?;
        if target.live {
            self.store.hide(target.seq, 1)?;
            if let Some(root) = &target.place.root {
                self.push_summary(root)?;
            }
        }
        Ok(verdict)
    }

    /// 9000, 9001, 9002, 9007, 9008, 9021, 9022.
    pub(crate) fn take_channel_command(&mut self, event: &Event, intake: &Intake) -> anyhow::Result<Verdict> {
        let Some(id) = event.tag("h").and_then(channel_id) else {
            return Ok(refused("invalid: channel-scoped events must include an h tag"));
        };
        if event.kind == 9007 {
            return self.create_by_command(&id, event, intake);
        }
        let checked = match event.kind {
            9021 => self.check_join(&id),
            9022 => self.check_leave(&id, event),
            _ => self.check_leader(&id, event),
        };
        if let Err(verdict) = checked {
            return Ok(verdict);
        }
        let verdict = self.keep(event, &Place { channel: Some(id.clone()), ..Place::default() }, intake)?;
        let at = intake.arrival;
        let done = match event.kind {
            9000 => person(event).map(|p| self.join(&id, &p, event.tag("role").unwrap_or("member"), &event.pubkey, at)),
            9001 => person(event).map(|p| self.leave(&id, &p, &event.pubkey, at)),
            9021 => Ok(self.join(&id, &event.pubkey, "member", &event.pubkey, at)),
            9022 => Ok(self.leave(&id, &event.pubkey, &event.pubkey, at)),
            9002 => Ok(self.edit_channel(&id, event, at)),
            _ => Ok(self.delete_channel(&id)),
        };
        match done {
            Ok(result) => result.map(|()| verdict),
            Err(refusal) => Ok(refusal),
        }
    }

    fn check_join(&self, id: &str) -> Rule<()> {
        match self.channels.get(id).filter(|c| !c.deleted) {
            None => Err(refused("restricted: not a channel member")),
            Some(c) if !c.open => Err(refused("restricted: channel is private")),
            Some(_) => Ok(()),
        }
    }

    fn check_leave(&self, id: &str, event: &Event) -> Rule<()> {
        let member = self.channels.get(id).is_some_and(|c| !c.deleted && c.role(&event.pubkey).is_some());
        if member { Ok(()) } else { Err(refused("restricted: not a channel member")) }
    }

    /// Members add people; only leaders do the rest. Adding needs membership in a private channel.
    fn check_leader(&self, id: &str, event: &Event) -> Rule<()> {
        if !self.can_read(&event.pubkey, id) {
            return Err(refused("restricted: not a channel member"));
        }
        let channel = self.channels.get(id).ok_or_else(|| refused("restricted: not a channel member"))?;
        let leads = channel.is_led_by(&event.pubkey);
        let role = event.tag("role").unwrap_or("member");
        match event.kind {
            9000 if leads || (role == "member" && channel.role(&event.pubkey).is_some()) => {}
            9000 | 9001 | 9002 | 9008 if !leads => return Err(refused("invalid: actor not authorized")),
            _ => {}
        }
        if matches!(event.kind, 9000 | 9001) {
            person(event)?;
        }
        Ok(())
    }

    fn create_by_command(&mut self, id: &str, event: &Event, intake: &Intake) -> anyhow::Result<Verdict> {
        let Some(name) = event.tag("name").filter(|n| !n.is_empty()) else {
            return Ok(refused("invalid: name tag is required"));
        };
        if self.channels.contains_key(id) {
            return Ok(Verdict::Declined("duplicate: channel already exists".into()));
        }
        let kind = event.tag("channel_type").unwrap_or("stream");
        if !matches!(kind, "stream" | "forum" | "workflow") {
            return Ok(refused("invalid: unsupported channel_type"));
        }
        let channel = Channel {
            id: id.to_owned(),
            name: name.to_owned(),
            kind: kind.to_owned(),
            open: event.tag("visibility").unwrap_or("open") == "open",
            about: event.tag("about").map(str::to_owned),
            metadata: true,
            members: vec![(event.pubkey.clone(), "owner".to_owned())],
            ..Channel::default()
        };
        self.index_members(&channel);
        self.channels.insert(id.to_owned(), channel);
        self.keep(event, &Place { channel: Some(id.to_owned()), ..Place::default() }, intake)?;
        self.publish_channel(id, intake.arrival)?;
        self.notice(id, &json!({ "actor": event.pubkey, "type": "channel_created" }), intake.arrival)?;
        Ok(stored())
    }

    /// Adds someone and tells: group state, notice, 44100.
    pub(crate) fn join(&mut self, id: &str, p: &str, role: &str, actor: &str, at: u64) -> anyhow::Result<()> {
        let new = self.put_member(id, p, role);
        self.publish_channel(id, at)?;
        if new {
            self.notice(id, &json!({ "actor": actor, "target": p, "type": "member_joined" }), at)?;
            self.notify_member(44100, p, id, actor, at)?;
        }
        Ok(())
    }

    /// Removes someone and tells: CLOSED, group state, notice, 44101.
    fn leave(&mut self, id: &str, p: &str, actor: &str, at: u64) -> anyhow::Result<()> {
        if !self.drop_member(id, p) {
            return Ok(());
        }
        self.revoke_subs(id, Some(p));
        self.publish_channel(id, at)?;
        let what = if p == actor { "member_left" } else { "member_removed" };
        self.notice(id, &json!({ "actor": actor, "target": p, "type": what }), at)?;
        self.notify_member(44101, p, id, actor, at)
    }

    fn edit_channel(&mut self, id: &str, event: &Event, at: u64) -> anyhow::Result<()> {
        let text = |name: &str| event.tag(name).map(str::to_owned);
        let Some(channel) = self.channels.get_mut(id) else { return Ok(()) };
        let (was_open, was_archived) = (channel.open, channel.archived);
        channel.name = text("name").unwrap_or_else(|| channel.name.clone());
        channel.about = text("about").or_else(|| channel.about.clone());
        channel.topic = text("topic").or_else(|| channel.topic.clone());
        channel.purpose = text("purpose").or_else(|| channel.purpose.clone());
        channel.archived = text("archived").map_or(channel.archived, |v| v == "true");
        channel.open = text("visibility").map_or(channel.open, |v| v == "open");
        let (open, archived) = (channel.open, channel.archived);
        let members: Vec<String> = channel.members.iter().map(|(p, _)| p.clone()).collect();
        self.publish_channel(id, at)?;
        if let Some(topic) = event.tag("topic") {
            self.notice(id, &json!({ "actor": event.pubkey, "topic": topic, "type": "topic_changed" }), at)?;
        }
        if archived && !was_archived {
            self.revoke_subs(id, None);
        }
        if was_archived && !archived {
            // The only signal that live subscriptions may be made again.
            for p in &members {
                self.notify_member(44100, p, id, &event.pubkey, at)?;
            }
        }
        if was_open && !open {
            self.revoke_outsiders(id, &members);
        }
        Ok(())
    }

    /// Ends the subscriptions of everyone who is no member.
    pub(crate) fn revoke_outsiders(&mut self, id: &str, members: &[String]) {
        let mut outside: Vec<String> = self.conns.values().filter_map(|c| c.pubkey().map(str::to_owned)).collect();
        outside.retain(|p| !members.contains(p));
        outside.sort();
        outside.dedup();
        for p in outside {
            self.revoke_subs(id, Some(&p));
        }
    }

    fn delete_channel(&mut self, id: &str) -> anyhow::Result<()> {
        self.revoke_subs(id, None);
        let Some(channel) = self.channels.get_mut(id) else { return Ok(()) };
        channel.deleted = true;
        let json = serde_json::to_string(channel)?;
        self.store.save_channel(id, &json)
    }

    /// 41010: finds or makes the DM of exactly these people. Not stored.
    pub(crate) fn take_dm_open(&mut self, event: &Event, intake: &Intake) -> anyhow::Result<Verdict> {
        let valid = event.values("p").filter(|p| is_hex(p, 64)).map(str::to_ascii_lowercase);
        let mut others: Vec<String> = valid.filter(|p| *p != event.pubkey).collect();
        others.sort();
        others.dedup();
        if others.is_empty() {
            return Ok(refused("invalid: pubkeys must contain at least 1 other participant"));
        }
        if others.len() > 8 {
            return Ok(refused("invalid: pubkeys must contain at most 8 other participants"));
        }
        let mut people = others.clone();
        people.push(event.pubkey.clone());
        people.sort();
        let known = self.dm_of(&people);
        let created = known.is_none();
        let id = match known {
            Some(id) => id,
            None => self.make_dm(&people, &event.pubkey, intake.arrival)?,
        };
        self.hidden.entry(event.pubkey.clone()).or_default().remove(&id);
        self.publish_hidden(&event.pubkey, intake.arrival)?;
        Ok(Verdict::Accepted(format!("response:{}", json!({ "channel_id": id, "created": created }))))
    }

    fn dm_of(&self, people: &[String]) -> Option<String> {
        let same = |c: &&Channel| {
            let mut members: Vec<&String> = c.members.iter().map(|(p, _)| p).collect();
            members.sort();
            c.kind == "dm" && !c.deleted && members.into_iter().eq(people)
        };
        self.channels.values().find(same).map(|c| c.id.clone())
    }

    fn make_dm(&mut self, people: &[String], actor: &str, at: u64) -> anyhow::Result<String> {
        let id = self.draws.uuid();
        let members = people.iter().map(|p| (p.clone(), "member".to_owned())).collect();
        let channel = Channel {
            id: id.clone(),
            name: "DM".into(),
            kind: "dm".into(),
            metadata: true,
            members,
            ..Channel::default()
        };
        self.index_members(&channel);
        self.channels.insert(id.clone(), channel);
        self.publish_channel(&id, at)?;
        self.notice(&id, &json!({ "actor": actor, "participants": people, "type": "dm_created" }), at)?;
        for p in people.iter().filter(|p| *p != actor) {
            self.notify_member(44100, p, &id, actor, at)?;
        }
        Ok(id)
    }

    /// 41012: hides a DM from its sender's list. Not stored.
    pub(crate) fn take_dm_hide(&mut self, event: &Event, intake: &Intake) -> anyhow::Result<Verdict> {
        let id = match self.writable_channel(event) {
            Ok(id) => id,
            Err(verdict) => return Ok(verdict),
        };
        if self.channels.get(&id).is_none_or(|c| c.kind != "dm") {
            return Ok(refused("invalid: channel is not a DM"));
        }
        self.hidden.entry(event.pubkey.clone()).or_default().insert(id);
        self.publish_hidden(&event.pubkey, intake.arrival)?;
        Ok(Verdict::Accepted("{}".into()))
    }
}
