//! The report files: appended to, cut back to what is committed, and told apart from what somebody
//! else has put in their place.

use super::Error;
use crate::archive::sync_file_systems;
use crate::aside::set_aside;
use crate::event;
use crate::ledger::{Commit, Ledger};
use crate::submission::Name;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Reports that are kept open from commit to commit.
const OPEN_REPORTS_MAX: usize = 256;

/// Up to so many files are synced one by one; beyond it the whole file system is.
const FILE_SYNCS_MAX: usize = 8;

/// All reports.
pub(super) struct Reports {
    folder: PathBuf,
    open: HashMap<Name, Report>,
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
}

impl Reports {
    pub(super) fn new(folder: PathBuf) -> Reports {
        Reports { folder, open: HashMap::new(), new_entries_in: BTreeSet::new() }
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
        }
        Ok(())
    }

    /// Appends rows to a report that was introduced, with the header first if it is new. Returns how many bytes.
    pub(super) fn append(
        &mut self,
        ledger: &Ledger,
        name: &Name,
        header: &str,
        rows: &[Vec<u8>],
    ) -> Result<u64, Error> {
        let failed = |source| Error::Report { report: name.to_string(), source };
        let path = self.folder.join(name.as_path());
        let stays = match self.open.get(name) {
            Some(report) => report.is_at(&path),
            None => false,
        };
        if !stays {
            let report = match self.open.remove(name) {
                Some(report) if report.is_whole() => {
                    self.restore(name, &path, report).map_err(failed)?
                }
                _ => self.open(ledger, name, &path)?,
            };
            self.open.insert(name.clone(), report);
        }
        let Some(report) = self.open.get_mut(name) else {
            return Ok(0);
        };
        let before = report.length;
        if report.length == 0 {
            report.append(header.as_bytes()).map_err(failed)?;
        }
        for block in rows {
            report.append(block).map_err(failed)?;
        }
        Ok(report.length - before)
    }

    /// Opens a report at the length that the ledger says.
    fn open(&mut self, ledger: &Ledger, name: &Name, path: &Path) -> Result<Report, Error> {
        let failed = |source| Error::Report { report: name.to_string(), source };
        let committed = ledger.report_length(name)?.unwrap_or(0);
        if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            set_aside(name, path, "it is no file").map_err(failed)?;
        }
        let opened = File::options().read(true).write(true).open(path);
        let file = match opened {
            Ok(file) if file.metadata().map_err(failed)?.len() >= committed => file,
            Ok(_) => {
                ledger.report_is_damaged(name)?;
                set_aside(name, path, "rows that were committed are gone").map_err(failed)?;
                self.create(path).map_err(failed)?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if committed > 0 {
                    ledger.report_is_damaged(name)?;
                    event::report_damaged(name);
                }
                self.create(path).map_err(failed)?
            }
            Err(error) => return Err(failed(error)),
        };
        let length = file.metadata().map_err(failed)?.len();
        let committed = committed.min(length);
        if length > committed {
            file.set_len(committed).map_err(failed)?;
            event::report_cut(name, length - committed);
        }
        Ok(Report { file, committed, length: committed })
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
    fn restore(&mut self, name: &Name, path: &Path, lost: Report) -> io::Result<Report> {
        let why = if path.symlink_metadata().is_ok() {
            set_aside(name, path, "it was replaced")?;
            "it was replaced"
        } else {
            "it was removed"
        };
        let file = self.create(path)?;
        let mut at = 0;
        let mut buffer = vec![0; 1 << 16];
        while at < lost.committed {
            let most = (lost.committed - at).min(buffer.len() as u64) as usize;
            lost.file.read_exact_at(&mut buffer[..most], at)?;
            file.write_all_at(&buffer[..most], at)?;
            at += most as u64;
        }
        event::report_restored(name, why);
        Ok(Report { file, committed: lost.committed, length: lost.committed })
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
                    |source| Error::Report { report: folder.display().to_string(), source };
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
        if self.open.len() > OPEN_REPORTS_MAX {
            self.open.clear();
        }
        for report in self.open.values_mut() {
            report.committed = report.length;
        }
    }

    /// Cuts off what was appended and not committed. A report that cannot be cut now is opened
    /// anew, and cut, before anything is appended to it.
    pub(super) fn roll_back(&mut self) {
        self.open.retain(|_, report| {
            let cut =
                report.length == report.committed || report.file.set_len(report.committed).is_ok();
            report.length = report.committed;
            cut
        });
    }
}

impl Report {
    /// Whether this is still what stands at `path`, as long as we left it.
    fn is_at(&self, path: &Path) -> bool {
        match (path.symlink_metadata(), self.file.metadata()) {
            (Ok(there), Ok(ours)) => {
                (there.dev(), there.ino()) == (ours.dev(), ours.ino()) && ours.len() == self.length
            }
            _ => false,
        }
    }

    /// Whether what we have open still has every byte that was committed.
    fn is_whole(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.len() >= self.committed)
    }

    fn append(&mut self, rows: &[u8]) -> io::Result<()> {
        self.file.write_all_at(rows, self.length)?;
        self.length += rows.len() as u64;
        Ok(())
    }
}
