//! Reports from which rows are missing are written anew, from the ledger and the archive, before
//! anything is added to them.

use super::Error;
use crate::archive::Archive;
use crate::aside::set_aside;
use crate::config::Settings;
use crate::event;
use crate::format::{Found, Reader, kind_by_name};
use crate::grading::{Marker, limits};
use crate::judge::{Judge, Tier};
use crate::ledger::{Ledger, Report};
use crate::publish::{SUBMISSIONS, row_of};
use crate::rows::{CASE_HEADER, CaseRows, SUBMISSION_HEADER, report_of};
use crate::submission::{Claimed, Name, Status, Tally};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// What reports are written anew from.
pub(super) struct Rebuild<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) archive: &'a Archive,
    pub(super) settings: &'a Settings,
    pub(super) tier: Tier,
}

impl Rebuild<'_> {
    /// Writes every report anew that is damaged.
    ///
    /// # Errors
    ///
    /// If one cannot be written, or the ledger cannot be used; the next start tries again.
    pub(super) fn run(&self) -> Result<(), Error> {
        for report in self.ledger.reports()? {
            let path = self.settings.paths.reports().join(report.path.as_path());
            if !is_whole(&report, &path) {
                self.ledger.report_is_damaged(&report.path)?;
                self.write_anew(&report.path, &path)?;
            }
        }
        Ok(())
    }

    fn write_anew(&self, report: &Name, path: &Path) -> Result<(), Error> {
        let failed = |source| Error::Report { path: path.to_owned(), source };
        if path.symlink_metadata().is_ok() {
            set_aside(report, path, "rows that were committed are gone").map_err(failed)?;
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
        let length = file.metadata().map_err(failed)?.len();
        std::fs::rename(&part, path).map_err(failed)?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        let under_way = self.ledger.open_claims()?.into_iter().map(|claim| claim.claimed);
        let restart: Vec<i64> = under_way
            .filter(|claimed| claimed.progress.is_some() && report_of(&claimed.name) == *report)
            .map(|claimed| claimed.id)
            .collect();
        self.ledger.report_is_whole(report, length, &restart)?;
        event::report_restored(report, "rows were missing from it");
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
                out.write_all(&row_of(&claimed, &done, neutralise)).map_err(failed)
            });
        }
        out.write_all(CASE_HEADER.as_bytes()).map_err(failed)?;
        self.ledger.for_each_finished(|claimed, done| {
            if done.status == Status::Failed || report_of(&claimed.name) != *report {
                return Ok(());
            }
            let file = match self.archive.read(&claimed.archived_as) {
                Ok(file) => file,
                Err(error) => {
                    // Whoever took it out of the archive can put it back and start again.
                    event::rebuild_failed(&claimed.name, &error);
                    return Ok(());
                }
            };
            self.write_cases(&claimed, file, out).map_err(failed)
        })
    }

    /// Marks a submission once more and writes its rows.
    fn write_cases(
        &self,
        claimed: &Claimed,
        mut file: File,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let settings = &self.settings.grade;
        let limits = limits(settings);
        let neutralise = self.settings.publish.neutralise_formulas;
        let case_rows = CaseRows::new(&claimed.name, claimed.attempt, neutralise);
        let mut reader = Reader::new(kind_by_name(claimed.name.as_bytes()), limits);
        let mut found = Found { cases_max: settings.chunk_cases_max, ..Found::default() };
        let chunk_bytes = settings.chunk_bytes_max.max(Reader::window_bytes_min(limits)) as u64;
        let (mut window, mut marks, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut total = Tally::default();
        loop {
            let wanted = chunk_bytes.saturating_sub(window.len() as u64);
            let at_end = ((&mut file).take(wanted).read_to_end(&mut window)? as u64) < wanted;
            found.clear();
            let consumed = reader.read(&window, at_end, &mut found);
            let marker =
                Marker { judge: Judge::new(self.tier), rows: &case_rows, kind: reader.kind() };
            let (cases, first) = (0..found.cases.len(), total.cases() + 1);
            total.add(&marker.mark(&window, &found, cases, first, &mut marks, &mut rows));
            out.write_all(&rows)?;
            rows.clear();
            if at_end && !found.capped {
                return Ok(());
            }
            window.drain(..consumed);
        }
    }
}

/// Whether all that was committed to a report is still there.
fn is_whole(report: &Report, path: &Path) -> bool {
    let there = path.symlink_metadata();
    report.whole
        && (report.length == 0
            || there.is_ok_and(|found| found.is_file() && found.len() >= report.length))
}
