//! A stored journal record, read from bytes: it is refused as damaged, or it is whole and can be worked with.

use waggle::ids::{ChannelId, EventId, SlotId};
use waggle::journal::{
    Key, LocalKey, Mark, Merge, Mutation, NoFacts, Override, Read, Record, Signed, Stored, StoredRow, apply,
};
use waggle::limits;

/// Takes bytes from the front; zeros when there are none left.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    /// A number near a bound, or any.
    fn number(&mut self) -> i64 {
        let n = i64::from(self.byte());
        match self.byte() % 8 {
            0 => n,
            1 => -n,
            2 => i64::from(u32::MAX) - 128 + n,
            3 => (1 << 53) - 128 + n,
            4 => i64::MAX - n,
            5 => i64::MIN + n,
            _ => 1_751_500_000 + 256 * n,
        }
    }

    fn some<T>(&mut self, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (self.byte() % 2 == 1).then(|| value(self))
    }

    fn slot(&mut self) -> String {
        match self.byte() {
            n @ 0..200 => format!("{:032x}", n % 8),
            n => "s".repeat(usize::from(n % 40)),
        }
    }

    fn channel(&mut self) -> String {
        match self.byte() {
            n @ 0..200 => ChannelId([n % 8; 16]).to_string(),
            n => "C".repeat(usize::from(n % 40)),
        }
    }

    fn key(&mut self) -> String {
        let id = EventId([self.byte() % 16; 32]);
        match self.byte() % 9 {
            0 => self.channel(),
            1 => format!("thread:{id}"),
            2 => format!("msg:{id}"),
            3 => format!("activity:{}", self.channel()),
            4 => format!("thread-activity:{id}"),
            5 => format!("msg:{}", self.byte()),
            6 => "k".repeat(usize::from(self.byte()) * 2),
            7 => String::new(),
            _ => format!("message-force:{}", self.channel()),
        }
    }

    fn many(&mut self) -> std::ops::Range<u8> {
        0..self.byte() % 12
    }

    fn row(&mut self) -> StoredRow {
        StoredRow {
            value: self.some(Self::number),
            reserved: self.byte().is_multiple_of(4),
            recent: self.number(),
            home: self.some(Self::channel),
            own: self.some(Self::number),
            slot: self.some(Self::slot),
        }
    }
}

pub(crate) fn run(data: &[u8]) {
    let mut bytes = Bytes(data);
    let stored = Stored {
        client_id: "c".repeat(usize::from(bytes.byte() % 68)),
        revision: bytes.number(),
        accepted_revision: bytes.number(),
        last_created_at: bytes.number(),
        slots: bytes.many().map(|_| bytes.slot()).collect(),
        rows: bytes.many().map(|_| (bytes.key(), bytes.row())).collect(),
        overrides: bytes.many().map(|_| (bytes.key(), [bytes.number(), bytes.number(), bytes.number()])).collect(),
        local: bytes.many().map(|_| (bytes.key(), bytes.number())).collect(),
        pending: bytes.many().map(|_| (bytes.slot(), bytes.number())).collect(),
        follows: bytes
            .many()
            .map(|_| (bytes.channel(), EventId([bytes.byte(); 32]).to_hex(), bytes.number(), bytes.number()))
            .collect(),
    };
    // A pending event's text is its slot here: what a verified event is, is the verifier's to say.
    let verify = |json: &str| {
        Some(Signed {
            id: EventId([7; 32]),
            created_at: u64::try_from(json.len()).ok()?,
            slot: SlotId::parse(json).ok()?,
        })
    };
    let Ok(mut record) = stored.validate(&verify) else { return };
    holds(&record);
    for _ in 0..8 {
        let mutation = mutation(&mut bytes, &record);
        let before = record.clone();
        match apply(&record, &mutation, &NoFacts) {
            Ok(diff) => record.adopt(&diff),
            Err(_) => assert!(record == before, "what does not apply changes nothing"),
        }
        holds(&record);
        for (key, row) in before.rows() {
            let still = record.row(key).and_then(|row| row.held).map(|held| held.value);
            let was = row.held.map(|held| held.value);
            assert!(still.is_none() || still >= was, "no frontier goes back");
        }
    }
}

/// The bounds and relations that a record promises.
fn holds(record: &Record) {
    let (bytes, keys) = record.journal_size();
    assert!(bytes <= limits::RECORD_BLOB_BYTES && keys <= limits::JOURNAL_KEYS);
    let (bytes, keys) = record.reserve_size();
    assert!(bytes <= limits::RESERVE_BYTES && keys <= limits::RESERVE_KEYS);
    let header = record.header();
    assert!(header.accepted_revision <= header.revision && !record.slots().is_empty());
    assert!(record.slots().len() <= limits::SLOTS && record.follows().len() <= limits::FOLLOWS);
    assert!(record.local_marks().all(|(_, revision)| (1..=header.revision).contains(&revision)));
    assert!(record.own().all(|(key, own)| !key.is_message() && own.slot.is_none_or(|s| record.slots().contains(&s))));
    assert!(record.pending().iter().all(|p| record.slots().contains(&p.slot) && p.revision <= header.revision));
}

fn mutation(bytes: &mut Bytes<'_>, record: &Record) -> Mutation {
    let key = |bytes: &mut Bytes<'_>| Key::parse(&bytes.key()).unwrap_or(Key::Channel(ChannelId([1; 16])));
    let local = |bytes: &mut Bytes<'_>| LocalKey::parse(&bytes.key()).unwrap_or(LocalKey::Channel(ChannelId([1; 16])));
    let value = |bytes: &mut Bytes<'_>| bytes.number().unsigned_abs();
    let short = |bytes: &mut Bytes<'_>| u32::try_from(bytes.number()).unwrap_or(7);
    let slot = record.slots().first().copied().unwrap_or(SlotId([0; 16]));
    match bytes.byte() % 7 {
        0 => Mutation::MarkUnread(local(bytes)),
        1 => Mutation::ClearUnread(vec![local(bytes), local(bytes)]),
        2 => Mutation::Merge(Merge {
            frontiers: vec![(key(bytes), short(bytes))],
            overrides: vec![(key(bytes), Override { set: short(bytes), clear: short(bytes), baseline: short(bytes) })],
            own: vec![(key(bytes), short(bytes), slot)],
        }),
        3 => Mutation::Assign { add: vec![SlotId([bytes.byte(); 16])], carry: vec![(key(bytes), slot)] },
        4 => Mutation::ReplaceSlot { lost: slot, fresh: SlotId([bytes.byte(); 16]) },
        5 => Mutation::Reconcile { events: vec![EventId([7; 32])], accepted: bytes.some(value) },
        _ => Mutation::Read(Read {
            marks: vec![
                Mark::always(key(bytes), value(bytes)),
                Mark::unless_read(key(bytes), value(bytes), [key(bytes)]),
            ],
            clear: vec![local(bytes)],
            fences: Vec::new(),
        }),
    }
}
