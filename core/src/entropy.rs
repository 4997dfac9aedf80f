//! Randomness as an argument: one generator per engine, seeded from the operating system or, in tests, from a number.
//!
//! Only this module may ask the operating system for randomness (policy test).

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;

use crate::error::Error;
use crate::ids::SlotId;

/// A cryptographic generator whose output follows from its seed.
pub struct Entropy(ChaCha20Rng);

impl Entropy {
    /// Seeded by the operating system. Fails with [`Error::Unsupported`] where there is none.
    pub fn from_os() -> Result<Self, Error> {
        let mut seed = [0u8; 32];
        getrandom::fill(&mut seed).map_err(|_| Error::Unsupported { what: "system randomness" })?;
        Ok(Self(ChaCha20Rng::from_seed(seed)))
    }

    /// The same number gives the same sequence.
    pub fn from_seed(seed: u64) -> Self {
        Self(ChaCha20Rng::seed_from_u64(seed))
    }

    /// `N` random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0u8; N];
        self.0.fill_bytes(&mut out);
        out
    }

    /// A number below `bound` (which is at least 1), for jitter.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound.max(1)
    }

    /// A new random slot.
    pub fn slot(&mut self) -> SlotId {
        SlotId(self.bytes())
    }

    /// A random UUIDv4 in text form, for client ids.
    pub fn uuid(&mut self) -> String {
        uuid::Builder::from_random_bytes(self.bytes()).into_uuid().to_string()
    }

    /// A generator of its own for another owner, derived from this one.
    pub fn fork(&mut self) -> Self {
        Self(ChaCha20Rng::from_seed(self.bytes()))
    }
}

impl std::fmt::Debug for Entropy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Entropy(…)")
    }
}
