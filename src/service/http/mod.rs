//! The HTTP server for metrics and health. It knows the service only as a [`Surface`].
//!
//! A connection carries one request, so that idle ones cannot keep Prometheus out.

mod answers;
mod client;
mod question;

pub use answers::{ClaimState, InboxStatus, ReloadsAnswer, WhyAnswer};
pub use client::{Answer, ask, ask_json};
pub use question::Question;

pub use crate::http::Options;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::net::TcpListener;

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
    let accept_failed = |error: &_| surface.accept_failed(error);
    crate::http::serve(listener, router, options, accept_failed, stop).await;
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
