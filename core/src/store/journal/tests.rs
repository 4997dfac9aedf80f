//! The contract both adapters keep, then what only a file can show.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::ids::{ChannelId, EventId};
use crate::journal::{Fence, Fresh, Key, LocalKey, Mark, Merge, NoFacts, Override, Pending, Place, Read};
use crate::testing::{Author, template};

fn id(n: u32) -> EventId {
    let mut bytes = [0u8; 32];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    EventId(bytes)
}

fn channel(n: u32) -> ChannelId {
    let mut bytes = [0u8; 16];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    ChannelId(bytes)
}

fn room(n: u32) -> Key {
    Key::Channel(channel(n))
}

fn fresh(n: u8) -> Fresh {
    Fresh { slot: SlotId([n; 16]), client_id: format!("client-{n}") }
}

fn partition(host: &str, person: &str) -> Partition {
    Partition { host: host.into(), account: Author::named(person).key() }
}

fn here() -> Partition {
    partition("hive.example", "me")
}

fn read(marks: Vec<(Key, u32)>) -> Mutation {
    let marks = marks.into_iter().map(|(key, value)| Mark::always(key, value.into())).collect();
    Mutation::Read(Read { marks, ..Read::default() })
}

/// Where a store under test keeps things.
enum Place_ {
    Memory(MemoryDisk),
    File(TempDir),
}

impl Place_ {
    fn both() -> [Self; 2] {
        [Self::Memory(MemoryDisk::new()), Self::File(tempfile::tempdir().unwrap())]
    }

    fn file(&self) -> PathBuf {
        match self {
            Self::File(dir) => dir.path().join("journal.sqlite"),
            Self::Memory(_) => unreachable!(),
        }
    }

    fn open(&self, partition: Partition, n: u8, hooks: Arc<dyn Hooks>) -> Box<dyn JournalStore> {
        match self {
            Self::Memory(disk) => Box::new(MemoryJournal::open(disk, partition, fresh(n), hooks)),
            Self::File(_) => Box::new(SqliteJournal::open(&self.file(), partition, fresh(n), hooks).unwrap()),
        }
    }

    fn here(&self) -> Box<dyn JournalStore> {
        self.open(here(), 1, Arc::new(NoHooks))
    }
}

fn save(store: &mut dyn JournalStore, mutation: &Mutation) -> Saved {
    store.update(mutation, &NoFacts, &Cancel::new()).unwrap()
}

fn signed(at: u32, slot: u8) -> Pending {
    let (d, me) = (format!("read-state:{}", SlotId([slot; 16])), Author::named("me"));
    let event = me.sign(template(30078, at.into(), &[&["d", &d], &["t", "read-state"]], "sealed"));
    Pending { id: event.id, slot: SlotId([slot; 16]), created_at: at, revision: 0, json: event.to_json() }
}

/// One of everything.
fn a_bit_of_everything() -> Vec<Mutation> {
    let (root, key) = (id(7), LocalKey::Channel(channel(1)));
    vec![
        read(vec![(room(1), 10), (Key::Thread(id(1)), 11), (Key::Message(id(2)), 12)]),
        Mutation::MarkUnread(key),
        Mutation::MarkUnread(LocalKey::MessageForce(channel(2))),
        Mutation::ClearUnread(vec![LocalKey::MessageForce(channel(2))]),
        Mutation::LearnHomes(vec![(id(2), channel(3))]),
        Mutation::Follow { channel: channel(1), root, choice: Some(true) },
        Mutation::Follow { channel: channel(1), root: id(8), choice: Some(false) },
        Mutation::Follow { channel: channel(1), root: id(8), choice: None },
        Mutation::Assign { add: vec![SlotId([2; 16])], carry: vec![(room(1), SlotId([2; 16]))] },
        Mutation::SavePending(vec![signed(100, 2), signed(101, 1)]),
        Mutation::ReplacePending { refused: signed(100, 2).id, event: signed(102, 2) },
        Mutation::ReplaceSlot { lost: SlotId([1; 16]), fresh: SlotId([3; 16]) },
        Mutation::SavePending(vec![signed(103, 3)]),
        Mutation::Reconcile { events: vec![signed(102, 2).id], accepted: Some(1) },
        Mutation::Merge(Merge {
            frontiers: vec![(Key::parse("of another client").unwrap(), 4)],
            overrides: vec![(room(5), Override { set: 1, clear: 0, baseline: 4 })],
            own: vec![(room(6), 9, SlotId([2; 16]))],
        }),
    ]
}

/// E15, E16, F2: what was acknowledged is there after a restart, all of it.
#[test]
fn everything_saved_is_there_again() {
    for place in Place_::both() {
        let mut held = place.here().record().clone();
        for mutation in a_bit_of_everything() {
            let mut store = place.here();
            assert!(*store.record() == held);
            let saved = save(&mut *store, &mutation);
            assert!(matches!(saved, Saved::Changed(_)), "{mutation:?}");
            saved.adopt_into(&mut held);
            assert!(*store.record() == held, "{mutation:?}");
        }
        let store = place.here();
        assert_eq!(store.record().pending().len(), 1);
        assert_eq!(store.record().follows().get(channel(1), id(7)), Some(true));
        assert_eq!(store.record().home(&id(2)), Some(channel(3)));
    }
}

/// Nothing is stored before something is saved, and the first identity saved is everybody's.
#[test]
fn the_first_save_settles_the_identity() {
    for place in Place_::both() {
        let (mut first, mut second) = (place.here(), place.open(here(), 2, Arc::new(NoHooks)));
        assert_eq!(first.record().header().client_id, "client-1");
        save(&mut *second, &read(vec![(room(1), 1)]));
        assert!(matches!(save(&mut *first, &read(vec![(room(2), 2)])), Saved::Replaced(_)));
        assert_eq!(first.record().header().client_id, "client-2");
        assert_eq!(first.record().frontier(&room(1)), Some(1));
    }
}

/// `unread.md` 8.8, row 8.19; D13: two windows at once; each hears of the other's work.
#[test]
fn row_8_19_two_windows_merge() {
    for place in Place_::both() {
        let (mut a, mut b) = (place.here(), place.here());
        let mut held = a.record().clone();
        save(&mut *a, &read(vec![(room(1), 1)])).adopt_into(&mut held);
        save(&mut *b, &read(vec![(room(2), 2)]));
        let replaced = save(&mut *a, &read(vec![(room(3), 3)]));
        assert!(matches!(replaced, Saved::Replaced(_)));
        replaced.adopt_into(&mut held);
        save(&mut *b, &read(vec![(room(2), 3)]));
        for (n, value) in [(1, 1), (2, 3), (3, 3)] {
            assert_eq!(place.here().record().frontier(&room(n)), Some(value));
        }
        let polled = a.poll_changes().unwrap().unwrap();
        assert_eq!(polled.frontier(&room(2)), Some(3));
        assert!(a.poll_changes().unwrap().is_none() && b.poll_changes().unwrap().is_none());
    }
}

/// `unread.md` 6.4: another window's newer manual mark refuses a save in flight; and what was learned on the way is not lost.
#[test]
fn another_windows_newer_mark_wins() {
    for place in Place_::both() {
        let (mut a, mut b) = (place.here(), place.here());
        save(&mut *a, &read(vec![(room(1), 1)]));
        let fence = Fence { key: LocalKey::Channel(channel(1)), revision: a.record().revision() };
        save(&mut *b, &Mutation::MarkUnread(fence.key));
        let lease = Read { marks: vec![Mark::always(room(1), 5)], fences: vec![fence], ..Read::default() };
        let refused = a.update(&Mutation::Read(lease), &NoFacts, &Cancel::new());
        assert_eq!(refused.unwrap_err().code(), "cancelled");
        assert!(matches!(save(&mut *a, &read(vec![(room(2), 1)])), Saved::Replaced(_)));
        assert_eq!(place.here().record().frontier(&room(1)), Some(1));
    }
}

/// Every effect of one update, by number.
struct FailAt {
    left: AtomicU32,
    kind: StorageKind,
}

impl Hooks for FailAt {
    fn at(&self, effect: Effect) -> Result<(), StorageKind> {
        if matches!(effect, Effect::Create | Effect::Checkpoint) {
            return Ok(());
        }
        if self.left.fetch_sub(1, Ordering::SeqCst) == 0 { Err(self.kind) } else { Ok(()) }
    }
}

/// `unread.md` 8.8, row 8.20; 7.11, H3, H6: a fault at any effect changes nothing, and the same call works later.
#[test]
fn row_8_20_a_fault_at_any_effect_changes_nothing() {
    for place in Place_::both() {
        let mut setup = place.here();
        save(&mut *setup, &Mutation::MarkUnread(LocalKey::Channel(channel(1))));
        save(&mut *setup, &Mutation::MarkUnread(LocalKey::Message(id(1))));
        let whole = Mutation::Read(Read {
            marks: vec![Mark::always(room(1), 5), Mark::always(room(2), 5)],
            clear: vec![LocalKey::Channel(channel(1)), LocalKey::Message(id(1))],
            ..Read::default()
        });
        let before = place.here().record().clone();
        for n in 0.. {
            let kind = if n % 2 == 0 { StorageKind::Full } else { StorageKind::Io };
            let hooks = Arc::new(FailAt { left: AtomicU32::new(n), kind });
            let mut store = place.open(here(), 1, hooks);
            let outcome = store.update(&whole, &NoFacts, &Cancel::new());
            if outcome.is_ok() {
                assert!(n > 3, "every effect was hit");
                break;
            }
            assert_eq!(outcome, Err(Error::Storage { kind }));
            assert!(*store.record() == before && *place.here().record() == before);
            assert!(store.update(&whole, &NoFacts, &Cancel::new()).is_ok(), "the same call succeeds later");
            // Back to where it was, for the next round.
            drop(store);
            if let Place_::File(_) = place {
                let back = Connection::open(place.file()).unwrap();
                back.execute_batch("DELETE FROM mark; DELETE FROM local_mark").unwrap();
                let at = [(channel(1).to_string(), 1), (format!("msg:{}", id(1)), 2)];
                for (key, revision) in at {
                    back.execute("INSERT INTO local_mark VALUES (1, ?1, ?2)", (key, revision)).unwrap();
                }
                back.execute_batch("UPDATE partition SET revision = 2, accepted_revision = 2").unwrap();
            } else {
                break;
            }
        }
    }
}

/// The scenario faults: the n-th save fails, others pass.
#[test]
fn ordered_faults_hit_saves_only() {
    for place in Place_::both() {
        let faults = Faults::new();
        let mut store = place.open(here(), 1, faults.clone());
        faults.arm(Effect::Save, StorageKind::Full, 1, 1);
        save(&mut *store, &read(vec![(room(1), 1)]));
        assert_eq!(save(&mut *store, &Mutation::ClearUnread(vec![])), Saved::Unchanged, "nothing to save, no fault");
        let full = store.update(&read(vec![(room(2), 1)]), &NoFacts, &Cancel::new());
        assert_eq!(full, Err(Error::Storage { kind: StorageKind::Full }));
        save(&mut *store, &read(vec![(room(2), 1)]));
    }
}

/// Sets a cancel flag at an effect.
struct CancelAt(Effect, Cancel);

impl Hooks for CancelAt {
    fn at(&self, effect: Effect) -> Result<(), StorageKind> {
        if effect == self.0 {
            self.1.set();
        }
        Ok(())
    }
}

/// `unread.md` 6.10, 6.11, 7.13; R14c: access lost or closed while the save is under way, up to the last moment.
#[test]
fn cancelling_up_to_the_commit_voids_an_update() {
    for place in Place_::both() {
        for (effect, voided) in
            [(Effect::Begin, true), (Effect::Save, true), (Effect::Commit, true), (Effect::Committed, false)]
        {
            let cancel = Cancel::new();
            let mut store = place.open(here(), 1, Arc::new(CancelAt(effect, cancel.clone())));
            let outcome = store.update(&read(vec![(room(1), 5)]), &NoFacts, &cancel);
            assert_eq!(outcome.is_err(), voided, "{effect:?}");
            assert_eq!(place.here().record().frontier(&room(1)).is_none(), voided);
            if let Err(error) = outcome {
                assert_eq!(error.code(), "cancelled");
                assert_eq!(store.record().frontier(&room(1)), None);
            }
        }
    }
}

/// H8; `unread.md` 8.1, 10: leaving deletes exactly one partition, follows included, and nothing brings it back.
#[test]
fn leaving_deletes_exactly_one_partition() {
    for place in Place_::both() {
        let others = [partition("other.example", "me"), partition("hive.example", "ada")];
        for partition in [here()].iter().chain(&others) {
            let mut store = place.open(partition.clone(), 1, Arc::new(NoHooks));
            a_bit_of_everything().iter().for_each(|m| {
                let _ = store.update(m, &NoFacts, &Cancel::new());
            });
        }
        let kept: Vec<Record> =
            others.iter().map(|p| place.open(p.clone(), 1, Arc::new(NoHooks)).record().clone()).collect();
        let (mut store, mut other_window) = (place.here(), place.here());
        store.leave().unwrap();
        for window in [&mut store, &mut other_window] {
            let late = window.update(&read(vec![(room(1), 99)]), &NoFacts, &Cancel::new());
            assert_eq!(late.unwrap_err().code(), "cancelled");
            assert!(window.poll_changes().is_err());
        }
        let again = place.here();
        assert_eq!((again.record().rows().count(), again.record().follows().len()), (0, 0));
        for (partition, record) in others.iter().zip(kept) {
            assert!(*place.open(partition.clone(), 1, Arc::new(NoHooks)).record() == record);
        }
        if let Place_::File(_) = place {
            let connection = Connection::open(place.file()).unwrap();
            for table in ["slot", "mark", "override", "local_mark", "pending", "follow"] {
                let sql = format!("SELECT count(*) FROM {table} WHERE partition NOT IN (SELECT id FROM partition)");
                assert_eq!(connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "{table}");
            }
        }
    }
}

/// A community that nothing was ever saved for can be left too.
#[test]
fn leaving_without_a_record() {
    for place in Place_::both() {
        let mut store = place.here();
        store.leave().unwrap();
        assert!(store.update(&read(vec![(room(1), 1)]), &NoFacts, &Cancel::new()).is_err());
    }
}

/// Signing out deletes the account's partitions and only those.
#[test]
fn signing_out_deletes_an_account() {
    for place in Place_::both() {
        let all = [here(), partition("other.example", "me"), partition("hive.example", "ada")];
        for partition in &all {
            save(&mut *place.open(partition.clone(), 1, Arc::new(NoHooks)), &read(vec![(room(1), 5)]));
        }
        match &place {
            Place_::Memory(disk) => disk.sign_out(&here().account),
            Place_::File(_) => {
                let mut listed = all.to_vec();
                listed.sort();
                assert_eq!(SqliteJournal::partitions(&place.file(), &NoHooks).unwrap(), listed);
                SqliteJournal::sign_out(&place.file(), &here().account, &NoHooks).unwrap();
                assert_eq!(SqliteJournal::partitions(&place.file(), &NoHooks).unwrap(), all[2..]);
            }
        }
        let left: Vec<bool> = all
            .iter()
            .map(|p| place.open(p.clone(), 1, Arc::new(NoHooks)).record().frontier(&room(1)).is_some())
            .collect();
        assert_eq!(left, [false, false, true]);
    }
}

/// `unread.md` 9.7, 9.26: one publisher for each partition.
#[test]
fn one_publisher_at_a_time() {
    for place in Place_::both() {
        let (mut a, mut b) = (place.here(), place.here());
        let mut other = place.open(partition("other.example", "me"), 1, Arc::new(NoHooks));
        let lock = a.try_publisher_lock().unwrap().unwrap();
        assert!(b.try_publisher_lock().unwrap().is_none() && a.try_publisher_lock().unwrap().is_none());
        assert!(other.try_publisher_lock().unwrap().is_some());
        drop(lock);
        assert!(b.try_publisher_lock().unwrap().is_some());
    }
}

#[test]
fn a_closed_store_says_so() {
    for place in Place_::both() {
        let mut store = place.here();
        save(&mut *store, &read(vec![(room(1), 5)]));
        store.close().unwrap();
        store.close().unwrap();
        assert_eq!(store.update(&read(vec![(room(1), 6)]), &NoFacts, &Cancel::new()), Err(Error::Closed));
        assert_eq!(store.poll_changes().unwrap_err(), Error::Closed);
        assert_eq!(store.try_publisher_lock().unwrap_err(), Error::Closed);
        assert_eq!(store.leave(), Err(Error::Closed));
        assert_eq!(place.here().record().frontier(&room(1)), Some(5));
    }
}

/// A backup of memory is a disk of its own.
#[test]
fn a_memory_disk_can_be_copied() {
    let disk = MemoryDisk::new();
    let mut store = MemoryJournal::open(&disk, here(), fresh(1), Arc::new(NoHooks));
    save(&mut store, &read(vec![(room(1), 5)]));
    let copy = disk.copy();
    save(&mut store, &read(vec![(room(1), 6)]));
    let old = MemoryJournal::open(&copy, here(), fresh(1), Arc::new(NoHooks));
    assert_eq!(old.record().frontier(&room(1)), Some(5));
}

fn any_mutation() -> impl Strategy<Value = Mutation> {
    let key = (0u8..6, 0u32..6).prop_map(|(family, n)| match family {
        0 => room(n),
        1 => Key::Activity(channel(n)),
        2 => Key::Thread(id(n)),
        3 => Key::ThreadActivity(id(n)),
        4 => Key::parse(&format!("x:{n}")).unwrap(),
        _ => Key::Message(id(n)),
    });
    let local = (0u8..4, 0u32..3).prop_map(|(family, n)| match family {
        0 => LocalKey::Channel(channel(n)),
        1 => LocalKey::Thread(id(n)),
        2 => LocalKey::Message(id(n)),
        _ => LocalKey::MessageForce(channel(n)),
    });
    let register = (0u32..3, 0u32..3, 0u32..9);
    prop_oneof![
        4 => (prop::collection::vec((key.clone(), 0u32..50), 1..4), prop::collection::vec(local.clone(), 0..3)).prop_map(
            |(marks, clear)| {
                let marks = marks.into_iter().map(|(k, v)| Mark::always(k, v.into())).collect();
                Mutation::Read(Read { marks, clear, ..Read::default() })
            }
        ),
        2 => local.prop_map(Mutation::MarkUnread),
        2 => (prop::collection::vec((key.clone(), 0u32..50), 0..4), prop::option::weighted(0.05, (key, register)))
            .prop_map(|(frontiers, register)| {
                let overrides = register.into_iter().map(|(key, (set, clear, baseline))| {
                    (key, Override { set, clear, baseline })
                }).collect();
                Mutation::Merge(Merge { frontiers, overrides, own: vec![] })
            }),
        1 => (0u32..6, 0u32..6).prop_map(|(m, c)| Mutation::LearnHomes(vec![(id(m), channel(c))])),
        1 => (0u32..3, prop::option::of(any::<bool>()))
            .prop_map(|(n, choice)| Mutation::Follow { channel: channel(n), root: id(n), choice }),
        1 => (0u64..40).prop_map(|at| Mutation::Reconcile { events: vec![], accepted: Some(at) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// File, memory and a record that only adopts agree after any sequence, by two windows in any interleaving.
    #[test]
    fn the_adapters_agree(steps in prop::collection::vec((any_mutation(), any::<bool>()), 1..25)) {
        let [memory, file] = Place_::both();
        let mut windows = [[memory.here(), memory.here()], [file.here(), file.here()]];
        let mut held: [Record; 2] = [windows[0][0].record().clone(), windows[0][1].record().clone()];
        for (mutation, second) in steps {
            let n = usize::from(second);
            let from_file = save(&mut *windows[1][n], &mutation);
            prop_assert!(from_file == save(&mut *windows[0][n], &mutation));
            from_file.adopt_into(&mut held[n]);
            prop_assert!(held[n] == *windows[1][n].record());
            prop_assert!(*file.here().record() == held[n] || held[n].revision() == 0);
        }
    }
}

// ---- what only a file can show ----

fn file() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.sqlite");
    (dir, path)
}

fn open(path: &Path) -> Result<SqliteJournal, Error> {
    SqliteJournal::open(path, here(), fresh(1), Arc::new(NoHooks))
}

/// Name and bytes of all files beside the journal, but for an empty log and the index SQLite shares between processes.
fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|file| (file.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&file).unwrap()))
        .filter(|(name, bytes)| !name.ends_with("-shm") && (!name.ends_with("-wal") || !bytes.is_empty()))
        .collect()
}

fn filled(path: &Path) {
    let mut store = open(path).unwrap();
    for mutation in a_bit_of_everything() {
        save(&mut store, &mutation);
    }
    store.close().unwrap();
}

const CORRUPT: Error = Error::Storage { kind: StorageKind::Corrupt };

/// Opening fails with `error` and leaves every byte as it was.
#[track_caller]
fn refused(path: &Path, error: &Error) {
    let before = contents(path);
    assert_eq!(open(path).err().as_ref(), Some(error));
    let after = contents(path);
    assert!(before == after, "bytes changed: {:?} became {:?}", before.keys(), after.keys());
}

/// A pending event that could not be loaded again is not saved.
#[test]
fn only_own_signed_read_state_becomes_pending() {
    for place in Place_::both() {
        let mut store = place.here();
        let (good, other) = (signed(100, 1), signed(101, 1));
        for wrong in [
            Pending { json: other.json.clone(), ..good.clone() },
            Pending { created_at: 99, ..good.clone() },
            Pending { slot: SlotId([2; 16]), ..good.clone() },
            Pending { json: good.json.replace("sealed", "forged"), ..good.clone() },
        ] {
            let refused = store.update(&Mutation::SavePending(vec![wrong]), &NoFacts, &Cancel::new());
            assert_eq!(refused.unwrap_err().code(), "invalid_argument");
        }
        save(&mut *store, &Mutation::SavePending(vec![good]));
    }
}

/// Closing is real: one file is left, and a lock file where somebody published.
#[test]
fn closing_leaves_one_file() {
    let (_dir, path) = file();
    filled(&path);
    assert_eq!(contents(&path).into_keys().collect::<Vec<_>>(), ["journal.sqlite"]);
    assert!(!path.with_file_name("journal.sqlite-shm").exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

/// E13, H3; `unread.md` 8.1, 13 rule 11: noise, a cut file, a damaged page, somebody else's database.
#[test]
fn a_damaged_file_is_an_error_and_stays_as_it_is() {
    let (_dir, path) = file();
    filled(&path);
    let good = fs::read(&path).unwrap();
    fs::write(&path, [b'n'; 5_000]).unwrap();
    refused(&path, &CORRUPT);
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    refused(&path, &CORRUPT);
    fs::write(&path, &good[..10]).unwrap();
    refused(&path, &CORRUPT);
    let mut damaged = 0;
    for page in 1..good.len() / 2_048 {
        let mut bytes = good.clone();
        bytes[page * 2_048..page * 2_048 + 64].fill(0xa5);
        fs::write(&path, &bytes).unwrap();
        refused(&path, &CORRUPT);
        damaged += 1;
    }
    assert!(damaged > 10);
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    refused(&path, &CORRUPT);
    fs::write(&path, &good).unwrap();
    assert!(open(&path).is_ok());
}

/// The same when a log is left over from a crash: it is not written back into a damaged file.
#[test]
fn a_damaged_file_with_a_log_stays_as_it_is() {
    let (_dir, path) = file();
    filled(&path);
    let mut store = open(&path).unwrap();
    save(&mut store, &read(vec![(room(1), 99)]));
    let (main, log) = (fs::read(&path).unwrap(), fs::read(path.with_file_name("journal.sqlite-wal")).unwrap());
    let mut refusals = 0;
    for page in 1..main.len() / 2_048 {
        let (_dir, path) = file();
        let mut bytes = main.clone();
        bytes[page * 2_048..page * 2_048 + 64].fill(0xa5);
        fs::write(&path, &bytes).unwrap();
        fs::write(path.with_file_name("journal.sqlite-wal"), &log).unwrap();
        match open(&path) {
            Ok(store) => assert_eq!(store.record().frontier(&room(1)), Some(99), "the log has a newer page"),
            Err(error) => {
                assert_eq!(error, CORRUPT);
                refused(&path, &CORRUPT);
                assert!(fs::read(&path).unwrap() == bytes);
                refusals += 1;
            }
        }
    }
    assert!(refusals > 5);
}

/// `unread.md` 8.1: any violation in the record, of this partition alone.
#[test]
fn a_damaged_record_is_an_error_and_stays_as_it_is() {
    for damage in [
        "UPDATE mark SET value = -1 WHERE value IS NOT NULL",
        "UPDATE mark SET value = 4294967296 WHERE value IS NOT NULL",
        "UPDATE mark SET recent = 1000 WHERE value IS NOT NULL",
        "UPDATE mark SET home = 'nowhere' WHERE home IS NOT NULL",
        "INSERT INTO mark VALUES (1, '', 1, 0, 0, NULL, NULL, NULL)",
        "UPDATE partition SET revision = -1",
        "UPDATE partition SET accepted_revision = 1000",
        "UPDATE partition SET client_id = ''",
        "DELETE FROM slot",
        "UPDATE local_mark SET revision = 0",
        "UPDATE pending SET event = replace(event, 'sealed', 'forged')",
        "UPDATE pending SET revision = 1000",
        "UPDATE override SET baseline = -1",
    ] {
        let (_dir, path) = file();
        filled(&path);
        let connection = Connection::open(&path).unwrap();
        assert!(connection.execute(damage, []).unwrap() > 0, "{damage}");
        drop(connection);
        refused(&path, &CORRUPT);
        assert!(SqliteJournal::open(&path, partition("other.example", "me"), fresh(1), Arc::new(NoHooks)).is_ok());
    }
}

/// `unread.md` 8.8, row 8.16: that a key is in both sets, or that a home is no text, cannot even be stored.
#[test]
fn the_schema_refuses_what_it_can() {
    let (_dir, path) = file();
    filled(&path);
    let connection = Connection::open(&path).unwrap();
    let key = channel(1).to_string();
    let twice = "INSERT INTO mark VALUES (1, ?1, 1, 1, 0, NULL, NULL, NULL)";
    assert!(connection.execute(twice, [&key]).is_err());
    assert!(connection.execute("UPDATE mark SET home = x'00'", []).is_err());
    assert!(connection.execute("UPDATE mark SET value = 'soon'", []).is_err());
}

/// A pending event must be the viewer's own read state, whoever signed it (`unread.md` 8.1).
#[test]
fn a_pending_event_of_somebody_else_is_damage() {
    let d = format!("read-state:{}", SlotId([3; 16]));
    let by =
        |person: &str, kind, tags: &[&[&str]]| Author::named(person).sign(template(kind, 103, tags, "x")).to_json();
    for event in [
        by("ada", 30078, &[&["d", &d], &["t", "read-state"]]),
        by("me", 30079, &[&["d", &d], &["t", "read-state"]]),
        by("me", 30078, &[&["d", &d], &["d", &d], &["t", "read-state"]]),
        by("me", 30078, &[&["d", &d]]),
        by("me", 30078, &[&["d", "read-state:1"], &["t", "read-state"]]),
    ] {
        let (_dir, path) = file();
        filled(&path);
        Connection::open(&path).unwrap().execute("UPDATE pending SET event = ?1", [event]).unwrap();
        refused(&path, &CORRUPT);
    }
}

/// `unread.md` 10, rows 10.12 and 10.13: only follow choices are read leniently.
#[test]
fn a_malformed_follow_choice_is_skipped() {
    let (_dir, path) = file();
    filled(&path);
    Connection::open(&path).unwrap().execute_batch("INSERT INTO follow VALUES (1, 'bad', 'yes', 7, 9)").unwrap();
    assert_eq!(open(&path).unwrap().record().follows().len(), 1);
}

#[test]
fn a_newer_schema_is_an_error_and_stays_as_it_is() {
    let (_dir, path) = file();
    filled(&path);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 3).unwrap();
    refused(&path, &Error::Storage { kind: StorageKind::NewerVersion });
}

/// A process that died right after creating the file left nothing that hinders.
#[test]
fn an_empty_file_is_a_new_journal() {
    let (_dir, path) = file();
    fs::write(&path, b"").unwrap();
    assert_eq!(open(&path).unwrap().record().revision(), 0);
    let (_dir, path) = file();
    let connection = Connection::open(&path).unwrap();
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    drop(connection);
    assert_eq!(open(&path).unwrap().record().revision(), 0);
}

/// H2: B waits while A holds the write lock for half a second.
#[test]
fn a_second_writer_waits() {
    let (_dir, path) = file();
    filled(&path);
    let mut store = open(&path).unwrap();
    let mut holder = Connection::open(&path).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let transaction = holder.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
        tell.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        transaction.commit().unwrap();
    });
    told.recv().unwrap();
    assert!(matches!(save(&mut store, &read(vec![(room(9), 5)])), Saved::Changed(_)));
    thread.join().unwrap();
}

/// Several threads, each a window of its own, never lose anything.
#[test]
fn many_windows_lose_nothing() {
    let (_dir, path) = file();
    let threads: Vec<_> = (0..4u32)
        .map(|thread| {
            let path = path.clone();
            std::thread::spawn(move || {
                let mut store = open(&path).unwrap();
                for n in 0..25 {
                    save(&mut store, &read(vec![(room(thread * 100 + n), n + 1)]));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let store = open(&path).unwrap();
    assert_eq!((store.record().rows().count(), store.record().revision()), (100, 100));
}

fn log_size(path: &Path) -> u64 {
    fs::metadata(path.with_file_name("journal.sqlite-wal")).unwrap().len()
}

/// P11, L4: at most 16 KiB for a durable mark, nothing for what is already read, nothing at idle.
#[test]
fn p11_bytes_written_for_one_mark() {
    let (_dir, path) = file();
    let mut store = open(&path).unwrap();
    let keys = |n: u32| {
        if n.is_multiple_of(2) {
            Key::Message(id(n.wrapping_mul(0x9e37_79b9)))
        } else {
            room(n.wrapping_mul(0x9e37_79b9))
        }
    };
    let mut sizes = Vec::new();
    for n in 0..400 {
        let before = log_size(&path);
        save(&mut store, &read(vec![(keys(n), n)]));
        sizes.push(log_size(&path) - before);
    }
    sizes.sort_unstable();
    assert!(sizes[200] <= 9 << 10, "usual: {}", sizes[200]);
    assert!(sizes[390] <= 16 << 10, "with a page split now and then: {}", sizes[390]);
    let before = log_size(&path);
    let again = Mutation::Read(Read { marks: vec![Mark::unless_read(keys(7), 7, [])], ..Read::default() });
    assert_eq!(save(&mut store, &again), Saved::Unchanged);
    for _ in 0..100 {
        assert!(store.poll_changes().unwrap().is_none());
    }
    assert_eq!(log_size(&path), before);
}

/// P11 where it is hardest: journal and reserve full, so that every mark moves another and forgets a third.
#[test]
fn p11_bytes_written_under_pressure() {
    let (_dir, path) = file();
    let mut store = open(&path).unwrap();
    let key = |n: u32| Key::Message(id(n.wrapping_mul(0x9e37_79b9)));
    save(&mut store, &read((0..7_000).map(|n| (key(n), n)).collect()));
    assert_eq!(store.record().reserve_size().1, crate::limits::RESERVE_KEYS);
    let mut sizes = Vec::new();
    for n in 7_000..7_060 {
        let before = log_size(&path);
        save(&mut store, &read(vec![(key(n), n)]));
        sizes.push(log_size(&path).saturating_sub(before));
    }
    sizes.sort_unstable();
    assert!(sizes[30] <= 17 << 10, "{}", sizes[30]);
    let record = store.record();
    assert!(record.rows().any(|(_, row)| row.held.is_some_and(|held| held.place == Place::Reserve)));
}

/// No content, id, key or host in anything printed.
#[test]
fn debug_shows_shapes() {
    let (_dir, path) = file();
    filled(&path);
    let store = open(&path).unwrap();
    let text = format!("{:?} {:?} {:?}", store.record(), here(), a_bit_of_everything());
    for secret in ["hive", "sealed", "client-1", &id(2).to_hex()[..8], &channel(1).to_string()[..8]] {
        assert!(!text.contains(secret), "{secret}");
    }
}
