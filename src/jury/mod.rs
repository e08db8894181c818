//! What staff decide at an event: folders that are taken over, rulings, judgements that are made again.
//!
//! Everything here ends in rulings in the ledger, each recorded together with the judgements and definitions that
//! it causes, or not at all; also who may what. One decision is made at a time, against what is known then. The service makes them
//! while it runs; with the service stopped a command makes them by the same functions.

mod access;
mod message;
mod regrade;
mod rejudge;
mod rule;
mod takeover;

pub use access::{Cards, Invited};
pub use message::{Answer, Request};
pub use regrade::{Preview, What};
pub use rejudge::{Assigned, Assignments, Rejudge};
pub use takeover::TakenOver;

use crate::access::Access;
use crate::config::Settings;
use crate::event::{Definitions, Event, Problem};
use crate::model::submission::Judged;
use crate::pipeline::standings::LiveStandings;
use crate::store::archive::Archive;
use crate::store::definitions;
use crate::store::ledger::{self, Ledger};
use crate::store::reports::rebuild;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many submissions are looked through at a time.
const PAGE: usize = 10_000;

/// Makes decisions.
pub struct Jury {
    rejudge: Rejudge,
    live: Arc<LiveStandings>,
    access: Access,
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
    /// There is no event.
    #[error("there is no event: put its folder into its place, and reload")]
    NoEvent,
    /// A ruling is not possible.
    #[error("{0}")]
    Ruling(String),
    /// An official result would change.
    #[error(
        "the results of round {round} are official, and this would change them: undo the ruling that made \
         them official first"
    )]
    Official {
        /// The round.
        round: String,
    },
    /// The definitions in force cannot be had.
    #[error(transparent)]
    Definitions(#[from] definitions::Error),
    /// A submission cannot be judged again.
    #[error(transparent)]
    Rejudge(#[from] rejudge::Error),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// The system refuses something.
    #[error("the system refuses random numbers or memory")]
    System(#[from] std::io::Error),
}

impl Jury {
    /// A jury over this ledger and archive.
    pub fn new(settings: &Settings, ledger: &Arc<Ledger>, archive: &Arc<Archive>) -> Jury {
        let (ledger, archive) = (Arc::clone(ledger), Arc::clone(archive));
        Jury {
            live: Arc::new(LiveStandings::new(Arc::clone(&ledger))),
            access: Access::new(settings, Arc::clone(&ledger)),
            rejudge: Rejudge { ledger, archive, rules: rebuild::rules(settings) },
            prove_time_max: Duration::from_millis(settings.event.prove_ms_max),
            deciding: Mutex::default(),
            unjudged_up_to: Mutex::default(),
        }
    }

    /// The standings, which follow what is decided.
    pub fn live(&self) -> &Arc<LiveStandings> {
        &self.live
    }

    /// Who may what.
    pub fn access(&self) -> &Access {
        &self.access
    }

    fn ledger(&self) -> &Ledger {
        &self.rejudge.ledger
    }

    fn definitions(&self, number: i64) -> Result<Arc<Definitions>, definitions::Error> {
        self.live.definitions().get(number)
    }

    /// What the rulings in force say about whose entries submissions are.
    fn assignments(&self, event: &Event) -> Result<Assignments, ledger::Error> {
        Ok(rule::assignments(&self.ledger().changes().rulings()?, event))
    }

    /// Calls `each` with the newest judgements of all submissions, in their order and some at a time.
    fn for_each_page(
        &self,
        mut each: impl FnMut(Vec<Judged>) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let mut last = 0;
        loop {
            let page = self.ledger().changes().newest_after(last, PAGE)?;
            let Some(end) = page.last() else { return Ok(()) };
            last = end.submission;
            each(page)?;
        }
    }

    fn unjudged_up_to(&self) -> MutexGuard<'_, Option<i64>> {
        self.unjudged_up_to.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deciding(&self) -> MutexGuard<'_, ()> {
        self.deciding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
