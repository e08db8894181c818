//! Appends rows to reports, and cuts off what was not committed.

use super::aside::set_aside;
use super::assess::{self, Change, Condition, assess};
use super::rebuild::OpenFile;
use crate::model::escape;
use crate::model::rows::header_of;
use crate::model::submission::{Name, Signature};
use crate::store::disk::explained;
use crate::store::durable::{Changes, FileSystems};
use crate::store::fail_point::Point;
use crate::store::ledger::{self, Ledger};
use crate::telemetry::emit;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why reports cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A report cannot be written.
    #[error("the report {report}: {source}")]
    Report {
        /// The report.
        report: String,
        /// Why.
        source: io::Error,
    },
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
}

/// The report files of the service.
pub struct ReportFiles {
    folder: PathBuf,
    ledger: Arc<Ledger>,
    /// Descriptors of its own: the system reports a write error once to each.
    file_systems: FileSystems,
    /// How many reports are kept open from commit to commit.
    open_max: usize,
    /// Whether new reports begin with a byte-order mark.
    bom: bool,
    open: HashMap<Name, OpenReport>,
    /// How we left or found those that are not open.
    closed: HashMap<Name, Signature>,
    /// Folders in which a report was made since the last sync.
    changes: Changes,
    /// Reports that are to be rebuilt: no rows are appended to them.
    damaged: HashSet<Name>,
    /// Those of them that the rebuilder has not fetched yet.
    to_rebuild: Vec<Name>,
}

/// One open report.
struct OpenReport {
    file: File,
    /// How many bytes the ledger has committed to it.
    committed: u64,
    /// Its length with what was appended since.
    length: u64,
    /// Whether it begins with a byte-order mark.
    bom: bool,
    /// How we left it.
    left: Signature,
    /// Whether something was written in part, by us: then it is longer than it should be.
    torn: bool,
}

impl ReportFiles {
    /// The reports in this folder. Those that the ledger marks as damaged are to be rebuilt; new ones begin
    /// with a byte-order mark if `bom` says so.
    ///
    /// # Errors
    ///
    /// If the folder cannot be opened, or the ledger cannot be read.
    pub fn open(
        folder: PathBuf,
        ledger: Arc<Ledger>,
        open_max: usize,
        bom: bool,
    ) -> Result<ReportFiles, Error> {
        let file_systems = FileSystems::default();
        let failed = |source| Error::Report { report: escape::path(&folder).to_string(), source };
        file_systems.hold(&[&folder]).map_err(failed)?;
        let to_rebuild = ledger.reports().damaged()?;
        emit::damaged_reports(to_rebuild.len());
        Ok(ReportFiles {
            damaged: to_rebuild.iter().cloned().collect(),
            to_rebuild,
            folder,
            ledger,
            file_systems,
            open_max,
            bom,
            open: HashMap::new(),
            closed: HashMap::new(),
            changes: Changes::default(),
        })
    }

    fn path_of(&self, name: &Name) -> PathBuf {
        self.folder.join(name.as_path())
    }

    /// Whether no report is to be rebuilt.
    pub(super) fn are_whole(&self) -> bool {
        self.damaged.is_empty()
    }

    /// The next report that is to be rebuilt.
    pub(super) fn next_to_rebuild(&mut self) -> Option<Name> {
        self.to_rebuild.pop()
    }

    /// This report is to be rebuilt after all: the try has failed.
    pub(super) fn rebuild_again(&mut self, name: Name) {
        self.to_rebuild.push(name);
    }

    /// This report was rebuilt: the file is in its place and holds everything that is committed to it. It is
    /// kept open, so that the next change is noticed.
    pub(super) fn rebuilt(&mut self, name: &Name, OpenFile { file, left, bom }: OpenFile) {
        let length = left.bytes;
        let report = OpenReport { file, committed: length, length, bom, left, torn: false };
        self.damaged.remove(name);
        emit::damaged_reports(self.damaged.len());
        // Only a commit makes room, and there may be none for long.
        if self.open.len() < self.open_max {
            self.open.insert(name.clone(), report);
        } else {
            self.closed.insert(name.clone(), left);
        }
    }

    /// Somebody has changed this report, or it could not be made durable: from now on no rows are appended
    /// to it, and it is to be rebuilt.
    fn mark_damaged(&mut self, name: &Name) -> Result<(), Error> {
        if !self.damaged.contains(name) {
            self.ledger.reports().mark_damaged(name)?;
            Point::ReportDamaged.pass();
            self.damaged.insert(name.clone());
            self.to_rebuild.push(name.clone());
            emit::damaged_reports(self.damaged.len());
        }
        self.open.remove(name);
        self.closed.remove(name);
        Ok(())
    }

    /// Makes reports known to the ledger, all new ones in one transaction, before anything is appended to
    /// them: from then on everything in one beyond what is committed is known to be uncommitted.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be used, or what stands in the place of a new report cannot be set aside.
    pub fn introduce<'a>(&self, names: impl Iterator<Item = &'a Name>) -> Result<(), Error> {
        let mut new = Vec::new();
        for name in names.filter(|name| !self.open.contains_key(*name)) {
            if self.ledger.reports().get(name)?.is_some() {
                continue;
            }
            let path = self.path_of(name);
            if path.symlink_metadata().is_ok() {
                set_aside(name, &path, "gridmark did not write it").map_err(of(name))?;
            }
            new.push(name.clone());
        }
        if !new.is_empty() {
            self.ledger.reports().introduce(&new, self.bom)?;
            Point::ReportsIntroduced.pass();
        }
        Ok(())
    }

    /// Closes reports that are not `needed` now, if as many are open as may be.
    pub fn make_room(&mut self, needed: impl Fn(&Name) -> bool) {
        if self.open.len() >= self.open_max {
            let idle =
                self.open.extract_if(|name, report| report.is_as_committed() && !needed(name));
            self.closed.extend(idle.map(|(name, report)| (name, report.left)));
        }
    }

    /// Appends rows to a report that was introduced, with its header first if it is new. Returns how many
    /// bytes; none if the report is to be rebuilt.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or the ledger cannot be used.
    pub fn append(&mut self, name: &Name, rows: &[Vec<u8>]) -> Result<u64, Error> {
        if self.damaged.contains(name) || !self.make_open(name)? {
            return Ok(0);
        }
        let Some(report) = self.open.get_mut(name) else {
            return Ok(0);
        };
        let before = report.length;
        report.append_all(name, rows).map_err(of(name))?;
        Ok(report.length - before)
    }

    /// Marks every open report that somebody has changed, replaced or removed.
    ///
    /// # Errors
    ///
    /// If one cannot be read, or the ledger cannot be used.
    pub fn check_open(&mut self) -> Result<(), Error> {
        let names: Vec<Name> = self.open.keys().cloned().collect();
        names.iter().try_for_each(|name| self.make_open(name).map(drop))
    }

    /// Opens a report, or checks it if it is open; `false` if it is to be rebuilt.
    fn make_open(&mut self, name: &Name) -> Result<bool, Error> {
        let path = self.path_of(name);
        if let Some(report) = self.open.get(name) {
            if report.is_as_left(&path).map_err(of(name))? {
                return Ok(true);
            }
            self.mark_damaged(name)?;
            return Ok(false);
        }
        let Some(report) = self.ledger.reports().get(name)? else {
            return Ok(false);
        };
        let left = self.closed.get(name);
        let found = path.symlink_metadata();
        let is_as_left =
            left.is_none_or(|left| found.as_ref().is_ok_and(|found| Signature::of(found) == *left));
        let condition = match is_as_left {
            true => assess(&self.ledger, &report, &path).map_err(|error| match error {
                assess::Error::Io(source) => of(name)(source),
                assess::Error::Ledger(error) => error.into(),
            })?,
            false => Condition::Changed(Change::Unfinished),
        };
        match condition {
            // There is nothing to rebuild of it.
            Condition::Changed(Change::NotAFile) if report.length == 0 => {
                set_aside(name, &path, "it is no regular file").map_err(of(name))?;
            }
            Condition::Changed(_) => {
                self.mark_damaged(name)?;
                return Ok(false);
            }
            Condition::AsCommitted | Condition::Tail(_) => {}
        }
        let file = match File::options().read(true).write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.create(&path).map_err(|error| explained(error, &self.folder))
            }
            opened => opened,
        }
        .map_err(of(name))?;
        if let Condition::Tail(bytes) = condition {
            file.set_len(report.length).map_err(of(name))?;
            emit::report_cut(name, bytes);
        }
        self.closed.remove(name);
        let left = Signature::of(&file.metadata().map_err(of(name))?);
        let (committed, bom) = (report.length, report.bom);
        let opened = OpenReport { file, committed, length: committed, bom, left, torn: false };
        self.open.insert(name.clone(), opened);
        Ok(true)
    }

    fn create(&mut self, path: &Path) -> io::Result<File> {
        let folder = path.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(folder)?;
        for folder in [folder, &self.folder] {
            self.changes.add_folder(folder.metadata()?.dev(), folder.as_os_str());
        }
        File::options().read(true).write(true).create_new(true).open(path)
    }

    /// Assesses a report, and cuts off what is not committed of it. One that was changed is marked.
    ///
    /// # Errors
    ///
    /// If it cannot be read or cut, or the ledger cannot be used.
    pub fn check(&mut self, name: &Name) -> Result<(), Error> {
        if self.damaged.contains(name) || self.open.contains_key(name) {
            return Ok(());
        }
        let Some(report) = self.ledger.reports().get(name)? else {
            return Ok(());
        };
        let path = self.path_of(name);
        match assess(&self.ledger, &report, &path) {
            Ok(Condition::AsCommitted) => {
                // So that a later change in place is noticed before rows are appended. How we left a report
                // that this run has written stays what counts.
                if let Ok(found) = path.symlink_metadata() {
                    self.closed.entry(name.clone()).or_insert_with(|| Signature::of(&found));
                }
                Ok(())
            }
            Ok(Condition::Tail(bytes)) => {
                let cut = File::options().write(true).open(&path).and_then(|file| {
                    file.set_len(report.length)?;
                    file.sync_all()
                });
                cut.map_err(of(name))?;
                emit::report_cut(name, bytes);
                Point::ReportCut.pass();
                Ok(())
            }
            Ok(Condition::Changed(_)) => self.mark_damaged(name),
            Err(assess::Error::Io(source)) => Err(of(name)(source)),
            Err(assess::Error::Ledger(error)) => Err(error.into()),
        }
    }

    /// Makes durable what was appended.
    ///
    /// # Errors
    ///
    /// If the system refuses, or could not write something; then the reports that have grown are to be
    /// rebuilt, since the system may have dropped what it could not write.
    pub fn sync(&mut self) -> Result<(), Error> {
        let mut changes = std::mem::take(&mut self.changes);
        let grown: Vec<Name> = self.grown().map(|(name, _)| name.clone()).collect();
        for (name, report) in self.grown() {
            changes.add_file(report.left.identity.0, self.path_of(name));
        }
        let synced = self.file_systems.sync(&changes);
        if let Err(source) = synced {
            self.changes = changes;
            for name in &grown {
                self.mark_damaged(name)?;
            }
            return Err(Error::Report { report: escape::path(&self.folder).to_string(), source });
        }
        Ok(())
    }

    fn grown(&self) -> impl Iterator<Item = (&Name, &OpenReport)> {
        self.open.iter().filter(|(_, report)| report.length > report.committed)
    }

    /// The lengths of the reports that have grown since the last commit.
    pub fn lengths(&self) -> Vec<(Name, u64)> {
        self.grown().map(|(name, report)| (name.clone(), report.length)).collect()
    }

    /// The ledger has committed these lengths.
    pub fn committed(&mut self) {
        for report in self.open.values_mut() {
            report.committed = report.length;
        }
        if self.open.len() > self.open_max {
            self.closed.extend(self.open.drain().map(|(name, report)| (name, report.left)));
        }
    }

    /// Cuts off what was appended and not committed. A report that cannot be cut now is assessed, and cut,
    /// before anything is appended to it.
    pub fn roll_back(&mut self) {
        self.open.retain(|_, report| report.is_as_committed() || report.cut().is_ok());
    }
}

fn of(name: &Name) -> impl Fn(io::Error) -> Error {
    move |source| Error::Report { report: name.to_string(), source }
}

impl OpenReport {
    /// Whether the file at `path` is this one, as we left it.
    fn is_as_left(&self, path: &Path) -> io::Result<bool> {
        let ours = Signature::of(&self.file.metadata()?);
        let there = path.symlink_metadata();
        let is_ours = there.is_ok_and(|found| Signature::of(&found).identity == ours.identity);
        Ok(ours == self.left && is_ours)
    }

    /// Whether it holds what is committed and nothing else.
    fn is_as_committed(&self) -> bool {
        self.length == self.committed && !self.torn
    }

    fn append_all(&mut self, name: &Name, rows: &[Vec<u8>]) -> io::Result<()> {
        let header = if self.length == 0 { header_of(name, self.bom) } else { String::new() };
        self.torn = true;
        for block in std::iter::once(header.as_bytes()).chain(rows.iter().map(Vec::as_slice)) {
            Point::RowsHalfAppended.pass_or(|| {
                let _ = self.file.write_all_at(&block[..block.len() / 2], self.length);
            });
            self.file.write_all_at(block, self.length)?;
            self.length += block.len() as u64;
        }
        Point::RowsAppended.pass();
        self.left = Signature::of(&self.file.metadata()?);
        self.torn = false;
        Ok(())
    }

    /// Cuts off what was appended and not committed.
    fn cut(&mut self) -> io::Result<()> {
        self.file.set_len(self.committed)?;
        self.length = self.committed;
        self.left = Signature::of(&self.file.metadata()?);
        self.torn = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::rows::CASE_HEADER;
    use crate::store::ledger::Commit;
    use std::fs;

    fn files(root: &Path) -> ReportFiles {
        let folder = |name: &str| {
            let folder = root.join(name);
            fs::create_dir_all(&folder).expect("a folder");
            folder
        };
        let ledger = Ledger::open(&folder("state").join("ledger.db")).expect("a ledger");
        ReportFiles::open(folder("reports"), Arc::new(ledger), 8, false).expect("reports")
    }

    fn commit(files: &mut ReportFiles, name: &Name, row: &str) -> u64 {
        files.introduce([name].into_iter()).expect("introduced");
        let bytes = files.append(name, &[row.into()]).expect("appended");
        files.sync().expect("synced");
        let commit = Commit { report_lengths: files.lengths(), ..Commit::default() };
        files.ledger.commit(&commit).expect("committed");
        files.committed();
        bytes
    }

    #[test]
    fn nothing_is_appended_to_a_report_that_somebody_has_changed() {
        let root = tempfile::tempdir().expect("a folder");
        let mut files = files(root.path());
        let name = Name::from_bytes(*b"p.csv");
        let length = CASE_HEADER.len() as u64 + 6;
        assert_eq!(commit(&mut files, &name, "a row\n"), length);
        let path = root.path().join("reports/p.csv");
        // As a program saves in place from which a row was removed.
        fs::write(&path, CASE_HEADER).expect("written");
        assert_eq!(commit(&mut files, &name, "another row\n"), 0);
        assert_eq!(fs::read_to_string(&path).expect("the report"), CASE_HEADER);
        assert_eq!(files.damaged.len(), 1);
        assert_eq!(files.next_to_rebuild(), Some(name.clone()));
        assert_eq!(files.next_to_rebuild(), None);
        let report = files.ledger.reports().get(&name).expect("the ledger").expect("a report");
        assert_eq!((report.length, report.whole), (length, false));
        // The next process knows that it has to be rebuilt.
        let ledger = Arc::clone(&files.ledger);
        let mut next = ReportFiles::open(files.folder, ledger, 8, false).expect("reports");
        assert_eq!(next.next_to_rebuild(), Some(name));
    }

    #[test]
    fn a_change_in_place_after_the_check_of_a_start_is_noticed() {
        let root = tempfile::tempdir().expect("a folder");
        let mut files = files(root.path());
        let name = Name::from_bytes(*b"p.csv");
        commit(&mut files, &name, "a row\n");
        let ledger = Arc::clone(&files.ledger);
        let mut next = ReportFiles::open(files.folder, ledger, 8, false).expect("reports");
        next.check(&name).expect("checked");
        // Of the same length, and another file, so that the clock's resolution does not matter.
        let path = root.path().join("reports/p.csv");
        fs::write(path.with_extension("new"), format!("{CASE_HEADER}A ROW\n")).expect("written");
        fs::rename(path.with_extension("new"), &path).expect("renamed");
        assert_eq!(commit(&mut next, &name, "another row\n"), 0);
        assert_eq!(next.next_to_rebuild(), Some(name));
    }

    #[test]
    fn a_check_does_not_forget_how_a_report_was_left() {
        let root = tempfile::tempdir().expect("a folder");
        let mut files = files(root.path());
        let name = Name::from_bytes(*b"p.csv");
        commit(&mut files, &name, "a row\n");
        files.open_max = 1;
        files.make_room(|_| false);
        let path = root.path().join("reports/p.csv");
        fs::write(path.with_extension("new"), format!("{CASE_HEADER}A ROW\n")).expect("written");
        fs::rename(path.with_extension("new"), &path).expect("renamed");
        files.check(&name).expect("checked");
        assert_eq!(commit(&mut files, &name, "another row\n"), 0);
        assert_eq!(files.next_to_rebuild(), Some(name));
    }

    #[test]
    fn what_is_not_committed_is_cut_off() {
        let root = tempfile::tempdir().expect("a folder");
        let mut files = files(root.path());
        let name = Name::from_bytes(*b"p.csv");
        commit(&mut files, &name, "a row\n");
        files.append(&name, &[b"lost\n".to_vec()]).expect("appended");
        files.roll_back();
        let path = root.path().join("reports/p.csv");
        let text = fs::read_to_string(path).expect("the report");
        assert_eq!(text, format!("{CASE_HEADER}a row\n"));
        assert_eq!(files.damaged.len(), 0);
    }

    #[test]
    fn no_more_reports_are_kept_open_than_allowed() {
        let root = tempfile::tempdir().expect("a folder");
        let mut files = files(root.path());
        for i in 0..2 * files.open_max {
            let name = Name::from_bytes(format!("{i}.csv"));
            let file = File::create(files.path_of(&name)).expect("a file");
            let left = Signature::of(&file.metadata().expect("the file"));
            files.rebuilt(&name, OpenFile { file, left, bom: false });
        }
        assert_eq!(files.open.len(), files.open_max);
        assert_eq!(files.closed.len(), files.open_max);
    }
}
