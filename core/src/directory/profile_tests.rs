//! Names of people.

use super::profiles::{Profiles, short_key};
use crate::error::NetworkFailure;
use crate::event::{Batch, SharedEvent};
use crate::ids::PublicKey;
use crate::limits;
use crate::request::{Answer, Body, Outbox, Outcome, Priority, Purpose, RequestError, RequestId};
use crate::testing::{Author, template};

fn profile(of: &Author, at: u64, content: &str) -> SharedEvent {
    of.sign(template(0, at, &[], content))
}

fn events(events: Vec<SharedEvent>) -> Outcome {
    Ok(Answer::Events(Batch { events, rejected: vec![] }))
}

fn last(out: &Outbox) -> (RequestId, Vec<String>) {
    let (id, request) = out.sent.last().unwrap();
    assert_eq!((request.purpose, request.priority), (Purpose::Profile, Priority::Background));
    let Body::Query(filters) = &request.body else { panic!("not a query") };
    assert_eq!((&filters[0].kinds[..], filters.len()), (&[0u16][..], 1));
    (*id, filters[0].authors.clone().unwrap())
}

#[test]
fn names_are_looked_up_once_and_the_newest_wins() {
    let (ada, bo) = (Author::named("ada"), Author::named("bo"));
    let (mut profiles, mut out) = (Profiles::new(), Outbox::default());
    profiles.want([ada.key(), bo.key(), ada.key()]);
    profiles.flush(&mut out);
    assert!(out.sent.is_empty(), "not connected");
    profiles.on_connected(&mut out);
    let (id, authors) = last(&out);
    assert_eq!(authors.len(), 2);
    assert!(profiles.owns(id));
    let old = profile(&ada, 5, r#"{"name":"ada","display_name":"Ada L"}"#);
    let renamed = profiles.on_answer(id, events(vec![old.clone()]), &mut out);
    assert!(renamed.contains(&ada.key()) && renamed.len() == 1);
    assert_eq!(profiles.name(&ada.key()), Some("Ada L"));
    assert_eq!(profiles.display(&bo.key()), short_key(&bo.key()));
    // Known, with or without a name: not asked again.
    profiles.want([ada.key(), bo.key()]);
    profiles.flush(&mut out);
    assert_eq!(out.sent.len(), 1);
    assert!(profiles.take(&profile(&ada, 6, r#"{"name":"countess"}"#)));
    assert!(!profiles.take(&old), "older");
    assert_eq!(profiles.name(&ada.key()), Some("countess"));
    assert!(profiles.take(&profile(&ada, 7, "not JSON")));
    assert_eq!(profiles.name(&ada.key()), None);
    assert!(!format!("{profiles:?}").contains("countess"));
}

#[test]
fn batches_are_bounded_and_failures_wait_for_the_next_connection() {
    let key = |n: usize| {
        let mut bytes = [0u8; 32];
        bytes[..8].copy_from_slice(&n.to_be_bytes());
        PublicKey(bytes)
    };
    let (mut profiles, mut out) = (Profiles::new(), Outbox::default());
    profiles.want((0..limits::PROFILES + 50).map(key));
    profiles.on_connected(&mut out);
    let (first, authors) = last(&out);
    assert_eq!(authors.len(), limits::PROFILE_BATCH);
    profiles.flush(&mut out);
    assert_eq!(out.sent.len(), 1, "one at a time");
    profiles.on_answer(first, events(vec![]), &mut out);
    let (second, _) = last(&out);
    profiles.on_answer(second, Err(RequestError::Network(NetworkFailure::TimedOut)), &mut out);
    profiles.flush(&mut out);
    assert_eq!(out.sent.len(), 2);
    profiles.on_connected(&mut out);
    let (third, again) = last(&out);
    assert_eq!(again[0], key(limits::PROFILE_BATCH).to_hex());
    profiles.on_disconnected(&mut out);
    assert_eq!(out.cancelled, [third]);
    assert!(!profiles.owns(third));
}

/// An answer speaks only for the people asked for.
#[test]
fn uninvited_profiles_in_an_answer_are_ignored() {
    let (ada, bo) = (Author::named("ada"), Author::named("bo"));
    let (mut profiles, mut out) = (Profiles::new(), Outbox::default());
    profiles.want([ada.key()]);
    profiles.on_connected(&mut out);
    let (id, _) = last(&out);
    profiles.on_answer(id, events(vec![profile(&bo, 5, r#"{"name":"bo"}"#)]), &mut out);
    assert_eq!((profiles.name(&ada.key()), profiles.name(&bo.key())), (None, None));
}
