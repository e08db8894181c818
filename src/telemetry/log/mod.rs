//! Sets up what is told on standard error.

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
    /// Nothing is logged any more.
    #[error("the level of the log cannot be changed")]
    Over(#[from] reload::Error),
}

/// Who reads the log, as far as its format depends on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Nobody knows: a file, another program.
    Unknown,
    /// A terminal that shows colours.
    Terminal,
    /// The journal of systemd, which has times, and levels, of its own.
    Journal,
}

impl Reader {
    /// Who reads standard error.
    pub fn of_standard_error() -> Reader {
        let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if is_journal() {
            Reader::Journal
        } else if io::stderr().is_terminal() && !is_unwanted {
            Reader::Terminal
        } else {
            Reader::Unknown
        }
    }
}

/// Changes what is logged.
pub struct Control {
    filter: reload::Handle<EnvFilter, Registry>,
}

impl Control {
    /// Logs by this level from now on.
    ///
    /// # Errors
    ///
    /// It is none, or nothing is logged any more.
    pub fn set_level(&self, level: &str) -> Result<(), Error> {
        Ok(self.filter.reload(filter(level)?)?)
    }
}

/// Logs to standard error from now on, for all of the process.
///
/// # Errors
///
/// The level is none, or the process logs already.
pub fn start(log: &config::Log) -> Result<Control, Error> {
    let (subscriber, control) = subscriber(log, Reader::of_standard_error(), io::stderr)?;
    tracing::subscriber::set_global_default(subscriber)?;
    Ok(control)
}

/// What writes log lines to `writer`, in the format for this reader; and what controls it.
///
/// # Errors
///
/// The level is none.
pub fn subscriber<W>(
    log: &config::Log,
    reader: Reader,
    writer: W,
) -> Result<(Box<dyn Subscriber + Send + Sync>, Control), Error>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (filter, handle) = reload::Layer::new(filter(&log.level)?);
    // Telling on standard error that standard error is closed would end in a panic.
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
