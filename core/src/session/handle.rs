//! The public handles: [`Session`] and [`Timeline`]. They hold no state of their own; every call goes to the session's task.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::command::{Command, StandingViews};
use super::guard::TaskGuard;
use super::surface::ReadingSurface;
use super::view::View;
use crate::engine::{Call, Reply};
use crate::error::Error;
use crate::ids::{ChannelId, EventId, PublicKey, Target};
use crate::journal::Key;
use crate::model::{
    Connectivity, PresentationClass, Receipt, SidebarState, SyncStatus, ThreadActivity, TimelineState, UnreadSnapshot,
};
use crate::window::TimelineKey;

/// The way into a session's task. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Sender {
    calls: mpsc::Sender<Command>,
    /// Never-blocking notices (surfaces); the task always drains it.
    posts: mpsc::UnboundedSender<Command>,
    /// The task lives as long as somebody can ask it.
    guard: Arc<TaskGuard>,
}

impl Sender {
    pub(crate) fn new(
        calls: mpsc::Sender<Command>,
        posts: mpsc::UnboundedSender<Command>,
        guard: Arc<TaskGuard>,
    ) -> Self {
        Self { calls, posts, guard }
    }

    /// Sends without waiting; nothing happens when the session is closed.
    ///
    /// The queue needs no bound of its own: an open surface has at most one notice waiting (its mailbox holds the rest), and surfaces
    /// and timelines are bounded and post once when they go.
    pub(crate) fn post(&self, command: Command) {
        let _ = self.posts.send(command);
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Command) -> Result<T, Error> {
        let (answer, answered) = oneshot::channel();
        self.calls.send(command(answer)).await.map_err(|_| Error::Closed)?;
        answered.await.map_err(|_| Error::Closed)?
    }

    pub(crate) async fn call(&self, call: Call) -> Result<Reply, Error> {
        self.ask(|answer| Command::Call(call, answer)).await
    }
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sender(…)")
    }
}

/// One account in one community. Clones are handles on the same session. It ends with [`Session::close`]; when all handles, timelines and
/// surfaces are dropped it ends too, without a last publication, as if the process had been killed.
///
/// Every call may be made from any task or thread. A cancelled call is carried out all the same.
#[derive(Clone)]
pub struct Session {
    pub(crate) sender: Sender,
    pub(crate) account: PublicKey,
    pub(crate) views: StandingViews,
}

fn done(reply: Reply) -> Result<(), Error> {
    match reply {
        Reply::Done | Reply::Saved(_) | Reply::Swept(_) => Ok(()),
        Reply::Flag(_) | Reply::Unread(_) | Reply::Activity(_) => Err(Error::Closed),
    }
}

impl Session {
    /// The account the session belongs to.
    pub fn account(&self) -> PublicKey {
        self.account
    }

    /// Makes the session *locally ready*: what this device holds can be read when this returns, whatever the network does. Connecting
    /// begins and goes on by itself. Fails with `storage` when the journal cannot be opened; nothing is changed then.
    pub async fn start(&self) -> Result<(), Error> {
        self.sender.ask(Command::Start).await.and_then(done)
    }

    /// First bounded observation of markers and evidence. Concurrent calls share it; after a failure it fails at once with the standing
    /// error until [`Session::refresh`] or a reconnect (R8c).
    pub async fn ensure(&self) -> Result<(), Error> {
        self.sender.call(Call::Ensure).await.and_then(done)
    }

    /// Loads markers and then all evidence again, in full.
    pub async fn refresh(&self) -> Result<(), Error> {
        self.sender.call(Call::Refresh).await.and_then(done)
    }

    /// Loads markers again, then publishes what is unpublished. Fails with the outcome (R25a).
    pub async fn retry_sync(&self) -> Result<(), Error> {
        self.sender.call(Call::RetrySync).await.and_then(done)
    }

    /// Publishes what is unpublished now. Fails with the outcome (R25a).
    pub async fn flush(&self) -> Result<(), Error> {
        self.sender.call(Call::Flush).await.and_then(done)
    }

    /// Completes when no conversation look-up is queued, running or waiting to be tried again.
    pub async fn settle_lookups(&self) -> Result<(), Error> {
        self.sender.call(Call::SettleLookups).await.and_then(done)
    }

    /// Opens a channel's timeline: with its first page, or at once with what is held while offline.
    pub async fn timeline(&self, channel: ChannelId, options: TimelineOptions) -> Result<Timeline, Error> {
        self.open(TimelineKey { channel, root: None }, options).await
    }

    /// Opens a thread's timeline by its root.
    pub async fn thread(&self, channel: ChannelId, root: EventId, options: TimelineOptions) -> Result<Timeline, Error> {
        self.open(TimelineKey { channel, root: Some(root) }, options).await
    }

    async fn open(&self, key: TimelineKey, options: TimelineOptions) -> Result<Timeline, Error> {
        let call = Call::Open { key, limit: options.limit, utc_offset: options.utc_offset };
        self.sender.call(call).await.and_then(done)?;
        let view = self.sender.ask(|answer| Command::ViewTimeline(key, answer)).await?;
        Ok(Timeline { key, view, sender: self.sender.clone(), open: AtomicBool::new(true) })
    }

    /// The sidebar.
    pub fn sidebar(&self) -> View<SidebarState> {
        self.views.sidebar.clone()
    }

    /// Read-state synchronisation.
    pub fn sync(&self) -> View<SyncStatus> {
        self.views.sync.clone()
    }

    /// What the session is doing, in words a person can be shown.
    pub fn connectivity(&self) -> View<Connectivity> {
        self.views.connectivity.clone()
    }

    /// A view of what is unread about a target. Fails with `capacity` when [`crate::limits::SELECTORS`] are in use.
    pub async fn unread(&self, target: Target) -> Result<View<UnreadSnapshot>, Error> {
        self.sender.ask(|answer| Command::ViewUnread(target, answer)).await
    }

    /// What is unread about a target now. Never fails for want of knowledge: what cannot be known is `None` (R8c).
    pub async fn snapshot(&self, target: Target) -> Result<UnreadSnapshot, Error> {
        match self.sender.call(Call::Snapshot(target)).await? {
            Reply::Unread(snapshot) => Ok(*snapshot),
            _ => Err(Error::Closed),
        }
    }

    /// A view of a channel's threads with unread replies.
    pub async fn thread_activity(&self, channel: ChannelId) -> Result<View<ThreadActivity>, Error> {
        self.sender.ask(|answer| Command::ViewActivity(channel, answer)).await
    }

    /// A channel's threads with unread replies now.
    pub async fn activity(&self, channel: ChannelId) -> Result<ThreadActivity, Error> {
        match self.sender.call(Call::ThreadActivity(channel)).await? {
            Reply::Activity(activity) => Ok(*activity),
            _ => Err(Error::Closed),
        }
    }

    /// Opens a reading surface for a channel's timeline, or for a thread's.
    pub async fn surface(&self, channel: ChannelId, root: Option<EventId>) -> Result<ReadingSurface, Error> {
        let id = self.sender.ask(|answer| Command::OpenSurface(channel, root, answer)).await?;
        Ok(ReadingSurface::new(id, self.sender.clone()))
    }

    /// Reads a target through one of its messages, unloaded earlier ones included. Not for viewport observation: use a surface.
    pub async fn mark_through(&self, target: Target, message: EventId) -> Result<Receipt, Error> {
        self.save(Call::MarkThrough(target, message)).await
    }

    /// Marks a channel read through now or its newest message, and ends its manual marks.
    pub async fn mark_channel_read(&self, channel: ChannelId) -> Result<Receipt, Error> {
        self.save(Call::MarkChannelRead(channel)).await
    }

    /// Marks every channel with something unread as read; answers how many were saved. One failure does not stop the rest; the first is
    /// the call's error at the end.
    pub async fn mark_all_channels_read(&self) -> Result<u32, Error> {
        match self.sender.call(Call::MarkAllChannelsRead).await? {
            Reply::Swept(count) => Ok(count),
            _ => Err(Error::Closed),
        }
    }

    /// A person came to a channel to look at it: ends the mark that [`Session::mark_message_unread`] left behind on an earlier visit. Once a
    /// visit; what is forced in the current one stays. A jump to one message or thread is no such visit. Fails with `denied` or `storage`.
    pub async fn enter_channel(&self, channel: ChannelId) -> Result<(), Error> {
        self.sender.call(Call::EnterChannel(channel)).await.and_then(done)
    }

    /// The person left it: messages marked unread during the visit count by what was read again, and the channel stays marked
    /// until it is entered again. What was asked for during the visit and is not saved yet fails with `cancelled`.
    pub async fn leave_channel(&self, channel: ChannelId) -> Result<(), Error> {
        self.sender.call(Call::LeaveChannel(channel)).await.and_then(done)
    }

    /// Marks a message and its loaded replies unread for as long as the channel is being looked at, on this device only. Fails with
    /// `denied`, `not_found`, `invalid_target` (a quiet agent message), `capacity`, `cancelled` (the visit or access ended, or a
    /// message was deleted) or `storage`.
    pub async fn mark_message_unread(&self, channel: ChannelId, message: EventId) -> Result<Receipt, Error> {
        self.save(Call::MarkMessageUnread(channel, message)).await
    }

    /// Marks a message and its loaded replies read and ends the manual marks on them. Fails as [`Session::mark_message_unread`] does,
    /// and with `read_only` where this device cannot write what was read and some of them are unread.
    pub async fn mark_message_read(&self, channel: ChannelId, message: EventId) -> Result<Receipt, Error> {
        self.save(Call::MarkMessageRead(channel, message)).await
    }

    /// Marks a target unread, on this device only.
    pub async fn mark_unread(&self, target: Target) -> Result<Receipt, Error> {
        self.save(Call::MarkUnread(target)).await
    }

    /// Takes [`Session::mark_unread`] back.
    pub async fn clear_unread(&self, target: Target) -> Result<Receipt, Error> {
        self.save(Call::ClearUnread(target)).await
    }

    async fn save(&self, call: Call) -> Result<Receipt, Error> {
        match self.sender.call(call).await? {
            Reply::Saved(receipt) => Ok(receipt),
            _ => Err(Error::Closed),
        }
    }

    /// Whether the thread under `root` is one of the viewer's conversations, by choice or participation.
    pub async fn following(&self, channel: ChannelId, root: EventId) -> Result<bool, Error> {
        match self.sender.call(Call::Following(channel, root)).await? {
            Reply::Flag(value) => Ok(value),
            _ => Err(Error::Closed),
        }
    }

    /// Follows or unfollows a thread, on this device only. Fails without change when it cannot be saved.
    pub async fn follow(&self, channel: ChannelId, root: EventId, following: bool) -> Result<(), Error> {
        self.sender.call(Call::Follow(channel, root, following)).await.and_then(done)
    }

    /// Mutes or unmutes a channel on all devices; counts once the relay has accepted it (R27b).
    pub async fn mute(&self, channel: ChannelId, muted: bool) -> Result<(), Error> {
        self.sender.call(Call::Mute(channel, muted)).await.and_then(done)
    }

    /// Says how the app presents a conversation; the sidebar follows (R27a).
    pub async fn present_as(&self, channel: ChannelId, class: PresentationClass) -> Result<(), Error> {
        self.sender.call(Call::PresentAs(channel, class)).await.and_then(done)
    }

    /// The app goes to the background: publishes what can be published within `budget_ms`, then closes the socket.
    pub async fn suspend(&self, budget_ms: u64) -> Result<(), Error> {
        self.sender.call(Call::Suspend { budget_ms }).await.and_then(done)
    }

    /// The app is back.
    pub async fn resume(&self) -> Result<(), Error> {
        self.sender.call(Call::Resume).await.and_then(done)
    }

    /// Publishes what can be published at once, then ends the session and releases every file and lock. When it returns they are released.
    pub async fn close(&self) -> Result<(), Error> {
        let outcome = self.sender.call(Call::Close).await.and_then(done);
        self.sender.guard.ended().await;
        outcome
    }

    /// Forgets this community's state on this device, and only that; the session ends with it.
    pub async fn leave(&self) -> Result<(), Error> {
        let outcome = self.sender.call(Call::Leave).await.and_then(done);
        self.sender.guard.ended().await;
        outcome
    }

    /// The system says that the network changed or is back: connects at once instead of waiting.
    pub async fn network_changed(&self) -> Result<(), Error> {
        self.sender.call(Call::NetworkChanged).await.and_then(done)
    }

    /// The greatest values this device keeps under these frontier keys, for diagnostics and tests.
    pub async fn journal(&self, keys: Vec<Key>) -> Result<Vec<Option<u32>>, Error> {
        self.sender.ask(|answer| Command::Journal(keys, answer)).await
    }

    /// This installation's primary read-state slot as 32 hex digits, for diagnostics and tests.
    pub async fn primary_slot(&self) -> Result<String, Error> {
        self.sender.ask(Command::PrimarySlot).await
    }

    /// Drops the session with no farewell, as a killed process would. For tests.
    pub fn kill(&self) {
        self.sender.guard.kill();
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session(…)")
    }
}

/// How a timeline is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimelineOptions {
    /// Rows a page: 1 to 200, for a thread 500; others are clamped to that. `None` takes the relay's default of 50, or 100.
    pub limit: Option<u32>,
    /// Seconds east of UTC by which days begin.
    pub utc_offset: i32,
}

/// An open timeline. Closes when dropped.
#[derive(Debug)]
pub struct Timeline {
    key: TimelineKey,
    view: View<TimelineState>,
    sender: Sender,
    open: AtomicBool,
}

impl Timeline {
    /// The rows.
    pub fn view(&self) -> View<TimelineState> {
        self.view.clone()
    }

    /// What is shown now.
    pub fn state(&self) -> Arc<TimelineState> {
        self.view.current().value
    }

    /// One more page: an older one for a channel, the next one for a thread. Does nothing when there is none. An open gap is filled first.
    /// Fails with `network`, `relay_refused` or `invalid_answer`; the rows are as before then.
    pub async fn load_older(&self) -> Result<(), Error> {
        self.sender.call(Call::LoadOlder(self.key)).await.and_then(done)
    }

    /// Pages until the first unread row of this visit is among the rows; answers whether it is.
    pub async fn jump_to_first_unread(&self) -> Result<bool, Error> {
        match self.sender.call(Call::LoadFirstUnread(self.key)).await? {
            Reply::Flag(found) => Ok(found),
            _ => Err(Error::Closed),
        }
    }

    /// Ends it; when this returns, it is closed. Idempotent.
    pub async fn close(&self) -> Result<(), Error> {
        if !self.open.swap(false, Ordering::AcqRel) {
            return Ok(());
        }
        self.sender.call(Call::CloseTimeline(self.key)).await.and_then(done)
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        if self.open.swap(false, Ordering::AcqRel) {
            self.sender.post(Command::DropTimeline(self.key));
        }
    }
}
