//! Counting what passed and what failed, from the lines the tools print.

use std::fmt;

/// The outcome of a suite, or of all of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Names of what failed, where the tool tells them in a form that can be read.
    pub(crate) names: Vec<String>,
    /// What else there is to say about it.
    pub(crate) note: String,
}

impl Tally {
    /// A suite that could not be run.
    pub(crate) fn broken(why: String) -> Self {
        Self { failed: 1, note: why, ..Self::default() }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.names.extend(other.names.iter().cloned());
    }

    /// Counts a test that passed.
    pub(crate) fn pass(&mut self) {
        self.passed += 1;
    }

    /// Counts a test that failed, by its name.
    pub(crate) fn fail(&mut self, name: &str) {
        self.failed += 1;
        self.names.push(name.to_owned());
    }

    /// A suite that ran no test did not pass.
    pub(crate) fn of_at_least_one(self) -> Self {
        if self.passed + self.failed == 0 { Self::broken("no test was run".into()) } else { self }
    }

    /// The last line of every test command, and nothing else on it.
    pub(crate) fn closing_line(&self) -> String {
        format!("{} passed, {} failed", self.passed, self.failed)
    }

    /// Reads a line of that form.
    pub(crate) fn parse_closing_line(line: &str) -> Option<Self> {
        let (passed, failed) = line.trim().split_once(" passed, ")?;
        let failed = failed.strip_suffix(" failed")?;
        Some(Self { passed: passed.parse().ok()?, failed: failed.parse().ok()?, ..Self::default() })
    }

    /// Reads the line a Rust test program ends with: `test result: ok. 3 passed; 0 failed; …`.
    pub(crate) fn parse_rust_result(line: &str) -> Option<Self> {
        let rest = line.trim().strip_prefix("test result: ")?;
        let count =
            |what: &str| rest.split(['.', ';']).find_map(|part| part.trim().strip_suffix(what)?.trim().parse().ok());
        Some(Self { passed: count(" passed")?, failed: count(" failed")?, ..Self::default() })
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.closing_line())?;
        if self.note.is_empty() { Ok(()) } else { write!(f, "; {}", self.note) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64) -> Tally {
        Tally { passed, failed, ..Tally::default() }
    }

    #[test]
    fn rust_results() {
        let parse = Tally::parse_rust_result;
        let line =
            "test result: FAILED. 12 passed; 2 failed; 0 ignored; 0 measured; 14 filtered out; finished in 0.24s";
        assert_eq!(parse(line), Some(tally(12, 2)));
        assert_eq!(parse("test result: ok. 0 passed; 0 failed; 0 ignored"), Some(tally(0, 0)));
        for other in ["test a ... ok", "test result: 3", "3 passed, 0 failed", ""] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn closing_lines() {
        assert_eq!(Tally::parse_closing_line("146 passed, 0 failed"), Some(tally(146, 0)));
        assert_eq!(Tally::parse_closing_line(&tally(3, 4).closing_line()), Some(tally(3, 4)));
        for other in ["146 passed", "x passed, 0 failed", "1 passed, 0 failed (3 s)", ""] {
            assert_eq!(Tally::parse_closing_line(other), None, "{other}");
        }
    }

    #[test]
    fn a_broken_suite_is_one_failure() {
        let mut total = tally(3, 0);
        total.add(&Tally::broken("does not build".into()));
        assert_eq!(total, tally(3, 1));
        assert_eq!(Tally::broken("why".into()).to_string(), "0 passed, 1 failed; why");
        assert_eq!(Tally::default().of_at_least_one().failed, 1);
    }
}
