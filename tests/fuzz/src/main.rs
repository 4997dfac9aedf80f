//! The engine's program: one binary for all targets, so that one link serves them. `WAGGLE_FUZZ_TARGET` names the target.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use waggle_fuzz::{TARGETS, Target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let wanted = std::env::var("WAGGLE_FUZZ_TARGET").unwrap_or_default();
    let found = TARGETS.iter().find(|target| target.name == wanted);
    // `cargo xtask fuzz` names one that exists.
    found.copied().unwrap_or(TARGETS[0])
});

fuzz_target!(|data: &[u8]| {
    (TARGET.run)(data);
});
