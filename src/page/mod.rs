//! The scoring-room page: what staff look at, and what the hall sees.
//!
//! Everything is made here, on a thread of its own with a runtime of its own, and from the ledger, the standings and the
//! archive alone; so nothing of it can hold up grading, and no browser takes a place of those who ask for metrics. It
//! works without a script. With one, a page that is open follows what happens: it is informed over a stream of events,
//! and asks for the same page again.
//!
//! What is for the public is decided in one place ([`Standings::shown`](crate::event::Standings::shown)), and who
//! may see which page in another one ([`Role`]).

mod follow;
mod hall;
mod layout;
mod overview;
mod render;
mod role;
mod standings;
mod submissions;
mod text;

pub use role::Role;

use crate::config;
use crate::event::Standings;
use crate::http;
use crate::pipeline::standings::LiveStandings;
use crate::store::archive::Archive;
use crate::store::ledger::Ledger;
use crate::telemetry::emit;
use crate::telemetry::health::Health;
use axum::Router;
use axum::extract::{ConnectInfo, Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use follow::Follow;
use maud::Markup;
use render::Fragments;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;

/// The rules for browsers: everything comes from here, and nothing is in line with text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What the page looks at.
pub struct Dependencies {
    /// Submissions, judgements, rulings.
    pub ledger: Arc<Ledger>,
    /// The files of submissions.
    pub archive: Arc<Archive>,
    /// The standings.
    pub live: Arc<LiveStandings>,
    /// Whether the service takes files, and if not, why.
    pub health: Arc<Health>,
    /// What waits and is being graded.
    pub flow: Box<dyn Fn() -> Flow + Send + Sync>,
    /// Its settings.
    pub settings: config::Page,
}

/// What waits and is being graded.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Files that were taken and wait.
    pub waiting: usize,
    /// Files that are being graded, or whose marks are not committed.
    pub in_flight: usize,
    /// How long the oldest has been waiting; zero if none is.
    pub oldest: Duration,
}

/// The running page; nothing if it is off.
pub struct Page(Option<(oneshot::Sender<()>, JoinHandle<()>)>);

/// What all requests share.
struct Site {
    dependencies: Dependencies,
    address: SocketAddr,
    follow: Arc<Follow>,
    made: Fragments,
}

/// Why there is no page for a request.
enum Problem {
    /// There is no such page.
    Missing,
    /// It is for staff.
    ForStaff,
    /// It cannot be made.
    Failed(String),
}

impl Page {
    /// Serves the page on `listener`, on a thread of its own.
    ///
    /// # Errors
    ///
    /// The system gives no thread or no runtime.
    pub fn start(listener: Option<TcpListener>, dependencies: Dependencies) -> io::Result<Page> {
        let Some(listener) = listener else { return Ok(Page(None)) };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(dependencies.settings.makers_max)
            .thread_name("page")
            .build()?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let thread = Builder::new().name("page".into()).spawn(move || {
            runtime.block_on(serve(listener, address, dependencies, stopped));
            // What is still being made is for nobody any more.
            runtime.shutdown_background();
        })?;
        Ok(Page(Some((stop, thread))))
    }

    /// Ends all streams, takes no more connections, and waits until open requests have their answers.
    pub fn stop(self) {
        if let Some((stop, thread)) = self.0 {
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

async fn serve(
    listener: TcpListener,
    address: SocketAddr,
    dependencies: Dependencies,
    stopped: oneshot::Receiver<()>,
) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return emit::accept_failed(&error),
    };
    let settings = &dependencies.settings;
    let options = http::Options {
        connections_max: settings.connections_max,
        silent_time_max: Duration::from_millis(settings.silent_ms_max),
        header_bytes_max: settings.header_bytes_max,
        header_read_time_max: Duration::from_millis(settings.header_read_ms_max),
        connection_time_max: None,
    };
    let follow = Arc::new(Follow::default());
    let made = Fragments::default();
    let site = Arc::new(Site { dependencies, address, follow: Arc::clone(&follow), made });
    let watching = tokio::spawn(follow::watch(Arc::clone(&site)));
    let stop = async {
        let _ = stopped.await;
        watching.abort();
        follow.end();
    };
    http::serve(listener, router(site), options, emit::accept_failed, stop).await;
}

fn router(site: Arc<Site>) -> Router {
    Router::new()
        .route("/", get(overview))
        .route("/submissions", get(submissions))
        .route("/submissions/{id}", get(submission))
        .route("/standings", get(all_standings))
        .route("/standings/{round}", get(round_standings))
        .route("/hall", get(hall))
        .route("/events", get(follow::events))
        .route("/style.css", get(|| asset("text/css", include_str!("style.css"))))
        .route("/page.js", get(|| asset("text/javascript", include_str!("page.js"))))
        .fallback(|| async { Problem::Missing })
        .layer(from_fn_with_state(Arc::clone(&site), guarded))
        .with_state(site)
}

/// Answers only those who ask for this page by one of its names, and tells browsers what they may do.
async fn guarded(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let mut response = match host.is_some_and(|host| site.is_own(host)) {
        true => next.run(request).await,
        false => (StatusCode::MISDIRECTED_REQUEST, text::OTHER_HOST).into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

impl Site {
    /// Whether this is a name of the page, with or without a port: its address, this machine, or one of the settings.
    fn is_own(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let address = name.trim_matches(['[', ']']);
        name.eq_ignore_ascii_case("localhost")
            || address.parse().is_ok_and(|address: std::net::IpAddr| {
                address.is_loopback()
                    || address == self.address.ip()
                    || self.address.ip().is_unspecified()
            })
            || self.dependencies.settings.hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
    }

    /// Calls `read` with the standings, if there is an event.
    fn standings<T>(&self, read: impl FnOnce(&Standings) -> T) -> Result<Option<T>, Problem> {
        self.dependencies.live.read(read).map_err(Problem::failed)
    }
}

impl Problem {
    fn failed(error: impl std::error::Error) -> Problem {
        Problem::Failed(crate::model::escape::with_causes(&error))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, words) = match self {
            Problem::Missing => (StatusCode::NOT_FOUND, text::MISSING.to_owned()),
            Problem::ForStaff => (StatusCode::FORBIDDEN, text::FOR_STAFF.to_owned()),
            Problem::Failed(why) => (StatusCode::INTERNAL_SERVER_ERROR, text::failed(&why)),
        };
        (status, html(layout::message(&words))).into_response()
    }
}

/// Makes a page off the runtime: it reads the ledger, and may wait for the disk.
async fn make(
    site: Arc<Site>,
    make: impl FnOnce(&Site) -> Result<Markup, Problem> + Send + 'static,
) -> Response {
    match tokio::task::spawn_blocking(move || make(&site)).await {
        Ok(Ok(markup)) => html(markup).into_response(),
        Ok(Err(problem)) => problem.into_response(),
        Err(error) => Problem::failed(error).into_response(),
    }
}

/// A page as an answer.
fn html(markup: Markup) -> Html<String> {
    Html(markup.into_string())
}

type Who = ConnectInfo<SocketAddr>;

async fn overview(State(site): State<Arc<Site>>, role: Role) -> Response {
    if !role.is_staff() {
        return Problem::ForStaff.into_response();
    }
    make(site, overview::page).await
}

async fn submissions(
    State(site): State<Arc<Site>>,
    role: Role,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    if !role.is_staff() {
        return Problem::ForStaff.into_response();
    }
    make(site, move |site| submissions::list(site, &query)).await
}

async fn submission(State(site): State<Arc<Site>>, role: Role, Path(id): Path<String>) -> Response {
    if !role.is_staff() {
        return Problem::ForStaff.into_response();
    }
    make(site, move |site| submissions::one(site, &id)).await
}

async fn all_standings(State(site): State<Arc<Site>>, role: Role) -> Response {
    make(site, move |site| standings::page(site, role, None)).await
}

async fn round_standings(
    State(site): State<Arc<Site>>,
    role: Role,
    Path(round): Path<String>,
) -> Response {
    make(site, move |site| standings::page(site, role, Some(&round))).await
}

async fn hall(
    State(site): State<Arc<Site>>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    make(site, move |site| hall::page(site, &query)).await
}

async fn asset(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, format!("{kind}; charset=utf-8")),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
    ];
    (headers, text).into_response()
}
