//! The contract both adapters keep. What only a file can show is in `file_tests`.

use std::path::PathBuf;
use std::sync::atomic::AtomicU32;

use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::ids::{ChannelId, EventId};
use crate::journal::{Fence, Fresh, Key, LocalKey, Mark, Merge, NoFacts, Override, Pending, Read};
use crate::testing::{Author, template};

pub(super) fn id(n: u32) -> EventId {
    let mut bytes = [0u8; 32];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    EventId(bytes)
}

pub(super) fn channel(n: u32) -> ChannelId {
    let mut bytes = [0u8; 16];
    bytes[..4].copy_from_slice(&n.to_be_bytes());
    ChannelId(bytes)
}

pub(super) fn room(n: u32) -> Key {
    Key::Channel(channel(n))
}

pub(super) fn fresh(n: u8) -> Fresh {
    Fresh { slot: SlotId([n; 16]), client_id: format!("client-{n}") }
}

pub(super) fn partition(host: &str, person: &str) -> Partition {
    Partition { host: host.into(), account: Author::named(person).key() }
}

pub(super) fn here() -> Partition {
    partition("hive.example", "me")
}

pub(super) fn read(marks: Vec<(Key, u32)>) -> Mutation {
    let marks = marks.into_iter().map(|(key, value)| Mark::always(key, value.into())).collect();
    Mutation::Read(Read { marks, ..Read::default() })
}

/// Where a store under test keeps things.
enum Medium {
    Memory(MemoryDisk),
    File(TempDir),
}

impl Medium {
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

pub(super) fn save(store: &mut dyn JournalStore, mutation: &Mutation) -> Saved {
    store.update(mutation, &NoFacts, &Cancel::new()).unwrap()
}

pub(super) fn pending(at: u32, slot: u8) -> Pending {
    let (d, me) = (format!("read-state:{}", SlotId([slot; 16])), Author::named("me"));
    let event = me.sign(template(30078, at.into(), &[&["d", &d], &["t", "read-state"]], "sealed"));
    Pending { id: event.id, slot: SlotId([slot; 16]), created_at: at, revision: 0, json: event.to_json() }
}

/// One of everything.
pub(super) fn a_bit_of_everything() -> Vec<Mutation> {
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
        Mutation::SavePending(vec![pending(100, 2), pending(101, 1)]),
        Mutation::ReplacePending { refused: pending(100, 2).id, event: pending(102, 2) },
        Mutation::ReplaceSlot { lost: SlotId([1; 16]), fresh: SlotId([3; 16]) },
        Mutation::SavePending(vec![pending(103, 3)]),
        Mutation::Reconcile { events: vec![pending(102, 2).id], accepted: Some(1) },
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
    for medium in Medium::both() {
        let mut held = medium.here().record().clone();
        for mutation in a_bit_of_everything() {
            let mut store = medium.here();
            assert!(*store.record() == held);
            let saved = save(&mut *store, &mutation);
            assert!(matches!(saved, Saved::Changed(_)), "{mutation:?}");
            saved.adopt_into(&mut held);
            assert!(*store.record() == held, "{mutation:?}");
        }
        let store = medium.here();
        assert_eq!(store.record().pending().len(), 1);
        assert_eq!(store.record().follows().get(channel(1), id(7)), Some(true));
        assert_eq!(store.record().home(&id(2)), Some(channel(3)));
    }
}

/// Nothing is stored before something is saved, and the first identity saved is everybody's.
#[test]
fn the_first_save_settles_the_identity() {
    for medium in Medium::both() {
        let (mut first, mut second) = (medium.here(), medium.open(here(), 2, Arc::new(NoHooks)));
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
    for medium in Medium::both() {
        let (mut a, mut b) = (medium.here(), medium.here());
        let mut held = a.record().clone();
        save(&mut *a, &read(vec![(room(1), 1)])).adopt_into(&mut held);
        save(&mut *b, &read(vec![(room(2), 2)]));
        let replaced = save(&mut *a, &read(vec![(room(3), 3)]));
        assert!(matches!(replaced, Saved::Replaced(_)));
        replaced.adopt_into(&mut held);
        save(&mut *b, &read(vec![(room(2), 3)]));
        for (n, value) in [(1, 1), (2, 3), (3, 3)] {
            assert_eq!(medium.here().record().frontier(&room(n)), Some(value));
        }
        let polled = a.poll_changes().unwrap().unwrap();
        assert_eq!(polled.frontier(&room(2)), Some(3));
        assert!(a.poll_changes().unwrap().is_none() && b.poll_changes().unwrap().is_none());
    }
}

/// `unread.md` 6.4: another window's newer manual mark refuses a save in flight; and what was learned on the way is not lost.
#[test]
fn another_windows_newer_mark_wins() {
    for medium in Medium::both() {
        let (mut a, mut b) = (medium.here(), medium.here());
        save(&mut *a, &read(vec![(room(1), 1)]));
        let fence = Fence { key: LocalKey::Channel(channel(1)), revision: a.record().revision() };
        save(&mut *b, &Mutation::MarkUnread(fence.key));
        let lease = Read { marks: vec![Mark::always(room(1), 5)], fences: vec![fence], ..Read::default() };
        let refused = a.update(&Mutation::Read(lease), &NoFacts, &Cancel::new());
        assert_eq!(refused.unwrap_err().code(), "cancelled");
        assert!(matches!(save(&mut *a, &read(vec![(room(2), 1)])), Saved::Replaced(_)));
        assert_eq!(medium.here().record().frontier(&room(1)), Some(1));
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
    for medium in Medium::both() {
        let mut setup = medium.here();
        save(&mut *setup, &Mutation::MarkUnread(LocalKey::Channel(channel(1))));
        save(&mut *setup, &Mutation::MarkUnread(LocalKey::Message(id(1))));
        let whole = Mutation::Read(Read {
            marks: vec![Mark::always(room(1), 5), Mark::always(room(2), 5)],
            clear: vec![LocalKey::Channel(channel(1)), LocalKey::Message(id(1))],
            ..Read::default()
        });
        let before = medium.here().record().clone();
        for n in 0.. {
            let kind = if n % 2 == 0 { StorageKind::Full } else { StorageKind::Io };
            let hooks = Arc::new(FailAt { left: AtomicU32::new(n), kind });
            let mut store = medium.open(here(), 1, hooks);
            let outcome = store.update(&whole, &NoFacts, &Cancel::new());
            if outcome.is_ok() {
                assert!(n > 3, "every effect was hit");
                break;
            }
            assert_eq!(outcome, Err(Error::Storage { kind }));
            assert!(*store.record() == before && *medium.here().record() == before);
            assert!(store.update(&whole, &NoFacts, &Cancel::new()).is_ok(), "the same call succeeds later");
            // Back to where it was, for the next round.
            drop(store);
            if let Medium::File(_) = medium {
                let back = Connection::open(medium.file()).unwrap();
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

/// A pending event that could not be loaded again is not saved.
#[test]
fn only_own_signed_read_state_becomes_pending() {
    for medium in Medium::both() {
        let mut store = medium.here();
        let (good, other) = (pending(100, 1), pending(101, 1));
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

/// The scenario faults: the n-th save fails, others pass.
#[test]
fn ordered_faults_hit_saves_only() {
    for medium in Medium::both() {
        let faults = Faults::new();
        let mut store = medium.open(here(), 1, faults.clone());
        faults.arm(Effect::Save, StorageKind::Full, 1, 1);
        save(&mut *store, &read(vec![(room(1), 1)]));
        assert_eq!(save(&mut *store, &Mutation::ClearUnread(vec![])), Saved::Unchanged, "nothing to save, no fault");
        let full = store.update(&read(vec![(room(2), 1)]), &NoFacts, &Cancel::new());
        assert_eq!(full, Err(Error::Storage { kind: StorageKind::Full }));
        save(&mut *store, &read(vec![(room(2), 1)]));
    }
}

/// `unread.md` 10, row 10.9: a follow choice that cannot be written changes nothing, here and in the file; row 10.8: one that was is
/// there after a restart.
#[test]
fn row_10_9_a_follow_choice_is_saved_or_not_made() {
    for medium in Medium::both() {
        let faults = Faults::new();
        let mut store = medium.open(here(), 1, faults.clone());
        let follow = |choice| Mutation::Follow { channel: channel(1), root: id(1), choice: Some(choice) };
        save(&mut *store, &follow(true));
        faults.arm(Effect::Commit, StorageKind::Full, 0, 1);
        let full = store.update(&follow(false), &NoFacts, &Cancel::new());
        assert_eq!(full, Err(Error::Storage { kind: StorageKind::Full }));
        for record in [store.record(), medium.here().record()] {
            assert_eq!(record.follows().get(channel(1), id(1)), Some(true));
        }
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
    for medium in Medium::both() {
        for (effect, voided) in
            [(Effect::Begin, true), (Effect::Save, true), (Effect::Commit, true), (Effect::Committed, false)]
        {
            let cancel = Cancel::new();
            let mut store = medium.open(here(), 1, Arc::new(CancelAt(effect, cancel.clone())));
            let outcome = store.update(&read(vec![(room(1), 5)]), &NoFacts, &cancel);
            assert_eq!(outcome.is_err(), voided, "{effect:?}");
            assert_eq!(medium.here().record().frontier(&room(1)).is_none(), voided);
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
    for medium in Medium::both() {
        let others = [partition("other.example", "me"), partition("hive.example", "ada")];
        for partition in [here()].iter().chain(&others) {
            let mut store = medium.open(partition.clone(), 1, Arc::new(NoHooks));
            a_bit_of_everything().iter().for_each(|m| {
                let _ = store.update(m, &NoFacts, &Cancel::new());
            });
        }
        let kept: Vec<Record> =
            others.iter().map(|p| medium.open(p.clone(), 1, Arc::new(NoHooks)).record().clone()).collect();
        let (mut store, mut other_window) = (medium.here(), medium.here());
        store.leave().unwrap();
        for window in [&mut store, &mut other_window] {
            let late = window.update(&read(vec![(room(1), 99)]), &NoFacts, &Cancel::new());
            assert_eq!(late.unwrap_err().code(), "cancelled");
            assert!(window.poll_changes().is_err());
        }
        let again = medium.here();
        assert_eq!((again.record().rows().count(), again.record().follows().len()), (0, 0));
        for (partition, record) in others.iter().zip(kept) {
            assert!(*medium.open(partition.clone(), 1, Arc::new(NoHooks)).record() == record);
        }
        if let Medium::File(_) = medium {
            let connection = Connection::open(medium.file()).unwrap();
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
    for medium in Medium::both() {
        let mut store = medium.here();
        store.leave().unwrap();
        assert!(store.update(&read(vec![(room(1), 1)]), &NoFacts, &Cancel::new()).is_err());
    }
}

/// Signing out deletes the account's partitions and only those.
#[test]
fn signing_out_deletes_an_account() {
    for medium in Medium::both() {
        let all = [here(), partition("other.example", "me"), partition("hive.example", "ada")];
        for partition in &all {
            save(&mut *medium.open(partition.clone(), 1, Arc::new(NoHooks)), &read(vec![(room(1), 5)]));
        }
        match &medium {
            Medium::Memory(disk) => disk.sign_out(&here().account),
            Medium::File(_) => {
                let mut listed = all.to_vec();
                listed.sort();
                assert_eq!(SqliteJournal::partitions(&medium.file(), &NoHooks).unwrap(), listed);
                SqliteJournal::sign_out(&medium.file(), &here().account, &NoHooks).unwrap();
                assert_eq!(SqliteJournal::partitions(&medium.file(), &NoHooks).unwrap(), all[2..]);
            }
        }
        let left: Vec<bool> = all
            .iter()
            .map(|p| medium.open(p.clone(), 1, Arc::new(NoHooks)).record().frontier(&room(1)).is_some())
            .collect();
        assert_eq!(left, [false, false, true]);
    }
}

/// `unread.md` 9.7, 9.26: one publisher for each partition.
#[test]
fn one_publisher_at_a_time() {
    for medium in Medium::both() {
        let (mut a, mut b) = (medium.here(), medium.here());
        let mut other = medium.open(partition("other.example", "me"), 1, Arc::new(NoHooks));
        let lock = a.try_publisher_lock().unwrap().unwrap();
        assert!(b.try_publisher_lock().unwrap().is_none() && a.try_publisher_lock().unwrap().is_none());
        assert!(other.try_publisher_lock().unwrap().is_some());
        drop(lock);
        assert!(b.try_publisher_lock().unwrap().is_some());
    }
}

#[test]
fn a_closed_store_says_so() {
    for medium in Medium::both() {
        let mut store = medium.here();
        save(&mut *store, &read(vec![(room(1), 5)]));
        store.close().unwrap();
        store.close().unwrap();
        assert_eq!(store.update(&read(vec![(room(1), 6)]), &NoFacts, &Cancel::new()), Err(Error::Closed));
        assert_eq!(store.poll_changes().unwrap_err(), Error::Closed);
        assert_eq!(store.try_publisher_lock().unwrap_err(), Error::Closed);
        assert_eq!(store.leave(), Err(Error::Closed));
        assert_eq!(medium.here().record().frontier(&room(1)), Some(5));
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
        let [memory, file] = Medium::both();
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
