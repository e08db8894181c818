//! `gridmark grade --csv`: rows of case reports in a file or on standard output.

use super::Error;
use crate::model::rows::{BOM, CASE_HEADER, CaseRows};
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use rustix::fs::{fstat, stat};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Rows are written in parts of this many bytes.
const ROW_BYTES: usize = 64 << 10;

/// Rows of cases as CSV, as in the service's reports.
pub(super) struct Table {
    to: Target,
    rows: Vec<u8>,
}

/// Where the rows go.
enum Target {
    Stdout,
    File { path: PathBuf, file: File },
}

impl Table {
    /// A table on standard output for `-` (or `/dev/stdout`, or the file that it is redirected to), else
    /// in a new file, or in an existing pipe or device; with a byte-order mark if `bom` says so.
    pub(super) fn create(path: &Path, bom: bool) -> Result<Table, Error> {
        let to = if path == Path::new("-") || is_stdout(path) {
            Target::Stdout
        } else {
            let is_special = path.metadata().is_ok_and(|found| !found.is_file());
            let file = if is_special {
                File::options().write(true).open(path).map_err(Error::io("write to", path))?
            } else {
                File::create_new(path).map_err(Error::io("create", path))?
            };
            Target::File { path: path.to_owned(), file }
        };
        let bom = if bom { BOM } else { "" };
        Ok(Table { to, rows: [bom, CASE_HEADER].concat().into_bytes() })
    }

    /// Whether the rows go to standard output, so that nothing else may go there.
    pub(super) fn is_on_stdout(&self) -> bool {
        matches!(self.to, Target::Stdout)
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

    /// Writes what is still buffered.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        match &mut self.to {
            Target::Stdout => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(&self.rows).and_then(|()| stdout.flush());
                written.map_err(Error::Output)?;
            }
            Target::File { path, file } => {
                file.write_all(&self.rows).map_err(Error::io("write to", path))?;
            }
        }
        self.rows.clear();
        Ok(())
    }
}

/// Whether this path is standard output: /dev/stdout, or the file to which it is redirected.
fn is_stdout(path: &Path) -> bool {
    match (stat(path), fstat(io::stdout())) {
        (Ok(there), Ok(stdout)) => (there.st_dev, there.st_ino) == (stdout.st_dev, stdout.st_ino),
        _ => false,
    }
}
