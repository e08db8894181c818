//! Signals as requests: SIGTERM and SIGINT drain the service, SIGHUP reloads its settings.

use std::future::pending;
use std::io::{self, IsTerminal};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Drain and exit; with the name of the signal.
    Drain(&'static str),
    /// Reload the settings.
    Reload,
}

/// The signals that the service handles.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Nothing for a service that does not reload: SIGHUP ends it, as it ends most programs.
    hang_up: Option<Signal>,
    /// Whether the service was started in a terminal.
    in_terminal: bool,
}

impl Signals {
    pub(super) fn new(reloads: bool) -> io::Result<Signals> {
        let hang_up = reloads.then(|| signal(SignalKind::hangup())).transpose()?;
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up,
            in_terminal: io::stderr().is_terminal(),
        })
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) -> Request {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => drop(signal.recv().await),
                None => pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => Request::Drain("SIGTERM"),
            _ = self.interrupt.recv() => Request::Drain("SIGINT"),
            // Closing the terminal in which the service was started sends SIGHUP too.
            () = hang_up => match self.in_terminal && !io::stderr().is_terminal() {
                true => Request::Drain("SIGHUP"),
                false => Request::Reload,
            },
        }
    }
}
