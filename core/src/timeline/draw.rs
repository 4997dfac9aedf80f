//! One row, from the event as it was sent, what changed it, and the row above. Facts for drawing only: the app decides how it
//! looks.

use super::{RowFacts, notice};
use crate::event::{Event, display_text, kinds};
use crate::ids::PublicKey;
use crate::model::{Reaction, RowKind, TimelineRow};
use crate::window::View;

/// Rows of one author and sort closer than this many seconds form a group.
const GROUP_SECONDS: u64 = 300;
const DAY_SECONDS: i64 = 86_400;

/// The row above.
pub(super) struct Neighbour<'a> {
    pub row: &'a TimelineRow,
    /// Nothing is known to be missing between.
    pub contiguous: bool,
}

/// Draws a row (R6, R11).
pub(super) fn row(
    view: &View<'_>,
    event: &Event,
    above: Option<Neighbour<'_>>,
    utc_offset: i32,
    facts: &dyn RowFacts,
) -> TimelineRow {
    let relay = facts.relay();
    let author = event.author(relay);
    let edit = view.edit(&event.id);
    let kind = row_kind(event.kind);
    let day = day(event.created_at, utc_offset);
    let starts_day = above.as_ref().is_none_or(|n| day_of(n.row, utc_offset) != day);
    let grouped = !starts_day
        && above.is_some_and(|n| {
            n.contiguous
                && n.row.author == author
                && n.row.kind == kind
                && n.row.created_at.abs_diff(event.created_at) < GROUP_SECONDS
        });
    TimelineRow {
        id: event.id,
        created_at: event.created_at,
        author,
        author_name: facts.name(&author).unwrap_or_else(|| short(&author)),
        kind,
        text: match edit {
            Some(edit) => display_text(event.kind, &edit.content),
            None if kind == RowKind::Notice => notice::sentence(&event.content, &|person| facts.name(person)),
            None => event.text(),
        },
        edited: edit.is_some(),
        own: author == *facts.viewer(),
        mentioned: event.mentions(facts.viewer_hex(), relay),
        quiet: event.quiet,
        thread_root: event.reference.map(|r| r.root),
        replies: view.replies(&event.id),
        thread_dot: facts.thread_dot(view.key().channel, &event.id),
        reactions: reactions(view, event, facts),
        starts_day,
        grouped,
    }
}

/// Reactions by emoji, most first, then by emoji.
fn reactions(view: &View<'_>, event: &Event, facts: &dyn RowFacts) -> Vec<Reaction> {
    let mut standing = view.reactions(&event.id, facts.relay());
    standing.sort_unstable_by_key(|(_, emoji)| *emoji);
    let mut added: Vec<Reaction> = Vec::new();
    for (actor, emoji) in standing {
        let mine = actor == *facts.viewer();
        match added.last_mut() {
            Some(last) if last.emoji == emoji => {
                last.count += 1;
                last.mine |= mine;
            }
            _ => added.push(Reaction { emoji: emoji.to_owned(), count: 1, mine }),
        }
    }
    added.sort_by_key(|r| std::cmp::Reverse(r.count));
    added
}

fn row_kind(kind: u16) -> RowKind {
    match kind {
        kinds::DIFF => RowKind::Diff,
        kinds::NOTICE => RowKind::Notice,
        kinds::JOB_FIRST..=kinds::JOB_LAST => RowKind::Job,
        kinds::HUDDLE => RowKind::Huddle,
        _ => RowKind::Message,
    }
}

fn day(created_at: u64, utc_offset: i32) -> i64 {
    i64::try_from(created_at).unwrap_or(i64::MAX).saturating_add(i64::from(utc_offset)).div_euclid(DAY_SECONDS)
}

fn day_of(row: &TimelineRow, utc_offset: i32) -> i64 {
    day(row.created_at, utc_offset)
}

/// A short form of a key, for people whose name is not known.
fn short(key: &PublicKey) -> String {
    key.to_hex().chars().take(8).collect()
}
