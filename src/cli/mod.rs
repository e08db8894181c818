//! The commands that people type.
//!
//! Each command is a module with its `Args` and its `run`.

pub mod backup;
mod chunks;
pub mod completions;
pub mod config;
pub mod doctor;
mod draw;
pub mod event;
pub mod fill;
pub mod generate;
pub mod grade;
pub mod health;
pub mod judge;
pub mod judges;
mod listing;
pub mod man;
pub mod puzzle;
pub mod reload;
pub mod retry;
mod screen;
pub mod serve;
mod table;
mod target;
pub mod verify;
mod walk;
pub mod why;

use crate::config::{Loaded, Origin};
use crate::model::escape;
use crate::telemetry::log;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, Parser, Subcommand};
use gridmark_core::Kind;
use gridmark_core::judge::Tier;
use gridmark_core::judge::kernel::UnsupportedTier;
use gridmark_core::puzzle::text::{ReadError, WriteError};
use rustix::process::Signal;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// Grades sudoku submissions: killer, classic and hexudoku.
#[derive(Debug, Parser)]
#[command(name = "gridmark", version, after_help = FIRST_STEPS)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

/// The environment variable that sets the kernels.
const TIER_VARIABLE: &str = "GRIDMARK_GRADE_TIER";

const FIRST_STEPS: &str = "\
First steps:
  gridmark serve            Then put files into the folder inbox; the marks appear in reports.
  gridmark grade FILE       Mark one file now.
  gridmark COMMAND --help   What a command takes, and its exit codes.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service: grade what is dropped into the inbox
    Serve(serve::Args),
    /// Say why a file has not been graded, or how it was
    Why(why::Args),
    /// Check this machine before the event
    Doctor(doctor::Args),
    /// Say whether the service is ready or alive
    Health(health::Args),
    /// Make the running service read its settings again
    Reload(reload::Args),
    /// Return quarantined submissions to the inbox
    Retry(retry::Args),
    /// Check that archive, ledger and reports agree, or rebuild reports
    Verify(verify::Args),
    /// Copy ledger, archive and reports, even while the service runs
    Backup(backup::Args),
    /// Print the answers that the source problems ask for
    Judge(judge::Args),
    /// Mark files and explain the marks
    Grade(grade::Args),
    /// Fill hexudoku boards as Lazy Larry does
    Fill(fill::Args),
    /// Generate cases whose right answers are known
    Generate(generate::Args),
    /// Convert and draw puzzles, in every format of the field
    Puzzle(puzzle::Args),
    /// Create and check the folder that defines a tournament
    Event(event::Args),
    /// Say who may judge, and set the director's passphrase
    Judges(judges::Args),
    /// Show the settings in force and where each came from, or check a settings file
    Config(config::Args),
    /// Print the completion script of a shell
    Completions(completions::Args),
    /// Print the manual
    Man(man::Args),
}

/// Runs the command.
///
/// # Errors
///
/// The command failed; the error says why.
pub fn run(cli: Cli) -> Result<ExitCode, Error> {
    survive_file_size_limit();
    match cli.command {
        None => {
            Cli::command().print_help().map_err(Error::Output)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Serve(args)) => serve::run(args),
        Some(Command::Why(args)) => why::run(args),
        Some(Command::Doctor(args)) => doctor::run(args),
        Some(Command::Health(args)) => health::run(args),
        Some(Command::Reload(args)) => reload::run(args),
        Some(Command::Retry(args)) => retry::run(args),
        Some(Command::Verify(args)) => verify::run(args),
        Some(Command::Backup(args)) => backup::run(args),
        Some(Command::Judge(args)) => judge::run(args),
        Some(Command::Grade(args)) => grade::run(args),
        Some(Command::Fill(args)) => fill::run(args),
        Some(Command::Generate(args)) => generate::run(args),
        Some(Command::Puzzle(args)) => puzzle::run(args),
        Some(Command::Event(args)) => event::run(args),
        Some(Command::Judges(args)) => judges::run(args),
        Some(Command::Config(args)) => config::run(args),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Man(args)) => man::run(&args),
    }
}

/// Handles SIGXFSZ, so that a write beyond the file size limit (`ulimit -f`) fails with an error that
/// can be reported; by default the signal ends the process.
fn survive_file_size_limit() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    if let Ok(runtime) = runtime {
        let _inside = runtime.enter();
        // The handler stays when the runtime is gone. Without it the limit ends the process, and
        // nothing else changes.
        let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
    }
}

/// Prints an error on standard error, on one line, with names and values escaped.
pub fn print_error(message: &str) {
    let prefix = if log::is_journal() { log::ERROR_PREFIX } else { "" };
    log::print(&format!("{prefix}gridmark: {}", escape::line(&message)));
}

/// The kernels for commands without a settings file: those that `GRIDMARK_GRADE_TIER` names, or the
/// fastest.
fn tier() -> Result<Tier, Error> {
    let variable = config::variables()?.into_iter().find(|(name, _)| name == TIER_VARIABLE);
    let loaded = crate::config::load(None, variable.into_iter(), [])?;
    tier_of(&loaded)
}

/// The kernels that the settings name.
fn tier_of(loaded: &Loaded) -> Result<Tier, Error> {
    Tier::from_setting(&loaded.settings.grade.tier).map_err(|source| {
        let origin = loaded.origin("grade.tier").clone();
        Error::Tier { origin, source }
    })
}

/// The parser of a kind on the command line.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::word)).try_map(|word| word.parse::<Kind>())
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be used.
    #[error("cannot {doing} {}", escape::path(path))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation: `read`, `write`, `create`, ...
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
    /// The kernels that are set cannot run here.
    #[error("{origin}: `grade.tier`")]
    Tier {
        /// Where they are set.
        origin: Origin,
        /// Why not.
        source: UnsupportedTier,
    },
    /// The log cannot be set up.
    #[error(transparent)]
    Log(#[from] crate::telemetry::log::Error),
    /// The service cannot run.
    #[error(transparent)]
    Service(#[from] crate::service::Error),
    /// A file of puzzles cannot be read.
    #[error("{}", escape::path(path))]
    Puzzle {
        /// The file.
        path: PathBuf,
        /// Why not, and where.
        source: ReadError,
    },
    /// A puzzle does not fit a format.
    #[error("cannot convert {name}")]
    Convert {
        /// The file and the number of the puzzle in it.
        name: String,
        /// What does not fit.
        source: WriteError,
    },
    /// Archive, ledger and reports cannot be compared.
    #[error(transparent)]
    Verify(crate::audit::verify::Error),
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// Makes an error of what the system answered when `doing` failed on `path`.
    fn io(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
        move |source| Error::Io { path: path.to_owned(), doing, source }
    }

    /// What went wrong and why, on one line.
    pub fn with_causes(&self) -> String {
        escape::with_causes(self)
    }

    /// Turns a refused setting into a usage error: trying again cannot help. A settings file that
    /// cannot be read stays as it is, since it may be there the next time.
    fn into_usage_error(self) -> Error {
        match self {
            Error::Config(crate::config::Error::Read { .. }) => self,
            Error::Config(_) | Error::Tier { .. } => Error::Usage(self.with_causes()),
            other => other,
        }
    }

    /// Whether this is an I/O error on this file or folder.
    fn concerns(&self, file: &Path) -> bool {
        matches!(self, Error::Io { path, .. } if path == file)
    }

    /// Whether the reader of standard output is gone (`gridmark ... | head`), which is no failure.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Output(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// The exit code of the process: 2 for a usage error or a refused setting, else 1.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Error::Usage(_) | Error::Service(crate::service::Error::Overlap(_)) => {
                ExitCode::from(2)
            }
            _ => ExitCode::FAILURE,
        }
    }
}
