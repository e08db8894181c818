//! The report files: appended to, cut back to what is committed, and told apart from what somebody
//! else has put in their place.

use super::{Error, Parts};
use crate::model::escape;
use crate::model::submission::{Name, Signature};
use crate::store::archive::sync_file_systems;
use crate::store::fail_point::Point;
use crate::store::ledger::{Commit, Ledger};
use crate::store::reports::aside::set_aside;
use crate::store::reports::uncommitted::Uncommitted;
use crate::telemetry::emit;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Up to so many files are synced one by one; beyond it the whole file system is.
const FILE_SYNCS_MAX: usize = 8;

/// All reports.
pub(super) struct Reports {
    folder: PathBuf,
    /// How many reports are kept open from commit to commit.
    open_max: usize,
    open: HashMap<Name, Report>,
    /// What those looked like that are not open any more.
    closed: HashMap<Name, Signature>,
    /// Folders in which a report was made since the last sync.
    new_entries_in: BTreeSet<PathBuf>,
}

/// One open report.
struct Report {
    file: File,
    /// How long it is according to the ledger, in bytes.
    committed: u64,
    /// How long it is with what was appended since.
    length: u64,
    /// What it looked like when we had written to it last.
    left: Signature,
    /// Whether something was written in part: then it is longer than it should be, and by us.
    torn: bool,
}

/// What stands where a report belongs.
enum Stands {
    /// The report as we left it.
    Ours,
    /// Something else or nothing, but what we have open is as we left it.
    Replaced,
    /// Somebody has written into the report.
    Changed,
}

impl Reports {
    pub(super) fn new(folder: PathBuf, open_max: usize) -> Reports {
        Reports {
            folder,
            open_max,
            open: HashMap::new(),
            closed: HashMap::new(),
            new_entries_in: BTreeSet::new(),
        }
    }

    /// Makes reports known to the ledger, all that are new in one transaction, before anything is
    /// appended to them: from then on whatever stands in one beyond what is committed is known to
    /// be uncommitted.
    pub(super) fn introduce<'a>(
        &self,
        ledger: &Ledger,
        names: impl Iterator<Item = &'a Name>,
    ) -> Result<(), Error> {
        let mut report_lengths = Vec::new();
        for name in names.filter(|name| !self.open.contains_key(*name)) {
            if ledger.report_length(name)?.is_some() {
                continue;
            }
            let path = self.folder.join(name.as_path());
            if path.symlink_metadata().is_ok() {
                set_aside(name, &path, "it is none of gridmark's")
                    .map_err(|source| Error::Report { report: name.to_string(), source })?;
            }
            report_lengths.push((name.clone(), 0));
        }
        if !report_lengths.is_empty() {
            ledger.commit(&Commit { report_lengths, ..Commit::default() })?;
            Point::ReportsIntroduced.pass();
        }
        Ok(())
    }

    /// Closes reports that are not `needed` now, if as many are open as may be.
    pub(super) fn make_room(&mut self, needed: impl Fn(&Name) -> bool) {
        if self.open.len() >= self.open_max {
            let idle =
                self.open.extract_if(|name, report| report.is_as_committed() && !needed(name));
            self.closed.extend(idle.map(|(name, report)| (name, report.left)));
        }
    }

    /// Appends rows to a report that was introduced, with the header first if it is new. Returns
    /// how many bytes.
    pub(super) fn append(
        &mut self,
        parts: &Parts,
        name: &Name,
        header: &str,
        rows: &[Vec<u8>],
    ) -> Result<u64, Error> {
        let failed = |source| Error::Report { report: name.to_string(), source };
        let mut report = match self.take(parts, name)? {
            Some(report) => report,
            None => self.open(parts, name, &self.folder.join(name.as_path()))?,
        };
        let before = report.length;
        let appended = report.append_all(header, rows);
        let bytes = report.length - before;
        self.open.insert(name.clone(), report);
        appended.map_err(failed)?;
        Ok(bytes)
    }

    /// Puts every open report right that somebody has changed, replaced or removed.
    pub(super) fn look_after(&mut self, parts: &Parts) -> Result<(), Error> {
        let names: Vec<Name> = self.open.keys().cloned().collect();
        for name in names {
            if let Some(report) = self.take(parts, &name)? {
                self.open.insert(name, report);
            }
        }
        if self.new_entries_in.is_empty() { Ok(()) } else { self.sync() }
    }

    /// Takes a report out of those that are open, once it is as it should be.
    fn take(&mut self, parts: &Parts, name: &Name) -> Result<Option<Report>, Error> {
        let failed = |source| Error::Report { report: name.to_string(), source };
        let path = self.folder.join(name.as_path());
        let Some(report) = self.open.remove(name) else {
            return Ok(None);
        };
        let anew = match report.stands(&path) {
            Ok(Stands::Ours) => return Ok(Some(report)),
            Ok(Stands::Replaced) => self.restore(name, &path, &report).map_err(failed),
            Ok(Stands::Changed) => self.open_anew(parts, name, &path),
            Err(error) => Err(failed(error)),
        };
        if anew.is_err() {
            // The next try begins from here.
            self.open.insert(name.clone(), report);
        }
        anew.map(Some)
    }

    /// Opens a report at the length that the ledger says. One from which rows are missing is
    /// written anew first.
    fn open(&mut self, parts: &Parts, name: &Name, path: &Path) -> Result<Report, Error> {
        let failed = |source| Error::Report { report: name.to_string(), source };
        let committed = parts.ledger.report_length(name)?.unwrap_or(0);
        let there = path.symlink_metadata();
        let left = self.closed.get(name);
        let is_whole = there.as_ref().is_ok_and(|found| {
            let is_as_left = left.is_none_or(|left| Signature::of(found) == *left);
            found.is_file() && found.len() >= committed && is_as_left
        });
        let is_longer = there.as_ref().is_ok_and(|found| found.len() > committed);
        let is_ours = !is_longer
            || !is_whole
            || Uncommitted::rows(&parts.ledger)?.explains(name, path, committed).map_err(failed)?;
        if !is_ours || !is_whole && committed > 0 {
            return self.open_anew(parts, name, path);
        }
        if there.is_ok_and(|found| !found.is_file()) {
            set_aside(name, path, "it is no file").map_err(failed)?;
        }
        let file = match File::options().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.create(path),
            opened => opened,
        }
        .map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length > committed {
            file.set_len(committed).map_err(failed)?;
            emit::report_cut(name, length - committed);
        }
        self.closed.remove(name);
        let left = Signature::of(&file.metadata().map_err(failed)?);
        Ok(Report { file, committed, length: committed, left, torn: false })
    }

    /// Has a report written anew and opens it. If somebody was quick to change it before that, it is
    /// written anew once more: what stands in its place is kept aside each time.
    fn open_anew(&mut self, parts: &Parts, name: &Name, path: &Path) -> Result<Report, Error> {
        let failed = |source| Error::Report { report: name.to_string(), source };
        loop {
            (parts.rebuild)(name)
                .map_err(|why| Error::Rebuild { report: name.to_string(), why })?;
            let committed = parts.ledger.report_length(name)?.unwrap_or(0);
            let file = match File::options().read(true).write(true).open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(failed)?,
            };
            let found = file.metadata().map_err(failed)?;
            if found.len() == committed {
                self.closed.remove(name);
                let left = Signature::of(&found);
                return Ok(Report { file, committed, length: committed, left, torn: false });
            }
        }
    }

    fn create(&mut self, path: &Path) -> io::Result<File> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
            self.new_entries_in.insert(folder.to_owned());
            self.new_entries_in.insert(self.folder.clone());
        }
        File::options().read(true).write(true).create_new(true).open(path)
    }

    /// Puts back a report that somebody replaced or removed while it was open here: what we have
    /// open still holds every row. What stands in its place is kept aside.
    fn restore(&mut self, name: &Name, path: &Path, lost: &Report) -> io::Result<Report> {
        let why = if path.symlink_metadata().is_ok() {
            set_aside(name, path, "it was replaced")?;
            "it was replaced"
        } else {
            "it was removed"
        };
        let file = self.create(path)?;
        // What it looks like now: whoever writes to it while it is made durable changes that.
        let copied = lost.copy_to(&file).and_then(|()| file.metadata());
        let copied = copied.and_then(|found| file.sync_all().map(|()| Signature::of(&found)));
        let left = copied.inspect_err(|_| {
            // Half a copy would be taken for somebody else's.
            let _ = std::fs::remove_file(path);
        })?;
        emit::report_restored(name, why);
        let committed = lost.committed;
        Ok(Report { file, committed, length: committed, left, torn: false })
    }

    /// Makes durable what was appended.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        let grown: Vec<(&Name, &Report)> =
            self.open.iter().filter(|(_, report)| report.length > report.committed).collect();
        if grown.len() + self.new_entries_in.len() > FILE_SYNCS_MAX {
            sync_file_systems(&[&self.folder])
                .map_err(|source| Error::Report { report: "(all)".into(), source })?;
        } else {
            for (name, report) in grown {
                let failed = |source| Error::Report { report: name.to_string(), source };
                report.file.sync_data().map_err(failed)?;
            }
            for folder in &self.new_entries_in {
                let failed =
                    |source| Error::Report { report: escape::path(folder).to_string(), source };
                File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
            }
        }
        self.new_entries_in.clear();
        Ok(())
    }

    /// The lengths of the reports that have grown since the last commit.
    pub(super) fn lengths(&self) -> Vec<(Name, u64)> {
        let grown = self.open.iter().filter(|(_, report)| report.length > report.committed);
        grown.map(|(name, report)| (name.clone(), report.length)).collect()
    }

    /// The ledger has these lengths now.
    pub(super) fn committed(&mut self) {
        for report in self.open.values_mut() {
            report.committed = report.length;
        }
        if self.open.len() > self.open_max {
            self.closed.extend(self.open.drain().map(|(name, report)| (name, report.left)));
        }
    }

    /// Cuts off what was appended and not committed. A report that cannot be cut now is opened
    /// anew, and cut, before anything is appended to it.
    pub(super) fn roll_back(&mut self) {
        self.open.retain(|_, report| report.is_as_committed() || report.cut().is_ok());
    }
}

impl Report {
    /// What stands at `path`, compared with how we left this report.
    fn stands(&self, path: &Path) -> io::Result<Stands> {
        let ours = Signature::of(&self.file.metadata()?);
        if ours != self.left {
            return Ok(Stands::Changed);
        }
        let there = path.symlink_metadata();
        let is_ours = there.is_ok_and(|found| Signature::of(&found).identity == ours.identity);
        Ok(if is_ours { Stands::Ours } else { Stands::Replaced })
    }

    /// Whether it holds what is committed and nothing else.
    fn is_as_committed(&self) -> bool {
        self.length == self.committed && !self.torn
    }

    /// Copies all that is committed.
    fn copy_to(&self, file: &File) -> io::Result<()> {
        let mut at = 0;
        let mut buffer = vec![0; 1 << 16];
        while at < self.committed {
            let most = (self.committed - at).min(buffer.len() as u64) as usize;
            self.file.read_exact_at(&mut buffer[..most], at)?;
            file.write_all_at(&buffer[..most], at)?;
            at += most as u64;
        }
        Ok(())
    }

    fn append_all(&mut self, header: &str, rows: &[Vec<u8>]) -> io::Result<()> {
        let header = if self.length == 0 { header } else { "" };
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
    use crate::pipeline::queue::{Budget, Limits, Queue};
    use crate::store::archive::Archive;
    use crate::telemetry::health::Health;
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const WHOLE: &str = "a header\na row\n";

    /// Whoever writes the report anew has a neighbour who is quick to add a note, the first time.
    fn parts(root: &Path) -> Parts {
        let folder = |name: &str| {
            let folder = root.join(name);
            fs::create_dir_all(&folder).expect("a folder");
            folder
        };
        let ledger = Arc::new(Ledger::open(&folder("state").join("ledger.db")).expect("a ledger"));
        let archive = Archive::open(folder("inbox"), folder("archive"), folder("quarantine"));
        let (reports, rebuilt) = (folder("reports"), AtomicUsize::new(0));
        let (known, path) = (Arc::clone(&ledger), reports.join("p.csv"));
        let rebuild = move |name: &Name| {
            if path.exists() {
                set_aside(name, &path, "it was changed").expect("set aside");
            }
            let note = if rebuilt.fetch_add(1, Ordering::Relaxed) == 0 { "a note\n" } else { "" };
            fs::write(&path, format!("{WHOLE}{note}")).expect("written");
            known.report_is_whole(name, WHOLE.len() as u64).map_err(|error| error.to_string())
        };
        let limits = Limits { files_max: 1, bytes_max: 1, chunk_bytes_max: 1 };
        Parts {
            ledger,
            archive: Arc::new(archive.expect("an archive")),
            queue: Arc::new(Queue::new(limits)),
            health: Arc::new(Health::default()),
            budget: Arc::new(Budget::new(1)),
            reports,
            open_reports_max: 8,
            rebuild: Box::new(rebuild),
            settings: Arc::default(),
            stopping: Arc::default(),
            published: Arc::default(),
        }
    }

    #[test]
    fn what_is_added_to_a_report_in_the_moment_in_which_it_is_written_anew_is_kept_aside() {
        let root = tempfile::tempdir().expect("a folder");
        let parts = parts(root.path());
        let name = Name::from_bytes(*b"p.csv");
        let mut reports = Reports::new(parts.reports.clone(), 8);
        reports.introduce(&parts.ledger, [&name].into_iter()).expect("introduced");
        reports.append(&parts, &name, "a header\n", &[b"a row\n".to_vec()]).expect("appended");
        let report_lengths = reports.lengths();
        parts.ledger.commit(&Commit { report_lengths, ..Commit::default() }).expect("committed");
        reports.committed();

        // As somebody saves in place who has taken a row away.
        let path = parts.reports.join("p.csv");
        fs::write(&path, "a header\n").expect("written");
        reports.look_after(&parts).expect("put right");
        let text = |path: &str| fs::read_to_string(parts.reports.join(path)).unwrap_or_default();
        assert_eq!(text("p.csv"), WHOLE);
        assert_eq!(text("p.csv.aside-1"), "a header\n");
        assert_eq!(text("p.csv.aside-2"), format!("{WHOLE}a note\n"));
    }
}
