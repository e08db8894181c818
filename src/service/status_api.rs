//! The HTTP answers of the running service.

use super::{Shared, descriptors};
use crate::model::submission::Name;
use crate::pipeline::intake::{Mailbox, WaitingStatus};
use crate::pipeline::queue::Whereabouts;
use crate::service::http::{self, ClaimState, InboxStatus, Question, ReloadsAnswer, WhyAnswer};
use crate::telemetry::{Recorder, emit};
use std::io;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long an answer waits for intake, which may be in the middle of a claim.
const INTAKE_TIME_MAX: Duration = Duration::from_secs(2);

/// The running HTTP server; nothing for a run that serves no address.
pub(super) struct HttpServer(Option<(oneshot::Sender<()>, JoinHandle<()>)>);

impl HttpServer {
    /// Serves the state of the service on `listener`.
    pub(super) fn start(
        shared: &Arc<Shared>,
        recorder: Recorder,
        listener: Option<TcpListener>,
        mailbox: Arc<Mailbox>,
    ) -> io::Result<HttpServer> {
        let Some(listener) = listener else { return Ok(HttpServer(None)) };
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let settings = &shared.settings.http;
        let options = http::Options {
            connections_max: descriptors::connections_max(&shared.settings),
            silent_time_max: Duration::from_millis(settings.silent_ms_max),
            header_bytes_max: settings.header_bytes_max,
            header_read_time_max: Duration::from_millis(settings.header_read_ms_max),
            connection_time_max: Some(Duration::from_millis(settings.connection_ms_max)),
        };
        let api = Arc::new(StatusApi { shared: Arc::clone(shared), recorder, mailbox });
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(http::serve(listener, api, options, async {
            let _ = stopped.await;
        }));
        Ok(HttpServer(Some((stop, task))))
    }

    /// Takes no more connections, and waits until open ones have their answers.
    pub(super) async fn stop(self) {
        if let Some((stop, task)) = self.0 {
            let _ = stop.send(());
            let _ = task.await;
        }
    }
}

/// Answers HTTP requests from the state of the service.
struct StatusApi {
    shared: Arc<Shared>,
    recorder: Recorder,
    mailbox: Arc<Mailbox>,
}

impl http::Surface for StatusApi {
    fn metrics(&self) -> String {
        self.shared.emit_flow();
        self.recorder.render()
    }

    fn live(&self) -> Result<(), String> {
        self.shared.liveness.verdict()
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

fn inbox_status(WaitingStatus { left, waits_for, failures, why }: WaitingStatus) -> InboxStatus {
    InboxStatus { waits_for: waits_for.to_owned(), left_ms: milliseconds(left), failures, why }
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
