//! One account in one community.

use std::sync::Arc;

use waggle::error::Error;
use waggle::session as core;

use crate::errors::SessionError;
use crate::ids::{ChannelId, EventId, PublicKey, Target};
use crate::records::{PresentationClass, Receipt, ThreadActivity, UnreadSnapshot, Viewport};
use crate::runtime::{Rt, guarded};
use crate::sidebar::SidebarView;
use crate::timeline::{Timeline, TimelineOptions};
use crate::views::{ConnectivityView, SyncView, ThreadActivityView, UnreadView};

/// One account in one community. Start it, then read; close it and wait, so that every file is released.
///
/// Every call may be made from any thread. A cancelled call that had begun is carried out all the same.
#[derive(Debug, uniffi::Object)]
pub struct Session {
    core: core::Session,
    /// Tasks live as long as somebody can ask them.
    _rt: Rt,
}

impl Session {
    pub(crate) fn new(core: core::Session, rt: Rt) -> Self {
        Self { core, _rt: rt }
    }

    /// The core's own handle, for Rust code that lives beside the bindings.
    pub fn core(&self) -> &core::Session {
        &self.core
    }

    async fn open(
        &self,
        channel: ChannelId,
        root: Option<EventId>,
        options: TimelineOptions,
    ) -> Result<Arc<Timeline>, Error> {
        let channel = channel.parse()?;
        let timeline = match root {
            None => self.core.timeline(channel, options.into()).await?,
            Some(root) => self.core.thread(channel, root.parse()?, options.into()).await?,
        };
        Ok(Arc::new(Timeline(timeline)))
    }
}

#[uniffi::export]
impl Session {
    /// The account the session belongs to.
    pub fn account(&self) -> PublicKey {
        self.core.account().into()
    }

    /// Makes the session *locally ready*: what this device holds can be read when this returns, whatever the network does. Connecting begins
    /// and goes on by itself. Fails with `Storage` when reading marks cannot be opened; nothing is changed then.
    pub async fn start(&self) -> Result<(), SessionError> {
        Ok(guarded(self.core.start()).await?)
    }

    /// First bounded look at markers and messages. Concurrent calls share it; after a failure it fails at once with the standing error until
    /// `refresh` or a reconnect.
    pub async fn ensure(&self) -> Result<(), SessionError> {
        Ok(guarded(self.core.ensure()).await?)
    }

    /// Loads markers and then everything that counts again, in full.
    pub async fn refresh(&self) -> Result<(), SessionError> {
        Ok(guarded(self.core.refresh()).await?)
    }

    /// Loads markers again, then publishes what is unpublished. Fails with the outcome.
    pub async fn retry_sync(&self) -> Result<(), SessionError> {
        Ok(guarded(self.core.retry_sync()).await?)
    }

    /// Publishes what is unpublished now. Fails with the outcome.
    pub async fn flush(&self) -> Result<(), SessionError> {
        Ok(guarded(self.core.flush()).await?)
    }

    /// Completes when no conversation look-up is queued, running or waiting to be tried again.
    pub async fn settle_lookups(&self) -> Result<(), SessionError> {
        Ok(guarded(self.core.settle_lookups()).await?)
    }

    /// Opens a channel's timeline: with its first page, or at once with what is held while offline.
    pub async fn timeline(&self, channel: ChannelId, options: TimelineOptions) -> Result<Arc<Timeline>, SessionError> {
        Ok(guarded(self.open(channel, None, options)).await?)
    }

    /// Opens a thread's timeline by its root.
    pub async fn thread(
        &self,
        channel: ChannelId,
        root: EventId,
        options: TimelineOptions,
    ) -> Result<Arc<Timeline>, SessionError> {
        Ok(guarded(self.open(channel, Some(root), options)).await?)
    }

    /// The sidebar. Every call makes a view of its own.
    pub fn sidebar(&self) -> Arc<SidebarView> {
        Arc::new(SidebarView(self.core.sidebar()))
    }

    /// Read-state synchronisation.
    pub fn sync(&self) -> Arc<SyncView> {
        SyncView::of(self.core.sync())
    }

    /// What the session is doing, in words a person can be shown.
    pub fn connectivity(&self) -> Arc<ConnectivityView> {
        ConnectivityView::of(self.core.connectivity())
    }

    /// A view of what is unread about a target. Fails with `Capacity` when too many are in use.
    pub async fn unread(&self, target: Target) -> Result<Arc<UnreadView>, SessionError> {
        Ok(guarded(async { Ok(UnreadView::of(self.core.unread(target.parse()?).await?)) }).await?)
    }

    /// What is unread about a target now. Never fails for want of knowledge: what cannot be known is absent.
    pub async fn snapshot(&self, target: Target) -> Result<UnreadSnapshot, SessionError> {
        let snapshot = guarded(async { self.core.snapshot(target.parse()?).await }).await?;
        Ok(UnreadSnapshot::from(&snapshot))
    }

    /// A view of a channel's threads with unread replies.
    pub async fn thread_activity(&self, channel: ChannelId) -> Result<Arc<ThreadActivityView>, SessionError> {
        let view = guarded(async { self.core.thread_activity(channel.parse()?).await }).await?;
        Ok(ThreadActivityView::of(view))
    }

    /// A channel's threads with unread replies now.
    pub async fn activity(&self, channel: ChannelId) -> Result<ThreadActivity, SessionError> {
        let activity = guarded(async { self.core.activity(channel.parse()?).await }).await?;
        Ok(ThreadActivity::from(&activity))
    }

    /// Opens a reading surface for a channel's timeline, or for a thread's.
    pub async fn surface(
        &self,
        channel: ChannelId,
        root: Option<EventId>,
    ) -> Result<Arc<ReadingSurface>, SessionError> {
        let surface = guarded(async {
            let root = root.as_ref().map(EventId::parse).transpose()?;
            self.core.surface(channel.parse()?, root).await
        });
        Ok(Arc::new(ReadingSurface(surface.await?)))
    }

    /// Reads a target through one of its messages, unloaded earlier ones included. Not for what is merely visible: use a surface.
    pub async fn mark_through(&self, target: Target, message: EventId) -> Result<Receipt, SessionError> {
        let receipt = guarded(async { self.core.mark_through(target.parse()?, message.parse()?).await });
        Ok(receipt.await?.into())
    }

    /// Marks a channel read through now or its newest message, and ends its manual marks.
    pub async fn mark_channel_read(&self, channel: ChannelId) -> Result<Receipt, SessionError> {
        Ok(guarded(async { self.core.mark_channel_read(channel.parse()?).await }).await?.into())
    }

    /// Marks every channel with something unread as read; answers how many were saved. One failure does not stop the rest; the first is the
    /// call's error at the end.
    pub async fn mark_all_channels_read(&self) -> Result<u32, SessionError> {
        Ok(guarded(self.core.mark_all_channels_read()).await?)
    }

    /// Marks a target unread, on this device only.
    pub async fn mark_unread(&self, target: Target) -> Result<Receipt, SessionError> {
        Ok(guarded(async { self.core.mark_unread(target.parse()?).await }).await?.into())
    }

    /// Takes `mark_unread` back.
    pub async fn clear_unread(&self, target: Target) -> Result<Receipt, SessionError> {
        Ok(guarded(async { self.core.clear_unread(target.parse()?).await }).await?.into())
    }

    /// A person came to a channel to look at it: ends the mark that `mark_message_unread` left behind on an earlier visit. A jump to one message
    /// or thread is no such visit.
    pub async fn enter_channel(&self, channel: ChannelId) -> Result<(), SessionError> {
        Ok(guarded(async { self.core.enter_channel(channel.parse()?).await }).await?)
    }

    /// The person left it: what was marked message by message counts by what was read again, and the channel stays marked.
    pub async fn leave_channel(&self, channel: ChannelId) -> Result<(), SessionError> {
        Ok(guarded(async { self.core.leave_channel(channel.parse()?).await }).await?)
    }

    /// Marks a message and its loaded replies unread for as long as the channel is being looked at, on this device only.
    pub async fn mark_message_unread(&self, channel: ChannelId, message: EventId) -> Result<Receipt, SessionError> {
        let receipt = guarded(async { self.core.mark_message_unread(channel.parse()?, message.parse()?).await });
        Ok(receipt.await?.into())
    }

    /// Marks a message and its loaded replies read and ends the manual marks on them.
    pub async fn mark_message_read(&self, channel: ChannelId, message: EventId) -> Result<Receipt, SessionError> {
        let receipt = guarded(async { self.core.mark_message_read(channel.parse()?, message.parse()?).await });
        Ok(receipt.await?.into())
    }

    /// Whether the thread under `root` is one of the viewer's conversations, by choice or participation.
    pub async fn following(&self, channel: ChannelId, root: EventId) -> Result<bool, SessionError> {
        Ok(guarded(async { self.core.following(channel.parse()?, root.parse()?).await }).await?)
    }

    /// Follows or unfollows a thread, on this device only. Fails without change when it cannot be saved.
    pub async fn follow(&self, channel: ChannelId, root: EventId, following: bool) -> Result<(), SessionError> {
        Ok(guarded(async { self.core.follow(channel.parse()?, root.parse()?, following).await }).await?)
    }

    /// Mutes or unmutes a channel on all devices; counts once the relay has accepted it.
    pub async fn mute(&self, channel: ChannelId, muted: bool) -> Result<(), SessionError> {
        Ok(guarded(async { self.core.mute(channel.parse()?, muted).await }).await?)
    }

    /// Says how the app presents a conversation; the sidebar follows.
    pub async fn present_as(&self, channel: ChannelId, presentation: PresentationClass) -> Result<(), SessionError> {
        Ok(guarded(async { self.core.present_as(channel.parse()?, presentation.into()).await }).await?)
    }

    /// The app goes to the background: publishes what can be published within `budget_ms` milliseconds, then closes the socket.
    pub async fn suspend(&self, budget_ms: u64) -> Result<(), SessionError> {
        Ok(guarded(self.core.suspend(budget_ms)).await?)
    }

    /// The app is back.
    pub async fn resume(&self) -> Result<(), SessionError> {
        Ok(guarded(self.core.resume()).await?)
    }

    /// The system says that the network changed or is back: connects at once instead of waiting.
    pub async fn network_changed(&self) -> Result<(), SessionError> {
        Ok(guarded(self.core.network_changed()).await?)
    }

    /// Publishes what can be published at once, then ends the session. When it returns, every file and lock is released.
    pub async fn close(&self) -> Result<(), SessionError> {
        Ok(guarded(self.core.close()).await?)
    }

    /// Forgets this community's state on this device, and only that; the session ends with it.
    pub async fn leave(&self) -> Result<(), SessionError> {
        Ok(guarded(self.core.leave()).await?)
    }
}

/// One place where messages are read: a channel's timeline or a thread's, on one screen.
///
/// Report whenever what is visible changes; close it when the screen goes.
#[derive(Debug, uniffi::Object)]
pub struct ReadingSurface(core::ReadingSurface);

#[uniffi::export]
impl ReadingSurface {
    /// Says what the surface shows now. Never waits. Ignored after `close`; fails with `InvalidArgument` for an id that is none, and the
    /// report counts for nothing then.
    pub fn report(&self, viewport: Viewport) -> Result<(), SessionError> {
        self.0.report(viewport.try_into().map_err(|error: Error| error)?);
        Ok(())
    }

    /// Ends the surface: a running dwell reads nothing, and a save that still waits is void. Idempotent.
    pub fn close(&self) {
        self.0.close();
    }
}
