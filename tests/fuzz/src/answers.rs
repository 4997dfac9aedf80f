//! Answers to the read of a channel's or a thread's page, into an open timeline.

use waggle::clock::{Millis, Now};
use waggle::event::{FoldFacts, Verifier};
use waggle::ids::{ChannelId, EventId, PublicKey};
use waggle::model::More;
use waggle::relay::protocol;
use waggle::request::{Answer, Outbox, Outcome, Priority, Purpose, Request};
use waggle::window::{CallToken, RelayFacts, TimelineKey, Windows};
use waggle_scenarios::names::channel_id;

use crate::templates::{PEOPLE, events};

struct Facts(PublicKey);

impl FoldFacts for Facts {
    fn relay(&self) -> Option<&PublicKey> {
        Some(&self.0)
    }

    fn is_channel_admin(&self, _: ChannelId, _: &PublicKey) -> bool {
        false
    }

    fn retained(&self, _: &EventId) -> bool {
        false
    }
}

fn key(person: usize) -> Option<PublicKey> {
    PublicKey::parse(&PEOPLE.get(person)?.public()).ok()
}

/// The first byte says which timeline and how it is answered; then answers, one a line: templates, or the body itself.
pub(crate) fn run(data: &[u8]) {
    let Some((mode, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return differs(rest) };
    let _ = timeline(*mode, text);
}

fn timeline(mode: u8, text: &str) -> Option<()> {
    let (relay, me) = (key(0)?, key(1)?);
    let channel = ChannelId::parse(&channel_id("general")).ok()?;
    let at = if mode & 1 == 0 { TimelineKey::channel(channel) } else { TimelineKey::thread(channel, EventId([1; 32])) };
    let (verifier, facts, mut windows, mut out) = (Verifier::new(), Facts(relay), Windows::new(me), Outbox::default());
    let self_key = (mode & 2 == 0).then_some(relay);
    windows.on_connected(
        RelayFacts { self_key, secure_or_loopback: mode & 4 == 0, thread_replies_in_channel: mode & 8 != 0 },
        &mut out,
    );
    windows.take_restores();
    windows.open(at, Some(u32::from(mode >> 4)), CallToken(1), &mut out);
    windows.restored(&at, Vec::new(), &facts, &mut out);
    let now = Now { mono: Millis(0), wall: 1_751_500_000 };
    for (turn, line) in text.split('\n').take(8).enumerate() {
        let body = match events(line) {
            Some(events) => format!("[{}]", events.join(",")),
            None => line.to_owned(),
        };
        differs(body.as_bytes());
        let before = shown(&windows, &at);
        let Some((id, request)) = out.sent.first().cloned() else {
            // Nothing is asked for: the line comes live, and then the next page is asked for.
            if let Some(batch) = verifier.batch(body.as_bytes()) {
                batch.events.iter().for_each(|event| windows.on_live(event, &facts));
            }
            windows.load_older(at, CallToken(turn as u64 + 2), &mut out);
            holds(&windows, &at, channel);
            continue;
        };
        out.sent.remove(0);
        let outcome: Outcome = protocol::decode(body.as_bytes(), &request, &verifier);
        let failed = outcome.is_err();
        windows.on_answer(id, &outcome, &facts, now, &mut out);
        if failed {
            assert_eq!(shown(&windows, &at), before, "what is no answer changes nothing");
        }
        windows.take_done();
        windows.take_changed();
        holds(&windows, &at, channel);
    }
    Some(())
}

fn shown(windows: &Windows, key: &TimelineKey) -> Vec<EventId> {
    windows.view(key).map(|view| view.order().iter().map(|k| k.id).collect()).unwrap_or_default()
}

/// Rows stand in order, each once, each in its channel; only the bounds end history.
fn holds(windows: &Windows, key: &TimelineKey, channel: ChannelId) {
    let Some(view) = windows.view(key) else { return };
    let order = view.order();
    let rows = if key.root.is_some() { order.split_last().map_or(order, |(_, rest)| rest) } else { order };
    assert!(rows.windows(2).all(|pair| pair[0] < pair[1]), "rows are in order, each once");
    for row in order {
        let event = view.row(&row.id);
        assert!(event.is_none_or(|e| e.channel() == Some(channel)), "a row is the channel's");
    }
    assert!(view.gap().is_none_or(|gap| gap <= order.len()));
    assert!(view.more() != More::No || !view.restored(), "the end is known from this connection");
}

/// Two ways to read an array of events agree: in one pass, and one by one.
fn differs(body: &[u8]) {
    let request = Request::query(Purpose::Head, Priority::Foreground, Vec::new());
    let whole = protocol::decode(body, &request, &Verifier::new());
    let single = Verifier::new().batch(body);
    match (whole, single) {
        (Ok(Answer::Events(whole)), Some(single)) => {
            assert!(whole.events == single.events, "both ways take the same events");
            let kinds = |batch: &waggle::event::Batch| batch.rejected.iter().map(|r| r.kind).collect::<Vec<_>>();
            assert_eq!(kinds(&whole), kinds(&single), "both ways drop the same items");
        }
        (Err(_), None) => {}
        (Ok(_), None) => panic!("an answer that is no array"),
        (Ok(_), Some(_)) => panic!("an answer of another sort"),
        (Err(_), Some(single)) => {
            let items = single.events.len() + single.rejected.len();
            assert!(items >= waggle::limits::ANSWER_ITEMS, "an array that was refused");
        }
    }
}
