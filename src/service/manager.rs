//! Notifications to the service manager (systemd, by `sd_notify`), if there is one.
//!
//! The manager may be slow, and then its socket is full. Nothing waits for that: what comes again anyway is dropped,
//! and the rest is sent later. So the messages are only made by the package `sd-notify`, which would wait.

use super::Progress;
use crate::model::words::counted;
use sd_notify::NotifyState;
use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// The longest time between two notifications.
const PERIOD: Duration = Duration::from_secs(1);

/// By how much each notification extends the time limit of a start or a stop: a minute.
const EXTENSION_US: u32 = 60_000_000;

/// How many messages may wait until the manager takes them.
const UNSENT_MAX: usize = 64;

/// Notifies the service manager, and remembers its view of the service.
pub(super) struct Manager {
    /// Messages that the manager has had no room for, the oldest first.
    unsent: VecDeque<String>,
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
        Manager {
            unsent: VecDeque::new(),
            watchdog_period,
            is_ready: false,
            is_stopping: false,
            status: String::new(),
        }
    }

    /// How often [`Manager::notify_status`] is to be called.
    pub(super) fn period(&self) -> Duration {
        self.watchdog_period.map_or(PERIOD, |period| period.min(PERIOD))
    }

    /// Notifies the manager when the service is ready for the first time.
    pub(super) fn notify_ready(&mut self, is_ready: bool) {
        if is_ready && !self.is_ready {
            self.is_ready = true;
            self.notify(&[NotifyState::Ready]);
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
            _ => {
                let submissions = counted(submissions, "submission");
                format!("ready: {submissions} graded, {waiting} in flight")
            }
        };
        self.send_unsent();
        // The protocol ends a field at the end of a line.
        if self.status != status && self.send(&[NotifyState::Status(&status.replace('\n', " "))]) {
            self.status = status;
        }
        if live.is_ok() && self.watchdog_period.is_some() {
            self.send(&[NotifyState::Watchdog]);
        }
        if live.is_ok() && (self.is_stopping || !self.is_ready) {
            self.send(&[NotifyState::ExtendTimeoutUsec(EXTENSION_US)]);
        }
    }

    /// A reload begins.
    pub(super) fn notify_reloading(&mut self) {
        // While it starts, systemd expects READY=1 as the end of the start, not of a reload.
        if self.is_ready
            && let Ok(now) = NotifyState::monotonic_usec_now()
        {
            self.notify(&[NotifyState::Reloading, now]);
        }
    }

    /// The reload is done.
    pub(super) fn notify_reloaded(&mut self) {
        if self.is_ready {
            self.notify(&[NotifyState::Ready]);
        }
    }

    /// The drain has started.
    pub(super) fn notify_stopping(&mut self) {
        self.is_stopping = true;
        self.notify(&[NotifyState::Stopping]);
    }

    /// Sends this now, or as soon as the manager has room.
    fn notify(&mut self, states: &[NotifyState<'_>]) {
        self.send_unsent();
        if !self.send(states) && self.unsent.len() < UNSENT_MAX {
            self.unsent.push_back(message(states));
        }
    }

    /// Sends what had to wait.
    fn send_unsent(&mut self) {
        while let Some(oldest) = self.unsent.front()
            && is_sent(oldest)
        {
            self.unsent.pop_front();
        }
    }

    /// Sends this now, and never before what has to wait; returns whether it is sent.
    fn send(&self, states: &[NotifyState<'_>]) -> bool {
        self.unsent.is_empty() && is_sent(&message(states))
    }
}

fn message(states: &[NotifyState<'_>]) -> String {
    states.iter().map(|state| format!("{state}\n")).collect()
}

/// Sends a message, if the manager has room for it. Without a manager, or where sending it fails for another reason,
/// it counts as sent.
fn is_sent(message: &str) -> bool {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else { return true };
    let sent = UnixDatagram::unbound().and_then(|socket| {
        socket.set_nonblocking(true)?;
        socket.send_to(message.as_bytes(), path)
    });
    !sent.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}
