//! The channel window: a page of top-level rows, what belongs to them, and the signed word on where the page stands.
//!
//! One more row than asked for is read after all restrictions; it decides `has_more` and never leaves. Aux events follow
//! the rows in two hops (what names a row; what deletes those), newest first. Order of checks: `#h` → access (an empty
//! answer, not an error) → `before_id` → pairing and range.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::{
    Event, Settings,
    channels::pair,
    event::is_hex,
    filter::{Filter, channel_id},
    kinds,
    query::{Answer, Refusal, bad},
    state::State,
    store::{Select, Stored},
};

const DEFAULT_ROWS: usize = 50;
const MOST_ROWS: usize = 200;
const AUX_PAGE: usize = 1_000;
const AUX_PAGES: usize = 64;
/// The last second a calendar can name (year 262142), as the real relay bounds it.
const LAST_SECOND: u64 = 8_210_266_876_799;
const PARTICIPANTS: usize = 10;

/// A position in the order newest first, id ascending.
type Cursor = (u64, String);

/// The request cursor of a window filter.
fn cursor_of(filter: &Filter) -> Result<Option<Cursor>, Refusal> {
    let before = match filter.raw.get("before_id") {
        None => None,
        Some(Value::String(id)) if is_hex(id, 64) => Some(id.to_ascii_lowercase()),
        Some(_) => return Err(bad("top_level: before_id must be a 64-hex event id")),
    };
    match (filter.until, before) {
        (None, None) => Ok(None),
        (Some(until), Some(_)) if until > LAST_SECOND => Err(bad("top_level: until is out of range")),
        (Some(until), Some(id)) => Ok(Some((until, id))),
        _ => Err(bad("top_level cursor requires both until and before_id, or neither")),
    }
}

/// The `d` of a 39006: which request it answers.
pub(crate) fn binding(channel: &str, cursor: Option<&Cursor>) -> String {
    match cursor {
        None => format!("{channel}:head"),
        Some((at, id)) => format!("{channel}:{at}:{id}"),
    }
}

/// The content of a 39006.
pub(crate) fn bounds_content(more: bool, next: Option<&Cursor>, row_mode: bool) -> String {
    let next = next.map_or(Value::Null, |(at, id)| json!({ "created_at": at, "id": id }));
    let mut content = json!({ "has_more": more, "next_cursor": next });
    if row_mode {
        content["thread_replies_in_channel"] = Value::Bool(true);
    }
    content.to_string()
}

impl State {
    /// Answers one window filter.
    pub(crate) fn window(
        &mut self,
        filter: &Filter,
        me: &str,
        settings: &Settings,
    ) -> anyhow::Result<Result<Answer, Refusal>> {
        let one = filter.h.as_deref().filter(|h| h.len() == 1).and_then(|h| channel_id(&h[0]));
        let Some(channel) = one else { return Ok(Err(bad("top_level requires exactly one #h channel"))) };
        if !self.can_read(me, &channel) {
            return Ok(Ok(Answer::default()));
        }
        let cursor = match cursor_of(filter) {
            Ok(cursor) => cursor,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (rows, next) = self.window_rows(filter, me, &channel, cursor.as_ref(), settings)?;
        let mut answer = Answer::default();
        answer.events.extend(rows.iter().map(|s| s.event.json.to_string()));
        if filter.flag("include_aux") {
            let aux = self.aux(&rows, me, settings)?;
            answer.events.extend(aux.into_iter().map(|s| s.event.json.to_string()));
        }
        if filter.flag("include_summaries") {
            answer.overlays = self.summaries(&rows, &channel)?;
        }
        let content = bounds_content(next.is_some(), next.as_ref(), settings.thread_replies_in_channel);
        let tags = vec![pair("d", &binding(&channel, cursor.as_ref())), pair("h", &channel)];
        answer.overlays.push(self.keys.sign(self.now(), 39006, tags, content));
        Ok(Ok(answer))
    }

    /// The rows of a page, and where the next begins.
    fn window_rows(
        &self,
        filter: &Filter,
        me: &str,
        channel: &str,
        cursor: Option<&Cursor>,
        settings: &Settings,
    ) -> anyhow::Result<(Vec<Stored>, Option<Cursor>)> {
        let most = MOST_ROWS.min(usize::try_from(settings.max_page)?.max(1));
        let limit = filter.limit.unwrap_or(DEFAULT_ROWS).clamp(1, most);
        let select = Select {
            kinds: filter.kinds.clone().filter(|k| !k.is_empty()),
            channels: Some(vec![channel.to_owned()]),
            after: cursor.cloned(),
            top_level: !settings.thread_replies_in_channel,
            ..Select::default()
        };
        let mut rows = self.gather(&select, me, limit + 1)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().map(|s| (s.event.created_at, s.event.id.clone()));
        Ok((rows, last.filter(|_| more)))
    }

    /// The aux closure of rows: two hops, duplicates removed.
    fn aux(&self, rows: &[Stored], me: &str, settings: &Settings) -> anyhow::Result<Vec<Stored>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let most = if settings.is_august() { AUX_PAGE } else { AUX_PAGE * AUX_PAGES };
        let mut seen: HashSet<String> = rows.iter().map(|s| s.event.id.clone()).collect();
        let row_ids: Vec<String> = rows.iter().map(|s| s.event.id.clone()).collect();
        let mut hop = |ids: Vec<String>, kinds: &[u32]| -> anyhow::Result<Vec<Stored>> {
            let select = Select { kinds: Some(kinds.to_vec()), tags: vec![('e', ids)], ..Select::default() };
            let mut found = self.gather(&select, me, most)?;
            found.retain(|s| seen.insert(s.event.id.clone()));
            Ok(found)
        };
        let mut first = hop(row_ids, &kinds::AUX_FIRST)?;
        let first_ids: Vec<String> = first.iter().map(|s| s.event.id.clone()).collect();
        if !first_ids.is_empty() {
            first.extend(hop(first_ids, &kinds::AUX_SECOND)?);
        }
        Ok(first)
    }

    /// One 39005 for every row that has direct replies.
    fn summaries(&self, rows: &[Stored], channel: &str) -> anyhow::Result<Vec<Event>> {
        let mut events = Vec::new();
        for row in rows {
            let id = &row.event.id;
            let (replies, content) = self.summary_content(id)?;
            if replies > 0 {
                let tags = vec![pair("e", id), pair("d", id), pair("h", channel)];
                events.push(self.keys.sign(self.now(), 39005, tags, content));
            }
        }
        Ok(events)
    }

    /// Direct replies, and the content of a 39005. Counts go down with deletions, `last_reply_at` does not.
    pub(crate) fn summary_content(&self, id: &str) -> anyhow::Result<(u64, String)> {
        let (replies, descendants) = self.store.reply_counts(id)?;
        let content = json!({
            "descendant_count": descendants,
            "last_reply_at": self.store.last_reply_at(id)?,
            "participants": self.store.participants(id, PARTICIPANTS)?,
            "reply_count": replies,
        });
        Ok((replies, content.to_string()))
    }
}
