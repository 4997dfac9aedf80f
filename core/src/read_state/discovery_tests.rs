//! Descriptor and snapshot acceptance (`unread.md` 9.5, 13.13; R24, R25b).

use super::super::harness::{OFFER, World, channel, slot};
use super::*;
use crate::error::Error;
use crate::event::{RejectReason, Rejected, SharedEvent};
use crate::testing::{Author, template};

const UUID: &str = "6f0b682e-6982-4df4-b661-447165a3ef99";

/// Version 1 and a lower-case UUID; nothing else is required, nothing else will do.
#[test]
fn descriptor() {
    let of = |member: &str| {
        Descriptor::from_document(format!(r#"{{"name":"x","read_state_snapshot":{member}}}"#).as_bytes())
    };
    let full = format!(r#"{{"version":1,"community_id":"{UUID}","max_events":4096,"max_event_array_bytes":8388608}}"#);
    let offer = of(&full).unwrap();
    assert_eq!(uuid::Uuid::from_bytes(offer.community).to_string(), UUID);
    assert_eq!(of(&format!(r#"{{"version":1,"community_id":"{UUID}","max_bytes":1}}"#)), Some(offer));
    for bad in [
        full.replace("\"version\":1", "\"version\":2"),
        full.replace("\"version\":1", "\"version\":\"1\""),
        full.replace("\"version\":1,", ""),
        full.replace(UUID, &UUID.to_uppercase()),
        full.replace(UUID, &UUID.replace('-', "")),
        full.replace(UUID, &format!("{{{UUID}}}")),
        full.replace(UUID, ""),
        full.replace(&format!("\"{UUID}\""), "7"),
        "null".into(),
        "true".into(),
        "[]".into(),
    ] {
        assert_eq!(of(&bad), None, "{bad}");
    }
    assert_eq!(Descriptor::from_document(b"{}"), None);
    assert_eq!(Descriptor::from_document(b"not json"), None);
}

/// The id of a snapshot that a relay gave for no events at all (recordings 700, 701).
#[test]
fn the_snapshot_id_is_the_relays() {
    let offer = Descriptor { community: uuid::Uuid::try_parse(UUID).unwrap().into_bytes() };
    let viewer = PublicKey::parse("d57a65757021f84ea7a3d59b6f93c529ffcf5d132c6767b8fa02a76e3f887ba8").unwrap();
    let expected = "9b38e5841e62880d2dda5e5a483172c327fc03a1b83aa4818285e2d0b34290c5";
    assert_eq!(snapshot_id(offer, &viewer, &[]), expected);
}

fn world() -> World {
    let mut world = World::new();
    for n in 2..5 {
        let event = world.peer(slot(n), 1_000 + u64::from(n % 2), &[(&channel(1), 5)]);
        world.store(&event);
    }
    let other = world.me.sign(template(30078, 7, &[&["d", "settings"]], "x"));
    world.store(&other);
    let bare = world.me.sign(template(30078, 8, &[], "x"));
    world.store(&bare);
    world
}

/// Unrelated coordinates belong to a snapshot and count; the order of the answer does not matter.
#[test]
fn a_usable_snapshot() {
    let world = world();
    let mut envelope = world.snapshot();
    envelope.batch.events.reverse();
    let snapshot = accept(&envelope, OFFER, &world.me.key()).unwrap();
    assert_eq!((snapshot.events.len(), snapshot.array_bytes), (5, envelope.array_bytes));
}

/// 9.5, 13.13: each single fault makes the whole answer unusable.
#[test]
fn one_fault_makes_it_unusable() {
    type Fault = fn(&mut SnapshotEnvelope);
    fn resign(envelope: &mut SnapshotEnvelope, event: SharedEvent) {
        envelope.batch.events.push(event);
        envelope.snapshot_id = Some(snapshot_id(OFFER, &Author::named("me").key(), &envelope.batch.events));
    }
    let faults: [Fault; 19] = [
        |e| e.version = None,
        |e| e.version = Some(2),
        |e| e.complete = None,
        |e| e.complete = Some(false),
        |e| e.community_id = None,
        |e| e.community_id = Some(UUID.into()),
        |e| e.community_id = e.community_id.as_ref().map(|c| c.replace('-', "")),
        |e| e.pubkey = None,
        |e| e.pubkey = Some(Author::named("ada").key().to_hex()),
        |e| e.pubkey = e.pubkey.as_ref().map(|k| k.to_uppercase()),
        |e| e.snapshot_id = None,
        |e| e.snapshot_id = Some("0".repeat(64)),
        |e| e.snapshot_id = e.snapshot_id.as_ref().map(|s| s.to_uppercase()),
        |e| drop(e.batch.events.pop()),
        |e| e.batch.rejected.push(Rejected { kind: Some(30078), reason: RejectReason::Signature }),
        |e| e.array_bytes = limits::SNAPSHOT_ARRAY_BYTES + 1,
        |e| resign(e, Author::named("ada").sign(template(30078, 9, &[&["d", "other"]], "x"))),
        |e| resign(e, Author::named("me").sign(template(30079, 9, &[&["d", "other"]], "x"))),
        |e| resign(e, Author::named("me").sign(template(30078, 9, &[&["d", "settings"], &["d", "y"]], "x"))),
    ];
    let world = world();
    for (index, fault) in faults.into_iter().enumerate() {
        let mut envelope = world.snapshot();
        accept(&envelope, OFFER, &world.me.key()).unwrap();
        fault(&mut envelope);
        let result = accept(&envelope, OFFER, &world.me.key());
        assert!(matches!(result, Err(Error::InvalidAnswer { .. })), "fault {index}");
    }
    let mut twice = world.snapshot();
    resign(&mut twice, world.me.sign(template(30078, 9, &[], "y")));
    assert!(accept(&twice, OFFER, &world.me.key()).is_err(), "two without a d tag are one coordinate");
}

/// 9.4: 4,096 events are the most.
#[test]
fn the_most_events() {
    let mut world = World::new();
    for n in 0..4_096u32 {
        let d = n.to_string();
        world.stored.insert(d.clone(), world.me.sign(template(30078, 1, &[&["d", &d]], "")));
    }
    accept(&world.snapshot(), OFFER, &world.me.key()).unwrap();
    world.stored.insert("x".into(), world.me.sign(template(30078, 1, &[&["d", "x"]], "")));
    assert!(accept(&world.snapshot(), OFFER, &world.me.key()).is_err());
}
