//! What every group of rows has in common.

use crate::world::{Facts, World};

/// The proof: nothing changed, and the session lives. What is wrong, in words.
pub(crate) async fn unchanged(world: &mut World, before: &Facts, row: &str, faults: &mut Vec<String>) {
    let after = world.facts().await;
    if after != *before {
        faults.push(format!("{row}: changed {}", before.differences(&after)));
    }
    if !world.is_alive().await {
        faults.push(format!("{row}: the session hears nothing any more"));
    }
}

/// Ends a group.
pub(crate) fn none(faults: Vec<String>) {
    assert!(faults.is_empty(), "{} rows do not hold:\n{}", faults.len(), faults.join("\n"));
}
