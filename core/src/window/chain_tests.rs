use super::*;
use crate::ids::EventId;

fn key(at: u64) -> RowKey {
    RowKey::new(at, EventId([1; 32]))
}

fn page(rows: &[u64], next: Next) -> Page {
    Page { rows: rows.iter().map(|t| key(*t)).collect(), next }
}

fn at(t: u64) -> Next {
    Next::Cursor(key(t))
}

fn times(chains: &Chains) -> Vec<u64> {
    chains.shown().iter().map(|k| k.created_at).collect()
}

/// A head page that reaches into the old chain: rows inside its interval that it lacks are gone, those below belong again.
#[test]
fn a_head_page_joins_the_old_chain() {
    let mut c = Chains::default();
    c.head(page(&[50, 40], at(40)), false, true);
    c.older(page(&[30, 20], Next::End), true);
    c.disconnected();
    c.head(page(&[60, 50], at(35)), false, true);
    assert_eq!(times(&c), vec![60, 50, 30, 20]);
    assert_eq!((c.gap(), c.more(), c.below_head().len()), (None, More::No, 2));
}

/// An incomplete page proves no absence.
#[test]
fn rows_stay_when_something_was_dropped_from_the_page() {
    let mut c = Chains::default();
    c.head(page(&[50, 40], at(40)), false, true);
    c.disconnected();
    c.head(page(&[50], at(40)), false, false);
    assert_eq!(times(&c), vec![50, 40]);
}

/// Several gaps: the newest is filled first, each page joins whatever it reaches.
#[test]
fn gaps_close_from_the_top() {
    let mut c = Chains::default();
    for head in [10, 30, 50] {
        c.head(page(&[head + 1, head], at(head)), false, true);
        c.disconnected();
    }
    c.head(page(&[71, 70], at(70)), false, true);
    assert_eq!((c.gap(), c.more()), (Some(key(51)), More::Yes));
    assert_eq!(c.next(), Some(at(70)));
    c.older(page(&[51, 50, 40], at(40)), true);
    assert_eq!(c.gap(), Some(key(31)), "one chain was taken in whole, the next is still behind a gap");
    c.older(page(&[31, 30, 20, 11], at(11)), true);
    assert_eq!((c.gap(), c.next()), (None, Some(at(10))));
    assert_eq!(times(&c), vec![71, 70, 51, 50, 40, 31, 30, 20, 11, 10]);
}

#[test]
fn live_rows_of_a_lost_connection_stay_in_their_chain() {
    let mut c = Chains::default();
    c.head(page(&[50, 40], at(40)), false, true);
    for live in [60, 45, 30] {
        c.live(key(live));
    }
    assert_eq!(times(&c), vec![60, 50, 45, 40], "30 waits for its page");
    c.disconnected();
    assert_eq!(times(&c), vec![60, 50, 45, 40]);
    c.live(key(90));
    assert_eq!((times(&c)[0], c.gap()), (90, Some(key(60))));
    c.disconnected();
    c.head(page(&[95, 90], at(70)), false, true);
    assert_eq!((times(&c), c.gap()), (vec![95, 90, 60, 50, 45, 40], Some(key(60))));
}

#[test]
fn a_row_inside_a_gap_waits() {
    let mut c = Chains::default();
    c.head(page(&[20, 10], Next::End), false, true);
    c.disconnected();
    c.head(page(&[60, 50], at(50)), false, true);
    c.live(key(30));
    c.live(key(15));
    assert_eq!(times(&c), vec![60, 50, 20, 15, 10]);
}

#[test]
fn kept_pages_show_one_by_one_and_give_way() {
    let mut c = Chains::default();
    c.restore(vec![page(&[50, 40, 30], at(30)), page(&[20, 10], Next::End)], false, 2);
    assert_eq!((times(&c), c.more()), (vec![50, 40], More::Yes));
    assert_eq!(c.reveal().map(|rows| rows.len()), Some(1));
    assert_eq!(times(&c), vec![50, 40, 30]);
    c.head(page(&[50, 40], at(25)), false, true);
    assert_eq!((times(&c), c.more()), (vec![50, 40], More::Yes), "30 is gone, the page below is kept for offline");
    c.older(page(&[20], at(15)), true);
    assert!(c.reveal().is_some());
    assert_eq!((times(&c), c.more(), c.reveal()), (vec![50, 40, 20, 10], More::No, None));
}

/// The cache may answer after the head page.
#[test]
fn the_cache_may_be_late() {
    let mut c = Chains::default();
    c.head(page(&[60, 50], at(50)), false, true);
    c.restore(vec![page(&[50, 40, 30], at(30))], false, 50);
    assert_eq!((times(&c), c.gap(), c.next()), (vec![60, 50, 40, 30], None, Some(at(30))));
    let mut c = Chains::default();
    c.head(page(&[60], Next::End), true, true);
    c.restore(vec![page(&[50], Next::End)], false, 50);
    assert_eq!(times(&c), vec![60], "another row mode");
}

#[test]
fn the_newest_chain_is_what_is_kept() {
    let mut c = Chains::default();
    c.restore(vec![page(&[50, 40, 30], at(30)), page(&[20, 10], Next::End)], false, 2);
    assert_eq!(c.to_keep(100), vec![page(&[50, 40, 30], at(30)), page(&[20, 10], Next::End)]);
    assert_eq!(c.to_keep(4), vec![page(&[50, 40, 30], at(30))]);
    assert_eq!(c.to_keep(2), vec![page(&[50, 40], Next::Plain(Some(key(40))))]);
    c.head(page(&[90, 80], at(80)), false, true);
    c.live(key(95));
    assert_eq!(c.to_keep(100), vec![page(&[95, 90, 80], at(80))]);
}

#[test]
fn chains_and_rows_are_bounded() {
    let mut c = Chains::default();
    for i in 0..20 {
        c.head(page(&[i * 10], at(i * 10)), false, true);
        c.disconnected();
    }
    assert_eq!(c.chains.len(), limits::TIMELINE_CHAINS);
    c.head(page(&[1_000], at(1_000)), false, true);
    for i in 0..u64::try_from(limits::TIMELINE_ROWS).unwrap() {
        c.live(key(2_000 + i));
    }
    c.shrink();
    assert!(c.len() <= limits::TIMELINE_ROWS + 1);
}
