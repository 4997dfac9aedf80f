//! Seeded chance.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// A generator; the same seed gives the same throws.
#[derive(Debug, Clone)]
pub struct Dice(ChaCha8Rng);

impl Dice {
    /// Dice of a seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Below `n`; 0 when there is nothing below it.
    pub fn below64(&mut self, n: u64) -> u64 {
        self.0.next_u64() % n.max(1)
    }

    /// Below `n`; 0 when there is nothing below it.
    pub fn below(&mut self, n: usize) -> usize {
        // `n` is small, so nothing is cut off.
        self.below64(n as u64) as usize
    }

    /// True in `percent` of a hundred throws.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below64(100) < percent
    }

    /// One of them; none of an empty list.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.below(all.len()))
    }
}
