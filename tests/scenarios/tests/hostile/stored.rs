//! Damaged files: a journal that breaks a rule is a visible error and stays as it is; a damaged cache is only lost.

use std::path::Path;

use rusqlite::Connection;

use crate::table::none;
use crate::world::{World, channel, run};

pub(crate) struct Stored {
    rule: &'static str,
    what: &'static str,
    damage: Damage,
}

#[derive(Clone, Copy)]
enum Damage {
    /// These statements.
    Sql(&'static str),
    /// The file's bytes.
    Bytes(fn(&mut Vec<u8>)),
}

const fn sql(rule: &'static str, what: &'static str, text: &'static str) -> Stored {
    Stored { rule, what, damage: Damage::Sql(text) }
}

const fn bytes(what: &'static str, change: fn(&mut Vec<u8>)) -> Stored {
    Stored { rule: "unread 8.1", what, damage: Damage::Bytes(change) }
}

/// Numbers from 1 to 20,000, for rows beyond a bound.
const MANY: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) ";

pub(crate) const JOURNALS: &[Stored] = &[
    sql("unread 8.1", "a frontier below zero", "UPDATE mark SET value = -1"),
    sql("unread 8.1", "a frontier beyond 32 bits", "UPDATE mark SET value = 4294967296"),
    sql("unread 8.1", "an empty key", "UPDATE mark SET key = '' WHERE key = (SELECT min(key) FROM mark)"),
    sql(
        "unread 8.1",
        "a key of 257 bytes",
        "UPDATE mark SET key = printf('%0257d', 1) WHERE key = (SELECT min(key) FROM mark)",
    ),
    sql("unread 8.1", "an interaction newer than the revision", "UPDATE mark SET recent = 1000000"),
    sql("unread 8.1", "an interaction below zero", "UPDATE mark SET recent = -1"),
    sql("unread 8.1", "an interaction in the reserve", "UPDATE mark SET reserved = 1, recent = 1"),
    sql("unread 8.1", "a home that is no channel", "UPDATE mark SET home = 'kitchen'"),
    sql(
        "R19",
        "a message mark of one's own",
        "INSERT INTO mark SELECT id, 'msg:' || printf('%064d', 1), 5, 0, 0, NULL, 5, NULL FROM partition",
    ),
    sql("unread 8.1", "a slot that is not listed", "UPDATE mark SET own = 1, slot = printf('%032d', 1)"),
    sql("unread 8.1", "a slot that is no slot", "UPDATE slot SET slot = 'primary'"),
    sql("unread 8.1", "a slot in upper case", "UPDATE slot SET slot = 'AABBCCDDEEFF00112233445566778899'"),
    sql("unread 8.1", "no slot", "DELETE FROM slot"),
    sql("unread 8.1", "a slot twice", "INSERT INTO slot SELECT partition, 7, slot FROM slot"),
    sql("unread 8.1", "an empty client id", "UPDATE partition SET client_id = ''"),
    sql("unread 8.1", "a client id of 65 characters", "UPDATE partition SET client_id = printf('%065d', 1)"),
    sql("unread 8.1", "a revision below zero", "UPDATE partition SET revision = -1"),
    sql("unread 8.1", "a revision beyond 2^53", "UPDATE partition SET revision = 9007199254740992"),
    sql("unread 8.1", "more accepted than done", "UPDATE partition SET accepted_revision = revision + 1"),
    sql("unread 8.1", "a last time beyond 32 bits", "UPDATE partition SET last_created_at = 4294967296"),
    sql("unread 8.1", "a register below zero", "INSERT INTO override SELECT id, 'x', -1, 0, 0 FROM partition"),
    sql(
        "unread 8.1",
        "a register with an over-long key",
        "INSERT INTO override SELECT id, printf('%0252d', 1), 1, 0, 0 FROM partition",
    ),
    sql("unread 8.1", "a manual mark of the future", "UPDATE local_mark SET revision = 1000000"),
    sql("unread 8.1", "a manual mark of nothing", "UPDATE local_mark SET key = 'nothing'"),
    sql("unread 8.1", "a pending event that is none", "INSERT INTO pending SELECT id, 'x', 0, 0, '{}' FROM partition"),
    sql(
        "unread 8.1",
        "a pending event that is no JSON",
        "INSERT INTO pending SELECT id, 'x', 0, 0, 'oops' FROM partition",
    ),
    sql("limits RESERVE_KEYS", "20,000 reserved marks", "reserve"),
    sql("limits LOCAL_MARKS", "20,000 manual marks", "local"),
    sql("unread 8.1", "a table less", "DROP TABLE mark"),
    sql("unread 8.1", "another application's file", "PRAGMA application_id = 7"),
    sql("decision 6", "a newer version's file", "PRAGMA user_version = 99"),
    bytes("no database", |b| b[..16].copy_from_slice(b"this is no file!")),
    bytes("cut in the middle", |b| b.truncate(b.len() / 2)),
    bytes("zeros in the middle", |b| b[4_096..6_144].fill(0)),
    bytes("ones in the middle", |b| b[4_096..6_144].fill(0xff)),
    bytes("cut after its magic", |b| b.truncate(16)),
];

/// Carries out the damage on a file nobody has open, and leaves it as one file.
fn damage(path: &Path, row: &Stored) {
    match row.damage {
        Damage::Bytes(change) => {
            let mut all = std::fs::read(path).unwrap();
            change(&mut all);
            std::fs::write(path, all).unwrap();
        }
        Damage::Sql(text) => {
            let connection = Connection::open(path).unwrap();
            let text = match text {
                "reserve" => format!(
                    "{MANY} INSERT INTO mark SELECT id, 'msg:' || printf('%064x', i), 5, 1, 0, NULL, NULL, NULL FROM n, partition"
                ),
                "local" => format!(
                    "{MANY} INSERT INTO local_mark SELECT id, 'msg:' || printf('%064x', i), 1 FROM n, partition"
                ),
                other => other.to_owned(),
            };
            connection.execute_batch(&text).unwrap_or_else(|e| panic!("{}: {e}", row.what));
            let _: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| r.get(0)).unwrap();
        }
    }
}

#[test]
fn a_damaged_journal_is_an_error_and_stays_as_it_is() {
    run(async {
        let mut world = World::new().await;
        let session = world.session.clone();
        let before = world.facts().await;
        world.finish(session.close()).await.unwrap();
        let path = world.dir().join("journal.sqlite");
        let whole = std::fs::read(&path).unwrap();
        let mut faults = Vec::new();
        for row in JOURNALS {
            let name = format!("{} ({})", row.what, row.rule);
            std::fs::write(&path, &whole).unwrap();
            damage(&path, row);
            let damaged = std::fs::read(&path).unwrap();
            if damaged == whole {
                faults.push(format!("{name}: no damage was done"));
            }
            world.reopen();
            let session = world.session.clone();
            let got = world.finish(session.start()).await.map_err(|e| e.code());
            if got != Err("storage") {
                faults.push(format!("{name}: {got:?} instead of storage"));
            }
            drop(session);
            if std::fs::read(&path).unwrap() != damaged {
                faults.push(format!("{name}: the file was changed"));
            }
        }
        // The whole file is as good as before.
        std::fs::write(&path, &whole).unwrap();
        world.reopen();
        world.session.start().await.unwrap();
        world.settle().await;
        let session = world.session.clone();
        world.finish(session.ensure()).await.unwrap();
        world.open_screens().await;
        let after = world.facts().await;
        if after != before {
            faults.push(format!("after all that: changed {}", before.differences(&after)));
        }
        none(faults);
    });
}

/// Follow choices are read leniently (`unread.md` 10.12): what is no choice is skipped.
#[test]
fn malformed_choices_are_skipped_one_by_one() {
    run(async {
        let mut world = World::new().await;
        let session = world.session.clone();
        let root = world.id("root");
        world.finish(session.close()).await.unwrap();
        let path = world.dir().join("journal.sqlite");
        let connection = Connection::open(&path).unwrap();
        let bad = "INSERT INTO follow SELECT id, 'kitchen', printf('%064d', 1), 1, 100 FROM partition;
                   INSERT INTO follow SELECT partition, channel, 'root', 1, 101 FROM follow WHERE root != 'root' LIMIT 1;
                   INSERT INTO follow SELECT partition, channel, printf('%064d', 2), 7, 102 FROM follow WHERE channel != 'kitchen' LIMIT 1;
                   INSERT INTO follow SELECT partition, channel, printf('%064d', 3), 1, -5 FROM follow WHERE channel != 'kitchen' LIMIT 1;
                   INSERT INTO follow SELECT partition, channel, upper(printf('%064x', 10)), 1, 104 FROM follow WHERE channel != 'kitchen' LIMIT 1;";
        connection.execute_batch(bad).unwrap();
        drop(connection);
        world.reopen();
        world.session.start().await.unwrap();
        world.settle().await;
        let session = world.session.clone();
        world.finish(session.ensure()).await.unwrap();
        assert_eq!(world.finish(session.following(channel("general"), root)).await, Ok(true));
        assert_eq!(world.record().follows().len(), 1, "five that are none are skipped, the one that is stays");
        assert!(world.is_alive().await);
    });
}

pub(crate) const CACHES: &[Stored] = &[
    sql("decision 6", "no pages any more", "DELETE FROM page"),
    sql("pitfalls I", "junk for a page", "UPDATE page SET body = x'00ff00ff'"),
    sql("pitfalls I", "junk for evidence", "UPDATE event SET body = x'7b7d'"),
    sql(
        "unread 13.1",
        "evidence that does not verify",
        "UPDATE event SET body = CAST(replace(CAST(body AS TEXT), 'm44', 'm45') AS BLOB)",
    ),
    sql(
        "unread 13.4",
        "a roster that does not verify",
        "UPDATE roster SET body = CAST(replace(CAST(body AS TEXT), 'pubkey', 'pubkez') AS BLOB)",
    ),
    sql("pitfalls I", "a key that is none", "UPDATE partition SET self_key = x'00'"),
    sql(
        "pitfalls I",
        "a preference that is none",
        "INSERT OR REPLACE INTO note SELECT id, 'mutes', 'oops' FROM partition",
    ),
    sql("decision 6", "another version", "PRAGMA user_version = 77"),
    bytes("no database", |b| b[..16].copy_from_slice(b"this is no file!")),
    bytes("cut in the middle", |b| b.truncate(b.len() / 2)),
    bytes("an empty file", Vec::clear),
    bytes("noise in the middle", |b| {
        let middle = b.len() / 2;
        b.iter_mut().skip(middle).take(8_192).for_each(|byte| *byte = 0x5a);
    }),
];

#[test]
fn a_damaged_cache_costs_a_read_and_nothing_else() {
    let mut faults = Vec::new();
    for row in CACHES {
        run(async {
            let name = format!("cache: {} ({})", row.what, row.rule);
            let mut world = World::new().await;
            let before = world.facts().await;
            let session = world.session.clone();
            world.finish(session.close()).await.unwrap();
            damage(&world.dir().join("cache.sqlite"), row);
            world.reopen();
            let session = world.session.clone();
            if let Err(why) = session.start().await {
                faults.push(format!("{name}: start failed with {}", why.code()));
                return;
            }
            world.settle().await;
            world.finish(session.ensure()).await.unwrap();
            world.open_screens().await;
            crate::table::unchanged(&mut world, &before, &name, &mut faults).await;
        });
    }
    none(faults);
}
