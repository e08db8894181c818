//! Log lines for the journal of systemd: with a priority in front, and without a time, which the
//! journal adds.

use std::fmt;
use std::io;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The priority of a line about an error.
pub const ERROR_PREFIX: &str = "<3>";

/// Whether standard error is connected to the journal.
pub fn is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else {
        return false;
    };
    // The variable is inherited by child processes, which may have another standard error.
    let found = rustix::fs::fstat(io::stderr());
    found.is_ok_and(|found| stream == format!("{}:{}", found.st_dev, found.st_ino))
}

/// One line for each event, with its level as a syslog number.
pub(super) struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let prefix = match *event.metadata().level() {
            Level::ERROR => ERROR_PREFIX,
            Level::WARN => "<4>",
            Level::INFO => "<6>",
            Level::DEBUG | Level::TRACE => "<7>",
        };
        write!(writer, "{prefix}")?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}
