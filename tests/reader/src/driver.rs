//! Between app and session: carries out what the app wants and brings it what changed.
//!
//! Views are pulled, never queued: a watcher of a view only rings a bell, and [`Driver::pull`] then takes the newest values. A thousand changes
//! in a second therefore cost as many pictures as are drawn, not as many as there were changes. Answers of calls come through a channel
//! that holds as many as the person pressed keys.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use waggle::error::Error;
use waggle::ids::{ChannelId, EventId, Target};
use waggle::model::{Connectivity, SidebarState, SyncStatus, ThreadActivity, TimelineState, UnreadSnapshot};
use waggle::session::{ReadingSurface, Session, Timeline, TimelineOptions, View};

use crate::app::{App, Command, Event, Pane};

/// Rows asked for at a time.
const PAGE: u32 = 50;

/// A view and how far it was taken in. Its watcher ends with it.
struct Watched<T> {
    view: View<T>,
    seen: u64,
    watcher: tokio::task::AbortHandle,
}

impl<T: PartialEq + Send + Sync + 'static> Watched<T> {
    fn new(view: View<T>, bell: &Arc<Notify>) -> Self {
        let (bell, watched) = (bell.clone(), view.clone());
        let watcher = tokio::spawn(async move {
            let mut seen = 0;
            // The view ends with its session.
            while let Ok(next) = watched.next(seen).await {
                seen = next.version;
                bell.notify_one();
            }
            bell.notify_one();
        });
        Self { view, seen: 0, watcher: watcher.abort_handle() }
    }

    /// The value, if it is newer than the one taken in last.
    fn newer(&mut self) -> Option<Arc<T>> {
        let now = self.view.current();
        (now.version > self.seen).then(|| {
            self.seen = now.version;
            now.value
        })
    }
}

impl<T> Drop for Watched<T> {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

/// What stands behind an open pane.
struct Opened {
    ticket: u64,
    timeline: Arc<Timeline>,
    rows: Watched<TimelineState>,
    surface: Option<ReadingSurface>,
    /// For a channel: what is unread in it, and its threads.
    unread: Option<Watched<UnreadSnapshot>>,
    activity: Option<Watched<ThreadActivity>>,
}

/// What a finished call says.
enum Message {
    App(Event),
    Opened(Pane, Box<OpenedParts>),
}

/// What opening a pane brings.
struct OpenedParts {
    ticket: u64,
    timeline: Timeline,
    surface: Option<ReadingSurface>,
    unread: Option<View<UnreadSnapshot>>,
    activity: Option<View<ThreadActivity>>,
}

/// One reader on one session.
pub struct Driver {
    /// The state machine.
    pub app: App,
    session: Session,
    sidebar: Watched<SidebarState>,
    sync: Watched<SyncStatus>,
    connectivity: Watched<Connectivity>,
    panes: [Option<Opened>; 2],
    /// The opening each pane waits for or shows; an answer for another is dropped.
    wanted: [u64; 2],
    bell: Arc<Notify>,
    answers: mpsc::UnboundedReceiver<Message>,
    answer: mpsc::UnboundedSender<Message>,
    calls: JoinSet<()>,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Driver")
    }
}

fn slot(pane: Pane) -> usize {
    match pane {
        Pane::Main => 0,
        Pane::Thread => 1,
    }
}

impl Driver {
    /// A reader on a session. Must be called on the session's runtime.
    pub fn new(session: Session, app: App) -> Self {
        let bell = Arc::new(Notify::new());
        let (answer, answers) = mpsc::unbounded_channel();
        Self {
            app,
            sidebar: Watched::new(session.sidebar(), &bell),
            sync: Watched::new(session.sync(), &bell),
            connectivity: Watched::new(session.connectivity(), &bell),
            session,
            panes: [None, None],
            wanted: [0, 0],
            bell,
            answers,
            answer,
            calls: JoinSet::new(),
        }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Hands an event to the app and carries out what it wants.
    pub fn handle(&mut self, event: Event) {
        self.app.handle(event);
        self.carry_out();
    }

    /// Notes that a picture was drawn.
    pub fn drawn(&mut self) {
        self.app.drawn();
        self.carry_out();
    }

    /// Completes when there may be something to [`Driver::pull`].
    pub async fn changed(&mut self) {
        tokio::select! {
            () = self.bell.notified() => {}
            Some(message) = self.answers.recv() => self.take(message),
        }
    }

    /// Takes in everything that changed.
    pub fn pull(&mut self) {
        while let Ok(message) = self.answers.try_recv() {
            self.take(message);
        }
        // Finished calls have said what they had to say.
        while self.calls.try_join_next().is_some() {}
        let mut events = Vec::new();
        events.extend(self.sidebar.newer().map(Event::Sidebar));
        events.extend(self.sync.newer().map(Event::Sync));
        events.extend(self.connectivity.newer().map(Event::Connectivity));
        for pane in [Pane::Main, Pane::Thread] {
            let Some(opened) = &mut self.panes[slot(pane)] else { continue };
            let ticket = opened.ticket;
            events.extend(opened.rows.newer().map(|v| Event::Timeline(pane, ticket, v)));
            events.extend(opened.unread.as_mut().and_then(Watched::newer).map(|v| Event::Unread(ticket, v)));
            events.extend(opened.activity.as_mut().and_then(Watched::newer).map(|v| Event::Activity(ticket, v)));
        }
        for event in events {
            self.handle(event);
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::App(event) => self.handle(event),
            Message::Opened(pane, parts) => {
                if self.wanted[slot(pane)] != parts.ticket {
                    return;
                }
                let parts = *parts;
                self.panes[slot(pane)] = Some(Opened {
                    ticket: parts.ticket,
                    rows: Watched::new(parts.timeline.view(), &self.bell),
                    timeline: Arc::new(parts.timeline),
                    surface: parts.surface,
                    unread: parts.unread.map(|v| Watched::new(v, &self.bell)),
                    activity: parts.activity.map(|v| Watched::new(v, &self.bell)),
                });
                self.app.report_again(pane);
                self.bell.notify_one();
            }
        }
    }

    fn carry_out(&mut self) {
        for command in self.app.take_commands() {
            self.command(command);
        }
    }

    fn command(&mut self, command: Command) {
        let session = self.session.clone();
        match command {
            Command::Open { pane, ticket, channel, root } => self.open(pane, ticket, channel, root),
            Command::CloseThread => {
                self.wanted[slot(Pane::Thread)] = 0;
                self.panes[slot(Pane::Thread)] = None;
            }
            Command::LoadOlder(pane) => self.on_timeline(pane, |pane, ticket, timeline| async move {
                Event::Paged(pane, ticket, timeline.load_older().await)
            }),
            Command::LoadFirstUnread(pane) => self.on_timeline(pane, |pane, ticket, timeline| async move {
                Event::FirstUnread(pane, ticket, timeline.jump_to_first_unread().await)
            }),
            Command::Report(pane, viewport) => {
                if let Some(surface) = self.panes[slot(pane)].as_ref().and_then(|o| o.surface.as_ref()) {
                    surface.report(viewport);
                }
            }
            Command::MarkThrough(target, id) => {
                self.call(async move { session.mark_through(target, id).await.map(|_| "Read to here.".to_owned()) })
            }
            Command::MarkChannelRead(channel) => {
                self.call(
                    async move { session.mark_channel_read(channel).await.map(|_| "Channel marked read.".to_owned()) },
                )
            }
            Command::MarkAllRead => self.call(async move {
                session.mark_all_channels_read().await.map(|n| format!("Marked read: {n} channels."))
            }),
            Command::MarkUnread(target) => self.call(async move {
                session.mark_unread(target).await.map(|_| "Marked unread on this device.".to_owned())
            }),
            Command::ClearUnread(target) => self
                .call(async move { session.clear_unread(target).await.map(|_| "No longer marked unread.".to_owned()) }),
            Command::ToggleFollow(channel, root) => self.call(toggle_follow(session, channel, root)),
            Command::Mute(channel, muted) => self.call(async move {
                let said = if muted { "Muted." } else { "No longer muted." };
                session.mute(channel, muted).await.map(|()| said.to_owned())
            }),
            Command::Refresh => self.call(async move { session.refresh().await.map(|()| "Counted again.".to_owned()) }),
            Command::RetrySync => {
                self.call(async move { session.retry_sync().await.map(|()| "Published.".to_owned()) });
            }
        }
    }

    /// Makes a call beside the picture; the person is told what became of it.
    fn call(&mut self, call: impl Future<Output = Result<String, Error>> + Send + 'static) {
        self.spawn(async move { Message::App(Event::Done(call.await)) });
    }

    fn spawn(&mut self, work: impl Future<Output = Message> + Send + 'static) {
        let answer = self.answer.clone();
        self.calls.spawn(async move {
            // The reader may be gone.
            let _ = answer.send(work.await);
        });
    }

    fn on_timeline<F>(&mut self, pane: Pane, work: impl FnOnce(Pane, u64, Arc<Timeline>) -> F)
    where
        F: Future<Output = Event> + Send + 'static,
    {
        let Some(opened) = &self.panes[slot(pane)] else { return };
        let work = work(pane, opened.ticket, opened.timeline.clone());
        self.spawn(async move { Message::App(work.await) });
    }

    fn open(&mut self, pane: Pane, ticket: u64, channel: ChannelId, root: Option<EventId>) {
        self.wanted[slot(pane)] = ticket;
        self.panes[slot(pane)] = None;
        let (session, utc_offset) = (self.session.clone(), self.app.settings.utc_offset);
        self.spawn(async move {
            match open(&session, ticket, channel, root, utc_offset).await {
                Ok(parts) => Message::Opened(pane, Box::new(parts)),
                Err(error) => Message::App(Event::OpenFailed(pane, ticket, error)),
            }
        });
    }

    /// Leaves: ends the session, which publishes what it can and releases its files.
    pub async fn close(mut self) -> Result<(), Error> {
        self.panes = [None, None];
        self.calls.shutdown().await;
        self.session.close().await
    }
}

async fn toggle_follow(session: Session, channel: ChannelId, root: EventId) -> Result<String, Error> {
    let following = session.following(channel, root).await?;
    session.follow(channel, root, !following).await?;
    Ok(if following { "Thread no longer followed." } else { "Thread followed." }.to_owned())
}

async fn open(
    session: &Session,
    ticket: u64,
    channel: ChannelId,
    root: Option<EventId>,
    utc_offset: i32,
) -> Result<OpenedParts, Error> {
    let options = TimelineOptions { limit: Some(PAGE), utc_offset };
    let timeline = match root {
        Some(root) => session.thread(channel, root, options).await?,
        None => session.timeline(channel, options).await?,
    };
    // A channel that is not joined is a timeline only: it has no surface and no counts (R8b).
    let surface = session.surface(channel, root).await.ok();
    let (unread, activity) = match root {
        Some(_) => (None, None),
        None => (session.unread(Target::Channel(channel)).await.ok(), session.thread_activity(channel).await.ok()),
    };
    Ok(OpenedParts { ticket, timeline, surface, unread, activity })
}

/// Waits until something holds of a view, at most so long. `None` when it does not come.
pub async fn wait_until<T: PartialEq + Send + Sync + 'static>(
    view: &View<T>,
    longest: Duration,
    mut holds: impl FnMut(&T) -> bool,
) -> Option<Arc<T>> {
    let waiting = async {
        let mut seen = 0;
        loop {
            let next = view.next(seen).await.ok()?;
            if holds(&next.value) {
                return Some(next.value);
            }
            seen = next.version;
        }
    };
    tokio::time::timeout(longest, waiting).await.ok().flatten()
}
