//! What the HTTP surface shows of the service.

use super::Shared;
use crate::model::escape;
use crate::model::submission::Name;
use crate::pipeline::intake::{Mailbox, WaitingStatus};
use crate::pipeline::queue::Whereabouts;
use crate::service::http::{self, Question};
use crate::telemetry::emit::{self, Recorder};
use std::fmt::Write;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// How long intake may take to say what it knows of a file.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(2);

/// What the HTTP surface shows.
pub(super) struct Shown {
    pub(super) shared: Arc<Shared>,
    pub(super) recorder: Recorder,
    pub(super) mailbox: Arc<Mailbox>,
}

impl http::Surface for Shown {
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

    fn why(&self, question: Question) -> Pin<Box<dyn Future<Output = String> + Send>> {
        let shared = Arc::clone(&self.shared);
        let seen = self.mailbox.ask_status(Name::from_bytes(question.name));
        Box::pin(async move {
            let seen = tokio::time::timeout(ANSWER_TIME_MAX, seen).await;
            let seen = seen.ok().and_then(Result::ok);
            answer(&shared, seen, &question.ids)
        })
    }

    fn reloads(&self) -> String {
        format!("process {}\n{}", std::process::id(), self.shared.answer.text())
    }

    fn accept_failed(&self, error: &io::Error) {
        emit::accept_failed(error);
    }
}

/// The answer, a line for each thing that is known: its word, and what belongs to it.
fn answer(shared: &Shared, seen: Option<Option<WaitingStatus>>, ids: &[i64]) -> String {
    let mut lines = format!("process {}\n", std::process::id());
    // Writing to memory cannot fail.
    let mut line = |line: std::fmt::Arguments<'_>| {
        let _ = writeln!(lines, "{line}");
    };
    for reason in shared.health.ready().err().into_iter().flatten() {
        line(format_args!("unready {}", escape::line(&reason)));
    }
    match seen {
        Some(Some(WaitingStatus { left, waits_for, failures })) => {
            line(format_args!("inbox {waits_for} {} {failures}", left.as_millis()));
        }
        Some(None) => line(format_args!("inbox unseen")),
        // It is too busy to answer.
        None => {}
    }
    for &id in ids {
        match shared.queue.whereabouts(id) {
            Some(Whereabouts::Waits) => line(format_args!("claim {id} waits")),
            Some(Whereabouts::TriedAgainIn(left)) => {
                line(format_args!("claim {id} later {}", left.as_millis()));
            }
            Some(Whereabouts::InFlight) => line(format_args!("claim {id} in-flight")),
            None => {}
        }
    }
    lines
}
