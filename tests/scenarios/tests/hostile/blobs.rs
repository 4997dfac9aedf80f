//! Bad read state: events at the viewer's coordinates, snapshots, and a signer that signs something else.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use serde_json::{Value, json};
use waggle::error::Error;
use waggle::identity::{SelfCipher, SignedJson, Signer, Unsigned};
use waggle::ids::PublicKey;
use waggle::limits;
use waggle::relay::transport::HttpResponse;
use waggle::request::Purpose;
use waggle_scenarios::names::{Person, channel_id};

use crate::table::{none, unchanged};
use crate::world::{T0, World, id_of, key, my_signer, person, run, signed};

pub(crate) struct Blob {
    pub(crate) rule: &'static str,
    pub(crate) what: &'static str,
    pub(crate) event: fn(u64) -> String,
    /// Whether the marker load must fail visibly (R23); otherwise the item is dropped.
    pub(crate) fails: bool,
}

const fn unreadable(rule: &'static str, what: &'static str, event: fn(u64) -> String) -> Blob {
    Blob { rule, what, event, fails: true }
}

const fn dropped(rule: &'static str, what: &'static str, event: fn(u64) -> String) -> Blob {
    Blob { rule, what, event, fails: false }
}

const D: &str = "read-state:00112233445566778899aabbccddeeff";

/// A read-state event of the viewer's around this plaintext, at the time.
fn sealed(at: u64, plain: &str) -> String {
    let content = person("me").seal(plain, &at.to_string()).unwrap();
    raw(at, &content)
}

fn raw(at: u64, content: &str) -> String {
    signed("me", at, 30_078, &[&["d", D], &["t", "read-state"]], content)
}

fn at_coordinate(at: u64, kind: u16, tags: &[&[&str]]) -> String {
    let all = format!("{{\"v\":1,\"client_id\":\"peer\",\"contexts\":{{\"{}\":1751600000}}}}", channel_id("general"));
    signed("me", at, kind, tags, &person("me").seal(&all, &at.to_string()).unwrap())
}

/// A blob whose contexts are this JSON.
fn contexts(at: u64, contexts: &Value) -> String {
    sealed(at, &json!({ "v": 1, "client_id": "peer", "contexts": contexts }).to_string())
}

/// A mark that would read everything there is, under this key with this value.
fn entry(at: u64, key: &str, value: &Value) -> String {
    let mut map = serde_json::Map::new();
    map.insert(key.to_owned(), value.clone());
    contexts(at, &Value::Object(map))
}

pub(crate) const BLOBS: &[Blob] = &[
    unreadable("unread 9.6", "version 2", |t| sealed(t, r#"{"v":2,"client_id":"peer","contexts":{}}"#)),
    unreadable("unread 9.2", "no version", |t| sealed(t, r#"{"client_id":"peer","contexts":{}}"#)),
    unreadable("unread 9.2", "a text for the version", |t| sealed(t, r#"{"v":"1","client_id":"p","contexts":{}}"#)),
    unreadable("unread 9.2", "no client id", |t| sealed(t, r#"{"v":1,"contexts":{}}"#)),
    unreadable("unread 9.2", "an empty client id", |t| sealed(t, r#"{"v":1,"client_id":"","contexts":{}}"#)),
    unreadable("unread 9.2", "a client id of 65 characters", |t| {
        sealed(t, &json!({ "v": 1, "client_id": "é".repeat(65), "contexts": {} }).to_string())
    }),
    unreadable("unread 9.2", "a number for the client id", |t| sealed(t, r#"{"v":1,"client_id":7,"contexts":{}}"#)),
    unreadable("unread 9.2", "no contexts", |t| sealed(t, r#"{"v":1,"client_id":"peer"}"#)),
    unreadable("unread 9.2", "an array for the contexts", |t| contexts(t, &json!([]))),
    unreadable("unread 9.2", "null for the contexts", |t| contexts(t, &Value::Null)),
    // Short keys: an event may have 98,304 bytes, a plaintext 65,535.
    unreadable("unread 9.2", "10,001 keys", |t| {
        let keys: serde_json::Map<_, _> = (0..10_001).map(|i| (format!("{i:x}"), json!(0))).collect();
        raw(
            t,
            &person("me")
                .seal(&format!("{{\"v\":1,\"client_id\":\"p\",\"contexts\":{}}}", Value::Object(keys)), "k")
                .unwrap_or_else(|_| "too long".into()),
        )
    }),
    unreadable("unread 9.2", "no JSON", |t| sealed(t, "read everything")),
    unreadable("unread 9.2", "an array", |t| sealed(t, "[1]")),
    unreadable("unread 9.2", "an array of the members", |t| sealed(t, r#"[1,"peer",{}]"#)),
    unreadable("unread 9.2", "a number", |t| sealed(t, "1")),
    unreadable("unread 9.2", "cut in the middle", |t| sealed(t, r#"{"v":1,"client_id":"peer","contexts":{"#)),
    unreadable("unread 9.2", "60,000 brackets", |t| sealed(t, &"[".repeat(60_000))),
    unreadable("unread 13.14", "no base64", |t| raw(t, "this is not base64!")),
    unreadable("unread 13.14", "an empty payload", |t| raw(t, "")),
    unreadable("unread 13.14", "another version of the cipher", |t| raw(t, &"AQAA".repeat(40))),
    unreadable("unread 13.14", "a payload of zeros", |t| raw(t, &format!("Ag{}", "A".repeat(130)))),
    unreadable("unread 13.14", "encrypted by another key", |t| {
        raw(t, &person("ada").seal(r#"{"v":1,"client_id":"x","contexts":{}}"#, "s").unwrap())
    }),
    unreadable("unread 13.14", "one altered byte", |t| {
        let honest = person("me").seal(r#"{"v":1,"client_id":"x","contexts":{}}"#, "s").unwrap();
        let other = if honest.as_bytes()[60] == b'A' { "B" } else { "A" };
        raw(t, &format!("{}{other}{}", &honest[..60], &honest[61..]))
    }),
    unreadable("unread 9.33", "an event of more than 98,304 bytes", |t| raw(t, &"A".repeat(98_304))),
    dropped("unread 9.2", "31 hex digits", |t| {
        at_coordinate(t, 30_078, &[&["d", &D[..D.len() - 1]], &["t", "read-state"]])
    }),
    dropped("unread 9.2", "upper-case digits", |t| {
        at_coordinate(t, 30_078, &[&["d", "read-state:00112233445566778899AABBCCDDEEFF"], &["t", "read-state"]])
    }),
    dropped("unread 9.2", "two d tags", |t| {
        at_coordinate(
            t,
            30_078,
            &[&["d", "read-state:10112233445566778899aabbccddeeff"], &["d", D], &["t", "read-state"]],
        )
    }),
    dropped("unread 9.2", "two t tags", |t| {
        let d = "read-state:20112233445566778899aabbccddeeff";
        at_coordinate(t, 30_078, &[&["d", d], &["t", "read-state"], &["t", "read-state"]])
    }),
    dropped("unread 9.2", "no t tag", |t| {
        at_coordinate(t, 30_078, &[&["d", "read-state:30112233445566778899aabbccddeeff"]])
    }),
    dropped("unread 9.1", "another application's coordinate", |t| {
        at_coordinate(t, 30_078, &[&["d", "settings"], &["t", "read-state"]])
    }),
    dropped("unread 9.3", "a negative value", |t| entry(t, &channel_id("general"), &json!(-1))),
    dropped("unread 9.3", "a broken value", |t| entry(t, &channel_id("general"), &json!(1_751_600_000.5))),
    dropped("unread 9.3", "a value beyond 32 bits", |t| entry(t, &channel_id("general"), &json!(4_294_967_296u64))),
    dropped("unread 9.3", "a text for a value", |t| entry(t, &channel_id("general"), &json!("1751600000"))),
    dropped("unread 9.3", "null for a value", |t| entry(t, &channel_id("general"), &Value::Null)),
    dropped("unread 9.3", "an object for a value", |t| entry(t, &channel_id("general"), &json!({ "at": 1 }))),
    dropped("unread 9.4", "a key of 258 bytes", |t| entry(t, &"é".repeat(129), &json!(1_751_600_000))),
    dropped("unread 9.2", "an empty key", |t| entry(t, "", &json!(1_751_600_000))),
    dropped("unread 9.2", "an unknown register", |t| entry(t, &format!("ov_x:{}", channel_id("general")), &json!(7))),
    dropped("unread 9.2", "a register of one part", |t| {
        entry(t, &format!("ov_s:{}", channel_id("general")), &json!(7))
    }),
    dropped("unread 9.8", "a register with an impossible part", |t| {
        let c = channel_id("general");
        contexts(t, &json!({ format!("ov_s:{c}"): 3, format!("ov_c:{c}"): -1, format!("ov_b:{c}"): 4_000_000_000u32 }))
    }),
    dropped("unread 9.7", "a register of two parts", |t| {
        let c = channel_id("general");
        contexts(t, &json!({ format!("ov_s:{c}"): 3, format!("ov_b:{c}"): 4_000_000_000u32 }))
    }),
    dropped("R12", "a channel read through next year", |t| entry(t, &channel_id("general"), &json!(T0 + 31_000_000))),
    dropped("R12", "a channel read through the end of time", |t| entry(t, &channel_id("general"), &json!(u32::MAX))),
    dropped("sync 21", "a value lower than one's own", |t| entry(t, &channel_id("general"), &json!(5))),
];

#[test]
fn bad_read_state_changes_nothing() {
    run(async {
        let mut world = World::new().await;
        let before = world.facts().await;
        let session = world.session.clone();
        let mut faults = Vec::new();
        for (i, row) in BLOBS.iter().enumerate() {
            let name = format!("{} ({})", row.what, row.rule);
            let json = (row.event)(T0 + i as u64);
            let edit = move |answer: HttpResponse| {
                let envelope = serde_json::from_slice(&answer.body).unwrap();
                HttpResponse { body: one_more(envelope, &json), ..answer }
            };
            world.tamper.edit(Purpose::Snapshot, 1, Arc::new(edit));
            let got = world.finish(session.retry_sync()).await.map_err(|e| e.code());
            let want = if row.fails { Err("invalid_answer") } else { Ok(()) };
            if got != want {
                faults.push(format!("{name}: {got:?} instead of {want:?}"));
            }
            if session.sync().current().value.error.is_some() != row.fails {
                faults.push(format!("{name}: shown as {:?}", session.sync().current().value.error));
            }
            assert_eq!(world.tamper.honest(), 1, "{name}: asked for once");
            unchanged(&mut world, &before, &name, &mut faults).await;
            // What is gone from the relay is not unreadable any more.
            if let Err(why) = world.finish(session.retry_sync()).await {
                faults.push(format!("{name}: {} afterwards", why.code()));
            }
        }
        none(faults);
        // A blob that says the same without a fault is taken.
        let good = entry(T0 + 500, &channel_id("general"), &json!(T0 - 1));
        let edit = move |answer: HttpResponse| {
            let envelope = serde_json::from_slice(&answer.body).unwrap();
            HttpResponse { body: one_more(envelope, &good), ..answer }
        };
        world.tamper.edit(Purpose::Snapshot, 1, Arc::new(edit));
        world.finish(session.retry_sync()).await.unwrap();
        assert_ne!(world.facts().await.marks, before.marks);
    });
}

pub(crate) struct Snapshot {
    pub(crate) what: &'static str,
    pub(crate) body: fn(Value) -> Vec<u8>,
    pub(crate) fails: &'static str,
}

const fn snapshot(what: &'static str, body: fn(Value) -> Vec<u8>) -> Snapshot {
    Snapshot { what, body, fails: "invalid_answer" }
}

fn member(mut envelope: Value, name: &str, value: Value) -> Vec<u8> {
    envelope[name] = value;
    envelope.to_string().into_bytes()
}

fn without(mut envelope: Value, name: &str) -> Vec<u8> {
    envelope.as_object_mut().unwrap().remove(name);
    envelope.to_string().into_bytes()
}

/// An event more, and the id the relay would have given: what is wrong is the event.
pub(crate) fn one_more(mut envelope: Value, json: &str) -> Vec<u8> {
    envelope["events"].as_array_mut().unwrap().insert(0, serde_json::from_str(json).unwrap());
    let mut keys: Vec<(u64, String)> = envelope["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["created_at"].as_u64().unwrap(), e["id"].as_str().unwrap().to_owned()))
        .collect();
    keys.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut bytes = b"buzz-read-state-snapshot-v1\0".to_vec();
    let community = envelope["community_id"].as_str().unwrap().replace('-', "");
    bytes.extend(hex::decode(community).unwrap());
    bytes.extend(key("me").as_bytes());
    keys.iter().for_each(|(_, id)| bytes.extend(hex::decode(id).unwrap()));
    use sha2::Digest as _;
    envelope["snapshot_id"] = json!(hex::encode(sha2::Sha256::digest(bytes)));
    envelope.to_string().into_bytes()
}

pub(crate) const SNAPSHOTS: &[Snapshot] = &[
    snapshot("not complete", |e| member(e, "complete", json!(false))),
    snapshot("a text for complete", |e| member(e, "complete", json!("true"))),
    snapshot("without complete", |e| without(e, "complete")),
    snapshot("version 2", |e| member(e, "read_state_snapshot", json!(2))),
    snapshot("without a version", |e| without(e, "read_state_snapshot")),
    snapshot("another community", |e| member(e, "community_id", json!("00000000-0000-4000-8000-000000000001"))),
    snapshot("a community in upper case", |e| {
        let upper = e["community_id"].as_str().unwrap().to_uppercase() + "A";
        member(e, "community_id", json!(upper))
    }),
    snapshot("another account", |e| member(e, "pubkey", json!(person("ada").public()))),
    snapshot("without an account", |e| without(e, "pubkey")),
    snapshot("another id", |e| member(e, "snapshot_id", json!("ab".repeat(32)))),
    snapshot("without an id", |e| without(e, "snapshot_id")),
    snapshot("an event that does not verify", |mut e| {
        e["events"][0]["content"] = json!("other");
        e.to_string().into_bytes()
    }),
    snapshot("an event less", |mut e| {
        e["events"].as_array_mut().unwrap().pop();
        e.to_string().into_bytes()
    }),
    snapshot("somebody else's event", |e| {
        let json = signed("ada", T0, 30_078, &[&["d", "x"]], "");
        one_more(e, &json)
    }),
    snapshot("an event of another kind", |e| {
        let json = signed("me", T0, 9, &[&["d", "x"]], "");
        one_more(e, &json)
    }),
    snapshot("a coordinate twice", |e| {
        let d = e["events"][0]["tags"][0][1].as_str().unwrap().to_owned();
        let json = signed("me", T0 - 5, 30_078, &[&["d", &d], &["t", "read-state"]], "");
        one_more(e, &json)
    }),
    snapshot("a plain array", |e| e["events"].to_string().into_bytes()),
    Snapshot { what: "cut in the middle", body: |e| e.to_string().into_bytes()[..80].to_vec(), fails: "network" },
    Snapshot { what: "without events", body: |e| without(e, "events"), fails: "network" },
    Snapshot { what: "an object for events", body: |e| member(e, "events", json!({})), fails: "network" },
    Snapshot { what: "no JSON", body: |_| b"{complete}".to_vec(), fails: "network" },
    Snapshot {
        what: "more than the stream may carry",
        body: |_| vec![b' '; limits::SNAPSHOT_STREAM_BYTES + 1],
        fails: "network",
    },
];

#[test]
fn bad_snapshots_change_nothing() {
    run(async {
        let mut world = World::new().await;
        let before = world.facts().await;
        let session = world.session.clone();
        let mut faults = Vec::new();
        for row in SNAPSHOTS {
            let name = format!("snapshot: {}", row.what);
            let change = row.body;
            let edit = move |answer: HttpResponse| {
                let envelope = serde_json::from_slice(&answer.body).unwrap();
                HttpResponse { body: change(envelope), ..answer }
            };
            world.tamper.edit(Purpose::Snapshot, 1, Arc::new(edit));
            let got = world.finish(session.retry_sync()).await.map_err(|e| e.code());
            if world.tamper.honest() == 0 {
                faults.push(format!("{name}: nothing was asked for"));
            }
            if got != Err(row.fails) {
                faults.push(format!("{name}: {got:?} instead of {}", row.fails));
            }
            if session.sync().current().value.completeness != waggle::model::Completeness::Unknown {
                faults.push(format!("{name}: called complete"));
            }
            unchanged(&mut world, &before, &name, &mut faults).await;
        }
        none(faults);
        world.finish(session.retry_sync()).await.unwrap();
    });
}

/// What a signer gives back instead of what it was asked for.
pub(crate) struct Signing {
    pub(crate) what: &'static str,
    result: fn(&Unsigned, SignedJson) -> SignedJson,
}

const fn signing(what: &'static str, result: fn(&Unsigned, SignedJson) -> SignedJson) -> Signing {
    Signing { what, result }
}

fn json_of(by: &str, at: u64, kind: u16, tags: Vec<Vec<String>>, content: &str) -> SignedJson {
    let json = Person::named(by).unwrap().sign(at, kind, tags, content, None).json;
    SignedJson { id: id_of(&json), json }
}

/// The content of what was signed honestly.
fn content(honest: &SignedJson) -> String {
    let value: Value = serde_json::from_str(&honest.json).unwrap();
    value["content"].as_str().unwrap().to_owned()
}

pub(crate) const SIGNERS: &[Signing] = &[
    signing("another time", |u, h| json_of("me", u.created_at() + 1, u.kind(), u.tags(), &content(&h))),
    signing("another author", |u, h| json_of("ada", u.created_at(), u.kind(), u.tags(), &content(&h))),
    signing("another kind", |u, h| json_of("me", u.created_at(), 9, u.tags(), &content(&h))),
    signing("another slot", |u, h| {
        let mut tags = u.tags();
        tags[0][1] = D.to_owned();
        json_of("me", u.created_at(), u.kind(), tags, &content(&h))
    }),
    signing("no topic", |u, h| {
        json_of("me", u.created_at(), u.kind(), u.tags().into_iter().take(1).collect(), &content(&h))
    }),
    signing("another plaintext", |u, _| {
        let all = format!("{{\"v\":1,\"client_id\":\"x\",\"contexts\":{{\"{}\":1751500000}}}}", channel_id("chat"));
        json_of("me", u.created_at(), u.kind(), u.tags(), &person("me").seal(&all, "x").unwrap())
    }),
    signing("clear text", |u, _| json_of("me", u.created_at(), u.kind(), u.tags(), "{\"v\":1}")),
    signing("ciphertext for another key", |u, _| {
        json_of("me", u.created_at(), u.kind(), u.tags(), &person("ada").seal("{\"v\":1}", "x").unwrap())
    }),
    signing("a signature that does not verify", |_, h| SignedJson {
        json: h.json.replacen("\"content\":\"A", "\"content\":\"B", 1),
        ..h
    }),
    signing("no JSON", |_, h| SignedJson { json: "signed".into(), ..h }),
    signing("nothing", |_, h| SignedJson { json: String::new(), ..h }),
    signing("more than 65,536 bytes", |u, h| {
        json_of("me", u.created_at(), u.kind(), u.tags(), &(content(&h) + &"A".repeat(70_000)))
    }),
];

/// Signs in honestly, and lies about read state.
struct Liar(fn(&Unsigned, SignedJson) -> SignedJson);

impl Signer for Liar {
    fn public_key(&self) -> PublicKey {
        my_signer().public_key()
    }

    fn can_publish(&self) -> bool {
        true
    }

    fn sign(&self, event: Unsigned, server_time: u64) -> BoxFuture<'static, Result<SignedJson, Error>> {
        let honest = my_signer().sign_now(&event, server_time);
        let lies = event.publishes();
        ready(honest.map(|h| if lies { (self.0)(&event, h) } else { h })).boxed()
    }

    fn self_cipher(&self) -> Option<Arc<dyn SelfCipher>> {
        my_signer().self_cipher()
    }
}

/// `unread.md` 9.29: what was signed is decoded before it is saved; if it is not what was asked for, nothing is saved and nothing is sent.
#[test]
fn a_signer_that_signs_something_else_publishes_nothing() {
    let mut faults = Vec::new();
    for row in SIGNERS {
        run(async {
            let name = format!("signer: {}", row.what);
            let mut world = World::cold(Some(Arc::new(Liar(row.result)))).await;
            let session = world.session.clone();
            session.start().await.unwrap();
            world.settle().await;
            world.finish(session.ensure()).await.unwrap();
            world.read_more("m20").await.unwrap();
            let before = world.facts().await;
            let got = world.finish(session.flush()).await;
            if got.is_ok() {
                faults.push(format!("{name}: flush succeeded"));
            }
            if !world.record().pending().is_empty() {
                faults.push(format!("{name}: saved as pending"));
            }
            if !world.relay.admin().events(Some(30_078), None).unwrap().is_empty() {
                faults.push(format!("{name}: something was published"));
            }
            unchanged(&mut world, &before, &name, &mut faults).await;
        });
    }
    none(faults);
}
