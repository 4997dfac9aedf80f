use super::*;
use crate::event::Batch;
use crate::request::{Answer, Body, Purpose};

use Priority::{Background, Foreground};

const OFFLINE: RequestError = RequestError::Network(NetworkFailure::Offline);
const TIMED_OUT: RequestError = RequestError::Network(NetworkFailure::TimedOut);

fn request(priority: Priority) -> Request {
    Request { purpose: Purpose::Evidence, priority, body: Body::Query(Vec::new()), deadline_ms: 10_000 }
}

fn online() -> Admission {
    let mut admission = Admission::new();
    admission.set_gate(Gate::Online);
    admission
}

fn submit(admission: &mut Admission, at: u64, id: u64, priority: Priority) -> Result<(), RequestError> {
    admission.submit(Millis(at), RequestId(id), request(priority))
}

fn started(admission: &mut Admission, at: u64) -> Vec<u64> {
    admission.pump(Millis(at)).start.iter().map(|id| id.0).collect()
}

fn now(ms: u64) -> Now {
    Now { mono: Millis(ms), wall: 5_000 }
}

fn done(admission: &mut Admission, at: u64, id: u64) {
    let answer = Ok(Answer::Events(Batch::default()));
    let (finished, _) = admission.finish(now(at), RequestId(id), answer, &ServerTime::default());
    assert!(matches!(finished, Finished::Report(Ok(_))));
}

fn refused(status: u16, text: &str) -> Outcome {
    Err(crate::relay::protocol::refuse(status, text))
}

/// Pitfalls B7: a start-up storm stays within the set concurrency; what somebody waits for goes first, then first come.
#[test]
fn foreground_first_and_never_too_many() {
    let mut queue = online();
    for id in 1..=5 {
        submit(&mut queue, 0, id, Background).unwrap();
    }
    assert_eq!(started(&mut queue, 0), [1, 2, 3], "one place is kept for the foreground");
    for id in 11..=13 {
        submit(&mut queue, 0, id, Foreground).unwrap();
    }
    assert_eq!(started(&mut queue, 0), [11]);
    done(&mut queue, 5, 1);
    assert_eq!(started(&mut queue, 5), [12]);
    done(&mut queue, 6, 11);
    done(&mut queue, 6, 12);
    assert_eq!(started(&mut queue, 6), [13, 4]);
    for id in [2, 3, 13, 4] {
        done(&mut queue, 7, id);
    }
    assert_eq!(started(&mut queue, 7), [5]);
    done(&mut queue, 8, 5);
    assert!(queue.is_empty() && queue.next_wake(Millis(8)).is_none());
}

/// `relay-measured.md` 7: 300 calls in the relay's fixed minutes; any minute of ours has at most 280, of them 240 in the background.
#[test]
fn the_quota_holds_in_every_window() {
    let mut queue = online();
    let mut starts = Vec::new();
    let mut id = 0;
    for at in (0..180_000).step_by(50) {
        id += 1;
        submit(&mut queue, at, id, Background).unwrap();
        let pumped = queue.pump(Millis(at));
        for id in pumped.start {
            starts.push(at);
            done(&mut queue, at, id.0);
        }
    }
    for from in (0..180_000).step_by(250) {
        let calls = starts.iter().filter(|at| (from..from + limits::QUOTA_WINDOW_MS).contains(at)).count();
        assert!(calls <= limits::QUOTA_BACKGROUND, "{calls} calls from {from}");
    }
    assert!(starts.len() > 700, "three minutes' worth went out: {}", starts.len());
    let mut waiting = 0;
    while submit(&mut queue, 179_950, 100_000 + waiting, Foreground).is_ok() && waiting < 60 {
        waiting += 1;
    }
    let mut passed = 0;
    loop {
        let now = started(&mut queue, 179_950);
        if now.is_empty() {
            break;
        }
        passed += now.len();
        now.into_iter().for_each(|id| done(&mut queue, 179_950, id));
    }
    assert_eq!(passed, limits::QUOTA_CALLS - limits::QUOTA_BACKGROUND, "the rest of the minute is the foreground's");
    let wake = queue.next_wake(Millis(179_950)).unwrap();
    assert!(wake > Millis(179_950) && !started(&mut queue, wake.0).is_empty(), "the wake is the moment there is room");
}

/// `unread.md` 3.5: the deadline includes the time in the queue.
#[test]
fn deadlines_count_from_the_submission() {
    let mut queue = online();
    for id in 1..=5 {
        submit(&mut queue, id * 1_000, id, Foreground).unwrap();
    }
    assert_eq!(started(&mut queue, 5_000), [1, 2, 3, 4]);
    assert_eq!(queue.next_wake(Millis(5_000)), Some(Millis(11_000)));
    assert_eq!(queue.pump(Millis(10_999)), Pumped::default());
    let pumped = queue.pump(Millis(11_000));
    assert_eq!(pumped.failed, [(RequestId(1), TIMED_OUT)]);
    assert_eq!((pumped.abort, pumped.start), (vec![RequestId(1)], vec![RequestId(5)]));
    let late = queue.finish(now(11_001), RequestId(1), Ok(Answer::Events(Batch::default())), &ServerTime::default());
    assert!(matches!(late.0, Finished::Unknown), "reported once only");
    assert_eq!(queue.pump(Millis(60_000)).failed.len(), 4);
    assert!(queue.is_empty());
}

/// R25c: offline calls fail at once; while connecting they wait; going offline fails what is queued and leaves what is in flight.
#[test]
fn offline_fails_at_once() {
    let mut queue = Admission::new();
    assert_eq!(submit(&mut queue, 0, 1, Foreground), Err(OFFLINE));
    queue.set_gate(Gate::Connecting);
    submit(&mut queue, 0, 2, Foreground).unwrap();
    assert_eq!(started(&mut queue, 0), [0; 0]);
    assert_eq!(queue.next_wake(Millis(0)), Some(Millis(10_000)));
    queue.set_gate(Gate::Online);
    assert_eq!(started(&mut queue, 1), [2]);
    for id in 3..=6 {
        submit(&mut queue, 1, id, Background).unwrap();
    }
    assert_eq!(started(&mut queue, 1), [3, 4, 5]);
    assert_eq!(queue.set_gate(Gate::Offline), [(RequestId(6), OFFLINE)]);
    assert_eq!(queue.len(), 4);
    done(&mut queue, 2, 2);
    let clock = "NIP-98: event timestamp outside ±60s window (delta: 90s)";
    let (again, _) = queue.finish(now(3), RequestId(3), refused(401, clock), &ServerTime::default());
    assert!(matches!(again, Finished::Report(Err(OFFLINE))), "nothing is tried again past a closed gate");
}

/// R25a and `protocol.md` 2.5: after a 429 everything waits as long as the relay named; what cannot wait is told so at once.
#[test]
fn a_rate_limit_pauses_everything() {
    let mut queue = online();
    for id in 1..=6 {
        submit(&mut queue, 0, id, Foreground).unwrap();
    }
    assert_eq!(started(&mut queue, 0), [1, 2, 3, 4]);
    let text = "rate-limited: quota exceeded; retry in 7s";
    let (finished, also) = queue.finish(now(1_000), RequestId(1), refused(429, text), &ServerTime::default());
    assert!(matches!(finished, Finished::Report(Err(RequestError::Refused { retry_after: Some(7), .. }))));
    assert!(also.failed.is_empty(), "the queued ones can wait");
    assert_eq!(started(&mut queue, 1_000), [0; 0]);
    assert_eq!(queue.next_wake(Millis(1_000)), Some(Millis(8_000)));
    done(&mut queue, 1_500, 2);
    assert_eq!(started(&mut queue, 7_999), [0; 0]);
    assert_eq!(started(&mut queue, 8_000), [5, 6]);
    let (_, also) =
        queue.finish(now(8_000), RequestId(3), refused(429, "rate-limited: retry in 30s"), &ServerTime::default());
    assert!(also.failed.is_empty(), "nothing was queued");
    let refused = submit(&mut queue, 9_000, 7, Foreground).unwrap_err();
    assert_eq!(
        refused,
        RequestError::Refused { status: 429, why: Refusal::RateLimited, text: String::new(), retry_after: Some(29) }
    );
    assert!(submit(&mut queue, 28_000, 7, Foreground).is_err(), "its deadline comes with the end of the pause");
    submit(&mut queue, 28_001, 8, Foreground).unwrap();
    assert_eq!(started(&mut queue, 37_999), [0; 0]);
    assert_eq!(started(&mut queue, 38_000), [8]);
    submit(&mut queue, 38_000, 9, Foreground).unwrap();
    assert_eq!(started(&mut queue, 38_000), [9]);
}

#[test]
fn a_long_pause_refuses_what_is_queued() {
    let mut queue = online();
    for id in 1..=6 {
        submit(&mut queue, 0, id, Foreground).unwrap();
    }
    started(&mut queue, 0);
    let (_, also) =
        queue.finish(now(500), RequestId(1), refused(429, "rate-limited: quota exceeded"), &ServerTime::default());
    let ids: Vec<u64> = also.failed.iter().map(|(id, _)| id.0).collect();
    assert_eq!(ids, [5, 6], "without a named wait the relay's window is waited out");
    assert!(matches!(also.failed[0].1, RequestError::Refused { retry_after: Some(60), .. }));
}

/// R25, pitfalls G3: learn the relay's time, sign once more, and only then blame the clock.
#[test]
fn a_stale_signature_is_tried_once_more() {
    let clock = "NIP-98: event timestamp outside ±60s window (delta: 109s)";
    let mut queue = online();
    let mut time = ServerTime::default();
    time.learn(now(0), 5_109);
    for id in 1..=6 {
        submit(&mut queue, 0, id, Foreground).unwrap();
    }
    started(&mut queue, 0);
    let (again, _) = queue.finish(now(1), RequestId(1), refused(401, clock), &time);
    assert!(matches!(again, Finished::Again));
    assert_eq!(started(&mut queue, 1), [1], "before those that came later");
    let (finished, _) = queue.finish(now(2), RequestId(1), refused(401, clock), &time);
    assert!(matches!(finished, Finished::Report(Err(RequestError::Clock { skew: -109 }))));
    let (again, _) = queue.finish(now(2), RequestId(2), refused(401, "NIP-98: replay detected"), &time);
    assert!(matches!(again, Finished::Again), "protocol.md 2.5: a replay is signed anew, too");
    let bad = refused(401, "NIP-98: invalid Schnorr signature");
    let (finished, _) = queue.finish(now(2), RequestId(3), bad, &time);
    assert!(matches!(finished, Finished::Report(Err(RequestError::Refused { why: Refusal::Auth, .. }))));
}

#[test]
fn the_skew_comes_from_the_text_when_no_date_was_seen() {
    let clock = "NIP-98: event timestamp outside ±60s window (delta: 109s)";
    let mut queue = online();
    submit(&mut queue, 0, 1, Foreground).unwrap();
    for _ in 0..2 {
        started(&mut queue, 0);
        let (finished, _) = queue.finish(now(1), RequestId(1), refused(401, clock), &ServerTime::default());
        match finished {
            Finished::Again => {}
            Finished::Report(outcome) => assert_eq!(outcome.unwrap_err(), RequestError::Clock { skew: 109 }),
            Finished::Unknown => panic!(),
        }
    }
    assert!(queue.is_empty());
}

#[test]
fn what_is_cancelled_is_not_reported() {
    let mut queue = online();
    submit(&mut queue, 0, 1, Foreground).unwrap();
    submit(&mut queue, 0, 2, Foreground).unwrap();
    assert!(!queue.cancel(RequestId(2)), "it was only queued");
    assert_eq!(started(&mut queue, 0), [1]);
    assert!(queue.cancel(RequestId(1)), "its exchange is running");
    assert!(!queue.cancel(RequestId(1)));
    assert!(queue.is_empty() && queue.pump(Millis(99_000)) == Pumped::default());
}

#[test]
fn the_queue_is_bounded() {
    let mut queue = Admission::new();
    queue.set_gate(Gate::Connecting);
    for id in 0..limits::REQUESTS_QUEUED as u64 {
        submit(&mut queue, 0, id, Background).unwrap();
    }
    assert_eq!(submit(&mut queue, 0, 9_999, Foreground), Err(TIMED_OUT));
}
