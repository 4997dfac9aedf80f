//! Read state: the plaintext of a blob, and the envelope of a snapshot with its events.

use waggle::event::{Verifier, app_data};
use waggle::ids::PublicKey;
use waggle::limits;
use waggle::read_state::algebra::State;
use waggle::read_state::{Descriptor, blob, discovery};
use waggle::relay::protocol;
use waggle::request::{Answer, Body, Priority, Purpose, Request};

use crate::templates::{PEOPLE, events};

/// One blob, or two with a NUL between, which are then merged.
pub(crate) fn run(data: &[u8]) {
    let mut states: Vec<State> = Vec::new();
    for part in data.split(|byte| *byte == 0).take(2) {
        let Ok(blob) = blob::parse(part) else { continue };
        assert!(blob::is_client_id(&blob.client_id));
        assert!(blob.state.key_count() <= 3 * limits::BLOB_KEYS);
        if let Ok(text) = blob::write(&blob.client_id, &blob.state) {
            assert!(text.len() <= limits::BLOB_BYTES);
            // Writing is canonical: reading it back and writing it again gives the same bytes, and no frontier is lost.
            let again = blob::parse(text.as_bytes()).map(|b| (b.state.frontiers.clone(), b));
            let Ok((frontiers, again)) = again else { panic!("what was written can be read") };
            assert_eq!(frontiers, blob.state.frontiers);
            assert_eq!(blob::write(&again.client_id, &again.state).ok().as_deref(), Some(text.as_str()));
        }
        states.push(blob.state);
    }
    if let [a, b] = states.as_slice() {
        merges(a, b);
    }
}

/// Merging is commutative, idempotent, and covers both sides.
fn merges(a: &State, b: &State) {
    let joined = |x: &State, y: &State| {
        let mut all = x.clone();
        all.merge(y);
        all
    };
    let all = joined(a, b);
    assert!(all == joined(b, a), "in either order");
    assert!(joined(&all, a) == all && joined(&all, b) == all, "once is enough");
    assert!(all.covers(a) && all.covers(b));
}

const COMMUNITY: &str = "0b6c8a52-7d3e-4d5a-9a51-0f2b3c4d5e6f";

/// An envelope: its body as it is, or, behind a `=`, events as templates in an honest frame.
pub(crate) fn envelope(data: &[u8]) {
    let Some(me) = PEOPLE.get(1).and_then(|me| PublicKey::parse(&me.public()).ok()) else { return };
    let Some(offer) = Descriptor::offered(Some(1), Some(COMMUNITY)) else { return };
    let verifier = Verifier::new();
    let honest = data.strip_prefix(b"=").and_then(|rest| std::str::from_utf8(rest).ok()).and_then(events);
    let body = match &honest {
        Some(events) => frame(&verifier, offer, &me, events).into_bytes(),
        None => data.to_vec(),
    };
    let request =
        Request { body: Body::Snapshot(me), ..Request::query(Purpose::Snapshot, Priority::Background, Vec::new()) };
    let Ok(answer) = protocol::decode(&body, &request, &verifier) else { return };
    let Answer::Snapshot(envelope) = answer else { return };
    let Ok(snapshot) = discovery::accept(&envelope, offer, &me) else { return };
    // What is believed is the viewer's own, each coordinate once, and within its bounds.
    assert!(snapshot.events.len() <= limits::SNAPSHOT_EVENTS && snapshot.array_bytes <= limits::SNAPSHOT_ARRAY_BYTES);
    let mut seen = std::collections::BTreeSet::new();
    for event in &snapshot.events {
        assert!(event.pubkey == me && event.kind == 30_078);
        assert!(seen.insert(event.values("d").next().unwrap_or_default()), "a coordinate once");
        if let Some(slot) = blob::own_coordinate(event, &me) {
            assert_eq!(event.single("d"), Some(app_data::read_state_coordinate(slot).as_str()));
        }
    }
}

/// What an honest relay would answer with for these events.
fn frame(verifier: &Verifier, offer: Descriptor, me: &PublicKey, events: &[String]) -> String {
    let verified: Vec<_> = events.iter().filter_map(|json| verifier.event(json).ok()).collect();
    let id = discovery::snapshot_id(offer, me, &verified);
    format!(
        r#"{{"read_state_snapshot":1,"complete":true,"community_id":"{COMMUNITY}","pubkey":"{}","snapshot_id":"{id}","events":[{}]}}"#,
        me.to_hex(),
        events.join(",")
    )
}
