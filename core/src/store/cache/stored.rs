//! How a page is written down: one JSON object whose events are the relay's own JSON, so that reading it back is one parse and
//! the ids are computed over the same bytes.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::kept::{KeptNext, KeptPage};
use crate::event::{SharedEvent, Verifier};
use crate::ids::EventId;
use crate::order::RowKey;

/// A page as read from the cache: nothing in it is verified yet.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredPage {
    pub(super) body: Vec<u8>,
}

impl std::fmt::Debug for StoredPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StoredPage({} B)", self.body.len())
    }
}

#[derive(Deserialize)]
struct Body<'a> {
    mode: bool,
    next: Option<(u64, String)>,
    end: bool,
    #[serde(borrow)]
    rows: Vec<&'a RawValue>,
    #[serde(borrow)]
    changes: Vec<&'a RawValue>,
    #[serde(borrow)]
    summaries: Vec<&'a RawValue>,
}

impl StoredPage {
    /// Verifies every event; ones that do not verify are dropped alone. None if the page itself cannot be read.
    pub fn verify(&self, verifier: &Verifier) -> Option<KeptPage> {
        let body: Body<'_> = serde_json::from_slice(&self.body).ok()?;
        let next = match body.next {
            Some((created_at, id)) => KeptNext::Cursor(RowKey::new(created_at, EventId::parse(&id).ok()?)),
            None if body.end => KeptNext::End,
            None => KeptNext::Unknown,
        };
        let events = |items: Vec<&RawValue>| verifier.each(items.into_iter()).events;
        Some(KeptPage {
            row_mode: body.mode,
            next,
            rows: events(body.rows),
            changes: events(body.changes),
            summaries: events(body.summaries),
        })
    }
}

/// Writes a page down; also says how many events it holds.
pub(super) fn encode(page: &KeptPage) -> (String, usize) {
    let size: usize = [&page.rows, &page.changes, &page.summaries].into_iter().flatten().map(|e| e.json_len + 1).sum();
    let mut body = String::with_capacity(size + 256);
    let next = match page.next {
        KeptNext::Cursor(cursor) => format!("[{},\"{}\"]", cursor.created_at, cursor.id),
        KeptNext::End | KeptNext::Unknown => "null".to_owned(),
    };
    body.push_str(&format!("{{\"mode\":{},\"next\":{next},\"end\":{}", page.row_mode, page.next == KeptNext::End));
    let mut count = 0;
    for (name, events) in [("rows", &page.rows), ("changes", &page.changes), ("summaries", &page.summaries)] {
        body.push_str(&format!(",\"{name}\":["));
        join(&mut body, events);
        body.push(']');
        count += events.len();
    }
    body.push('}');
    (body, count)
}

fn join(body: &mut String, events: &[SharedEvent]) {
    for (i, event) in events.iter().enumerate() {
        if i > 0 {
            body.push(',');
        }
        body.push_str(&event.to_json());
    }
}
