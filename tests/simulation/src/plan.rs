//! A plan: the world a run begins in and the steps it takes. Plain data, so that it can be printed, shrunk and kept as a case.
//!
//! Messages are named by number and steps name messages, so any step can be taken out: one that refers to something that is not
//! there (any more) does nothing.

use serde::{Deserialize, Serialize};

/// Number of a message within its plan.
pub type MsgId = u32;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What every random choice below the plan (keys, nonces, jitter) is drawn from.
    pub seed: u64,
    /// Where it begins.
    pub world: World,
    /// What happens.
    pub steps: Vec<Step>,
}

/// The world before the first step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct World {
    /// Whether the relay is of the August line (R4).
    pub august: bool,
    /// Most rows of a window page.
    pub max_page: u32,
    /// Channels, by number.
    pub channels: Vec<Kind>,
    /// Devices, by number.
    pub devices: Vec<DeviceSpec>,
    /// Messages that are there already, oldest first.
    pub history: Vec<Post>,
}

/// A channel's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A stream.
    Stream,
    /// Direct messages.
    Dm,
}

/// A device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceSpec {
    /// The device whose files it uses: a second process on the same journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<usize>,
    /// Whether it can publish.
    pub signs: bool,
}

/// Somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The owner of the devices.
    Me,
    /// A peer.
    Ada,
    /// Another one.
    Bo,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// Its number.
    pub id: MsgId,
    /// Who wrote it.
    pub by: Who,
    /// Where.
    pub channel: usize,
    /// What it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MsgId>,
    /// Shown in the channel too.
    #[serde(default, skip_serializing_if = "is_false")]
    pub broadcast: bool,
    /// Names the viewer.
    #[serde(default, skip_serializing_if = "is_false")]
    pub mention: bool,
    /// For agents only.
    #[serde(default, skip_serializing_if = "is_false")]
    pub quiet: bool,
    /// Seconds its time lies before the moment it arrives; negative lies ahead.
    #[serde(default)]
    pub age: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(b: &bool) -> bool {
    !*b
}

/// A target of unread questions and marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aim {
    /// A channel.
    Channel(usize),
    /// A thread by its root.
    Thread(MsgId),
    /// A message.
    Message(MsgId),
}

/// A frontier's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// `<channel>`.
    Channel(usize),
    /// `activity:<channel>`.
    Activity(usize),
    /// `thread:<root>`.
    Thread(MsgId),
    /// `thread-activity:<root>`.
    ThreadActivity(MsgId),
    /// `msg:<id>`.
    Message(MsgId),
}

/// A screen: a channel's, or a thread's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Screen {
    /// The channel.
    pub channel: usize,
    /// The thread's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<MsgId>,
}

/// What a screen shows, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Where.
    pub screen: Screen,
    /// Fully visible rows.
    pub rows: Vec<MsgId>,
    /// The row at the physical bottom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottom: Option<MsgId>,
    /// Front-most.
    pub active: bool,
    /// At rest.
    pub settled: bool,
    /// Milliseconds until the next thing happens.
    pub ms: u64,
    /// Whether the screen goes away then.
    pub hide: bool,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Time passes, milliseconds.
    Advance(u64),
    /// A message arrives at the relay.
    Post(Post),
    /// An author deletes a message of theirs.
    Delete(MsgId),
    /// An author changes its text.
    Edit(MsgId),
    /// Somebody reacts.
    React(MsgId),
    /// Another client of the viewer publishes read state: keys, and seconds from now.
    Peer(Vec<(Mark, i64)>),
    /// The viewer loses a channel.
    Revoke(usize),
    /// The viewer gets it back.
    Grant(usize),
    /// The relay restarts.
    Restart,
    /// A device does something.
    Do(usize, Act),
    /// Something goes wrong for a device.
    Fault(usize, Trouble),
}

/// What a device does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "as in scenario files")]
pub enum Act {
    Start,
    Stop,
    Kill,
    /// Forgets the community on this device.
    Leave,
    Suspend,
    Resume,
    Ensure,
    Refresh,
    RetrySync,
    Flush,
    Open(Screen, u32),
    Older(Screen),
    Close(Screen),
    Show(View),
    Hide(Screen),
    MarkThrough(Aim, MsgId),
    MarkChannelRead(usize),
    MarkAllRead,
    MarkUnread(Aim),
    ClearUnread(Aim),
    Follow(MsgId, bool),
    /// Deletes the message cache of a stopped device.
    WipeCache,
    /// Copies a stopped device's journal aside.
    Backup,
    /// Puts that copy back.
    Restore,
    /// Takes over another stopped device's journal, as a backup restored on a second device does.
    CloneFrom(usize),
    /// The next saves wait …
    Hold,
    /// … until now.
    Release,
}

/// What goes wrong for a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// The line is cut.
    Offline,
    /// The line is back.
    Online,
    /// The relay drops the device's sockets.
    Disconnect,
    /// The wall clock is off by so many seconds.
    Clock(i64),
    /// The disk fails at an effect, after letting `skip` of them pass.
    Disk {
        /// Which effect.
        at: DiskEffect,
        /// Full, or broken.
        full: bool,
        /// Passing first.
        skip: u32,
        /// How many fail.
        times: u32,
    },
    /// The process dies at the n-th effect of its journal from now, and is started again.
    KillAtEffect(u32),
    /// Answers or frames go wrong on the way, after `skip` of them.
    Line {
        /// How.
        fault: LineFault,
        /// Passing first.
        skip: u32,
        /// How many.
        times: u32,
    },
    /// The relay misbehaves towards the device, by the name of a fault of the test relay.
    Relay {
        /// Its name.
        fault: String,
        /// Passing first.
        skip: u32,
        /// How many.
        times: u32,
    },
}

/// Effects of the journal at which a disk can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "as `waggle::store::journal::Effect`")]
pub enum DiskEffect {
    Begin,
    Save,
    Row,
    Commit,
}

/// What a line, or a relay that lies within what signatures allow, does to traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineFault {
    /// A request never arrives.
    LoseRequest,
    /// The relay works on it, the answer is lost.
    LoseAnswer,
    /// The answer takes seconds.
    SlowAnswer,
    /// A pushed event is not delivered.
    WithholdEvent,
    /// It is delivered twice.
    DoubleEvent,
    /// It takes up to a second, so that later ones overtake it.
    LateEvent,
    /// Everything pushed before is pushed again.
    ReplayEvents,
    /// An evidence answer lacks every second message.
    OmitRows,
    /// A read-state answer is an older one, byte for byte.
    StaleReadState,
    /// A publication is answered as accepted and thrown away.
    SwallowPublish,
}

impl LineFault {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::LoseRequest,
        Self::LoseAnswer,
        Self::SlowAnswer,
        Self::WithholdEvent,
        Self::DoubleEvent,
        Self::LateEvent,
        Self::ReplayEvents,
        Self::OmitRows,
        Self::StaleReadState,
        Self::SwallowPublish,
    ];
}
