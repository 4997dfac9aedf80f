//! Keys and reports, on made-up facts.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use waggle::error::{Error, NetworkFailure};
use waggle::ids::{ChannelId, EventId, PublicKey, Target};
use waggle::model::{
    ChannelType, Manual, More, OverlayTrust, RowKind, SidebarRow, SidebarSection, SidebarState, ThreadActivity,
    ThreadActivityItem, TimelineRow, TimelineState, Viewport,
};

use super::*;

const WIDE: Rect = Rect::new(0, 0, 140, 24);

fn id(n: u8) -> EventId {
    EventId([n; 32])
}

fn channel(n: u8) -> ChannelId {
    ChannelId([n; 16])
}

fn row(n: u8, text: &str) -> Arc<TimelineRow> {
    Arc::new(TimelineRow {
        id: id(n),
        created_at: 1_751_500_000 + u64::from(n) * 600,
        author: PublicKey([1; 32]),
        author_name: "Mara".to_owned(),
        kind: RowKind::Message,
        text: text.to_owned(),
        edited: false,
        own: false,
        mentioned: false,
        quiet: false,
        thread_root: None,
        replies: 0,
        thread_dot: false,
        reactions: Vec::new(),
        starts_day: false,
        grouped: false,
    })
}

fn timeline(of: ChannelId, root: Option<EventId>, rows: Vec<Arc<TimelineRow>>) -> TimelineState {
    TimelineState {
        channel: of,
        root,
        rows,
        more: More::Yes,
        gap: None,
        first_unread: None,
        loading: false,
        restored: false,
        trust: OverlayTrust::Identity,
        error: None,
    }
}

fn side_row(n: u8) -> Arc<SidebarRow> {
    Arc::new(SidebarRow {
        channel: channel(n),
        name: format!("channel {n}"),
        section: SidebarSection::Channels,
        channel_type: ChannelType::Stream,
        participants: Vec::new(),
        strong: true,
        dot: false,
        bell: false,
        counted: true,
        threads: 0,
        observed: Some(1),
        attention: Some(0),
        manual: Manual::None,
        accessible_name: String::new(),
        joined: true,
        archived: false,
        muted: false,
        latest_at: None,
    })
}

/// An app with a terminal of its own.
struct Bench {
    app: App,
    area: Rect,
}

impl Bench {
    fn new(area: Rect, channels: u8) -> Self {
        let mut app = App::new(Settings::default());
        let rows = (1..=channels).map(side_row).collect();
        app.handle(Event::Sidebar(Arc::new(SidebarState { rows, cached: false })));
        let mut bench = Self { app, area };
        bench.draw();
        bench
    }

    /// Channel 1 is open with so many rows.
    fn reading(area: Rect, rows: u8) -> Self {
        let mut bench = Self::new(area, 3);
        bench.key(KeyCode::Enter);
        bench.main(timeline(channel(1), None, (1..=rows).map(|n| row(n, "said")).collect()));
        bench
    }

    fn draw(&mut self) -> Vec<Command> {
        self.app.arrange(self.area);
        self.app.drawn();
        self.app.take_commands()
    }

    fn key(&mut self, code: KeyCode) -> Vec<Command> {
        self.app.handle(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        let mut commands = self.app.take_commands();
        commands.extend(self.draw());
        commands
    }

    fn keys(&mut self, text: &str) -> Vec<Command> {
        text.chars().flat_map(|c| self.key(KeyCode::Char(c))).collect()
    }

    fn main(&mut self, state: TimelineState) -> Vec<Command> {
        let ticket = self.app.main.as_ref().unwrap().ticket;
        self.app.handle(Event::Timeline(Pane::Main, ticket, Arc::new(state)));
        self.draw()
    }

    fn thread(&mut self, state: TimelineState) -> Vec<Command> {
        let ticket = self.app.thread.as_ref().unwrap().ticket;
        self.app.handle(Event::Timeline(Pane::Thread, ticket, Arc::new(state)));
        self.draw()
    }

    fn selected(&self) -> Option<EventId> {
        self.app.main.as_ref().unwrap().selected
    }
}

fn reports(commands: &[Command], of: Pane) -> Vec<&Viewport> {
    commands.iter().filter_map(|c| if let Command::Report(p, v) = c { (*p == of).then_some(v) } else { None }).collect()
}

#[test]
fn enter_opens_the_channel_under_the_cursor_and_focuses_it() {
    let mut bench = Bench::new(WIDE, 3);
    bench.keys("j");
    let commands = bench.key(KeyCode::Enter);
    assert!(matches!(&commands[0], Command::Open { pane: Pane::Main, channel: c, root: None, .. } if *c == channel(2)));
    assert_eq!(bench.app.focus, Focus::Main);
}

#[test]
fn a_report_names_what_is_fully_visible_in_order_and_the_bottom() {
    let mut bench = Bench::new(WIDE, 3);
    bench.key(KeyCode::Enter);
    let mut long = (1..=30).map(|n| row(n, "said")).collect::<Vec<_>>();
    long[29] = row(30, "one\ntwo\nthree");
    let commands = bench.main(timeline(channel(1), None, long));
    let report = reports(&commands, Pane::Main)[0];
    assert!(report.active && report.settled);
    assert_eq!(report.bottom, Some(id(30)));
    // 20 lines: the newest row takes four, the others two each.
    assert_eq!(report.visible, (22..=30).map(id).collect::<Vec<_>>());
}

#[test]
fn a_row_that_is_cut_off_is_not_visible_but_a_tall_newest_row_is_a_bottom() {
    // unread.md 11.15
    let mut bench = Bench::new(WIDE, 3);
    bench.key(KeyCode::Enter);
    let tall = vec!["line"; 60].join("\n");
    let commands = bench.main(timeline(channel(1), None, vec![row(1, "a"), row(2, &tall)]));
    let report = reports(&commands, Pane::Main)[0];
    assert!(report.visible.is_empty());
    assert_eq!(report.bottom, Some(id(2)));
    let commands = bench.key(KeyCode::Up);
    assert_eq!(reports(&commands, Pane::Main)[0].bottom, None, "scrolled away from the physical bottom");
}

#[test]
fn at_most_one_report_a_change() {
    let mut bench = Bench::reading(WIDE, 5);
    assert_eq!(bench.draw(), []);
    assert_eq!(bench.draw(), []);
    let same = bench.app.main.as_ref().unwrap().state.clone().unwrap();
    assert_eq!(bench.main((*same).clone()), []);
}

#[test]
fn a_surface_is_active_only_with_focus_without_popup_and_with_the_keyboard() {
    let mut bench = Bench::reading(WIDE, 5);
    let commands = bench.key(KeyCode::Tab);
    assert!(!reports(&commands, Pane::Main)[0].active, "the list has focus");
    let commands = bench.key(KeyCode::Tab);
    assert!(reports(&commands, Pane::Main)[0].active);
    let commands = bench.keys("?");
    assert!(!reports(&commands, Pane::Main)[0].active, "a dialog covers it");
    let commands = bench.key(KeyCode::Esc);
    assert!(reports(&commands, Pane::Main)[0].active);
    bench.app.handle(Event::Focus(false));
    assert!(!reports(&bench.draw(), Pane::Main)[0].active, "another window has the keyboard");
}

#[test]
fn nothing_is_settled_before_rows_were_drawn() {
    let mut bench = Bench::new(WIDE, 1);
    bench.key(KeyCode::Enter);
    let commands = bench.main(timeline(channel(1), None, vec![]));
    assert!(reports(&commands, Pane::Main).iter().all(|v| !v.settled));
    let commands = bench.main(timeline(channel(1), None, vec![row(1, "a")]));
    assert!(reports(&commands, Pane::Main)[0].settled);
}

#[test]
fn a_thread_has_attention_by_focus_or_by_an_explicit_return_to_its_channel() {
    // unread.md 11.2
    let mut bench = Bench::reading(WIDE, 5);
    let commands = bench.key(KeyCode::Enter);
    assert!(matches!(&commands[0], Command::Open { pane: Pane::Thread, root: Some(r), .. } if *r == id(5)));
    bench.thread(timeline(channel(1), Some(id(5)), vec![row(5, "root"), row(6, "reply")]));
    assert!(bench.app.is_active(Pane::Thread) && !bench.app.is_active(Pane::Main));
    bench.key(KeyCode::BackTab);
    assert!(bench.app.is_active(Pane::Main) && !bench.app.is_active(Pane::Thread), "focus in the list of rows");
    // Back to the list of channels, and to the channel by name.
    bench.key(KeyCode::BackTab);
    assert!(!bench.app.is_active(Pane::Main) && !bench.app.is_active(Pane::Thread));
    let commands = bench.key(KeyCode::Enter);
    assert!(!commands.iter().any(|c| matches!(c, Command::Open { .. })), "it is open already");
    assert!(bench.app.is_active(Pane::Main) && bench.app.is_active(Pane::Thread), "an explicit return");
}

#[test]
fn a_thread_opened_from_activity_gets_no_grant() {
    let mut bench = Bench::reading(WIDE, 5);
    let ticket = bench.app.main.as_ref().unwrap().ticket;
    let item = ThreadActivityItem {
        root: id(3),
        latest: id(9),
        author: PublicKey([1; 32]),
        created_at: 1,
        text: "hm".to_owned(),
        count: 1,
    };
    bench.app.handle(Event::Activity(ticket, Arc::new(ThreadActivity { items: Some(vec![item]) })));
    bench.keys("a");
    let commands = bench.key(KeyCode::Enter);
    assert!(
        commands.iter().any(|c| matches!(c, Command::Open { pane: Pane::Thread, root: Some(r), .. } if *r == id(3)))
    );
    bench.thread(timeline(channel(1), Some(id(3)), vec![row(3, "root"), row(9, "reply")]));
    bench.key(KeyCode::BackTab);
    assert!(!bench.app.is_active(Pane::Thread));
}

#[test]
fn a_hidden_thread_reads_nothing() {
    let mut bench = Bench::reading(Rect::new(0, 0, 80, 24), 5);
    bench.key(KeyCode::Enter);
    bench.thread(timeline(channel(1), Some(id(5)), vec![row(5, "root"), row(6, "reply")]));
    let commands = bench.key(KeyCode::BackTab);
    assert_eq!(reports(&commands, Pane::Thread), [&Viewport::default()]);
}

#[test]
fn the_root_of_a_thread_is_no_bottom_and_neither_is_an_unread_page_off() {
    let mut bench = Bench::reading(WIDE, 5);
    bench.key(KeyCode::Enter);
    let alone = TimelineState { more: More::No, ..timeline(channel(1), Some(id(5)), vec![row(5, "root")]) };
    let commands = bench.thread(alone);
    assert_eq!(reports(&commands, Pane::Thread)[0].bottom, None);
    let more = timeline(channel(1), Some(id(5)), vec![row(5, "root"), row(6, "a")]);
    let commands = bench.thread(more.clone());
    assert_eq!(reports(&commands, Pane::Thread)[0].bottom, None);
    assert!(commands.contains(&Command::LoadOlder(Pane::Thread)), "the end asks for the next page");
    let commands = bench.thread(TimelineState { more: More::No, ..more });
    assert_eq!(reports(&commands, Pane::Thread)[0].bottom, Some(id(6)));
}

#[test]
fn older_pages_come_by_scrolling_to_the_top_once_for_what_is_held() {
    let mut bench = Bench::reading(WIDE, 40);
    assert!(bench.keys("k").is_empty(), "a step at the bottom");
    let commands = bench.key(KeyCode::Home);
    assert!(commands.contains(&Command::LoadOlder(Pane::Main)));
    assert!(!bench.draw().contains(&Command::LoadOlder(Pane::Main)));
    // It failed: the edge does not ask again by itself, a key does.
    let ticket = bench.app.main.as_ref().unwrap().ticket;
    let error = Error::Network { why: NetworkFailure::Offline };
    bench.app.handle(Event::Paged(Pane::Main, ticket, Err(error)));
    assert!(bench.app.note.as_ref().is_some_and(|n| n.failed));
    assert!(!bench.draw().contains(&Command::LoadOlder(Pane::Main)));
    assert!(bench.keys("k").contains(&Command::LoadOlder(Pane::Main)));
}

#[test]
fn rows_keep_their_place_when_a_page_comes_above_and_when_one_arrives_below() {
    let mut bench = Bench::reading(WIDE, 40);
    bench.key(KeyCode::Home);
    let place = |bench: &Bench| {
        let feed = bench.app.main.as_ref().unwrap();
        feed.shown().find_map(|(block, _)| block.id())
    };
    assert_eq!(place(&bench), Some(id(1)));
    let older = (101..=120).map(|n| row(n, "older"));
    let rows: Vec<_> = older.chain((1..=41).map(|n| row(n, "said"))).collect();
    bench.main(timeline(channel(1), None, rows));
    assert_eq!(place(&bench), Some(id(1)));
    assert_eq!(bench.selected(), Some(id(1)));
}

#[test]
fn the_end_is_followed_while_it_shows() {
    let mut bench = Bench::reading(WIDE, 40);
    let commands = bench.main(timeline(channel(1), None, (1..=41).map(|n| row(n, "said")).collect()));
    assert_eq!(reports(&commands, Pane::Main)[0].bottom, Some(id(41)));
    assert_eq!(bench.selected(), Some(id(41)));
    bench.key(KeyCode::PageUp);
    let commands = bench.main(timeline(channel(1), None, (1..=42).map(|n| row(n, "said")).collect()));
    assert_eq!(reports(&commands, Pane::Main).len(), 0, "nothing that shows has changed");
    bench.keys("G");
    assert_eq!(bench.selected(), Some(id(42)));
}

#[test]
fn a_gap_is_filled_by_o_not_by_scrolling() {
    let mut bench = Bench::new(WIDE, 1);
    bench.key(KeyCode::Enter);
    let rows: Vec<_> = (1..=40).map(|n| row(n, "said")).collect();
    bench.main(TimelineState { gap: Some(20), ..timeline(channel(1), None, rows) });
    assert!(!bench.key(KeyCode::Home).contains(&Command::LoadOlder(Pane::Main)));
    assert!(!bench.keys("k").contains(&Command::LoadOlder(Pane::Main)));
    assert!(bench.keys("o").contains(&Command::LoadOlder(Pane::Main)));
}

#[test]
fn the_first_unread_row_is_shown_or_paged_to() {
    let mut bench = Bench::new(WIDE, 1);
    bench.key(KeyCode::Enter);
    let rows: Vec<_> = (1..=40).map(|n| row(n, "said")).collect();
    let state = TimelineState { first_unread: Some(id(10)), ..timeline(channel(1), None, rows) };
    bench.main(state.clone());
    bench.keys("u");
    assert_eq!(bench.selected(), Some(id(10)));
    bench.main(TimelineState { first_unread: Some(id(99)), ..state.clone() });
    let commands = bench.keys("u");
    assert!(commands.contains(&Command::LoadFirstUnread(Pane::Main)));
    assert!(reports(&commands, Pane::Main).iter().all(|v| !v.settled), "positioning is not finished");
    let mut rows = vec![row(99, "first")];
    rows.extend(state.rows.clone());
    let commands = bench.main(TimelineState { rows, first_unread: Some(id(99)), ..state });
    assert_eq!(bench.selected(), Some(id(99)));
    assert!(reports(&commands, Pane::Main)[0].settled);
}

#[test]
fn actions_name_the_row_under_the_cursor() {
    let mut bench = Bench::reading(WIDE, 5);
    let here = Target::Channel(channel(1));
    bench.keys("k");
    assert!(bench.keys("r").contains(&Command::MarkThrough(here, id(4))));
    assert!(bench.keys("m").contains(&Command::MarkUnread(Target::Message(channel(1), id(4)))));
    assert!(bench.keys("f").contains(&Command::ToggleFollow(channel(1), id(4))));
    assert!(bench.key(KeyCode::Esc).contains(&Command::MarkChannelRead(channel(1))));
    assert!(bench.keys("M").contains(&Command::Mute(channel(1), true)));
    bench.key(KeyCode::Enter);
    bench.thread(timeline(channel(1), Some(id(4)), vec![row(4, "root"), row(6, "reply")]));
    bench.keys("j");
    assert!(bench.keys("r").contains(&Command::MarkThrough(Target::Thread(channel(1), id(4)), id(6))));
    assert!(bench.keys("f").contains(&Command::ToggleFollow(channel(1), id(4))));
}

#[test]
fn a_message_for_agents_offers_no_mark() {
    let mut bench = Bench::new(WIDE, 1);
    bench.key(KeyCode::Enter);
    let quiet = TimelineRow { quiet: true, ..(*row(1, "machine talk")).clone() };
    bench.main(timeline(channel(1), None, vec![Arc::new(quiet)]));
    assert!(!bench.keys("m").iter().any(|c| matches!(c, Command::MarkUnread(_))));
}

#[test]
fn everything_is_marked_read_only_after_a_question() {
    let mut bench = Bench::reading(WIDE, 5);
    assert!(!bench.keys("X").contains(&Command::MarkAllRead));
    assert!(!bench.keys("n").contains(&Command::MarkAllRead));
    assert_eq!(bench.app.popup, None);
    assert!(bench.keys("Xy").contains(&Command::MarkAllRead));
}

#[test]
fn a_cue_moves_the_cursor_and_opens_nothing() {
    // unread.md 12.20
    let mut bench = Bench::new(Rect::new(0, 0, 140, 12), 30);
    assert!(bench.app.sidebar.cues.below.count > 0);
    let commands = bench.keys("]");
    assert_eq!(commands, []);
    assert!(bench.app.main.is_none());
    assert_ne!(bench.app.sidebar.cursor, Some(channel(1)));
    assert!(bench.app.sidebar.cues.above.count > 0);
}

#[test]
fn answers_for_an_earlier_opening_are_dropped() {
    let mut bench = Bench::reading(WIDE, 5);
    let old = bench.app.main.as_ref().unwrap().ticket;
    bench.key(KeyCode::Tab);
    bench.keys("j");
    bench.key(KeyCode::Enter);
    bench.app.handle(Event::Timeline(Pane::Main, old, Arc::new(timeline(channel(1), None, vec![row(1, "a")]))));
    assert!(bench.app.main.as_ref().unwrap().state.is_none());
}

#[test]
fn a_note_goes_after_a_while() {
    let mut bench = Bench::reading(WIDE, 5);
    bench.app.handle(Event::Done(Ok("Channel marked read.".to_owned())));
    bench.app.handle(Event::Tick(4_000, 0));
    assert!(bench.app.note.is_some());
    bench.app.take_changed();
    bench.app.handle(Event::Tick(6_000, 0));
    assert!(bench.app.note.is_none() && bench.app.take_changed());
}

#[test]
fn no_terminal_size_is_a_problem() {
    let mut bench = Bench::reading(WIDE, 40);
    bench.key(KeyCode::Enter);
    for width in [0, 1, 2, 3, 10, 39, 68, 107, 108, 300] {
        for height in [0, 1, 2, 3, 4, 5, 24] {
            bench.area = Rect::new(0, 0, width, height);
            for key in [KeyCode::Tab, KeyCode::PageUp, KeyCode::Char('j'), KeyCode::End, KeyCode::Char('?')] {
                bench.key(key);
                let mut buffer = ratatui::buffer::Buffer::empty(bench.area);
                crate::ui::draw(&bench.app, &mut buffer);
            }
            bench.key(KeyCode::Esc);
        }
    }
}
