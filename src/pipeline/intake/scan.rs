//! Whole scans of the inbox, and single folders that hints point to.

use super::walk::Entry;
use super::{Intake, Name, ScanReason, Via, emit};
use crate::model::escape;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Entries that a walk may yield before hints are looked at again.
const ENTRIES_A_STEP: usize = 1_024;

/// Things left alone that are remembered as told; what is beyond is counted but not logged.
const TOLD_MAX: usize = 4_096;

/// A whole scan under way.
pub(super) struct Scan {
    started: Instant,
    ignored: u64,
    unreadable_folders: usize,
    /// Why another one is to follow it.
    again: Option<ScanReason>,
}

impl Intake {
    pub(super) fn ignore(&mut self, name: Name, why: &'static str) {
        if self.told.len() < TOLD_MAX && !self.told.contains(&name) {
            emit::ignored(&name, why);
            self.told.insert(name);
        }
    }

    /// Begins a whole scan; one that is under way comes to its end first.
    pub(super) fn start_scan(&mut self, reason: ScanReason) {
        if let Some(scan) = &mut self.scan {
            if reason != ScanReason::Timer {
                scan.again = Some(reason);
            }
            return;
        }
        emit::scan_started(reason);
        self.walk.clear();
        self.walk.add_inbox();
        self.scan =
            Some(Scan { started: Instant::now(), ignored: 0, unreadable_folders: 0, again: None });
        self.next_scan = Instant::now() + Duration::from_millis(self.settings.scan_every_ms);
    }

    pub(super) fn go_on_walking(&mut self) {
        let archive = Arc::clone(&self.parts.archive);
        for _ in 0..ENTRIES_A_STEP {
            if self.ready.len() >= self.settings.claim_files_max {
                return;
            }
            match self.walk.next(archive.inbox(), &mut self.watching) {
                Some(Entry::File(name, metadata)) => self.see(name, &metadata, Via::Scan, None),
                Some(Entry::Ignored(name, why)) => {
                    if let Some(scan) = &mut self.scan {
                        scan.ignored += 1;
                    }
                    self.ignore(name, why);
                }
                Some(Entry::Failed(folder, error)) => {
                    if let Some(scan) = &mut self.scan {
                        scan.unreadable_folders += 1;
                    }
                    self.walk_failed(&folder, &error);
                }
                None => return self.end_scan(),
            }
        }
    }

    fn walk_failed(&mut self, folder: &Name, error: &io::Error) {
        let inbox = self.parts.archive.inbox();
        let path = inbox.join(folder.as_path());
        emit::scan_failed(&path, error);
        if folder.as_bytes().is_empty() {
            let reason = format!("cannot read the inbox {}: {error}", escape::path(&path));
            self.parts.health.unwell("inbox", reason);
            if error.kind() == io::ErrorKind::NotFound {
                // Whoever removed it can drop files again as soon as it is back.
                let _ = std::fs::create_dir_all(inbox);
            }
            // The rest of the walk is of no use; the next scan begins anew.
            self.walk.clear();
            self.scan = None;
            self.scans_failed += 1;
            self.unreadable_folders = 1;
        }
    }

    fn end_scan(&mut self) {
        let Some(scan) = self.scan.take() else {
            return;
        };
        emit::scan_finished(scan.started.elapsed(), scan.ignored);
        self.scans_finished += 1;
        self.unreadable_folders = scan.unreadable_folders;
        self.watching.all_are_set();
        self.parts.health.well("inbox");
        self.parts.health.well("first scan");
        self.look_at_archive();
        if self.waiting.take_missed() {
            self.next_scan = Instant::now();
        }
        let period = Duration::from_millis(self.settings.scan_every_ms);
        self.next_scan = self.next_scan.max(Instant::now() + period / 4);
        if let Some(reason) = scan.again {
            self.start_scan(reason);
        }
    }
}
