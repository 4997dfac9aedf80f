//! Compares what was expected with what was seen. Only named members are compared; a mismatch reads
//! `unread general: observed expected 2, got 3`, in names of the file.

use std::collections::BTreeMap;
use std::fmt::{Debug, Display};

use crate::book::Book;
use crate::driver::{ActivityItem, RowFact, SidebarFact, SyncFact, TimelineFact, UnreadFact};
use crate::scenario::{
    ItemCheck, KeyRef, RowCheck, SidebarCheck, SyncCheck, TargetRef, TimelineCheck, UnreadCheck, Value,
};

/// Mismatches about one thing.
#[derive(Debug)]
pub struct Mismatches {
    about: String,
    found: Vec<String>,
}

impl Mismatches {
    /// None yet.
    pub fn about(about: impl Into<String>) -> Self {
        Self { about: about.into(), found: Vec::new() }
    }

    /// Notes one in other words.
    pub fn note(&mut self, what: impl Display) {
        self.found.push(format!("{}: {what}", self.about));
    }

    fn value<T: PartialEq>(&mut self, member: &str, expected: Option<&T>, got: &T, show: impl Fn(&T) -> String) {
        if let Some(expected) = expected
            && expected != got
        {
            self.note(format!("{member} expected {}, got {}", show(expected), show(got)));
        }
    }

    fn plain<T: PartialEq + Display>(&mut self, member: &str, expected: Option<&T>, got: &T) {
        self.value(member, expected, got, T::to_string);
    }

    /// All of them.
    pub fn found(self) -> Vec<String> {
        self.found
    }
}

fn nullable<T: Display>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| "null".to_owned(), T::to_string)
}

fn quoted<T: Debug>(value: &T) -> String {
    format!("{value:?}")
}

fn list(names: &[String]) -> String {
    format!("[{}]", names.join(", "))
}

/// The target in words.
pub fn target_words(target: &TargetRef) -> String {
    match target {
        TargetRef::Channel(name) => name.clone(),
        TargetRef::Thread(name, _) => format!("thread {name}"),
        TargetRef::Message(name, _) => format!("message {name}"),
    }
}

/// Under `unread`.
pub fn unread(check: &UnreadCheck, fact: &UnreadFact, book: &Book) -> Vec<String> {
    let mut m = Mismatches::about(format!("unread {}", target_words(&check.target)));
    m.value("observed", check.observed.as_ref(), &fact.observed, nullable);
    m.value("attention", check.attention.as_ref(), &fact.attention, nullable);
    m.plain("manual", check.manual.as_ref(), &fact.manual);
    m.plain("pending", check.pending.as_ref(), &fact.pending);
    m.value("latest", check.latest.as_ref(), &fact.latest.as_ref().map(|id| book.name_of(id)), nullable);
    m.plain("coverage", check.coverage.as_ref(), &fact.coverage);
    m.plain("freshness", check.freshness.as_ref(), &fact.freshness);
    m.plain("error", check.error.as_ref(), &fact.error);
    m.found()
}

/// The order in which a person must see expected rows: as the file has them, but rows of one second among themselves by
/// `(created_at DESC, id ASC, newest first)`, read from the bottom up. A thread's root stays on top.
fn true_order(expected: &[String], root: Option<&str>, book: &Book) -> anyhow::Result<Vec<String>> {
    let mut seconds: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (i, name) in expected.iter().enumerate() {
        if root != Some(name) || i > 0 {
            seconds.entry(book.time(name)?).or_default().push(i);
        }
    }
    let mut ordered = expected.to_vec();
    for places in seconds.into_values() {
        let mut names: Vec<(String, String)> = places
            .iter()
            .map(|i| Ok((book.id(&expected[*i])?, expected[*i].clone())))
            .collect::<anyhow::Result<_>>()?;
        names.sort_by(|a, b| b.cmp(a));
        for (place, (_, name)) in places.into_iter().zip(names) {
            ordered[place] = name;
        }
    }
    Ok(ordered)
}

/// Under `timeline` and `thread`.
pub fn timeline(check: &TimelineCheck, fact: &TimelineFact, book: &Book) -> anyhow::Result<Vec<String>> {
    let about = match &check.place.root {
        Some(root) => format!("thread {root}"),
        None => format!("timeline {}", check.place.channel),
    };
    let mut m = Mismatches::about(about);
    let got: Vec<String> = fact.rows.iter().map(|r| book.name_of(&r.id)).collect();
    if let Some(rows) = &check.rows {
        let expected = true_order(rows, check.place.root.as_deref(), book)?;
        m.value("rows", Some(&expected), &got, |rows| list(rows));
    }
    m.plain("count", check.count.as_ref(), &got.len());
    m.plain("more", check.more.as_ref(), &fact.more);
    m.plain("gap", check.gap.as_ref(), &fact.gap);
    let first = fact.first_unread.as_ref().map(|id| book.name_of(id));
    m.value("first_unread", check.first_unread.as_ref(), &first, nullable);
    let mut found = m.found();
    for (name, expected) in &check.row {
        let mut m = Mismatches::about(format!("row {name}"));
        match got.iter().position(|n| n == name) {
            Some(i) => row(&mut m, expected, &fact.rows[i]),
            None => m.note("not shown"),
        }
        found.extend(m.found());
    }
    Ok(found)
}

fn row(m: &mut Mismatches, check: &RowCheck, fact: &RowFact) {
    m.value("text", check.text.as_ref(), &fact.text, quoted);
    m.plain("edited", check.edited.as_ref(), &fact.edited);
    m.plain("replies", check.replies.as_ref(), &fact.replies);
    let some =
        |all: &BTreeMap<String, u32>| all.clone().into_iter().filter(|(_, n)| *n > 0).collect::<BTreeMap<_, _>>();
    m.value("reactions", check.reactions.as_ref().map(some).as_ref(), &some(&fact.reactions), quoted);
    m.plain("thread_dot", check.thread_dot.as_ref(), &fact.thread_dot);
}

/// Under `activity`. Newest first; threads whose latest replies share a second may come in any order.
pub fn activity(
    channel: &str,
    check: Option<&[ItemCheck]>,
    fact: Option<&[ActivityItem]>,
    book: &Book,
) -> anyhow::Result<Vec<String>> {
    let mut m = Mismatches::about(format!("activity {channel}"));
    let (Some(expected), Some(got)) = (check, fact) else {
        if check.is_some() != fact.is_some() {
            let word = |known: bool| if known { "a list" } else { "null" };
            m.note(format!("items expected {}, got {}", word(check.is_some()), word(fact.is_some())));
        }
        return Ok(m.found());
    };
    let fits = |item: &ItemCheck, seen: &ActivityItem| {
        let same = |name: &Option<String>, id: &String| name.as_ref().is_none_or(|n| *n == book.name_of(id));
        same(&item.root, &seen.root) && same(&item.latest, &seen.latest) && item.count.is_none_or(|n| n == seen.count)
    };
    let second = |seen: &ActivityItem| book.time(&book.name_of(&seen.latest)).ok();
    let mut left: Vec<&ActivityItem> = got.iter().collect();
    let all_fit = expected.iter().all(|item| {
        let tied = left.first().map(|first| second(first));
        let within = left.iter().take_while(|seen| Some(second(seen)) == tied).count();
        let found = left.iter().take(within).position(|seen| fits(item, seen));
        found.map(|i| left.remove(i)).is_some()
    });
    if !all_fit || !left.is_empty() {
        let or = |text: Option<String>| text.unwrap_or_else(|| "*".to_owned());
        let wanted = |i: &ItemCheck| {
            format!("{}/{}/{}", or(i.root.clone()), or(i.latest.clone()), or(i.count.map(|n| n.to_string())))
        };
        let seen = |i: &ActivityItem| format!("{}/{}/{}", book.name_of(&i.root), book.name_of(&i.latest), i.count);
        let expected: Vec<String> = expected.iter().map(wanted).collect();
        let got: Vec<String> = got.iter().map(seen).collect();
        m.note(format!("items expected {}, got {}", list(&expected), list(&got)));
    }
    Ok(m.found())
}

/// Under `sidebar`. A row that is not there is neither strong nor anything else.
pub fn sidebar(check: &SidebarCheck, row: Option<&SidebarFact>) -> Vec<String> {
    let mut m = Mismatches::about(format!("sidebar {}", check.channel));
    let is = |member: fn(&SidebarFact) -> bool| row.is_some_and(member);
    m.plain("strong", check.strong.as_ref(), &is(|r| r.strong));
    m.plain("dot", check.dot.as_ref(), &is(|r| r.dot));
    m.plain("bell", check.bell.as_ref(), &is(|r| r.bell));
    m.plain("counted", check.counted.as_ref(), &is(|r| r.counted));
    m.plain("listed", check.listed.as_ref(), &row.is_some());
    m.found()
}

/// Under `sync`.
pub fn sync(check: &SyncCheck, fact: &SyncFact) -> Vec<String> {
    let mut m = Mismatches::about("sync");
    m.plain("state", check.state.as_ref(), &fact.state);
    m.plain("completeness", check.completeness.as_ref(), &fact.completeness);
    m.plain("pending", check.pending.as_ref(), &fact.pending);
    m.plain("capability", check.capability.as_ref(), &fact.capability);
    m.found()
}

/// Frontier values, of a journal or of what was published.
pub fn values(
    about: &str,
    checks: &[(KeyRef, Value)],
    got: impl Fn(usize) -> Option<u64>,
    book: &Book,
) -> anyhow::Result<Vec<String>> {
    let mut m = Mismatches::about(about);
    for (i, (key, value)) in checks.iter().enumerate() {
        m.value(&key.text, Some(&book.value(value)?), &got(i), nullable);
    }
    Ok(m.found())
}

/// Under `following`.
pub fn following(channel: &str, root: &str, expected: bool, got: bool) -> Vec<String> {
    let mut m = Mismatches::about(format!("following {channel} {root}"));
    m.plain("value", Some(&expected), &got);
    m.found()
}

/// A counter of the relay.
pub fn counter(name: &str, expected: u64, got: u64) -> Vec<String> {
    let mut m = Mismatches::about("relay");
    m.plain(name, Some(&expected), &got);
    m.found()
}

/// Channels of evidence requests.
pub fn evidence_channels(expected: &Vec<usize>, got: &Vec<usize>) -> Vec<String> {
    let mut m = Mismatches::about("relay");
    m.value("evidence_channels", Some(expected), got, quoted);
    m.found()
}
