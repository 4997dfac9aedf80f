//! Maps keyed by ids.
//!
//! An event id is a hash already, and a channel id is random, so their first eight bytes spread well; hashing all 32 or 48 bytes of a
//! key again cost a tenth of a live event. Somebody may grind ids into one bucket, but no map here holds more than a few thousand, so
//! that buys them milliseconds. There is no seed: the same events give the same tables.

use std::hash::{BuildHasherDefault, Hasher};

/// A map keyed by ids or tuples of them.
pub(crate) type IdMap<K, V> = hashbrown::HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// A set of ids.
pub(crate) type IdSet<K> = hashbrown::HashSet<K, BuildHasherDefault<IdHasher>>;

/// Folds the first eight bytes of every id of the key.
#[derive(Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        let word = bytes.first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk));
        // An odd constant with well mixed bits; the table uses the upper bits too.
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    // Lengths of arrays say nothing.
    fn write_usize(&mut self, _: usize) {}

    fn write_u8(&mut self, value: u8) {
        self.0 = self.0.rotate_left(1) ^ u64::from(value);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
