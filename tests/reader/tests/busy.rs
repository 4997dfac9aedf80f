//! The measurement of frames, small and untimed: that it measures what it says. The times are told by `--bench-frames`.
#![allow(clippy::unwrap_used, reason = "tests")]

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_channel_that_got_a_message_shows_it() {
    let measured = waggle_reader::frames::measure(24, 96).await.unwrap();
    assert_eq!(measured.channels, 24);
    assert!(measured.unread >= 20, "{measured:?}");
    assert!(!measured.frames.is_empty());
}
