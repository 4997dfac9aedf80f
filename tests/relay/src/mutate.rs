//! Damage done to answers by faults, after the honest answer was made.

use serde_json::{Value, json};

use crate::{
    Event, Keys, Settings,
    channels::pair,
    event::sha256,
    faults::FaultKind,
    filter::Filter,
    query::Answer,
    snapshot::Snapshot,
    state::State,
    window::{binding, bounds_content},
};

/// A key that is nobody's relay.
fn stranger() -> anyhow::Result<Keys> {
    Keys::new(sha256(b"waggle/test-relay/forger"))
}

/// The faults that can strike a window answer.
fn candidates(has_cursor: bool) -> Vec<FaultKind> {
    let mut kinds = vec![
        FaultKind::NoBounds,
        FaultKind::TwoBounds,
        FaultKind::BoundsWrongCursor,
        FaultKind::BoundsWrongSigner,
        FaultKind::BoundsInconsistent,
        FaultKind::OverlayForged,
    ];
    if has_cursor {
        kinds.extend([FaultKind::BoundsStuck, FaultKind::RowsBeforeCursor]);
    }
    kinds
}

/// Where a text's signature is, damaged: its last digit becomes another.
pub(crate) fn damage_signature(event: &Event) -> String {
    let mut sig = event.sig.clone();
    let last = if sig.pop() == Some('0') { '1' } else { '0' };
    sig.push(last);
    event.json.replace(&event.sig, &sig)
}

impl State {
    /// Lets a window fault strike the first window answer, if one waits.
    pub(crate) fn damage_windows(
        &mut self,
        filters: &[Filter],
        answers: &mut [Answer],
        (me, label): (&str, Option<&str>),
        settings: &Settings,
    ) -> anyhow::Result<()> {
        let Some(filter) = filters.iter().find(|f| f.flag("top_level")) else { return Ok(()) };
        let Some(answer) = answers.iter_mut().find(|a| a.overlays.iter().any(|o| o.kind == 39006)) else {
            return Ok(());
        };
        let Some(fault) = self.faults.strike(&candidates(filter.until.is_some()), label) else { return Ok(()) };
        match fault {
            FaultKind::OverlayForged => self.forge_summary(answer),
            FaultKind::RowsBeforeCursor => {
                let mut head = filter.clone();
                head.until = None;
                head.raw.remove("until");
                head.raw.remove("before_id");
                if let Ok(front) = self.window(&head, me, settings)? {
                    answer.events = front.events;
                }
                Ok(())
            }
            _ => self.damage_bounds(answer, fault, filter),
        }
    }

    fn damage_bounds(&mut self, answer: &mut Answer, fault: FaultKind, filter: &Filter) -> anyhow::Result<()> {
        let Some(at) = answer.overlays.iter().position(|o| o.kind == 39006) else { return Ok(()) };
        let honest = answer.overlays.remove(at);
        let (channel, now) = (honest.tag("h").unwrap_or_default().to_owned(), honest.created_at);
        let content: Value = serde_json::from_str(&honest.content)?;
        let some = (1, "0".repeat(64));
        let own = filter.until.map(|at| {
            (at, filter.raw.get("before_id").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase())
        });
        let resign =
            |d: &str, content: &str| self.keys.sign(now, 39006, vec![pair("d", d), pair("h", &channel)], content);
        let d = honest.tag("d").unwrap_or_default();
        let bounds = match fault {
            FaultKind::NoBounds => vec![],
            FaultKind::TwoBounds => {
                let more = content["has_more"] != json!(true);
                vec![honest.clone(), resign(d, &bounds_content(more, more.then_some(&some), false))]
            }
            FaultKind::BoundsWrongCursor => vec![resign(&binding(&channel, Some(&some)), &honest.content)],
            FaultKind::BoundsWrongSigner => vec![stranger()?.sign(now, 39006, honest.tags.clone(), &*honest.content)],
            FaultKind::BoundsInconsistent if content["has_more"] == json!(true) => {
                vec![resign(d, &bounds_content(true, None, false))]
            }
            FaultKind::BoundsInconsistent => vec![resign(d, &bounds_content(false, Some(&some), false))],
            _ => vec![resign(d, &bounds_content(true, own.as_ref(), false))],
        };
        answer.overlays.extend(bounds);
        Ok(())
    }

    /// Replaces the summaries by a stranger's; without any, the first row gets one.
    fn forge_summary(&mut self, answer: &mut Answer) -> anyhow::Result<()> {
        let keys = stranger()?;
        let now = self.now();
        let content =
            json!({ "descendant_count": 40, "last_reply_at": now, "participants": [], "reply_count": 40 }).to_string();
        let mut forged = false;
        for overlay in answer.overlays.iter_mut().filter(|o| o.kind == 39005) {
            *overlay = keys.sign(overlay.created_at, 39005, overlay.tags.clone(), content.clone());
            forged = true;
        }
        if forged {
            return Ok(());
        }
        let channel = answer.overlays.first().and_then(|o| o.tag("h")).unwrap_or_default().to_owned();
        let Some(row) = answer.events.first().and_then(|text| Event::parse(text).ok()) else { return Ok(()) };
        let tags = vec![pair("e", &row.id), pair("d", &row.id), pair("h", &channel)];
        answer.overlays.insert(0, keys.sign(now, 39005, tags, content));
        Ok(())
    }

    /// Lets a snapshot fault strike.
    pub(crate) fn damage_snapshot(&mut self, snapshot: &mut Snapshot, label: Option<&str>) {
        let mut kinds = vec![FaultKind::SnapshotIncomplete, FaultKind::SnapshotOtherCommunity];
        if !snapshot.events.is_empty() {
            kinds.push(FaultKind::SnapshotForged);
        }
        match self.faults.strike(&kinds, label) {
            Some(FaultKind::SnapshotIncomplete) => snapshot.complete = false,
            Some(FaultKind::SnapshotOtherCommunity) => {
                snapshot.community_id = "00000000-0000-4000-8000-000000000001".into();
            }
            Some(FaultKind::SnapshotForged) => snapshot.texts[0] = damage_signature(&snapshot.events[0]),
            _ => {}
        }
    }
}
