//! Every input worth keeping, through the same functions that fuzzing runs: what was found once stays found.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::path::Path;

use waggle_fuzz::TARGETS;

#[test]
fn the_corpus_holds() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in TARGETS {
        let folder = corpus.join(target.name);
        let mut inputs: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        assert!(inputs.len() >= 5, "{} has {} inputs", target.name, inputs.len());
        for input in inputs {
            let data = fs::read(&input).unwrap();
            let run = std::panic::catch_unwind(|| (target.run)(&data));
            assert!(run.is_ok(), "{} does not hold any more", input.display());
        }
    }
}

/// Inputs of the corpus, shaken: bytes changed, cut, doubled and crossed by a fixed chance. Without an engine's guidance, but on every run, and as many
/// as `WAGGLE_FUZZ_EXECUTIONS` says.
#[test]
fn shaken_inputs_hold() {
    let executions = std::env::var("WAGGLE_FUZZ_EXECUTIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(300u64);
    let only = std::env::var("WAGGLE_FUZZ_TARGET").ok();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for target in TARGETS.iter().filter(|t| only.as_ref().is_none_or(|only| only == t.name)) {
        let mut inputs: Vec<_> = fs::read_dir(corpus.join(target.name)).unwrap().map(|e| e.unwrap().path()).collect();
        inputs.sort();
        let inputs: Vec<Vec<u8>> = inputs.iter().map(|path| fs::read(path).unwrap()).collect();
        let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
        for n in 0..executions {
            let data = shaken(&inputs, target.longest, &mut chance);
            let run = std::panic::catch_unwind(|| (target.run)(&data));
            assert!(
                run.is_ok(),
                "{} does not hold for execution {n}: {:?}",
                target.name,
                String::from_utf8_lossy(&data)
            );
        }
    }
}

/// xorshift: the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n.max(1) as u64).unwrap()
    }
}

fn shaken(inputs: &[Vec<u8>], longest: usize, chance: &mut Chance) -> Vec<u8> {
    /// What parsers look at.
    const WORDS: [&str; 16] = [
        "\"",
        "\\",
        "{",
        "[",
        "]",
        "null",
        "-1",
        "4294967296",
        "1e99",
        "\u{0}",
        "é",
        "read-state:",
        "ov_s:",
        "esc:",
        ",",
        "\n",
    ];
    let mut data = inputs[chance.below(inputs.len())].clone();
    for _ in 0..=chance.below(4) {
        let at = chance.below(data.len() + 1);
        let to = at + chance.below(data.len() + 1 - at).min(32);
        match chance.below(6) {
            0 if at < data.len() => data[at] ^= 1 << chance.below(8),
            1 if at < data.len() => data[at] = u8::try_from(chance.below(256)).unwrap(),
            2 => drop(data.drain(at..to)),
            3 => drop(data.splice(at..at, WORDS[chance.below(WORDS.len())].bytes())),
            4 => {
                let part = data[at..to].to_vec();
                data.splice(at..at, part);
            }
            _ => {
                let other = &inputs[chance.below(inputs.len())];
                let from = chance.below(other.len() + 1);
                data.truncate(at);
                data.extend_from_slice(&other[from..]);
            }
        }
    }
    data.truncate(longest);
    data
}

#[test]
fn every_corpus_folder_has_its_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for entry in fs::read_dir(corpus).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(TARGETS.iter().any(|t| t.name == name), "{name} is nobody's corpus");
    }
}
