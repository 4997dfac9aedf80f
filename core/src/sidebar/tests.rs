//! The decision table row by row (`unread.md` 12.1, 12.4), names, order and the thread button.

use super::*;
use crate::ids::{EventId, PublicKey};
use crate::model::{ChannelType, Coverage, Freshness, Manual, PresentationClass, UnreadSnapshot};
use crate::testing::channel;

pub(super) fn unread(observed: Option<u32>, attention: Option<u32>) -> UnreadSnapshot {
    UnreadSnapshot {
        observed,
        attention,
        latest: observed.map(|_| EventId([1; 32])),
        coverage: if observed.is_some() { Coverage::Observed } else { Coverage::Unknown },
        freshness: Freshness::Observed,
        manual: Manual::None,
        pending: false,
        error: None,
    }
}

/// A conversation of these counts; the rest is set by the tests.
struct Case {
    unread: UnreadSnapshot,
    dm: bool,
    class: PresentationClass,
    muted: bool,
    threads: u32,
    joined: bool,
    archived: bool,
}

impl Case {
    fn channel(observed: u32, attention: u32) -> Self {
        let unread = unread(Some(observed), Some(attention));
        let class = PresentationClass::Normal;
        Self { unread, dm: false, class, muted: false, threads: 0, joined: true, archived: false }
    }

    fn dm(observed: u32) -> Self {
        Self { dm: true, ..Self::channel(observed, observed) }
    }

    fn class(self, class: PresentationClass) -> Self {
        Self { class, ..self }
    }

    fn muted(self) -> Self {
        Self { muted: true, ..self }
    }

    fn threads(self, threads: u32) -> Self {
        Self { threads, ..self }
    }

    fn manual(mut self) -> Self {
        self.unread.manual = Manual::LocalOnly;
        self
    }

    fn stale(mut self) -> Self {
        self.unread.freshness = Freshness::Stale;
        self
    }

    fn row(&self) -> SidebarRow {
        row(Conversation {
            channel: channel("general"),
            name: "general".into(),
            channel_type: if self.dm { ChannelType::Dm } else { ChannelType::Stream },
            participants: if self.dm { vec![PublicKey([7; 32])] } else { vec![] },
            joined: self.joined,
            archived: self.archived,
            class: self.class,
            muted: self.muted,
            unread: &self.unread,
            threads: self.threads,
            latest_at: Some(5),
        })
    }

    /// Which of strong, dot, bell and counted hold, by their first letters.
    fn looks(&self) -> String {
        let row = self.row();
        let flags = [(row.strong, 's'), (row.dot, 'd'), (row.bell, 'b'), (row.counted, 'c')];
        flags.iter().filter(|(on, _)| *on).map(|(_, letter)| *letter).collect()
    }
}

/// 12.1, 12.2, 12.3, 12.5: an unmuted channel.
#[test]
fn channels() {
    assert_eq!(Case::channel(3, 0).looks(), "sc", "12.1");
    assert_eq!(Case::channel(2, 2).looks(), "dc", "12.2: attention alone does not bold");
    assert_eq!(Case::channel(3, 1).looks(), "sdc", "12.3");
    assert_eq!(Case::channel(0, 0).manual().looks(), "sc", "12.5");
    assert_eq!(Case::channel(0, 0).threads(1).looks(), "dc", "a thread-only row takes part in the cue");
    assert_eq!(Case::channel(2, 2).threads(2).looks(), "dc", "one dot for both");
    assert_eq!(Case::channel(0, 0).looks(), "");
}

/// 12.6: unknown and observed zero look alike, and the row's counts keep them apart.
#[test]
fn unknown_is_plain() {
    let mut unknown = Case::channel(0, 0);
    unknown.unread = unread(None, None);
    assert_eq!(unknown.looks(), "");
    assert_eq!((unknown.row().observed, Case::channel(0, 0).row().observed), (None, Some(0)));
    assert_eq!(unknown.row().accessible_name, Case::channel(0, 0).row().accessible_name);
    // F8, 7.23: a manual mark on something nothing is known about still shows.
    assert_eq!(unknown.manual().looks(), "sc");
}

/// 12.7, 12.8, C15: a muted channel keeps its facts and its threads for the popover.
#[test]
fn muted_channels() {
    let case = Case::channel(5, 2).threads(1).muted();
    assert_eq!(case.looks(), "b", "12.7");
    let row = case.row();
    assert_eq!((row.observed, row.attention, row.threads), (Some(5), Some(2), 1));
    assert_eq!(row.accessible_name, "general, 1 thread with unread replies, muted");
    assert_eq!(Case::channel(5, 2).threads(1).muted().manual().looks(), "sb", "12.8");
    assert_eq!(Case::channel(0, 0).muted().looks(), "b", "the bell shows without activity too");
}

/// 12.10, 12.11: only the confirmed preference is given here; without it the row is as if nothing had been muted.
#[test]
fn unmuting_restores_from_the_same_facts() {
    let mut case = Case::channel(5, 2).threads(1).muted();
    assert_eq!(case.looks(), "b");
    case.muted = false;
    assert_eq!(case.looks(), "sdc");
}

/// 12.12, 12.13, R18: direct messages.
#[test]
fn direct_messages() {
    assert_eq!(Case::dm(1).looks(), "sdc", "12.12");
    assert_eq!(Case::dm(0).looks(), "");
    assert_eq!(Case::dm(0).manual().looks(), "sc", "R18: a manual mark alone fabricates no priority");
    assert_eq!(Case::dm(1).muted().looks(), "b", "12.13");
    assert_eq!(Case::dm(1).muted().manual().looks(), "sb");
}

/// R27a: the promoted DM follows the DM, without a bell.
#[test]
fn the_promoted_dm() {
    let promoted = |case: Case| case.class(PresentationClass::Promoted);
    assert_eq!(promoted(Case::dm(2)).looks(), "sdc");
    assert_eq!(promoted(Case::dm(0).manual()).looks(), "sc");
    assert_eq!(promoted(Case::dm(2).muted()).looks(), "");
    assert_eq!(promoted(Case::dm(2).muted().manual()).looks(), "s");
    assert_eq!(promoted(Case::dm(2)).row().section, SidebarSection::Promoted);
}

/// R27a: a Solo chat strengthens for anything unread, even when muted, and never has a dot.
#[test]
fn solo_chats() {
    let solo = |case: Case| case.class(PresentationClass::Solo);
    assert_eq!(solo(Case::dm(2)).looks(), "sc");
    assert_eq!(solo(Case::channel(2, 2).threads(1)).looks(), "sc");
    assert_eq!(solo(Case::channel(0, 0)).looks(), "");
    assert_eq!(solo(Case::channel(0, 0).manual()).looks(), "sc");
    assert_eq!(solo(Case::channel(2, 2).muted()).looks(), "s");
    assert_eq!(solo(Case::channel(0, 0).muted()).looks(), "");
    assert_eq!(solo(Case::channel(2, 0).muted()).row().accessible_name, "general, 2 unread messages, muted");
}

/// Scenario presentation/15: an open channel that is not joined is plain whatever is passed in.
#[test]
fn channels_not_joined_are_plain() {
    let mut case = Case::channel(5, 2).threads(1).manual().muted();
    case.joined = false;
    let row = case.row();
    assert_eq!(case.looks(), "");
    assert_eq!((row.observed, row.attention, row.manual, row.threads), (None, None, Manual::None, 0));
    assert_eq!((row.section, row.accessible_name.as_str()), (SidebarSection::Open, "general"));
}

/// What assistive technology reads: observed, possibly out of date, this device only.
#[test]
fn accessible_names() {
    let name = |case: Case| case.row().accessible_name;
    assert_eq!(name(Case::channel(1, 0)), "general, 1 unread message");
    assert_eq!(name(Case::channel(3, 1).stale()), "general, 3 unread messages, 1 for you, possibly out of date");
    assert_eq!(name(Case::channel(0, 0).stale()), "general", "nothing is claimed, so nothing is out of date");
    assert_eq!(name(Case::channel(0, 0).manual()), "general, marked unread on this device only");
    assert_eq!(name(Case::channel(0, 0).threads(2)), "general, 2 threads with unread replies");
    let mut remote = Case::channel(0, 0);
    remote.unread.manual = Manual::Remote;
    assert_eq!(name(remote), "general, marked unread on another device");
    assert_eq!(Case::channel(3, 1).stale().looks(), Case::channel(3, 1).looks(), "staleness is only in the name");
}

#[test]
fn conversations_have_names() {
    let others = || ["ada".to_owned(), "bo".to_owned()];
    assert_eq!(conversation_name(ChannelType::Dm, Some("DM"), others()), "ada, bo");
    assert_eq!(conversation_name(ChannelType::Dm, Some("DM"), []), "Notes to self");
    assert_eq!(conversation_name(ChannelType::Stream, Some("general"), others()), "general");
    assert_eq!(conversation_name(ChannelType::Unknown, None, others()), "Unnamed channel");
}

fn named(name: &str, section: SidebarSection, latest_at: Option<u64>) -> SidebarRow {
    let mut row = Case::channel(0, 0).row();
    (row.channel, row.name, row.section, row.latest_at) = (channel(name), name.into(), section, latest_at);
    row
}

#[test]
fn sections_and_their_order() {
    use SidebarSection::{Archived, Channels, DirectMessages, Open, Promoted, Solo};
    let mut sidebar = Sidebar::default();
    for row in [
        named("old", Archived, None),
        named("town", Open, None),
        named("beta", Channels, Some(9)),
        named("Alpha", Channels, Some(1)),
        named("quiet", DirectMessages, None),
        named("older", DirectMessages, Some(5)),
        named("newer", DirectMessages, Some(6)),
        named("solo", Solo, Some(99)),
        named("bestie", Promoted, None),
    ] {
        assert!(sidebar.set(row));
    }
    let names = |s: &Sidebar| s.state(false).rows.iter().map(|r| r.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&sidebar), ["bestie", "Alpha", "beta", "newer", "older", "quiet", "solo", "town", "old"]);
    // The same row again changes nothing and keeps its identity.
    let held = sidebar.get(channel("beta")).unwrap().clone();
    assert!(!sidebar.set((*held).clone()));
    assert!(Arc::ptr_eq(&held, sidebar.get(channel("beta")).unwrap()));
    // A moved row stands in one place only.
    assert!(sidebar.set(named("quiet", DirectMessages, Some(7))));
    assert!(sidebar.remove(channel("town")) && !sidebar.remove(channel("town")));
    assert_eq!(names(&sidebar), ["bestie", "Alpha", "beta", "quiet", "newer", "older", "solo", "old"]);
    assert!(sidebar.state(true).cached);
}

#[test]
fn archived_and_class_decide_the_section() {
    let section = |case: Case| case.row().section;
    assert_eq!(section(Case::channel(0, 0)), SidebarSection::Channels);
    assert_eq!(section(Case::dm(0)), SidebarSection::DirectMessages);
    assert_eq!(section(Case::dm(0).class(PresentationClass::Solo)), SidebarSection::Solo);
    let mut archived = Case::dm(0).class(PresentationClass::Promoted);
    archived.archived = true;
    assert_eq!(section(archived), SidebarSection::Archived);
}

/// `unread.md` 12.3, 12.21, 12.22.
#[test]
fn thread_buttons() {
    let button = |replies, case: Case| {
        let b = thread_button(replies, &case.unread);
        (b.dot, b.accessible_name)
    };
    assert_eq!(button(3, Case::channel(2, 2)), (true, "3 replies, 2 unread".into()));
    assert_eq!(
        button(3, Case::channel(2, 2).stale()),
        (true, "3 replies, 2 unread, possibly out of date".into()),
        "12.21"
    );
    assert_eq!(
        button(1, Case::channel(0, 0).manual()),
        (true, "1 reply, marked unread on this device only".into()),
        "12.22"
    );
    assert_eq!(button(1, Case::channel(0, 0).stale()), (false, "1 reply".into()));
    assert!(!thread_button(4, &unread(None, None)).dot);
}
