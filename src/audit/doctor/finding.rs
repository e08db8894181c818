//! Findings, and the units in which they state numbers.

use std::fmt;
use std::time::Duration;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// All is well.
    Ok,
    /// Worth knowing, or could not be determined.
    Note,
    /// The service works, but not as well as it could.
    Warn,
    /// The service does not work, or may lose data that it promises to keep.
    Fail,
}

impl Level {
    /// Its word in the output.
    pub const fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Warn => "warn",
            Level::Fail => "FAIL",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What was checked, in one word.
    pub check: &'static str,
    /// What was found.
    pub found: String,
    /// What to do about it; a warning or failure always says so.
    pub remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, found: impl Into<String>) -> Finding {
        Finding { level: Level::Ok, check, found: found.into(), remedy: None }
    }

    pub(super) fn note(check: &'static str, found: impl Into<String>) -> Finding {
        Finding { level: Level::Note, check, found: found.into(), remedy: None }
    }

    pub(super) fn warn(
        check: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding { level: Level::Warn, check, found: found.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn fail(
        check: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding { level: Level::Fail, check, found: found.into(), remedy: Some(remedy.into()) }
    }
}

/// A size in MiB, or in GiB from 10 GiB.
pub(super) fn mebibytes(bytes: u64) -> String {
    match bytes >> 20 {
        0..10_240 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

/// A time in milliseconds, with one decimal below 10 ms.
pub(super) fn milliseconds(time: Duration) -> String {
    match time.as_micros() {
        micros @ 0..10_000 => format!("{:.1} ms", micros as f64 / 1e3),
        micros => format!("{} ms", micros / 1_000),
    }
}
