//! Makes a failing plan small: takes out steps, then messages of the beginning, as long as the same invariant still breaks (delta
//! debugging over the list of steps: first halves, then ever smaller parts, until no single one can go).

use crate::plan::Plan;
use crate::run::{Failure, run};

/// Most runs one shrinking may take.
const RUNS: usize = 600;

struct Shrinker {
    invariant: &'static str,
    left: usize,
}

impl Shrinker {
    fn still_fails(&mut self, plan: &Plan) -> Option<Failure> {
        self.left = self.left.checked_sub(1)?;
        run(plan, None, false).failure.filter(|failure| failure.invariant == self.invariant)
    }

    /// Takes parts out of one of the plan's lists.
    fn thin<T: Clone>(&mut self, plan: &mut Plan, list: impl Fn(&mut Plan) -> &mut Vec<T>) {
        let mut part = list(plan).len().div_ceil(2);
        while part > 0 && self.left > 0 {
            let mut at = 0;
            let mut taken = false;
            while at < list(plan).len() {
                let mut smaller = plan.clone();
                let items = list(&mut smaller);
                items.drain(at..(at + part).min(items.len()));
                if self.still_fails(&smaller).is_some() {
                    *plan = smaller;
                    taken = true;
                } else {
                    at += part;
                }
            }
            if part == 1 && !taken {
                break;
            }
            part = if part == 1 { 1 } else { part.div_ceil(2) };
        }
    }
}

/// A smaller plan that breaks the same invariant.
pub fn shrink(plan: &Plan, failure: &Failure) -> Plan {
    let mut shrinker = Shrinker { invariant: failure.invariant, left: RUNS };
    let mut small = plan.clone();
    // What comes after the failing step cannot matter, unless it was seen at the end.
    if failure.step + 1 < small.steps.len() {
        let mut cut = small.clone();
        cut.steps.truncate(failure.step + 1);
        if shrinker.still_fails(&cut).is_some() {
            small = cut;
        }
    }
    shrinker.thin(&mut small, |plan| &mut plan.steps);
    shrinker.thin(&mut small, |plan| &mut plan.world.history);
    shrinker.thin(&mut small, |plan| &mut plan.steps);
    small
}
