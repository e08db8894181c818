//! Reports that were damaged are written anew, from the ledger and the archive, before anything is
//! added to them.

use super::Error;
use crate::archive::Archive;
use crate::aside::set_aside;
use crate::config::Settings;
use crate::event;
use crate::fail_point::Point;
use crate::format::{Reader, kind_by_name};
use crate::grading::{Marker, limits};
use crate::judge::{Judge, Tier};
use crate::ledger::{Ledger, Report};
use crate::publish::{SUBMISSIONS, row_of};
use crate::rows::{CASE_HEADER, CaseRows, SUBMISSION_HEADER, report_of};
use crate::submission::{Claimed, Name, Status};
use crate::windows::Windows;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What reports are written anew from.
pub(super) struct Rebuild {
    pub(super) ledger: Arc<Ledger>,
    pub(super) archive: Arc<Archive>,
    pub(super) settings: Settings,
    pub(super) tier: Tier,
    /// Called whenever a part of a report is written.
    pub(super) on_part: Box<dyn Fn() + Send>,
}

impl Rebuild {
    /// Writes every report anew that is damaged.
    ///
    /// # Errors
    ///
    /// If one cannot be written, or the ledger cannot be used; the next start tries again.
    pub(super) fn run(&self) -> Result<(), Error> {
        for report in self.ledger.reports()? {
            let path = self.settings.paths.reports().join(report.path.as_path());
            if !is_whole(&report, &path) {
                self.write_anew(&report.path)?;
            }
        }
        Ok(())
    }

    /// Writes a report anew: all rows that are committed. What stands in its place is kept aside.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or the ledger cannot be used; the next start tries again.
    pub(super) fn write_anew(&self, report: &Name) -> Result<(), Error> {
        let path = &self.settings.paths.reports().join(report.as_path());
        let failed = |source| Error::Report { path: path.to_owned(), source };
        self.ledger.report_is_damaged(report)?;
        Point::ReportDamaged.pass();
        if path.symlink_metadata().is_ok() {
            set_aside(report, path, "rows that were committed are not there any more")
                .map_err(failed)?;
            Point::ReportSetAside.pass();
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut out = BufWriter::new(File::create(&part).map_err(failed)?);
        self.write_rows(report, &mut out, &failed)?;
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        Point::ReportWritten.pass();
        let length = file.metadata().map_err(failed)?.len();
        std::fs::rename(&part, path).map_err(failed)?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Point::ReportNamed.pass();
        self.ledger.report_is_whole(report, length)?;
        event::report_restored(report, "rows that were committed were not there any more");
        Ok(())
    }

    fn write_rows(
        &self,
        report: &Name,
        out: &mut impl Write,
        failed: &impl Fn(io::Error) -> Error,
    ) -> Result<(), Error> {
        let neutralise = self.settings.publish.neutralise_formulas;
        if report.as_bytes() == SUBMISSIONS {
            out.write_all(SUBMISSION_HEADER.as_bytes()).map_err(failed)?;
            return self.ledger.for_each_finished(|claimed, done| {
                half_written(out);
                (self.on_part)();
                out.write_all(&row_of(&claimed, &done, neutralise)).map_err(failed)
            });
        }
        out.write_all(CASE_HEADER.as_bytes()).map_err(failed)?;
        for (claimed, cases_max) in self.submissions_in(report)? {
            half_written(out);
            match self.archive.read(&claimed.archived_as) {
                Ok(file) => self.write_cases(&claimed, cases_max, file, out).map_err(failed)?,
                // Whoever took it out of the archive can put it back and have the report removed.
                Err(error) => event::rebuild_failed(&claimed.name, &error),
            }
        }
        Ok(())
    }

    /// The submissions that have rows in a report, and of each how many at the most: all of those
    /// that are done, and what is committed of those that are under way.
    fn submissions_in(&self, report: &Name) -> Result<Vec<(Claimed, u64)>, Error> {
        let mut submissions = Vec::new();
        self.ledger.for_each_finished(|claimed, done| {
            if done.status != Status::Failed && report_of(&claimed.name) == *report {
                submissions.push((claimed, u64::MAX));
            }
            Ok::<(), Error>(())
        })?;
        for claimed in self.ledger.open_claims()?.into_iter().map(|claim| claim.claimed) {
            if let Some(progress) = &claimed.progress
                && report_of(&claimed.name) == *report
            {
                let cases = progress.tally.cases();
                submissions.push((claimed, cases));
            }
        }
        Ok(submissions)
    }

    /// Marks a submission once more and writes the rows of its first cases.
    fn write_cases(
        &self,
        claimed: &Claimed,
        cases_max: u64,
        file: File,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let settings = &self.settings.grade;
        let neutralise = self.settings.publish.neutralise_formulas;
        let case_rows = CaseRows::new(&claimed.name, claimed.attempt, neutralise);
        let reader = Reader::new(kind_by_name(claimed.name.as_bytes()), limits(settings));
        let mut windows =
            Windows::new(file, reader, settings.chunk_bytes_max, settings.chunk_cases_max);
        let (mut marks, mut rows) = (Vec::new(), Vec::new());
        let mut done = 0;
        while let Some(window) = windows.next_window()? {
            let marker =
                Marker { judge: Judge::new(self.tier), rows: &case_rows, kind: window.kind() };
            let left = usize::try_from(cases_max - done).unwrap_or(usize::MAX);
            let cases = 0..window.found().cases.len().min(left);
            let (text, found) = (window.text(), window.found());
            done += marker.mark(text, found, cases, done + 1, &mut marks, &mut rows).cases();
            out.write_all(&rows)?;
            (self.on_part)();
            rows.clear();
            if done == cases_max {
                break;
            }
            windows.reuse(window);
        }
        Ok(())
    }
}

/// Comes by the point at which a part of a report is written.
fn half_written(out: &mut impl Write) {
    Point::ReportHalfWritten.pass_or(|| {
        let _ = out.flush();
    });
}

/// Whether all that was committed to a report is still there.
fn is_whole(report: &Report, path: &Path) -> bool {
    let there = path.symlink_metadata();
    report.whole
        && (report.length == 0
            || there.is_ok_and(|found| found.is_file() && found.len() >= report.length))
}
