//! Frames from clients on a WebSocket: AUTH, REQ, EVENT, COUNT, CLOSE.
//!
//! Order of checks: frame size → shape (NOTICE) → authentication → quota → gates → channel cap → access → work.
//! One AUTH attempt per connection, whatever its outcome. A rate-limited EVENT is answered by a NOTICE, never an OK.

use std::collections::HashSet;

use serde_json::value::RawValue;

use crate::{
    event::{Event, quoted},
    faults::FaultKind,
    filter::{Filter, explicit_channels},
    ingest::{Intake, Verdict, Via},
    live::{EXPLICIT_CHANNELS, Scope, scope_of},
    quota::{Traffic, exceeded},
    socket::{Auth, Sub},
    state::State,
};

const MAX_FRAME: usize = 512 * 1024;
const MAX_SUBS: usize = 1024;
const MAX_FILTERS: usize = 10;
const MAX_SUB_ID: usize = 256;

/// A REQ or COUNT taken apart.
struct Ask {
    name: String,
    filters: Vec<Filter>,
}

fn bad(what: impl std::fmt::Display) -> String {
    format!("invalid message: Invalid message format: {what}")
}

/// Reads name and filters of a REQ or COUNT.
fn ask(verb: &str, parts: &[Box<RawValue>]) -> Result<Ask, String> {
    let name: String = parts
        .get(1)
        .and_then(|p| serde_json::from_str(p.get()).ok())
        .ok_or_else(|| bad(format!("{verb} requires a sub_id")))?;
    if name.is_empty() {
        return Err(bad(format!("{verb} sub_id must not be empty")));
    }
    if name.len() > MAX_SUB_ID {
        return Err(bad(format!("{verb} sub_id exceeds maximum length of {MAX_SUB_ID} bytes")));
    }
    let raw = &parts[2..];
    if raw.is_empty() {
        return Err(bad(format!("{verb} requires at least one filter")));
    }
    if raw.len() > MAX_FILTERS {
        return Err(bad(format!("{verb} contains {} filters, maximum is {MAX_FILTERS}", raw.len())));
    }
    let filters = raw.iter().map(|p| {
        let value = serde_json::from_str(p.get()).map_err(|e| bad(format!("JSON parse error: {e}")))?;
        Filter::read(&value).map_err(|e| bad(format!("invalid filter: {e}")))
    });
    Ok(Ask { name, filters: filters.collect::<Result<_, _>>()? })
}

/// Strips what an AUTH `relay` tag may vary in: a trailing slash, and which loopback name is used.
fn origin(url: &str) -> String {
    let url = url.trim_end_matches('/').to_ascii_lowercase();
    url.replace("://localhost", "://127.0.0.1").replace("://[::1]", "://127.0.0.1")
}

impl State {
    /// Works on one text frame.
    pub(crate) fn frame(&mut self, conn: u64, text: &str) {
        if text.len() > MAX_FRAME {
            self.counters.refuse("frame too large");
            self.hang_up(conn, None);
            return;
        }
        let parts: Vec<Box<RawValue>> = match serde_json::from_str(text) {
            Ok(parts) => parts,
            Err(e) => return self.notice_bad(conn, bad(format!("JSON parse error: {e}"))),
        };
        let verb: String = parts.first().and_then(|p| serde_json::from_str(p.get()).ok()).unwrap_or_default();
        match verb.as_str() {
            "AUTH" => self.on_auth(conn, &parts),
            "EVENT" => self.on_event(conn, &parts),
            "REQ" => self.on_req(conn, &parts),
            "COUNT" => self.on_count(conn, &parts),
            "CLOSE" => self.on_close(conn, &parts),
            other => self.notice_bad(conn, bad(format!("unknown message type: {other}"))),
        }
    }

    fn notice_bad(&mut self, conn: u64, text: String) {
        self.counters.refuse(&text);
        self.send(conn, format!(r#"["NOTICE",{}]"#, quoted(&text)));
    }

    fn closed(&mut self, conn: u64, name: &str, why: &str) {
        self.counters.refuse(why);
        self.send(conn, format!(r#"["CLOSED",{},{}]"#, quoted(name), quoted(why)));
    }

    fn ok(&mut self, conn: u64, id: &str, good: bool, why: &str) {
        if !good {
            self.counters.refuse(why);
        }
        self.send(conn, format!(r#"["OK",{},{good},{}]"#, quoted(id), quoted(why)));
    }

    fn pubkey_of(&self, conn: u64) -> Option<String> {
        self.conns.get(&conn).and_then(|c| c.pubkey()).map(str::to_owned)
    }

    fn label_of(&self, conn: u64) -> Option<String> {
        self.conns.get(&conn).and_then(|c| c.label.clone())
    }

    fn on_auth(&mut self, conn: u64, parts: &[Box<RawValue>]) {
        let Some(event) = parts.get(1).and_then(|p| Event::parse(p.get()).ok()) else {
            return self.notice_bad(conn, bad("AUTH requires an event"));
        };
        let Some(state) = self.conns.get(&conn) else { return };
        match state.auth {
            Auth::In(_) => return self.ok(conn, &event.id, false, "auth-required: already authenticated"),
            Auth::Failed => return self.ok(conn, &event.id, false, "auth-required: authentication already failed"),
            Auth::Waiting => {}
        }
        let scheme = if self.secure { "wss" } else { "ws" };
        let good = event.kind == 22242
            && event.tag("challenge") == Some(&state.challenge)
            && event.tag("relay").is_some_and(|r| origin(r) == origin(&format!("{scheme}://{}", self.host)))
            && self.now().abs_diff(event.created_at) <= 60
            && event.computed_id() == event.id
            && event.signature_is_valid();
        let member = self.community_role(&event.pubkey).is_some();
        let auth = if good && member { Auth::In(event.pubkey.clone()) } else { Auth::Failed };
        if let Some(state) = self.conns.get_mut(&conn) {
            state.auth = auth;
        }
        match (good, member) {
            (false, _) => self.ok(conn, &event.id, false, "auth-required: verification failed"),
            (true, false) => self.ok(conn, &event.id, false, "restricted: not a relay member"),
            (true, true) => self.ok(conn, &event.id, true, ""),
        }
    }

    /// The refusal of a frame by quota or by a rate-limit fault; the flag says whether it counts as a refusal.
    fn throttled(&mut self, conn: u64, me: &str, event: bool) -> Option<(String, bool)> {
        let label = self.label_of(conn);
        if self.faults.strike(&[FaultKind::RateLimited], label.as_deref()).is_some() {
            return Some((exceeded(30), false));
        }
        if !self.settings.quotas {
            return None;
        }
        let now = self.now_ms;
        let frames = self.quotas.admit(me, Traffic::Frames, now);
        let admitted = frames.and_then(|()| if event { self.quotas.admit(me, Traffic::Events, now) } else { Ok(()) });
        admitted.err().map(|why| (why, true))
    }

    fn on_event(&mut self, conn: u64, parts: &[Box<RawValue>]) {
        let event = match parts.get(1).map(|p| Event::parse(p.get())) {
            Some(Ok(event)) => event,
            Some(Err(e)) => return self.notice_bad(conn, bad(format!("invalid event: {e}"))),
            None => return self.notice_bad(conn, bad("EVENT requires an event")),
        };
        let Some(me) = self.pubkey_of(conn) else {
            return self.ok(conn, &event.id, false, "auth-required: not authenticated");
        };
        if let Some((why, own)) = self.throttled(conn, &me, true) {
            if own {
                self.counters.refuse(&why);
            }
            return self.send(conn, format!(r#"["NOTICE",{}]"#, quoted(&why)));
        }
        let label = self.label_of(conn);
        let fault = if event.kind == 30078 { self.faults.strike(&PUBLISH_FAULTS, label.as_deref()) } else { None };
        if let Some(text) = fault.and_then(refusal_of) {
            return self.send(conn, format!(r#"["OK",{},false,{}]"#, quoted(&event.id), quoted(text)));
        }
        let id = event.id.clone();
        let held = std::mem::take(&mut self.outbox);
        let verdict = self.submit(event, &me, &Intake { via: Via::Socket, label, arrival: self.now() });
        // The OK goes first, then what the event set in motion.
        let caused = std::mem::replace(&mut self.outbox, held);
        if fault != Some(FaultKind::PublishLost) {
            self.answer_event(conn, &id, verdict);
        }
        self.outbox.extend(caused);
    }

    fn answer_event(&mut self, conn: u64, id: &str, verdict: anyhow::Result<Verdict>) {
        match verdict {
            Ok(Verdict::Accepted(message)) => self.ok(conn, id, true, &message),
            Ok(Verdict::Declined(message) | Verdict::Refused(_, message)) => self.ok(conn, id, false, &message),
            Err(_) => self.ok(conn, id, false, "error: internal server error"),
        }
    }

    fn on_req(&mut self, conn: u64, parts: &[Box<RawValue>]) {
        let Ask { name, filters } = match ask("REQ", parts) {
            Ok(ask) => ask,
            Err(text) => return self.notice_bad(conn, text),
        };
        let Some(me) = self.pubkey_of(conn) else {
            self.send(conn, r#"["NOTICE","auth-required: authenticate before subscribing"]"#.into());
            return self.closed(conn, &name, "auth-required: not authenticated");
        };
        if let Some((why, own)) = self.throttled(conn, &me, false) {
            if own {
                self.counters.refuse(&why);
            }
            return self.send(conn, format!(r#"["CLOSED",{},{}]"#, quoted(&name), quoted(&why)));
        }
        match self.admit_req(conn, &name, &filters, &me) {
            Ok(scope) => self.subscribe(conn, name, filters, scope, &me),
            Err(why) => self.closed(conn, &name, why),
        }
    }

    /// The scope a REQ gets, or why it is refused.
    fn admit_req(&self, conn: u64, name: &str, filters: &[Filter], me: &str) -> Result<Scope, &'static str> {
        let Some(state) = self.conns.get(&conn) else { return Err("error: connection is gone") };
        if let Some(gate) = filters.iter().find_map(|f| f.gate(me, false)) {
            return Err(gate);
        }
        if !state.settings.is_august() && explicit_channels(filters) > EXPLICIT_CHANNELS {
            return Err("restricted: too many explicit channels");
        }
        if !state.subs.contains_key(name) && state.subs.len() >= MAX_SUBS {
            return Err("error: too many subscriptions");
        }
        let mut scope = scope_of(filters, &state.settings);
        if let Scope::Channels(set) = &mut scope {
            set.retain(|c| self.can_read(me, c));
            if set.is_empty() {
                return Err("restricted: not a channel member");
            }
        }
        Ok(scope)
    }

    fn subscribe(&mut self, conn: u64, name: String, filters: Vec<Filter>, scope: Scope, me: &str) {
        self.counters.subscriptions += 1;
        let Some(state) = self.conns.get(&conn) else { return };
        let (settings, label) = (state.settings.clone(), state.label.clone());
        let mut seen = HashSet::new();
        for filter in &filters {
            for stored in self.plain_rows(filter, me, &settings, true).unwrap_or_default() {
                if seen.insert(stored.event.id.clone()) {
                    self.send(conn, format!(r#"["EVENT",{},{}]"#, quoted(&name), stored.event.json));
                }
            }
        }
        if self.faults.strike(&[FaultKind::NoEose], label.as_deref()).is_none() {
            self.send(conn, format!(r#"["EOSE",{}]"#, quoted(&name)));
        }
        let once = filters.iter().any(|f| f.search.is_some());
        if let Some(state) = self.conns.get_mut(&conn)
            && !once
        {
            state.subs.insert(name, Sub { filters, scope });
        }
    }

    fn on_count(&mut self, conn: u64, parts: &[Box<RawValue>]) {
        let Ask { name, filters } = match ask("COUNT", parts) {
            Ok(ask) => ask,
            Err(text) => return self.notice_bad(conn, text),
        };
        let Some(me) = self.pubkey_of(conn) else {
            return self.closed(conn, &name, "auth-required: not authenticated");
        };
        if let Some((why, own)) = self.throttled(conn, &me, false) {
            if own {
                self.counters.refuse(&why);
            }
            return self.send(conn, format!(r#"["NOTICE",{}]"#, quoted(&why)));
        }
        if let Err(why) = self.admit_req(conn, &name, &filters, &me) {
            return self.closed(conn, &name, why);
        }
        let settings = self.settings_of(conn);
        let count = self.count_rows(&filters, &me, &settings).unwrap_or(0);
        self.send(conn, format!(r#"["COUNT",{},{{"count":{count}}}]"#, quoted(&name)));
    }

    fn settings_of(&self, conn: u64) -> crate::Settings {
        self.conns.get(&conn).map_or_else(|| self.settings.clone(), |c| c.settings.clone())
    }

    fn on_close(&mut self, conn: u64, parts: &[Box<RawValue>]) {
        let Some(name) = parts.get(1).and_then(|p| serde_json::from_str::<String>(p.get()).ok()) else {
            return self.notice_bad(conn, bad("CLOSE requires a sub_id"));
        };
        if let Some(state) = self.conns.get_mut(&conn) {
            state.subs.remove(&name);
        }
        self.send(conn, format!(r#"["CLOSED",{},""]"#, quoted(&name)));
    }
}

/// The faults that strike publications.
pub(crate) const PUBLISH_FAULTS: [FaultKind; 3] =
    [FaultKind::PublishLost, FaultKind::PublishRefusedTimestamp, FaultKind::PublishRefused];

/// The refusal a publication fault answers with.
pub(crate) fn refusal_of(fault: FaultKind) -> Option<&'static str> {
    match fault {
        FaultKind::PublishRefusedTimestamp => Some(crate::ingest::TOO_FAR),
        FaultKind::PublishRefused => Some("restricted: insufficient scope"),
        _ => None,
    }
}
