//! Sets up log lines on standard error. Its reader may stop reading, and nothing waits for it (`writer`).

mod journal;
mod one_line;
mod writer;

pub use journal::{ERROR_PREFIX, is_journal};

use crate::config;
use crate::telemetry::emit;
use one_line::OneLine;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::OnceLock;
use tracing::Subscriber;
use tracing_subscriber::filter::{EnvFilter, ParseError};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;
use tracing_subscriber::reload;
use writer::Lines;

/// The lines of the log of this process, once it is started.
static LINES: OnceLock<Lines> = OnceLock::new();

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
    /// The system gives no thread for it.
    #[error("cannot start the thread that writes log lines")]
    Thread(#[source] io::Error),
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

/// Starts logging to standard error. From then on panics are logged too.
///
/// # Errors
///
/// The level is not one, the log of this process is set up already, or the system gives no thread.
pub fn start(log: &config::Log) -> Result<Control, Error> {
    let lines = Lines::new(log.pending_bytes_max);
    let (subscriber, control) = subscriber(log, Reader::of_standard_error(), lines.clone())?;
    tracing::subscriber::set_global_default(subscriber)?;
    lines.start(io::stderr()).map_err(Error::Thread)?;
    // The log of a process is set up once, as the subscriber is.
    let _ = LINES.set(lines);
    // The standard hook writes to standard error itself, and could wait for its reader for ever.
    std::panic::set_hook(Box::new(panicked));
    Ok(control)
}

/// Logs a panic. What a panic leads to may end the process at once, so the line is written before.
fn panicked(info: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let backtrace = Backtrace::capture();
    let backtrace = (backtrace.status() == BacktraceStatus::Captured).then_some(backtrace);
    let words = info.payload_as_str().unwrap_or("no words");
    emit::panicked(thread.name().unwrap_or_default(), &place, words, backtrace.as_ref());
    flush();
}

/// Prints a line on standard error: behind the lines of the log, if this process has one.
pub fn print(line: &str) {
    let line = format!("{line}\n");
    match LINES.get() {
        Some(lines) => lines.push(line.as_bytes()),
        // If standard error is closed, the exit code has to do.
        None => drop(io::stderr().write_all(line.as_bytes())),
    }
}

/// Waits until the lines of the log are written, but no longer than a second; without a log, not at all. To be
/// called before the process ends.
pub fn flush() {
    if let Some(lines) = LINES.get() {
        lines.flush();
    }
}

/// Ends the process with this exit code, after a [`flush`].
pub fn exit(code: i32) -> ! {
    flush();
    #[expect(clippy::disallowed_methods, reason = "the log is flushed")]
    std::process::exit(code)
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
    let lines =
        fmt::layer().with_writer(OneLine(writer)).log_internal_errors(false).with_ansi(false);
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
