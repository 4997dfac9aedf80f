//! The end of a run: faults stop, everybody is given time, and then all devices must agree with the model and with each other.

use std::rc::Rc;

use waggle::limits;
use waggle::model::{More, Phase, SyncState};
use waggle::session::Session;
use waggle_scenarios::clock::{rest, settled};

use crate::device::{self, Ask};
use crate::model::{AHEAD, FLOOR, Key, Marks, Msg};
use crate::plan::{Act, Screen};
use crate::run::{Broken, Run};

/// Milliseconds until everybody is connected again (R25c: 120 s), and a margin.
const RECONNECT_MS: u64 = 130_000;
/// Milliseconds given to a call that reads or publishes.
const CALL_MS: u64 = 15_000;
/// Rows a page of the last look at timelines.
const PAGE: u32 = 7;

impl Run {
    /// Mends everything, waits, and holds the end state against the model.
    pub async fn finish(&mut self) -> Result<(), Broken> {
        self.mend().await?;
        self.advance(RECONNECT_MS).await;
        self.judge_calls().await?;
        self.synchronise().await?;
        if let Some(what) = self.waits() {
            return Err(("hang", what));
        }
        self.note_trouble(None);
        for on in 0..self.world.devices.len() {
            if !self.world.devices[on].second && !self.ledger.sees_all(on) {
                return Err(("converge", format!("device {on} does not come to know everything")));
            }
        }
        self.check(true).await?;
        self.check_agreement().await?;
        for on in 0..self.world.devices.len() {
            self.check_timelines(on).await?;
        }
        self.check(false).await
    }

    async fn mend(&mut self) -> Result<(), Broken> {
        self.world.relay.clear_faults();
        for on in 0..self.world.devices.len() {
            let device = &mut self.world.devices[on];
            device.line.mend();
            device.disk.mend();
            device.offset = 0;
            device.clock.set_offset(0);
            if device.line.has_withheld() || device.line.was_degraded() {
                // What a relay kept back without a trace, or seemed to be unable to, is only learnt by connecting anew.
                self.world.relay.admin().drop_sockets(Some(&self.world.devices[on].name));
                self.ledger.cut_off(on);
            }
            rest().await;
            self.revive().await;
            if self.world.devices[on].live.is_none() {
                self.start(on).await?;
            }
            if self.world.devices[on].calls.iter().any(|call| matches!(call.act, Act::Suspend)) {
                self.advance(CALL_MS).await;
                self.judge_calls().await?;
            }
            if self.world.devices[on].suspended {
                self.complete(on, Ask::Resume).await?;
                self.world.devices[on].suspended = false;
            }
        }
        if let Some(sabotage) = self.sabotage {
            sabotage.after_mending(&self.world).await;
            if sabotage == crate::sabotage::Sabotage::Hang {
                let task = tokio::task::spawn_local(std::future::pending());
                self.world.devices[0].calls.push(device::Call { act: Act::Flush, task });
            }
        }
        self.after(None).await?;
        self.read_relay().map(drop)
    }

    fn session(&self, on: usize) -> Result<Session, Broken> {
        self.world.devices[on].session().ok_or_else(|| ("open", format!("device {on} does not run")))
    }

    /// Makes a call that has to come to its end now that nothing is wrong.
    async fn complete(&mut self, on: usize, what: Ask) -> Result<(), Broken> {
        let session = self.session(on)?;
        let mut task = tokio::task::spawn_local(device::ask(session, what));
        for _ in 0..4 {
            match settled(task).await {
                Ok(outcome) => {
                    let outcome = outcome.unwrap_or(Err(waggle::error::Error::Closed));
                    self.world.trace.line("step", || format!("device {on} {what:?}: {outcome:?}"));
                    if matches!(what, Ask::Refresh) {
                        self.ledger.answered(&self.world, on, &Act::Refresh, &outcome)?;
                    }
                    return outcome.map_err(|why| ("converge", format!("device {on}: {what:?} fails: {why}")));
                }
                Err(waiting) => task = waiting,
            }
            self.advance(CALL_MS).await;
        }
        Err(("hang", format!("device {on}: {what:?} does not come to its end")))
    }

    /// Everybody publishes, then everybody reads.
    async fn synchronise(&mut self) -> Result<(), Broken> {
        for on in 0..self.world.devices.len() {
            let phase = self.session(on)?.connectivity().current().value.phase;
            if phase != Phase::Online {
                return Err(("converge", format!("device {on} is {phase:?} long after everything was mended")));
            }
        }
        for _ in 0..2 {
            for on in 0..self.world.devices.len() {
                if self.world.devices[on].signs {
                    self.complete(on, Ask::RetrySync).await?;
                }
                self.advance(limits::PUBLISH_DELAY_MS + 1_000).await;
            }
        }
        self.note_trouble(None);
        for on in 0..self.world.devices.len() {
            let in_order = !self.is_troubled(on);
            self.ledger.asked(on, &Act::Refresh, in_order);
            self.complete(on, Ask::Refresh).await?;
        }
        self.advance(limits::SECOND_LOOK_MS).await;
        self.judge_calls().await
    }

    /// All devices read alike, and what they read is on the relay.
    async fn check_agreement(&mut self) -> Result<(), Broken> {
        let now = self.world.time.unix();
        let mut all = Marks::new();
        let mut each = Vec::new();
        for on in 0..self.world.devices.len() {
            let marks = self.marks(&self.session(on)?).await?;
            let sync = self.session(on)?.sync().current().value;
            let quiet = matches!(sync.state, SyncState::Local | SyncState::Reconciled);
            if self.world.devices[on].signs && (!quiet || sync.pending) {
                return Err(("converge", format!("device {on}: sync is {:?}, pending {}", sync.state, sync.pending)));
            }
            for (key, value) in &marks {
                let greatest = all.entry(*key).or_insert(*value);
                *greatest = (*greatest).max(*value);
            }
            each.push(marks);
        }
        let relay = self.read_relay()?;
        for (key, value) in &relay {
            let greatest = all.entry(*key).or_insert(*value);
            *greatest = (*greatest).max(*value);
        }
        // Private, dated ahead (R12), and older than the floor (R17) is not shared.
        let shared = |key: Key, value: u64| !key.is_private() && value <= now + AHEAD - 60 && value + FLOOR > now + 600;
        let model = &self.world.model;
        let mut peers = Marks::new();
        for (key, value) in &model.peers {
            let greatest = peers.entry(*key).or_insert(*value);
            *greatest = (*greatest).max(*value);
        }
        for (key, value) in peers.iter().filter(|(key, value)| key.is_private() || shared(**key, **value)) {
            if let Some(on) = each.iter().position(|marks| !model.holds(marks, *key, *value)) {
                return Err(("converge", format!("device {on} lacks the peer's {key:?} = {value}")));
            }
        }
        // The peer's coordinate shows its greatest value only: what that hides some devices have seen and others never will.
        let hidden = |key: Key| peers.get(&key).is_some_and(|value| !shared(key, *value));
        // What only a peer has read is not published (R19).
        let own = |key: Key, value: u64| model.allowed.get(&key).is_some_and(|allowed| value <= *allowed);
        let by_peer = |key: Key, value: u64| model.peers.contains(&(key, value));
        for (key, value) in all.into_iter().filter(|(key, value)| shared(*key, *value)) {
            if !by_peer(key, value) && own(key, value) && !model.holds(&relay, key, value) {
                return Err(("converge", format!("the relay lacks {key:?} = {value}, has {:?}", relay.get(&key))));
            }
            if by_peer(key, value) && hidden(key) {
                continue;
            }
            if let Some(on) = each.iter().position(|marks| !model.holds(marks, key, value)) {
                let has = each[on].get(&key);
                return Err(("converge", format!("device {on} lacks {key:?} = {value}, has {has:?}")));
            }
        }
        Ok(())
    }

    /// Every channel, paged to its beginning, shows exactly its rows.
    async fn check_timelines(&mut self, on: usize) -> Result<(), Broken> {
        if self.world.devices[on].second {
            return Ok(());
        }
        for channel in 0..self.world.channels.len() {
            if !self.world.model.member[channel] {
                continue;
            }
            let screen = Screen { channel, root: None };
            let session = self.session(on)?;
            let held = self.world.devices[on].live.as_mut().and_then(|live| live.timelines.remove(&screen));
            let timeline = match held {
                Some(timeline) => timeline,
                None => {
                    let opened = Box::pin(device::open(session, self.world.channels[channel], None, PAGE));
                    match settled(opened).await {
                        Ok(Ok(timeline)) => Rc::new(timeline),
                        Ok(Err(why)) => {
                            return Err(("timeline", format!("device {on}: channel {channel} does not open: {why}")));
                        }
                        Err(_) => return Err(("hang", format!("device {on}: channel {channel} does not open"))),
                    }
                }
            };
            for _ in 0..64 {
                if timeline.state().more == More::No {
                    break;
                }
                match settled(Box::pin(timeline.load_older())).await {
                    Ok(Ok(())) => {}
                    Ok(Err(why)) => return Err(("timeline", format!("device {on}: channel {channel}: {why}"))),
                    Err(_) => return Err(("hang", format!("device {on}: a page of channel {channel}"))),
                }
                rest().await;
            }
            // Rows of an earlier connection show before what changed them meanwhile is heard.
            rest().await;
            let state = timeline.state();
            let mut seen: Vec<_> =
                state.rows.iter().filter_map(|row| self.world.numbers.get(&row.id).copied()).collect();
            if self.sabotage == Some(crate::sabotage::Sabotage::LoseRow) {
                seen.pop();
            }
            // A deletion that the relay kept back may never be heard of.
            let withheld = self.world.devices[on].line.has_withheld();
            let unheard = |m: &&Msg| withheld && m.deleted && seen.contains(&m.id);
            let rows = self.world.model.of_channel(channel).filter(|m| m.is_row());
            // One that arrived late while nobody looked, or that the relay kept back, may lie inside what a device kept (see the README).
            let line = &self.world.devices[on].line;
            let missed = |m: &&Msg| (m.late || line.has_withheld_event(&m.event)) && !seen.contains(&m.id);
            let mut rows: Vec<_> = rows.filter(|m| (!m.deleted || unheard(m)) && !missed(m)).collect();
            rows.sort_by_key(|m| (m.at, std::cmp::Reverse(m.event)));
            let wanted: Vec<_> = rows.iter().map(|m| m.id).collect();
            if seen != wanted || state.more != More::No {
                let more = state.more;
                return Err((
                    "timeline",
                    format!("device {on}: channel {channel}: {seen:?} ({more:?}), not {wanted:?}"),
                ));
            }
        }
        Ok(())
    }
}
