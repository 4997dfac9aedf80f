use std::cell::RefCell;

use super::*;
use crate::event::SharedEvent;
use crate::model::{More, RowKind};
use crate::testing::{Author, channel, message, reply, template};
use crate::window::fake::Bench;

/// What unread, directory and the session would say.
struct Around {
    me: PublicKey,
    hex: String,
    relay: PublicKey,
    unread: RefCell<BTreeSet<EventId>>,
    dots: RefCell<BTreeSet<EventId>>,
    drawn: RefCell<usize>,
}

impl RowFacts for Around {
    fn viewer(&self) -> &PublicKey {
        &self.me
    }
    fn viewer_hex(&self) -> &str {
        &self.hex
    }
    fn relay(&self) -> Option<&PublicKey> {
        Some(&self.relay)
    }
    fn name(&self, person: &PublicKey) -> Option<String> {
        *self.drawn.borrow_mut() += 1;
        (*person == Author::named("ada").key()).then(|| "Ada".to_owned())
    }
    fn is_unread(&self, row: &Event) -> bool {
        self.unread.borrow().contains(&row.id)
    }
    fn thread_dot(&self, _: ChannelId, root: &EventId) -> bool {
        self.dots.borrow().contains(root)
    }
}

struct Screen {
    bench: Bench,
    timelines: Timelines,
    around: Around,
    /// What an app would hold after applying every difference.
    app: Vec<Arc<TimelineRow>>,
    diffs: usize,
}

impl Screen {
    fn new() -> Self {
        Self::over(Bench::online())
    }

    fn over(bench: Bench) -> Self {
        let me = Author::named("me").key();
        let around = Around {
            me,
            hex: me.to_hex(),
            relay: Author::named("relay").key(),
            unread: RefCell::default(),
            dots: RefCell::default(),
            drawn: RefCell::default(),
        };
        Self { bench, timelines: Timelines::default(), around, app: Vec::new(), diffs: 0 }
    }

    fn key() -> TimelineKey {
        TimelineKey::channel(channel("general"))
    }

    fn open(&mut self, limit: u32) {
        self.timelines.open(Self::key(), 0);
        let _ = self.bench.open(Self::key(), limit);
        self.update();
    }

    fn close(&mut self) {
        self.bench.close(Self::key());
        self.timelines.close(&Self::key());
        self.app.clear();
    }

    fn update(&mut self) {
        let mut changed: BTreeMap<TimelineKey, BTreeSet<EventId>> =
            self.bench.windows.take_changed().into_iter().map(|c| (c.key, c.touched)).collect();
        for key in self.timelines.pending() {
            changed.entry(key).or_default();
        }
        self.diffs = 0;
        for (key, touched) in changed {
            let view = self.bench.windows.view(&key).unwrap();
            for diff in self.timelines.update(&view, &touched, &self.around).unwrap_or_default() {
                self.diffs += 1;
                match diff {
                    RowDiff::Insert { index, row } => self.app.insert(index, row),
                    RowDiff::Update { index, row } => self.app[index] = row,
                    RowDiff::Remove { index } => drop(self.app.remove(index)),
                }
            }
        }
        if self.bench.windows.is_open(&Self::key()) {
            assert_eq!(self.app, self.state().rows, "the differences lead to the state");
        }
    }

    fn state(&self) -> TimelineState {
        self.timelines.state(&self.bench.windows.view(&Self::key()).unwrap()).unwrap()
    }

    fn post(&mut self, event: &SharedEvent) {
        self.bench.post(event);
        self.update();
    }

    fn row(&self, id: &EventId) -> Arc<TimelineRow> {
        self.app.iter().find(|r| r.id == *id).unwrap().clone()
    }
}

fn about(by: &Author, kind: u16, at: u64, target: &EventId, text: &str) -> SharedEvent {
    by.sign(template(kind, at, &[&["e", &target.to_hex()]], text))
}

/// Scenario paging/07: what changes a row reaches it, and only the row.
#[test]
fn changes_reach_their_row_alone() {
    let mut s = Screen::new();
    let all = s.bench.history(100, 3, 10);
    let (ada, bo) = (Author::named("ada"), Author::named("bo"));
    s.open(10);
    assert_eq!((s.diffs, s.app.len(), s.state().more), (3, 3, More::No));
    let drawn = *s.around.drawn.borrow();
    s.post(&about(&ada, 40003, 200, &all[1].id, "edited"));
    assert_eq!((s.diffs, s.row(&all[1].id).text.as_str(), s.row(&all[1].id).edited), (1, "edited", true));
    assert_eq!(*s.around.drawn.borrow() - drawn, 1, "one row was drawn");
    for k in [
        about(&bo, 7, 201, &all[1].id, ""),
        about(&Author::named("me"), 7, 202, &all[1].id, "+"),
        about(&bo, 7, 203, &all[1].id, "!"),
    ] {
        s.post(&k);
    }
    let reactions = &s.row(&all[1].id).reactions;
    let seen: Vec<(&str, u32, bool)> = reactions.iter().map(|r| (r.emoji.as_str(), r.count, r.mine)).collect();
    assert_eq!(seen, vec![("+", 2, true), ("!", 1, false)]);
    s.post(&about(&bo, 40003, 204, &all[2].id, "not mine"));
    assert_eq!(s.diffs, 0);
    s.post(&about(&ada, 5, 205, &all[0].id, ""));
    assert_eq!((s.diffs, s.app.len()), (2, 2), "the row is gone, and the next starts the day now");
    let r = reply(&bo, s.bench.general, 300, all[2].id, all[2].id);
    s.post(&r);
    assert_eq!((s.diffs, s.row(&all[2].id).replies), (1, 1));
}

#[test]
fn facts_of_a_row() {
    let mut s = Screen::new();
    let (relay, h) = (Author::named("relay"), s.bench.general.to_string());
    let me = Author::named("me").key().to_hex();
    let sign = |by: &Author, kind, at, extra: &[&[&str]], text: &str| {
        let h_tag: &[&str] = &["h", &h];
        let tags: Vec<&[&str]> = [h_tag].into_iter().chain(extra.iter().copied()).collect();
        by.sign(template(kind, at, &tags, text))
    };
    let (ada, own) = (Author::named("ada"), Author::named("me"));
    let events = [
        sign(&ada, 9, 86_000, &[&["p", &me]], "hi"),
        sign(&ada, 9, 86_100, &[&["audience", "agents"]], "quiet"),
        sign(&ada, 9, 86_390, &[], "same group"),
        sign(&ada, 9, 86_500, &[], "next day"),
        sign(&ada, 9, 86_800, &[], "five minutes later"),
        sign(&ada, 40008, 86_801, &[], "diff"),
        sign(&relay, 40099, 86_802, &[], "{}"),
        sign(&ada, 43003, 86_803, &[], "job"),
        sign(&ada, 48100, 86_804, &[], "huddle"),
        sign(&own, 40002, 86_805, &[], r#"{"content":"rich"}"#),
        sign(&relay, 9, 86_806, &[&["actor", &me]], "posted for me"),
    ];
    s.bench.relay.events.extend(events.iter().cloned());
    s.open(50);
    let rows = s.app.clone();
    assert_eq!(rows.iter().map(|r| r.id).collect::<Vec<_>>(), events.iter().map(|e| e.id).collect::<Vec<_>>());
    assert_eq!(rows.iter().map(|r| r.starts_day).filter(|d| *d).count(), 2);
    assert!(rows[0].starts_day && rows[3].starts_day && !rows[3].grouped);
    assert_eq!(rows.iter().map(|r| r.grouped).take(6).collect::<Vec<_>>(), [false, true, true, false, false, false]);
    assert!(rows[0].mentioned && !rows[1].mentioned && rows[1].quiet);
    let sorts: Vec<RowKind> = rows[5..9].iter().map(|r| r.kind).collect();
    assert_eq!(sorts, [RowKind::Diff, RowKind::Notice, RowKind::Job, RowKind::Huddle]);
    assert!(rows[9].own && rows[9].text == "rich" && rows[10].own && rows[10].author.to_hex() == me);
    assert_eq!((rows[0].author_name.as_str(), rows[9].author_name.len()), ("Ada", 8));
}

/// `unread.md` 12.3: the dot follows the thread, and only its row is drawn again.
#[test]
fn a_thread_dot_comes_and_goes() {
    let mut s = Screen::new();
    let all = s.bench.history(100, 5, 10);
    s.open(10);
    s.around.dots.borrow_mut().insert(all[1].id);
    s.timelines.touch_thread(s.bench.general, &all[1].id);
    s.update();
    assert_eq!((s.diffs, s.row(&all[1].id).thread_dot), (1, true));
    s.timelines.touch_thread(channel("ops"), &all[1].id);
    assert!(s.timelines.pending().is_empty());
    s.around.dots.borrow_mut().clear();
    s.timelines.touch_channel(s.bench.general);
    s.timelines.touch_author(&Author::named("ada").key());
    s.update();
    assert_eq!((s.diffs, s.row(&all[1].id).thread_dot), (1, false));
}

/// R28, pitfalls C24, scenario paging/20.
#[test]
fn the_first_unread_line_is_fixed_for_the_visit() {
    let mut s = Screen::new();
    let all = s.bench.history(100, 3, 10);
    let own = message(&Author::named("me"), s.bench.general, 105, "mine");
    s.bench.relay.events.push(own.clone());
    s.around.unread.borrow_mut().extend([own.id, all[1].id, all[2].id]);
    s.open(10);
    assert_eq!(s.state().first_unread, Some(all[1].id), "never one's own");
    s.around.unread.borrow_mut().clear();
    let late = message(&Author::named("ada"), s.bench.general, 500, "late");
    s.around.unread.borrow_mut().insert(late.id);
    s.post(&late);
    assert_eq!(s.state().first_unread, Some(all[1].id));
    s.close();
    s.open(10);
    assert_eq!(s.state().first_unread, Some(late.id));
    s.close();
    s.around.unread.borrow_mut().clear();
    s.open(10);
    assert_eq!(s.state().first_unread, None);
    let later = message(&Author::named("ada"), s.bench.general, 600, "later");
    s.around.unread.borrow_mut().insert(later.id);
    s.post(&later);
    assert_eq!(s.state().first_unread, None, "taken at opening: none");
}

/// R28 without a connection: the cached rows decide, or else the first page that comes.
#[test]
fn the_line_of_a_timeline_opened_offline() {
    let mut s = Screen::new();
    let all = s.bench.history(100, 3, 10);
    s.open(10);
    s.bench.restart();
    s.timelines = Timelines::default();
    s.app.clear();
    s.open(10);
    assert_eq!((s.app.len(), s.state().restored, s.state().first_unread), (3, true, None));
    let missed = message(&Author::named("ada"), s.bench.general, 500, "missed");
    s.bench.relay.events.push(missed.clone());
    s.around.unread.borrow_mut().insert(missed.id);
    s.bench.connect();
    s.update();
    assert_eq!((s.app.len(), s.state().restored, s.state().first_unread), (4, false, Some(missed.id)));
    s.close();
    s.bench.restart();
    s.around.unread.borrow_mut().insert(all[2].id);
    s.open(10);
    assert_eq!(s.state().first_unread, Some(all[2].id));
    s.bench.connect();
    s.around.unread.borrow_mut().insert(all[0].id);
    s.update();
    assert_eq!(s.state().first_unread, Some(all[2].id));
}

/// P15: one live row is one or two differences, and nothing for a timeline that did not change.
#[test]
fn one_live_row_is_few_differences() {
    let mut s = Screen::new();
    s.bench.history(100, 50, 10);
    s.open(50);
    let drawn = *s.around.drawn.borrow();
    s.post(&message(&Author::named("bo"), s.bench.general, 5_000, "live"));
    assert_eq!((s.diffs, *s.around.drawn.borrow() - drawn), (1, 1));
    s.post(&message(&Author::named("bo"), s.bench.general, 4_000, "between"));
    assert!(s.diffs <= 2);
    s.post(&message(&Author::named("bo"), channel("ops"), 5_001, "elsewhere"));
    assert_eq!(s.diffs, 0);
}

/// A gap ends a group, and the record names the row above it.
#[test]
fn a_gap_ends_a_group() {
    let mut s = Screen::new();
    s.bench.history(100, 3, 10);
    s.open(2);
    s.bench.disconnect();
    s.bench.history(140, 4, 10);
    s.bench.connect();
    s.update();
    let state = s.state();
    assert_eq!((state.gap, state.more), (Some(2), More::Yes));
    assert!(!state.rows[2].grouped && state.rows[3].grouped);
    s.bench.older(Screen::key()).unwrap();
    s.update();
    assert_eq!((s.state().gap, s.app.len()), (Some(2), 6));
    s.bench.older(Screen::key()).unwrap();
    s.update();
    assert_eq!((s.state().gap, s.app.len()), (None, 6));
    assert!(s.app[1..].iter().all(|r| r.grouped));
}

/// A thread draws its root first, whatever its time, and never as the line.
#[test]
fn a_threads_root_comes_first() {
    let mut s = Screen::new();
    let root = s.bench.history(500, 1, 1).remove(0);
    let early = reply(&Author::named("bo"), s.bench.general, 400, root.id, root.id);
    s.bench.relay.events.push(early.clone());
    let key = TimelineKey::thread(s.bench.general, root.id);
    s.around.unread.borrow_mut().extend([root.id, early.id]);
    s.timelines.open(key, 0);
    s.bench.open(key, 10).unwrap();
    s.update();
    let state = s.timelines.state(&s.bench.windows.view(&key).unwrap()).unwrap();
    assert_eq!(state.rows.iter().map(|r| r.id).collect::<Vec<_>>(), vec![root.id, early.id]);
    assert_eq!((state.first_unread, state.rows[1].thread_root), (Some(early.id), Some(root.id)));
    let live = reply(&Author::named("bo"), s.bench.general, 450, root.id, root.id);
    s.post(&live);
    s.post(&about(&Author::named("ada"), 5, 900, &root.id, ""));
    assert_eq!(s.app.iter().map(|r| r.id).collect::<Vec<_>>(), vec![early.id, live.id], "readable without its root");
}
