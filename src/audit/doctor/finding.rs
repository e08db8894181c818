//! What a check has found.

use std::fmt;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is as it should be.
    Ok,
    /// It is good to know, or cannot be told.
    Note,
    /// The service works, but not as well as it could.
    Warn,
    /// The service does not work, or loses what it promises to keep.
    Fail,
}

impl Level {
    /// Its word in a report.
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

/// What one check has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// What was checked, in one word.
    pub check: &'static str,
    /// What was found.
    pub found: String,
    /// What to do about it.
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
