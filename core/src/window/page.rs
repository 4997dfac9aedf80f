//! What is asked for a page of a channel window, and whether the answer may be believed (NIP-CW; R1, R2, R5).
//!
//! An answer is partitioned by kind before anything else. It is a page only with exactly one bounds event (39006) that is
//! verified, signed by the trusted key, bound to the cursor that was sent, consistent in itself and strictly moving, and only if
//! the rows come strictly in order after that cursor. Anything wrong with one row or summary drops that one alone.
//!
//! Pure functions: nothing is remembered here.

use crate::event::{Batch, Event, SharedEvent, kinds};
use crate::ids::{ChannelId, EventId, PublicKey};
use crate::limits;
use crate::object::Object;
use crate::order::RowKey;
use crate::request::Filter;

/// The window filter for the head page, or the page after `cursor`. Both halves of the cursor or neither (NIP-CW).
pub(super) fn window_filter(channel: ChannelId, limit: u32, cursor: Option<RowKey>) -> Filter {
    Filter { top_level: true, include_summaries: true, include_aux: true, ..plain_filter(channel, limit, cursor) }
}

/// The same without any extension but the composite cursor, for a relay without windows (R5).
pub(super) fn plain_filter(channel: ChannelId, limit: u32, cursor: Option<RowKey>) -> Filter {
    let filter = Filter::kinds(&kinds::ROWS).in_channels([channel]).limit(limit);
    match cursor {
        Some(cursor) => filter.before(cursor),
        None => filter,
    }
}

/// The filter for everything that changes these rows.
pub(super) fn changes_filter(channel: ChannelId, rows: &[EventId], cursor: Option<RowKey>) -> Filter {
    let filter = Filter::kinds(&[kinds::REACTION, kinds::EDIT, kinds::DELETION, kinds::MODERATION])
        .in_channels([channel])
        .about(rows.iter().copied())
        .limit(limits::CHANGES_PAGE);
    match cursor {
        Some(cursor) => filter.before(cursor),
        None => filter,
    }
}

/// Whose overlays are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signer {
    /// The NIP-11 `self` key alone (R2, identity).
    Key(PublicKey),
    /// Whoever signed the bounds of an answer that came over an authenticated transport (R2, transport).
    Transport,
}

/// A page that may be believed.
#[derive(Debug)]
pub(super) struct WindowPage {
    /// Rows, newest first.
    pub rows: Vec<SharedEvent>,
    /// Edits, reactions, deletions.
    pub changes: Vec<SharedEvent>,
    /// Summaries of rows of this page, in the order of the answer.
    pub summaries: Vec<(Summary, SharedEvent)>,
    /// The relay's next cursor; none is the end of history.
    pub next: Option<RowKey>,
    /// Whether thread replies are rows, if the bounds say so.
    pub row_mode: Option<bool>,
    /// Who signed the bounds.
    pub signer: PublicKey,
    /// No row of the answer was dropped, so a row that is absent does not exist there any more.
    pub rows_complete: bool,
    /// No summary of the answer was dropped.
    pub summaries_complete: bool,
    /// No change of the answer was dropped or cut off, so a change that is absent does not exist any more.
    pub changes_complete: bool,
    /// The relay's cap per hop was reached: older changes may be missing without a sign (`protocol.md` 1.4).
    pub changes_capped: bool,
}

/// Why an answer is no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unusable {
    /// Nothing at all: no access, or a relay that knows no windows and an empty channel (`protocol.md` 1.9).
    Empty,
    /// Something, but no bounds: the relay knows no windows.
    NoBounds,
    /// Bounds or rows are there, but wrong.
    Invalid(&'static str),
}

/// Checks an answer to [`window_filter`].
pub(super) fn accept(
    batch: &Batch,
    channel: ChannelId,
    cursor: Option<RowKey>,
    signer: Signer,
) -> Result<WindowPage, Unusable> {
    if batch.rejected.iter().any(|r| r.kind == Some(kinds::BOUNDS)) {
        return Err(Unusable::Invalid("bounds do not verify"));
    }
    let mut all = batch.events.iter().filter(|e| e.kind == kinds::BOUNDS);
    let bounds = match (all.next(), all.next()) {
        (Some(bounds), None) => bounds,
        (Some(_), Some(_)) => return Err(Unusable::Invalid("more than one bounds event")),
        (None, _) if batch.events.is_empty() && batch.rejected.is_empty() => return Err(Unusable::Empty),
        (None, _) => return Err(Unusable::NoBounds),
    };
    let Bounds { next, row_mode } = check_bounds(bounds, channel, cursor, signer)?;
    let (rows, foreign) = ordered_rows(batch, channel, cursor, &bounds.pubkey)?;
    let rejected = |wanted: fn(u16) -> bool| batch.rejected.iter().any(|r| r.kind.is_none_or(wanted));
    let (summaries, strange) = summaries(batch, channel, &bounds.pubkey, &rows);
    let changes: Vec<_> = batch.events.iter().filter(|e| kinds::is_auxiliary(e.kind)).cloned().collect();
    Ok(WindowPage {
        rows_complete: !foreign && !rejected(kinds::is_row),
        summaries_complete: !strange && !rejected(|k| k == kinds::SUMMARY),
        changes_complete: changes.len() < limits::CHANGES_HOP && !rejected(kinds::is_auxiliary),
        changes_capped: changes.len() >= limits::CHANGES_HOP,
        rows,
        changes,
        summaries,
        next,
        row_mode,
        signer: bounds.pubkey,
    })
}

struct Bounds {
    next: Option<RowKey>,
    row_mode: Option<bool>,
}

fn check_bounds(event: &Event, channel: ChannelId, cursor: Option<RowKey>, signer: Signer) -> Result<Bounds, Unusable> {
    if let Signer::Key(key) = signer
        && event.pubkey != key
    {
        return Err(Unusable::Invalid("bounds of another signer"));
    }
    if event.single("d") != Some(&binding(channel, cursor)) || event.single("h") != Some(&channel.to_string()) {
        return Err(Unusable::Invalid("bounds of another request"));
    }
    #[derive(serde::Deserialize)]
    struct Cursor {
        created_at: u64,
        id: String,
    }
    #[derive(serde::Deserialize)]
    struct Content {
        has_more: bool,
        next_cursor: Option<Object<Cursor>>,
        thread_replies_in_channel: Option<bool>,
    }
    let Object(content): Object<Content> =
        serde_json::from_str(&event.content).map_err(|_| Unusable::Invalid("bounds are malformed"))?;
    let next = match content.next_cursor {
        Some(Object(c)) => {
            let id = EventId::parse(&c.id).map_err(|_| Unusable::Invalid("bounds are malformed"))?;
            Some(RowKey::new(c.created_at, id))
        }
        None => None,
    };
    if content.has_more != next.is_some() {
        return Err(Unusable::Invalid("bounds contradict themselves"));
    }
    if let (Some(cursor), Some(next)) = (cursor, next)
        && !next.is_after(&cursor)
    {
        return Err(Unusable::Invalid("the next cursor does not move"));
    }
    Ok(Bounds { next, row_mode: content.thread_replies_in_channel })
}

/// What the `d` tag of the bounds must say (NIP-CW).
fn binding(channel: ChannelId, cursor: Option<RowKey>) -> String {
    match cursor {
        None => format!("{channel}:head"),
        Some(c) => format!("{channel}:{}:{}", c.created_at, c.id),
    }
}

/// The rows of the channel, and whether others had to be dropped. A notice that is not the relay's is none (`unread.md` 13, rule 2).
fn ordered_rows(
    batch: &Batch,
    channel: ChannelId,
    cursor: Option<RowKey>,
    relay: &PublicKey,
) -> Result<(Vec<SharedEvent>, bool), Unusable> {
    let mut rows = Vec::with_capacity(limits::PAGE_ROWS_MAX as usize);
    let (mut last, mut foreign) = (cursor, false);
    let may_draw = |e: &SharedEvent| e.kind != kinds::NOTICE || e.pubkey == *relay;
    for event in batch.events.iter().filter(|e| kinds::is_row(e.kind) && may_draw(e)) {
        if event.channel() != Some(channel) {
            foreign = true;
            continue;
        }
        if last.is_some_and(|last| !event.key().is_after(&last)) {
            return Err(Unusable::Invalid("rows are out of order"));
        }
        last = Some(event.key());
        rows.push(event.clone());
    }
    Ok((rows, foreign))
}

/// Parsed content of a thread summary (kind 39005).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Summary {
    /// The row it is about.
    pub root: EventId,
    /// Direct replies.
    pub count: u32,
    /// The relay's clock when the last direct reply was stored; not comparable with read frontiers.
    pub last_reply_at: Option<u64>,
}

/// Reads a summary. `None` unless the tags `e` and `d` name one row, `h` one channel, and the content has a count.
pub(super) fn parse_summary(event: &Event) -> Option<Summary> {
    #[derive(serde::Deserialize)]
    struct Content {
        reply_count: u32,
        last_reply_at: Option<u64>,
    }
    if event.kind != kinds::SUMMARY || event.channel().is_none() || event.single("e") != event.single("d") {
        return None;
    }
    let root = EventId::parse(event.single("e")?).ok()?;
    let Object(content): Object<Content> = serde_json::from_str(&event.content).ok()?;
    Some(Summary { root, count: content.reply_count, last_reply_at: content.last_reply_at })
}

fn summaries(
    batch: &Batch,
    channel: ChannelId,
    signer: &PublicKey,
    rows: &[SharedEvent],
) -> (Vec<(Summary, SharedEvent)>, bool) {
    let mut found = Vec::new();
    let mut strange = false;
    for event in batch.events.iter().filter(|e| e.kind == kinds::SUMMARY) {
        match parse_summary(event) {
            Some(summary)
                if event.pubkey == *signer
                    && event.channel() == Some(channel)
                    && rows.iter().any(|r| r.id == summary.root) =>
            {
                found.push((summary, event.clone()));
            }
            _ => strange = true,
        }
    }
    (found, strange)
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
