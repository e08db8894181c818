//! What has happened since: a stream of events for pages that are open.
//!
//! One task looks at what the ledger has reached, a few times a second, and informs all streams. An event says that
//! something is another one now, never what: the page asks for itself again, as it would if somebody reloaded it. So
//! nothing can get lost on the way, and a stream that was interrupted has nothing to catch up with.

use super::Site;
use crate::event::{Shown, State};
use crate::model::rows::rfc_3339;
use crate::telemetry::emit;
use axum::extract;
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::Event;
use futures_util::stream::{Stream, unfold};
use jiff::Timestamp;
use std::convert::Infallible;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// How often is looked whether something has happened.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How often a stream in which nothing happens says that it is there.
const BEAT_EVERY: Duration = Duration::from_secs(5);

/// What things have reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// The last change of judgements and rulings.
    change: i64,
    /// The last step of a commit, and the last submission.
    step: i64,
    submission: i64,
    /// A hash of what time alone decides: how far rounds have come, and what the public may see.
    time: u64,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Moment { change, step, submission, time } = self;
        write!(f, "{change}-{step}-{submission}-{:04x}", time & 0xFFFF)
    }
}

/// What things have reached, for all streams; nothing once they are to end.
pub(super) struct Follow(watch::Sender<Option<Moment>>);

impl Default for Follow {
    fn default() -> Follow {
        Follow(watch::Sender::new(Some(Moment::default())))
    }
}

impl Follow {
    /// What things have reached.
    pub(super) fn moment(&self) -> Moment {
        self.0.borrow().unwrap_or_default()
    }

    /// Ends all streams.
    pub(super) fn end(&self) {
        self.0.send_replace(None);
    }
}

/// Looks what things have reached, for as long as it runs.
pub(super) async fn watch(site: Arc<Site>) {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let looking = Arc::clone(&site);
        if let Ok(Some(moment)) = tokio::task::spawn_blocking(move || look(&looking)).await {
            site.follow.0.send_if_modified(|known| {
                let is_new = known.is_some_and(|known| known != moment);
                if is_new {
                    *known = Some(moment);
                }
                is_new
            });
        }
    }
}

fn look(site: &Site) -> Option<Moment> {
    let now_ms = Timestamp::now().as_millisecond();
    let (step, submission) = match site.dependencies.ledger.records().reached() {
        Ok(reached) => reached,
        Err(error) => {
            emit::page_failed(&error);
            return None;
        }
    };
    let of_event = site.dependencies.live.read(|standings| {
        let mut hasher = DefaultHasher::new();
        for round in 0..standings.event().rounds.len() {
            let (state, shown): (State, Shown) =
                (standings.state(round, now_ms), standings.shown(round, now_ms));
            (state as u8).hash(&mut hasher);
            match shown {
                Shown::Nothing => 0i64.hash(&mut hasher),
                Shown::Until(ms) => ms.hash(&mut hasher),
                Shown::All => 1i64.hash(&mut hasher),
            }
        }
        (standings.last_change(), hasher.finish())
    });
    let (change, time) = match of_event {
        Ok(of_event) => of_event.unwrap_or_default(),
        Err(error) => {
            emit::page_failed(&error);
            return None;
        }
    };
    Some(Moment { change, step, submission, time })
}

/// The stream for one page: an event `change` when something is another one than the page shows, and an event `beat`
/// in between.
pub(super) async fn events(
    extract::State(site): extract::State<Arc<Site>>,
    headers: HeaderMap,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let mut moments = site.follow.0.subscribe();
    // One that was interrupted may have missed something; a new one asks for nothing twice.
    if last.is_some_and(|last| last != site.follow.moment().to_string()) {
        moments.mark_changed();
    }
    let beats = Instant::now();
    Sse::new(unfold((moments, beats), |(mut moments, beat)| async move {
        let event = tokio::select! {
            changed = moments.changed() => {
                changed.ok()?;
                let moment = (*moments.borrow_and_update())?;
                Event::default().event("change").id(moment.to_string()).data(moment.to_string())
            }
            () = tokio::time::sleep_until(beat) => {
                let id = (*moments.borrow())?.to_string();
                let now = rfc_3339(Timestamp::now().as_millisecond());
                Event::default().event("beat").id(id).data(now)
            }
        };
        Some((Ok(event), (moments, Instant::now() + BEAT_EVERY)))
    }))
}
