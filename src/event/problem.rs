//! What is wrong with an event folder: all of it at once, each with its file and line.

use crate::model::escape;
use std::cell::RefCell;
use std::fmt;

/// Problems of one folder beyond these are only counted.
const PROBLEMS_MAX: usize = 1_000;

/// Something that is wrong in a file of an event folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, from the event folder.
    pub file: String,
    /// The line, from 1; `None` if it is the whole file.
    pub line: Option<usize>,
    /// What is wrong, and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { file, line, message } = self;
        write!(f, "{}", escape::line(file))?;
        if let Some(line) = line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", escape::line(message))
    }
}

/// Collects problems.
#[derive(Default)]
pub(super) struct Problems {
    found: RefCell<Vec<Problem>>,
}

impl Problems {
    /// Adds a problem.
    pub(super) fn add(&self, file: &str, line: Option<usize>, message: impl Into<String>) {
        let mut found = self.found.borrow_mut();
        if found.len() < PROBLEMS_MAX {
            let (file, message) = (file.to_owned(), message.into());
            found.push(Problem { file, line, message });
        }
    }

    /// All of them, by file and line.
    pub(super) fn into_sorted(self) -> Vec<Problem> {
        let mut found = self.found.into_inner();
        found.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        found
    }
}
