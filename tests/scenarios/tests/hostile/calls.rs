//! Bad arguments: targets, messages, sizes, viewports, addresses, keys, and clocks that are wrong.

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use waggle::error::Error;
use waggle::identity::Secret;
use waggle::ids::{ChannelId, EventId, PublicKey, SlotId, Target};
use waggle::journal::Key;
use waggle::model::{PresentationClass, Viewport};
use waggle::relay::protocol::RelayAddress;
use waggle::session::{Session, TimelineOptions};

use crate::table::{none, unchanged};
use crate::world::{World, channel, run};

/// What a row may name.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    pub(crate) general: ChannelId,
    pub(crate) secret: ChannelId,
    pub(crate) nowhere: ChannelId,
    pub(crate) root: EventId,
    pub(crate) reply: EventId,
    pub(crate) message: EventId,
    /// A message of the channel the reader is no member of.
    pub(crate) hidden: EventId,
    pub(crate) unknown: EventId,
}

impl Names {
    pub(crate) fn of(world: &World) -> Self {
        Self {
            general: channel("general"),
            secret: channel("secret"),
            nowhere: channel("nowhere"),
            root: world.id("root"),
            reply: world.id("reply1"),
            message: world.id("m44"),
            hidden: world.id("s1"),
            unknown: EventId([0xee; 32]),
        }
    }
}

type Asked = LocalBoxFuture<'static, Result<(), Error>>;

pub(crate) struct Call {
    pub(crate) rule: &'static str,
    pub(crate) what: &'static str,
    pub(crate) call: fn(Session, Names) -> Asked,
    /// The error's code; none where the call must succeed and change nothing.
    pub(crate) fails: Option<&'static str>,
}

const fn fails(code: &'static str, rule: &'static str, what: &'static str, call: fn(Session, Names) -> Asked) -> Call {
    Call { rule, what, call, fails: Some(code) }
}

const fn ignored(rule: &'static str, what: &'static str, call: fn(Session, Names) -> Asked) -> Call {
    Call { rule, what, call, fails: None }
}

fn through(session: Session, target: Target, message: EventId) -> Asked {
    async move { session.mark_through(target, message).await.map(drop) }.boxed_local()
}

fn unread(session: Session, target: Target) -> Asked {
    async move { session.mark_unread(target).await.map(drop) }.boxed_local()
}

fn open(session: Session, channel: ChannelId, root: Option<EventId>, limit: u32, utc_offset: i32) -> Asked {
    let options = TimelineOptions { limit: Some(limit), utc_offset };
    async move {
        let timeline = match root {
            Some(root) => session.thread(channel, root, options).await?,
            None => session.timeline(channel, options).await?,
        };
        timeline.close().await
    }
    .boxed_local()
}

/// A report on a new surface, long enough ago to be read if it counted.
fn report(session: Session, channel: ChannelId, root: Option<EventId>, viewport: Viewport) -> Asked {
    async move {
        let surface = session.surface(channel, root).await?;
        surface.report(viewport);
        // Kept for as long as the row lasts: a closed surface reads nothing.
        std::mem::forget(surface);
        Ok(())
    }
    .boxed_local()
}

fn seen(visible: Vec<EventId>, bottom: Option<EventId>) -> Viewport {
    Viewport { active: true, settled: true, visible, bottom }
}

pub(crate) const CALLS: &[Call] = &[
    fails("denied", "R16b", "read through in an unknown channel", |s, n| {
        through(s, Target::Channel(n.nowhere), n.message)
    }),
    fails("denied", "R16b", "read through in a channel of others", |s, n| {
        through(s, Target::Channel(n.secret), n.hidden)
    }),
    fails("not_found", "R16b", "read through an unknown message", |s, n| {
        through(s, Target::Channel(n.general), n.unknown)
    }),
    fails("not_found", "R16b", "read through a message of others", |s, n| {
        through(s, Target::Channel(n.general), n.hidden)
    }),
    fails("invalid_target", "R16", "read a channel through a reply", |s, n| {
        through(s, Target::Channel(n.general), n.reply)
    }),
    fails("invalid_target", "unread 7.3", "read a thread through a message outside it", |s, n| {
        through(s, Target::Thread(n.general, n.root), n.message)
    }),
    fails("invalid_target", "R16b", "read a message through another one", |s, n| {
        through(s, Target::Message(n.general, n.message), n.root)
    }),
    fails("denied", "R16b", "mark an unknown channel unread", |s, n| unread(s, Target::Channel(n.nowhere))),
    fails("denied", "R16b", "mark a channel of others unread", |s, n| unread(s, Target::Channel(n.secret))),
    fails("denied", "R16b", "mark a message of others unread", |s, n| unread(s, Target::Message(n.secret, n.hidden))),
    fails("not_found", "R16b", "mark an unknown message unread", |s, n| {
        unread(s, Target::Message(n.general, n.unknown))
    }),
    fails("not_found", "R16b", "mark an unknown thread unread", |s, n| unread(s, Target::Thread(n.general, n.unknown))),
    fails("denied", "R16b", "clear a channel of others", |s, n| {
        async move { s.clear_unread(Target::Channel(n.secret)).await.map(drop) }.boxed_local()
    }),
    fails("denied", "R16b", "mark an unknown channel read", |s, n| {
        async move { s.mark_channel_read(n.nowhere).await.map(drop) }.boxed_local()
    }),
    fails("denied", "R16b", "mark a channel of others read", |s, n| {
        async move { s.mark_channel_read(n.secret).await.map(drop) }.boxed_local()
    }),
    fails("denied", "unread 10.14", "follow in a channel of others", |s, n| {
        async move { s.follow(n.secret, n.hidden, true).await }.boxed_local()
    }),
    fails("denied", "unread 10.14", "ask whether one follows in an unknown channel", |s, n| {
        async move { s.following(n.nowhere, n.root).await.map(drop) }.boxed_local()
    }),
    fails("denied", "R16b", "mute an unknown channel", |s, n| {
        async move { s.mute(n.nowhere, true).await }.boxed_local()
    }),
    fails("denied", "R16b", "present an unknown channel", |s, n| {
        async move { s.present_as(n.nowhere, PresentationClass::Solo).await }.boxed_local()
    }),
    fails("denied", "R16b", "open an unknown channel", |s, n| open(s, n.nowhere, None, 20, 0)),
    fails("denied", "R16b", "open a channel of others", |s, n| open(s, n.secret, None, 20, 0)),
    fails("denied", "R16b", "open a thread of others", |s, n| open(s, n.secret, Some(n.hidden), 20, 0)),
    ignored("protocol 1.2", "a page of no rows", |s, n| open(s, n.general, None, 0, 0)),
    ignored("protocol 1.2", "a page of 201 rows", |s, n| open(s, n.general, None, 201, 0)),
    ignored("protocol 1.2", "a page of all rows", |s, n| open(s, n.general, None, u32::MAX, 0)),
    ignored("protocol 1.8", "a thread page of 501 rows", |s, n| open(s, n.general, Some(n.root), 501, 0)),
    ignored("architecture", "a day that begins 68 years later", |s, n| open(s, n.general, None, 20, i32::MAX)),
    ignored("architecture", "a day that began 68 years ago", |s, n| open(s, n.general, None, 20, i32::MIN)),
    ignored("R16b", "a snapshot of an unknown channel", |s, n| {
        async move {
            let seen = s.snapshot(Target::Channel(n.nowhere)).await?;
            assert_eq!((seen.observed, seen.attention, seen.latest), (None, None, None));
            Ok(())
        }
        .boxed_local()
    }),
    ignored("R16b", "the activity of a channel of others", |s, n| {
        async move {
            assert_eq!(s.activity(n.secret).await?.items, None);
            Ok(())
        }
        .boxed_local()
    }),
    ignored("R14a", "an empty report", |s, n| report(s, n.general, None, seen(vec![], None))),
    ignored("unread 6.17", "a report of unknown rows", |s, n| {
        report(s, n.general, None, seen(vec![n.unknown; 3], None))
    }),
    ignored("unread 13.9", "a report of rows of another channel", |s, n| {
        report(s, n.general, None, seen(vec![n.hidden], None))
    }),
    ignored("unread 13.9", "an unknown bottom", |s, n| report(s, n.general, None, seen(vec![], Some(n.unknown)))),
    ignored("R16b", "a bottom of another channel", |s, n| report(s, n.general, None, seen(vec![], Some(n.hidden)))),
    ignored("R14a", "200,000 rows, the first 128 of them unknown", |s, n| {
        report(s, n.general, None, seen([vec![n.unknown; 200_000], vec![n.message]].concat(), None))
    }),
    ignored("unread 11.3", "an inactive report", |s, n| {
        report(s, n.general, None, Viewport { active: false, ..seen(vec![n.message], Some(n.message)) })
    }),
    ignored("unread 11.3", "an unsettled report", |s, n| {
        report(s, n.general, None, Viewport { settled: false, ..seen(vec![n.message], Some(n.message)) })
    }),
    ignored("unread 6.5", "a bottom that is not the newest", |s, n| {
        report(s, n.general, None, seen(vec![], Some(n.root)))
    }),
    ignored("unread 6.5", "a thread's bottom that is not the newest", |s, n| {
        report(s, n.general, Some(n.root), seen(vec![], Some(n.reply)))
    }),
];

#[test]
fn bad_calls_fail_and_change_nothing() {
    run(async {
        let mut world = World::new().await;
        let mut faults = Vec::new();
        let names = Names::of(&world);
        let before = world.facts().await;
        for row in CALLS {
            let name = format!("{} ({})", row.what, row.rule);
            let call = (row.call)(world.session.clone(), names);
            let got = world.finish(call).await.map_err(|e| e.code());
            if got.err() != row.fails {
                faults.push(format!("{name}: {got:?} instead of {:?}", row.fails));
            }
            world.advance(1_000).await;
            unchanged(&mut world, &before, &name, &mut faults).await;
        }
        none(faults);
        // A row that was really seen is read: the reports above could have been.
        let session = world.session.clone();
        world.finish(report(session, names.general, None, seen(vec![names.message], None))).await.unwrap();
        world.advance(1_000).await;
        assert_ne!(world.facts().await.marks, before.marks);
    });
}

/// `unread.md` 3.1: surfaces are bounded, and one that goes makes room.
#[test]
fn the_65th_surface_is_refused() {
    run(async {
        let mut world = World::new().await;
        let before = world.facts().await;
        let session = world.session.clone();
        let mut open = Vec::new();
        for _ in 0..waggle::limits::SURFACES {
            open.push(world.finish(session.surface(channel("general"), None)).await.unwrap());
        }
        let one_more = world.finish(session.surface(channel("general"), None)).await;
        assert_eq!(one_more.err().map(|e| e.code()), Some("capacity"));
        open.pop();
        world.settle().await;
        world.finish(session.surface(channel("general"), None)).await.unwrap();
        let mut faults = Vec::new();
        unchanged(&mut world, &before, "surfaces", &mut faults).await;
        none(faults);
    });
}

pub(crate) struct Text {
    what: &'static str,
    parse: fn() -> bool,
}

const fn text(what: &'static str, parse: fn() -> bool) -> Text {
    Text { what, parse }
}

fn address(text: &str) -> bool {
    matches!(RelayAddress::parse(text), Err(Error::InvalidArgument { what: "relay address" }))
}

fn secret(text: &str) -> bool {
    matches!(Secret::parse(text), Err(Error::InvalidArgument { what: "secret key" }))
}

/// Texts that are refused with their typed error, and a word about what they should have been, never about what they are.
pub(crate) const TEXTS: &[Text] = &[
    text("an empty address", || address("")),
    text("spaces for an address", || address("  ")),
    text("an address of another scheme", || address("ftp://relay.test")),
    text("an address with a path", || address("wss://relay.test/x")),
    text("an address with a query", || address("wss://relay.test/?x")),
    text("an address with a fragment", || address("wss://relay.test/#x")),
    text("an address with a user", || address("wss://me@relay.test")),
    text("an address with a password", || address("wss://me:x@relay.test")),
    text("an address with a port beyond all ports", || address("wss://relay.test:65536")),
    text("an address without a host", || address("wss://")),
    text("an address of dots", || address("...")),
    text("an address of 300 letters", || address(&"a".repeat(300))),
    text("an address with a line break inside", || address("relay\u{0}.test")),
    text("an empty key", || secret("")),
    text("a key of zeros", || secret(&"0".repeat(64))),
    text("a key beyond the group order", || secret(&"f".repeat(64))),
    text("a key of 63 digits", || secret(&"1".repeat(63))),
    text("a public key for a secret one", || secret("npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg")),
    text("a key with a wrong checksum", || secret("nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe6")),
    text("a channel id in upper case", || ChannelId::parse(&channel("general").to_string().to_uppercase()).is_err()),
    text("a channel id without hyphens", || {
        ChannelId::parse(&channel("general").to_string().replace('-', "")).is_err()
    }),
    text("a channel id in braces", || ChannelId::parse(&format!("{{{}}}", channel("general"))).is_err()),
    text("an event id in upper case", || EventId::parse(&"AB".repeat(32)).is_err()),
    text("an event id of 63 digits", || EventId::parse(&"a".repeat(63)).is_err()),
    text("a public key of 65 digits", || PublicKey::parse(&"a".repeat(65)).is_err()),
    text("a slot of 31 digits", || SlotId::parse(&"a".repeat(31)).is_err()),
    text("an empty frontier key", || Key::parse("").is_err()),
    text("a frontier key of 257 bytes", || Key::parse(&"k".repeat(257)).is_err()),
];

#[test]
fn bad_texts_are_refused_with_their_error() {
    none(TEXTS.iter().filter(|row| !(row.parse)()).map(|row| row.what.to_owned()).collect());
}

/// R25, R12: a device clock that is an hour off hides nothing, reads nothing and publishes all the same.
#[test]
fn a_clock_an_hour_off_changes_nothing() {
    for offset in [3_600, -3_600, 86_400 * 400, -1_751_500_000] {
        run(async {
            let mut world = World::new().await;
            let before = world.facts().await;
            let mut faults = Vec::new();
            world.clock.set_offset(offset);
            world.advance(2_000).await;
            world.relay.admin().drop_sockets(None);
            world.advance(4_000).await;
            unchanged(&mut world, &before, &format!("a clock {offset} s off"), &mut faults).await;
            none(faults);
            world.read_more("m40").await.unwrap();
            let session = world.session.clone();
            world.finish(session.flush()).await.unwrap();
            assert_eq!(
                world.facts().await.counts["general"].0,
                Some(7),
                "four messages, two replies and a call are left"
            );
        });
    }
}
