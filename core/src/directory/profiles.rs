//! Names of people (kind 0), newest profile per person, read in batches for whoever appears.
//!
//! A person is asked for once per session at most, in the background, together with others that appeared meanwhile; one
//! batch is under way at a time. A failed batch is asked again on the next connection.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use lru::LruCache;

use super::facts::cut_name;
use crate::event::{Event, kinds};
use crate::ids::PublicKey;
use crate::limits;
use crate::order::RowKey;
use crate::request::{Answer, Filter, Outbox, Outcome, Priority, Purpose, Request, RequestId};

/// What is known of one person.
#[derive(Default)]
struct Profile {
    /// Position of the profile event; none while nothing was found.
    at: Option<RowKey>,
    name: Option<String>,
}

/// Names of the people of one community.
pub struct Profiles {
    known: LruCache<PublicKey, Profile>,
    wanted: BTreeSet<PublicKey>,
    flight: Option<(RequestId, Vec<PublicKey>)>,
    /// Connected, and no batch has failed on this connection.
    open: bool,
}

impl Default for Profiles {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Profiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Profiles({} known, {} wanted)", self.known.len(), self.wanted.len())
    }
}

impl Profiles {
    /// Nobody is known.
    pub fn new() -> Self {
        let bound = NonZeroUsize::new(limits::PROFILES).unwrap_or(NonZeroUsize::MIN);
        Self { known: LruCache::new(bound), wanted: BTreeSet::new(), flight: None, open: false }
    }

    /// The name of a person, if their profile is known and has one.
    pub fn name(&self, person: &PublicKey) -> Option<&str> {
        self.known.peek(person)?.name.as_deref()
    }

    /// The name, else a short form of the key: what a row shows.
    pub fn display(&self, person: &PublicKey) -> String {
        self.name(person).map_or_else(|| short_key(person), str::to_owned)
    }

    /// Notes that these people appear somewhere; unknown ones will be asked for by [`Profiles::flush`].
    pub fn want(&mut self, people: impl IntoIterator<Item = PublicKey>) {
        for person in people {
            let asked = self.flight.as_ref().is_some_and(|(_, batch)| batch.contains(&person));
            // `get`, not `peek`: whoever appears again stays known longest.
            if self.known.get(&person).is_none() && !asked && self.wanted.len() < limits::PROFILES {
                self.wanted.insert(person);
            }
        }
    }

    /// Sends the next batch, if somebody is wanted and none is under way.
    pub fn flush(&mut self, out: &mut Outbox) {
        if !self.open || self.flight.is_some() || self.wanted.is_empty() {
            return;
        }
        let batch: Vec<_> = self.wanted.iter().copied().take(limits::PROFILE_BATCH).collect();
        for person in &batch {
            self.wanted.remove(person);
        }
        let authors = Some(batch.iter().map(PublicKey::to_hex).collect());
        let most = u32::try_from(batch.len()).unwrap_or(u32::MAX);
        let filter = Filter { authors, ..Filter::kinds(&[kinds::PROFILE]) }.limit(most);
        let id = out.send(Request::query(Purpose::Profile, Priority::Background, vec![filter]));
        self.flight = Some((id, batch));
    }

    /// The connection is there.
    pub fn on_connected(&mut self, out: &mut Outbox) {
        self.open = true;
        self.flush(out);
    }

    /// The connection is gone; whoever was being asked for is wanted again.
    pub fn on_disconnected(&mut self, out: &mut Outbox) {
        self.open = false;
        if let Some((id, batch)) = self.flight.take() {
            out.cancel(id);
            self.wanted.extend(batch);
        }
    }

    /// Whether the answer under this id is for the profiles.
    pub fn owns(&self, id: RequestId) -> bool {
        self.flight.as_ref().is_some_and(|(flight, _)| *flight == id)
    }

    /// Takes in the answer; the people whose name changed are returned. Ids of others are ignored.
    pub fn on_answer(&mut self, id: RequestId, outcome: Outcome, out: &mut Outbox) -> BTreeSet<PublicKey> {
        let mut renamed = BTreeSet::new();
        let Some((_, batch)) = self.flight.take_if(|(flight, _)| *flight == id) else { return renamed };
        if let Ok(Answer::Events(answer)) = outcome {
            for event in answer.events.iter().filter(|e| batch.contains(&e.pubkey)) {
                renamed.extend(self.take(event).then_some(event.pubkey));
            }
            for person in batch {
                // Somebody without a profile is known to have none, and not asked for again.
                if !self.known.contains(&person) {
                    self.known.put(person, Profile::default());
                }
            }
            self.flush(out);
        } else {
            // A relay that refuses is not asked again on this connection.
            self.open = false;
            self.wanted.extend(batch);
        }
        renamed
    }

    /// Takes in a profile event, asked for or live. Whether the person's name changed.
    pub fn take(&mut self, event: &Event) -> bool {
        if event.kind != kinds::PROFILE {
            return false;
        }
        let held = self.known.get_or_insert_mut(event.pubkey, Profile::default);
        if held.at.is_some_and(|at| at <= event.key()) {
            return false;
        }
        held.at = Some(event.key());
        self.wanted.remove(&event.pubkey);
        let name = parse_name(&event.content);
        let changed = held.name != name;
        held.name = name;
        changed
    }
}

/// `display_name`, else `name`, of a profile's content (`protocol.md` 6.10).
fn parse_name(content: &str) -> Option<String> {
    let body: serde_json::Value = serde_json::from_str(content).ok()?;
    let member = |name: &str| body.get(name).and_then(|v| v.as_str()).map(cut_name).filter(|n| !n.is_empty());
    member("display_name").or_else(|| member("name"))
}

/// A short form of a key for people without a name.
pub fn short_key(person: &PublicKey) -> String {
    let mut short: String = person.to_hex().chars().take(8).collect();
    short.push('…');
    short
}
