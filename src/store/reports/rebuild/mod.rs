//! Reports that were damaged are written anew, from the ledger and the archive, before anything is
//! added to them: the same bytes as before.
//!
//! Where the file of a submission is gone or changed, its rows cannot be had again. They are left out,
//! never invented; what stood in the report is kept aside, and it is told whose rows are missing.

mod order;
mod source;

pub use source::Why;

use crate::config::Settings;
use crate::model::escape;
use crate::model::rows::{CASE_HEADER, SUBMISSION_HEADER, SUBMISSIONS, report_of, submission_row};
use crate::model::submission::{Name, Rules, Tally};
use crate::store::archive::Archive;
use crate::store::fail_point::Point;
use crate::store::ledger::{self, Ledger, Piece, Record, Report};
use crate::store::owner::{give, make_folders};
use crate::store::reports::aside::{beside, set_aside};
use crate::store::reports::uncommitted::Uncommitted;
use crate::telemetry::emit;
use gridmark_core::Kind;
use gridmark_core::judge::{Judge, Tier};
use std::collections::HashMap;
use std::fs::{File, Permissions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a report cannot be written anew.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be written, or a file changed while it was read.
    #[error("cannot write the report {} anew", escape::path(path))]
    Report {
        /// The report.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
}

/// What reports are written anew from.
pub struct Rebuild {
    ledger: Arc<Ledger>,
    archive: Arc<Archive>,
    reports: PathBuf,
    judge: Judge,
    /// The rules in force, for submissions of which it was not noted by which they were graded.
    rules: Rules,
    chunk_bytes_max: usize,
    chunk_cases_max: usize,
    /// Whether small submissions are marked side by side.
    is_parallel: bool,
    /// Called whenever a part of a report is written.
    on_part: Box<dyn Fn() + Send + Sync>,
}

/// What came of writing a report anew.
#[derive(Debug)]
pub enum Anew {
    /// It stands in its place.
    Written {
        /// Where what stood there is kept, if anything did.
        aside: Option<PathBuf>,
    },
    /// The very same bytes stood there already, and stand there still.
    Same,
}

/// Where the rows of a report go, in their order.
pub trait Sink {
    /// These are the next.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    fn rows(&mut self, rows: &[u8]) -> io::Result<()>;

    /// The next ones are those of some cases of a submission, and cannot be had.
    ///
    /// # Errors
    ///
    /// If there cannot be a gap.
    fn gap(&mut self, gap: &Gap<'_>) -> io::Result<()>;

    /// All cases of a submission have their rows, and these are its marks.
    fn marked(&mut self, _record: &Record, _kind: Option<Kind>, _tally: &Tally) {}
}

/// Rows that cannot be had again.
pub struct Gap<'a> {
    /// Whose they are.
    pub record: &'a Record,
    /// By which rules they were written.
    pub rules: Rules,
    /// The number of the first case.
    pub first_case: u64,
    /// How many cases.
    pub cases: u64,
    /// Why.
    pub why: &'a Why,
    /// Whether this is the first gap for this submission.
    pub is_first: bool,
}

/// The rules that the settings give.
pub fn rules(settings: &Settings) -> Rules {
    Rules {
        case_bytes_max: settings.grade.case_bytes_max,
        missing_cases_max: settings.grade.missing_cases_max,
        neutralise_formulas: settings.publish.neutralise_formulas,
    }
}

/// The pieces of each of these reports, in their order.
///
/// # Errors
///
/// If the ledger cannot be read.
pub fn pieces<'a>(
    ledger: &Ledger,
    reports: impl Iterator<Item = &'a Name>,
) -> Result<HashMap<Name, Vec<Piece>>, ledger::Error> {
    let mut pieces: HashMap<Name, Vec<Piece>> =
        reports.map(|report| (report.clone(), Vec::new())).collect();
    ledger.for_each_piece(|name, piece| {
        if let Some(pieces) = pieces.get_mut(&report_of(name)) {
            pieces.push(piece);
        }
    })?;
    for pieces in pieces.values_mut() {
        pieces.sort_unstable_by_key(|piece| piece.step);
    }
    Ok(pieces)
}

impl Rebuild {
    /// What writes the reports of these settings anew, one submission after the other.
    pub fn new(
        settings: &Settings,
        tier: Tier,
        ledger: Arc<Ledger>,
        archive: Arc<Archive>,
    ) -> Rebuild {
        Rebuild {
            ledger,
            archive,
            reports: settings.paths.reports(),
            judge: Judge::new(tier),
            rules: rules(settings),
            chunk_bytes_max: settings.grade.chunk_bytes_max,
            chunk_cases_max: settings.grade.chunk_cases_max,
            is_parallel: false,
            on_part: Box::new(|| {}),
        }
    }

    /// The same, which marks small submissions side by side.
    pub fn in_parallel(self) -> Rebuild {
        Rebuild { is_parallel: true, ..self }
    }

    /// The same, which calls this whenever a part of a report is written.
    pub fn telling(self, on_part: Box<dyn Fn() + Send + Sync>) -> Rebuild {
        Rebuild { on_part, ..self }
    }

    /// Writes every report anew that is damaged.
    ///
    /// # Errors
    ///
    /// If one cannot be written, or the ledger cannot be used; the next start tries again.
    pub fn run(&self) -> Result<(), Error> {
        let uncommitted = Uncommitted::rows(&self.ledger)?;
        let mut damaged = self.ledger.reports()?;
        damaged.retain(|report| !is_whole(report, &self.path_of(&report.path), &uncommitted));
        if damaged.is_empty() {
            return Ok(());
        }
        let pieces = pieces(&self.ledger, damaged.iter().map(|report| &report.path))?;
        for Report { path, .. } in &damaged {
            self.write_pieces(path, pieces.get(path).map_or(&[], Vec::as_slice))?;
        }
        Ok(())
    }

    /// Writes a report anew: all rows that are committed. What else stands in its place is kept aside.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or the ledger cannot be used; the next start tries again.
    pub fn write_anew(&self, report: &Name) -> Result<Anew, Error> {
        let pieces = pieces(&self.ledger, std::iter::once(report))?;
        self.write_pieces(report, pieces.get(report).map_or(&[], Vec::as_slice))
    }

    fn write_pieces(&self, report: &Name, pieces: &[Piece]) -> Result<Anew, Error> {
        let path = &self.path_of(report);
        let failed = |source| Error::Report { path: path.to_owned(), source };
        self.ledger.report_is_damaged(report)?;
        Point::ReportDamaged.pass();
        let part = beside(path, ".part");
        let folder = path.parent().unwrap_or(Path::new("."));
        make_folders(folder).map_err(failed)?;
        let out = BufWriter::new(new_part(&part, path, folder).map_err(failed)?);
        let mut out = Part { out, on_part: &*self.on_part };
        self.rows_of(report, pieces, &mut out)?;
        let file = out.out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        Point::ReportWritten.pass();
        let length = file.metadata().map_err(failed)?.len();
        let is_same = holds_the_same(path, &part, length).map_err(failed)?;
        let anew = if is_same {
            std::fs::remove_file(&part).map_err(failed)?;
            Anew::Same
        } else {
            Anew::Written { aside: put(report, &part, path).map_err(failed)? }
        };
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Point::ReportNamed.pass();
        self.ledger.report_is_whole(report, length)?;
        if !is_same {
            emit::report_restored(report, NOT_AS_LEFT);
        }
        Ok(anew)
    }

    /// Gives all rows of a report to `sink`, the header first. `pieces` are those of this report.
    ///
    /// # Errors
    ///
    /// If the sink fails, the ledger cannot be read, or a file changes while it is read.
    pub fn rows_of(
        &self,
        report: &Name,
        pieces: &[Piece],
        sink: &mut impl Sink,
    ) -> Result<(), Error> {
        let failed = |source| Error::Report { path: self.path_of(report), source };
        if report.as_bytes() == SUBMISSIONS {
            sink.rows(SUBMISSION_HEADER.as_bytes()).map_err(failed)?;
            return self.ledger.for_each_finished(|record, done| {
                let neutralise = record.rules.unwrap_or(self.rules).neutralise_formulas;
                sink.rows(&submission_row(&record.claimed, done, neutralise)).map_err(failed)
            });
        }
        sink.rows(CASE_HEADER.as_bytes()).map_err(failed)?;
        self.case_rows(pieces, sink, &failed)
    }

    fn path_of(&self, report: &Name) -> PathBuf {
        self.reports.join(report.as_path())
    }
}

/// A new file for the report at `path` in `folder`, which is called `part` until it is whole. If the
/// report is there, and no other user's, it keeps its mode.
fn new_part(part: &Path, path: &Path, folder: &Path) -> io::Result<File> {
    match std::fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // What somebody puts there now is not written to.
    let file = File::create_new(part)?;
    give(&file, &rustix::fs::stat(folder)?)?;
    let ours = file.metadata()?;
    if let Ok(found) = path.symlink_metadata()
        && found.is_file()
        && found.uid() == ours.uid()
    {
        file.set_permissions(Permissions::from_mode(found.mode() & 0o777 | 0o600))?;
    }
    Ok(file)
}

/// Whether the file at `path` holds the very bytes, `length` of them, that the new one holds; then it
/// is made durable.
fn holds_the_same(path: &Path, part: &Path, length: u64) -> io::Result<bool> {
    let is_like = |found: std::fs::Metadata| found.is_file() && found.len() == length;
    if !path.symlink_metadata().is_ok_and(is_like) {
        return Ok(false);
    }
    let Ok(there) = File::open(path) else { return Ok(false) };
    let (mut one, mut other) = (BufReader::new(&there), BufReader::new(File::open(part)?));
    loop {
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let most = a.len().min(b.len());
        if a[..most] != b[..most] || a.is_empty() != b.is_empty() {
            return Ok(false);
        }
        if most == 0 {
            break;
        }
        one.consume(most);
        other.consume(most);
    }
    there.sync_all()?;
    Ok(true)
}

/// Puts a report that is whole into its place, and keeps aside what stands there; where, if anything
/// does.
fn put(report: &Name, part: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    let mut aside = None;
    if path.symlink_metadata().is_ok() {
        aside = Some(set_aside(report, path, NOT_AS_LEFT)?);
        Point::ReportSetAside.pass();
    }
    std::fs::rename(part, path)?;
    Ok(aside)
}

/// A report that is written.
struct Part<'a> {
    out: BufWriter<File>,
    on_part: &'a (dyn Fn() + Send + Sync),
}

impl Sink for Part<'_> {
    fn rows(&mut self, rows: &[u8]) -> io::Result<()> {
        Point::ReportHalfWritten.pass_or(|| {
            let _ = self.out.flush();
        });
        (self.on_part)();
        self.out.write_all(rows)
    }

    fn gap(&mut self, gap: &Gap<'_>) -> io::Result<()> {
        if gap.is_first {
            emit::rebuild_failed(&gap.record.claimed.name, gap.why);
        }
        Ok(())
    }
}

/// Why a report is written anew.
const NOT_AS_LEFT: &str = "it was not as gridmark had left it";

/// Whether all that was committed to a report is still there, and nothing else but rows of ours. One
/// that cannot be read is told when rows are to be appended to it.
fn is_whole(report: &Report, path: &Path, uncommitted: &Uncommitted) -> bool {
    let length = report.length;
    match path.symlink_metadata() {
        _ if !report.whole => false,
        Ok(found) if found.is_file() && found.len() > length => {
            uncommitted.explains(&report.path, path, length).unwrap_or(true)
        }
        Ok(found) if found.is_file() && found.len() == length => true,
        _ => length == 0,
    }
}
