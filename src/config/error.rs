//! Errors about settings.

use super::Origin;
use crate::model::escape;
use std::io;
use std::path::PathBuf;

/// Why settings are refused: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings file cannot be read.
    #[error("cannot read the settings file {}", escape::path(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The settings file is not TOML.
    #[error("file {place}: {message}")]
    Syntax {
        /// Where.
        place: Place,
        /// What was expected there.
        message: String,
    },
    /// A key that is not a setting.
    #[error("{origin}: `{key}` is no setting{}", suggestion(nearest.as_deref()))]
    UnknownKey {
        /// Where it was set.
        origin: Origin,
        /// The key.
        key: String,
        /// The most similar known key.
        nearest: Option<String>,
    },
    /// An environment variable that begins with `GRIDMARK_` and is not a setting.
    #[error("environment: `{name}` sets no setting{}", suggestion(nearest.as_deref()))]
    UnknownVariable {
        /// The variable.
        name: String,
        /// The most similar known variable.
        nearest: Option<String>,
    },
    /// A value that is not allowed.
    #[error(transparent)]
    BadValue(#[from] Box<BadValue>),
}

/// A value that is not allowed.
#[derive(Debug, thiserror::Error)]
#[error("{origin}: `{key}` is {value}; expected {expected}")]
pub struct BadValue {
    /// The setting.
    pub key: String,
    /// The value, as it was written.
    pub value: String,
    /// Where it was set.
    pub origin: Origin,
    /// The allowed values.
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
