//! How long is long enough.

use crate::config;
use std::time::Duration;

/// How long files must be left alone before they are taken.
#[derive(Clone, Copy, Debug)]
pub struct Quiet {
    /// A file that nobody is known to write to.
    pub settle: Duration,
    /// A file that was seen being written and not closed yet; or one that is empty, which may have
    /// been made a moment ago.
    pub open: Duration,
}

impl Quiet {
    /// How long that is by these settings.
    pub fn of(settings: &config::Intake) -> Quiet {
        Quiet {
            settle: Duration::from_millis(settings.settle_ms),
            open: Duration::from_millis(settings.open_settle_ms),
        }
    }
}
