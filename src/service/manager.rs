//! Notifications to the service manager (systemd, by `sd_notify`), if there is one.

use super::Progress;
use sd_notify::NotifyState;
use std::time::Duration;

/// The longest time between two notifications.
const PERIOD: Duration = Duration::from_secs(1);

/// By how much each notification extends the time limit of a start or a stop: a minute.
const EXTENSION_US: u32 = 60_000_000;

/// Notifies the service manager, and remembers its view of the service.
pub(super) struct Manager {
    /// How often the watchdog must be fed, if it is on.
    watchdog_period: Option<Duration>,
    is_ready: bool,
    is_stopping: bool,
    status: String,
}

impl Manager {
    pub(super) fn new() -> Manager {
        // systemd recommends half of its time limit.
        let watchdog_period = sd_notify::watchdog_enabled().map(|time| time / 2);
        Manager { watchdog_period, is_ready: false, is_stopping: false, status: String::new() }
    }

    /// How often [`Manager::notify_status`] is to be called.
    pub(super) fn period(&self) -> Duration {
        self.watchdog_period.map_or(PERIOD, |period| period.min(PERIOD))
    }

    /// Notifies the manager when the service is ready for the first time.
    pub(super) fn notify_ready(&mut self, is_ready: bool) {
        if is_ready && !self.is_ready {
            self.is_ready = true;
            notify(&[NotifyState::Ready]);
        }
    }

    /// Sends the status line, feeds the watchdog if the pipeline is alive, and extends the time limit
    /// of a start or a drain that makes progress.
    pub(super) fn notify_status(
        &mut self,
        live: &Result<(), String>,
        ready: &Result<(), Vec<String>>,
        progress: Progress,
    ) {
        let Progress { submissions, waiting, .. } = progress;
        let status = match (live, ready) {
            (Err(stuck), _) => format!("stuck: {stuck}"),
            _ if self.is_stopping => format!("draining: {waiting} in flight"),
            (_, Err(reasons)) => format!("not ready: {}", reasons.join("; ")),
            _ => format!("ready: {submissions} submissions graded, {waiting} in flight"),
        };
        if self.status != status {
            // The protocol ends a field at the end of a line.
            notify(&[NotifyState::Status(&status.replace('\n', " "))]);
            self.status = status;
        }
        if live.is_ok() && self.watchdog_period.is_some() {
            notify(&[NotifyState::Watchdog]);
        }
        if live.is_ok() && (self.is_stopping || !self.is_ready) {
            notify(&[NotifyState::ExtendTimeoutUsec(EXTENSION_US)]);
        }
    }

    /// A reload begins.
    pub(super) fn notify_reloading(&self) {
        // While it starts, systemd expects READY=1 as the end of the start, not of a reload.
        if self.is_ready
            && let Ok(now) = NotifyState::monotonic_usec_now()
        {
            notify(&[NotifyState::Reloading, now]);
        }
    }

    /// The reload is done.
    pub(super) fn notify_reloaded(&self) {
        if self.is_ready {
            notify(&[NotifyState::Ready]);
        }
    }

    /// The drain has started.
    pub(super) fn notify_stopping(&mut self) {
        self.is_stopping = true;
        notify(&[NotifyState::Stopping]);
    }
}

fn notify(states: &[NotifyState<'_>]) {
    // Without a service manager this does nothing.
    let _ = sd_notify::notify(states);
}
