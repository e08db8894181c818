//! Whether the service is alive and ready, and why not.
//!
//! Ready: files are taken and graded. Each [`Concern`] that prevents
//! this is reported with its reason, which `/readyz` shows. Alive: every thread with a
//! heartbeat has sent one lately. Only a bug or a hung system call makes a thread miss it, so only
//! liveness justifies a restart.

use super::without_numbers;
use crate::model::escape;
use crate::model::words::counted;
use crate::telemetry::emit;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What can keep the service from being ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Concern {
    /// The inbox can be read.
    Inbox,
    /// Every file of the inbox can be taken.
    Files,
    /// Claims can be recorded.
    Claims,
    /// Files can be moved into the archive.
    Archive,
    /// The disks have room, and the state folder is complete.
    Disk,
    /// Reports can be written and committed.
    Reports,
    /// Damaged reports can be rebuilt.
    Rebuild,
    /// The disks make durable what they are given.
    Sync,
    /// The event folder is in force.
    Event,
    /// The service is not stopping.
    Stopping,
}

/// The health of the service, as its stages report it.
#[derive(Default)]
pub struct Health {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Why the service is not ready, by concern.
    reasons: BTreeMap<Concern, String>,
    /// The last heartbeat of each thread that must keep moving.
    heartbeats: BTreeMap<&'static str, Instant>,
    /// Threads that wait for the disk, and since when.
    disk_waits: BTreeMap<&'static str, Instant>,
    /// Whether the last log line about readiness said that the service is ready.
    was_ready: bool,
}

impl Health {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The service has started. From now on it is ready while no concern prevents it.
    pub fn started(&self) {
        let mut state = self.state();
        let reasons: Vec<String> = state.reasons.values().cloned().collect();
        state.was_ready = reasons.is_empty();
        emit::readiness(&reasons);
    }

    /// This concern no longer prevents the service from being ready.
    pub fn set_ready(&self, concern: Concern) {
        let mut state = self.state();
        if state.reasons.remove(&concern).is_some() && state.reasons.is_empty() {
            state.was_ready = true;
            emit::readiness(&[]);
        }
    }

    /// This concern prevents the service from being ready, for this reason.
    pub fn set_not_ready(&self, concern: Concern, reason: impl Into<String>) {
        // Each reason is a line of `/readyz`.
        let reason = escape::line(&reason.into());
        let mut state = self.state();
        let before = state.reasons.insert(concern, reason.clone());
        let is_new =
            state.was_ready || before.is_some_and(|before| !says_the_same(&before, &reason));
        // The stop has a log line of its own.
        if is_new && concern != Concern::Stopping {
            state.was_ready = false;
            emit::readiness(&[reason]);
        }
    }

    /// Why this concern prevents the service from being ready, if it does.
    pub fn reason(&self, concern: Concern) -> Option<String> {
        self.state().reasons.get(&concern).cloned()
    }

    /// A heartbeat of this thread.
    pub fn heartbeat(&self, thread: &'static str) {
        self.state().heartbeats.insert(thread, Instant::now());
    }

    /// This thread waits for the disk, and sends no heartbeat, until the guard is dropped.
    pub fn wait_for_disk(&self, thread: &'static str) -> DiskWait<'_> {
        self.state().disk_waits.insert(thread, Instant::now());
        DiskWait { health: self, thread }
    }

    /// The thread that has waited longest for the disk, and how long.
    pub fn longest_disk_wait(&self) -> Option<(&'static str, Duration)> {
        let state = self.state();
        let longest = state.disk_waits.iter().min_by_key(|(_, since)| **since);
        longest.map(|(thread, since)| (*thread, since.elapsed()))
    }

    /// This thread has ended as it should, and sends no more heartbeats.
    pub fn ended(&self, thread: &'static str) {
        self.state().heartbeats.remove(thread);
    }

    /// Whether the last heartbeat of every thread is at most `stuck_max` old.
    ///
    /// # Errors
    ///
    /// Which thread is stuck, as a message.
    pub fn live(&self, stuck_max: Duration) -> Result<(), String> {
        let state = self.state();
        match state.heartbeats.iter().find(|(_, beat)| beat.elapsed() > stuck_max) {
            Some((thread, beat)) => {
                let stood = counted(beat.elapsed().as_secs(), "second");
                Err(format!("{thread} has not moved for {stood}"))
            }
            None => Ok(()),
        }
    }

    /// Whether the service is ready.
    ///
    /// # Errors
    ///
    /// All reasons why not, as messages.
    pub fn ready(&self) -> Result<(), Vec<String>> {
        let state = self.state();
        if state.reasons.is_empty() {
            Ok(())
        } else {
            Err(state.reasons.values().cloned().collect())
        }
    }
}

/// A thread waits for the disk.
#[must_use]
pub struct DiskWait<'a> {
    health: &'a Health,
    thread: &'static str,
}

impl Drop for DiskWait<'_> {
    fn drop(&mut self) {
        self.health.heartbeat(self.thread);
        self.health.state().disk_waits.remove(self.thread);
    }
}

/// Whether two reasons are equal apart from their numbers.
fn says_the_same(one: &str, other: &str) -> bool {
    without_numbers(one) == without_numbers(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_differ_in_numbers_alone_say_the_same() {
        assert!(says_the_same("the disk has 12 bytes free", "the disk has 7 bytes free"));
        assert!(!says_the_same("the disk has 12 bytes free", "the disk is read-only"));
    }

    #[test]
    fn it_is_ready_once_no_reason_is_left() {
        let health = Health::default();
        health.set_not_ready(Concern::Disk, "the disk is full");
        health.set_not_ready(Concern::Reports, "the ledger is\nnot open");
        let reasons = ["the disk is full".to_owned(), r"the ledger is\x0Anot open".to_owned()];
        assert_eq!(health.ready(), Err(reasons.to_vec()));
        health.set_ready(Concern::Disk);
        health.set_ready(Concern::Reports);
        assert_eq!(health.ready(), Ok(()));
    }

    #[test]
    fn a_thread_that_has_ended_is_not_stuck() {
        let health = Health::default();
        health.heartbeat("intake");
        assert_eq!(health.live(Duration::from_secs(60)), Ok(()));
        let stuck = health.live(Duration::ZERO).expect_err("a thread that does not move");
        assert_eq!(stuck, "intake has not moved for 0 seconds");
        health.ended("intake");
        assert_eq!(health.live(Duration::ZERO), Ok(()));
    }
}
