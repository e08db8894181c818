//! Parses the command line, runs the command and returns its exit code.

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let code = match gridmark::cli::run(gridmark::cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let code = error.exit_code();
            gridmark::cli::print_error(&error.with_causes());
            code
        }
    };
    gridmark::telemetry::log::flush();
    code
}
