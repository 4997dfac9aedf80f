//! Arrivals while the demo runs: mostly new messages, now and then a reply, a reaction, a mention or an edit.

use super::{
    Community, reply_tags,
    script::{ARRIVALS, EXCHANGES},
};
use crate::{
    Event, Relay,
    admin::{Accepted, Bring, Refused},
    channels::pair,
};

/// What happened last.
#[derive(Debug, Clone)]
pub struct Activity {
    /// The channel's name.
    pub channel: String,
    /// The event.
    pub event: Event,
}

/// The generator. Deterministic: the same calls give the same events.
#[derive(Debug, Clone)]
pub struct Live {
    community: Community,
    count: usize,
    /// Messages so far; they are told in their written order.
    messages: usize,
    /// The last arrival: its channel and event.
    last: Option<Activity>,
}

impl Live {
    pub(super) fn new(community: Community) -> Self {
        Self { community, count: 0, messages: 0, last: None }
    }

    /// Posts the next plausible thing at `now` (Unix seconds) and says what it was.
    pub fn next_activity(&mut self, relay: &Relay, now: u64) -> anyhow::Result<Activity> {
        let n = self.count;
        self.count += 1;
        let event = match (n % 5, self.last.clone()) {
            (2, Some(last)) => self.reaction(&last, now)?,
            (4, Some(last)) if last.event.kind == 9 => self.reply(&last, n, now)?,
            _ => self.message(n, now)?,
        };
        let answer: Result<Accepted, Refused> = relay.admin().accept(event.event.clone(), &Bring::default())?;
        answer?;
        if event.event.kind == 9 {
            self.last = Some(event.clone());
        }
        Ok(event)
    }

    fn message(&mut self, n: usize, now: u64) -> anyhow::Result<Activity> {
        let (channel, by, text) = ARRIVALS[self.messages % ARRIVALS.len()];
        self.messages += 1;
        let mut tags = vec![pair("h", self.community.channel(channel)?)];
        let mut text = text.to_owned();
        if n % 10 == 5 {
            tags.push(pair("p", self.community.viewer.public()));
            text = format!("Robin: {text}");
        }
        if by == "scalebot" {
            tags.push(pair("audience", "agents"));
        }
        let event = self.community.keys(by)?.sign(now, 9, tags, text);
        Ok(Activity { channel: channel.to_owned(), event })
    }

    fn reaction(&self, last: &Activity, now: u64) -> anyhow::Result<Activity> {
        let by = if last.event.pubkey == self.community.keys("mara")?.public() { "jonah" } else { "mara" };
        let by = self.someone_in(&last.channel, by);
        let event = self.community.keys(by)?.sign(now, 7, vec![pair("e", &last.event.id)], "🐝");
        Ok(Activity { channel: last.channel.clone(), event })
    }

    fn reply(&self, last: &Activity, n: usize, now: u64) -> anyhow::Result<Activity> {
        let by = self.someone_in(&last.channel, "edda");
        let mut tags = vec![pair("h", self.community.channel(&last.channel)?)];
        let root = last.event.marked("root").or_else(|| last.event.marked("reply"));
        tags.extend(reply_tags(&last.event.id, root.as_deref().unwrap_or(&last.event.id)));
        let event = self.community.keys(by)?.sign(now, 9, tags, EXCHANGES[n % EXCHANGES.len()].0);
        Ok(Activity { channel: last.channel.clone(), event })
    }

    /// `wanted` if they are in the channel, else another member who is not the viewer.
    fn someone_in(&self, channel: &str, wanted: &'static str) -> &'static str {
        let place = super::PLACES.iter().find(|p| p.name == channel);
        match place {
            Some(p) if !p.members.is_empty() && !p.members.contains(&wanted) => {
                p.members.iter().copied().find(|m| *m != "robin").unwrap_or(wanted)
            }
            _ => wanted,
        }
    }
}
