//! Sets up what is told on standard error.

use crate::config;
use std::io::{self, IsTerminal};
use tracing::Subscriber;
use tracing_subscriber::filter::{EnvFilter, ParseError};
use tracing_subscriber::fmt::MakeWriter;

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The setting of the level is none.
    #[error("the setting log.level is `{level}`, which is no level")]
    Level {
        /// The setting.
        level: String,
        /// What is wrong with it.
        source: ParseError,
    },
    /// This process logs already.
    #[error("the log is set up twice in one process")]
    Twice(#[from] tracing::subscriber::SetGlobalDefaultError),
}

/// Logs to standard error from now on, for all of the process.
///
/// # Errors
///
/// The level is none, or the process logs already.
pub fn start(log: &config::Log) -> Result<(), Error> {
    let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = io::stderr().is_terminal() && !is_unwanted;
    tracing::subscriber::set_global_default(subscriber(log, colour, io::stderr)?)?;
    Ok(())
}

/// What writes log lines to `writer`, with `colour` if the format may have it.
///
/// # Errors
///
/// The level is none.
pub fn subscriber<W>(
    log: &config::Log,
    colour: bool,
    writer: W,
) -> Result<Box<dyn Subscriber + Send + Sync>, Error>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = EnvFilter::builder()
        .parse(&log.level)
        .map_err(|source| Error::Level { level: log.level.clone(), source })?;
    // Telling on standard error that standard error is closed would end in a panic.
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .log_internal_errors(false);
    Ok(match log.format {
        config::LogFormat::Auto => Box::new(lines.with_ansi(colour).finish()),
        config::LogFormat::Human => Box::new(lines.with_ansi(false).finish()),
        config::LogFormat::Json => {
            Box::new(lines.with_ansi(false).json().flatten_event(true).finish())
        }
    })
}
