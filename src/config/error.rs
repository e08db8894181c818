//! What can be wrong with settings.

use super::Origin;
use crate::model::escape;
use std::io;
use std::path::PathBuf;

/// Why there are no settings: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings file cannot be read.
    #[error("cannot read the settings file {}", escape::path(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The settings file is no TOML.
    #[error("file {place}: {message}")]
    Syntax {
        /// Where.
        place: Place,
        /// What was expected and found there.
        message: String,
    },
    /// A key that is no setting.
    #[error("{origin}: `{key}` is no setting{}", suggestion(nearest.as_deref()))]
    UnknownKey {
        /// Where it was set.
        origin: Origin,
        /// The key.
        key: String,
        /// The known key that is most like it.
        nearest: Option<String>,
    },
    /// A variable that begins with `GRIDMARK_` and sets nothing.
    #[error("environment: `{name}` sets no setting{}", suggestion(nearest.as_deref()))]
    UnknownVariable {
        /// The variable.
        name: String,
        /// The known variable that is most like it.
        nearest: Option<String>,
    },
    /// A setting that cannot be what it is.
    #[error(transparent)]
    BadValue(#[from] Box<BadValue>),
}

/// A setting that cannot be what it is.
#[derive(Debug, thiserror::Error)]
#[error("{origin}: `{key}` is {value}; expected {expected}")]
pub struct BadValue {
    /// The setting.
    pub key: String,
    /// What it was set to.
    pub value: String,
    /// Where it was set.
    pub origin: Origin,
    /// What it may be.
    pub expected: String,
}

/// A place in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in that line, in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The place of the byte at `offset` in the text of a file.
    pub(super) fn of(path: &std::path::Path, text: &[u8], offset: usize) -> Place {
        let before = &text[..offset.min(text.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        Place {
            path: path.to_owned(),
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            column: String::from_utf8_lossy(&before[line_start..]).chars().count() + 1,
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", escape::path(&self.path), self.line, self.column)
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|key| format!("; did you mean `{key}`?")).unwrap_or_default()
}
