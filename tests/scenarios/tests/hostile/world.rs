//! One reader on an embedded relay in virtual time, with a fixed community behind it, and everything that can be seen of it as one value.
//!
//! | where | what there is |
//! | --- | --- |
//! | `general` | 45 messages `m0`…`m44` by ada; `root` by the viewer with replies by bo and ada; `call` by bo, who mentions the viewer |
//! | `pulse` | where ada says something after every row, to see that the session lives |
//! | `chat` | a direct conversation with ada |
//! | `secret` | ada's and bo's; the viewer is no member |

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use waggle::error::Error;
use waggle::identity::{LocalSigner, MemorySecrets, Secret, Signer};
use waggle::ids::{ChannelId, EventId, PublicKey, Target};
use waggle::journal::{Fresh, Record};
use waggle::model::{Receipt, SidebarState, ThreadActivity, TimelineState, UnreadSnapshot};
use waggle::session::{Blocking, Config, Mode, Session, Timeline, TimelineOptions, Waggle};
use waggle::store::journal::{JournalStore as _, NoHooks, Partition, SqliteJournal};
use waggle_scenarios::clock::{Time, VirtualClock, rest, settled};
use waggle_scenarios::device::Link;
use waggle_scenarios::names::{Person, channel_id, sha256};
use waggle_scenarios::trace::Trace;
use waggle_scenarios::transport::InProcess;
use waggle_test_relay::admin::{Bring, NewChannel};
use waggle_test_relay::{Event, Relay, RelayConfig, Settings};

use crate::tamper::Tamper;

pub(crate) const T0: u64 = 1_751_500_000;
pub(crate) const HOST: &str = "kanari.test";
/// Rows of a page, so that there are older ones.
const PAGE: u32 = 20;

/// Runs a test in virtual time.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    let local = tokio::task::LocalSet::new();
    let result = local.block_on(&runtime, test);
    drop(local);
    runtime.shutdown_background();
    result
}

pub(crate) fn person(name: &str) -> Person {
    Person::named(name).unwrap()
}

pub(crate) fn key(name: &str) -> PublicKey {
    PublicKey::parse(&person(name).public()).unwrap()
}

pub(crate) fn channel(name: &str) -> ChannelId {
    ChannelId::parse(&channel_id(name)).unwrap()
}

pub(crate) fn tags(list: &[&[&str]]) -> Vec<Vec<String>> {
    list.iter().map(|tag| tag.iter().map(|t| (*t).to_owned()).collect()).collect()
}

/// A signed event as JSON.
pub(crate) fn signed(by: &str, at: u64, kind: u16, tag: &[&[&str]], content: &str) -> String {
    person(by).sign(at, kind, tags(tag), content, None).json
}

/// The id in an event's JSON.
pub(crate) fn id_of(json: &str) -> EventId {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    EventId::parse(value["id"].as_str().unwrap()).unwrap()
}

/// Observed, attention and latest of one target.
pub(crate) type Counts = (Option<u32>, Option<u32>, Option<EventId>);

/// Everything a reader sees or keeps, without what only says how fresh it is.
#[derive(Clone, PartialEq)]
pub(crate) struct Facts {
    pub(crate) counts: BTreeMap<&'static str, Counts>,
    pub(crate) manual: BTreeMap<&'static str, waggle::model::Manual>,
    pub(crate) activity: ThreadActivity,
    pub(crate) sidebar: Vec<String>,
    pub(crate) rows: Vec<(EventId, String, u32, usize)>,
    pub(crate) replies: Vec<(EventId, String)>,
    pub(crate) more: waggle::model::More,
    pub(crate) following: bool,
    pub(crate) marks: Vec<(String, Option<u32>)>,
    pub(crate) local: Vec<u64>,
    pub(crate) choices: Vec<bool>,
    pub(crate) slots: usize,
    pub(crate) overrides: usize,
    /// Read-state coordinates of the viewer at the relay.
    pub(crate) published: usize,
}

impl Facts {
    /// What differs, in words.
    pub(crate) fn differences(&self, other: &Self) -> String {
        let mut found = Vec::new();
        let mut look = |name: &str, same: bool| {
            if !same {
                found.push(name.to_owned());
            }
        };
        look("counts", self.counts == other.counts);
        look("manual marks", self.manual == other.manual);
        look("thread activity", self.activity == other.activity);
        look("sidebar", self.sidebar == other.sidebar);
        look("rows", self.rows == other.rows);
        look("replies", self.replies == other.replies);
        look("more", self.more == other.more);
        look("following", self.following == other.following);
        look("marks", self.marks == other.marks);
        look("local marks", self.local == other.local);
        look("choices", self.choices == other.choices);
        look("slots", self.slots == other.slots);
        look("overrides", self.overrides == other.overrides);
        look("published", self.published == other.published);
        found.join(", ")
    }
}

pub(crate) struct World {
    pub(crate) relay: Relay,
    pub(crate) time: Arc<Time>,
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) tamper: Arc<Tamper>,
    pub(crate) session: Session,
    pub(crate) timeline: Option<Timeline>,
    pub(crate) thread: Option<Timeline>,
    pub(crate) ids: BTreeMap<String, EventId>,
    pulses: u32,
    _storage: tempfile::TempDir,
}

impl World {
    /// The community, and a reader who has opened `general` and the thread, read a little, chosen a follow and marked a message.
    pub(crate) async fn new() -> Self {
        let mut world = Self::cold(None).await;
        world.session.start().await.unwrap();
        world.settle().await;
        world.look_around().await;
        world
    }

    /// The same before the session starts, with a signer of the test's own if given.
    pub(crate) async fn cold(signer: Option<Arc<dyn Signer>>) -> Self {
        Self::in_mode(Mode::App, signer).await
    }

    /// The same in a process of this sort.
    pub(crate) async fn in_mode(mode: Mode, signer: Option<Arc<dyn Signer>>) -> Self {
        let time = Time::starting_at(T0);
        let mut config = RelayConfig::new(time.clone());
        HOST.clone_into(&mut config.host);
        config.secret_key = sha256("waggle/person/relay");
        config.settings = Settings { max_rows: 500, ..Settings::default() };
        let relay = Relay::open(config).unwrap();
        let ids = populate(&relay);
        let storage = tempfile::tempdir().unwrap();
        let link = Link::new(relay.clone(), "reader", Trace::default());
        let tamper = Tamper::new(InProcess(link));
        let clock = VirtualClock::new(time.clone());
        let dir = storage.path().join("data");
        let session = session(&dir, &tamper, &clock, mode, signer);
        Self { relay, time, clock, tamper, session, timeline: None, thread: None, ids, pulses: 0, _storage: storage }
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self._storage.path().join("data")
    }

    pub(crate) fn id(&self, name: &str) -> EventId {
        self.ids[name]
    }

    /// A new process over the same files.
    pub(crate) fn reopen(&mut self) {
        self.timeline = None;
        self.thread = None;
        self.session = session(&self.dir(), &self.tamper, &self.clock, Mode::App, None);
    }

    pub(crate) async fn look_around(&mut self) {
        let session = self.session.clone();
        self.finish(session.ensure()).await.unwrap();
        self.open_screens().await;
        let (root, call, general) = (self.id("root"), self.id("call"), channel("general"));
        self.finish(session.follow(general, root, true)).await.unwrap();
        self.finish(session.mark_through(Target::Channel(general), self.id("m20"))).await.unwrap();
        self.finish(session.mark_unread(Target::Message(general, call))).await.unwrap();
        self.finish(session.flush()).await.unwrap();
        self.settle().await;
    }

    pub(crate) async fn open_screens(&mut self) {
        let session = self.session.clone();
        let options = TimelineOptions { limit: Some(PAGE), utc_offset: 0 };
        let timeline = self.finish(session.timeline(channel("general"), options)).await.unwrap();
        let thread = self.finish(session.thread(channel("general"), self.id("root"), options)).await.unwrap();
        (self.timeline, self.thread) = (Some(timeline), Some(thread));
        self.settle().await;
    }

    /// Lets everything that is due happen.
    pub(crate) async fn settle(&mut self) {
        self.advance(10).await;
    }

    /// Lets time run, from deadline to deadline.
    pub(crate) async fn advance(&mut self, ms: u64) {
        rest().await;
        let target = self.time.now_ms() + ms;
        loop {
            let now = self.time.now_ms();
            let stop = self.time.next_deadline().unwrap_or(target).min(now + 1_000).min(target).max(now);
            self.time.move_to(stop);
            self.relay.tick();
            rest().await;
            if stop >= target {
                return;
            }
        }
    }

    /// Carries a call through, giving it as much time as it needs; none needs more than two minutes.
    pub(crate) async fn finish<T>(&mut self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut call = Box::pin(call);
        for _ in 0..240 {
            match settled(call).await {
                Ok(result) => return result,
                Err(unfinished) => call = unfinished,
            }
            self.advance(500).await;
        }
        panic!("the call never came to an end");
    }

    /// As if the relay had pushed this event to whoever listens to `general`.
    pub(crate) fn push(&self, json: &str) {
        let sub = self.tamper.subscription(&channel_id("general")).unwrap();
        assert!(self.tamper.inject(format!("[\"EVENT\",\"{sub}\",{json}]")), "the socket is open");
    }

    /// The record as it stands on the disk.
    pub(crate) fn record(&self) -> Record {
        let partition = Partition { host: HOST.to_owned(), account: key("me") };
        let fresh = Fresh { slot: waggle::ids::SlotId([9; 16]), client_id: "nobody".to_owned() };
        let path = self.dir().join("journal.sqlite");
        let journal = SqliteJournal::open(&path, partition, fresh, Arc::new(NoHooks)).unwrap();
        journal.record().clone()
    }

    async fn snapshot(&mut self, target: Target) -> UnreadSnapshot {
        let session = self.session.clone();
        self.finish(session.snapshot(target)).await.unwrap()
    }

    pub(crate) async fn facts(&mut self) -> Facts {
        let general = channel("general");
        let targets = [
            ("general", Target::Channel(general)),
            ("chat", Target::Channel(channel("chat"))),
            ("secret", Target::Channel(channel("secret"))),
            ("thread", Target::Thread(general, self.id("root"))),
            ("strange thread", Target::Thread(general, self.id("m1"))),
            ("call", Target::Message(general, self.id("call"))),
        ];
        let (mut counts, mut manual) = (BTreeMap::new(), BTreeMap::new());
        for (name, target) in targets {
            let seen = self.snapshot(target).await;
            counts.insert(name, (seen.observed, seen.attention, seen.latest));
            manual.insert(name, seen.manual);
        }
        let session = self.session.clone();
        let activity = self.finish(session.activity(general)).await.unwrap();
        let following = self.finish(session.following(general, self.id("root"))).await.unwrap_or(true);
        let state = |t: &Option<Timeline>| t.as_ref().map(Timeline::state);
        let (timeline, thread) = (state(&self.timeline), state(&self.thread));
        let record = self.record();
        let slots = self.relay.admin().read_state(&person("me").public()).unwrap();
        Facts {
            counts,
            manual,
            activity,
            sidebar: rows_of(&session.sidebar().current().value),
            rows: timeline.as_deref().map(drawn).unwrap_or_default(),
            replies: thread
                .as_deref()
                .map(|t| t.rows.iter().map(|r| (r.id, r.text.clone())).collect())
                .unwrap_or_default(),
            more: timeline.map_or(waggle::model::More::Unknown, |t| t.more),
            following,
            marks: record.rows().map(|(k, row)| (k.to_string(), row.frontier())).collect(),
            local: record.local_marks().map(|(_, revision)| revision).collect(),
            choices: record.follows().iter().map(|(_, choice)| choice).collect(),
            slots: record.slots().len(),
            overrides: record.overrides().len(),
            published: slots.len(),
        }
    }

    /// Ada says something in `pulse`, and the reader hears it.
    pub(crate) async fn is_alive(&mut self) -> bool {
        self.speak();
        for wait in [10, 1_000, 5_000, 30_000, 120_000] {
            if self.hears_ada(wait).await {
                return true;
            }
        }
        false
    }

    fn speak(&mut self) {
        self.pulses += 1;
        let (at, text) = (self.time.unix(), format!("pulse {}", self.pulses));
        let json = signed("ada", at, 9, &[&["h", &channel_id("pulse")]], &text);
        let event = Event::parse(&json).unwrap();
        self.relay.admin().accept(event, &Bring::default()).unwrap().unwrap();
    }

    /// Whether what ada said is heard after so many milliseconds; the first time, she says something.
    pub(crate) async fn hears_ada(&mut self, ms: u64) -> bool {
        if self.pulses == 0 {
            self.speak();
        }
        self.advance(ms).await;
        self.snapshot(Target::Channel(channel("pulse"))).await.observed == Some(self.pulses)
    }

    /// Carries a call through by going from deadline to deadline, and no further.
    pub(crate) async fn step_by_step<T>(&mut self, call: impl Future<Output = T>) -> T {
        let mut call = Box::pin(call);
        for _ in 0..10_000 {
            tokio::select! {
                biased;
                result = &mut call => return result,
                () = rest() => {}
            }
            let next = self.time.next_deadline().unwrap_or(self.time.now_ms() + 1);
            self.time.move_to(next);
        }
        panic!("the call never came to an end");
    }

    /// A mark that will be published.
    pub(crate) async fn read_more(&mut self, through: &str) -> Result<Receipt, Error> {
        let session = self.session.clone();
        let id = self.id(through);
        self.finish(session.mark_through(Target::Channel(channel("general")), id)).await
    }
}

fn rows_of(state: &SidebarState) -> Vec<String> {
    let named = |r: &&Arc<waggle::model::SidebarRow>| r.channel != channel("pulse");
    let line = |r: &Arc<waggle::model::SidebarRow>| {
        format!("{} {} {} {} {} {:?} {:?}", r.channel, r.name, r.strong, r.dot, r.muted, r.observed, r.attention)
    };
    let mut rows: Vec<String> = state.rows.iter().filter(named).map(line).collect();
    rows.sort();
    rows
}

fn drawn(state: &TimelineState) -> Vec<(EventId, String, u32, usize)> {
    state.rows.iter().map(|r| (r.id, r.text.clone(), r.replies, r.reactions.len())).collect()
}

fn session(
    dir: &std::path::Path,
    tamper: &Arc<Tamper>,
    clock: &Arc<VirtualClock>,
    mode: Mode,
    signer: Option<Arc<dyn Signer>>,
) -> Session {
    let mut config = Config::new(dir.to_owned(), Arc::new(MemorySecrets::new()), tamper.clone());
    config.clock = clock.clone();
    config.seed = Some(7);
    config.blocking = Blocking::Inline;
    config.mode = mode;
    let client = Waggle::open(config).unwrap();
    client.sign_in_with(signer.unwrap_or_else(|| Arc::new(my_signer())));
    client.session(&format!("https://{HOST}")).unwrap()
}

pub(crate) fn my_signer() -> LocalSigner {
    LocalSigner::new(&Secret::from_bytes(person("me").secret()).unwrap()).unwrap()
}

fn populate(relay: &Relay) -> BTreeMap<String, EventId> {
    let [me, ada, bo] = ["me", "ada", "bo"].map(|n| person(n).public());
    relay.admin().add_people(&[(&me, "member"), (&ada, "member"), (&bo, "member")]).unwrap();
    let new = |name: &str, kind: &str, members: &[&str]| NewChannel {
        kind: kind.to_owned(),
        created_at: Some(T0 - 86_400),
        ..NewChannel::stream(channel_id(name), format!("kanari-{name}"), members)
    };
    let channels = vec![
        new("general", "stream", &[&me, &ada, &bo]),
        new("pulse", "stream", &[&me, &ada]),
        new("chat", "dm", &[&me, &ada]),
        new("secret", "stream", &[&ada, &bo]),
    ];
    relay.admin().create_channels(channels).unwrap();
    let (general, chat, secret) = (channel_id("general"), channel_id("chat"), channel_id("secret"));
    let mut ids = BTreeMap::new();
    let mut history = Vec::new();
    let mut add = |name: &str, json: String| {
        ids.insert(name.to_owned(), id_of(&json));
        history.push(Event::parse(&json).unwrap());
        id_of(&json).to_hex()
    };
    for i in 0..45u64 {
        let name = format!("m{i}");
        add(&name, signed("ada", T0 - 10_000 + 100 * i, 9, &[&["h", &general]], &format!("kanari {name}")));
    }
    let root = add("root", signed("me", T0 - 500, 9, &[&["h", &general]], "kanari root"));
    let reply = |by: &str, at, text: &str| {
        signed(by, at, 9, &[&["h", &general], &["e", &root, "", "reply"]], &format!("kanari {text}"))
    };
    add("reply1", reply("bo", T0 - 400, "reply1"));
    add("reply2", reply("ada", T0 - 300, "reply2"));
    add("ada's profile", signed("ada", T0 - 50_000, 0, &[], "{\"name\":\"Kanari Ada\"}"));
    add("call", signed("bo", T0 - 200, 9, &[&["h", &general], &["p", &me]], "kanari call"));
    add("hello", signed("ada", T0 - 150, 9, &[&["h", &chat]], "kanari hello"));
    add("s1", signed("bo", T0 - 100, 9, &[&["h", &secret]], "kanari s1"));
    relay.admin().accept_all(history, &Bring { quiet: true, history: true, channel: None }).unwrap().unwrap();
    ids
}
