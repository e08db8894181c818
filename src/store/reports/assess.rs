//! Compares a report with what the ledger has committed to it.
//!
//! A crash leaves rows behind that were appended and not committed. They are rows of open claims, so they
//! can be distinguished from what somebody else has written, and are cut off. Anything else was not written by
//! gridmark: it is set aside, and the report is rebuilt.

use crate::model::rows::{CaseRows, header_of};
use crate::model::words::counted;
use crate::store::ledger::{self, Ledger, OpenClaim, Report};
use std::collections::HashSet;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// No row of ours is longer, in bytes.
const ROW_BYTES_MAX: u64 = 1 << 20;

/// The condition of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It holds what is committed, or is missing and nothing is.
    AsCommitted,
    /// This many bytes of our own rows follow, which were appended and not committed.
    Tail(u64),
    /// Somebody else has changed it.
    Changed(Change),
}

/// How a report was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It has to be rebuilt, and that is not finished.
    Unfinished,
    /// It is not there.
    Missing,
    /// It is no regular file.
    NotAFile,
    /// It has fewer bytes than are committed.
    Shorter {
        /// How many it has.
        bytes: u64,
        /// How many are committed.
        committed: u64,
    },
    /// This many bytes follow that are no rows of ours.
    Longer(u64),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Unfinished => f.write_str("its rebuild was begun and not finished"),
            Change::Missing => f.write_str("it is missing"),
            Change::NotAFile => f.write_str("it is not a file"),
            Change::Shorter { bytes, committed } => {
                let bytes = counted(*bytes, "byte");
                write!(f, "it has {bytes}, but its committed length is {committed}")
            }
            Change::Longer(bytes) => {
                write!(f, "it has {} beyond what is committed", counted(*bytes, "byte"))
            }
        }
    }
}

/// Assesses the report at `path`. Rows of open claims in `ledger` may follow what is committed.
///
/// # Errors
///
/// If the report or the ledger cannot be read.
pub fn assess(ledger: &Ledger, report: &Report, path: &Path) -> Result<Condition, Error> {
    if !report.whole {
        return Ok(Condition::Changed(Change::Unfinished));
    }
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(match report.length {
                0 => Condition::AsCommitted,
                _ => Condition::Changed(Change::Missing),
            });
        }
        Err(error) => return Err(error.into()),
    };
    if !found.is_file() {
        return Ok(Condition::Changed(Change::NotAFile));
    }
    if found.len() < report.length {
        let (bytes, committed) = (found.len(), report.length);
        return Ok(Condition::Changed(Change::Shorter { bytes, committed }));
    }
    let more = found.len() - report.length;
    Ok(if more == 0 {
        Condition::AsCommitted
    } else if Uncommitted::rows(ledger.claims().open()?).explain(report, path)? {
        Condition::Tail(more)
    } else {
        Condition::Changed(Change::Longer(more))
    })
}

/// Why a report cannot be assessed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// The report cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The rows that may follow in reports without being committed: those of open claims.
struct Uncommitted {
    /// What these rows begin with: name and attempt, with their commas.
    prefixes: HashSet<Vec<u8>>,
}

impl Uncommitted {
    fn rows(claims: Vec<OpenClaim>) -> Uncommitted {
        let prefix = |claim: &OpenClaim, neutralise| {
            let claimed = &claim.claimed;
            CaseRows::new(&claimed.name, claimed.attempt, neutralise).prefix().to_owned()
        };
        // The setting may have been another one when they were written.
        let both = |claim| [false, true].map(|neutralise| prefix(claim, neutralise));
        Uncommitted { prefixes: claims.iter().flat_map(both).collect() }
    }

    /// Whether everything behind what is committed of the report at `path` may be rows of ours, of which the
    /// last may be torn.
    fn explain(&self, report: &Report, path: &Path) -> io::Result<bool> {
        let committed = report.length;
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(committed.saturating_sub(1)))?;
        let mut file = BufReader::new(file);
        let mut line = Vec::new();
        if committed > 0 {
            file.by_ref().take(1).read_to_end(&mut line)?;
            if line != b"\n" {
                return Ok(false);
            }
        }
        let mut header = (committed == 0).then(|| header_of(&report.path, report.bom));
        loop {
            line.clear();
            if file.by_ref().take(ROW_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
                return Ok(true);
            }
            let is_ours = match (header.take(), line.last()) {
                (Some(header), Some(b'\n')) => line == header.as_bytes(),
                (None, Some(b'\n')) => self.prefixes.contains(prefix_of(&line)),
                (header, _) => {
                    return Ok(is_zeros(&mut file)? && self.is_torn(header.as_deref(), &line));
                }
            };
            if !is_ours {
                return Ok(false);
            }
        }
    }

    /// Whether this may be the beginning of a row, or of the header. After a loss of power, bytes that were
    /// not written yet are zeros.
    fn is_torn(&self, header: Option<&str>, line: &[u8]) -> bool {
        let end = line.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let line = &line[..end];
        match header {
            Some(header) => header.as_bytes().starts_with(line),
            None if self.prefixes.contains(prefix_of(line)) => true,
            None => line.is_empty() || self.prefixes.iter().any(|prefix| prefix.starts_with(line)),
        }
    }
}

/// What a row begins with: two fields with their commas, or all of it if it has no two.
fn prefix_of(row: &[u8]) -> &[u8] {
    let (mut is_quoted, mut commas) = (false, 0);
    for (i, byte) in row.iter().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => commas += 1,
            _ => {}
        }
        if commas == 2 {
            return &row[..=i];
        }
    }
    row
}

/// Whether only zeros follow.
fn is_zeros(file: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(true);
        }
        if bytes.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        let read = bytes.len();
        file.consume(read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_begins_with_two_fields_whatever_is_in_them() {
        for (row, prefix) in [
            ("a,1,2,killer\n", "a,1,"),
            ("\"a,\"\"b,\",1,\"x\"\n", "\"a,\"\"b,\",1,"),
            ("a,1", "a,1"),
            ("\"a,1,1,", "\"a,1,1,"),
            ("", ""),
        ] {
            assert_eq!(prefix_of(row.as_bytes()), prefix.as_bytes());
        }
    }
}
