//! Standings: what follows from marks and rulings, in memory at once and in files soon after.
//!
//! The stage is woken by commits and rulings, and follows the ledger alone, from the last change that it has read
//! on. So nothing has to be passed to it, and nothing can be lost on the way; a start reads everything once more.
//! Files are written at most every `event.write_every_ms`, and made again at a start.

mod files;
mod live;

pub use files::{Error, Files};
pub use live::LiveStandings;

use crate::event::{Shown, Standings, State};
use crate::store::ledger::Ledger;
use crate::telemetry::emit::{self, Waiting};
use crate::telemetry::health::Health;
use jiff::Timestamp;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often is looked whether time alone has changed something: a round has ended, or froze.
const BEAT: Duration = Duration::from_secs(1);

/// What the stage depends on.
pub struct Dependencies {
    /// What it follows.
    pub ledger: Arc<Ledger>,
    /// The standings.
    pub live: Arc<LiveStandings>,
    /// The files.
    pub files: Files,
    /// The shortest time between two writes of the files.
    pub write_every: Duration,
    /// Judges submissions again that were judged behind this change, by definitions that are not in force any
    /// more. Returns the last change that it has looked at, and how many judgements are others now.
    pub settle: Settle,
    /// Where it says how it is.
    pub health: Arc<Health>,
}

/// What judges submissions again.
pub type Settle =
    Box<dyn Fn(i64) -> Result<(i64, usize), Box<dyn std::error::Error + Send + Sync>> + Send>;

/// Wakes the stage.
#[derive(Default)]
pub struct Bell {
    state: Mutex<Rung>,
    rings: Condvar,
}

#[derive(Default)]
struct Rung {
    is_due: bool,
    is_over: bool,
}

impl Bell {
    /// There may be something new in the ledger.
    pub fn ring(&self) {
        self.state().is_due = true;
        self.rings.notify_one();
    }

    /// There will be nothing new any more: the stage writes what is left, and ends.
    pub fn end(&self) {
        self.state().is_over = true;
        self.rings.notify_one();
    }

    fn state(&self) -> MutexGuard<'_, Rung> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a ring, at most so long. Returns whether it is the end.
    fn wait(&self, most: Duration) -> bool {
        let state = self.state();
        let waits = |state: &mut Rung| !state.is_due && !state.is_over;
        let waited = self.rings.wait_timeout_while(state, most, waits);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_due = false;
        state.is_over
    }
}

/// The stage.
pub struct Follower {
    dependencies: Dependencies,
    /// What is in the files.
    written: Option<Written>,
    /// The last change up to which judgements are by the definitions in force.
    settled: i64,
    next_write: Instant,
}

/// What files were made of.
#[derive(PartialEq, Eq)]
struct Written {
    /// The last change.
    change: i64,
    /// What time alone decides.
    moment: Vec<(State, Shown)>,
    /// The last change of each round.
    rounds: Vec<i64>,
}

impl Follower {
    /// The stage.
    pub fn new(dependencies: Dependencies) -> Follower {
        Follower { dependencies, written: None, settled: 0, next_write: Instant::now() }
    }

    /// Follows the ledger until the bell says that this is the end, and then once more.
    pub fn run(mut self, bell: &Bell) {
        let mut is_over = false;
        let mut is_behind = true;
        while !is_over {
            self.dependencies.health.heartbeat("standings");
            let wait = match is_behind {
                true => self.next_write.saturating_duration_since(Instant::now()).min(BEAT),
                false => BEAT,
            };
            is_over = bell.wait(wait);
            is_behind = self.follow(is_over);
        }
        self.dependencies.health.ended("standings");
    }

    /// Follows the ledger, and writes the files if it is time to. Returns whether there is more to write.
    fn follow(&mut self, is_over: bool) -> bool {
        let start = Instant::now();
        let now_ms = Timestamp::now().as_millisecond();
        let is_due = is_over || self.next_write <= start;
        self.settle();
        let Dependencies { ledger, live, files, write_every, .. } = &mut self.dependencies;
        let written = &mut self.written;
        let followed = live.read(|standings| {
            emit::standings_followed(
                start.elapsed(),
                Waiting {
                    held: standings.held_count(),
                    doubtful: standings.doubtful(),
                    protests: standings.open_protests(),
                    rulings: standings.rulings().len(),
                },
            );
            let rounds = 0..standings.event().rounds.len();
            let now = Written {
                change: standings.last_change(),
                moment: moment_of(standings, now_ms),
                rounds: rounds.clone().map(|round| standings.changed_at(round)).collect(),
            };
            if written.as_ref() == Some(&now) || !is_due {
                return (written.as_ref() != Some(&now), Ok(()));
            }
            let known = written.as_ref().map_or(&[][..], |written| &written.rounds);
            let changed = rounds.filter(|round| known.get(*round) != now.rounds.get(*round));
            let result = files.write(standings, ledger, changed, now_ms);
            let is_behind = result.is_err();
            *written = result.is_ok().then_some(now);
            (is_behind, result)
        });
        if is_due {
            self.next_write = Instant::now() + *write_every;
        }
        match followed {
            Ok(None) => false,
            Ok(Some((is_behind, Ok(())))) => is_behind,
            Ok(Some((is_behind, Err(error)))) => {
                emit::event_failed(&error);
                is_behind
            }
            Err(error) => {
                emit::event_failed(&error);
                true
            }
        }
    }

    /// Judges again what was taken before the definitions in force.
    fn settle(&mut self) {
        match (self.dependencies.settle)(self.settled) {
            Ok((last, 0)) => self.settled = last,
            Ok((last, judgements)) => {
                self.settled = last;
                emit::event_settled(judgements);
            }
            Err(error) => emit::event_failed(&*error),
        }
    }
}

/// What time alone decides: how far each round has come, and what the public may see of it.
fn moment_of(standings: &Standings, now_ms: i64) -> Vec<(State, Shown)> {
    let rounds = 0..standings.event().rounds.len();
    rounds.map(|round| (standings.state(round, now_ms), standings.shown(round, now_ms))).collect()
}
