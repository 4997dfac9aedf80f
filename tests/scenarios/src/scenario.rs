//! A scenario file as it was read: names and refs, nothing resolved yet, all of them known to exist.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::driver::{Capability, Class, Code, Completeness, Coverage, DiskFault, Freshness, Manual, More, SyncState};
use crate::names::Forge;

/// One file.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// What it shows.
    pub title: String,
    /// Unix seconds at which the clocks start.
    pub t0: u64,
    /// Whose devices they are.
    pub viewer: String,
    /// The relay's switches.
    pub relay: RelaySet,
    /// Channels, repeats spelled out.
    pub channels: Vec<ChannelSpec>,
    /// What the relay holds before any device starts, in order.
    pub history: Vec<EventSpec>,
    /// Devices; the first is the default.
    pub devices: Vec<DeviceSpec>,
    /// What happens.
    pub steps: Vec<Step>,
}

/// Switches of the relay; those absent stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RelaySet {
    /// `current` or `august`.
    pub dialect: Option<Dialect>,
    /// Row mode.
    pub thread_replies_in_channel: Option<bool>,
    /// Cap of a window page.
    pub max_page: Option<u32>,
    /// Cap of a plain query.
    pub max_rows: Option<u32>,
    /// Whether windows are understood.
    pub channel_window: Option<bool>,
    /// Whether NIP-11 names the relay's key.
    pub identity: Option<bool>,
}

/// Relay lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "words of the scenario format")]
pub enum Dialect {
    Current,
    August,
}

/// Types of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "words of the scenario format")]
pub enum ChannelKind {
    Stream,
    Dm,
    Forum,
    Workflow,
}

impl ChannelKind {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Dm => "dm",
            Self::Forum => "forum",
            Self::Workflow => "workflow",
        }
    }
}

/// A channel of the relay.
#[derive(Debug, Clone)]
pub struct ChannelSpec {
    /// Name.
    pub name: String,
    /// Type.
    pub kind: ChannelKind,
    /// People in it.
    pub members: Vec<String>,
    /// Those who moderate.
    pub admins: Vec<String>,
    /// Whether non-members may read.
    pub open: bool,
    /// Whether the relay sends its 39000.
    pub metadata: bool,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceSpec {
    /// Name.
    pub name: String,
    /// Whether it can sign.
    pub signs: bool,
}

/// An event, or a series of them.
#[derive(Debug, Clone)]
pub struct EventSpec {
    /// Ref, or prefix of the refs of a series.
    pub name: String,
    /// Length of a series.
    pub repeat: Option<u32>,
    /// Seconds between the events of a series.
    pub step: i64,
    /// Author.
    pub by: String,
    /// Seconds after `t0`.
    pub at: Option<i64>,
    /// Channel.
    pub channel: Option<String>,
    /// What it is.
    pub form: Form,
    /// Content of the forms that have text; the ref by default, so that two events are never one by chance.
    pub text: Option<String>,
    /// Parent.
    pub reply_to: Option<String>,
    /// Broadcast tag.
    pub broadcast: bool,
    /// Mentioned people.
    pub mentions: Vec<String>,
    /// Audience tag.
    pub audience: Option<String>,
    /// Further tags.
    pub tags: Vec<Vec<TagText>>,
    /// Damage.
    pub forge: Option<Forge>,
    /// Past the relay's checks.
    pub unchecked: bool,
    /// Whether the relay holds it.
    pub stored: bool,
}

impl EventSpec {
    /// Refs the event or series defines.
    pub fn refs(&self) -> Vec<String> {
        match self.repeat {
            Some(n) => (1..=n).map(|i| format!("{}{i}", self.name)).collect(),
            None => vec![self.name.clone()],
        }
    }
}

/// What sort of event.
#[derive(Debug, Clone)]
pub enum Form {
    /// A message of this kind.
    Message {
        /// Kind.
        kind: u16,
        /// Workflow output: owner, and whether it mentions them.
        workflow: Option<(String, bool)>,
    },
    /// Kind 40003.
    Edit(String),
    /// Kind 5.
    Delete(Vec<String>),
    /// Kind 9005.
    Moderate(Vec<String>),
    /// Kind 7.
    React(String),
    /// Anything.
    Raw {
        /// Kind.
        kind: u16,
        /// Tags, after those generated.
        tags: Vec<Vec<TagText>>,
        /// Content.
        content: String,
    },
    /// A read-state blob.
    ReadState(ReadStateSpec),
    /// The mutes preference.
    Mutes(BTreeMap<String, bool>),
}

/// Text in a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagText {
    /// As it is.
    Plain(String),
    /// The id of a ref.
    Id(String),
    /// A person's key.
    Key(String),
    /// A channel's id.
    Channel(String),
}

/// A read-state blob of another installation.
#[derive(Debug, Clone)]
pub struct ReadStateSpec {
    /// Installation.
    pub client: String,
    /// Slot.
    pub slot: SlotSpec,
    /// Entries.
    pub contexts: Vec<(KeyRef, RawValue)>,
    /// Overrides: register (`s`, `c`, `b`) and value under a key.
    pub overrides: Vec<(char, KeyRef, RawValue)>,
    /// Version in place of 1.
    pub version: Option<serde_json::Value>,
    /// Plaintext in place of all that.
    pub content: Option<String>,
}

/// Where a blob goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotSpec {
    /// This slot.
    Given(String),
    /// A device's own primary slot.
    OwnOf(String),
}

/// A frontier key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRef {
    /// As the file writes it.
    pub text: String,
    /// What stands before the name, colon included.
    pub prefix: String,
    /// What the rest stands for.
    pub name: KeyName,
}

/// The named part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyName {
    /// A channel.
    Channel(String),
    /// A message.
    Ref(String),
    /// Itself (in blobs only).
    Raw(String),
}

/// A frontier value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// None.
    Null,
    /// A number.
    Number(u64),
    /// A message's time, and seconds to add.
    At(String, i64),
}

/// A value in a blob, where anything may stand.
#[derive(Debug, Clone, PartialEq)]
pub enum RawValue {
    /// A message's time, and seconds to add.
    At(String, i64),
    /// Passed through.
    Raw(serde_json::Value),
}

/// What an unread question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetRef {
    /// A channel.
    Channel(String),
    /// A thread, and the channel where the file names it.
    Thread(String, Option<String>),
    /// A message, likewise.
    Message(String, Option<String>),
}

/// A timeline or surface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceRef {
    /// Channel.
    pub channel: String,
    /// Root of a thread.
    pub root: Option<String>,
}

/// One step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its word.
    pub word: String,
    /// Device.
    pub on: String,
    /// The code the call must fail with.
    pub fails: Option<Code>,
    /// What to do.
    pub action: Action,
}

/// What a step does.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "named as in scenario files")]
pub enum Action {
    Start,
    Stop,
    Kill,
    Restart,
    Backup,
    Restore,
    WipeCache,
    Advance { ms: u64 },
    Clock { offset: i64 },
    Post { event: Box<EventSpec>, quiet: bool },
    Ensure,
    Refresh,
    RetrySync,
    Flush,
    SettleLookups,
    Open { place: PlaceRef, limit: Option<u32> },
    Older { place: PlaceRef },
    Close { place: PlaceRef },
    Show(Show),
    Hide { place: PlaceRef },
    Read(Show),
    MarkThrough { target: TargetRef, message: String },
    MarkChannelRead { channel: String },
    MarkAllRead,
    MarkUnread { target: TargetRef },
    ClearUnread { target: TargetRef },
    Follow { channel: String, root: String, value: bool },
    Mute { channel: String, value: bool },
    PresentAs { channel: String, class: Class },
    Hold,
    Release,
    Network { online: bool },
    Suspend,
    Resume,
    Leave,
    Fault { fault: FaultSpec, times: u32, skip: u32 },
    Grant { person: String, channel: String },
    Revoke { person: String, channel: String },
    SetType { channel: String, kind: ChannelKind },
    Relay(RelaySet),
    Expect(Expect),
}

/// A surface's report.
#[derive(Debug, Clone)]
pub struct Show {
    /// Surface.
    pub place: PlaceRef,
    /// Fully visible rows.
    pub rows: Vec<String>,
    /// Row at the physical bottom.
    pub bottom: Option<String>,
    /// Front-most.
    pub active: bool,
    /// Positioned.
    pub settled: bool,
}

/// Misbehaviour of relay or disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultSpec {
    /// Of the relay's answers to the device.
    Relay(waggle_test_relay::faults::FaultKind),
    /// Of the device's journal saves.
    Disk(DiskFault),
}

/// What must hold.
#[derive(Debug, Clone, Default)]
pub struct Expect {
    /// Milliseconds time may run for it.
    pub within_ms: u64,
    /// All of it.
    pub checks: Vec<Check>,
}

/// One thing that must hold. Absent members are not compared.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "named as in scenario files")]
pub enum Check {
    Unread(UnreadCheck),
    Timeline(TimelineCheck),
    Activity { channel: String, items: Option<Option<Vec<ItemCheck>>> },
    Sidebar(SidebarCheck),
    Following { channel: String, root: String, value: bool },
    Journal(Vec<(KeyRef, Value)>),
    Sync(SyncCheck),
    Relay(RelayCheck),
}

/// Under `unread`.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "named as in scenario files")]
pub struct UnreadCheck {
    pub target: TargetRef,
    pub observed: Option<Option<u32>>,
    pub attention: Option<Option<u32>>,
    pub manual: Option<Manual>,
    pub pending: Option<bool>,
    pub latest: Option<Option<String>>,
    pub coverage: Option<Coverage>,
    pub freshness: Option<Freshness>,
    pub error: Option<bool>,
}

/// Under `timeline` and `thread`.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "named as in scenario files")]
pub struct TimelineCheck {
    pub place: PlaceRef,
    pub rows: Option<Vec<String>>,
    pub count: Option<usize>,
    pub more: Option<More>,
    pub gap: Option<bool>,
    pub first_unread: Option<Option<String>>,
    pub row: Vec<(String, RowCheck)>,
}

/// Under `row`.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "named as in scenario files")]
pub struct RowCheck {
    pub text: Option<String>,
    pub edited: Option<bool>,
    pub replies: Option<u32>,
    pub reactions: Option<BTreeMap<String, u32>>,
    pub thread_dot: Option<bool>,
}

/// Under `activity.items`.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "named as in scenario files")]
pub struct ItemCheck {
    pub root: Option<String>,
    pub latest: Option<String>,
    pub count: Option<u32>,
}

/// Under `sidebar`.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "named as in scenario files")]
pub struct SidebarCheck {
    pub channel: String,
    pub strong: Option<bool>,
    pub dot: Option<bool>,
    pub bell: Option<bool>,
    pub listed: Option<bool>,
    pub counted: Option<bool>,
}

/// Under `sync`.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "named as in scenario files")]
pub struct SyncCheck {
    pub state: Option<SyncState>,
    pub completeness: Option<Completeness>,
    pub pending: Option<bool>,
    pub capability: Option<Capability>,
}

/// Under `relay`.
#[derive(Debug, Clone, Default)]
pub struct RelayCheck {
    /// Greatest published values.
    pub keys: Vec<(KeyRef, Value)>,
    /// Counters by name, in the order of [`COUNTERS`].
    pub counters: Vec<(&'static str, u64)>,
    /// Channels in each evidence request.
    pub evidence_channels: Option<Vec<usize>>,
}

/// Counters under `relay`.
pub const COUNTERS: [&str; 10] =
    ["slots", "publishes", "refused", "head", "older", "thread", "evidence", "lookup", "homes", "snapshot"];
