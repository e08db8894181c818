//! What the rulings in force do, looked up by what they concern.

use super::super::definition::{Event, Status};
use super::super::ruling::{Action, Place};
use crate::model::ruling::{Ruling, in_force};
use gridmark_core::scoring::{Adjustment, Interval, LateRuling, Void};
use std::collections::{BTreeSet, HashMap, HashSet};

/// What rulings do.
#[derive(Clone, Debug, Default)]
pub(super) struct Effect {
    /// By entrant, round and puzzle; of a whole round without one.
    adjustments: HashMap<(usize, usize, Option<usize>), Vec<Adjustment>>,
    /// By entry.
    entries: HashMap<Place, OfEntry>,
    /// Puzzles that are withdrawn, by round and puzzle.
    pub(super) void: HashMap<(usize, usize), Void>,
    /// Whether entrants take part.
    pub(super) statuses: HashMap<usize, Status>,
    /// Times that do not count, by round.
    excluded: HashMap<usize, Vec<Interval>>,
    /// Open protests: the numbers of their rulings.
    pub(super) protests: BTreeSet<i64>,
    /// Rounds whose freeze is over; `None` is all of them.
    published: HashSet<Option<usize>>,
    /// Rounds whose results are official, and since which change; `None` is all of them and the event.
    official: HashMap<Option<usize>, i64>,
    /// What each ruling in force does, by its place among all rulings.
    pub(super) actions: Vec<(usize, Action)>,
}

/// What rulings say of an entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfEntry {
    /// Whether it is correct.
    pub(super) correct: Option<bool>,
    /// When it was handed in, in milliseconds since 1970.
    pub(super) at_ms: Option<i64>,
    /// Whether it is accepted, however late or early.
    pub(super) late: Option<LateRuling>,
    /// Whether staff have assigned it.
    pub(super) assigned: bool,
}

impl Effect {
    /// What these rulings do, given oldest first.
    pub(super) fn of(rulings: &[Ruling], event: &Event) -> Effect {
        let mut effect = Effect::default();
        for ruling in in_force(rulings) {
            // One about what is not defined any more does nothing.
            if let Ok(action) = Action::of(&ruling.draft, event) {
                effect.add(ruling, action.clone());
                effect.actions.push(((ruling.number - 1).max(0) as usize, action));
            }
        }
        effect
    }

    fn add(&mut self, ruling: &Ruling, action: Action) {
        match action {
            Action::Points { entrant, round, puzzle, change } => {
                self.adjustments.entry((entrant, round, puzzle)).or_default().push(change);
            }
            Action::Verdict { submission, correct } => {
                self.entries.entry(submission).or_default().correct = Some(correct);
            }
            Action::Time { submission, at_ms } => {
                self.entries.entry(submission).or_default().at_ms = Some(at_ms);
            }
            Action::Late { submission, ruling: late } => {
                self.entries.entry(submission).or_default().late = Some(late);
            }
            Action::Void { round, puzzle, void } => _ = self.void.insert((round, puzzle), void),
            Action::Assign { submission, .. } => {
                self.entries.entry(submission).or_default().assigned = true;
            }
            Action::Status { entrant, status } => _ = self.statuses.insert(entrant, status),
            Action::Exclude { round, interval } => {
                self.excluded.entry(round).or_default().push(interval);
            }
            Action::Protest { .. } => _ = self.protests.insert(ruling.number),
            Action::Close { number } => _ = self.protests.remove(&number),
            Action::Publish { round } => _ = self.published.insert(round),
            Action::Official { round } => _ = self.official.insert(round, ruling.change),
            // These are in the judgements and definitions that they caused.
            Action::Accept { .. } | Action::Dismiss { .. } | Action::Undo { .. } => {}
            Action::Takeover | Action::Regrade | Action::Access => {}
        }
    }

    /// Whether rulings say something of entries.
    pub(super) fn concerns_entries(&self) -> bool {
        !self.entries.is_empty()
    }

    /// What rulings say of an entry.
    pub(super) fn of_entry(&self, place: &Place) -> OfEntry {
        self.entries.get(place).copied().unwrap_or_default()
    }

    /// What changes the points of an entrant for a puzzle, or for a whole round.
    pub(super) fn adjustments(
        &self,
        entrant: usize,
        round: usize,
        puzzle: Option<usize>,
    ) -> &[Adjustment] {
        self.adjustments.get(&(entrant, round, puzzle)).map_or(&[], Vec::as_slice)
    }

    /// The times that do not count in a round.
    pub(super) fn excluded(&self, round: usize) -> &[Interval] {
        self.excluded.get(&round).map_or(&[], Vec::as_slice)
    }

    /// The change since which the results of a round are official, if they are.
    pub(super) fn official_since(&self, round: usize) -> Option<i64> {
        let of = |round| self.official.get(&round).copied();
        of(None).into_iter().chain(of(Some(round))).min()
    }

    /// Whether the results of a round are official.
    pub(super) fn is_official(&self, round: usize) -> bool {
        self.official_since(round).is_some()
    }

    /// Whether the freeze of a round is over by a ruling.
    pub(super) fn is_published(&self, round: usize) -> bool {
        self.published.contains(&None) || self.published.contains(&Some(round))
    }
}
