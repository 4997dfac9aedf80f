//! Off-screen cues (`unread.md` 12.2, 12.4).

use super::tests::unread;
use super::*;
use crate::ids::PublicKey;
use crate::model::{ChannelType, PresentationClass};
use crate::testing::channel;

/// The viewport of these tests.
const VIEW: Extent = Extent { top: 100.0, bottom: 200.0 };

fn person(n: u8) -> PublicKey {
    PublicKey([n; 32])
}

fn conversation(name: &str, u: u32, a: u32, others: &[u8]) -> Arc<SidebarRow> {
    let channel_type = if others.is_empty() { ChannelType::Stream } else { ChannelType::Dm };
    Arc::new(row(Conversation {
        channel: channel(name),
        name: name.into(),
        channel_type,
        participants: others.iter().map(|n| person(*n)).collect(),
        joined: true,
        archived: false,
        class: PresentationClass::Normal,
        muted: false,
        unread: &unread(Some(u), Some(a)),
        threads: 0,
        latest_at: None,
    }))
}

fn state(rows: Vec<Arc<SidebarRow>>) -> SidebarState {
    SidebarState { rows, cached: false }
}

fn at(name: &str, top: f64) -> Placed {
    let extent = Extent { top, bottom: top + 20.0 };
    Placed { channel: channel(name), extent, collapsed: false, filtered: false }
}

fn target(cue: &Cue) -> Option<(ChannelId, usize)> {
    cue.target.map(|t| (t.channel, t.index))
}

/// 12.17: equality counts as beyond; a partly visible row does not.
#[test]
fn edges_and_equality() {
    let s = state(vec![conversation("a", 1, 0, &[])]);
    for (top, above, below) in [(80.0, 1, 0), (80.5, 0, 0), (150.0, 0, 0), (199.5, 0, 0), (200.0, 0, 1), (900.0, 0, 1)]
    {
        let c = cues(&s, &[at("a", top)], VIEW);
        assert_eq!((c.above.count, c.below.count), (above, below), "row at {top}");
    }
    let taller = Placed { extent: Extent { top: 0.0, bottom: 999.0 }, ..at("a", 0.0) };
    assert_eq!(cues(&s, &[taller], VIEW), Cues::default(), "it fills the viewport");
}

/// 12.15: any visible copy excludes the conversation; 12.16: two copies count once, the nearest is the target.
#[test]
fn copies_of_one_conversation() {
    let s = state(vec![conversation("a", 1, 0, &[]), conversation("b", 1, 0, &[])]);
    let c = cues(&s, &[at("a", 0.0), at("a", 190.0), at("a", 400.0), at("b", 300.0), at("b", 260.0)], VIEW);
    assert_eq!((c.above.count, c.below.count), (0, 1));
    assert_eq!(target(&c.below), Some((channel("b"), 4)));
    let c = cues(&s, &[at("a", 20.0), at("a", 40.0), at("a", 300.0)], VIEW);
    assert_eq!((target(&c.above), target(&c.below)), (Some((channel("a"), 1)), Some((channel("a"), 2))));
    assert_eq!((c.above.count, c.below.count), (1, 1));
}

/// 12.18: four 1:1 DMs and a nearer group DM: five conversations, the three nearest 1:1 as previews.
#[test]
fn previews_are_the_nearest_one_to_one_dms() {
    let mut rows = vec![conversation("group", 1, 1, &[8, 9]), conversation("general", 1, 0, &[])];
    rows.extend((1..=4).map(|n| conversation(&format!("dm{n}"), 1, 1, &[n])));
    let s = state(rows);
    let places = [at("dm3", 260.0), at("dm1", 220.0), at("group", 200.0), at("dm2", 240.0), at("dm4", 280.0)];
    let c = cues(&s, &places, VIEW).below;
    assert_eq!((c.count, target(&c), c.attention), (5, Some((channel("group"), 2)), true));
    assert_eq!(c.previews, [person(1), person(2), person(3)]);
    assert_eq!(c.accessible_name, "5 unread conversations below");
    // Nearest first also above.
    let above: Vec<_> = places.iter().map(|p| at_extent(p, -300.0)).collect();
    let c = cues(&s, &above, VIEW).above;
    assert_eq!((c.previews, c.count), (vec![person(4), person(3), person(2)], 5));
}

fn at_extent(p: &Placed, by: f64) -> Placed {
    Placed { extent: Extent { top: p.extent.top + by, bottom: p.extent.bottom + by }, ..*p }
}

/// A self DM counts without a preview; a channel's own unread wants no attention.
#[test]
fn what_wants_attention() {
    let myself = SidebarRow { channel_type: ChannelType::Dm, ..(*conversation("me", 1, 1, &[])).clone() };
    let s = state(vec![Arc::new(myself), conversation("a", 2, 0, &[]), conversation("b", 2, 1, &[])]);
    let cue = |name| cues(&s, &[at(name, 300.0)], VIEW).below;
    assert_eq!((cue("me").count, cue("me").previews.len(), cue("me").attention), (1, 0, true));
    assert!(!cue("a").attention && cue("b").attention);
    assert_eq!(cue("a").accessible_name, "1 unread conversation below");
    let threads = SidebarRow { threads: 1, ..(*conversation("t", 0, 0, &[])).clone() };
    let s = state(vec![Arc::new(SidebarRow { counted: true, ..threads })]);
    assert!(cues(&s, &[at("t", 0.0)], VIEW).above.attention);
}

/// C15: rows that do not count (read, muted) are no part of any edge, and neither are unknown channels.
#[test]
fn only_counted_rows() {
    let muted = SidebarRow { counted: false, ..(*conversation("muted", 5, 2, &[])).clone() };
    let s = state(vec![conversation("read", 0, 0, &[]), Arc::new(muted), conversation("a", 1, 0, &[])]);
    let places = [at("read", 220.0), at("muted", 240.0), at("nobody", 250.0), at("a", 260.0)];
    assert_eq!(
        (cues(&s, &places, VIEW).below.count, target(&cues(&s, &places, VIEW).below)),
        (1, Some((channel("a"), 3)))
    );
}

/// Zero-size and filtered rows are out, on the edge and as visible copies.
#[test]
fn rows_without_size_or_hidden_by_a_search() {
    let s = state(vec![conversation("a", 1, 0, &[])]);
    let flat = |top: f64| Placed { extent: Extent { top, bottom: top }, ..at("a", top) };
    let filtered = |top: f64| Placed { filtered: true, ..at("a", top) };
    let nan = Placed { extent: Extent { top: f64::NAN, bottom: f64::NAN }, ..at("a", 0.0) };
    assert_eq!(cues(&s, &[flat(300.0), filtered(0.0), nan], VIEW), Cues::default());
    assert_eq!(cues(&s, &[flat(150.0), filtered(150.0), at("a", 300.0)], VIEW).below.count, 1);
}

/// Rows of a collapsed section stand where its summary stands, and ask to be expanded.
#[test]
fn collapsed_sections() {
    let s = state(vec![conversation("a", 1, 0, &[]), conversation("b", 1, 0, &[])]);
    let folded = |name, top| Placed { collapsed: true, ..at(name, top) };
    let c = cues(&s, &[folded("a", 250.0), folded("b", 250.0)], VIEW).below;
    assert_eq!(c.count, 2);
    assert_eq!(c.target, Some(CueTarget { channel: channel("a"), index: 0, collapsed: true }));
    assert_eq!(cues(&s, &[folded("a", 150.0)], VIEW), Cues::default(), "the summary shows");
}

/// The form for lists that know which rows show.
#[test]
fn cues_of_a_range() {
    let s = state(["a", "b", "c", "d", "e"].map(|n| conversation(n, 1, 0, &[])).to_vec());
    let c = cues_of_range(&s, 2, 2);
    assert_eq!((c.above.count, c.below.count), (2, 2));
    assert_eq!((target(&c.above), target(&c.below)), (Some((channel("b"), 1)), Some((channel("d"), 3))));
    assert_eq!(cues_of_range(&s, 0, 4), Cues::default());
    assert_eq!(cues_of_range(&state(vec![]), 0, 0), Cues::default());
    let none = cues_of_range(&s, 1, 0);
    assert_eq!((none.above.count, none.below.count), (1, 4));
}
