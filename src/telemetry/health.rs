//! Whether the service is alive and ready, and why not.

use crate::telemetry::emit;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What the stages say of themselves.
#[derive(Default)]
pub struct Health {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Why the service is not ready, by what is concerned.
    reasons: BTreeMap<&'static str, String>,
    /// When each thread that must keep moving has shown itself last.
    beats: BTreeMap<&'static str, Instant>,
    /// Whether the last thing that was logged is that the service is ready.
    was_ready: bool,
}

impl Health {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is concerned is well from now on.
    pub fn well(&self, what: &'static str) {
        let mut state = self.state();
        if state.reasons.remove(what).is_some() && state.reasons.is_empty() {
            state.was_ready = true;
            emit::readiness(&[]);
        }
    }

    /// What is concerned keeps the service from being ready, for this reason.
    pub fn unwell(&self, what: &'static str, reason: impl Into<String>) {
        let reason = reason.into();
        let mut state = self.state();
        let before = state.reasons.insert(what, reason.clone());
        if state.was_ready || before.is_some_and(|before| !says_the_same(&before, &reason)) {
            state.was_ready = false;
            emit::readiness(&[reason]);
        }
    }

    /// Why what is concerned keeps the service from being ready, if it does.
    pub fn reason(&self, what: &'static str) -> Option<String> {
        self.state().reasons.get(what).cloned()
    }

    /// This thread moves.
    pub fn beat(&self, thread: &'static str) {
        self.state().beats.insert(thread, Instant::now());
    }

    /// This thread has come to its end, in order.
    pub fn rest(&self, thread: &'static str) {
        self.state().beats.remove(thread);
    }

    /// Whether every thread still moves: none has not shown itself for longer than `stuck_max`.
    ///
    /// # Errors
    ///
    /// Which one is stuck, in words.
    pub fn live(&self, stuck_max: Duration) -> Result<(), String> {
        let state = self.state();
        match state.beats.iter().find(|(_, beat)| beat.elapsed() > stuck_max) {
            Some((thread, beat)) => {
                Err(format!("{thread} has not moved for {} seconds", beat.elapsed().as_secs()))
            }
            None => Ok(()),
        }
    }

    /// Whether the service is ready.
    ///
    /// # Errors
    ///
    /// Why not, in words.
    pub fn ready(&self) -> Result<(), Vec<String>> {
        let state = self.state();
        if state.reasons.is_empty() {
            Ok(())
        } else {
            Err(state.reasons.values().cloned().collect())
        }
    }
}

/// Whether two reasons differ in their numbers at the most: those change from moment to moment.
fn says_the_same(one: &str, other: &str) -> bool {
    let words = |reason: &str| reason.replace(|letter: char| letter.is_ascii_digit(), "");
    words(one) == words(other)
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
    fn it_is_ready_when_nothing_stands_against_it() {
        let health = Health::default();
        health.unwell("disk", "the disk is full");
        health.unwell("ledger", "the ledger is not open");
        let reasons = ["the disk is full".to_owned(), "the ledger is not open".to_owned()];
        assert_eq!(health.ready(), Err(reasons.to_vec()));
        health.well("disk");
        health.well("ledger");
        assert_eq!(health.ready(), Ok(()));
    }

    #[test]
    fn a_thread_that_rests_is_not_stuck() {
        let health = Health::default();
        health.beat("intake");
        assert_eq!(health.live(Duration::from_secs(60)), Ok(()));
        let stuck = health.live(Duration::ZERO).expect_err("a thread that does not move");
        assert_eq!(stuck, "intake has not moved for 0 seconds");
        health.rest("intake");
        assert_eq!(health.live(Duration::ZERO), Ok(()));
    }
}
