//! The HTTP server for metrics and health. It knows the service only as a [`Surface`].
//!
//! Clients may be many, slow or hostile, so everything that they can use up is bounded: open
//! connections, the size of a request, the time to send it and the time to read the answer. A
//! connection carries one request. When all connections are taken, a silent client loses its slot to
//! one that waits; so idle connections cannot keep Prometheus out.

mod answers;
mod client;
mod question;

pub use answers::{ClaimState, InboxStatus, ReloadsAnswer, WhyAnswer};
pub use client::{Answer, ask, ask_json};
pub use question::Question;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde::Serialize;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The pause after the system failed to accept a connection.
const PAUSE_AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(100);
/// How long connections that are open at the end may take for their answers.
const END_TIME_MAX: Duration = Duration::from_secs(1);
/// How long it may take until a client that loses its slot is gone.
const CUT_TIME_MAX: Duration = Duration::from_millis(50);
/// How many header fields a request may have.
const HEADER_FIELDS_MAX: usize = 64;
/// The least that hyper accepts.
const HEADER_BYTES_LEAST: usize = 8192;
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
const INDEX: &str = "gridmark\n\n\
    /metrics  metrics for Prometheus\n\
    /livez    whether gridmark is alive\n\
    /readyz   whether gridmark takes submissions, and if not, why\n\
    /why      where a submission is that is not graded yet, as JSON for `gridmark why`\n\
    /reloads  the result of the last reload, as JSON for `gridmark reload`\n";

/// The service as the server sees it. None of these may block.
pub trait Surface: Send + Sync {
    /// All metrics in the text format of Prometheus, version 0.0.4.
    fn metrics(&self) -> String;

    /// Whether the pipeline makes progress.
    ///
    /// # Errors
    ///
    /// What is stuck, as a message.
    fn live(&self) -> Result<(), String>;

    /// Whether submissions are taken and graded.
    ///
    /// # Errors
    ///
    /// All reasons why not, as messages.
    fn ready(&self) -> Result<(), Vec<String>>;

    /// What is known about a submission that is not graded yet, for `gridmark why`.
    fn why(&self, question: Question) -> Pin<Box<dyn Future<Output = WhyAnswer> + Send>>;

    /// The result of the last reload of the settings, for `gridmark reload`.
    fn reloads(&self) -> ReloadsAnswer;

    /// Reports that the system cannot accept connections (for lack of descriptors, say), once for each
    /// series of failures.
    fn accept_failed(&self, error: &std::io::Error);
}

/// The limits for clients.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many connections are answered at a time. One more is accepted and waits for a slot; others
    /// wait in the system's backlog.
    pub connections_max: usize,
    /// How long a client may be silent while another one waits for a slot.
    pub silent_time_max: Duration,
    /// How many bytes the head of a request may have; 8192 if this is less.
    pub header_bytes_max: usize,
    /// How long a client may take to send the head of its request.
    pub header_read_time_max: Duration,
    /// How long a connection may last, answer included.
    pub connection_time_max: Duration,
}

/// Answers on `listener` until `stop`; then gives open requests up to a second for their answers.
///
/// It runs in the tokio runtime it is called from, which needs its timer and its I/O.
pub async fn serve(
    listener: TcpListener,
    surface: Arc<dyn Surface>,
    options: Options,
    stop: impl Future,
) {
    let router = router(Arc::clone(&surface));
    let mut slots = Slots::new(&options);
    let (end, ended) = watch::channel(());
    let mut connections = JoinSet::new();
    let accepting = async {
        loop {
            let stream = accept(&listener, &*surface).await;
            let Some((slot, client)) = slots.take().await else { return };
            while connections.try_join_next().is_some() {}
            let router = router.clone();
            let answered = answer(stream, router, options.clone(), client, ended.clone());
            connections.spawn(async move {
                answered.await;
                drop(slot);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        _ = stop => {}
    }
    drop(listener);
    drop(end);
    let all_answered = async { while connections.join_next().await.is_some() {} };
    // Dropping the set cuts off the connections that have no answer by then.
    let _ = tokio::time::timeout(END_TIME_MAX, all_answered).await;
}

/// A client with a slot.
struct Client {
    since: Instant,
    /// Whether it has sent its request.
    is_asked: AtomicBool,
    /// Notified when it loses its slot.
    cut: Notify,
}

/// The slots for connections, and the clients in them, the oldest first.
struct Slots {
    free: Arc<Semaphore>,
    clients: VecDeque<Weak<Client>>,
    silent_time_max: Duration,
}

impl Slots {
    fn new(options: &Options) -> Slots {
        Slots {
            free: Arc::new(Semaphore::new(options.connections_max)),
            clients: VecDeque::new(),
            silent_time_max: options.silent_time_max,
        }
    }

    /// Waits for a slot. If there is none, the client that has been silent for longest loses its slot
    /// once that is too long.
    async fn take(&mut self) -> Option<(OwnedSemaphorePermit, Arc<Client>)> {
        self.clients.retain(|client| client.strong_count() > 0);
        let mut until = Instant::now();
        let slot = loop {
            match tokio::time::timeout_at(until, Arc::clone(&self.free).acquire_owned()).await {
                Ok(slot) => break slot.ok()?,
                Err(_) => until = self.cut_oldest_silent(),
            }
        };
        let client =
            Client { since: Instant::now(), is_asked: AtomicBool::new(false), cut: Notify::new() };
        let client = Arc::new(client);
        self.clients.push_back(Arc::downgrade(&client));
        Some((slot, client))
    }

    /// Cuts off the client that has been silent for longest, if that is too long. Returns until when
    /// to wait for a slot.
    fn cut_oldest_silent(&mut self) -> Instant {
        let now = Instant::now();
        let silent = self.clients.iter().enumerate().find_map(|(i, client)| {
            let client = client.upgrade()?;
            (!client.is_asked.load(Ordering::Relaxed)).then_some((i, client))
        });
        match silent {
            Some((_, client)) if client.since + self.silent_time_max > now => {
                client.since + self.silent_time_max
            }
            Some((i, client)) => {
                client.cut.notify_one();
                self.clients.remove(i);
                now + CUT_TIME_MAX
            }
            None => now + CUT_TIME_MAX,
        }
    }
}

async fn accept(listener: &TcpListener, surface: &dyn Surface) -> TcpStream {
    let mut is_reported = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if is_of_client(&error) => {}
            Err(error) => {
                if !is_reported {
                    surface.accept_failed(&error);
                    is_reported = true;
                }
                tokio::time::sleep(PAUSE_AFTER_FAILED_ACCEPT).await;
            }
        }
    }
}

/// Whether the client went away before it was accepted; anything else is our failure.
fn is_of_client(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// Answers the request of one connection. A failure concerns this client alone and is not reported.
async fn answer(
    stream: TcpStream,
    router: Router,
    options: Options,
    client: Arc<Client>,
    mut ended: watch::Receiver<()>,
) {
    let service = TowerToHyperService::new(router);
    let service = service_fn(|request| {
        client.is_asked.store(true, Ordering::Relaxed);
        service.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_read_time_max)
        .max_buf_size(options.header_bytes_max.max(HEADER_BYTES_LEAST))
        .max_headers(HEADER_FIELDS_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let answered = async {
        tokio::select! {
            _ = connection.as_mut() => return,
            // This channel carries no values: a change is its end.
            _ = ended.changed() => {}
            () = client.cut.notified() => {}
        }
        if client.is_asked.load(Ordering::Relaxed) {
            let _ = connection.await;
        }
    };
    let _ = tokio::time::timeout(options.connection_time_max, answered).await;
}

fn router(surface: Arc<dyn Surface>) -> Router {
    Router::new()
        .route("/", get(INDEX))
        .route("/metrics", get(metrics))
        .route("/livez", get(live))
        .route("/readyz", get(ready))
        .route("/why", get(why))
        .route("/reloads", get(reloads))
        .fallback((StatusCode::NOT_FOUND, "no such path; see /\n"))
        .method_not_allowed_fallback(|| async {
            (StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered here\n")
        })
        .with_state(surface)
}

async fn metrics(State(surface): State<Arc<dyn Surface>>) -> Response {
    ([(header::CONTENT_TYPE, METRICS_TYPE)], surface.metrics()).into_response()
}

async fn live(State(surface): State<Arc<dyn Surface>>) -> Response {
    health(surface.live().map_err(|reason| vec![reason]))
}

async fn ready(State(surface): State<Arc<dyn Surface>>) -> Response {
    health(surface.ready())
}

async fn why(State(surface): State<Arc<dyn Surface>>, uri: Uri) -> Response {
    let question = Question::of_query(uri.query().unwrap_or_default());
    json(&surface.why(question).await)
}

async fn reloads(State(surface): State<Arc<dyn Surface>>) -> Response {
    json(&surface.reloads())
}

fn json(answer: &impl Serialize) -> Response {
    match serde_json::to_string(answer) {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text + "\n").into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

fn health(state: Result<(), Vec<String>>) -> Response {
    match state {
        Ok(()) => "ok\n".into_response(),
        Err(reasons) => {
            let lines = reasons.into_iter().map(|reason| reason + "\n").collect::<String>();
            (StatusCode::SERVICE_UNAVAILABLE, lines).into_response()
        }
    }
}
