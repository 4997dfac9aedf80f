//! Every invariant is seen to fail: something is done wrong on purpose, and the invariant aimed at finds it within a few seeds.

#![allow(clippy::unwrap_used, reason = "a test")]

use waggle_simulation::generate::plan;
use waggle_simulation::run::run;
use waggle_simulation::sabotage::Sabotage;

/// Seeds tried until it is noticed.
const SEEDS: u64 = 60;

fn caught(sabotage: Sabotage, invariants: &[&str]) {
    for seed in 1..=SEEDS {
        let Some(failure) = run(&plan(seed), Some(sabotage), false).failure else { continue };
        assert!(invariants.contains(&failure.invariant), "{sabotage:?} is noticed as {failure}");
        return;
    }
    panic!("{sabotage:?} is never noticed");
}

#[test]
fn lost_saves_are_caught() {
    caught(Sabotage::LoseSaves, &["lost"]);
}

#[test]
fn a_lowered_frontier_is_caught() {
    caught(Sabotage::LowerFrontier, &["lowered", "lost"]);
}

#[test]
fn reading_early_is_caught() {
    caught(Sabotage::ReadEarly, &["early"]);
}

#[test]
fn a_count_too_high_is_caught() {
    caught(Sabotage::CountTooMany, &["count"]);
}

#[test]
fn a_made_up_zero_is_caught() {
    caught(Sabotage::InventZero, &["count"]);
}

#[test]
fn a_lost_manual_mark_is_caught() {
    caught(Sabotage::LoseManual, &["manual"]);
}

#[test]
fn devices_that_never_agree_are_caught() {
    caught(Sabotage::NeverConverge, &["converge"]);
}

#[test]
fn requests_over_a_limit_are_caught() {
    caught(Sabotage::ExceedLimits, &["limit"]);
}

#[test]
fn refused_requests_are_caught() {
    caught(Sabotage::BeRefused, &["refused"]);
}

#[test]
fn private_marks_on_the_relay_are_caught() {
    caught(Sabotage::PublishPrivate, &["bound"]);
}

#[test]
fn a_call_that_never_ends_is_caught() {
    caught(Sabotage::Hang, &["hang"]);
}

#[test]
fn a_lost_row_is_caught() {
    caught(Sabotage::LoseRow, &["timeline"]);
}
