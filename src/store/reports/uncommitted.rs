//! What stands in a report beyond what is committed: rows of ours that a crash left, or what somebody
//! else has put there.

use crate::model::rows::{CASE_HEADER, CaseRows, SUBMISSION_HEADER, SUBMISSIONS};
use crate::model::submission::Name;
use crate::store::ledger::{self, Ledger};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// No row of ours is longer, in bytes.
const ROW_BYTES_MAX: u64 = 1 << 20;

/// The rows that may stand in reports without being committed: those of claims without marks.
pub struct Uncommitted {
    /// What these rows begin with: name and attempt, with their commas.
    prefixes: HashSet<Vec<u8>>,
}

impl Uncommitted {
    /// What the ledger says.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn rows(ledger: &Ledger) -> Result<Uncommitted, ledger::Error> {
        let claims = ledger.open_claims()?;
        let prefix = |claim: &ledger::OpenClaim, neutralise| {
            let claimed = &claim.claimed;
            CaseRows::new(&claimed.name, claimed.attempt, neutralise).prefix().to_owned()
        };
        // The setting may have been another one when they were written.
        let both = |claim| [false, true].map(|neutralise| prefix(claim, neutralise));
        Ok(Uncommitted { prefixes: claims.iter().flat_map(both).collect() })
    }

    /// Whether all that stands in the report at `path` behind its first `committed` bytes may be
    /// rows of ours, of which the last may be torn. If not, somebody has changed the report.
    ///
    /// # Errors
    ///
    /// If the report cannot be read.
    pub fn explains(&self, report: &Name, path: &Path, committed: u64) -> io::Result<bool> {
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
        let mut header = (committed == 0).then_some(match report.as_bytes() {
            SUBMISSIONS => SUBMISSION_HEADER,
            _ => CASE_HEADER,
        });
        loop {
            line.clear();
            if file.by_ref().take(ROW_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
                return Ok(true);
            }
            let is_ours = match (header.take(), line.last()) {
                (Some(header), Some(b'\n')) => line == header.as_bytes(),
                (None, Some(b'\n')) => self.prefixes.contains(prefix_of(&line)),
                (header, _) => return Ok(is_zeros(&mut file)? && self.is_torn(header, &line)),
            };
            if !is_ours {
                return Ok(false);
            }
        }
    }

    /// Whether this may be the beginning of a row, or of the header. Where power was lost, the bytes
    /// that were not written yet are zeros.
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

/// Whether nothing but zeros follows.
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
