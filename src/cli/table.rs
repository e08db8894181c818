//! The rows of case reports in a file of their own.

use super::Error;
use crate::board::{Kind, Mark};
use crate::rows::{CASE_HEADER, CaseRows};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Rows are written when there are so many of them, in bytes.
const ROW_BYTES: usize = 64 << 10;

/// A CSV file with a row per case, as the reports of the service have it.
pub(super) struct Table {
    path: PathBuf,
    file: File,
    rows: Vec<u8>,
}

impl Table {
    /// A file that was not there before.
    pub(super) fn create(path: &Path) -> Result<Table, Error> {
        let file = File::create_new(path).map_err(Error::io("create", path))?;
        Ok(Table { path: path.to_owned(), file, rows: CASE_HEADER.into() })
    }

    /// Appends the row of one case.
    pub(super) fn append(
        &mut self,
        rows: &CaseRows,
        case: u64,
        kind: Option<Kind>,
        mark: &Mark,
    ) -> Result<(), Error> {
        rows.append(case, kind, mark, &mut self.rows);
        if self.rows.len() >= ROW_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what has not been written yet.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.file.write_all(&self.rows).map_err(Error::io("write to", &self.path))?;
        self.rows.clear();
        Ok(())
    }
}
