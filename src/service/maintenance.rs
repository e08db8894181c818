//! Periodic work: gauges, the check of disks and liveness, and status for the service manager.

use super::Shared;
use super::manager::Manager;
use super::reload::Reload;
use super::start::READ_AT_START_BYTES_MAX;
use crate::model::escape;
use crate::model::words::counted;
use crate::store::disk::free_bytes;
use crate::store::ledger::{self, Ledger};
use crate::store::lock::Locks;
use crate::telemetry::health::Concern;
use crate::telemetry::{Recorder, emit};
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::Instant;

/// The periodic work, with the locks that it keeps in place.
pub(super) struct Maintenance {
    shared: Arc<Shared>,
    recorder: Recorder,
    locks: Locks,
    /// What could not be locked at the last check.
    unlocked: Vec<String>,
    next: Instant,
    manager: Manager,
    /// What is wrong with the ledger's file, once that is found.
    damage: Arc<Mutex<Option<String>>>,
}

impl Maintenance {
    pub(super) fn new(shared: Arc<Shared>, recorder: Recorder, locks: Locks) -> Maintenance {
        let (unlocked, next, manager) = (Vec::new(), Instant::now(), Manager::new());
        let damage = Arc::default();
        look_for_damage(&shared, &damage);
        Maintenance { shared, recorder, locks, unlocked, next, manager, damage }
    }

    /// Does what is due.
    pub(super) fn tick(&mut self) {
        if self.next <= Instant::now() {
            self.maintain();
        }
        // Only after the first check of the disk is it known whether the service is ready.
        self.manager.notify_ready(self.shared.health.ready().is_ok());
    }

    fn maintain(&mut self) {
        self.next = Instant::now() + self.manager.period();
        self.shared.emit_flow();
        emit::quarantine_holds(self.shared.archive.quarantined_files());
        self.check_disk();
        self.recorder.upkeep();
        self.shared.liveness.check(&self.shared);
        let (live, ready) = (self.shared.liveness.verdict(), self.shared.health.ready());
        self.manager.notify_status(&live, &ready, self.shared.progress());
    }

    /// Reloads the settings; the next tick then works by them at once.
    pub(super) fn reload(&mut self, reload: &mut Reload) {
        self.manager.notify_reloading();
        reload.run(&self.shared);
        self.manager.notify_reloaded();
        self.next = Instant::now();
    }

    /// The drain has started.
    pub(super) fn stopping(&mut self) {
        self.manager.notify_stopping();
    }

    /// Restores locks and a ledger that were removed; the error is a message.
    fn restore_files(&mut self) -> Result<(), String> {
        // The locks first: their holder may write the ledger.
        let lock = self.locks.check_files().map_err(|error| escape::with_causes(&error))?;
        let unlocked = self.locks.unlocked();
        if unlocked != self.unlocked {
            emit::folders_unlocked(&unlocked);
            self.unlocked = unlocked;
        }
        let ledger = self.shared.ledger.check_file().map_err(|error| error.to_string())?;
        for (is_restored, what) in [(lock, "lock"), (ledger, "ledger")] {
            if is_restored {
                emit::file_restored(what);
            }
        }
        Ok(())
    }

    /// Checks that the folders exist and have enough free space; otherwise the service is not ready.
    fn check_disk(&mut self) {
        let state = self.restore_files();
        let paths = &self.shared.settings.paths;
        let least = self.shared.sections.publish.get().disk_free_bytes_min;
        let mut least_free = u64::MAX;
        let mut trouble = state.err().or_else(|| self.damage.lock().ok()?.clone());
        let written = [paths.reports(), paths.archive(), paths.state()];
        for path in written.iter().chain([&paths.quarantine()]) {
            if !path.exists() {
                // If this fails, asking for the free space below fails too and gives the reason.
                let _ = std::fs::create_dir_all(path);
            }
        }
        for path in written {
            match free_bytes(&path) {
                Ok(free) => {
                    least_free = least_free.min(free);
                    if free < least {
                        let (path, free) = (escape::path(&path), counted(free, "byte"));
                        trouble = Some(format!(
                            "the disk that holds {path} has {free} free, fewer than \
                             publish.disk_free_bytes_min = {least}; no more files are taken"
                        ));
                    }
                }
                Err(why) => trouble = Some(format!("{}: {why}", escape::path(&path))),
            }
        }
        emit::disk_free(if least_free == u64::MAX { 0 } else { least_free }, least);
        match trouble {
            Some(reason) => self.shared.health.set_not_ready(Concern::Disk, reason),
            None => self.shared.health.set_ready(Concern::Disk),
        }
    }
}

/// Reads a large ledger whole, beside everything else. Where a page is damaged no more files are taken.
fn look_for_damage(shared: &Shared, damage: &Arc<Mutex<Option<String>>>) {
    let path = shared.settings.paths.ledger();
    if path.metadata().is_ok_and(|found| found.len() <= READ_AT_START_BYTES_MAX) {
        return;
    }
    let damage = Arc::clone(damage);
    let look = move || {
        let found = match Ledger::damage(&path) {
            Ok(found) => found,
            Err(error) => Some(error.to_string()),
        };
        if let (Some(found), Ok(mut damage)) = (found, damage.lock()) {
            *damage = Some(ledger::Error::Damaged { path, found }.to_string());
        }
    };
    // Without a thread nothing is known of damage until it is met.
    let _ = Builder::new().name("ledger".into()).spawn(look);
}
