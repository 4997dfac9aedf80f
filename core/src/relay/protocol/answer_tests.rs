use super::*;
use crate::error::Refusal;
use crate::ids::PublicKey;
use crate::request::{Priority, Purpose};
use crate::testing::{Author, channel, message};

fn request(body: Body) -> Request {
    Request { purpose: Purpose::Evidence, priority: Priority::Foreground, body, deadline_ms: 10_000 }
}

fn query() -> Request {
    request(Body::Query(vec![Filter::kinds(&[9])]))
}

fn answer(status: u16, body: &str, request: &Request) -> Outcome {
    let response = HttpResponse { status, date: None, body: body.as_bytes().to_vec() };
    outcome(&response, request, &Verifier::new())
}

const TRUNCATED: RequestError = RequestError::Network(NetworkFailure::Truncated);
const OVERSIZED: RequestError = RequestError::Network(NetworkFailure::Oversized);

#[test]
fn requests_become_exchanges() {
    let sent = exchange(&query());
    assert_eq!((sent.method, sent.path, sent.signed), (Method::Post, "/query", true));
    assert_eq!(sent.body, br#"[{"kinds":[9]}]"#);
    let key = PublicKey([0xab; 32]);
    let sent = exchange(&request(Body::Snapshot(key)));
    let expected = format!(r#"[{{"kinds":[30078],"authors":["{key}"],"read_state_snapshot":1}}]"#);
    let (sent_json, expected): (serde_json::Value, serde_json::Value) =
        (serde_json::from_slice(&sent.body).unwrap(), serde_json::from_str(&expected).unwrap());
    assert_eq!(sent_json, expected, "unread.md 9.5: exactly these members");
    assert_eq!(sent.max_body, 8_392_704);
    let sent = exchange(&request(Body::Publish("{\"id\": 1}".into())));
    assert_eq!((sent.path, sent.body.as_slice()), ("/events", &b"{\"id\": 1}"[..]));
    let sent = exchange(&request(Body::Nip11));
    assert_eq!((sent.method, sent.path, sent.signed), (Method::Get, "/", false));
    assert_eq!(sent.headers, [("Accept".to_owned(), "application/nostr+json".to_owned())]);
}

#[test]
fn events_are_verified_one_by_one() {
    let ada = Author::named("ada");
    let (one, two) = (message(&ada, channel("c"), 1, "one"), message(&ada, channel("c"), 2, "two"));
    let forged = two.to_json().replace("two", "too");
    let body = format!("[{},{forged},7,{},{}]", one.to_json(), two.to_json(), one.to_json());
    let Ok(Answer::Events(batch)) = answer(200, &body, &query()) else { panic!() };
    assert_eq!(
        batch.events.iter().map(|e| e.created_at).collect::<Vec<_>>(),
        [1, 2, 1],
        "duplicates are kept, in order"
    );
    assert_eq!(batch.rejected.iter().map(|r| r.kind).collect::<Vec<_>>(), [Some(9), None]);
    assert!(matches!(answer(200, "[]", &query()), Ok(Answer::Events(b)) if b.events.is_empty()));
}

#[test]
fn what_is_no_array_is_truncated() {
    for body in ["", "[", "[1", "{}", "[1]]", "null", "\"x\""] {
        assert_eq!(answer(200, body, &query()).unwrap_err(), TRUNCATED, "{body}");
    }
    let response = HttpResponse { status: 200, date: None, body: b"[\"\xff\"]".to_vec() };
    assert_eq!(outcome(&response, &query(), &Verifier::new()).unwrap_err(), TRUNCATED);
}

#[test]
fn an_answer_of_many_tiny_items_is_refused() {
    let body = format!("[{}0]", "0,".repeat(limits::ANSWER_ITEMS));
    assert_eq!(answer(200, &body, &query()).unwrap_err(), OVERSIZED);
    let body = format!("[{}0]", "0,".repeat(limits::ANSWER_ITEMS - 1));
    assert!(answer(200, &body, &query()).is_ok());
}

/// `unread.md` 9.5, `relay-measured.md` 8.
#[test]
fn snapshots_keep_what_they_say() {
    let me = Author::named("me");
    let event = message(&me, channel("c"), 1, "x").to_json();
    let ask = request(Body::Snapshot(me.key()));
    let array = format!("[{event}]");
    let body = format!(
        r#" {{"read_state_snapshot":1,"complete":true,"community_id":"c","pubkey":"{}","snapshot_id":"s","events":{array}}}"#,
        me.key()
    );
    let Ok(Answer::Snapshot(envelope)) = answer(200, &body, &ask) else { panic!() };
    assert_eq!((envelope.version, envelope.complete), (Some(1), Some(true)));
    assert_eq!(envelope.community_id.as_deref(), Some("c"));
    assert_eq!(envelope.snapshot_id.as_deref(), Some("s"));
    assert_eq!((envelope.batch.events.len(), envelope.array_bytes), (1, array.len()));
    assert!(
        matches!(answer(200, &array, &ask), Ok(Answer::Events(_))),
        "a relay that does not know it answers with an array"
    );
    let odd = r#"{"read_state_snapshot":"1","complete":1,"community_id":7,"pubkey":null,"events":[0]}"#;
    let Ok(Answer::Snapshot(envelope)) = answer(200, odd, &ask) else { panic!() };
    assert_eq!((envelope.version, envelope.complete, envelope.community_id.clone()), (None, None, None));
    assert_eq!(envelope.batch.rejected.len(), 1);
    for bad in ["{}", r#"{"events":{}}"#, r#"{"events":[]"#, r#"{"events":[],"events":[]}"#] {
        assert_eq!(answer(200, bad, &ask).unwrap_err(), TRUNCATED, "{bad}");
    }
    assert_eq!(
        answer(503, r#"{"error":"cannot prove complete"}"#, &ask).unwrap_err(),
        RequestError::Network(NetworkFailure::Server(503))
    );
}

/// R26, `protocol.md` 2.4 and 3.5: accepted may mean nothing was stored, and a duplicate is done in both of its shapes.
#[test]
fn receipts_are_passed_on() {
    let ask = request(Body::Publish("{}".into()));
    let published = |body: &str| match answer(200, body, &ask) {
        Ok(Answer::Published { accepted, message }) => (accepted, message),
        other => panic!("{other:?}"),
    };
    assert_eq!(published(r#"{"event_id":"x","accepted":true,"message":""}"#), (true, String::new()));
    assert_eq!(published(r#"{"accepted":true,"message":"duplicate:"}"#), (true, "duplicate:".into()));
    assert_eq!(published(r#"{"accepted":false,"message":"duplicate: exists"}"#), (false, "duplicate: exists".into()));
    let long = format!(r#"{{"accepted":true,"message":"{}"}}"#, "m".repeat(9_000));
    assert_eq!(published(&long).1.len(), limits::RELAY_TEXT_BYTES);
    let refused = answer(200, r#"{"accepted":false,"message":"restricted: no"}"#, &ask).unwrap_err();
    assert!(matches!(refused, RequestError::Refused { status: 200, why: Refusal::Restricted, .. }));
    for bad in ["", "{}", r#"{"accepted":"true"}"#, "[]"] {
        assert_eq!(answer(200, bad, &ask).unwrap_err(), TRUNCATED);
    }
}

/// R22 through the whole way; `relay-measured.md` 3: error bodies, and the plain text of 413.
#[test]
fn refusals_are_read_from_the_error_member() {
    let ask = request(Body::Publish("{}".into()));
    let refused = |status, body: &str| match answer(status, body, &ask).unwrap_err() {
        RequestError::Refused { why, text, retry_after, .. } => (why, text, retry_after),
        other => panic!("{other:?}"),
    };
    let exact = "invalid: event timestamp too far from server time";
    assert_eq!(refused(400, &format!(r#"{{"error":"{exact}"}}"#)), (Refusal::Timestamp, exact.into(), None));
    assert_eq!(refused(400, exact), (Refusal::Invalid, String::new(), None), "only the error member counts");
    assert_eq!(refused(400, &format!(r#"{{"error":"{exact}{}"}}"#, "x".repeat(600))).0, Refusal::Invalid);
    assert_eq!(refused(403, r#"{"error":"relay_membership_required","message":"m"}"#).0, Refusal::NotMember);
    assert_eq!(refused(429, r#"{"error":"rate-limited: quota exceeded; retry in 57s"}"#).2, Some(57));
    assert_eq!(refused(413, "length limit exceeded"), (Refusal::TooLarge, String::new(), None));
    assert_eq!(refused(404, "").0, Refusal::NoCommunity);
    assert_eq!(refused(302, "<html>").0, Refusal::Other);
    assert_eq!(answer(500, "", &ask).unwrap_err(), RequestError::Network(NetworkFailure::Server(500)));
}

#[test]
fn a_document_is_handed_on_as_it_is() {
    assert!(matches!(answer(200, "{}", &request(Body::Nip11)), Ok(Answer::Document(d)) if d == b"{}"));
    let long = "x".repeat(limits::DOCUMENT_BYTES + 1);
    assert_eq!(answer(200, &long, &request(Body::Nip11)).unwrap_err(), OVERSIZED);
}
