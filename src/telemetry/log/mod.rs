//! Sets up log lines on standard error.

mod journal;

pub use journal::{ERROR_PREFIX, is_journal};

use crate::config;
use std::io::{self, IsTerminal};
use tracing::Subscriber;
use tracing_subscriber::filter::{EnvFilter, ParseError};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::reload;

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The setting is not a level.
    #[error(
        "the setting log.level is `{level}`, which is not a level; expected off, error, warn, info, debug or trace"
    )]
    Level {
        /// The setting.
        level: String,
        /// What is wrong with it.
        source: ParseError,
    },
    /// The log of this process is set up already.
    #[error("the log of this process is set up already")]
    Twice(#[from] tracing::subscriber::SetGlobalDefaultError),
    /// The log has ended.
    #[error("cannot change the log level: the log has ended")]
    Over(#[from] reload::Error),
}

/// The reader of the log, as far as the format depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Not known: a file, or another program.
    Unknown,
    /// A terminal that may show colours.
    Terminal,
    /// The journal of systemd, which adds times and levels itself.
    Journal,
}

impl Reader {
    /// The reader of standard error.
    pub fn of_standard_error() -> Reader {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if is_journal() {
            Reader::Journal
        } else if io::stderr().is_terminal() && !no_color {
            Reader::Terminal
        } else {
            Reader::Unknown
        }
    }
}

/// Changes the log level.
pub struct Control {
    filter: reload::Handle<EnvFilter, Registry>,
}

impl Control {
    /// Sets the level.
    ///
    /// # Errors
    ///
    /// It is not a level, or the log has ended.
    pub fn set_level(&self, level: &str) -> Result<(), Error> {
        Ok(self.filter.reload(filter(level)?)?)
    }
}

/// Starts logging to standard error.
///
/// # Errors
///
/// The level is not one, or the log of this process is set up already.
pub fn start(log: &config::Log) -> Result<Control, Error> {
    let (subscriber, control) = subscriber(log, Reader::of_standard_error(), io::stderr)?;
    tracing::subscriber::set_global_default(subscriber)?;
    Ok(control)
}

/// A subscriber that writes log lines to `writer` in the format for this reader, and its control.
///
/// # Errors
///
/// The level is not one.
pub fn subscriber<W>(
    log: &config::Log,
    reader: Reader,
    writer: W,
) -> Result<(Box<dyn Subscriber + Send + Sync>, Control), Error>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(filter(&log.level)?);
    // Reporting on standard error that standard error is closed would panic.
    let lines = fmt::layer().with_writer(writer).log_internal_errors(false).with_ansi(false);
    let lines = match (log.format, reader) {
        (config::LogFormat::Json, _) => lines.json().flatten_event(true).boxed(),
        (config::LogFormat::Auto, Reader::Journal) => lines.event_format(journal::Lines).boxed(),
        (config::LogFormat::Auto, Reader::Terminal) => lines.with_ansi(true).boxed(),
        (config::LogFormat::Auto | config::LogFormat::Human, _) => lines.boxed(),
    };
    let subscriber = tracing_subscriber::registry().with(filter).with(lines);
    Ok((Box::new(subscriber), Control { filter: handle }))
}

fn filter(level: &str) -> Result<EnvFilter, Error> {
    let parsed = EnvFilter::builder().parse(level);
    parsed.map_err(|source| Error::Level { level: level.to_owned(), source })
}
