use super::*;
use crate::event::kept::KeptNext;
use crate::order::RowKey;
use crate::testing::{Author, channel, message, template};

fn page(by: &str, count: u64, next: KeptNext) -> KeptPage {
    let (by, general) = (Author::named(by), channel("general"));
    let rows: Vec<SharedEvent> = (0..count).map(|i| message(&by, general, 1_000 - i, "text")).collect();
    let changes =
        rows.first().map(|r| by.sign(template(7, 2_000, &[&["e", &r.id.to_hex()]], "+"))).into_iter().collect();
    KeptPage { row_mode: false, next, rows, changes, summaries: Vec::new() }
}

fn ids(events: &[SharedEvent]) -> Vec<EventId> {
    events.iter().map(|e| e.id).collect()
}

fn open(dir: &tempfile::TempDir) -> (Cache, Partition) {
    let mut cache = Cache::open(&dir.path().join("cache.sqlite")).unwrap();
    let partition = cache.partition("relay.example", &Author::named("me").key()).unwrap();
    (cache, partition)
}

#[test]
fn pages_come_back_verified_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let general = channel("general");
    let cursor = RowKey::new(7, EventId([3; 32]));
    let pages =
        [page("ada", 3, KeptNext::Cursor(cursor)), page("bo", 2, KeptNext::End), page("cy", 1, KeptNext::Unknown)];
    let (mut cache, p) = open(&dir);
    cache.put_pages(p, general, None, &pages).unwrap();
    cache.put_pages(p, general, Some(&EventId([1; 32])), &pages[..1]).unwrap();
    cache.close().unwrap();
    assert!(!dir.path().join("cache.sqlite-wal").exists(), "closing leaves no log behind");
    let (mut cache, p) = open(&dir);
    let verifier = Verifier::new();
    let back = verify(&cache.load_pages(p, general, None).unwrap(), &verifier);
    assert_eq!(back.len(), 3);
    for (kept, back) in pages.iter().zip(&back) {
        assert_eq!((kept.next, ids(&kept.rows), ids(&kept.changes)), (back.next, ids(&back.rows), ids(&back.changes)));
    }
    let head = cache.load_head(p, general, None).unwrap().unwrap();
    let checks = verifier.signature_checks();
    assert_eq!(head.verify(&verifier).unwrap().rows.len(), 3);
    assert_eq!(verifier.signature_checks(), checks, "P4");
    assert_eq!(cache.load_pages(p, general, Some(&EventId([1; 32]))).unwrap().len(), 1);
    assert!(cache.load_head(p, channel("ops"), None).unwrap().is_none());
}

/// Pitfalls H5: what was changed on disk is dropped alone.
#[test]
fn damaged_events_are_dropped_alone() {
    let (body, events) = stored::encode(&page("ada", 3, KeptNext::End));
    assert_eq!(events, 4);
    let bad = StoredPage { body: body.replacen("text", "tent", 1).into_bytes() };
    assert_eq!(bad.verify(&Verifier::new()).unwrap().rows.len(), 2);
    assert!(StoredPage { body: b"{}".to_vec() }.verify(&Verifier::new()).is_none());
}

/// Pitfalls H3 (a): noise instead of a file, and noise inside one.
#[test]
fn a_damaged_file_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cache.sqlite");
    std::fs::write(&path, vec![0xA5; 100_000]).unwrap();
    let (mut cache, p) = open(&dir);
    let general = channel("general");
    let pages: Vec<KeptPage> = (0..8).map(|_| page("ada", 40, KeptNext::End)).collect();
    cache.put_pages(p, general, None, &pages).unwrap();
    cache.set_self_key(p, Some(&Author::named("relay").key())).unwrap();
    cache.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let len = bytes.len();
    bytes[40_000..len].fill(0x5A);
    std::fs::write(&path, bytes).unwrap();
    let mut cache = Cache::open(&path).unwrap();
    let p = cache.partition("relay.example", &Author::named("me").key()).unwrap();
    assert!(cache.load_pages(p, general, None).unwrap().is_empty());
    cache.put_pages(p, general, None, &pages[..1]).unwrap();
    assert_eq!(cache.load_pages(p, general, None).unwrap().len(), 1);
}

/// Pitfalls H3 (a): the file is ruined while it is open.
#[test]
fn a_file_ruined_while_open_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (mut cache, p) = open(&dir);
    let general = channel("general");
    cache.put_pages(p, general, None, &[page("ada", 3, KeptNext::End)]).unwrap();
    cache.connection.pragma_update(None, "cache_size", 0).unwrap();
    cache.connection.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    std::fs::write(dir.path().join("cache.sqlite"), vec![0xA5; 200_000]).unwrap();
    assert!(cache.load_pages(p, general, None).unwrap().is_empty());
    cache.put_pages(p, general, None, &[page("ada", 3, KeptNext::End)]).unwrap();
    assert_eq!(cache.load_pages(p, general, None).unwrap().len(), 1, "the partition's number still holds");
}

#[test]
fn another_version_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (mut cache, p) = open(&dir);
    cache.put_pages(p, channel("general"), None, &[page("ada", 1, KeptNext::End)]).unwrap();
    cache.connection.pragma_update(None, "user_version", 99).unwrap();
    cache.close().unwrap();
    let (mut cache, p) = open(&dir);
    assert!(cache.load_head(p, channel("general"), None).unwrap().is_none());
}

/// Pitfalls H8: leaving one community touches no other.
#[test]
fn a_partition_is_deleted_alone() {
    let mut cache = Cache::in_memory().unwrap();
    let me = Author::named("me").key();
    let (a, b) = (cache.partition("a.example", &me).unwrap(), cache.partition("b.example", &me).unwrap());
    let (general, m) = (channel("general"), message(&Author::named("ada"), channel("general"), 5, "x"));
    let roster = Author::named("relay").sign(template(39002, 5, &[&["d", &general.to_string()]], ""));
    for p in [a, b] {
        cache.put_pages(p, general, None, &[page("ada", 1, KeptNext::End)]).unwrap();
        cache.put_events(p, Class::Evidence, std::slice::from_ref(&m)).unwrap();
        cache.put_rosters(p, std::slice::from_ref(&roster)).unwrap();
    }
    cache.delete_partition(a).unwrap();
    for (p, left) in [(a, 0), (b, 1)] {
        assert_eq!(cache.load_pages(p, general, None).unwrap().len(), left);
        assert_eq!(cache.load_events(p, Class::Evidence).unwrap().len(), left);
        assert_eq!(cache.load_rosters(p).unwrap().len(), left);
    }
    cache.drop_channel(b, general).unwrap();
    assert!(cache.load_head(b, general, None).unwrap().is_none());
    assert!(cache.load_events(b, Class::Evidence).unwrap().is_empty());
    assert_eq!(cache.load_rosters(b).unwrap().len(), 1, "rosters are the directory's to forget");
}

#[test]
fn events_rosters_and_the_relay_key() {
    let mut cache = Cache::in_memory().unwrap();
    let p = cache.partition("a.example", &Author::named("me").key()).unwrap();
    let (general, ada, relay) = (channel("general"), Author::named("ada"), Author::named("relay"));
    let events: Vec<SharedEvent> = (0..3).map(|i| message(&ada, general, i, "x")).collect();
    cache.put_events(p, Class::Evidence, &events).unwrap();
    cache.put_events(p, Class::Evidence, &events[..1]).unwrap();
    assert_eq!(cache.load_events(p, Class::Evidence).unwrap(), events.iter().map(|e| e.to_json()).collect::<Vec<_>>());
    assert!(cache.load_events(p, Class::Structure).unwrap().is_empty());
    cache.drop_events(p, Class::Evidence, Some(&[events[1].id])).unwrap();
    assert_eq!(cache.load_events(p, Class::Evidence).unwrap().len(), 2);
    cache.drop_events(p, Class::Evidence, None).unwrap();
    assert!(cache.load_events(p, Class::Evidence).unwrap().is_empty());
    let roster = |at| relay.sign(template(39002, at, &[&["d", &general.to_string()]], ""));
    cache.put_rosters(p, &[roster(1), roster(2)]).unwrap();
    assert_eq!(cache.load_rosters(p).unwrap(), vec![roster(2).to_json()]);
    assert_eq!(cache.self_key(p).unwrap(), None);
    cache.set_self_key(p, Some(&relay.key())).unwrap();
    assert_eq!(cache.self_key(p).unwrap(), Some(relay.key()));
}

/// Pitfalls H9: bounded; the channel kept longest ago goes first, and never the one just kept.
#[test]
fn old_channels_are_evicted() {
    let mut cache = Cache::in_memory().unwrap();
    let p = cache.partition("a.example", &Author::named("me").key()).unwrap();
    let pages = [page("ada", 2, KeptNext::End)];
    for name in ["a", "b", "c"] {
        cache.put_pages(p, channel(name), None, &pages).unwrap();
    }
    cache.put_pages(p, channel("a"), None, &pages).unwrap();
    // Pretend that the pages are large rather than writing 64 MiB.
    cache.connection.execute("UPDATE page SET bytes = ?1", [limits::CACHE_BYTES / 3]).unwrap();
    cache.put_pages(p, channel("d"), None, &pages).unwrap();
    let kept = |cache: &mut Cache, name| cache.load_head(p, channel(name), None).unwrap().is_some();
    assert_eq!(["a", "b", "c", "d"].map(|n| kept(&mut cache, n)), [true, false, true, true]);
}

/// P13: the first page comes from at most 40 database pages.
#[test]
fn a_head_page_is_one_row() {
    let dir = tempfile::tempdir().unwrap();
    let (mut cache, p) = open(&dir);
    for i in 0..30 {
        cache.put_pages(p, channel(&format!("c{i}")), None, &[page("ada", 50, KeptNext::End)]).unwrap();
    }
    cache.close().unwrap();
    let (mut cache, p) = open(&dir);
    let mut plan = String::new();
    cache
        .connection
        .query_row(
            "EXPLAIN QUERY PLAN SELECT page.body FROM page JOIN channel ON page.channel = channel.id
             WHERE channel.part = 1 AND channel.uuid = x'00' AND page.root = x'' ORDER BY page.n LIMIT 1",
            [],
            |r| {
                plan = r.get(3)?;
                Ok(())
            },
        )
        .unwrap();
    assert!(plan.contains("USING") && plan.contains("INDEX"), "{plan}");
    let head = cache.load_head(p, channel("c7"), None).unwrap().unwrap();
    assert!(head.body.len() / 16_384 + 10 <= 40, "overflow pages of the row, and the way to it");
}

/// Bytes this thread has read so far, from the operating system's cache or from the disk alike, as Linux accounts for them.
#[cfg(target_os = "linux")]
fn bytes_read() -> u64 {
    let account = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    account.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// P13: from opening the file to the first 50 rows, at most 40 of its pages are read, however much else it keeps.
#[cfg(target_os = "linux")]
#[test]
fn a_cold_first_page_reads_few_pages() {
    const PAGE: u64 = 16_384;
    let dir = tempfile::tempdir().unwrap();
    let (mut cache, p) = open(&dir);
    let first = page("ada", 50, KeptNext::End);
    for n in 0..300 {
        cache.put_pages(p, channel(&format!("c{n}")), None, std::slice::from_ref(&first)).unwrap();
    }
    let long = "a word of a message ".repeat(80);
    let kept: Vec<SharedEvent> = (0..1_000).map(|n| message(&Author::named("bo"), channel("c1"), n, &long)).collect();
    cache.put_events(p, Class::Evidence, &kept).unwrap();
    cache.close().unwrap();
    let pages_of_file = std::fs::metadata(dir.path().join("cache.sqlite")).unwrap().len() / PAGE;
    assert!(pages_of_file > 300, "{pages_of_file} pages are little to choose from");
    let before = bytes_read();
    let (mut cache, p) = open(&dir);
    let head = cache.load_head(p, channel("c150"), None).unwrap().unwrap();
    let read = (bytes_read() - before) / PAGE;
    assert_eq!(head.verify(&Verifier::new()).unwrap().rows.len(), 50);
    assert!((1..=40).contains(&read), "{read} of {pages_of_file} pages");
    let before = bytes_read();
    cache.load_events(p, Class::Evidence).unwrap();
    assert!((bytes_read() - before) / PAGE > 40, "reading everything is seen");
}
