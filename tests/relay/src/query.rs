//! `POST /query` and `/count`: which reader answers a filter, and the plain and thread readers.
//!
//! Window filters are answered first, then the others, each in the order sent, without removing duplicates. `depth_limit`
//! with exactly one valid `#e` selects the thread reader; every other filter is a plain one. Access is checked for every
//! event that leaves.

use serde_json::Value;

use crate::{
    Settings,
    event::is_hex,
    filter::{Filter, explicit_channels},
    kinds,
    live::EXPLICIT_CHANNELS,
    state::State,
    store::{Select, Stored},
};

/// A refusal: status and text.
pub(crate) type Refusal = (u16, String);

/// The answer of one filter, kept apart by kind of event so that faults can touch the parts.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Events as text, in order, bounds and summaries left out.
    pub(crate) events: Vec<String>,
    /// Window answers: what belongs behind the events.
    pub(crate) overlays: Vec<crate::Event>,
}

pub(crate) fn bad(text: &str) -> Refusal {
    (400, text.to_owned())
}

const MOST_COUNTED: usize = 5_000;

impl State {
    /// The checks every query passes before anything is read.
    pub(crate) fn admit_query(&self, filters: &[Filter], me: &str, settings: &Settings) -> Result<(), Refusal> {
        if let Some(gate) = filters.iter().find_map(|f| f.gate(me, true)) {
            return Err((403, gate.to_owned()));
        }
        if !settings.is_august() && explicit_channels(filters) > EXPLICIT_CHANNELS {
            return Err(bad("too many explicit channels"));
        }
        let searching = filters.iter().filter(|f| f.search.is_some()).count();
        if searching > 0 && searching < filters.len() {
            return Err(bad("mixed search and non-search filters not supported"));
        }
        Ok(())
    }

    /// All answers of a query: the windows', then the others'.
    pub(crate) fn answer(
        &mut self,
        filters: &[Filter],
        me: &str,
        settings: &Settings,
    ) -> anyhow::Result<Result<Vec<Answer>, Refusal>> {
        let windowed = |f: &Filter| settings.channel_window && f.flag("top_level") && f.search.is_none();
        let mut answers = Vec::new();
        for filter in filters.iter().filter(|f| windowed(f)) {
            match self.window(filter, me, settings)? {
                Ok(answer) => answers.push(answer),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
        for filter in filters.iter().filter(|f| !windowed(f)) {
            let rows = match thread_root(filter) {
                Some((root, depth)) => self.thread_rows(filter, me, &root, depth)?,
                None => match check_keyset(filter) {
                    Ok(()) => self.plain_rows(filter, me, settings, false)?,
                    Err(refusal) => return Ok(Err(refusal)),
                },
            };
            let events = rows.into_iter().map(|s| s.event.json.to_string()).collect();
            answers.push(Answer { events, overlays: Vec::new() });
        }
        Ok(Ok(answers))
    }

    /// The plain reader: newest first, id ascending inside a second.
    pub(crate) fn plain_rows(
        &self,
        filter: &Filter,
        me: &str,
        settings: &Settings,
        socket: bool,
    ) -> anyhow::Result<Vec<Stored>> {
        let most = usize::try_from(settings.max_rows)?;
        let limit = filter.limit.unwrap_or(most).min(most);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let Some(mut select) = self.plain_select(filter, me, settings, socket) else { return Ok(Vec::new()) };
        if let Some(page) = filter.raw.get("page").and_then(Value::as_u64) {
            select.offset = limit.saturating_mul(usize::try_from(page.saturating_sub(1))?);
        }
        self.gather(&select, me, limit)
    }

    /// Walks a read until `limit` readable events are found.
    pub(crate) fn gather(&self, select: &Select, me: &str, limit: usize) -> anyhow::Result<Vec<Stored>> {
        let mut rows = Vec::new();
        self.store.walk(select, |stored| {
            if self.may_see(&stored, me) {
                rows.push(stored);
            }
            rows.len() < limit
        })?;
        Ok(rows)
    }

    /// Whether a reader may see a stored event: its channel, and for gated kinds that it is addressed to them.
    pub(crate) fn may_see(&self, stored: &Stored, me: &str) -> bool {
        let event = &stored.event;
        self.can_read_in(me, stored.place.channel.as_deref())
            && (!kinds::P_GATED.contains(&event.kind) || event.values("p").any(|p| p == me))
            && (!kinds::AUTHOR_ONLY.contains(&event.kind) || event.pubkey == me)
    }

    /// The read of a plain filter, or nothing when its channels admit none.
    fn plain_select(&self, filter: &Filter, me: &str, settings: &Settings, socket: bool) -> Option<Select> {
        let mut select = filter.select();
        if let Some(mut channels) = filter.channels() {
            if settings.is_august() && !socket {
                // The measured relay keeps one channel of several: the smallest id.
                channels.sort();
                channels.truncate(1);
            }
            channels.retain(|c| self.can_read(me, c));
            if channels.is_empty() {
                return None;
            }
            select.channels = Some(channels);
        }
        if let Some(id) = filter.raw.get("before_id").and_then(Value::as_str)
            && let Some(until) = filter.until
            && !socket
        {
            select.after = Some((until, id.to_ascii_lowercase()));
            select.until = None;
        }
        if let Some(text) = &filter.search {
            select.search = Some(text.clone());
            let asked = select.kinds.take().unwrap_or_else(|| kinds::SEARCHED.to_vec());
            select.kinds = Some(asked.into_iter().filter(|k| kinds::SEARCHED.contains(k)).collect());
        }
        if let Some(feed) = filter.raw.get("feed_types").and_then(Value::as_array)
            && !feed.is_empty()
        {
            feed_select(&mut select, feed, me);
        }
        Some(select)
    }

    /// The thread reader: oldest first, the root left out, kinds not looked at.
    fn thread_rows(&self, filter: &Filter, me: &str, root: &str, depth: u32) -> anyhow::Result<Vec<Stored>> {
        let limit = filter.limit.unwrap_or(100).clamp(1, 500);
        let member = |snake: &str, camel: &str| filter.raw.get(snake).or_else(|| filter.raw.get(camel));
        let at = member("thread_cursor", "threadCursor").and_then(Value::as_i64);
        let id = member("thread_cursor_id", "threadCursorId").and_then(Value::as_str).filter(|id| is_hex(id, 64));
        let id = id.map(str::to_ascii_lowercase);
        let rows = self.store.thread(root, depth, at.map(|at| (at, id.as_deref())), limit)?;
        Ok(rows.into_iter().filter(|s| self.may_see(s, me)).collect())
    }

    /// How many events the filters match, each counted for itself.
    pub(crate) fn count_rows(&self, filters: &[Filter], me: &str, settings: &Settings) -> anyhow::Result<usize> {
        let mut count = 0;
        for filter in filters {
            if let Some(select) = self.plain_select(filter, me, settings, false) {
                count += self.gather(&select, me, filter.limit.unwrap_or(MOST_COUNTED).clamp(1, MOST_COUNTED))?.len();
            }
        }
        Ok(count)
    }
}

/// A home feed narrows a read to what concerns its reader.
fn feed_select(select: &mut Select, feed: &[Value], me: &str) {
    let named = |name: &str| feed.iter().any(|f| f == name);
    let mut asked = Vec::new();
    if named("mentions") {
        select.tags.push(('p', vec![me.to_owned()]));
        asked.extend([9, 40002, 1, 45001, 45003]);
    } else if named("needs_action") {
        select.tags.push(('p', vec![me.to_owned()]));
        asked.extend([46010, 40007]);
    } else {
        asked.extend([9, 40002, 45001, 43001, 43003, 43004]);
    }
    select.kinds = Some(asked);
}

/// The root and depth a thread filter names; without exactly one valid `#e` it is no thread filter.
fn thread_root(filter: &Filter) -> Option<(String, u32)> {
    let depth = filter.raw.get("depth_limit").and_then(Value::as_u64).and_then(|d| u32::try_from(d).ok())?;
    match filter.values('e') {
        Some([root]) if is_hex(root, 64) => Some((root.to_ascii_lowercase(), depth)),
        _ => None,
    }
}

/// A plain filter's exact cursor: `before_id` needs `until`.
fn check_keyset(filter: &Filter) -> Result<(), Refusal> {
    let Some(before) = filter.raw.get("before_id") else { return Ok(()) };
    if !before.as_str().is_some_and(|id| is_hex(id, 64)) {
        return Err(bad("before_id must be a 64-char hex event id"));
    }
    if filter.until.is_none() { Err(bad("before_id requires until to be set")) } else { Ok(()) }
}
