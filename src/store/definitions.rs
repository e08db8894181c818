//! Definitions of events by their number, prepared for judging and kept in memory while they are used.

use super::ledger::{self, Ledger};
use crate::event::{Definitions, Problem};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many are kept in memory. Few are in use at a time: those in force, and those of claims that are older.
const KEPT_MAX: usize = 8;

/// The definitions that a ledger knows.
pub struct KnownDefinitions {
    ledger: Arc<Ledger>,
    kept: Mutex<HashMap<i64, Arc<Definitions>>>,
}

/// Why definitions cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// The ledger does not know them.
    #[error("the ledger has no definitions {0} of the event: put a whole copy of it in its place")]
    Unknown(i64),
    /// This program does not read them.
    #[error(
        "this gridmark does not read the definitions {number} of the event, which another version took over: {problem}"
    )]
    NotRead {
        /// Their number.
        number: i64,
        /// The first problem.
        problem: Problem,
    },
}

impl KnownDefinitions {
    /// Those of this ledger.
    pub fn new(ledger: Arc<Ledger>) -> KnownDefinitions {
        KnownDefinitions { ledger, kept: Mutex::default() }
    }

    /// Definitions by their number.
    ///
    /// # Errors
    ///
    /// The ledger does not know them, or they cannot be read.
    pub fn get(&self, number: i64) -> Result<Arc<Definitions>, Error> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(&number) {
            return Ok(Arc::clone(known));
        }
        let source = self.ledger.definitions().get(number)?.ok_or(Error::Unknown(number))?;
        let read = Definitions::new(number, &source)
            .map_err(|mut problems| Error::NotRead { number, problem: problems.swap_remove(0) })?;
        let read = Arc::new(read);
        if kept.len() >= KEPT_MAX
            && let Some(oldest) = kept.keys().min().copied()
        {
            kept.remove(&oldest);
        }
        kept.insert(number, Arc::clone(&read));
        Ok(read)
    }

    /// Definitions by their number, if there is one.
    ///
    /// # Errors
    ///
    /// The ledger does not know them, or they cannot be read.
    pub fn of(&self, number: Option<i64>) -> Result<Option<Arc<Definitions>>, Error> {
        number.map(|number| self.get(number)).transpose()
    }
}
