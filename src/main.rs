//! Flags in, exit code out.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match gridmark::cli::run(gridmark::cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let code = error.exit_code();
            gridmark::cli::print_error(&format!("{:#}", anyhow::Error::from(error)));
            code
        }
    }
}
