//! Looks at devices and relay for expectations, and for the trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, bail};

use crate::clock::settled;
use crate::compare;
use crate::driver::{Fact, Failure, Observe, TargetId};
use crate::runner::Runner;
use crate::scenario::{Check, RelayCheck, UnreadCheck};

impl Runner {
    /// Looks at something of a device. An observation that does not come back at rest is a failure.
    pub(crate) async fn observe(&mut self, device: &str, what: Observe) -> Result<Fact, Failure> {
        let Ok(device) = self.device(device) else { return Err(Failure::usage("no such device")) };
        let task = tokio::task::spawn_local(device.driver.observe(what));
        match settled(task).await {
            Ok(seen) => seen.unwrap_or_else(|_| Err(Failure::usage("the observation was lost"))),
            Err(task) => {
                task.abort();
                Err(Failure::usage("the observation did not come back"))
            }
        }
    }

    /// All mismatches of some checks now.
    pub(crate) async fn check_all(&mut self, checks: &[Check], on: &str) -> anyhow::Result<Vec<String>> {
        let mut found = Vec::new();
        for check in checks {
            found.extend(self.check(check, on).await?);
        }
        Ok(found)
    }

    async fn check(&mut self, check: &Check, on: &str) -> anyhow::Result<Vec<String>> {
        let Some((about, what)) = self.question(check)? else {
            let Check::Relay(check) = check else { bail!("nothing to ask") };
            return self.check_relay(check);
        };
        match self.observe(on, what).await {
            Ok(fact) => self.compare(check, &fact),
            Err(why) => Ok(vec![format!("{about}: {why}")]),
        }
    }

    /// What to ask a device for a check, and what it is about in words; none for checks of the relay.
    fn question(&mut self, check: &Check) -> anyhow::Result<Option<(String, Observe)>> {
        let book = &mut self.book;
        Ok(Some(match check {
            Check::Unread(UnreadCheck { target, .. }) => {
                (format!("unread {}", compare::target_words(target)), Observe::Unread { target: book.target(target)? })
            }
            Check::Timeline(check) => {
                let about = match &check.place.root {
                    Some(root) => format!("thread {root}"),
                    None => format!("timeline {}", check.place.channel),
                };
                (about, Observe::Timeline { place: book.place(&check.place)? })
            }
            Check::Activity { channel, .. } => {
                (format!("activity {channel}"), Observe::Activity { channel: book.channel(channel) })
            }
            Check::Sidebar(check) => (format!("sidebar {}", check.channel), Observe::Sidebar),
            Check::Following { channel, root, .. } => (
                format!("following {channel} {root}"),
                Observe::Following { channel: book.channel(channel), root: book.id(root)? },
            ),
            Check::Journal(keys) => {
                let keys = keys.iter().map(|(key, _)| book.key(key)).collect::<anyhow::Result<_>>()?;
                ("journal".to_owned(), Observe::Journal { keys })
            }
            Check::Sync(_) => ("sync".to_owned(), Observe::Sync),
            Check::Relay(_) => return Ok(None),
        }))
    }

    fn compare(&mut self, check: &Check, fact: &Fact) -> anyhow::Result<Vec<String>> {
        match (check, fact) {
            (Check::Unread(check), Fact::Unread(fact)) => Ok(compare::unread(check, fact, &self.book)),
            (Check::Timeline(check), Fact::Timeline(fact)) => compare::timeline(check, fact, &self.book),
            (Check::Activity { items: None, .. }, Fact::Activity { .. }) => Ok(Vec::new()),
            (Check::Activity { channel, items: Some(items) }, Fact::Activity { items: seen }) => {
                compare::activity(channel, items.as_deref(), seen.as_deref(), &self.book)
            }
            (Check::Sidebar(check), Fact::Sidebar { rows }) => {
                let id = self.book.channel(&check.channel);
                Ok(compare::sidebar(check, rows.iter().find(|r| r.channel == id)))
            }
            (Check::Following { channel, root, value }, Fact::Following { value: got }) => {
                Ok(compare::following(channel, root, *value, *got))
            }
            (Check::Journal(keys), Fact::Journal { values }) => {
                let wire: Vec<String> = keys.iter().map(|(k, _)| self.book.key(k)).collect::<anyhow::Result<_>>()?;
                let got = |i: usize| wire.get(i).and_then(|key| values.get(key)).copied().flatten();
                compare::values("journal", keys, got, &self.book)
            }
            (Check::Sync(check), Fact::Sync(fact)) => Ok(compare::sync(check, fact)),
            _ => bail!("the driver answered another question"),
        }
    }

    fn check_relay(&mut self, check: &RelayCheck) -> anyhow::Result<Vec<String>> {
        let blobs = self.published()?;
        let keys: Vec<String> = check.keys.iter().map(|(k, _)| self.book.key(k)).collect::<anyhow::Result<_>>()?;
        let greatest = |i: usize| keys.get(i).and_then(|key| blobs.iter().filter_map(|b| b.get(key)).max().copied());
        let mut found = compare::values("relay keys", &check.keys, greatest, &self.book)?;
        let counters = self.relay.counters();
        for (name, expected) in &check.counters {
            let got = match *name {
                "slots" => blobs.len() as u64,
                "publishes" => counters.publishes,
                "refused" => counters.refused,
                purpose => counters.of(purpose.parse().map_err(anyhow::Error::msg)?),
            };
            let mut mismatch = compare::counter(name, *expected, got);
            if *name == "refused" && !mismatch.is_empty() {
                mismatch = mismatch.into_iter().map(|m| format!("{m} ({})", counters.refusals.join(", "))).collect();
            }
            found.extend(mismatch);
        }
        if let Some(expected) = &check.evidence_channels {
            found.extend(compare::evidence_channels(expected, &counters.evidence_channels));
        }
        Ok(found)
    }

    /// The entries of every read-state blob on the relay that a device of this file wrote.
    fn published(&mut self) -> anyhow::Result<Vec<BTreeMap<String, u64>>> {
        let viewer = self.book.person(&self.scenario.viewer.clone())?;
        let mut blobs = Vec::new();
        for slot in self.relay.admin().read_state(&viewer.public())? {
            let own = slot.label.as_ref().is_some_and(|label| self.devices.contains_key(label));
            if !slot.by_client || !own {
                continue;
            }
            let plain = viewer.unseal(&slot.event.content).context("a device published what its viewer cannot open")?;
            let blob: serde_json::Value = serde_json::from_str(&plain).context("a device published no JSON")?;
            let entries = blob["contexts"].as_object().into_iter().flatten();
            blobs.push(entries.filter_map(|(key, value)| Some((key.clone(), value.as_u64()?))).collect());
        }
        Ok(blobs)
    }

    /// Notes what devices show, where it changed since the last look. Only when somebody reads the trace.
    pub(crate) async fn trace_views(&mut self) {
        if !self.trace().is_kept() {
            return;
        }
        let scenario = self.scenario.clone();
        let channels: Vec<(String, String)> =
            scenario.channels.iter().map(|c| (c.name.clone(), self.book.channel(&c.name))).collect();
        let names: Vec<String> = self.devices.keys().cloned().collect();
        for name in names {
            let mut lines = Vec::new();
            if let Ok(Fact::Sync(fact)) = self.observe(&name, Observe::Sync).await {
                lines.push(format!("sync {} {} pending {}", fact.state, fact.completeness, fact.pending));
            }
            for (channel, id) in &channels {
                let target = TargetId::Channel { channel: id.clone() };
                if let Ok(Fact::Unread(f)) = self.observe(&name, Observe::Unread { target }).await {
                    let n = |n: Option<u32>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
                    let (observed, attention) = (n(f.observed), n(f.attention));
                    lines.push(format!("unread {channel} {observed}/{attention} manual {} {}", f.manual, f.freshness));
                }
            }
            let seen: Arc<str> = lines.join("\n").into();
            let before = self.last_views.insert(name.clone(), seen).unwrap_or_default();
            let before: Vec<&str> = before.lines().collect();
            for line in lines.iter().filter(|l| !before.contains(&l.as_str())) {
                self.trace().line(&name, || line.clone());
            }
        }
    }
}
