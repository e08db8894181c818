//! The signals that the service listens to.

use std::future::pending;
use std::io::{self, IsTerminal};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// To end; the signal's name.
    End(&'static str),
    /// To read the settings anew.
    Reload,
}

/// The signals that the service listens to.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Not listened to by a service that cannot read its settings anew.
    hang_up: Option<Signal>,
    /// Whether it was started in a terminal.
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

    pub(super) async fn next(&mut self) -> Asked {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => drop(signal.recv().await),
                None => pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => Asked::End("SIGTERM"),
            _ = self.interrupt.recv() => Asked::End("SIGINT"),
            // Whoever closes the terminal in which it was started wants it to end.
            () = hang_up => match self.in_terminal && !io::stderr().is_terminal() {
                true => Asked::End("SIGHUP"),
                false => Asked::Reload,
            },
        }
    }
}
