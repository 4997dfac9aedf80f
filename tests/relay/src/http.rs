//! One HTTP exchange.
//!
//! Order: body size → host → NIP-98 → quota → replay → community membership → JSON → gates → access → work; on `/events`
//! the JSON is read before membership is looked at. Faults strike where the real failure would: a refusal before the work,
//! a lost or cut answer after it.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::json;

use crate::{
    event::Event,
    faults::{FaultKind, before_query},
    filter::{Filter, read_body},
    ingest::{Intake, Verdict, Via},
    purpose::{Purpose, of_filters},
    quota::{Traffic, exceeded},
    state::State,
    wire::{PUBLISH_FAULTS, refusal_of},
};

const MAX_BODY: usize = 1_048_576;

/// A request. Label and purpose travel beside it, never on the wire.
#[derive(Debug, Clone, Default)]
pub struct HttpRequest {
    /// `GET`, `POST` …
    pub method: String,
    /// Path, with its query string if any.
    pub path: String,
    /// Headers. Without a `host` the relay's own is assumed.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// The device that asks.
    pub label: Option<String>,
    /// Why it asks, when the transport knows.
    pub purpose: Option<Purpose>,
}

impl HttpRequest {
    /// A GET without headers.
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: "GET".into(), path: path.into(), ..Self::default() }
    }

    /// A POST without authorization.
    pub fn post(path: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { method: "POST".into(), path: path.into(), body: body.into(), ..Self::default() }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// Status code.
    pub status: u16,
    /// Headers in lower case, `date` and `content-length` among them.
    pub headers: Vec<(String, String)>,
    /// Body; shorter than `content-length` when [`Self::truncated`].
    pub body: Vec<u8>,
    /// Whether a fault cut the body off: a transport should report a broken connection.
    pub truncated: bool,
}

impl HttpResponse {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// The body as JSON, null when it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// The connection broke before an answer came (a fault).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost;

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection lost before an answer")
    }
}

impl std::error::Error for Lost {}

/// An answer on its way out.
struct Reply {
    status: u16,
    plain: bool,
    body: String,
    /// Whether a fault made it, so that it is no refusal of the relay's.
    faulty: bool,
    lost: bool,
    cut: bool,
}

impl Reply {
    fn ok(body: impl Into<String>) -> Self {
        Self { status: 200, plain: false, body: body.into(), faulty: false, lost: false, cut: false }
    }

    fn error(status: u16, text: &str) -> Self {
        Self { status, ..Self::ok(json!({ "error": text }).to_string()) }
    }

    fn fault(status: u16, text: &str) -> Self {
        Self { faulty: true, ..Self::error(status, text) }
    }
}

impl State {
    /// Answers a request and counts it.
    pub(crate) fn exchange(&mut self, request: &HttpRequest) -> Result<HttpResponse, Lost> {
        let path = request.path.split('?').next().unwrap_or_default().to_owned();
        let filters = if path == "/query" { read_body(&request.body) } else { Ok(Vec::new()) };
        let purpose = request.purpose.unwrap_or_else(|| shape(&request.method, &path, filters.as_deref()));
        self.counters.saw(purpose);
        if purpose == Purpose::Evidence {
            let channels = filters.as_ref().map_or(0, |f| crate::filter::explicit_channels(f));
            self.counters.evidence_channels.push(channels);
        }
        let reply = match (request.method.as_str(), path.as_str()) {
            _ if request.body.len() > MAX_BODY => {
                Reply { status: 413, plain: true, ..Reply::ok("length limit exceeded") }
            }
            ("GET", "/" | "/info") => {
                let settings = self.settings_for(request.label.as_deref());
                Reply::ok(self.discovery(&settings, self.is_mapped(request)).to_string())
            }
            ("GET", "/api/join-policy") => Reply::ok("{}"),
            ("GET", "/.well-known/nostr.json") => Reply::ok(r#"{"names":{},"relays":{}}"#),
            ("POST", "/query" | "/count" | "/events") => self.bridge(request, &path, purpose, filters),
            _ => Reply::error(404, "not found"),
        };
        self.flush();
        self.finish(reply)
    }

    fn finish(&mut self, reply: Reply) -> Result<HttpResponse, Lost> {
        if reply.lost {
            return Err(Lost);
        }
        if reply.status >= 400 && !reply.faulty {
            self.counters.refuse(&reply.body);
        }
        let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(self.now_ms));
        let kind = if reply.plain { "text/plain; charset=utf-8" } else { "application/json" };
        let headers = [
            ("content-type", kind.to_owned()),
            ("access-control-allow-origin", "*".to_owned()),
            ("content-length", reply.body.len().to_string()),
            ("date", date),
        ];
        let mut body = reply.body.into_bytes();
        if reply.cut {
            body.truncate(body.len() / 2);
        }
        let headers = headers.into_iter().map(|(n, v)| (n.to_owned(), v)).collect();
        Ok(HttpResponse { status: reply.status, headers, body, truncated: reply.cut })
    }

    /// Whether the request's host is this community's. Default ports are no part of a host.
    fn is_mapped(&self, request: &HttpRequest) -> bool {
        let Some(host) = request.header_value("host") else { return true };
        let plain = |h: &str| {
            let h = h.to_ascii_lowercase();
            h.strip_suffix(":443").or_else(|| h.strip_suffix(":80")).unwrap_or(&h).trim_end_matches('.').to_owned()
        };
        plain(host) == plain(&self.host)
    }

    fn bridge(
        &mut self,
        request: &HttpRequest,
        path: &str,
        purpose: Purpose,
        filters: Result<Vec<Filter>, String>,
    ) -> Reply {
        if !self.is_mapped(request) {
            return Reply::error(404, "relay: no community is configured for this host");
        }
        let header = request.header_value("authorization");
        let auth = match self.verify_auth(header, &request.method, path, &request.body) {
            Ok(auth) => auth,
            Err(text) => return Reply::error(401, &text),
        };
        let label = request.label.as_deref();
        let before = if path == "/query" { before_query(purpose) } else { vec![FaultKind::RateLimited] };
        match self.faults.strike(&before, label) {
            None => {}
            Some(FaultKind::RateLimited) => return Reply::fault(429, &exceeded(30)),
            Some(FaultKind::ReadbackEmpty) => return Reply { faulty: true, ..Reply::ok("[]") },
            Some(FaultKind::SnapshotUnavailable) => {
                return Reply::fault(503, "read_state_snapshot is unavailable; cannot prove complete");
            }
            Some(_) => return Reply::fault(500, "internal server error"),
        }
        if self.settings.quotas
            && let Err(text) = self.quotas.admit(&auth.pubkey, Traffic::Http, self.now_ms)
        {
            return Reply::error(429, &text);
        }
        if !self.burn_auth(&auth.id) {
            return Reply::error(401, "NIP-98: replay detected");
        }
        let done = match path {
            "/events" => self.on_publish(request, &auth.pubkey),
            _ if self.community_role(&auth.pubkey).is_none() => Ok(outsider()),
            "/query" => self.on_query(request, &auth.pubkey, filters),
            _ => self.on_count_request(request, &auth.pubkey),
        };
        done.unwrap_or_else(|_| Reply::error(500, "internal server error"))
    }

    fn on_publish(&mut self, request: &HttpRequest, me: &str) -> anyhow::Result<Reply> {
        let text = String::from_utf8_lossy(&request.body);
        let event = match Event::parse(&text) {
            Ok(event) => event,
            Err(e) => return Ok(Reply::error(400, &format!("invalid event JSON: {e}"))),
        };
        if self.community_role(me).is_none() {
            return Ok(outsider());
        }
        let label = request.label.as_deref();
        let fault = if event.kind == 30078 { self.faults.strike(&PUBLISH_FAULTS, label) } else { None };
        if let Some(text) = fault.and_then(refusal_of) {
            return Ok(Reply::fault(400, text));
        }
        let id = event.id.clone();
        let intake = Intake { via: Via::Http, label: request.label.clone(), arrival: self.now() };
        let reply = match self.submit(event, me, &intake)? {
            Verdict::Accepted(message) => Reply::ok(receipt(&id, true, &message)),
            Verdict::Declined(message) => {
                self.counters.refuse(&message);
                Reply::ok(receipt(&id, false, &message))
            }
            Verdict::Refused(status, text) => Reply::error(status, &text),
        };
        Ok(Reply { lost: fault == Some(FaultKind::PublishLost), ..reply })
    }

    fn on_query(
        &mut self,
        request: &HttpRequest,
        me: &str,
        filters: Result<Vec<Filter>, String>,
    ) -> anyhow::Result<Reply> {
        let filters = match filters {
            Ok(filters) => filters,
            Err(text) => return Ok(Reply::error(400, &format!("invalid filters: {text}"))),
        };
        let label = request.label.as_deref();
        let settings = self.settings_for(label);
        let mut reply = if !settings.is_august() && Self::asks_snapshot(&filters) {
            match self.snapshot(&filters, me)? {
                Ok(mut snapshot) => {
                    self.damage_snapshot(&mut snapshot, label);
                    Reply::ok(snapshot.body())
                }
                Err((status, text)) => Reply::error(status, &text),
            }
        } else {
            if let Err((status, text)) = self.admit_query(&filters, me, &settings) {
                return Ok(Reply::error(status, &text));
            }
            match self.answer(&filters, me, &settings)? {
                Ok(mut answers) => {
                    self.damage_windows(&filters, &mut answers, (me, label), &settings)?;
                    Reply::ok(flat(&answers))
                }
                Err((status, text)) => Reply::error(status, &text),
            }
        };
        reply.cut = reply.status == 200 && self.faults.strike(&[FaultKind::TruncatedBody], label).is_some();
        Ok(reply)
    }

    fn on_count_request(&mut self, request: &HttpRequest, me: &str) -> anyhow::Result<Reply> {
        let filters = match read_body(&request.body) {
            Ok(filters) => filters,
            Err(text) => return Ok(Reply::error(400, &format!("invalid filters: {text}"))),
        };
        let settings = self.settings_for(request.label.as_deref());
        if let Err((status, text)) = self.admit_query(&filters, me, &settings) {
            return Ok(Reply::error(status, &text));
        }
        let count = self.count_rows(&filters, me, &settings)?;
        Ok(Reply::ok(json!({ "count": count }).to_string()))
    }
}

/// The one flat array: for every filter its events, then its overlays.
fn flat(answers: &[crate::query::Answer]) -> String {
    let texts = answers.iter().flat_map(|a| {
        let overlays = a.overlays.iter().map(|o| &*o.json);
        a.events.iter().map(String::as_str).chain(overlays)
    });
    format!("[{}]", texts.collect::<Vec<_>>().join(","))
}

fn receipt(id: &str, accepted: bool, message: &str) -> String {
    json!({ "accepted": accepted, "event_id": id, "message": message }).to_string()
}

fn outsider() -> Reply {
    let body = json!({
        "error": "relay_membership_required",
        "message": "You must be a relay member to access this relay",
    });
    Reply { status: 403, ..Reply::ok(body.to_string()) }
}

/// The purpose a request's shape speaks of.
fn shape(method: &str, path: &str, filters: Result<&[Filter], &String>) -> Purpose {
    match (method, path) {
        ("GET", "/" | "/info") => Purpose::Nip11,
        ("POST", "/events") => Purpose::Publish,
        ("POST", "/query") => filters.map_or(Purpose::Other, of_filters),
        _ => Purpose::Other,
    }
}
