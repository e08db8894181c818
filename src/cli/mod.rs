//! The commands that people type.
//!
//! Each command is a module with its `Args` and its `run`.

pub mod config;
pub mod serve;

use clap::{CommandFactory, Parser, Subcommand};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// Grades sudoku submissions: killer, classic and hexudoku.
#[derive(Debug, Parser)]
#[command(name = "gridmark", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service: grade what is dropped into the inbox
    Serve(serve::Args),
    /// Show the settings in force and where each came from, or check a settings file
    Config(config::Args),
}

/// Does what the command line says.
///
/// # Errors
///
/// Whatever kept the command from being done.
pub fn run(cli: Cli) -> Result<ExitCode, Error> {
    match cli.command {
        None => {
            Cli::command().print_help().map_err(Error::Output)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Serve(args)) => serve::run(args),
        Some(Command::Config(args)) => config::run(args),
    }
}

/// Why a command was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be used.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried: `read`, `write`, `create`, ...
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Standard output cannot be written.
    #[error("cannot write to standard output")]
    Output(#[source] io::Error),
    /// The settings are wrong.
    #[error(transparent)]
    Config(#[from] crate::config::Error),
    /// The log cannot be set up.
    #[error(transparent)]
    Log(#[from] crate::log::Error),
    /// The service cannot run.
    #[error(transparent)]
    Service(#[from] crate::service::Error),
    /// The command was not typed as it must be.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// Whether whoever read our standard output has read enough (`gridmark ... | head`), which is
    /// no failure.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Output(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The exit code of the process: 2 if the command was typed wrongly, else 1.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::Usage(_) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}
