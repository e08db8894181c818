//! Decisions of staff from commands, over the socket in the state folder: one request a connection, one after the
//! other.

use super::Shared;
use crate::jury::{Answer, Request};
use crate::store::socket;
use crate::telemetry::emit;
use jiff::Timestamp;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::thread::Builder;
use std::time::Duration;

/// The largest request, in bytes.
const REQUEST_BYTES_MAX: u64 = 16 << 20;

/// How long a client may be silent.
const SILENT_MAX: Duration = Duration::from_secs(10);

/// The pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Opens the socket, and answers on a thread of its own, as long as the process runs. Without a socket the service
/// runs on: decisions wait until it is stopped or started again.
pub(super) fn start(shared: &Arc<Shared>) {
    let opened = socket::listen(&shared.settings.paths.state()).and_then(|listener| {
        // The ledger is closed with the service, though this thread waits for clients then.
        let shared = Arc::downgrade(shared);
        Builder::new().name("channel".into()).spawn(move || serve(&shared, &listener))
    });
    if let Err(error) = opened {
        emit::channel_failed(&error);
    }
}

/// Removes the socket at the end of the service.
pub(super) fn end(shared: &Shared) {
    socket::remove(&shared.settings.paths.state());
}

fn serve(shared: &Weak<Shared>, listener: &UnixListener) {
    loop {
        let answered = listener.accept().and_then(|(stream, _)| match shared.upgrade() {
            Some(shared) => answer(&shared, &stream),
            None => Ok(()),
        });
        if let Err(error) = answered {
            emit::channel_failed(&error);
            std::thread::sleep(PAUSE);
        }
    }
}

fn answer(shared: &Shared, mut stream: &UnixStream) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENT_MAX))?;
    stream.set_write_timeout(Some(SILENT_MAX))?;
    let mut request = Vec::new();
    stream.take(REQUEST_BYTES_MAX + 1).read_to_end(&mut request)?;
    let answer = if request.len() as u64 > REQUEST_BYTES_MAX {
        Answer::Refused(format!("a request may have {} MiB", REQUEST_BYTES_MAX >> 20))
    } else {
        match serde_json::from_slice::<Request>(&request) {
            Ok(request) => {
                let now_ms = Timestamp::now().as_millisecond();
                // Decisions are recorded in one transaction, so a panic leaves nothing half done.
                let decide = AssertUnwindSafe(|| shared.jury.answer(request, now_ms));
                let answer = catch_unwind(decide).unwrap_or_else(|_| {
                    Answer::Refused("gridmark failed over it, which is a bug: see its log".into())
                });
                shared.bell.ring();
                answer
            }
            Err(error) => Answer::Refused(format!("this is no request: {error}")),
        }
    };
    stream.write_all(&serde_json::to_vec(&answer).map_err(io::Error::other)?)
}
