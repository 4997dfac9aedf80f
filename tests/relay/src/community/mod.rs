//! A lived-in community for demos: a beekeepers' co-op of eleven, sixteen channels, five days of talk up to now.
//!
//! Everything is history accepted through the ordinary rules, with its own times, so summaries, notices and rosters are what
//! a real relay would hold. Deterministic: the same `now` gives the same events. The viewer reads on two imagined other
//! devices already: a read-state blob covers the older days, and one channel is muted.

mod live;
mod script;

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use nostr::nips::nip44;
use serde_json::json;

pub use live::{Activity, Live};
use script::{EXCHANGES, FINDINGS, Line, PEOPLE, PLACES, TALKS};

use crate::{
    Event, Keys, Relay,
    admin::{Bring, NewChannel},
    channels::pair,
    event::sha256,
};

/// Findings in the busy channel.
const FINDINGS_POSTED: u64 = 320;
/// The busy channel's days, in seconds.
const SPAN: u64 = 5 * 86_400;

/// What [`seed_community`] made.
#[derive(Debug, Clone)]
pub struct Community {
    /// The viewer's keys.
    pub viewer: Keys,
    /// Everyone's keys by short name; the viewer is `robin`.
    pub people: BTreeMap<String, Keys>,
    /// Channel ids by name.
    pub channels: BTreeMap<String, String>,
}

impl Community {
    /// The viewer's secret key in the form people paste.
    pub fn viewer_nsec(&self) -> anyhow::Result<String> {
        use nostr::nips::nip19::ToBech32;
        Ok(nostr::key::SecretKey::from_slice(&self.viewer.secret())?.to_bech32()?)
    }

    /// A generator of plausible arrivals.
    pub fn live(&self) -> Live {
        Live::new(self.clone())
    }

    fn keys(&self, name: &str) -> anyhow::Result<&Keys> {
        self.people.get(name).with_context(|| format!("nobody is called {name}"))
    }

    fn channel(&self, name: &str) -> anyhow::Result<&str> {
        self.channels.get(name).map(String::as_str).with_context(|| format!("no channel is called {name}"))
    }
}

/// The id of a channel of the demo.
fn channel_uuid(name: &str) -> String {
    let mut bytes = [0u8; 16];
    bytes.copy_from_slice(&sha256(format!("waggle/demo/channel/{name}").as_bytes())[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// Fills a relay with the community, its talk ending at `now` (Unix seconds). A relay that holds it already (from a file) is
/// left as it is.
pub fn seed_community(relay: &Relay, now: u64) -> anyhow::Result<Community> {
    let mut people = BTreeMap::new();
    for person in &PEOPLE {
        people
            .insert(person.key.to_owned(), Keys::new(sha256(format!("waggle/demo/person/{}", person.key).as_bytes()))?);
    }
    let channels = PLACES.iter().map(|p| (p.name.to_owned(), channel_uuid(p.name))).collect();
    let viewer = people.get("robin").cloned().context("the viewer is one of the people")?;
    let community = Community { viewer, people, channels };
    if relay.state().channels.contains_key(community.channel("general")?) {
        return Ok(community);
    }
    let mut seeder = Seeder { relay, community: &community, now, named: BTreeMap::new() };
    seeder.furnish()?;
    seeder.busy_channel()?;
    let mut talks: Vec<_> = TALKS.iter().collect();
    talks.sort_by_key(|t| std::cmp::Reverse(t.ago));
    for talk in talks {
        seeder.talk(talk)?;
    }
    seeder.notices()?;
    seeder.forum()?;
    seeder.own_state()?;
    Ok(community)
}

struct Seeder<'a> {
    relay: &'a Relay,
    community: &'a Community,
    now: u64,
    /// Named lines: id, and the id of their thread's root.
    named: BTreeMap<String, (String, String)>,
}

impl Seeder<'_> {
    fn accept(&self, event: Event) -> anyhow::Result<Event> {
        let bring = Bring { history: true, ..Bring::default() };
        let answer = self.relay.admin().accept(event.clone(), &bring)?;
        let answer = answer.map_err(|refused| anyhow!("{refused}: {event:?}"))?;
        anyhow::ensure!(answer.accepted, "{}: {event:?}", answer.message);
        Ok(event)
    }

    fn send(&self, by: &str, at: u64, kind: u32, tags: Vec<Vec<String>>, text: &str) -> anyhow::Result<Event> {
        self.accept(self.community.keys(by)?.sign(at.min(self.now), kind, tags, text))
    }

    /// People, profiles and channels, some days before the first word.
    fn furnish(&self) -> anyhow::Result<()> {
        let start = self.now - SPAN - 3 * 86_400;
        let keys = |name: &str| self.community.keys(name).map(|k| k.public().to_owned());
        let mut roster = Vec::new();
        for person in &PEOPLE {
            roster.push((keys(person.key)?, if person.key == "mara" { "owner" } else { "member" }));
        }
        let roster: Vec<(&str, &str)> = roster.iter().map(|(k, r)| (k.as_str(), *r)).collect();
        self.relay.admin().add_people(&roster)?;
        let everyone: Vec<&str> = PEOPLE.iter().map(|p| p.key).filter(|k| *k != "scalebot").collect();
        let mut all = Vec::new();
        for place in &PLACES {
            let names = if place.members.is_empty() { everyone.as_slice() } else { place.members };
            let members: Vec<String> = names.iter().map(|n| keys(n)).collect::<Result<_, _>>()?;
            let members: Vec<&str> = members.iter().map(String::as_str).collect();
            all.push(NewChannel {
                kind: place.kind.to_owned(),
                open: place.open,
                about: (!place.about.is_empty()).then(|| place.about.to_owned()),
                admins: place.admins.iter().filter(|a| names.contains(a)).map(|n| keys(n)).collect::<Result<_, _>>()?,
                created_at: Some(start),
                ..NewChannel::stream(self.community.channel(place.name)?, place.name, &members)
            });
        }
        self.relay.admin().create_channels(all)?;
        for person in &PEOPLE {
            let profile = json!({ "about": person.about, "display_name": person.name, "name": person.key });
            self.send(person.key, start, 0, vec![], &profile.to_string())?;
        }
        let agent = json!({ "name": "Scale Bot", "owner": keys("priya")? });
        self.send("scalebot", start, 10100, vec![], &agent.to_string())?;
        Ok(())
    }

    fn talk(&mut self, talk: &script::Talk) -> anyhow::Result<()> {
        let mut at = self.now.saturating_sub(talk.ago * 60);
        for (n, line) in talk.lines.iter().enumerate() {
            at += talk.gap / 2 + (n as u64 * 37 + talk.ago) % talk.gap.max(1);
            self.line(talk.channel, at, line)?;
        }
        Ok(())
    }

    fn line(&mut self, channel: &str, at: u64, line: &Line) -> anyhow::Result<()> {
        let h = pair("h", self.community.channel(channel)?);
        let mut tags = vec![h.clone()];
        let parent = self.named.get(line.to).cloned();
        if let Some((parent, root)) = &parent {
            tags.extend(reply_tags(parent, root));
        }
        for name in line.mentions {
            tags.push(pair("p", self.community.keys(name)?.public()));
        }
        if line.cast {
            tags.push(pair("broadcast", "1"));
        }
        if line.quiet {
            tags.push(pair("audience", "agents"));
        }
        let event = self.send(line.by, at, 9, tags, line.text)?;
        if !line.key.is_empty() {
            let root = parent.map_or_else(|| event.id.clone(), |(_, root)| root);
            self.named.insert(line.key.to_owned(), (event.id.clone(), root));
        }
        for (n, (by, emoji)) in line.reactions.iter().enumerate() {
            self.send(by, at + 40 + n as u64 * 25, 7, vec![pair("e", &event.id)], emoji)?;
        }
        if !line.edited.is_empty() {
            self.send(line.by, at + 90, 40003, vec![h, pair("e", &event.id)], line.edited)?;
        }
        if line.deleted {
            self.send(line.by, at + 60, 5, vec![pair("e", &event.id)], "")?;
        }
        Ok(())
    }

    /// Hundreds of findings with threads, reactions, edits, deletions, mentions and broadcasts.
    fn busy_channel(&mut self) -> anyhow::Result<()> {
        const KEEPERS: [&str; 8] = ["mara", "tomas", "ines", "jonah", "priya", "sol", "edda", "robin"];
        const EMOJI: [&str; 5] = ["👍", "🐝", "🍯", "👀", "+"];
        let h = pair("h", self.community.channel("apiary-log")?);
        for n in 0..FINDINGS_POSTED {
            let at = self.now - SPAN + n * SPAN / FINDINGS_POSTED + (n * 7919) % 600;
            let by = KEEPERS[pick(n, 3, KEEPERS.len())];
            let finding = FINDINGS[pick(n, 1, FINDINGS.len())];
            let mut tags = vec![h.clone()];
            let mut text = format!("Hive {}: {finding}.", 1 + pick(n, 5, 24));
            if n % 37 == 11 && by != "robin" {
                tags.push(pair("p", self.community.viewer.public()));
                text.push_str(" Robin, this one is on your round.");
            }
            let event = self.send(by, at, 9, tags, &text)?;
            if n % 9 == 4 {
                self.exchange(n, at, &event.id, by)?;
            }
            if n % 5 == 2 {
                let liked = vec![pair("e", &event.id)];
                let reaction =
                    self.send(KEEPERS[pick(n, 11, KEEPERS.len())], at + 60, 7, liked, EMOJI[pick(n, 13, EMOJI.len())])?;
                if n % 35 == 2 {
                    let taken = self
                        .community
                        .people
                        .iter()
                        .find(|(_, k)| k.public() == reaction.pubkey)
                        .map(|(name, _)| name.clone());
                    self.send(&taken.unwrap_or_default(), at + 90, 5, vec![pair("e", &reaction.id)], "")?;
                }
            }
            if n % 23 == 7 {
                let tags = vec![h.clone(), pair("e", &event.id)];
                self.send(by, at + 120, 40003, tags, &format!("{text} (Corrected: {} frames.)", 3 + pick(n, 17, 6)))?;
            }
            if n % 41 == 30 {
                self.send(by, at + 200, 5, vec![pair("e", &event.id)], "")?;
            }
            if n == 200 {
                self.send("mara", at + 300, 9005, vec![h.clone(), pair("e", &event.id)], "posted twice")?;
            }
        }
        Ok(())
    }

    /// A question beneath a finding and its answer, sometimes shown to the channel.
    fn exchange(&self, n: u64, at: u64, root: &str, by: &str) -> anyhow::Result<()> {
        let h = pair("h", self.community.channel("apiary-log")?);
        let asker = if by == "edda" { "robin" } else { "edda" };
        let asker = if n % 18 == 4 && by != "robin" { "robin" } else { asker };
        let (question, answer) = EXCHANGES[pick(n, 7, EXCHANGES.len())];
        let mut tags = vec![h.clone()];
        tags.extend(reply_tags(root, root));
        let asked = self.send(asker, at + 300, 9, tags, question)?;
        let mut tags = vec![h];
        if n % 27 == 13 {
            tags.extend(reply_tags(root, root));
            tags.push(pair("broadcast", "1"));
        } else {
            tags.extend(reply_tags(&asked.id, root));
        }
        self.send(by, at + 700, 9, tags, answer)?;
        Ok(())
    }

    /// Notices and a workflow's message, signed by the relay.
    fn notices(&self) -> anyhow::Result<()> {
        let keys = self.relay.admin().relay_keys();
        let general = self.community.channel("general")?;
        let (mara, robin) = (self.community.keys("mara")?.public(), self.community.viewer.public());
        let topic = json!({ "actor": mara, "topic": "Lime flow is on", "type": "topic_changed" });
        self.accept(keys.sign(self.now - 370 * 60, 40099, vec![pair("h", general)], topic.to_string()))?;
        let joined = json!({ "actor": mara, "target": robin, "type": "member_joined" });
        let board = pair("h", self.community.channel("board")?);
        self.accept(keys.sign(self.now - 4_100 * 60, 40099, vec![board], joined.to_string()))?;
        let priya = self.community.keys("priya")?.public();
        let tags = vec![
            pair("h", self.community.channel("mite-counts")?),
            pair("p", priya),
            pair("buzz:workflow", "true"),
            pair("buzz:workflow-owner", priya),
            pair("p", robin),
            pair("buzz:workflow-mention", robin),
        ];
        let text = "Treatment window for the allotment opens in two days. On the rota: Robin.";
        self.accept(keys.sign(self.now - 300 * 60, 9, tags, text))?;
        Ok(())
    }

    /// Two forum posts with a comment.
    fn forum(&self) -> anyhow::Result<()> {
        let h = pair("h", self.community.channel("questions")?);
        let title = pair("title", "Wintering two nucs over one colony");
        let text = "Has anybody here done it with a double screen? I worry about damp more than about cold.";
        let post = self.send("tomas", self.now - 3_000 * 60, 45001, vec![h.clone(), title], text)?;
        let mut tags = vec![h.clone()];
        tags.extend(reply_tags(&post.id, &post.id));
        let answer = "Three winters. Tilt the whole stack forward, one finger. Damp goes where you send it.";
        self.send("edda", self.now - 2_900 * 60, 45003, tags, answer)?;
        let title = pair("title", "Which ivy counts?");
        self.send(
            "priya",
            self.now - 1_100 * 60,
            45001,
            vec![h, title],
            "The scales see an October flow I cannot place.",
        )?;
        Ok(())
    }

    /// What the viewer's other device read, and the channel they muted.
    fn own_state(&self) -> anyhow::Result<()> {
        let day_ago = self.now - 26 * 3600;
        let mut contexts = serde_json::Map::new();
        for name in
            ["general", "honey-house", "market-stall", "equipment", "newcomers", "recipes", "dm-mara", "dm-trip"]
        {
            contexts.insert(self.community.channel(name)?.to_owned(), day_ago.into());
        }
        contexts.insert(self.community.channel("apiary-log")?.to_owned(), (self.now - 30 * 3600).into());
        let blob = json!({ "client_id": "demo-desk", "contexts": contexts, "v": 1 });
        let slot = hex::encode(&sha256(b"waggle/demo/slot")[..16]);
        self.app_data(&format!("read-state:{slot}"), "read-state", &blob)?;
        let muted = self.community.channel("recipes")?;
        let mutes = json!({ "channels": { muted: { "muted": true, "updatedAt": day_ago } }, "version": 1 });
        self.app_data("channel-mutes", "channel-mutes", &mutes)
    }

    fn app_data(&self, d: &str, t: &str, content: &serde_json::Value) -> anyhow::Result<()> {
        let secret = nostr::key::SecretKey::from_slice(&self.community.viewer.secret())?;
        let public = nostr::key::PublicKey::from_hex(self.community.viewer.public())?;
        let nonce = nip44::Nonce::V2(sha256(format!("waggle/demo/nonce/{d}").as_bytes()));
        let text = nip44::encrypt_with_nonce(&secret, &public, content.to_string(), nonce)?;
        self.send("robin", self.now - 26 * 3600, 30078, vec![pair("d", d), pair("t", t)], &text)?;
        Ok(())
    }
}

/// A spread-out choice that repeats only after a while.
fn pick(n: u64, salt: u64, len: usize) -> usize {
    let hash = sha256(format!("{salt}/{n}").as_bytes());
    usize::from(u16::from_be_bytes([hash[0], hash[1]])) % len
}

/// The tags of a reply.
fn reply_tags(parent: &str, root: &str) -> Vec<Vec<String>> {
    let marked = |id: &str, marker: &str| vec!["e".into(), id.to_owned(), String::new(), marker.to_owned()];
    if parent == root { vec![marked(root, "reply")] } else { vec![marked(root, "root"), marked(parent, "reply")] }
}
