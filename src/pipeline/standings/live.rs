//! The standings as they are: they follow the ledger, change by change.

use crate::event::Standings;
use crate::store::definitions::{self, KnownDefinitions};
use crate::store::ledger::{Change, Ledger};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many changes are read at a time.
const PAGE: usize = 10_000;

/// The standings that follow a ledger.
pub struct LiveStandings {
    ledger: Arc<Ledger>,
    definitions: Arc<KnownDefinitions>,
    followed: Mutex<Option<Followed>>,
}

struct Followed {
    /// The number of the definitions in force.
    definitions: i64,
    standings: Standings,
}

impl LiveStandings {
    /// Standings that follow this ledger. Nothing is read yet.
    pub fn new(ledger: Arc<Ledger>) -> LiveStandings {
        let definitions = Arc::new(KnownDefinitions::new(Arc::clone(&ledger)));
        LiveStandings { ledger, definitions, followed: Mutex::default() }
    }

    /// The definitions that its ledger knows.
    pub fn definitions(&self) -> &Arc<KnownDefinitions> {
        &self.definitions
    }

    /// Adds what the ledger has more by now, and calls `read` with the standings; nothing if there is no event.
    /// After a takeover everything is computed from scratch, by the event that is in force then.
    ///
    /// # Errors
    ///
    /// The ledger or the definitions in force cannot be read.
    pub fn read<T>(
        &self,
        read: impl FnOnce(&Standings) -> T,
    ) -> Result<Option<T>, definitions::Error> {
        let mut followed = self.followed();
        let Some(in_force) = self.ledger.definitions().in_force()? else {
            return Ok(None);
        };
        let current = match &mut *followed {
            Some(current) if current.definitions == in_force => current,
            other => {
                // The old ones go first: both need not be in memory at once.
                *other = None;
                let event = self.definitions.get(in_force)?.event().clone();
                other.insert(Followed { definitions: in_force, standings: Standings::new(event) })
            }
        };
        let standings = &mut current.standings;
        loop {
            let changes = self.ledger.changes().after(standings.last_change(), PAGE)?;
            let is_all = changes.len() < PAGE;
            for change in changes {
                match change {
                    Change::Judged(judged) => standings.judged(&judged),
                    Change::Ruled(ruling) => standings.ruled(ruling),
                }
            }
            if is_all {
                break;
            }
        }
        standings.refresh();
        Ok(Some(read(standings)))
    }

    fn followed(&self) -> MutexGuard<'_, Option<Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
