//! The two lines of work that block: the journal's and the cache's. Each does one thing after the other, where the client does work that blocks, so their
//! order is the order of asking and the session's task never waits for a disk.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::blocking::Blocking;
use super::config::SaveHook;
use super::input::Input;
use super::open::CONNECTED;
use crate::engine::{Keep, OpId};
use crate::error::{Error, StorageKind};
use crate::event::Verifier;
use crate::journal::{Facts, Mutation};
use crate::store::cache::{self, Cache, Class, Partition};
use crate::store::journal::{Cancel, JournalStore, PublisherLock};
use crate::window::TimelineKey;

/// A step of the journal's line.
pub(super) enum JournalJob {
    Save {
        op: OpId,
        mutation: Mutation,
        facts: Facts,
        cancel: Cancel,
    },
    Reload(OpId),
    Lock(OpId),
    Unlock,
    /// The last step: leave first if asked, then release everything.
    End {
        leave: bool,
        done: oneshot::Sender<Result<(), Error>>,
    },
}

/// A step of the cache's line.
pub(super) enum CacheJob {
    Keep(Keep),
    Restore(TimelineKey),
    End { leave: bool, done: oneshot::Sender<Result<(), Error>> },
}

/// Does storage work where the client does what blocks; a panic in it is a storage failure, nothing more.
pub(super) async fn store_work<T: Send + 'static>(
    blocking: Blocking,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    blocking.run(work).await.unwrap_or(Err(Error::Storage { kind: StorageKind::Io }))
}

type Shared<T> = Arc<Mutex<T>>;

fn lock<T: ?Sized>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The journal's line.
pub(super) async fn journal_line(
    store: Box<dyn JournalStore>,
    mut jobs: mpsc::UnboundedReceiver<JournalJob>,
    hook: Arc<dyn SaveHook>,
    blocking: Blocking,
    inputs: mpsc::Sender<Input>,
) {
    let store: Shared<Box<dyn JournalStore>> = Arc::new(Mutex::new(store));
    let mut publisher: Option<PublisherLock> = None;
    tidy(blocking, &store).await;
    while let Some(job) = jobs.recv().await {
        let is_save = matches!(job, JournalJob::Save { .. });
        let shared = &store;
        let store = shared.clone();
        let report = match job {
            JournalJob::Save { op, mutation, facts, cancel } => {
                hook.before_save().await;
                let saved = store_work(blocking, move || lock(&store).update(&mutation, &facts, &cancel)).await;
                Input::Saved(op, saved)
            }
            JournalJob::Reload(op) => {
                Input::Reloaded(op, store_work(blocking, move || lock(&store).poll_changes()).await)
            }
            JournalJob::Lock(op) => match store_work(blocking, move || lock(&store).try_publisher_lock()).await {
                Ok(Some(held)) => {
                    publisher = Some(held);
                    Input::Locked(op, Ok(()))
                }
                Ok(None) => Input::Locked(op, Err(Error::Busy { what: "publisher" })),
                Err(error) => Input::Locked(op, Err(error)),
            },
            JournalJob::Unlock => {
                publisher = None;
                continue;
            }
            JournalJob::End { leave, done } => {
                drop(publisher.take());
                let end = move || {
                    let mut store = lock(&store);
                    let left = if leave { store.leave() } else { Ok(()) };
                    store.close().and(left)
                };
                let _ = done.send(store_work(blocking, end).await);
                return;
            }
        };
        if inputs.send(report).await.is_err() {
            return;
        }
        // Only once the answer is out.
        if is_save {
            tidy(blocking, shared).await;
        }
    }
}

/// What cannot be tidied makes later updates slower, no more; a disk that is full says so when something is saved.
async fn tidy(blocking: Blocking, store: &Shared<Box<dyn JournalStore>>) {
    let store = store.clone();
    if let Err(error) = store_work(blocking, move || lock(&store).tidy()).await {
        tracing::debug!(code = error.code(), "the journal could not be tidied");
    }
}

/// The cache's line. Nothing here can fail visibly: what is not kept is read again later.
pub(super) async fn cache_line(
    cache: Option<(Cache, Partition)>,
    mut jobs: mpsc::UnboundedReceiver<CacheJob>,
    verifier: Arc<Verifier>,
    blocking: Blocking,
    inputs: mpsc::Sender<Input>,
) {
    let shared: Shared<Option<(Cache, Partition)>> = Arc::new(Mutex::new(cache));
    while let Some(job) = jobs.recv().await {
        let shared = shared.clone();
        match job {
            CacheJob::Keep(keep) => {
                let kept = store_work(blocking, move || match &mut *lock(&shared) {
                    Some((cache, partition)) => write(cache, *partition, keep),
                    None => Ok(()),
                });
                if let Err(error) = kept.await {
                    tracing::debug!(code = error.code(), "the cache could not keep something");
                }
            }
            CacheJob::Restore(key) => {
                let verifier = verifier.clone();
                let pages = store_work(blocking, move || match &mut *lock(&shared) {
                    Some((cache, partition)) => {
                        Ok(cache::verify(&cache.load_pages(*partition, key.channel, key.root.as_ref())?, &verifier))
                    }
                    None => Ok(Vec::new()),
                });
                if inputs.send(Input::Restored(key, pages.await.unwrap_or_default())).await.is_err() {
                    return;
                }
            }
            CacheJob::End { leave, done } => {
                let end = move || {
                    let Some((mut cache, partition)) = lock(&shared).take() else { return Ok(()) };
                    let left = if leave { cache.delete_partition(partition) } else { Ok(()) };
                    cache.close().and(left)
                };
                let _ = done.send(store_work(blocking, end).await);
                return;
            }
        }
    }
}

fn write(cache: &mut Cache, partition: Partition, keep: Keep) -> Result<(), Error> {
    match keep {
        Keep::Pages(key, pages) => cache.put_pages(partition, key.channel, key.root.as_ref(), &pages),
        Keep::Channels(channels) => {
            let events: Vec<_> = channels
                .iter()
                .flat_map(|(_, stored)| [&stored.members, &stored.admins, &stored.metadata])
                .flatten()
                .cloned()
                .collect();
            cache.put_rosters(partition, &events)?;
            for (channel, stored) in &channels {
                cache.set_denied(partition, *channel, stored.denied)?;
            }
            Ok(())
        }
        Keep::Evidence(events) => cache.put_events(partition, Class::Evidence, &events),
        Keep::Structure(events) => cache.put_events(partition, Class::Structure, &events),
        Keep::Deleted(ids) => cache.put_deleted(partition, &ids),
        Keep::NoEvidence => cache.drop_events(partition, Class::Evidence, None),
        Keep::Forget(channel) => cache.drop_channel(partition, channel),
        Keep::Relay(key) => {
            cache.set_self_key(partition, key.as_ref())?;
            cache.set_text(partition, CONNECTED, "")
        }
        Keep::Mutes(text) => cache.set_text(partition, "mutes", &text),
        Keep::Profiles(events) => cache.put_events(partition, Class::Profile, &events),
    }
}

/// Names of this installation's files.
pub(super) struct Files {
    pub(super) journal: PathBuf,
    pub(super) cache: PathBuf,
}

impl Files {
    pub(super) fn in_dir(dir: &std::path::Path) -> Self {
        Self { journal: dir.join("journal.sqlite"), cache: dir.join("cache.sqlite") }
    }
}
