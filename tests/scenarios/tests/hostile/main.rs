//! What is wrong with its input changes nothing: one table of bad inputs, each with the error it must lead to or the item that must be dropped,
//! and the proof that nothing else changed.
//!
//! A row feeds a real session over the embedded relay (frames, answers, stored files, calls), then compares everything a reader sees and keeps
//! with what it was ([`world::Facts`]), and lets ada say something to see that the session lives. Groups share a session, so a row also
//! must not spoil the rows behind it.

#![allow(clippy::unwrap_used, reason = "a test")]

mod answers;
mod blobs;
mod budgets;
mod calls;
mod canary;
mod frames;
mod stored;
mod table;
mod tamper;
mod world;

/// The table is as long as it is said to be.
#[test]
fn the_table_has_its_rows() {
    let groups = [
        ("frames", frames::ROWS.len()),
        ("pushed events", frames::EVENTS.len()),
        ("window answers", answers::PAGES.len()),
        ("thread answers", answers::THREADS.len()),
        ("answers at a reconnect", answers::CONNECTS.len()),
        ("snapshots", blobs::SNAPSHOTS.len()),
        ("read-state events", blobs::BLOBS.len()),
        ("publications", blobs::SIGNERS.len()),
        ("stored journals", stored::JOURNALS.len()),
        ("stored caches", stored::CACHES.len()),
        ("calls", calls::CALLS.len()),
        ("texts", calls::TEXTS.len()),
    ];
    let rows: usize = groups.iter().map(|(_, n)| n).sum();
    assert!(rows >= 150, "{rows} rows: {groups:?}");
    for (name, n) in groups {
        assert!(n > 0, "{name} has no rows");
    }
}
