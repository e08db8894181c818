//! The event: takeovers of its folder, judgements that are made again, and what waits for staff.

use super::labels::Takeover;
use super::repeats::is_news;
use crate::model::escape::with_causes;
use crate::telemetry::metric;
use std::error::Error;
use std::fmt::Display;
use std::time::Duration;
use tracing::{error, info, warn};

const TARGET: &str = "gridmark::event";

/// The event folder is in force, and so many held submissions were matched by it.
pub fn event_in_force(name: &str, matched: usize) {
    metric::EVENT_TAKEOVERS.add_for([Takeover::InForce.word()], 1);
    info!(target: TARGET, event = name, matched, "the event folder is in force");
}

/// The event folder would change so many judgements, so it waits.
pub fn event_staged(judgements: usize) {
    metric::EVENT_TAKEOVERS.add_for([Takeover::Staged.word()], 1);
    warn!(target: TARGET, judgements,
        "the event folder was changed in a way that changes judgements: it waits; \
         `gridmark event regrade --preview` shows what it changes, and --apply puts it in force");
}

/// The event folder is refused, for this reason; what was in force before stays so.
pub fn event_refused(why: &dyn Display) {
    metric::EVENT_TAKEOVERS.add_for([Takeover::Refused.word()], 1);
    if is_news("event_refused", &"", why) {
        error!(target: TARGET, %why,
            "the event folder is refused, and what was in force stays so; \
             `gridmark event check` lists everything that is wrong with it");
    }
}

/// So many submissions that had been taken before the event folder in force were judged again by it.
pub fn event_settled(judgements: usize) {
    metric::EVENT_JUDGED_AGAIN.add(judgements as u64);
    info!(target: TARGET, judgements,
        "submissions that were taken before the event folder was changed are judged by it, too");
}

/// Submissions could not be judged again, or the files of the event not be written. It is tried again.
pub fn event_failed(error: &dyn Error) {
    let why = with_causes(error);
    metric::EVENT_ERRORS.add(1);
    if is_news("event_failed", &"", &why) {
        error!(target: TARGET, why, "the event is not up to date; this is tried again");
    }
}

/// The socket for decisions cannot be used, or a client of it has gone.
pub fn channel_failed(why: &dyn Display) {
    metric::EVENT_ERRORS.add(1);
    if is_news("channel_failed", &"", why) {
        warn!(target: TARGET, %why, "a decision of staff could not be taken over the socket `control`");
    }
}

/// The standings have followed all changes, in this time; these wait for staff.
pub fn standings_followed(took: Duration, waiting: Waiting) {
    metric::EVENT_SCORING.record(took.as_secs_f64());
    metric::EVENT_HELD.set(waiting.held as f64);
    metric::EVENT_DOUBTFUL.set(waiting.doubtful as f64);
    metric::EVENT_PROTESTS.set(waiting.protests as f64);
    metric::EVENT_RULINGS.set(waiting.rulings as f64);
}

/// What waits for staff at an event, and how many rulings there are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// Submissions that are held.
    pub held: usize,
    /// Entries of which nobody knows whether they were in time.
    pub doubtful: usize,
    /// Open protests.
    pub protests: usize,
    /// Rulings.
    pub rulings: usize,
}
