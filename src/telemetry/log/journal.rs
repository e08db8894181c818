//! Log lines for the journal of systemd: their level goes before them, and their time is the
//! journal's business.

use std::fmt;
use std::io;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// What stands before a line that tells an error.
pub const ERROR_PREFIX: &str = "<3>";

/// Whether standard error is connected to the journal.
pub fn is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else {
        return false;
    };
    // A child of ours may have inherited the variable, and have another standard error.
    let found = rustix::fs::fstat(io::stderr());
    found.is_ok_and(|found| stream == format!("{}:{}", found.st_dev, found.st_ino))
}

/// One line for each event, with its level as syslog numbers it.
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
        let mut text = String::new();
        context.format_fields(Writer::new(&mut text), event)?;
        // What comes behind the end of a line would be an entry of its own.
        let line = text.replace('\n', "\\n").replace('\r', "\\r");
        writeln!(writer, "{prefix}{line}")
    }
}
