//! Reads steps and expectations.
//!
//! A step takes exactly the keys its word uses; a key that belongs to another word would be ignored, so it is a fault.

use std::collections::BTreeMap;
use std::str::FromStr as _;

use waggle_test_relay::faults::FaultKind;

use crate::driver::{Code, DiskFault};
use crate::json::{At, Fields, Read};
use crate::read::{Known, read_event, relay_set};
use crate::scenario::{
    Action, COUNTERS, Check, Expect, FaultSpec, ItemCheck, KeyRef, PlaceRef, RelayCheck, RowCheck, Show, SidebarCheck,
    Step, SyncCheck, TargetRef, TimelineCheck, UnreadCheck, Value,
};

pub(crate) fn read_step(at: &At<'_>, known: &mut Known) -> Read<Step> {
    let fields = at.object()?;
    let word = fields.need("do")?;
    let name = word.string()?;
    fields.get("note", At::string)?;
    let on = fields.get("on", |at| known.device(at))?.unwrap_or_else(|| known.devices[0].clone());
    let fails = fields.get("fails", |at| {
        let text = at.string()?;
        Code::named(&text).map_or_else(|| at.fault(format!("unknown code {text:?}")), Ok)
    })?;
    let Some(action) = action(&name, &fields, known)? else { return word.fault(format!("unknown step {name:?}")) };
    fields.finish()?;
    Ok(Step { word: name, on, fails, action })
}

/// The action of a word; none when there is no such word.
fn action(word: &str, fields: &Fields<'_>, known: &mut Known) -> Read<Option<Action>> {
    if let Some(action) = plain(word) {
        return Ok(Some(action));
    }
    if let Some(action) = viewing(word, fields, known)? {
        return Ok(Some(action));
    }
    if let Some(action) = marking(word, fields, known)? {
        return Ok(Some(action));
    }
    let channel = |fields: &Fields<'_>, known: &Known| known.channel(&fields.need("channel")?);
    Ok(Some(match word {
        "advance" => Action::Advance { ms: advance(fields)? },
        "clock" => Action::Clock { offset: fields.need("offset")?.integer()? },
        "post" => {
            let quiet = fields.get("quiet", At::boolean)?.unwrap_or(false);
            let event = Box::new(read_event(&fields.need("event")?, known, false)?);
            Action::Post { event, quiet }
        }
        "hold" => {
            let what = fields.need("what")?;
            match what.string()?.as_str() {
                "save" => Action::Hold,
                other => return what.fault(format!("nothing called {other:?} can be held")),
            }
        }
        "fault" => Action::Fault {
            fault: fault(&fields.need("fault")?)?,
            times: fields.get("times", |at| at.count(1))?.unwrap_or(1),
            skip: fields.get("skip", |at| at.count(0))?.unwrap_or(0),
        },
        "grant" => Action::Grant { person: fields.need("person")?.string()?, channel: channel(fields, known)? },
        "revoke" => Action::Revoke { person: fields.need("person")?.string()?, channel: channel(fields, known)? },
        "set_type" => {
            Action::SetType { channel: channel(fields, known)?, kind: fields.need("type")?.word("channel type")? }
        }
        "relay" => Action::Relay(relay_set(&fields.need("set")?)?),
        "expect" => Action::Expect(expect(fields, known)?),
        _ => return Ok(None),
    }))
}

/// Steps without keys of their own.
fn plain(word: &str) -> Option<Action> {
    Some(match word {
        "start" => Action::Start,
        "stop" => Action::Stop,
        "kill" => Action::Kill,
        "restart" => Action::Restart,
        "backup" => Action::Backup,
        "restore" => Action::Restore,
        "wipe_cache" => Action::WipeCache,
        "ensure" => Action::Ensure,
        "refresh" => Action::Refresh,
        "retry_sync" => Action::RetrySync,
        "flush" => Action::Flush,
        "settle_lookups" => Action::SettleLookups,
        "mark_all_read" => Action::MarkAllRead,
        "release" => Action::Release,
        "offline" => Action::Network { online: false },
        "online" => Action::Network { online: true },
        "suspend" => Action::Suspend,
        "resume" => Action::Resume,
        "leave" => Action::Leave,
        _ => return None,
    })
}

fn place(fields: &Fields<'_>, known: &Known) -> Read<PlaceRef> {
    let channel = known.channel(&fields.need("channel")?)?;
    Ok(PlaceRef { channel, root: fields.get("thread", |at| known.message(at))? })
}

/// Timelines and surfaces.
fn viewing(word: &str, fields: &Fields<'_>, known: &Known) -> Read<Option<Action>> {
    Ok(Some(match word {
        "open" => Action::Open { place: place(fields, known)?, limit: fields.get("limit", |at| at.count(1))? },
        "older" => Action::Older { place: place(fields, known)? },
        "close" => Action::Close { place: place(fields, known)? },
        "hide" => Action::Hide { place: place(fields, known)? },
        "show" => Action::Show(show(fields, known)?),
        "read" => Action::Read(show(fields, known)?),
        _ => return Ok(None),
    }))
}

fn show(fields: &Fields<'_>, known: &Known) -> Read<Show> {
    Ok(Show {
        place: place(fields, known)?,
        rows: fields.get("rows", |at| at.list(|row| known.message(&row)))?.unwrap_or_default(),
        bottom: fields.get("bottom", |at| known.message(at))?,
        active: fields.get("active", At::boolean)?.unwrap_or(true),
        settled: fields.get("settled", At::boolean)?.unwrap_or(true),
    })
}

/// Explicit actions.
fn marking(word: &str, fields: &Fields<'_>, known: &Known) -> Read<Option<Action>> {
    let channel = || known.channel(&fields.need("channel")?);
    let value = || fields.need("value")?.boolean();
    Ok(Some(match word {
        "mark_through" => Action::MarkThrough {
            target: step_target(fields, known)?,
            message: known.message(&fields.need("message")?)?,
        },
        "mark_channel_read" => Action::MarkChannelRead { channel: channel()? },
        "mark_unread" => Action::MarkUnread { target: step_target(fields, known)? },
        "clear_unread" => Action::ClearUnread { target: step_target(fields, known)? },
        "follow" => {
            Action::Follow { channel: channel()?, root: known.message(&fields.need("root")?)?, value: value()? }
        }
        "mute" => Action::Mute { channel: channel()?, value: value()? },
        "present_as" => Action::PresentAs { channel: channel()?, class: fields.need("class")?.word("class")? },
        _ => return Ok(None),
    }))
}

/// The target of a step, whose channel may stand within it or beside it.
fn step_target(fields: &Fields<'_>, known: &Known) -> Read<TargetRef> {
    let target = target(&fields.need("target")?, known)?;
    let beside = fields.get("channel", |at| known.channel(at))?;
    Ok(match target {
        TargetRef::Thread(root, None) => TargetRef::Thread(root, beside),
        TargetRef::Message(message, None) => TargetRef::Message(message, beside),
        other => match beside {
            Some(_) => return fields.at().fault("the target names its channel itself"),
            None => other,
        },
    })
}

fn target(at: &At<'_>, known: &Known) -> Read<TargetRef> {
    if let crate::json::Json::String(_) = at.json {
        return known.channel(at).map(TargetRef::Channel);
    }
    let fields = at.object()?;
    let channel = fields.get("channel", |at| known.channel(at))?;
    let thread = fields.get("thread", |at| known.message(at))?;
    let message = fields.get("message", |at| known.message(at))?;
    fields.finish()?;
    match (thread, message, channel) {
        (Some(root), None, channel) => Ok(TargetRef::Thread(root, channel)),
        (None, Some(message), channel) => Ok(TargetRef::Message(message, channel)),
        (None, None, Some(channel)) => Ok(TargetRef::Channel(channel)),
        _ => at.fault("expected a channel, {\"thread\": …} or {\"message\": …}"),
    }
}

fn advance(fields: &Fields<'_>) -> Read<u64> {
    let part = |key, unit: i64| -> Read<Option<i64>> {
        fields.get(key, |at| {
            let n = at.at_least(0)?;
            n.checked_mul(unit).map_or_else(|| at.fault("too long"), Ok)
        })
    };
    match (part("s", 1000)?, part("ms", 1)?) {
        (None, None) => fields.at().fault("needs \"s\" or \"ms\""),
        (s, ms) => {
            let sum = s.unwrap_or(0).saturating_add(ms.unwrap_or(0));
            Ok(u64::try_from(sum).unwrap_or_default())
        }
    }
}

fn fault(at: &At<'_>) -> Read<FaultSpec> {
    let name = at.string()?;
    match name.as_str() {
        "disk_full" => Ok(FaultSpec::Disk(DiskFault::DiskFull)),
        "disk_io_error" => Ok(FaultSpec::Disk(DiskFault::DiskIoError)),
        _ => match FaultKind::from_str(&name) {
            Ok(kind) => Ok(FaultSpec::Relay(kind)),
            Err(_) => at.fault(format!("unknown fault {name:?}")),
        },
    }
}

fn expect(fields: &Fields<'_>, known: &Known) -> Read<Expect> {
    let mut expect = Expect { within_ms: fields.get("within", within)?.unwrap_or(0), checks: Vec::new() };
    let mut add = |key: &str, read: &mut dyn FnMut(&At<'_>) -> Read<Check>| -> Read<()> {
        if let Some(at) = fields.take(key) {
            expect.checks.extend(at.one_or_many(|at| read(&at))?);
        }
        Ok(())
    };
    add("unread", &mut |at| unread(at, known))?;
    add("timeline", &mut |at| timeline(at, known))?;
    add("thread", &mut |at| {
        let check = timeline(at, known)?;
        match &check {
            Check::Timeline(t) if t.place.root.is_none() => at.fault("needs \"root\""),
            _ => Ok(check),
        }
    })?;
    add("activity", &mut |at| activity(at, known))?;
    add("sidebar", &mut |at| sidebar(at, known))?;
    add("following", &mut |at| following(at, known))?;
    if let Some(at) = fields.take("journal") {
        expect.checks.push(Check::Journal(keys(&at, known)?));
    }
    if let Some(at) = fields.take("sync") {
        expect.checks.push(sync(&at)?);
    }
    if let Some(at) = fields.take("relay") {
        expect.checks.push(relay(&at, known)?);
    }
    if expect.checks.is_empty() { fields.at().fault("expects nothing") } else { Ok(expect) }
}

fn within(at: &At<'_>) -> Read<u64> {
    let fields = at.object()?;
    let seconds = fields.need("s")?.count(0)?;
    fields.finish()?;
    Ok(u64::from(seconds) * 1000)
}

fn number(at: &At<'_>) -> Read<Option<u32>> {
    at.nullable(|at| at.count(0))
}

fn unread(at: &At<'_>, known: &Known) -> Read<Check> {
    let fields = at.object()?;
    let check = UnreadCheck {
        target: target(&fields.need("target")?, known)?,
        observed: fields.get("observed", number)?,
        attention: fields.get("attention", number)?,
        manual: fields.get("manual", |at| at.word("word"))?,
        pending: fields.get("pending", At::boolean)?,
        latest: fields.get("latest", |at| at.nullable(|at| known.message(at)))?,
        coverage: fields.get("coverage", |at| at.word("word"))?,
        freshness: fields.get("freshness", |at| at.word("word"))?,
        error: fields.get("error", At::boolean)?,
    };
    fields.finish()?;
    Ok(Check::Unread(check))
}

fn timeline(at: &At<'_>, known: &Known) -> Read<Check> {
    let fields = at.object()?;
    let channel = known.channel(&fields.need("channel")?)?;
    let mut check = TimelineCheck {
        place: PlaceRef { channel, root: fields.get("root", |at| known.message(at))? },
        rows: fields.get("rows", |at| at.list(|row| known.message(&row)))?,
        count: fields.get("count", |at| at.count(0))?.map(|n| n as usize),
        more: fields.get("more", |at| at.word("word"))?,
        gap: fields.get("gap", At::boolean)?,
        first_unread: fields.get("first_unread", |at| at.nullable(|at| known.message(at)))?,
        row: Vec::new(),
    };
    if let Some(at) = fields.take("row") {
        for (name, at) in at.object()?.entries() {
            if !known.refs.contains(&name) {
                return at.fault(format!("unknown ref {name:?}"));
            }
            check.row.push((name, row(&at)?));
        }
    }
    fields.finish()?;
    Ok(Check::Timeline(check))
}

fn row(at: &At<'_>) -> Read<RowCheck> {
    let fields = at.object()?;
    let check = RowCheck {
        text: fields.get("text", At::string)?,
        edited: fields.get("edited", At::boolean)?,
        replies: fields.get("replies", |at| at.count(0))?,
        reactions: fields.get("reactions", |at| {
            at.object()?
                .entries()
                .into_iter()
                .map(|(emoji, n)| Ok((emoji, n.count(0)?)))
                .collect::<Read<BTreeMap<_, _>>>()
        })?,
        thread_dot: fields.get("thread_dot", At::boolean)?,
    };
    fields.finish()?;
    Ok(check)
}

fn activity(at: &At<'_>, known: &Known) -> Read<Check> {
    let fields = at.object()?;
    let channel = known.channel(&fields.need("channel")?)?;
    let items = fields.get("items", |at| at.nullable(|at| at.list(|item| activity_item(&item, known))))?;
    fields.finish()?;
    Ok(Check::Activity { channel, items })
}

fn activity_item(at: &At<'_>, known: &Known) -> Read<ItemCheck> {
    let fields = at.object()?;
    let item = ItemCheck {
        root: fields.get("root", |at| known.message(at))?,
        latest: fields.get("latest", |at| known.message(at))?,
        count: fields.get("count", |at| at.count(0))?,
    };
    fields.finish()?;
    Ok(item)
}

fn sidebar(at: &At<'_>, known: &Known) -> Read<Check> {
    let fields = at.object()?;
    let check = SidebarCheck {
        channel: known.channel(&fields.need("channel")?)?,
        strong: fields.get("strong", At::boolean)?,
        dot: fields.get("dot", At::boolean)?,
        bell: fields.get("bell", At::boolean)?,
        listed: fields.get("listed", At::boolean)?,
        counted: fields.get("counted", At::boolean)?,
    };
    fields.finish()?;
    Ok(Check::Sidebar(check))
}

fn following(at: &At<'_>, known: &Known) -> Read<Check> {
    let fields = at.object()?;
    let check = Check::Following {
        channel: known.channel(&fields.need("channel")?)?,
        root: known.message(&fields.need("root")?)?,
        value: fields.need("value")?.boolean()?,
    };
    fields.finish()?;
    Ok(check)
}

fn keys(at: &At<'_>, known: &Known) -> Read<Vec<(KeyRef, Value)>> {
    at.object()?.entries().into_iter().map(|(key, at)| Ok((known.key(&key, &at)?, known.value(&at)?))).collect()
}

fn sync(at: &At<'_>) -> Read<Check> {
    let fields = at.object()?;
    let check = SyncCheck {
        state: fields.get("state", |at| at.word("word"))?,
        completeness: fields.get("completeness", |at| at.word("word"))?,
        pending: fields.get("pending", At::boolean)?,
        capability: fields.get("capability", |at| at.word("word"))?,
    };
    fields.finish()?;
    Ok(Check::Sync(check))
}

fn relay(at: &At<'_>, known: &Known) -> Read<Check> {
    let fields = at.object()?;
    let mut check = RelayCheck {
        keys: fields.get("keys", |at| keys(at, known))?.unwrap_or_default(),
        counters: Vec::new(),
        evidence_channels: fields.get("evidence_channels", |at| at.list(|n| Ok(n.count(0)? as usize)))?,
    };
    for name in COUNTERS {
        if let Some(n) = fields.get(name, |at| at.count(0))? {
            check.counters.push((name, n.into()));
        }
    }
    fields.finish()?;
    Ok(Check::Relay(check))
}
