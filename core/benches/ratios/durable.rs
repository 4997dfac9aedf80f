//! P9 to P11: read state and the journal's disk.

use std::io::{Seek as _, SeekFrom, Write as _};
use std::sync::Arc;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20::cipher::{KeyIvInit as _, StreamCipher as _};
use sha2::{Digest as _, Sha256};
use waggle::event::{SharedEvent, Verifier};
use waggle::identity::{LocalCipher, Secret, SelfCipher as _};
use waggle::journal::{Fresh, Merge, Mutation, NoFacts, apply};
use waggle::read_state::blob;
use waggle::store::journal::{Cancel, JournalStore as _, NoHooks, Partition, SqliteJournal};

use crate::counting::{read, record};
use crate::fixtures::{Signed, Signer, T0};
use crate::{Line, ROUNDS, minima, time};

fn cipher() -> (Signer, LocalCipher) {
    let secret = Sha256::digest(b"waggle/bench/viewer");
    let secret = Secret::from_bytes(secret.into()).unwrap();
    (Signer::new("viewer"), LocalCipher::new(&secret).unwrap())
}

/// A blob of about `bytes` bytes of plaintext.
fn plaintext(n: usize, bytes: usize) -> String {
    let mut contexts = String::new();
    let mut k = 0;
    while contexts.len() + 64 < bytes {
        let channel = format!("{n:08x}-{k:04x}-4000-8000-000000000000");
        contexts.push_str(&format!("{}\"{channel}\":{}", if k == 0 { "" } else { "," }, T0 + k));
        k += 1;
    }
    format!("{{\"v\":1,\"client_id\":\"client-{n}\",\"contexts\":{{{contexts}}}}}")
}

/// P9: own snapshot of 4,096 events / 7.5 MB: verify, decrypt and merge, with the one key derivation there is.
pub(crate) fn snapshot() -> Vec<Line> {
    let (signer, cipher) = cipher();
    let events: Vec<Signed> = (0..4_096u32)
        .map(|n| {
            let nonce = Sha256::digest(n.to_be_bytes()).into();
            let content = cipher.encrypt(&plaintext(n as usize, 1_020), nonce).unwrap();
            let slot = &hex::encode(Sha256::digest(n.to_le_bytes()))[..32];
            let tags =
                vec![vec!["d".to_owned(), format!("read-state:{slot}")], vec!["t".to_owned(), "read-state".to_owned()]];
            signer.sign(30078, T0, tags, &content)
        })
        .collect();
    let verifier = Verifier::new();
    let mut best = [u64::MAX; 2];
    for _ in 0..5 {
        verifier.forget();
        let mut record = record(9);
        let (mut f1, mut spent) = (0, 0);
        for part in events.chunks(256) {
            f1 += time(|| {
                for e in part {
                    secp256k1::SECP256K1.verify_schnorr(&e.sig, &e.id.0, &e.key).unwrap();
                }
            });
            spent += time(|| {
                let verified: Vec<SharedEvent> = part.iter().map(|e| verifier.event(&e.json).unwrap()).collect();
                let mut merge = Merge::default();
                for event in &verified {
                    let plain = cipher.decrypt(&event.content).unwrap();
                    merge.frontiers.extend(blob::parse(plain.as_bytes()).unwrap().state.frontiers);
                }
                // More keys than a record keeps: the merge works under full pressure only once.
                merge.frontiers.truncate(100);
                let diff = apply(&record, &Mutation::Merge(merge), &NoFacts).unwrap();
                record.adopt(&diff);
            });
        }
        best = [best[0].min(f1), best[1].min(spent)];
    }
    vec![Line { promise: "P9", name: "snapshot_of_4096_events", ratio: best[1] as f64 / best[0] as f64, limit: 1.25 }]
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

/// P11: one durable read mark over one 4 KiB write and its fdatasync, by medians; and bytes a mark writes.
pub(crate) fn durable_mark() -> Vec<Line> {
    const MARKS: usize = 201;
    let dir = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
    let partition = Partition { host: "relay.example".to_owned(), account: Signer::new("viewer").key() };
    let mut entropy = waggle::entropy::Entropy::from_seed(11);
    let fresh = Fresh { slot: entropy.slot(), client_id: entropy.uuid() };
    let mut store =
        SqliteJournal::open(&dir.path().join("journal.sqlite"), partition, fresh, Arc::new(NoHooks)).unwrap();
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
        let start = Instant::now();
        let again = Mutation::ClearUnread(Vec::new());
        store.update(&again, &NoFacts, &Cancel::new()).unwrap();
        idle.push(nanos(start));
    }
    let floor = median(floor);
    vec![
        Line { promise: "P11", name: "durable_mark", ratio: median(marks) as f64 / floor as f64, limit: 1.6 },
        Line { promise: "P11", name: "nothing_to_save", ratio: median(idle) as f64 / floor as f64, limit: 0.5 },
    ]
}
