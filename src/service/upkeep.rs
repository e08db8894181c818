//! What is done on a timer: gauges, the room on the disk, and signs of life to the service manager.

use super::Shared;
use super::manager::Manager;
use super::reload::Reload;
use crate::model::escape;
use crate::store::disk::free_bytes;
use crate::store::lock::Lock;
use crate::telemetry::emit::{self, Recorder};
use std::sync::Arc;
use std::time::Instant;

/// The timers of the service.
pub(super) struct Upkeep {
    shared: Arc<Shared>,
    recorder: Recorder,
    lock: Lock,
    next: Instant,
    manager: Manager,
}

impl Upkeep {
    pub(super) fn new(shared: Arc<Shared>, recorder: Recorder, lock: Lock) -> Upkeep {
        Upkeep { shared, recorder, lock, next: Instant::now(), manager: Manager::new() }
    }

    /// Does what is due.
    pub(super) fn tick(&mut self) {
        self.manager.tell_readiness(self.shared.health.ready().is_ok());
        if self.next > Instant::now() {
            return;
        }
        self.next = Instant::now() + self.manager.period();
        self.shared.tell_flow();
        emit::quarantine_holds(self.shared.archive.quarantined_files());
        self.look_at_disk();
        self.recorder.upkeep();
        self.shared.pulse.look(&self.shared);
        let (live, ready) = (self.shared.pulse.live(), self.shared.health.ready());
        self.manager.tell(&live, &ready, self.shared.progress());
    }

    /// Reads the settings anew, and looks at once what comes of them.
    pub(super) fn reload(&mut self, reload: &mut Reload) {
        self.manager.reloading();
        reload.run(&self.shared);
        self.manager.reloaded();
        self.next = Instant::now();
    }

    /// The service is ending.
    pub(super) fn stopping(&mut self) {
        self.manager.stopping();
    }

    /// Puts back what somebody has removed of the state; or why it cannot be, in words.
    fn look_after_state(&mut self) -> Result<(), String> {
        // The lock first: whoever has it may write the ledger.
        let lock = self.lock.look_after().map_err(|error| error.to_string())?;
        let ledger = self.shared.ledger.look_after().map_err(|error| error.to_string())?;
        for (is_anew, what) in [(lock, "lock"), (ledger, "ledger")] {
            if is_anew {
                emit::state_restored(what);
            }
        }
        Ok(())
    }

    fn look_at_disk(&mut self) {
        let state = self.look_after_state();
        let paths = &self.shared.settings.paths;
        let least = self.shared.sections.publish.get().disk_free_bytes_min;
        let mut least_free = u64::MAX;
        let mut trouble = state.err();
        let written = [paths.reports(), paths.archive(), paths.state()];
        for path in written.iter().chain([&paths.quarantine()]) {
            if !path.exists() {
                // Somebody has removed it; whatever keeps it from being made shows below.
                let _ = std::fs::create_dir_all(path);
            }
        }
        for path in written {
            match free_bytes(&path) {
                Ok(free) => {
                    least_free = least_free.min(free);
                    if free < least {
                        let path = escape::path(&path);
                        trouble = Some(format!(
                            "the disk that holds {path} has {free} bytes free, fewer than \
                             publish.disk_free_bytes_min = {least}; no more files are taken"
                        ));
                    }
                }
                Err(why) => trouble = Some(format!("{}: {why}", escape::path(&path))),
            }
        }
        emit::disk_free(if least_free == u64::MAX { 0 } else { least_free }, least);
        match trouble {
            Some(reason) => self.shared.health.unwell("disk", reason),
            None => self.shared.health.well("disk"),
        }
    }
}
