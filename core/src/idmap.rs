//! Maps keyed by ids.
//!
//! An event id is a hash already, and a channel id is random, so their first eight bytes differ; hashing all 32 or 48 bytes of a
//! key again cost a tenth of a live event. They are folded by a full multiplication, whose upper half goes into the lower: ids that differ in
//! a few bits only, as numbered or dated UUIDs do, spread as well. Somebody may grind ids into one bucket, but no map here holds more than a
//! few thousand, so that buys them milliseconds. There is no seed: the same events give the same tables.

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
        // An odd constant with well mixed bits. Without the upper half, bits only ever move upwards, and the table is indexed by the lowest.
        let product = u128::from(self.0.rotate_left(23) ^ word) * 0x9e37_79b9_7f4a_7c15;
        #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
        let halves = (product as u64, (product >> 64) as u64);
        self.0 = halves.0 ^ halves.1;
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::Hash as _;

    use super::*;
    use crate::ids::ChannelId;

    /// P6: numbered ids, wherever in the first eight bytes the number stands, do not fall into the same buckets.
    #[test]
    fn ids_that_differ_little_spread() {
        for shift in 0..6 {
            let hash = |n: u16| {
                let mut id = [0x40; 16];
                id[shift..shift + 2].copy_from_slice(&n.to_be_bytes());
                let mut hasher = IdHasher::default();
                ChannelId(id).hash(&mut hasher);
                hasher.finish()
            };
            let buckets: HashSet<u64> = (0..4_096).map(|n| hash(n) % 4_096).collect();
            // Chance fills 63 of 100.
            assert!(buckets.len() > 2_000, "{shift}: {} of 4,096 buckets", buckets.len());
        }
    }
}
