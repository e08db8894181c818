//! Files that are graded alone, because an earlier process died while they were graded.

use crate::model::submission::Claimed;
use std::time::{Duration, Instant};

/// The files that are to be graded alone, and whose turn it is.
#[derive(Default)]
pub(super) struct Alone {
    files: Vec<(Claimed, bool)>,
    /// Whether one of them is being graded.
    is_out: bool,
    /// Until when nothing else is handed out: while one of them is graded, or waits until what is
    /// under way is done.
    patience: Option<Instant>,
}

impl Alone {
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether the file of this number waits.
    pub(super) fn has(&self, id: i64) -> bool {
        self.files.iter().any(|(claimed, _)| claimed.id == id)
    }

    /// Since when each of them is ready.
    pub(super) fn ready(&self) -> impl Iterator<Item = Instant> + '_ {
        self.files.iter().map(|(claimed, _)| claimed.ready)
    }

    pub(super) fn push(&mut self, claimed: Claimed, large: bool) {
        self.files.push((claimed, large));
    }

    /// Takes the next one out: small ones first, and of these the least suspicious, so that as many
    /// as possible are done with before the process dies once more.
    pub(super) fn take(&mut self, patience: Duration) -> Option<(Claimed, bool)> {
        let order = |(_, (claimed, large)): &(usize, &(Claimed, bool))| {
            (*large, claimed.deaths, claimed.id)
        };
        let (next, _) = self.files.iter().enumerate().min_by_key(order)?;
        self.is_out = true;
        self.patience = Instant::now().checked_add(patience);
        Some(self.files.swap_remove(next))
    }

    /// The one that was taken out is dealt with.
    pub(super) fn end(&mut self, patience: Duration) {
        self.is_out = false;
        self.patience = Instant::now().checked_add(patience);
    }

    /// Whether nothing else may be handed out.
    pub(super) fn keeps_others(&self) -> bool {
        (self.is_out || !self.files.is_empty()) && !self.is_patience_over()
    }

    /// Whether the next one is handed out although something else is still being graded.
    pub(super) fn is_patience_over(&self) -> bool {
        self.patience.is_some_and(|until| until <= Instant::now())
    }

    /// How long whoever waits for something else is to wait before it looks again.
    pub(super) fn patience_left(&self) -> Option<Duration> {
        let left = self.patience?.checked_duration_since(Instant::now())?;
        self.keeps_others().then_some(left)
    }
}
