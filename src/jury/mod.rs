//! What staff decide at an event: folders that are taken over, rulings, judgements that are made again.
//!
//! Everything here ends in rulings in the ledger, each recorded together with the judgements and definitions that
//! it causes, or not at all. One decision is made at a time, against what is known then. The service makes them
//! while it runs; with the service stopped a command makes them by the same functions.

mod rejudge;
mod takeover;

pub use rejudge::{Assigned, Assignments, Rejudge};
pub use takeover::{TAKEOVER, TakenOver};

use crate::event::Problem;
use crate::model::ruling::in_force;
use crate::model::submission::{Entry, Rules};
use crate::store::archive::Archive;
use crate::store::definitions::{self, KnownDefinitions};
use crate::store::ledger::{self, Ledger};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Makes decisions.
pub struct Jury {
    rejudge: Rejudge,
    definitions: Arc<KnownDefinitions>,
    /// How long the proof of a puzzle may take.
    prove_time_max: Duration,
    /// Held while a decision is made.
    deciding: Mutex<()>,
    /// The last submission that was taken before there was an event, while some of these are being graded.
    unjudged_up_to: Mutex<Option<i64>>,
}

/// Why something is not decided.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The event folder is wrong.
    #[error("the event folder is wrong: {}", .0.first().map_or_else(String::new, ToString::to_string))]
    Folder(Vec<Problem>),
    /// The definitions in force cannot be had.
    #[error(transparent)]
    Definitions(#[from] definitions::Error),
    /// A submission cannot be judged again.
    #[error(transparent)]
    Rejudge(#[from] rejudge::Error),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
}

impl Jury {
    /// A jury over this ledger and archive.
    pub fn new(
        ledger: Arc<Ledger>,
        archive: Arc<Archive>,
        definitions: Arc<KnownDefinitions>,
        rules: Rules,
        prove_time_max: Duration,
    ) -> Jury {
        let rejudge = Rejudge { ledger, archive, rules };
        Jury {
            rejudge,
            definitions,
            prove_time_max,
            deciding: Mutex::default(),
            unjudged_up_to: Mutex::default(),
        }
    }

    fn unjudged_up_to(&self) -> MutexGuard<'_, Option<i64>> {
        self.unjudged_up_to.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deciding(&self) -> MutexGuard<'_, ()> {
        self.deciding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What rulings in force say about whose entries submissions are.
    fn assignments(&self) -> Result<Assignments, ledger::Error> {
        let rulings = self.rejudge.ledger.changes().rulings()?;
        let mut assignments = Assignments::new();
        for ruling in in_force(&rulings) {
            let draft = &ruling.draft;
            let Some(place) = draft.submission.clone().zip(draft.attempt) else { continue };
            let entry = match (&draft.entrant, &draft.round, &draft.puzzle) {
                (Some(entrant), Some(round), Some(puzzle)) => Some(Entry {
                    entrant: entrant.clone(),
                    round: round.clone(),
                    puzzle: puzzle.clone(),
                }),
                _ => None,
            };
            match (draft.action.as_str(), entry) {
                ("assign", Some(entry)) => {
                    assignments.insert(place, Assigned::To(entry, draft.case.unwrap_or(1)));
                }
                ("dismiss", _) => {
                    assignments.insert(place, Assigned::Nobody);
                }
                _ => {}
            }
        }
        Ok(assignments)
    }
}
