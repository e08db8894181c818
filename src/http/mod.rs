//! HTTP within limits.
//!
//! Clients may be many, slow or hostile, so everything that they can use up is bounded: open connections, the size
//! of a request's head, the time to send it and, where a connection carries one request, the time to read the
//! answer. When all connections are taken, a client that has not asked anything loses its slot to one that waits.

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::future::Future;
use std::net::SocketAddr;
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
    /// How long a connection may last, answer included, if it carries one request. Without it, it carries any
    /// number of requests, and answers may go on for ever.
    pub connection_time_max: Option<Duration>,
}

/// Answers on `listener` by `router`, whose requests say who asks ([`ConnectInfo`]), until `stop`; then gives open requests up to a second for their answers.
/// `accept_failed` is called when the system cannot accept connections, once for each series of failures.
///
/// It runs in the tokio runtime it is called from, which needs its timer and its I/O.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    options: Options,
    accept_failed: impl Fn(&std::io::Error),
    stop: impl Future,
) {
    let mut slots = Slots::new(&options);
    let (end, ended) = watch::channel(());
    let mut connections = JoinSet::new();
    let accepting = async {
        loop {
            let (stream, peer) = accept(&listener, &accept_failed).await;
            let Some((slot, client)) = slots.take().await else { return };
            while connections.try_join_next().is_some() {}
            let router = router.clone();
            let answered = answer((stream, peer), router, options.clone(), client, ended.clone());
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

async fn accept(
    listener: &TcpListener,
    accept_failed: &impl Fn(&std::io::Error),
) -> (TcpStream, SocketAddr) {
    let mut is_reported = false;
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_of_client(&error) => {}
            Err(error) => {
                if !is_reported {
                    accept_failed(&error);
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
    (stream, peer): (TcpStream, SocketAddr),
    router: Router,
    options: Options,
    client: Arc<Client>,
    mut ended: watch::Receiver<()>,
) {
    let service = TowerToHyperService::new(router);
    let service = service_fn(|mut request: hyper::Request<hyper::body::Incoming>| {
        client.is_asked.store(true, Ordering::Relaxed);
        request.extensions_mut().insert(ConnectInfo(peer));
        service.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_read_time_max)
        .max_buf_size(options.header_bytes_max.max(HEADER_BYTES_LEAST))
        .max_headers(HEADER_FIELDS_MAX)
        .keep_alive(options.connection_time_max.is_none())
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
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    };
    match options.connection_time_max {
        Some(most) => drop(tokio::time::timeout(most, answered).await),
        None => answered.await,
    }
}
