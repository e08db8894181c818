//! The service: starts the stages, runs them, drains them and exits.
//!
//! Problems of the machine or the settings show at the start, before a file is taken (`start`). A
//! service that has started keeps running and reports trouble in `/readyz`, because a tournament is
//! better served by files that wait than by a process that is gone.
//!
//! The stages run on threads of their own (`stages`). One more thread runs the rest on an
//! asynchronous runtime: signals, timers and HTTP. None of these may block it.

mod channel;
mod descriptors;
mod error;
mod event;
pub mod http;
mod liveness;
mod maintenance;
mod manager;
mod reload;
mod signals;
mod stages;
mod start;
mod status_api;

pub use descriptors::descriptors_wanted;
pub use error::Error;
pub use reload::Source;

use crate::config::{self, Settings};
use crate::jury::Jury;
use crate::page::{self, Page};
use crate::pipeline::publish::Published;
use crate::pipeline::queue::Queue;
use crate::pipeline::standings::Bell;
use crate::store::archive::Archive;
use crate::store::in_flight::InFlightJournal;
use crate::store::ledger::Ledger;
use crate::store::recovery::Recovered;
use crate::store::reports::rebuilder::SharedReports;
use crate::telemetry::health::{Concern, Health};
use crate::telemetry::{Recorder, emit, log};
use gridmark_core::judge::Tier;
use liveness::Liveness;
use maintenance::Maintenance;
use reload::{Reload, Reloads, Sections};
use signals::{Request, Signals};
use stages::{Drained, Stages};
pub use start::bind;
use start::{Prepared, prepare};
use status_api::HttpServer;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

/// The exit code after a second signal.
const EXIT_NOW: i32 = 130;

/// The time between two rounds of maintenance, and between two reports of progress.
const TICK: Duration = Duration::from_millis(100);

/// How the service is to run.
#[derive(Default)]
pub struct Mode {
    /// Grade what is in the inbox and exit, without an address for metrics and health.
    pub once: bool,
    /// Called ten times a second with the progress.
    pub on_progress: Option<Box<dyn FnMut(Progress)>>,
    /// What SIGHUP reloads the settings from; without it SIGHUP ends the process.
    pub reload: Option<Source>,
}

/// The progress of the service since its start.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Submissions that are committed.
    pub submissions: u64,
    /// Cases that are committed.
    pub cases: u64,
    /// Submissions that are taken and not committed.
    pub waiting: usize,
}

/// How the service ended.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Submissions that were committed.
    pub submissions: u64,
    /// Of these, the ones that gridmark failed to grade.
    pub failed: u64,
    /// Cases that were committed.
    pub cases: u64,
    /// Files that could not be taken and are still in the inbox, with [`Mode::once`].
    pub left: usize,
    /// Large files that stopped at a checkpoint.
    pub unfinished: usize,
    /// Whether everything taken, except unfinished large files, is graded and durable.
    pub committed: bool,
}

/// What the parts of the service share.
struct Shared {
    /// The settings at the start, with an absolute root.
    settings: Settings,
    /// The sections that a reload can change, as they are now.
    sections: Sections,
    reloads: Reloads,
    tier: Tier,
    ledger: Arc<Ledger>,
    jury: Arc<Jury>,
    bell: Arc<Bell>,
    archive: Arc<Archive>,
    queue: Arc<Queue>,
    health: Arc<Health>,
    published: Arc<Published>,
    stopping: Arc<AtomicBool>,
    journal: Arc<InFlightJournal>,
    reports: Arc<SharedReports>,
    liveness: Liveness,
}

/// Runs the service until a signal drains it or, with [`Mode::once`], until the inbox is graded.
///
/// # Errors
///
/// It cannot start. Trouble after the start does not end it; `/readyz` reports it.
pub fn run(settings: &Settings, mut mode: Mode) -> Result<Outcome, Error> {
    let recorder = Recorder::install()
        .map_err(|error| Error::System { what: "the metrics", source: io::Error::other(error) })?;
    descriptors::raise_limit(settings)?;
    let Prepared { shared, locks, recovered, listener, page } = prepare(settings.clone(), &mode)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::System { what: "the runtime", source })?;
    emit::started(env!("CARGO_PKG_VERSION"), shared.tier.name(), &shared.settings.paths.root);
    let shared = Arc::new(shared);
    let maintenance = Maintenance::new(Arc::clone(&shared), recorder.clone(), locks);
    emit::settings_read();
    let reload = mode.reload.take().map(|source| Reload::new(source, settings.clone()));
    let running = Running { shared, maintenance, reload, on_progress: mode.on_progress };
    runtime.block_on(running.run(recorder, recovered, [listener, page], mode.once))
}

/// The service from the start of its stages to its exit.
struct Running {
    shared: Arc<Shared>,
    maintenance: Maintenance,
    reload: Option<Reload>,
    on_progress: Option<Box<dyn FnMut(Progress)>>,
}

impl Running {
    async fn run(
        mut self,
        recorder: Recorder,
        recovered: Recovered,
        [listener, page]: [Option<TcpListener>; 2],
        once: bool,
    ) -> Result<Outcome, Error> {
        let system = |what| move |source| Error::System { what, source };
        let signals = Signals::new(self.reload.is_some()).map_err(system("signals"))?;
        // Intake takes files as soon as it runs, so the free disk space must be known before.
        self.maintenance.tick();
        let (stages, drained) =
            Stages::start(&self.shared, recovered, once).map_err(system("threads"))?;
        let http = HttpServer::start(&self.shared, recorder, listener, stages.mailbox())
            .map_err(system("HTTP"))?;
        let page =
            Page::start(page, page_dependencies(&self.shared)).map_err(system("the page"))?;
        channel::start(&self.shared);
        self.shared.health.started();
        let drained = self.run_until_drained(signals, &stages, drained).await;
        let _ = tokio::task::spawn_blocking(|| page.stop()).await;
        http.stop().await;
        channel::end(&self.shared);
        let outcome = self.shared.outcome(drained);
        emit::stopped(outcome.committed, outcome.unfinished);
        Ok(outcome)
    }

    /// Serves timers and signals until the stages have ended.
    async fn run_until_drained(
        &mut self,
        mut signals: Signals,
        stages: &Stages,
        mut drained: oneshot::Receiver<Drained>,
    ) -> Drained {
        let mut tick = tokio::time::interval(TICK);
        let mut is_draining = false;
        loop {
            tokio::select! {
                // The sender is only dropped without a result when a panic ends the process.
                result = &mut drained => return result.unwrap_or_default(),
                request = signals.next() => match request {
                    Request::Reload => self.reload(stages, is_draining),
                    Request::Drain(_) if is_draining => self.exit_now(),
                    Request::Drain(signal) => {
                        is_draining = true;
                        self.drain(stages, signal);
                    }
                },
                _ = tick.tick() => self.tick(),
            }
        }
    }

    fn tick(&mut self) {
        self.maintenance.tick();
        if let Some(on_progress) = &mut self.on_progress {
            on_progress(self.shared.progress());
        }
    }

    fn reload(&mut self, stages: &Stages, is_draining: bool) {
        if let Some(reload) = self.reload.as_mut().filter(|_| !is_draining) {
            self.maintenance.reload(reload);
            stages.wake();
        }
    }

    /// Stops intake; the stages behind it end once they have nothing left to do.
    fn drain(&mut self, stages: &Stages, signal: &str) {
        emit::stopping(signal);
        self.maintenance.stopping();
        self.shared.stopping.store(true, Ordering::Release);
        self.shared.health.set_not_ready(Concern::Stopping, "the service is stopping");
        stages.drain();
    }

    fn exit_now(&self) {
        // A requested exit is no crash, so what is being graded is no suspect.
        self.shared.journal.forget();
        log::exit(EXIT_NOW);
    }
}

/// What the page looks at.
fn page_dependencies(shared: &Shared) -> page::Dependencies {
    let queue = Arc::clone(&shared.queue);
    page::Dependencies {
        ledger: Arc::clone(&shared.ledger),
        archive: Arc::clone(&shared.archive),
        live: Arc::clone(shared.jury.live()),
        health: Arc::clone(&shared.health),
        flow: Box::new(move || {
            let flow = queue.flow();
            page::Flow {
                waiting: flow.queue_files,
                in_flight: flow.in_flight_files,
                oldest: flow.oldest,
            }
        }),
        settings: config::Page {
            connections_max: descriptors::page_connections_max(&shared.settings),
            ..shared.settings.page.clone()
        },
    }
}

impl Shared {
    /// Updates the gauges of the queue.
    fn emit_flow(&self) {
        let flow = self.queue.flow();
        emit::flow(flow.queue_files, flow.queue_bytes, flow.in_flight_files, flow.oldest);
    }

    fn progress(&self) -> Progress {
        let flow = self.queue.flow();
        Progress {
            submissions: self.published.submissions.load(Ordering::Relaxed),
            cases: self.published.cases.load(Ordering::Relaxed),
            waiting: flow.queue_files + flow.in_flight_files,
        }
    }

    fn outcome(&self, Drained { left, committed }: Drained) -> Outcome {
        let Progress { submissions, cases, .. } = self.progress();
        let failed = self.published.failed.load(Ordering::Relaxed);
        let unfinished = self.queue.left().large;
        Outcome { submissions, failed, cases, left, unfinished, committed }
    }
}
