//! What the screens look like: the real core on a seeded relay in virtual time, as text.
//!
//! `WAGGLE_UPDATE_SNAPSHOTS=1` takes new pictures over; read them before committing.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use ratatui::crossterm::event::KeyCode;
use support::{Reader, run};
use waggle::model::{More, Phase};
use waggle_reader::app::Pane;

#[test]
fn channels_and_a_timeline() {
    run(async {
        let mut reader = Reader::open(120, 40).await;
        reader.open_channel("general").await;
        reader.expect("timeline");
    });
}

#[test]
fn a_thread_beside_its_channel() {
    run(async {
        let mut reader = Reader::open(130, 36).await;
        reader.open_channel("apiary-log").await;
        let rows = reader.driver.app.feed(Pane::Main).unwrap().rows().to_vec();
        let back = rows.iter().rev().position(|r| r.replies > 0).unwrap();
        for _ in 0..back {
            reader.keys("k").await;
        }
        reader.key(KeyCode::Enter).await;
        reader.expect("thread");
    });
}

#[test]
fn offline_goes_on_reading() {
    run(async {
        let mut reader = Reader::open(120, 30).await;
        reader.open_channel("general").await;
        reader.line.cut();
        reader.pass(2_000).await;
        assert_ne!(reader.driver.app.connectivity.as_ref().unwrap().phase, Phase::Online);
        reader.expect("offline");
    });
}

#[test]
fn back_online_it_says_so() {
    run(async {
        let mut reader = Reader::open(120, 30).await;
        reader.open_channel("general").await;
        reader.line.cut();
        reader.pass(1_000).await;
        reader.post("mara", "general", "Kettle is on.");
        reader.line.mend();
        reader.driver.session().network_changed().await.unwrap();
        reader.pass(5_000).await;
        let line = reader.driver.app.connectivity.clone().unwrap();
        assert_eq!((line.phase, line.sentence.as_str()), (Phase::Online, "Up to date."));
        let newest = reader.driver.app.feed(Pane::Main).unwrap().rows().last().unwrap().text.clone();
        assert_eq!(newest, "Kettle is on.");
    });
}

#[test]
fn a_cached_list_says_so() {
    run(async {
        let mut reader = Reader::open(120, 30).await;
        reader.open_channel("general").await;
        reader.pass(2_000).await;
        let mut reader = reader.reopen_offline().await;
        reader.open_channel("general").await;
        reader.expect("cached");
    });
}

#[test]
fn a_gap_after_a_long_absence_is_marked_and_filled_on_request() {
    run(async {
        let mut reader = Reader::open(120, 30).await;
        reader.open_channel("market-stall").await;
        reader.line.cut();
        reader.pass(1_000).await;
        for n in 1..=70 {
            reader.post("tomas", "market-stall", &format!("Jar {n} sold."));
            reader.pass(1_000).await;
        }
        reader.line.mend();
        reader.driver.session().network_changed().await.unwrap();
        reader.pass(5_000).await;
        let gap = reader.driver.app.feed(Pane::Main).unwrap().state.as_ref().unwrap().gap;
        assert!(gap.is_some());
        reader.key(KeyCode::Home).await;
        for _ in 0..gap.unwrap() {
            reader.keys("j").await;
        }
        reader.expect("gap");
        reader.keys("o").await;
        assert_eq!(reader.driver.app.feed(Pane::Main).unwrap().state.as_ref().unwrap().gap, None);
    });
}

#[test]
fn the_beginning_of_a_channel() {
    run(async {
        let mut reader = Reader::open(120, 30).await;
        reader.open_channel("equipment").await;
        for _ in 0..4 {
            reader.key(KeyCode::Home).await;
        }
        assert_eq!(reader.driver.app.feed(Pane::Main).unwrap().state.as_ref().unwrap().more, More::No);
        reader.expect("beginning");
    });
}

#[test]
fn the_first_unread_line() {
    run(async {
        let mut reader = Reader::open(120, 30).await;
        reader.open_channel("apiary-log").await;
        assert!(reader.driver.app.feed(Pane::Main).unwrap().state.as_ref().unwrap().first_unread.is_some());
        reader.keys("u").await;
        reader.expect("first_unread");
    });
}

#[test]
fn threads_with_unread_replies() {
    run(async {
        let mut reader = Reader::open(120, 30).await;
        let rows = reader.driver.app.sidebar.state.rows.clone();
        let with = rows.iter().find(|r| r.threads > 0).expect("some thread has unread replies").name.clone();
        reader.open_channel(&with).await;
        reader.keys("a").await;
        reader.expect("activity");
    });
}

#[test]
fn help() {
    run(async {
        let mut reader = Reader::open(100, 32).await;
        reader.open_channel("general").await;
        reader.keys("?").await;
        reader.expect("help");
    });
}

#[test]
fn diagnostics() {
    run(async {
        let mut reader = Reader::open(100, 30).await;
        reader.open_channel("general").await;
        reader.keys("d").await;
        reader.expect("diagnostics");
    });
}

#[test]
fn a_narrow_terminal_shows_one_pane() {
    run(async {
        let mut reader = Reader::open(44, 20).await;
        reader.open_channel("general").await;
        reader.expect("narrow_timeline");
        reader.key(KeyCode::Left).await;
        reader.expect("narrow_list");
    });
}

#[test]
fn looking_at_the_end_of_a_channel_clears_its_label() {
    run(async {
        let mut reader = Reader::open(120, 40).await;
        reader.post("mara", "general", "Kettle is on.");
        reader.pass(100).await;
        let strong =
            |reader: &Reader| reader.driver.app.sidebar.state.rows.iter().find(|r| r.name == "general").unwrap().strong;
        assert!(strong(&reader));
        reader.open_channel("general").await;
        reader.pass(299).await;
        assert!(strong(&reader), "nobody reads in less than 300 ms");
        reader.pass(1_000).await;
        assert!(!strong(&reader), "{}", reader.screen());
    });
}

#[test]
fn nothing_is_read_behind_a_popup() {
    run(async {
        let mut reader = Reader::open(120, 40).await;
        reader.post("mara", "general", "Kettle is on.");
        reader.open_channel("general").await;
        reader.keys("?").await;
        reader.pass(2_000).await;
        let general = reader.driver.app.sidebar.state.rows.iter().find(|r| r.name == "general").unwrap().clone();
        assert!(general.strong);
    });
}
