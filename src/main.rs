//! Flags in, exit code out.

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match gridmark::cli::run(gridmark::cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let code = error.exit_code();
            // Where standard error is closed too, the exit code is all that can be told.
            let _ = writeln!(std::io::stderr(), "gridmark: {:#}", anyhow::Error::from(error));
            code
        }
    }
}
