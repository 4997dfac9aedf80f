//! P9 to P11: read state and the journal's disk.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::sync::Arc;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20::cipher::{KeyIvInit as _, StreamCipher as _};
use sha2::{Digest as _, Sha256};
use waggle::event::Verifier;
use waggle::identity::{LocalCipher, Secret, SelfCipher as _};
use waggle::journal::{Fresh, Key, Mark, Merge, Mutation, NoFacts, Read, apply};
use waggle::read_state::algebra::Join;
use waggle::read_state::blob;
use waggle::relay::protocol;
use waggle::request::Answer;
use waggle::store::journal::{Cancel, JournalStore as _, NoHooks, Partition, Saved, SqliteJournal};

use crate::counting::{array, channel, read, record, repair_request};
use crate::fixtures::{Signed, Signer, T0};
use crate::{Line, ROUNDS, minima, time};

pub(crate) fn cipher() -> (Signer, LocalCipher) {
    let secret = Sha256::digest(b"waggle/bench/viewer");
    let secret = Secret::from_bytes(secret.into()).unwrap();
    (Signer::new("viewer"), LocalCipher::new(&secret).unwrap())
}

/// A blob of about `bytes` bytes of plaintext. Over all `n` it speaks of 600 channels: an account's slots are about the same ones.
fn plaintext(n: usize, bytes: usize) -> String {
    let mut contexts = String::new();
    let mut k = 0;
    while contexts.len() + 64 < bytes {
        let channel = format!("{:08x}-0000-4000-8000-000000000000", (n * 7 + k) % 600);
        contexts.push_str(&format!("{}\"{channel}\":{}", if k == 0 { "" } else { "," }, T0 + (n % 97 + k) as u64));
        k += 1;
    }
    format!("{{\"v\":1,\"client_id\":\"client-{n}\",\"contexts\":{{{contexts}}}}}")
}

/// An own snapshot's events: 4,096 in 7.5 MB. A byte more than 1,024 of plaintext would be padded to 1,280, and make it 9 MB.
pub(crate) fn snapshot_events() -> Vec<Signed> {
    let (signer, cipher) = cipher();
    let signed = |n: u32| {
        let nonce = Sha256::digest(n.to_be_bytes()).into();
        let content = cipher.encrypt(&plaintext(n as usize, 970), nonce).unwrap();
        let slot = &hex::encode(Sha256::digest(n.to_le_bytes()))[..32];
        let tags =
            vec![vec!["d".to_owned(), format!("read-state:{slot}")], vec!["t".to_owned(), "read-state".to_owned()]];
        signer.sign(30078, T0, tags, &content)
    };
    (0..4_096).map(signed).collect()
}

/// P9: own snapshot of 4,096 events / 7.5 MB: decode and verify, decrypt and merge as the machine does, with the one key derivation
/// there is. Merging is a join in memory and one mutation of the journal, as a load saves once (`read_state::intake`).
pub(crate) fn snapshot() -> Vec<Line> {
    let events = snapshot_events();
    let arrays: Vec<String> = events.chunks(256).map(array).collect();
    let verifier = Verifier::new();
    // The least of each part, summed: no run of a quarter of a second is undisturbed as a whole.
    let mut best = vec![[u64::MAX; 2]; arrays.len() + 1];
    for _ in 0..9 {
        verifier.forget();
        let record = record(9);
        let mut held = None;
        let mut digest = Join::default();
        let (whole, parts) = best.split_last_mut().unwrap();
        for ((part, text), best) in events.chunks(256).zip(&arrays).zip(parts) {
            let f1 = time(|| {
                for e in part {
                    secp256k1::SECP256K1.verify_schnorr(&e.sig, &e.id.0, &e.key).unwrap();
                }
            });
            let spent = time(|| {
                let cipher = held.get_or_insert_with(|| cipher().1);
                let outcome = protocol::decode(text.as_bytes(), &repair_request(), &verifier);
                let Ok(Answer::Events(batch)) = outcome else { panic!("no events") };
                assert_eq!(batch.events.len(), part.len());
                for event in &batch.events {
                    let plain = cipher.decrypt(&event.content).unwrap();
                    digest.merge(&blob::parse(plain.as_bytes()).unwrap().state);
                }
            });
            *best = [best[0].min(f1), best[1].min(spent)];
        }
        let merged = time(|| {
            let merge = Merge { frontiers: digest.frontiers(|_, _| true), ..Merge::default() };
            let diff = apply(&record, &Mutation::Merge(merge), &NoFacts).unwrap();
            assert_eq!(diff.rows.len(), 600);
            diff
        });
        *whole = [0, whole[1].min(merged)];
    }
    let sum = |at: usize| best.iter().map(|part| part[at]).sum::<u64>() as f64;
    vec![Line { promise: "P9", name: "snapshot_of_4096_events", ratio: sum(1) / sum(0), limit: 1.25 }]
}

/// P10: encrypting and decrypting 40 KiB with the key held, over SHA-256 + ChaCha20 + base64 of the payload.
pub(crate) fn cipher_ratio() -> Vec<Line> {
    let (_, cipher) = cipher();
    let text = plaintext(1, 40_950);
    let payload = cipher.encrypt(&text, [7; 32]).unwrap();
    let raw = STANDARD.decode(&payload).unwrap();
    let best = minima(
        ROUNDS * 5,
        &mut [
            &mut || {
                let mut bytes = raw.clone();
                time(|| {
                    let mut stream = chacha20::ChaCha20::new(&[1; 32].into(), &[2; 12].into());
                    stream.apply_keystream(&mut bytes);
                    (Sha256::digest(&bytes), STANDARD.encode(&bytes))
                })
            },
            &mut || time(|| cipher.encrypt(&text, [8; 32]).unwrap()),
            &mut || time(|| cipher.decrypt(&payload).unwrap()),
        ],
    );
    let line = |name, at: usize| Line { promise: "P10", name, ratio: best[at] as f64 / best[0] as f64, limit: 1.6 };
    vec![line("encrypt_40_kib", 1), line("decrypt_40_kib", 2)]
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

/// P11: one durable read mark over one 4 KiB write and its fdatasync, by medians. Both write into room that is on the disk already: the
/// yardstick's file has its length, and the session tidies the log after a mark, once that is answered. Bytes and syncs are counted by
/// `tests/journal_disk.rs`.
pub(crate) fn durable_mark() -> Vec<Line> {
    const MARKS: usize = 201;
    let dir = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
    let partition = Partition { host: "relay.example".to_owned(), account: Signer::new("viewer").key() };
    let mut entropy = waggle::entropy::Entropy::from_seed(11);
    let fresh = Fresh { slot: entropy.slot(), client_id: entropy.uuid() };
    let mut store =
        SqliteJournal::open(&dir.path().join("journal.sqlite"), partition, fresh, Arc::new(NoHooks)).unwrap();
    store.tidy().unwrap();
    let mut file = std::fs::File::create(dir.path().join("yardstick")).unwrap();
    file.write_all(&[0; 65_536]).unwrap();
    file.sync_all().unwrap();
    let nanos = |start: Instant| u64::try_from(start.elapsed().as_nanos()).unwrap();
    let (mut floor, mut marks, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..MARKS {
        let start = Instant::now();
        file.seek(SeekFrom::Start(4_096 * (n as u64 % 16))).unwrap();
        file.write_all(&[n as u8; 4_096]).unwrap();
        file.sync_data().unwrap();
        floor.push(nanos(start));
        let mutation = read(n % 40, T0 + n as u64);
        let start = Instant::now();
        store.update(&mutation, &NoFacts, &Cancel::new()).unwrap();
        marks.push(nanos(start));
        // What is read already, and what the session does when nobody waits.
        let mark = Mark::unless_read(Key::Channel(channel(n % 40)), T0 + n as u64, []);
        let again = Mutation::Read(Read { marks: vec![mark], ..Read::default() });
        let start = Instant::now();
        let saved = store.update(&again, &NoFacts, &Cancel::new()).unwrap();
        idle.push(nanos(start));
        assert_eq!(saved, Saved::Unchanged);
        store.tidy().unwrap();
    }
    let floor = median(floor);
    vec![
        Line { promise: "P11", name: "durable_mark", ratio: median(marks) as f64 / floor as f64, limit: 1.6 },
        Line { promise: "P11", name: "nothing_to_save", ratio: median(idle) as f64 / floor as f64, limit: 0.5 },
    ]
}
