//! What is done on a timer: gauges, the room on the disk, and signs of life to the system.

use super::Shared;
use crate::disk::free_bytes;
use crate::event::{self, Recorder};
use crate::lock::Lock;
use crate::printable;
use sd_notify::NotifyState;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often gauges and disk are looked at.
const PERIOD: Duration = Duration::from_secs(1);

/// The timers of the service.
pub(super) struct Upkeep {
    shared: Arc<Shared>,
    recorder: Recorder,
    lock: Lock,
    next: Instant,
    /// Whether the system was told that the service is ready.
    told_ready: bool,
    /// Whether every thread moved when that was looked at last.
    was_live: bool,
}

impl Upkeep {
    pub(super) fn new(shared: Arc<Shared>, recorder: Recorder, lock: Lock) -> Upkeep {
        Upkeep { shared, recorder, lock, next: Instant::now(), told_ready: false, was_live: true }
    }

    /// Does what is due.
    pub(super) fn tick(&mut self) {
        if !self.told_ready && self.shared.health.ready().is_ok() {
            self.told_ready = true;
            tell_system(&[NotifyState::Ready, NotifyState::Status("grading")]);
        }
        if self.next > Instant::now() {
            return;
        }
        self.next = Instant::now() + PERIOD;
        self.shared.tell_flow();
        event::quarantine_holds(self.shared.archive.quarantined_files());
        self.look_at_disk();
        self.recorder.upkeep();
        let live = self.shared.health.live();
        if self.was_live != live.is_ok() {
            self.was_live = live.is_ok();
            event::liveness(&live);
        }
        if live.is_ok() {
            tell_system(&[NotifyState::Watchdog]);
        }
    }

    /// The service is ending.
    pub(super) fn stopping(&self) {
        tell_system(&[NotifyState::Stopping, NotifyState::Status("finishing what was taken")]);
    }

    /// Puts back what somebody has removed of the state; or why it cannot be, in words.
    fn look_after_state(&mut self) -> Result<(), String> {
        // The lock first: whoever has it may write the ledger.
        let lock = self.lock.look_after().map_err(|error| error.to_string())?;
        let ledger = self.shared.ledger.look_after().map_err(|error| error.to_string())?;
        for (is_anew, what) in [(lock, "lock"), (ledger, "ledger")] {
            if is_anew {
                event::state_restored(what);
            }
        }
        Ok(())
    }

    fn look_at_disk(&mut self) {
        let state = self.look_after_state();
        let paths = &self.shared.settings.paths;
        let least = self.shared.settings.publish.disk_free_bytes_min;
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
                        let path = printable::path(&path);
                        trouble = Some(format!(
                            "the disk that holds {path} has {free} bytes free, fewer than \
                             publish.disk_free_bytes_min = {least}; no more files are taken"
                        ));
                    }
                }
                Err(why) => trouble = Some(format!("{}: {why}", printable::path(&path))),
            }
        }
        event::disk_free(if least_free == u64::MAX { 0 } else { least_free }, least);
        match trouble {
            Some(reason) => self.shared.health.unwell("disk", reason),
            None => self.shared.health.well("disk"),
        }
    }
}

fn tell_system(states: &[NotifyState<'_>]) {
    // Without a service manager there is nobody to tell.
    let _ = sd_notify::notify(states);
}
