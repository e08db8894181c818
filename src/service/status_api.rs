//! The HTTP answers of the running service.

use super::Shared;
use crate::model::submission::Name;
use crate::pipeline::intake::{Mailbox, WaitingStatus};
use crate::pipeline::queue::Whereabouts;
use crate::service::http::{self, ClaimState, InboxStatus, Question, ReloadsAnswer, WhyAnswer};
use crate::telemetry::emit::{self, Recorder};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// How long an answer waits for intake, which may be in the middle of a claim.
const INTAKE_TIME_MAX: Duration = Duration::from_secs(2);

/// Answers HTTP requests from the state of the service.
pub(super) struct StatusApi {
    pub(super) shared: Arc<Shared>,
    pub(super) recorder: Recorder,
    pub(super) mailbox: Arc<Mailbox>,
}

impl http::Surface for StatusApi {
    fn metrics(&self) -> String {
        self.shared.tell_flow();
        self.recorder.render()
    }

    fn live(&self) -> Result<(), String> {
        self.shared.pulse.live()
    }

    fn ready(&self) -> Result<(), Vec<String>> {
        self.shared.health.ready()
    }

    fn why(&self, question: Question) -> Pin<Box<dyn Future<Output = WhyAnswer> + Send>> {
        let shared = Arc::clone(&self.shared);
        let status = self.mailbox.ask_status(Name::from_bytes(question.name));
        Box::pin(async move {
            let status = tokio::time::timeout(INTAKE_TIME_MAX, status).await;
            let status = status.ok().and_then(Result::ok).flatten();
            let claim = |id: i64| Some((id, claim_state(shared.queue.whereabouts(id)?)));
            WhyAnswer {
                process: std::process::id(),
                not_ready: shared.health.ready().err().unwrap_or_default(),
                inbox: status.map(inbox_status),
                claims: question.ids.into_iter().filter_map(claim).collect(),
            }
        })
    }

    fn reloads(&self) -> ReloadsAnswer {
        self.shared.reloads.answer()
    }

    fn accept_failed(&self, error: &io::Error) {
        emit::accept_failed(error);
    }
}

fn inbox_status(WaitingStatus { left, waits_for, failures }: WaitingStatus) -> InboxStatus {
    InboxStatus { waits_for: waits_for.to_owned(), left_ms: milliseconds(left), failures }
}

fn claim_state(whereabouts: Whereabouts) -> ClaimState {
    match whereabouts {
        Whereabouts::Waits => ClaimState::Queued,
        Whereabouts::TriedAgainIn(left) => ClaimState::RetryLater { left_ms: milliseconds(left) },
        Whereabouts::InFlight => ClaimState::InFlight,
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
