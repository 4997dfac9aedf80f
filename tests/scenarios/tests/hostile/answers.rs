//! Bad answers of the relay: pages of a channel and of a thread, and everything a connection begins with.

use std::sync::Arc;

use serde_json::{Value, json};
use waggle::limits;
use waggle::relay::transport::HttpResponse;
use waggle::request::Purpose;
use waggle::session::Timeline;
use waggle_scenarios::names::{Person, channel_id};

use crate::table::{none, unchanged};
use crate::tamper::Edit;
use crate::world::{T0, World, run, signed};

/// What an answer's body becomes.
type Body = fn(Vec<u8>) -> Vec<u8>;

pub(crate) struct Answer {
    pub(crate) rule: &'static str,
    pub(crate) what: &'static str,
    pub(crate) body: Body,
    pub(crate) status: u16,
    /// Code of the error the call must end with; none where the page is taken without the item at fault.
    pub(crate) fails: Option<&'static str>,
}

const fn fails(code: &'static str, rule: &'static str, what: &'static str, body: Body) -> Answer {
    Answer { rule, what, body, status: 200, fails: Some(code) }
}

const fn status(code: &'static str, status: u16, what: &'static str, body: Body) -> Answer {
    Answer { rule: "protocol 2.5", what, body, status, fails: Some(code) }
}

pub(crate) fn edit(row: &Answer) -> Edit {
    let (body, status) = (row.body, row.status);
    Arc::new(move |answer: HttpResponse| HttpResponse { status, body: body(answer.body), ..answer })
}

fn items(body: &[u8]) -> Vec<Value> {
    serde_json::from_slice(body).unwrap()
}

fn bytes(items: &[Value]) -> Vec<u8> {
    serde_json::to_vec(items).unwrap()
}

fn kind(item: &Value) -> u64 {
    item["kind"].as_u64().unwrap_or_default()
}

fn relay() -> Person {
    Person::named("relay").unwrap()
}

/// The page with its bounds made anew by the relay's own key: other content, other tags.
fn bounds(body: &[u8], change: impl Fn(&mut Value, &mut Vec<Vec<String>>)) -> Vec<u8> {
    let mut all = items(body);
    for item in all.iter_mut().filter(|i| kind(i) == 39_006) {
        let mut content: Value = serde_json::from_str(item["content"].as_str().unwrap()).unwrap();
        let mut tags: Vec<Vec<String>> = serde_json::from_value(item["tags"].clone()).unwrap();
        change(&mut content, &mut tags);
        let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        let at = item["created_at"].as_u64().unwrap();
        *item = serde_json::from_str(&relay().sign(at, 39_006, tags, &text, None).json).unwrap();
    }
    bytes(&all)
}

fn content(body: &[u8], change: impl Fn(&mut Value)) -> Vec<u8> {
    bounds(body, |content, _| change(content))
}

fn rows(body: &[u8], change: impl Fn(&mut Vec<Value>)) -> Vec<u8> {
    let (mut rows, rest): (Vec<_>, Vec<_>) = items(body).into_iter().partition(|i| kind(i) == 9);
    change(&mut rows);
    rows.extend(rest);
    bytes(&rows)
}

pub(crate) const PAGES: &[Answer] = &[
    fails("invalid_answer", "R5", "more, but no cursor", |b| content(&b, |c| c["next_cursor"] = Value::Null)),
    fails("invalid_answer", "R5", "a cursor, but no more", |b| content(&b, |c| c["has_more"] = json!(false))),
    fails("invalid_answer", "R5", "half a cursor: no id", |b| {
        content(&b, |c| drop(c["next_cursor"].as_object_mut().unwrap().remove("id")))
    }),
    fails("invalid_answer", "R5", "half a cursor: no time", |b| {
        content(&b, |c| drop(c["next_cursor"].as_object_mut().unwrap().remove("created_at")))
    }),
    fails("invalid_answer", "R5", "a cursor whose time is a text", |b| {
        content(&b, |c| c["next_cursor"]["created_at"] = json!("1751490000"))
    }),
    fails("invalid_answer", "R5", "a cursor before 1970", |b| {
        content(&b, |c| c["next_cursor"]["created_at"] = json!(-1))
    }),
    fails("invalid_answer", "R5", "a cursor id of 63 digits", |b| {
        content(&b, |c| c["next_cursor"]["id"] = json!("a".repeat(63)))
    }),
    fails("invalid_answer", "R5", "a cursor id in upper case", |b| {
        content(&b, |c| c["next_cursor"]["id"] = json!("A".repeat(64)))
    }),
    fails("invalid_answer", "R1", "a cursor in the future", |b| {
        content(&b, |c| c["next_cursor"]["created_at"] = json!(T0 + 1_000_000))
    }),
    fails("invalid_answer", "R5", "a cursor that is a text", |b| content(&b, |c| c["next_cursor"] = json!("older"))),
    fails("invalid_answer", "R5", "a word for more", |b| content(&b, |c| c["has_more"] = json!("yes"))),
    fails("invalid_answer", "R5", "an array for the bounds", |b| content(&b, |c| *c = json!([1, 2]))),
    fails("invalid_answer", "NIP-CW", "an array of the bounds' members", |b| {
        content(&b, |c| *c = json!([c["has_more"], c["next_cursor"], null]))
    }),
    fails("invalid_answer", "NIP-CW", "an array of the cursor's members", |b| {
        content(&b, |c| c["next_cursor"] = json!([c["next_cursor"]["created_at"], c["next_cursor"]["id"]]))
    }),
    fails("invalid_answer", "R5", "no JSON in the bounds", |b| content(&b, |c| *c = json!("{"))),
    fails("invalid_answer", "R5", "bounds of another channel", |b| {
        bounds(&b, |_, tags| {
            *tags = vec![vec!["d".into(), format!("{}:head", channel_id("secret"))], tags.pop().unwrap()]
        })
    }),
    fails("invalid_answer", "R5", "bounds of the head page", |b| {
        bounds(&b, |_, tags| {
            tags.iter_mut().filter(|t| t[0] == "d").for_each(|t| t[1] = format!("{}:head", channel_id("general")))
        })
    }),
    fails("invalid_answer", "R5", "bounds with two bindings", |b| {
        bounds(&b, |_, tags| tags.push(tags.iter().find(|t| t[0] == "d").unwrap().clone()))
    }),
    fails("invalid_answer", "R5", "bounds without a binding", |b| bounds(&b, |_, tags| tags.retain(|t| t[0] != "d"))),
    fails("invalid_answer", "R5", "bounds without a channel", |b| bounds(&b, |_, tags| tags.retain(|t| t[0] != "h"))),
    fails("invalid_answer", "R5", "bounds twice", |b| {
        let mut all = items(&b);
        all.extend(all.iter().find(|i| kind(i) == 39_006).cloned());
        bytes(&all)
    }),
    fails("invalid_answer", "R5", "two different bounds", |b| {
        let more = items(&content(&b, |c| (c["has_more"], c["next_cursor"]) = (json!(false), Value::Null)));
        let mut all = items(&b);
        all.extend(more.into_iter().find(|i| kind(i) == 39_006));
        bytes(&all)
    }),
    fails("invalid_answer", "R2", "bounds by a member", |b| {
        let mut all = items(&b);
        for item in all.iter_mut().filter(|i| kind(i) == 39_006) {
            let tags = serde_json::from_value(item["tags"].clone()).unwrap();
            let (at, text) = (item["created_at"].as_u64().unwrap(), item["content"].as_str().unwrap().to_owned());
            let forged = Person::named("ada").unwrap().sign(at, 39_006, tags, &text, None).json;
            *item = serde_json::from_str(&forged).unwrap();
        }
        bytes(&all)
    }),
    fails("invalid_answer", "R5", "bounds whose signature does not verify", |b| {
        let mut all = items(&b);
        all.iter_mut().filter(|i| kind(i) == 39_006).for_each(|i| i["content"] = json!("{\"has_more\":false}"));
        bytes(&all)
    }),
    fails("invalid_answer", "R1", "rows in the wrong order", |b| rows(&b, |rows| rows.reverse())),
    fails("invalid_answer", "R1", "a row twice", |b| rows(&b, |rows| rows.insert(1, rows[1].clone()))),
    fails("invalid_answer", "R1", "a row before the cursor", |b| {
        rows(&b, |rows| {
            let newer = signed("ada", T0 - 1, 9, &[&["h", &channel_id("general")]], "before the cursor");
            rows.insert(0, serde_json::from_str(&newer).unwrap());
        })
    }),
    fails("network", "R5", "a body cut in the middle", |b| b[..b.len() / 2].to_vec()),
    fails("network", "R5", "an empty body", |_| Vec::new()),
    fails("network", "R5", "no UTF-8", |_| b"[\"\xff\"]".to_vec()),
    fails("network", "R5", "an object", |_| b"{\"events\":[]}".to_vec()),
    fails("network", "R5", "null", |_| b"null".to_vec()),
    fails("network", "R5", "a text", |_| b"\"rows\"".to_vec()),
    fails("network", "R5", "a page of HTML", |_| b"<html>captive portal</html>".to_vec()),
    fails("network", "R5", "something behind the array", |b| [b, b" 7".to_vec()].concat()),
    fails("network", "limits ANSWER_ITEMS", "200,000 zeros", |_| format!("[{}0]", "0,".repeat(200_000)).into_bytes()),
    fails("network", "limits ANSWER_BYTES", "more than 32 MiB", |_| vec![b' '; limits::ANSWER_BYTES + 1]),
    status("network", 500, "an error of the relay", |_| b"{\"error\":\"boom\"}".to_vec()),
    status("network", 503, "an error without a word", |_| Vec::new()),
    status("relay_refused", 403, "no permission", |_| b"{\"error\":\"restricted: not a channel member\"}".to_vec()),
    status("relay_refused", 404, "HTML for a refusal", |_| b"<h1>404</h1>".to_vec()),
    status("relay_refused", 418, "a status nobody knows", |_| b"{\"error\":7}".to_vec()),
    status("relay_refused", 301, "a redirection", |_| Vec::new()),
    status("relay_refused", 413, "a plain text for a refusal", |_| b"length limit exceeded".to_vec()),
];

/// The open timeline that a table's answers are for.
type Open = fn(&mut World) -> &mut Option<Timeline>;

/// Gives every answer of the table to a read of one more page. Each fails as it says and changes nothing.
async fn all_fail(world: &mut World, rows: &[Answer], purpose: Purpose, open: Open) {
    let before = world.facts().await;
    let mut faults = Vec::new();
    for row in rows {
        let name = format!("{purpose:?}: {} ({})", row.what, row.rule);
        // One silent retry is allowed (R5), so both answers are bad.
        world.tamper.edit(purpose, 2, edit(row));
        let timeline = open(world).take().unwrap();
        let got = world.finish(timeline.load_older()).await.map_err(|e| e.code());
        *open(world) = Some(timeline);
        if world.tamper.honest() == 0 {
            faults.push(format!("{name}: nothing was asked for"));
        }
        if got.err() != row.fails {
            faults.push(format!("{name}: {got:?} instead of {:?}", row.fails));
        }
        unchanged(world, &before, &name, &mut faults).await;
    }
    none(faults);
}

#[test]
fn bad_pages_fail_and_change_nothing() {
    run(async {
        let mut world = World::new().await;
        let before = world.facts().await.rows.len();
        all_fail(&mut world, PAGES, Purpose::Older, |world| &mut world.timeline).await;
        let timeline = world.timeline.take().unwrap();
        world.finish(timeline.load_older()).await.unwrap();
        assert!(timeline.state().rows.len() > before, "the honest page is taken");
    });
}

/// Items of a page that are dropped alone: the page is there without them, and the rest of it is as it was.
#[test]
fn bad_items_of_a_page_are_dropped_alone() {
    let forge = |item: &mut Value| {
        let sig = item["sig"].as_str().unwrap();
        let digit = if sig.starts_with('0') { "1" } else { "0" };
        item["sig"] = json!(format!("{digit}{}", &sig[1..]));
    };
    type Damage<'a> = (&'static str, &'a (dyn Fn(&mut Value) + Sync));
    let damages: [Damage<'_>; 4] = [
        ("a row whose signature does not verify", &forge),
        ("a row of the wrong shape", &|item| item["tags"] = json!(7)),
        ("a row that is no event", &|item| *item = json!({ "kind": 9 })),
        ("a row of another channel", &|item| {
            let other = signed("ada", T0 - 3_000, 9, &[&["h", &channel_id("secret")]], "elsewhere");
            *item = serde_json::from_str(&other).unwrap();
        }),
    ];
    for (what, damage) in damages {
        let damaged = |body: Vec<u8>| rows(&body, |rows| damage(&mut rows[3]));
        let lost = std::sync::Mutex::new(None);
        run(async {
            let mut world = World::new().await;
            let before = world.timeline.as_ref().unwrap().state().rows.len();
            let honest = {
                let mut other = World::new().await;
                let timeline = other.timeline.take().unwrap();
                other.finish(timeline.load_older()).await.unwrap();
                timeline.state().rows.iter().map(|r| r.id).collect::<Vec<_>>()
            };
            let page = signed_page(&mut world, &damaged).await;
            let missing: Vec<_> = honest.iter().filter(|id| !page.contains(id)).collect();
            assert_eq!(missing.len(), 1, "{what}: exactly the bad row is missing");
            assert!(page.len() > before && page.len() + 1 == honest.len(), "{what}");
            *lost.lock().unwrap() = Some(*missing[0]);
        });
    }
}

/// The rows after one more page, whose answer is damaged.
async fn signed_page(world: &mut World, damage: &dyn Fn(Vec<u8>) -> Vec<u8>) -> Vec<waggle::ids::EventId> {
    let honest = Arc::new(std::sync::Mutex::new(None::<Vec<u8>>));
    // The edit must be 'static: the answer is learned once, damaged here, and given then.
    let seen = honest.clone();
    world.tamper.edit(
        Purpose::Older,
        1,
        Arc::new(move |answer| {
            *seen.lock().unwrap() = Some(answer.body.clone());
            HttpResponse { status: 500, ..answer }
        }),
    );
    let timeline = world.timeline.take().unwrap();
    world.finish(timeline.load_older()).await.unwrap_err();
    let body = damage(honest.lock().unwrap().take().unwrap());
    world.tamper.edit(Purpose::Older, 1, Arc::new(move |answer| HttpResponse { body: body.clone(), ..answer }));
    world.finish(timeline.load_older()).await.unwrap();
    assert_eq!(world.tamper.honest(), 1);
    timeline.state().rows.iter().map(|r| r.id).collect()
}

pub(crate) const THREADS: &[Answer] = &[
    fails("invalid_answer", "R7a", "replies at or before the last one held", |_| {
        let h = channel_id("general");
        let old = signed("bo", 5, 9, &[&["h", &h]], "old");
        format!("[{old}]").into_bytes()
    }),
    fails("network", "R7a", "a body cut in the middle", |_| b"[{\"id\":".to_vec()),
    fails("network", "R7a", "an object", |_| b"{}".to_vec()),
    status("network", 500, "an error of the relay", |_| Vec::new()),
    status("relay_refused", 400, "a refusal", |_| b"{\"error\":\"invalid\"}".to_vec()),
];

#[test]
fn bad_thread_pages_fail_and_change_nothing() {
    run(async {
        all_fail(&mut World::new().await, THREADS, Purpose::Thread, |world| &mut world.thread).await;
    });
}

/// An answer that a connection begins with.
pub(crate) struct Connect {
    pub(crate) purpose: Purpose,
    pub(crate) what: &'static str,
    pub(crate) edit: fn(HttpResponse) -> HttpResponse,
}

const fn connect(purpose: Purpose, what: &'static str, edit: fn(HttpResponse) -> HttpResponse) -> Connect {
    Connect { purpose, what, edit }
}

fn document(answer: HttpResponse, change: fn(&mut Value)) -> HttpResponse {
    let mut document: Value = serde_json::from_slice(&answer.body).unwrap();
    change(&mut document);
    HttpResponse { body: document.to_string().into_bytes(), ..answer }
}

fn with(answer: HttpResponse, body: impl Into<Vec<u8>>) -> HttpResponse {
    HttpResponse { body: body.into(), ..answer }
}

/// The same events with the first channel's by somebody else, at a later time.
fn usurped(answer: HttpResponse) -> HttpResponse {
    let mut all = items(&answer.body);
    let Some(first) = all.iter().find(|i| kind(i) == 39_002).cloned() else { return answer };
    let tags: Vec<Vec<String>> = serde_json::from_value(first["tags"].clone()).unwrap();
    let tags = tags.into_iter().filter(|t| t[0] == "d").collect();
    let at = first["created_at"].as_u64().unwrap() + 1_000;
    all.push(serde_json::from_str(&Person::named("bo").unwrap().sign(at, 39_002, tags, "", None).json).unwrap());
    with(answer, bytes(&all))
}

/// An older roster of the relay's own, without the viewer, behind the newer one.
fn replayed(answer: HttpResponse) -> HttpResponse {
    let mut all = items(&answer.body);
    let tags = vec![vec!["d".to_owned(), channel_id("general")]];
    all.push(serde_json::from_str(&relay().sign(T0 - 200_000, 39_002, tags, "", None).json).unwrap());
    with(answer, bytes(&all))
}

pub(crate) const CONNECTS: &[Connect] = &[
    connect(Purpose::Nip11, "no JSON", |a| with(a, "<html>")),
    connect(Purpose::Nip11, "an array", |a| with(a, "[]")),
    connect(Purpose::Nip11, "an empty body", |a| with(a, "")),
    connect(Purpose::Nip11, "100,000 brackets", |a| with(a, "[".repeat(100_000 / 2))),
    connect(Purpose::Nip11, "more than 64 KiB", |a| with(a, vec![b' '; limits::DOCUMENT_BYTES + 1])),
    connect(Purpose::Nip11, "status 500", |a| HttpResponse { status: 500, ..a }),
    connect(Purpose::Nip11, "limitations of the wrong types", |a| {
        document(a, |d| d["limitation"] = json!({"max_subscriptions": -1, "max_limit": "x", "max_message_length": 1.5}))
    }),
    connect(Purpose::Nip11, "limitations of zero", |a| {
        document(a, |d| d["limitation"] = json!({"max_subscriptions": 0, "max_limit": 0, "max_message_length": 0}))
    }),
    connect(Purpose::Nip11, "a name of the wrong type", |a| document(a, |d| d["name"] = json!([1]))),
    connect(Purpose::Nip11, "a snapshot offer of version 2", |a| {
        document(a, |d| d["read_state_snapshot"]["version"] = json!(2))
    }),
    connect(Purpose::Nip11, "a snapshot offer of another community's shape", |a| {
        document(a, |d| d["read_state_snapshot"]["community_id"] = json!("NOT-A-UUID"))
    }),
    connect(Purpose::Nip11, "a date beyond all time", |a| HttpResponse { date: Some(u64::MAX), ..a }),
    connect(Purpose::Nip11, "a date at the beginning of time", |a| HttpResponse { date: Some(0), ..a }),
    connect(Purpose::Roster, "no JSON", |a| with(a, "oops")),
    connect(Purpose::Roster, "an object", |a| with(a, "{}")),
    connect(Purpose::Roster, "cut in the middle", |a| {
        let half = a.body.len() / 2;
        with(HttpResponse { body: Vec::new(), ..a.clone() }, a.body[..half].to_vec())
    }),
    connect(Purpose::Roster, "status 500", |a| HttpResponse { status: 500, ..a }),
    connect(Purpose::Roster, "a newer roster by a member", usurped),
    connect(Purpose::Roster, "an older roster of the relay's", replayed),
    connect(Purpose::Roster, "an event that does not verify instead of the first", |a| {
        let mut all = items(&a.body);
        if let Some(first) = all.first_mut() {
            first["content"] = json!("something else");
        }
        let body = bytes(&all);
        with(a, body)
    }),
    connect(Purpose::Evidence, "no JSON", |a| with(a, "oops")),
    connect(Purpose::Evidence, "numbers for events", |a| with(a, "[1,2,3]")),
    connect(Purpose::Evidence, "a forged message among them", |a| {
        let mut all = items(&a.body);
        let mut forged: Value =
            serde_json::from_str(&signed("ada", T0 - 50, 9, &[&["h", &channel_id("general")]], "x")).unwrap();
        forged["content"] = json!("y");
        all.push(forged);
        let body = bytes(&all);
        with(a, body)
    }),
    connect(Purpose::Preference, "no JSON", |a| with(a, "oops")),
    connect(Purpose::Preference, "a preference of somebody else", |a| {
        let text = format!(
            "{{\"version\":1,\"channels\":{{\"{}\":{{\"muted\":true,\"updatedAt\":1}}}}}}",
            channel_id("general")
        );
        let sealed = Person::named("ada").unwrap().seal(&text, "s").unwrap();
        let tags: &[&[&str]] = &[&["d", "channel-mutes"], &["t", "channel-mutes"]];
        let body = format!("[{}]", signed("ada", T0, 30_078, tags, &sealed));
        with(a, body)
    }),
    connect(Purpose::Head, "no JSON", |a| with(a, "oops")),
    connect(Purpose::Head, "cut in the middle", |a| {
        let half = a.body.len() / 2;
        with(HttpResponse { body: Vec::new(), ..a.clone() }, a.body[..half].to_vec())
    }),
    connect(Purpose::Head, "bounds twice", |a| {
        let mut all = items(&a.body);
        all.extend(all.iter().find(|i| kind(i) == 39_006).cloned());
        let body = bytes(&all);
        with(a, body)
    }),
];

#[test]
fn bad_answers_at_a_reconnect_change_nothing() {
    run(async {
        let mut world = World::new().await;
        let before = world.facts().await;
        let mut faults = Vec::new();
        for row in CONNECTS {
            let change = row.edit;
            world.tamper.edit(row.purpose, 1, Arc::new(change));
            world.relay.admin().drop_sockets(None);
            // After failures the next attempt may be a minute away.
            for _ in 0..150 {
                world.advance(1_000).await;
                if world.tamper.edited() > 0 {
                    break;
                }
            }
            world.advance(2_000).await;
            let name = format!("{:?}: {}", row.purpose, row.what);
            if world.tamper.honest() == 0 {
                faults.push(format!("{name}: nothing was asked for"));
            }
            unchanged(&mut world, &before, &name, &mut faults).await;
        }
        none(faults);
    });
}
