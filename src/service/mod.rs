//! The service: builds the stages, wires them, runs them and ends them in order. It alone names
//! them all.

mod descriptors;
pub mod http;
mod manager;
mod pulse;
mod reload;
mod signals;
mod stages;
mod status_api;
mod upkeep;

pub use descriptors::{descriptors_needed, descriptors_wanted};

use crate::config::Settings;
use crate::model::escape;
use crate::model::submission::Claimed;
use crate::pipeline::publish::Published;
use crate::pipeline::queue::Queue;
use crate::store::archive::Archive;
use crate::store::fail_point::Point;
use crate::store::in_flight::UnderWay;
use crate::store::ledger::{self, Ledger};
use crate::store::lock::{self, Lock};
use crate::store::recovery::{look_for_loss, recover};
use crate::store::reports::rebuild::{self, Rebuild};
use crate::telemetry::emit::{self, Recorder};
use crate::telemetry::health::Health;
use gridmark_core::judge::{Tier, UnsupportedTier};
use pulse::Pulse;
pub use reload::Source;
use reload::{Reload, Reloads, Sections};
use signals::{Asked, Signals};
use stages::{Ended, Stages};
use status_api::StatusApi;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use upkeep::Upkeep;

/// The exit code after a second signal.
const EXIT_NOW: i32 = 130;

/// Why the service did not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A folder of the service cannot be made.
    #[error("cannot make the folder {}", escape::path(path))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another instance works on this root.
    #[error(transparent)]
    Lock(#[from] lock::Error),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// A file of the service's own cannot be written.
    #[error("cannot write {}", escape::path(path))]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A report from which rows are missing cannot be written anew.
    #[error(transparent)]
    Rebuild(#[from] rebuild::Error),
    /// The address for metrics and health is not to be had.
    #[error("cannot listen on {address}; --listen takes another address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The tier that is set cannot be had.
    #[error("the setting grade.tier")]
    Tier(#[from] UnsupportedTier),
    /// The system lets the service have too few descriptors.
    #[error(
        "{most} files may be open, and with these settings the service needs at least {needed} \
         descriptors: raise LimitNOFILE in the unit of systemd, or ulimit -Hn"
    )]
    Descriptors {
        /// How many it may have.
        most: usize,
        /// How many it needs.
        needed: usize,
    },
    /// The system refuses something that the service cannot do without.
    #[error("cannot start {what}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

/// How the service is to run.
#[derive(Default)]
pub struct Mode {
    /// Grade what is in the inbox and end; metrics and health are not served then.
    pub once: bool,
    /// Told ten times a second how far it has come.
    pub on_progress: Option<Box<dyn FnMut(Progress)>>,
    /// From where the settings are read anew at a SIGHUP; without it that signal ends the process.
    pub reload: Option<Source>,
}

/// How far the service has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Submissions that are done.
    pub submissions: u64,
    /// Cases that are marked.
    pub cases: u64,
    /// Submissions that are taken and not done.
    pub waiting: usize,
}

/// How the service ended.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Submissions that were done.
    pub submissions: u64,
    /// Of these, the ones that gridmark failed to grade.
    pub failed: u64,
    /// Cases that were marked.
    pub cases: u64,
    /// Files that a run that ends by itself could not take.
    pub left: usize,
    /// Large files that a signal kept from being graded to their end.
    pub unfinished: usize,
    /// Whether all that was taken, but for those, is graded and durable.
    pub committed: bool,
}

/// What all parts of the service share.
struct Shared {
    /// The settings at the start.
    settings: Settings,
    /// Those that may change, as they are now.
    sections: Sections,
    reloads: Reloads,
    tier: Tier,
    ledger: Arc<Ledger>,
    archive: Arc<Archive>,
    queue: Arc<Queue>,
    health: Arc<Health>,
    published: Arc<Published>,
    stopping: Arc<AtomicBool>,
    under_way: Arc<UnderWay>,
    /// How many parts of reports were written anew.
    rebuilt: Arc<AtomicU64>,
    pulse: Pulse,
}

/// Runs the service until a signal ends it, or until there is nothing more to do if it is to run
/// once.
///
/// # Errors
///
/// If it cannot start. Once it runs it goes on, and says in `/readyz` what is wrong.
pub fn run(settings: &Settings, mut mode: Mode) -> Result<Outcome, Error> {
    let recorder = Recorder::install()
        .map_err(|error| Error::System { what: "the metrics", source: io::Error::other(error) })?;
    descriptors::raise_limit(settings)?;
    let (mut shared, mut lock, claims) = prepare(settings.clone(), mode.once)?;
    shared.reloads = Reloads::new(mode.reload.as_ref().and_then(|source| source.file.clone()));
    let listener =
        if mode.once { None } else { Some(listen(shared.settings.http.listen, &mut lock)?) };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::System { what: "the runtime", source })?;
    let root = &shared.settings.paths.root;
    emit::started(env!("CARGO_PKG_VERSION"), shared.tier.name(), root);
    let shared = Arc::new(shared);
    let upkeep = Upkeep::new(Arc::clone(&shared), recorder.clone(), lock);
    emit::settings_read();
    let reload = mode.reload.take().map(|source| Reload::new(source, settings.clone()));
    runtime.block_on(supervise(shared, recorder, upkeep, reload, (claims, listener), mode))
}

/// Makes everything ready that the stages work on.
fn prepare(mut settings: Settings, once: bool) -> Result<(Shared, Lock, Vec<Claimed>), Error> {
    // Watch events name whole paths, whatever the path that is watched; and so should we.
    let root = &mut settings.paths.root;
    *root = std::path::absolute(&root)
        .map_err(|source| Error::System { what: "in the working directory", source })?;
    let tier = Tier::wanted(&settings.grade.tier)?;
    let paths = &settings.paths;
    for path in [paths.state(), paths.reports(), paths.inbox(), paths.archive(), paths.quarantine()]
    {
        std::fs::create_dir_all(&path).map_err(|source| Error::Folder { path, source })?;
    }
    let lock = Lock::take(&paths.lock())?;
    let path = paths.ledger();
    look_for_loss(&path, &paths.reports())?;
    let ledger = Ledger::open(&path)?;
    Point::LedgerOpened.pass();
    let archive = Archive::open(paths.inbox(), paths.archive(), paths.quarantine())
        .map_err(|source| Error::Folder { path: paths.archive(), source })?;
    let (ledger, archive) = (Arc::new(ledger), Arc::new(archive));
    ledger.grade_by(&rebuild::rules(&settings))?;
    let rebuild = Rebuild::new(&settings, tier, Arc::clone(&ledger), Arc::clone(&archive));
    let rebuild = rebuild.telling(Box::new(manager::starting()));
    rebuild.learn_order()?;
    rebuild.run()?;
    let path = paths.state().join("grading");
    let (under_way, suspects) = UnderWay::open(&path, settings.grade.batch_files_max)
        .map_err(|source| Error::State { path, source })?;
    let claims = recover(&ledger, &archive, &paths.reports(), &suspects)?;
    let queue = Queue::new(reload::limits(&settings));
    let health = Arc::new(Health::default());
    health.unwell("first scan", "the first scan of the inbox is not done");
    let shared = Shared {
        sections: Sections::new(&settings),
        reloads: Reloads::default(),
        settings,
        tier,
        ledger,
        archive,
        queue: Arc::new(queue),
        health,
        published: Arc::default(),
        // A run that ends by itself does not wait until the disk takes its results.
        stopping: Arc::new(AtomicBool::new(once)),
        under_way: Arc::new(under_way),
        rebuilt: Arc::default(),
        pulse: Pulse::default(),
    };
    Ok((shared, lock, claims))
}

fn listen(address: SocketAddr, lock: &mut Lock) -> Result<TcpListener, Error> {
    let listener = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    let listener = listener.map_err(|source| Error::Listen { address, source })?;
    let address = listener.local_addr().unwrap_or(address);
    lock.tell_address(address)?;
    emit::listening(address);
    Ok(listener)
}

/// Runs the stages, the timers and the HTTP surface, and ends them in order.
async fn supervise(
    shared: Arc<Shared>,
    recorder: Recorder,
    mut upkeep: Upkeep,
    mut reload: Option<Reload>,
    (claims, listener): (Vec<Claimed>, Option<TcpListener>),
    mut mode: Mode,
) -> Result<Outcome, Error> {
    let system = |what| move |source| Error::System { what, source };
    let mut signals = Signals::new(reload.is_some()).map_err(system("signals"))?;
    // Before anything is taken it must be known whether there is room for it.
    upkeep.tick();
    let (stages, mut ended) =
        Stages::start(&shared, claims, mode.once).map_err(system("threads"))?;
    let (stop_http, http) =
        serve_http(&shared, recorder, listener, &stages).map_err(system("HTTP"))?;
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    let mut stopping = false;
    let ended: Ended = loop {
        tokio::select! {
            // A sender that is gone without a word belongs to a thread that has ended the process.
            result = &mut ended => break result.unwrap_or_default(),
            asked = signals.next() => {
                let Asked::End(name) = asked else {
                    if let Some(reload) = reload.as_mut().filter(|_| !stopping) {
                        upkeep.reload(reload);
                        stages.wake();
                    }
                    continue;
                };
                if stopping {
                    shared.under_way.forget();
                    #[expect(clippy::disallowed_methods, reason = "a second signal: end at once")]
                    std::process::exit(EXIT_NOW);
                }
                stopping = true;
                emit::stopping(name);
                upkeep.stopping();
                shared.stopping.store(true, Ordering::Release);
                shared.health.unwell("stopping", "the service is stopping");
                stages.stop();
            }
            _ = tick.tick() => {
                upkeep.tick();
                if let Some(on_progress) = &mut mode.on_progress {
                    on_progress(shared.progress());
                }
            }
        }
    };
    let _ = stop_http.send(());
    if let Some(http) = http {
        let _ = http.await;
    }
    let unfinished = shared.queue.left().large;
    emit::stopped(ended.committed, unfinished);
    let Progress { submissions, cases, .. } = shared.progress();
    let failed = shared.published.failed.load(Ordering::Relaxed);
    let (left, committed) = (ended.left, ended.committed);
    Ok(Outcome { submissions, failed, cases, left, unfinished, committed })
}

impl Shared {
    fn tell_flow(&self) {
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
}

type HttpTask = (oneshot::Sender<()>, Option<tokio::task::JoinHandle<()>>);

fn serve_http(
    shared: &Arc<Shared>,
    recorder: Recorder,
    listener: Option<TcpListener>,
    stages: &Stages,
) -> io::Result<HttpTask> {
    let (stop, stopped) = oneshot::channel::<()>();
    let Some(listener) = listener else {
        return Ok((stop, None));
    };
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let settings = &shared.settings.http;
    let options = http::Options {
        connections_max: descriptors::connections_max(&shared.settings),
        silent_time_max: Duration::from_millis(settings.silent_ms_max),
        header_bytes_max: settings.header_bytes_max,
        header_read_time_max: Duration::from_millis(settings.header_read_ms_max),
        connection_time_max: Duration::from_millis(settings.connection_ms_max),
    };
    let mailbox = stages.mailbox();
    let api = Arc::new(StatusApi { shared: Arc::clone(shared), recorder, mailbox });
    let task = tokio::spawn(http::serve(listener, api, options, async {
        let _ = stopped.await;
    }));
    Ok((stop, Some(task)))
}
