//! A report, compared with what ledger and archive give.

use super::{Counters, Verify};
use crate::model::escape;
use crate::model::rows::CaseRows;
use crate::model::submission::{Status, Tally};
use crate::store::ledger::{Record, Report};
use crate::store::reports::rebuild::{Gap, Sink};
use gridmark_core::Kind;
use gridmark_core::board::Verdict;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// How much of a row is shown.
const SHOWN_CHARACTERS_MAX: usize = 160;

/// A report that is compared as its rows are had again.
pub(super) struct Compared<'a> {
    verify: &'a Verify<'a>,
    report: &'a Report,
    path: PathBuf,
    counters: &'a Counters,
    /// What is committed of the report.
    file: Ahead,
    /// How long the file is.
    bytes: u64,
    /// How many bytes and lines have been had again.
    at: u64,
    line: u64,
    differs: bool,
    has_gaps: bool,
    buffer: Vec<u8>,
}

/// A file of which a line can be put back.
struct Ahead {
    file: BufReader<Take<File>>,
    ahead: Vec<u8>,
}

impl<'a> Compared<'a> {
    pub(super) fn new(
        verify: &'a Verify<'a>,
        report: &'a Report,
        path: PathBuf,
        counters: &'a Counters,
    ) -> io::Result<Compared<'a>> {
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        let opened = if is_file { File::open(&path) } else { File::open("/dev/null") };
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => File::open("/dev/null")?,
            opened => opened?,
        };
        let bytes = file.metadata()?.len();
        let file = BufReader::with_capacity(1 << 16, file.take(report.length));
        let mut compared = Compared {
            verify,
            report,
            path,
            counters,
            file: Ahead { file, ahead: Vec::new() },
            bytes,
            at: 0,
            line: 1,
            differs: false,
            has_gaps: false,
            buffer: Vec::new(),
        };
        compared.look_at_length(is_file);
        Ok(compared)
    }

    fn look_at_length(&mut self, is_file: bool) {
        let (length, bytes) = (self.report.length, self.bytes);
        if length == 0 {
            // Nothing was committed to it, whatever stands there.
            self.differs = true;
        } else if !is_file {
            let is_there = self.path.symlink_metadata().is_ok();
            self.differ(if is_there { "it is no file" } else { "it is missing" }.into());
        } else if !self.report.whole && self.verify.is_running {
            self.differs = true;
            self.verify.note(&self.path, "it is being written anew".into(), "look once more later");
        } else if !self.report.whole {
            self.differ("it is being written anew, and that was not finished".into());
        } else if bytes < length {
            self.differ(format!("it has {bytes} bytes, and {length} are committed"));
        } else if bytes > length && !self.verify.is_running {
            let more = bytes - length;
            let what = format!("it has {more} bytes beyond what is committed");
            self.verify.note(&self.path, what, "the next start cuts them off");
        }
    }

    /// Tells that the report is not as it should be, once.
    fn differ(&mut self, what: String) {
        if self.differs {
            return;
        }
        self.differs = true;
        let to_do = if self.verify.is_running {
            "the service writes it anew when it next adds rows or starts; to do it now, stop the \
             service and use `gridmark verify --repair`"
        } else if self.path.symlink_metadata().is_ok() {
            "`gridmark verify --repair` writes it anew and keeps aside what is there"
        } else {
            "`gridmark verify --repair` writes it anew"
        };
        self.verify.find(true, &self.path, what, to_do, Some(&self.report.path));
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
        let start = rows[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line = self.line + rows[..at].iter().filter(|&&byte| byte == b'\n').count() as u64;
        let wanted = shown(&rows[start..]);
        let what = match found.get(start..).unwrap_or_default() {
            [] => format!("it ends before line {line}, which should be {wanted}"),
            found => format!("line {line} is {} and should be {wanted}", shown(found)),
        };
        self.differ(what);
        Ok(())
    }

    /// All rows have been had again.
    pub(super) fn end(mut self) {
        if self.differs || self.has_gaps {
            return;
        }
        if self.at < self.report.length {
            let more = self.report.length - self.at;
            self.differ(format!(
                "it holds {more} bytes more than it should, from line {}",
                self.line
            ));
        }
    }

    /// How many of the rows that cannot be had again stand in the report.
    fn pass_over(&mut self, gap: &Gap<'_>) -> io::Result<u64> {
        let claimed = &gap.record.claimed;
        let rows = CaseRows::new(&claimed.name, claimed.attempt, gap.rules.neutralise_formulas);
        let mut line = Vec::new();
        for passed in 0..gap.cases {
            let number = (gap.first_case + passed).to_string();
            let start = [rows.prefix(), number.as_bytes(), b","].concat();
            self.file.line(&mut line)?;
            if !line.starts_with(&start) {
                self.file.put_back(&line);
                return Ok(passed);
            }
            self.at += line.len() as u64;
            self.line += 1;
        }
        Ok(gap.cases)
    }
}

impl Sink for Compared<'_> {
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
        let kept = if self.differs { None } else { Some(self.pass_over(gap)?) };
        if !gap.is_first {
            return Ok(());
        }
        let (claimed, report) = (&gap.record.claimed, escape::path(&self.path).to_string());
        let done = gap.record.finished.as_ref();
        let has_failed = done.is_some_and(|done| done.status == Status::Failed);
        let paths = &self.verify.settings.paths;
        let folder = if has_failed { paths.quarantine() } else { paths.archive() };
        let rows = match kept {
            Some(0) => format!("its rows are not in {report} and cannot be written"),
            Some(kept) if kept < gap.cases => {
                format!("only {kept} of {} rows are in {report}", gap.cases)
            }
            _ => format!("its rows in {report} cannot be checked, nor written again"),
        };
        let (name, attempt) = (&claimed.name, claimed.attempt);
        let what = format!("{name}, attempt {attempt}: {}; {rows}", gap.why);
        let place = folder.join(claimed.archived_as.as_path());
        // What failed may be taken out of quarantine, and has no marks that count.
        let is_fault = !has_failed;
        let to_do = if is_fault { "put the file back as it was, from a backup" } else { "" };
        self.verify.find(is_fault, &place, what, to_do, None);
        Ok(())
    }

    fn marked(&mut self, record: &Record, kind: Option<Kind>, tally: &Tally) {
        self.counters.submissions.fetch_add(1, Ordering::Relaxed);
        self.counters.cases.fetch_add(tally.cases(), Ordering::Relaxed);
        self.verify.audience.graded();
        let Some(done) = record.finished.as_ref().filter(|done| done.status != Status::Failed)
        else {
            return;
        };
        if (done.kind, &done.tally) != (kind, tally) {
            let claimed = &record.claimed;
            let place = self.verify.settings.paths.archive().join(claimed.archived_as.as_path());
            let what = format!(
                "{}, attempt {}: the ledger has {}, and it is {} when it is graded again",
                claimed.name,
                claimed.attempt,
                told(done.kind, &done.tally),
                told(kind, tally)
            );
            let to_do = "that is a bug of gridmark's or a changed ledger: keep both and ask";
            self.verify.fault(&place, what, to_do);
        }
    }
}

impl Ahead {
    /// Reads as much as there is, up to all of `space`.
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

    /// Reads the next line into `line`; nothing at the end.
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

/// The first line of these bytes, as people may see it.
fn shown(bytes: &[u8]) -> String {
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = escape::Printable(line).to_string();
    match line.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("`{}...`", &line[..end]),
        None => format!("`{line}`"),
    }
}

/// A kind and marks in words.
fn told(kind: Option<Kind>, tally: &Tally) -> String {
    let verdicts = Verdict::ALL.into_iter().filter(|verdict| tally.of(*verdict) > 0);
    let counts = verdicts.map(|verdict| format!("{} {}", tally.of(verdict), verdict.word()));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let counts = if counts.is_empty() { "no cases".to_owned() } else { counts };
    format!("{} ({counts}, {} filled)", kind.map_or("no kind", Kind::word), tally.filled)
}
