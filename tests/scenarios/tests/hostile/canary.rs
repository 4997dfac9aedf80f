//! No content, id, key or host in a log line, a `Debug` rendering, an error's text or a panic's message.
//!
//! A session is led through its whole life and through the tables of this folder, while everything `waggle` logs at the finest level, every panic
//! and every error is written down, and every value an app or a transport can get hold of is rendered. Texts of the community carry the word
//! `kanari`, as its host does; ids, keys and the account's secret are looked for as they are. The rules about the sources
//! (`core/tests/policy.rs`) hold the rest: what is not rendered here derives no `Debug` over text.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span;
use waggle::error::Error;
use waggle::ids::Target;
use waggle::relay::transport::{HttpRequest, HttpResponse, Method};
use waggle::request::{Answer, Body, Filter, Priority, Purpose, Request};
use waggle_scenarios::names::channel_id;

use crate::world::{HOST, T0, World, channel, key, my_signer, person, run, signed};
use crate::{answers, blobs, calls, frames};

/// Everything that was said.
static SAID: Mutex<String> = Mutex::new(String::new());

fn say(text: &str) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said.push_str(text);
    said.push('\n');
}

/// Takes in every event and span of `waggle`, at every level. What libraries below say is theirs: an app's log must take this target only, as
/// `SECURITY.md` says.
struct Ears;

impl tracing::Subscriber for Ears {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("waggle")
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        let mut line = Line(attributes.metadata().name().to_owned());
        attributes.record(&mut line);
        say(&line.0);
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        let mut line = Line(String::new());
        values.record(&mut line);
        say(&line.0);
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(format!("log {}", event.metadata().level()));
        event.record(&mut line);
        say(&line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}

fn show(value: &dyn Debug) {
    say(&format!("{value:?} {value:#?}"));
}

fn heard<T>(result: Result<T, Error>) {
    if let Err(error) = result {
        say(&format!("{error} {error:?} {}", error.sentence()));
    }
}

/// Words that may not be said.
fn canaries(world: &World) -> Vec<String> {
    let mut all = vec!["kanari".to_owned(), HOST.to_owned(), person("me").public(), hex::encode(person("me").secret())];
    all.push(waggle::identity::Secret::from_bytes(person("me").secret()).unwrap().to_nsec().unwrap().to_string());
    all.extend(["ada", "bo", "relay"].map(|name| person(name).public()));
    all.extend(["general", "pulse", "chat", "secret"].map(channel_id));
    all.extend(world.ids.values().map(waggle::ids::EventId::to_hex));
    let record = world.record();
    all.extend(record.slots().iter().map(waggle::ids::SlotId::to_hex));
    all.push(record.header().client_id.clone());
    // A value shown as its bytes is shown, too.
    let bytes = |hex: &str| format!("{:?}", hex::decode(hex).unwrap()).trim_matches(['[', ']']).to_owned();
    all.push(bytes(&person("ada").public()));
    all.push(bytes(&hex::encode(person("me").secret())));
    all
}

async fn live_a_life(world: &mut World) {
    let session = world.session.clone();
    for row in frames::ROWS {
        world.tamper.inject((row.text)(world));
        world.settle().await;
    }
    for row in frames::EVENTS {
        for json in (row.json)(world) {
            world.push(&json);
        }
        world.settle().await;
    }
    for row in answers::PAGES {
        world.tamper.edit(Purpose::Older, 2, answers::edit(row));
        let timeline = world.timeline.take().unwrap();
        heard(world.finish(timeline.load_older()).await);
        show(&timeline.state());
        world.timeline = Some(timeline);
    }
    for row in blobs::SNAPSHOTS {
        let change = row.body;
        let edit = move |answer: HttpResponse| {
            let envelope = serde_json::from_slice(&answer.body).unwrap();
            HttpResponse { body: change(envelope), ..answer }
        };
        world.tamper.edit(Purpose::Snapshot, 1, Arc::new(edit));
        heard(world.finish(session.retry_sync()).await);
        show(&session.sync().current().value);
    }
    for row in blobs::BLOBS {
        let json = (row.event)(T0);
        let edit = move |answer: HttpResponse| {
            let envelope = serde_json::from_slice(&answer.body).unwrap();
            HttpResponse { body: blobs::one_more(envelope, &json), ..answer }
        };
        world.tamper.edit(Purpose::Snapshot, 1, Arc::new(edit));
        heard(world.finish(session.retry_sync()).await);
    }
    for row in calls::CALLS {
        let call = (row.call)(session.clone(), calls::Names::of(world));
        heard(world.finish(call).await);
    }
    for row in answers::CONNECTS {
        world.tamper.edit(row.purpose, 1, Arc::new(row.edit));
        world.relay.admin().drop_sockets(None);
        world.advance(3_000).await;
        show(&session.connectivity().current().value);
    }
    world.tamper.honest();
    world.advance(130_000).await;
    heard(world.read_more("m40").await);
    heard(world.finish(session.mute(channel("general"), true)).await);
    heard(world.finish(session.flush()).await);
    heard(world.finish(session.mark_all_channels_read()).await);
    heard(world.finish(session.suspend(1_000)).await);
    heard(world.finish(session.resume()).await);
    world.advance(5_000).await;
}

/// Every value an app gets, and what lies between it and the wire.
async fn show_everything(world: &mut World) {
    let session = world.session.clone();
    let general = channel("general");
    show(&session);
    show(&world.timeline);
    show(&world.timeline.as_ref().unwrap().view().current());
    show(&session.sidebar().current());
    show(&session.sidebar().current().value.rows);
    show(&session.connectivity().current());
    show(&session.sync().current());
    for target in [
        Target::Channel(general),
        Target::Thread(general, world.id("root")),
        Target::Message(general, world.id("call")),
    ] {
        show(&target);
        show(&world.finish(session.snapshot(target)).await);
        show(&world.finish(session.unread(target)).await.unwrap().current());
    }
    show(&world.finish(session.activity(general)).await);
    show(&world.finish(session.surface(general, None)).await.unwrap());
    let record = world.record();
    show(&record);
    show(&record.header());
    record.rows().for_each(|row| show(&row));
    record.local_marks().for_each(|mark| show(&mark));
    record.follows().iter().for_each(|choice| show(&choice));
    record.pending().iter().for_each(|pending| show(pending));
    show(&record.slots());

    let json = signed("ada", T0, 9, &[&["h", &general.to_string()], &["p", &person("me").public()]], "kanari");
    let verifier = waggle::event::Verifier::new();
    let event = verifier.event(&json).unwrap();
    show(&event);
    show(&event.scope);
    show(&event.reference);
    show(&verifier.batch(format!("[{json},{{}}]").as_bytes()));
    show(&verifier.event(&json.replace("kanari", "kanary")));
    let frame = format!("[\"EVENT\",\"{general}\",{json}]");
    show(&waggle::relay::protocol::receive(&frame, &verifier));
    let texts = ["NOTICE", "AUTH", "CLOSED"].map(|verb| format!("[\"{verb}\",\"kanari {general}\",\"kanari\"]"));
    texts.iter().for_each(|text| show(&waggle::relay::protocol::receive(text, &verifier)));
    let filter = Filter::kinds(&[9]).in_channels([general]).by(&key("ada")).about([event.id]).with_ids([event.id]);
    show(&filter);
    for body in [Body::Query(vec![filter]), Body::Publish(json.clone()), Body::Snapshot(key("me"))] {
        let request = Request { body, ..Request::query(Purpose::Head, Priority::Foreground, Vec::new()) };
        show(&request);
        let exchange = waggle::relay::protocol::exchange(&request);
        show(&exchange);
        let refusal =
            HttpResponse { status: 403, date: None, body: format!("{{\"error\":\"kanari {general}\"}}").into_bytes() };
        show(&refusal);
        show(&waggle::relay::protocol::outcome(&refusal, &request, &verifier));
        show(&HttpRequest {
            method: Method::Post,
            url: format!("https://{HOST}/query"),
            headers: vec![("Authorization".into(), json.clone())],
            body: exchange.body,
            max_body: 7,
            purpose: Purpose::Head,
        });
    }
    show(&Answer::Document(format!("{{\"name\":\"kanari\",\"self\":\"{}\"}}", person("relay").public()).into_bytes()));
    show(&Answer::Published { accepted: false, message: format!("kanari {general}") });
    let document = format!(
        "{{\"name\":\"kanari\",\"self\":\"{}\",\"read_state_snapshot\":{{\"version\":1,\"community_id\":\"{general}\"}}}}",
        person("relay").public()
    );
    show(&waggle::relay::protocol::RelayInfo::parse(document.as_bytes()));
    show(&waggle::read_state::Descriptor::from_document(document.as_bytes()));
    show(&waggle::relay::protocol::RelayAddress::parse(HOST));
    let blob = format!("{{\"v\":1,\"client_id\":\"kanari\",\"contexts\":{{\"{general}\":5,\"kanari\":6}}}}");
    show(&waggle::read_state::blob::parse(blob.as_bytes()));
    let slot = waggle::ids::SlotId([7; 16]);
    let unsigned = waggle::identity::Unsigned::ReadState { slot, plaintext: blob, nonce: [1; 32], created_at: T0 };
    show(&unsigned);
    show(&my_signer().sign_now(&unsigned, T0));
    show(&waggle::session::Credential::Full(waggle::identity::Secret::from_bytes(person("me").secret()).unwrap()));
    show(&waggle::store::journal::Partition { host: HOST.to_owned(), account: key("me") });
    show(&waggle::journal::Key::parse("kanari"));
    show(&waggle::journal::Key::Channel(general));
}

#[test]
fn nothing_private_is_ever_said() {
    tracing::subscriber::set_global_default(Ears).unwrap();
    tracing::trace!(target: "waggle::canary", count = 77, "listening");
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        say(&format!("panic {info}"));
        before(info);
    }));
    run(async {
        let mut world = World::new().await;
        live_a_life(&mut world).await;
        show_everything(&mut world).await;
        let session = world.session.clone();
        heard(world.finish(session.close()).await);
        let said = SAID.lock().unwrap_or_else(PoisonError::into_inner).to_lowercase();
        assert!(said.contains("count=77"), "every level is heard");
        assert!(said.len() > 10_000, "{} bytes", said.len());
        for canary in canaries(&world) {
            if let Some(at) = said.find(&canary.to_lowercase()) {
                let line = said[..at].rfind('\n').map_or(0, |i| i + 1);
                panic!("{canary} was said: {}", said[line..].chars().take(400).collect::<String>());
            }
        }
    });
}
