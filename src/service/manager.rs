//! What the service manager of the system is told, if there is one: systemd, by `sd_notify`.

use super::Progress;
use sd_notify::NotifyState;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often it is told that the start or the end gets on, at the most.
const PERIOD: Duration = Duration::from_secs(1);

/// How much longer a start or an end that gets on may take, in microseconds: a minute.
const EXTENSION_US: u32 = 60_000_000;

/// What the manager knows of us.
pub(super) struct Manager {
    /// How often the watchdog is to be fed, if it is set up.
    feeding: Option<Duration>,
    told_ready: bool,
    is_stopping: bool,
    status: String,
}

impl Manager {
    pub(super) fn new() -> Manager {
        // Twice in the time that it waits, as is the custom.
        let feeding = sd_notify::watchdog_enabled().map(|time| time / 2);
        Manager { feeding, told_ready: false, is_stopping: false, status: String::new() }
    }

    /// How often [`Manager::tell`] is to be called.
    pub(super) fn period(&self) -> Duration {
        self.feeding.map_or(PERIOD, |feeding| feeding.min(PERIOD))
    }

    /// Tells that the service is ready, the first time that it is.
    pub(super) fn tell_readiness(&mut self, is_ready: bool) {
        if is_ready && !self.told_ready {
            self.told_ready = true;
            tell(&[NotifyState::Ready]);
        }
    }

    /// Tells how it goes; whether the pipeline is alive, whether it is ready, how far it is.
    pub(super) fn tell(
        &mut self,
        live: &Result<(), String>,
        ready: &Result<(), Vec<String>>,
        progress: Progress,
    ) {
        let Progress { submissions, waiting, .. } = progress;
        let status = match (live, ready) {
            (Err(stuck), _) => format!("stuck: {stuck}"),
            _ if self.is_stopping => format!("finishing what was taken: {waiting} under way"),
            (_, Err(reasons)) => format!("not ready: {}", reasons.join("; ")),
            _ => format!("ready: {submissions} submissions graded, {waiting} under way"),
        };
        if self.status != status {
            // What it is told ends at the end of the line.
            tell(&[NotifyState::Status(&status.replace('\n', " "))]);
            self.status = status;
        }
        if live.is_ok() && self.feeding.is_some() {
            tell(&[NotifyState::Watchdog]);
        }
        if live.is_ok() && (self.is_stopping || !self.told_ready) {
            tell(&[NotifyState::ExtendTimeoutUsec(EXTENSION_US)]);
        }
    }

    /// The settings are read anew.
    pub(super) fn reloading(&self) {
        // Who is not ready yet is starting, and nothing else.
        if self.told_ready
            && let Ok(now) = NotifyState::monotonic_usec_now()
        {
            tell(&[NotifyState::Reloading, now]);
        }
    }

    /// They are.
    pub(super) fn reloaded(&self) {
        if self.told_ready {
            tell(&[NotifyState::Ready]);
        }
    }

    /// The service is ending.
    pub(super) fn stopping(&mut self) {
        self.is_stopping = true;
        tell(&[NotifyState::Stopping]);
    }
}

/// Tells that the start gets on, whenever it is called; but not too often.
pub(super) fn starting() -> impl Fn() + Send + Sync {
    let told = Mutex::new(None::<Instant>);
    move || {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|told| told.elapsed() > PERIOD) {
            *told = Some(Instant::now());
            tell(&[NotifyState::ExtendTimeoutUsec(EXTENSION_US)]);
        }
    }
}

fn tell(states: &[NotifyState<'_>]) {
    // Without a service manager there is nobody to tell.
    let _ = sd_notify::notify(states);
}
