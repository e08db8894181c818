//! The address for metrics and health. It knows nothing of the service but [`Surface`].
//!
//! Clients are many and may be slow or hostile, so whatever they can use up is bounded: open
//! connections, the size of a request, the time to send one and the time to take the answer. A
//! connection carries one request. Whoever has a place and says nothing loses it to one who waits.

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

/// How long to leave the system alone when it cannot give us a connection.
const PAUSE_AFTER_FAILED_ACCEPT: Duration = Duration::from_millis(100);
/// How long connections that are still open at the end may take for their answers.
const END_TIME_MAX: Duration = Duration::from_secs(1);
/// How long a client that loses its place may take for that.
const CUT_TIME_MAX: Duration = Duration::from_millis(50);
/// How many header fields a request may have.
const HEADER_FIELDS_MAX: usize = 64;
/// The least that hyper takes.
const HEADER_BYTES_LEAST: usize = 8192;
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
const INDEX: &str = "gridmark\n\n\
    /metrics  metrics for Prometheus\n\
    /livez    whether gridmark is alive\n\
    /readyz   whether gridmark takes submissions, and if not, why\n\
    /why      where a submission is that is not graded yet, as JSON for `gridmark why`\n\
    /reloads  the result of the last reload, as JSON for `gridmark reload`\n";

/// What is shown. None of these may block.
pub trait Surface: Send + Sync {
    /// All metrics in the text format of Prometheus, version 0.0.4.
    fn metrics(&self) -> String;

    /// Whether the process does its work at all.
    ///
    /// # Errors
    ///
    /// The reason in words, if it does not.
    fn live(&self) -> Result<(), String>;

    /// Whether submissions are taken and graded.
    ///
    /// # Errors
    ///
    /// All reasons in words, if they are not.
    fn ready(&self) -> Result<(), Vec<String>>;

    /// What is known about a submission that is not graded yet, for `gridmark why`.
    fn why(&self, question: Question) -> Pin<Box<dyn Future<Output = WhyAnswer> + Send>>;

    /// The result of the last reload of the settings, for `gridmark reload`.
    fn reloads(&self) -> ReloadsAnswer;

    /// Takes note that the system gives us no connection (for want of descriptors, say), once for
    /// each run of such failures.
    fn accept_failed(&self, error: &std::io::Error);
}

/// What clients can use up.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many connections are answered at a time; one more is held while it waits for its place,
    /// and others wait in the system's backlog.
    pub connections_max: usize,
    /// How long a client may be silent when another one waits for its place.
    pub silent_time_max: Duration,
    /// How many bytes the head of a request may have; 8192 if this is less.
    pub header_bytes_max: usize,
    /// How long a client may take to send the head of its request.
    pub header_read_time_max: Duration,
    /// How long a connection may last, answer included.
    pub connection_time_max: Duration,
}

/// Answers on `listener` until `stop`; then lets the answers that are under way end, for a second
/// at most.
///
/// It runs in the tokio runtime it is called from, which needs its timer and its I/O.
pub async fn serve(
    listener: TcpListener,
    surface: Arc<dyn Surface>,
    options: Options,
    stop: impl Future,
) {
    let router = router(Arc::clone(&surface));
    let mut places = Places::new(&options);
    let (end, ended) = watch::channel(());
    let mut connections = JoinSet::new();
    let accepting = async {
        loop {
            let stream = accept(&listener, &*surface).await;
            let Some((place, client)) = places.take().await else { return };
            while connections.try_join_next().is_some() {}
            let router = router.clone();
            let answered = answer(stream, router, options.clone(), client, ended.clone());
            connections.spawn(async move {
                answered.await;
                drop(place);
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
    // Whoever has not got an answer by then is cut off with the set of connections.
    let _ = tokio::time::timeout(END_TIME_MAX, all_answered).await;
}

/// Who has a place.
struct Client {
    since: Instant,
    /// Whether it has sent its request.
    is_asked: AtomicBool,
    /// Told when it loses its place.
    cut: Notify,
}

/// The places for connections, and who has them, the oldest first.
struct Places {
    free: Arc<Semaphore>,
    clients: VecDeque<Weak<Client>>,
    silent_time_max: Duration,
}

impl Places {
    fn new(options: &Options) -> Places {
        Places {
            free: Arc::new(Semaphore::new(options.connections_max)),
            clients: VecDeque::new(),
            silent_time_max: options.silent_time_max,
        }
    }

    /// Waits for a place. If there is none, whoever has been silent for longest, and for too long,
    /// loses its own.
    async fn take(&mut self) -> Option<(OwnedSemaphorePermit, Arc<Client>)> {
        self.clients.retain(|client| client.strong_count() > 0);
        let mut until = Instant::now();
        let place = loop {
            match tokio::time::timeout_at(until, Arc::clone(&self.free).acquire_owned()).await {
                Ok(place) => break place.ok()?,
                Err(_) => until = self.cut_oldest_silent(),
            }
        };
        let client =
            Client { since: Instant::now(), is_asked: AtomicBool::new(false), cut: Notify::new() };
        let client = Arc::new(client);
        self.clients.push_back(Arc::downgrade(&client));
        Some((place, client))
    }

    /// Cuts off the client that has been silent for longest, if that is too long; until when to
    /// wait for a place then.
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
    let mut is_told = false;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                if !is_told {
                    surface.accept_failed(&error);
                    is_told = true;
                }
                tokio::time::sleep(PAUSE_AFTER_FAILED_ACCEPT).await;
            }
        }
    }
}

/// Whether the client went away before it was accepted, rather than that we cannot accept.
fn is_the_clients(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// Answers one connection's request. What fails on the way is the client's business.
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
            // It only ever changes by its end.
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
        .fallback((StatusCode::NOT_FOUND, "no such page; see /\n"))
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
