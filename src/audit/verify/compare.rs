//! Compares a report with the rows that ledger and archive give, and says where it first differs.

use super::{Counters, Verify};
use crate::model::escape;
use crate::model::rows::{BOM, CaseRows};
use crate::model::submission::{Status, Tally};
use crate::model::words::counted;
use crate::store::ledger::{Record, Report};
use crate::store::reports::assess::{Change, Condition, assess};
use crate::store::reports::rebuild::{Gap, Sink};
use gridmark_core::Kind;
use gridmark_core::board::Verdict;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// How many characters of a row a finding quotes.
const QUOTED_CHARACTERS_MAX: usize = 160;

/// A report, compared while its rows arrive in their order.
pub(super) struct Comparison<'a> {
    verify: &'a Verify<'a>,
    report: &'a Report,
    path: PathBuf,
    counters: &'a Counters,
    /// The committed part of the file.
    file: Lines,
    /// The offset and the line, from 1, up to which it has been compared.
    at: u64,
    line: u64,
    /// Whether a difference is known; only the first one is reported.
    differs: bool,
    /// Whether some rows could not be produced again.
    has_gaps: bool,
    buffer: Vec<u8>,
}

/// A file into which one line can be put back after reading it.
struct Lines {
    file: BufReader<Take<File>>,
    /// The line that was put back, or what is left of it.
    ahead: Vec<u8>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(
        verify: &'a Verify<'a>,
        report: &'a Report,
        path: PathBuf,
        counters: &'a Counters,
    ) -> io::Result<Comparison<'a>> {
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        let opened = if is_file { File::open(&path) } else { File::open("/dev/null") };
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => File::open("/dev/null")?,
            opened => opened?,
        };
        let file = BufReader::with_capacity(1 << 16, file.take(report.length));
        let mut comparison = Comparison {
            verify,
            report,
            path,
            counters,
            file: Lines { file, ahead: Vec::new() },
            at: 0,
            line: 1,
            differs: false,
            has_gaps: false,
            buffer: Vec::new(),
        };
        comparison.check_length()?;
        Ok(comparison)
    }

    fn check_length(&mut self) -> io::Result<()> {
        if self.report.length == 0 {
            // Nothing is committed, so there is nothing to compare.
            self.differs = true;
            return Ok(());
        }
        let condition = assess(&self.verify.ledger, self.report, &self.path);
        match condition.map_err(io::Error::other)? {
            Condition::Changed(Change::Unfinished) if self.verify.is_running => {
                self.differs = true;
                let what = "the service is rebuilding it".to_owned();
                self.verify.note(&self.path, what, "verify it again later");
            }
            // Beside a running service, rows follow that are not committed yet.
            Condition::Changed(Change::Longer(_)) | Condition::Tail(_)
                if self.verify.is_running => {}
            Condition::Tail(bytes) => {
                let what = format!("its end is not committed: {}", counted(bytes, "byte"));
                self.verify.note(&self.path, what, "nothing to do: the next start cuts it off");
            }
            Condition::Changed(change) => self.differ(change.to_string()),
            Condition::AsCommitted => {}
        }
        Ok(())
    }

    /// Reports the first difference of this report.
    fn differ(&mut self, what: String) {
        if self.differs {
            return;
        }
        self.differs = true;
        let to_do = if self.verify.is_running {
            "the service rebuilds it when it notices; to rebuild it now, stop the service and run \
             `gridmark verify --repair`"
        } else if self.path.symlink_metadata().is_ok() {
            "run `gridmark verify --repair` to rebuild it; the present file is kept"
        } else {
            "run `gridmark verify --repair` to rebuild it"
        };
        self.verify.found(true, &self.path, what, to_do, Some(&self.report.path));
    }

    fn compare(&mut self, rows: &[u8]) -> io::Result<()> {
        self.buffer.resize(rows.len(), 0);
        let read = self.file.read_up_to(&mut self.buffer)?;
        let found = &self.buffer[..read];
        let Some(at) = rows
            .iter()
            .zip(found)
            .position(|(a, b)| a != b)
            .or_else(|| (read < rows.len()).then_some(read))
        else {
            return Ok(());
        };
        let has_bom = [rows, found].map(|text| text.starts_with(BOM.as_bytes()));
        if self.at == 0 && has_bom[0] != has_bom[1] {
            let what = if has_bom[1] {
                "it begins with a byte-order mark, and should not"
            } else {
                "it should begin with a byte-order mark"
            };
            self.differ(what.to_owned());
            return Ok(());
        }
        let start = rows[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line = self.line + rows[..at].iter().filter(|&&byte| byte == b'\n').count() as u64;
        let wanted = quoted(&rows[start..]);
        let what = match found.get(start..).unwrap_or_default() {
            [] => format!("it ends before line {line}, which should be {wanted}"),
            found => format!("line {line} is {} and should be {wanted}", quoted(found)),
        };
        self.differ(what);
        Ok(())
    }

    /// Ends the comparison, after the last row.
    pub(super) fn end(mut self) {
        if self.differs || self.has_gaps {
            return;
        }
        if self.at < self.report.length {
            let more = counted(self.report.length - self.at, "byte");
            let line = self.line;
            self.differ(format!("it should end before line {line}, but is longer by {more}"));
        }
    }

    /// Skips the rows of this gap in the report; returns how many were there.
    fn skip(&mut self, gap: &Gap<'_>) -> io::Result<u64> {
        let claimed = &gap.record.claimed;
        let rows = CaseRows::new(&claimed.name, claimed.attempt, gap.rules.neutralise_formulas);
        let mut line = Vec::new();
        for skipped in 0..gap.cases {
            let number = (gap.first_case + skipped).to_string();
            let start = [rows.prefix(), number.as_bytes(), b","].concat();
            self.file.line(&mut line)?;
            if !line.starts_with(&start) {
                self.file.put_back(&line);
                return Ok(skipped);
            }
            self.at += line.len() as u64;
            self.line += 1;
        }
        Ok(gap.cases)
    }
}

impl Sink for Comparison<'_> {
    fn rows(&mut self, rows: &[u8]) -> io::Result<()> {
        if !self.differs {
            self.compare(rows)?;
        }
        self.at += rows.len() as u64;
        self.line += rows.iter().filter(|&&byte| byte == b'\n').count() as u64;
        Ok(())
    }

    fn gap(&mut self, gap: &Gap<'_>) -> io::Result<()> {
        self.has_gaps = true;
        let kept = if self.differs { None } else { Some(self.skip(gap)?) };
        if !gap.is_first {
            return Ok(());
        }
        let (claimed, report) = (&gap.record.claimed, escape::path(&self.path).to_string());
        let done = gap.record.finished.as_ref();
        let has_failed = done.is_some_and(|done| done.status == Status::Failed);
        let paths = &self.verify.settings.paths;
        let folder = if has_failed { paths.quarantine() } else { paths.archive() };
        let rows = match kept {
            Some(0) => format!("its rows are missing from {report} and cannot be produced again"),
            Some(kept) if kept < gap.cases => {
                format!("only {kept} of its {} rows are in {report}", gap.cases)
            }
            _ => format!("its rows in {report} cannot be checked or produced again"),
        };
        let (name, attempt) = (&claimed.name, claimed.attempt);
        let what = format!("{name}, attempt {attempt}: {}; {rows}", gap.why);
        let place = folder.join(claimed.archived_as.as_path());
        // The file of a failed submission may be removed from quarantine, and its marks do not count.
        let is_fault = !has_failed;
        let to_do = if is_fault { "restore the file from a backup" } else { "" };
        self.verify.found(is_fault, &place, what, to_do, None);
        Ok(())
    }

    fn marked(&mut self, record: &Record, kind: Option<Kind>, tally: &Tally) {
        self.counters.submissions.fetch_add(1, Ordering::Relaxed);
        self.counters.cases.fetch_add(tally.cases(), Ordering::Relaxed);
        self.verify.observer.graded();
        let Some(done) = record.finished.as_ref().filter(|done| done.status != Status::Failed)
        else {
            return;
        };
        if (done.kind, &done.tally) != (kind, tally) {
            let claimed = &record.claimed;
            let place = self.verify.settings.paths.archive().join(claimed.archived_as.as_path());
            let what = format!(
                "{}, attempt {}: the ledger has {}, but grading it again gives {}",
                claimed.name,
                claimed.attempt,
                in_words(done.kind, &done.tally),
                in_words(kind, tally)
            );
            let to_do = "either the ledger was changed, or gridmark has a bug: keep ledger and file, and report it";
            self.verify.fault(&place, what, to_do);
        }
    }
}

impl Lines {
    /// Reads into `space` until it is full or the file ends; returns the number of bytes.
    fn read_up_to(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let ahead = self.ahead.len().min(space.len());
        space[..ahead].copy_from_slice(&self.ahead[..ahead]);
        self.ahead.drain(..ahead);
        let mut read = ahead;
        while read < space.len() {
            match self.file.read(&mut space[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    /// Replaces `line` by the next line; by nothing at the end of the file.
    fn line(&mut self, line: &mut Vec<u8>) -> io::Result<()> {
        line.clear();
        line.append(&mut self.ahead);
        if !line.ends_with(b"\n") {
            self.file.read_until(b'\n', line)?;
        }
        Ok(())
    }

    fn put_back(&mut self, line: &[u8]) {
        self.ahead = line.to_vec();
    }
}

/// The first line of these bytes, escaped and shortened.
fn quoted(bytes: &[u8]) -> String {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = escape::Printable(line).to_string();
    match line.char_indices().nth(QUOTED_CHARACTERS_MAX) {
        Some((end, _)) => format!("`{}...`", &line[..end]),
        None => format!("`{line}`"),
    }
}

/// A kind and a tally in words.
fn in_words(kind: Option<Kind>, tally: &Tally) -> String {
    let verdicts = Verdict::ALL.into_iter().filter(|verdict| tally.of(*verdict) > 0);
    let counts = verdicts.map(|verdict| format!("{} {}", tally.of(verdict), verdict.word()));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let counts = if counts.is_empty() { "no cases".to_owned() } else { counts };
    format!("{} ({counts}, {} filled)", kind.map_or("no kind", Kind::word), tally.filled)
}
