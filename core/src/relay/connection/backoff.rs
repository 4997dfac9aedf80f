//! Waits between attempts to connect.

use crate::entropy::Entropy;
use crate::limits;

/// Immediate, then 1 s doubling to 60 s; half of each wait is random, so that the devices of a restarted relay spread.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Milliseconds to wait after one more failure.
    pub(super) fn next(&mut self, entropy: &mut Entropy) -> u64 {
        let before = self.failures;
        self.failures = self.failures.saturating_add(1);
        let Some(doublings) = before.checked_sub(1) else { return 0 };
        let full = limits::RECONNECT_FIRST_MS.saturating_mul(1 << doublings.min(16)).min(limits::RECONNECT_MAX_MS);
        full / 2 + entropy.below(full / 2 + 1)
    }

    /// After success.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R25c: no wait, with an attempt's deadlines added, reaches 120 s.
    #[test]
    fn immediate_then_doubling_to_a_minute() {
        for seed in 0..50 {
            let mut entropy = Entropy::from_seed(seed);
            let mut backoff = Backoff::default();
            assert_eq!(backoff.next(&mut entropy), 0);
            for n in 0..100u32 {
                let full = (1_000u64 << n.min(20)).min(60_000);
                let wait = backoff.next(&mut entropy);
                assert!((full / 2..=full).contains(&wait), "{wait} of {full}");
            }
            backoff.reset();
            assert_eq!(backoff.next(&mut entropy), 0);
        }
        let attempt = limits::DISCOVERY_DEADLINE_MS + limits::DIAL_DEADLINE_MS + 3 * limits::SIGN_IN_STEP_MS;
        assert!(attempt + limits::RECONNECT_MAX_MS < 120_000);
    }
}
