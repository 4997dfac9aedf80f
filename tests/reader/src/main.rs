//! The terminal reader. See the library for how it is made.

use std::process::ExitCode;

use clap::Parser as _;
use waggle_reader::run;

fn main() -> ExitCode {
    match run::main(run::Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            run::tell(&error);
            ExitCode::FAILURE
        }
    }
}
