//! Rebuilds reports from the ledger and the archive: the same bytes as before.
//!
//! The ledger knows the order of rows, the archive holds the files, and the same bytes get the same marks.
//! Where the file of a submission is gone or changed, its rows cannot be rebuilt. They are left out, never
//! invented; the damaged report is set aside, and the log says whose rows are missing.
//!
//! A report is rebuilt in steps of a few thousand submissions, so that the ledger is never blocked for
//! long and memory is bounded, and so that a rebuild can catch up with a service that goes on committing.

mod source;

pub use source::GapReason;
use source::Streams;

use crate::config::Settings;
use crate::model::escape;
use crate::model::rows::{SUBMISSIONS, header_of, submission_row};
use crate::model::submission::{Name, Rules, Signature, Tally};
use crate::store::archive::Archive;
use crate::store::definitions::KnownDefinitions;
use crate::store::durable::sync_new_file;
use crate::store::fail_point::Point;
use crate::store::ledger::{self, Ledger, Record};
use crate::store::owner::{give, make_folders};
use crate::store::path::beside;
use crate::store::reports::aside::set_aside;
use crate::telemetry::emit;
use gridmark_core::Kind;
use gridmark_core::judge::{Judge, Tier};
use std::fs::{File, Permissions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many submissions or pieces of them are rebuilt in one step, with about how many cases.
const STEP_MAX: usize = 4_096;
const STEP_CASES_MAX: u64 = 65_536;

/// How many bytes of two files are compared at a time.
const COMPARED_BYTES: usize = 1 << 20;

/// Why a report cannot be rebuilt.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be written, or a file changed while it was read.
    #[error("cannot rebuild the report {}", escape::path(path))]
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

/// What reports are rebuilt from.
pub struct Rebuild {
    ledger: Arc<Ledger>,
    archive: Arc<Archive>,
    reports: PathBuf,
    judge: Judge,
    definitions: KnownDefinitions,
    chunk_bytes_max: usize,
    chunk_cases_max: usize,
    /// Whether small submissions are marked side by side.
    is_parallel: bool,
    /// Called whenever there is progress.
    on_part: Box<dyn Fn() + Send + Sync>,
}

/// The result of a rebuild.
#[derive(Debug)]
pub enum Rebuilt {
    /// The report is in its place.
    Written {
        /// Where what stood there was set aside, if anything did.
        aside: Option<PathBuf>,
    },
    /// The very same bytes stood there already, and were left.
    Same,
}

/// A report file and how we left it: a later change by somebody else shows.
pub struct OpenFile {
    /// The file, open for reading and writing.
    pub file: File,
    /// Its signature when its bytes were known to be right.
    pub left: Signature,
    /// Whether it begins with a byte-order mark.
    pub bom: bool,
}

/// Where the rows of a report go, in their order.
pub trait Sink {
    /// The next rows.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    fn rows(&mut self, rows: &[u8]) -> io::Result<()>;

    /// The next rows, those of some cases of a submission, cannot be rebuilt.
    ///
    /// # Errors
    ///
    /// If there cannot be a gap.
    fn gap(&mut self, gap: &Gap<'_>) -> io::Result<()>;

    /// All cases of a submission have their rows, and these are its marks.
    fn marked(&mut self, _record: &Record, _kind: Option<Kind>, _tally: &Tally) {}
}

/// Rows that cannot be rebuilt.
pub struct Gap<'a> {
    /// The submission.
    pub record: &'a Record,
    /// By which rules the rows were written.
    pub rules: Rules,
    /// The number of the first case.
    pub first_case: u64,
    /// How many cases.
    pub cases: u64,
    /// Why.
    pub why: &'a GapReason,
    /// Whether this is the first gap of this submission.
    pub is_first: bool,
}

/// How far a report is rebuilt.
#[derive(Default)]
pub struct Cursor {
    /// The step of the last rows.
    after: i64,
    /// Large submissions of which some cases are rebuilt.
    streams: Streams,
}

/// A report that is being rebuilt, in a file beside its place.
pub struct Part {
    report: Name,
    /// Whether it begins with a byte-order mark.
    bom: bool,
    /// The report, the file that is written, and the folder of both.
    path: PathBuf,
    part: PathBuf,
    folder: PathBuf,
    out: BufWriter<File>,
    cursor: Cursor,
    /// The signature of the report in its place, if that held the same bytes when this was last compared.
    same: Option<Signature>,
}

/// The rules that the settings give, without an event.
pub fn rules(settings: &Settings) -> Rules {
    Rules {
        case_bytes_max: settings.grade.case_bytes_max,
        missing_cases_max: settings.grade.missing_cases_max,
        neutralise_formulas: settings.publish.neutralise_formulas,
        definitions: None,
    }
}

impl Rebuild {
    /// Rebuilds the reports of these settings, one submission after the other.
    pub fn new(
        settings: &Settings,
        tier: Tier,
        ledger: Arc<Ledger>,
        archive: Arc<Archive>,
    ) -> Rebuild {
        Rebuild {
            definitions: KnownDefinitions::new(Arc::clone(&ledger)),
            ledger,
            archive,
            reports: settings.paths.reports(),
            judge: Judge::new(tier),
            chunk_bytes_max: settings.grade.chunk_bytes_max,
            chunk_cases_max: settings.grade.chunk_cases_max,
            is_parallel: false,
            on_part: Box::new(|| {}),
        }
    }

    /// The same, which calls this whenever there is progress.
    pub fn with_heartbeat(self, on_part: Box<dyn Fn() + Send + Sync>) -> Rebuild {
        Rebuild { on_part, ..self }
    }

    /// The same, which marks small submissions side by side.
    pub fn in_parallel(self) -> Rebuild {
        Rebuild { is_parallel: true, ..self }
    }

    /// Rebuilds a report from beginning to end, with a byte-order mark or without one, or as it was if `bom` does
    /// not say. What stands in its place is set aside.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or the ledger cannot be used; the report stays marked as damaged.
    pub fn rebuild(&self, report: &Name, bom: Option<bool>) -> Result<Rebuilt, Error> {
        match bom {
            Some(bom) => self.ledger.reports().set_bom(report, bom)?,
            None => self.ledger.reports().mark_damaged(report)?,
        }
        Point::ReportDamaged.pass();
        let mut part = self.begin(report)?;
        while self.step(&mut part)? {}
        self.settle(&mut part)?;
        self.finish(part).map(|(rebuilt, _)| rebuilt)
    }

    /// Begins to rebuild a report.
    ///
    /// # Errors
    ///
    /// If its file cannot be made.
    pub fn begin(&self, report: &Name) -> Result<Part, Error> {
        let path = self.path_of(report);
        let failed = |source| Error::Report { path: path.clone(), source };
        let part = beside(&path, ".part");
        let folder = path.parent().unwrap_or(Path::new(".")).to_owned();
        make_folders(&folder).map_err(failed)?;
        let bom = self.has_bom(report)?;
        let mut out = BufWriter::new(new_part(&part, &path, &folder).map_err(failed)?);
        out.write_all(header_of(report, bom).as_bytes()).map_err(failed)?;
        Ok(Part {
            report: report.clone(),
            bom,
            path,
            part,
            folder,
            out,
            cursor: Cursor::default(),
            same: None,
        })
    }

    /// Rebuilds the next rows; `false` if there are no more at the moment.
    ///
    /// # Errors
    ///
    /// If they cannot be written, a file changes while it is read, or the ledger cannot be used.
    pub fn step(&self, part: &mut Part) -> Result<bool, Error> {
        let Part { report, cursor, out, .. } = part;
        self.next_rows(report, cursor, out)
    }

    /// Makes what is rebuilt so far durable, and finds out whether the report in its place holds the same: what
    /// takes long is done before commits are held up.
    ///
    /// # Errors
    ///
    /// If it cannot be written or read.
    pub fn settle(&self, part: &mut Part) -> Result<(), Error> {
        let failed = |source| Error::Report { path: part.path.clone(), source };
        part.out.flush().map_err(failed)?;
        part.out.get_ref().sync_all().map_err(failed)?;
        part.same = same(&part.path, &part.part, &*self.on_part).map_err(failed)?;
        Ok(())
    }

    /// Puts a report into its place that is rebuilt up to everything that is committed. Nothing may be committed
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or the ledger cannot be used.
    pub fn finish(&self, part: Part) -> Result<(Rebuilt, OpenFile), Error> {
        let Part { report, bom, path, part, folder, out, same, .. } = part;
        let failed = |source| Error::Report { path: path.clone(), source };
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        Point::ReportWritten.pass();
        let left = Signature::of(&file.metadata().map_err(failed)?);
        let file = OpenFile { file, left, bom };
        let length = file.left.bytes;
        let there = path.symlink_metadata().map(|found| Signature::of(&found)).ok();
        // The same bytes are replaced all the same: the system may have dropped some that it could not write.
        let rebuilt = if same.is_some_and(|same| Some(same) == there && same.bytes == length) {
            std::fs::rename(&part, &path).map_err(failed)?;
            Rebuilt::Same
        } else {
            Rebuilt::Written { aside: put(&report, &part, &path).map_err(failed)? }
        };
        sync_new_file(&file.file, &folder).map_err(failed)?;
        Point::ReportNamed.pass();
        self.ledger.reports().mark_whole(&report, length)?;
        if matches!(rebuilt, Rebuilt::Written { .. }) {
            emit::report_restored(&report, NOT_AS_LEFT);
        }
        Ok((rebuilt, file))
    }

    /// The error of a report that is not rebuilt now, for this reason.
    pub fn refused(&self, part: &Part, why: String) -> Error {
        Error::Report { path: part.path.clone(), source: io::Error::other(why) }
    }

    /// Gives up a report that is being rebuilt.
    pub fn discard(&self, part: &Part) {
        // What stays is overwritten by the next try.
        let _ = std::fs::remove_file(&part.part);
    }

    /// Gives all rows of a report to `sink`, the header first.
    ///
    /// # Errors
    ///
    /// If the sink fails, the ledger cannot be read, or a file changes while it is read.
    pub fn rows_of(&self, report: &Name, sink: &mut impl Sink) -> Result<(), Error> {
        let failed = |source| Error::Report { path: self.path_of(report), source };
        sink.rows(header_of(report, self.has_bom(report)?).as_bytes()).map_err(failed)?;
        let mut cursor = Cursor::default();
        while self.next_rows(report, &mut cursor, sink)? {}
        Ok(())
    }

    fn next_rows(
        &self,
        report: &Name,
        cursor: &mut Cursor,
        sink: &mut impl Sink,
    ) -> Result<bool, Error> {
        let failed = |source| Error::Report { path: self.path_of(report), source };
        if report.as_bytes() != SUBMISSIONS {
            let mut pieces = self.ledger.reports().pieces(report, cursor.after, STEP_MAX)?;
            let mut cases = 0;
            let fits = pieces.iter().take_while(|piece| {
                let is_first = cases == 0;
                cases += piece.cases;
                is_first || cases <= STEP_CASES_MAX
            });
            pieces.truncate(fits.count());
            let Some(last) = pieces.last() else {
                return Ok(false);
            };
            cursor.after = last.step;
            pieces.retain(|piece| piece.cases > 0);
            self.case_rows(&pieces, &mut cursor.streams, sink, &failed)?;
            return Ok(true);
        }
        let records = self.ledger.records().finished_after(cursor.after, STEP_MAX)?;
        for (step, record) in &records {
            if let Some(done) = &record.finished {
                let row = submission_row(&record.claimed, done, done.rules.neutralise_formulas);
                sink.rows(&row).map_err(failed)?;
            }
            cursor.after = *step;
        }
        Ok(!records.is_empty())
    }

    fn path_of(&self, report: &Name) -> PathBuf {
        self.reports.join(report.as_path())
    }

    fn has_bom(&self, report: &Name) -> Result<bool, Error> {
        Ok(self.ledger.reports().get(report)?.is_some_and(|report| report.bom))
    }
}

/// A new file for the report at `path` in `folder`, which is called `part` until it is complete. If the
/// report exists and belongs to the same user, the new one gets its mode.
fn new_part(part: &Path, path: &Path, folder: &Path) -> io::Result<File> {
    match std::fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // A file that somebody puts there now is not written to.
    let file = File::options().read(true).write(true).create_new(true).open(part)?;
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

/// The signature of the file at `path`, if it holds the same bytes as the new one.
fn same(path: &Path, part: &Path, on_part: &dyn Fn()) -> io::Result<Option<Signature>> {
    let new = File::open(part)?;
    let length = new.metadata()?.len();
    let is_like = |found: std::fs::Metadata| found.is_file() && found.len() == length;
    if !path.symlink_metadata().is_ok_and(is_like) {
        return Ok(None);
    }
    let Ok(there) = File::open(path) else { return Ok(None) };
    let signature = Signature::of(&there.metadata()?);
    let mut one = BufReader::with_capacity(COMPARED_BYTES, there);
    let mut other = BufReader::with_capacity(COMPARED_BYTES, new);
    loop {
        on_part();
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let most = a.len().min(b.len());
        if a[..most] != b[..most] || a.is_empty() != b.is_empty() {
            return Ok(None);
        }
        if most == 0 {
            return Ok(Some(signature));
        }
        one.consume(most);
        other.consume(most);
    }
}

/// Puts a rebuilt report into its place, and sets aside what stands there; returns where.
fn put(report: &Name, part: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    let mut aside = None;
    if path.symlink_metadata().is_ok() {
        aside = Some(set_aside(report, path, NOT_AS_LEFT)?);
        Point::ReportSetAside.pass();
    }
    std::fs::rename(part, path)?;
    Ok(aside)
}

impl Sink for BufWriter<File> {
    fn rows(&mut self, rows: &[u8]) -> io::Result<()> {
        Point::ReportHalfWritten.pass_or(|| {
            let _ = self.flush();
        });
        self.write_all(rows)
    }

    fn gap(&mut self, gap: &Gap<'_>) -> io::Result<()> {
        if gap.is_first {
            emit::rebuild_failed(&gap.record.claimed.name, gap.why);
        }
        Ok(())
    }
}

/// Why a report is rebuilt.
const NOT_AS_LEFT: &str = "it was not as gridmark had left it";
