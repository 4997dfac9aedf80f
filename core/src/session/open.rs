//! Opening what this device holds: the journal, which must be readable, and the cache, which may be lost. Blocks; the client says where ([`Blocking`](super::Blocking)).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::config::Mode;
use super::disk::Files;
use crate::directory::StoredChannel;
use crate::engine::Kept;
use crate::error::{Error, StorageKind};
use crate::event::{SharedEvent, Verifier, kinds};
use crate::ids::{ChannelId, EventId};
use crate::journal::Fresh;
use crate::limits;
use crate::store::cache::{self, Cache, Class};
use crate::store::journal::{Hooks, JournalStore, Partition, SqliteJournal};

/// Name of the note that says that the relay was reached before: no key then means that it advertises none.
pub(super) const CONNECTED: &str = "connected";

/// What is open.
pub(super) struct Opened {
    pub(super) journal: Box<dyn JournalStore>,
    pub(super) cache: Option<(Cache, cache::Partition)>,
    pub(super) kept: Kept,
    pub(super) evidence: StoredEvidence,
}

/// Evidence as the cache has it: not verified yet.
#[derive(Default)]
pub(super) struct StoredEvidence {
    pub(super) events: Vec<String>,
    pub(super) deleted: Vec<EventId>,
    pub(super) structure: Vec<String>,
}

/// Opens both files. Fails with `storage` when the journal cannot be read; its bytes are left as they are then.
pub(super) fn open(
    dir: &Path,
    partition: Partition,
    fresh: Fresh,
    hooks: Arc<dyn Hooks>,
    verifier: &Verifier,
    mode: Mode,
) -> Result<Opened, Error> {
    std::fs::create_dir_all(dir).map_err(|_| Error::Storage { kind: StorageKind::Io })?;
    let files = Files::in_dir(dir);
    let mut journal = Box::new(SqliteJournal::open(&files.journal, partition.clone(), fresh, hooks)?);
    // Without a cache everything works, only later.
    let mut cache = Cache::open(&files.cache).ok().and_then(|mut cache| {
        let part = cache.partition(&partition.host, &partition.account).ok()?;
        Some((cache, part))
    });
    if mode == Mode::Extension {
        journal.keep_in_memory(limits::EXTENSION_FILE_KIB)?;
        if let Some((cache, _)) = &cache {
            cache.keep_in_memory(limits::EXTENSION_FILE_KIB)?;
        }
    }
    let (kept, evidence) = match &mut cache {
        Some((cache, part)) => read(cache, *part, verifier).unwrap_or_default(),
        None => Default::default(),
    };
    Ok(Opened { journal, cache, kept, evidence })
}

fn verified(json: &[String], verifier: &Verifier) -> Vec<SharedEvent> {
    json.iter().filter_map(|text| verifier.event(text).ok()).collect()
}

fn read(cache: &mut Cache, part: cache::Partition, verifier: &Verifier) -> Result<(Kept, StoredEvidence), Error> {
    let mut channels: BTreeMap<ChannelId, StoredChannel> = BTreeMap::new();
    for event in verified(&cache.load_rosters(part)?, verifier) {
        let Some(channel) = event.single("d").and_then(|d| ChannelId::parse(d).ok()) else { continue };
        let stored = channels.entry(channel).or_default();
        match event.kind {
            kinds::MEMBERS => stored.members = Some(event),
            kinds::ADMINS => stored.admins = Some(event),
            kinds::CHANNEL => stored.metadata = Some(event),
            _ => {}
        }
    }
    for (channel, floor) in cache.load_denied(part)? {
        channels.entry(channel).or_default().denied = Some(floor);
    }
    let kept = Kept {
        relay: cache.text(part, CONNECTED)?.is_some().then_some(cache.self_key(part)?),
        channels: channels.into_iter().collect(),
        mutes: cache.text(part, "mutes")?,
        profiles: verified(&cache.load_events(part, Class::Profile)?, verifier),
    };
    let evidence = StoredEvidence {
        events: cache.load_events(part, Class::Evidence)?,
        deleted: cache.load_deleted(part)?,
        structure: cache.load_events(part, Class::Structure)?,
    };
    Ok((kept, evidence))
}
