//! Where commands for an event take their requests: to the running service, or, with the service stopped, to the
//! ledger itself, by the same functions.

use super::super::Error;
use crate::config::Settings;
use crate::jury::{Answer, Jury, Request};
use crate::model::escape;
use crate::pipeline::standings::{Files, LiveStandings};
use crate::store::archive::Archive;
use crate::store::definitions::KnownDefinitions;
use crate::store::ledger::Ledger;
use crate::store::lock::Locks;
use crate::store::reports::rebuild;
use crate::store::socket;
use jiff::Timestamp;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// How long the service may take for an answer: a whole event may be judged again.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(600);

/// Has a request answered. The inner error is a message.
pub(super) fn ask(settings: &Settings, request: Request) -> Result<Result<Answer, String>, Error> {
    let state = settings.paths.state();
    if !state.is_dir() {
        return Ok(Err(format!("no service has run in {}", escape::path(&settings.paths.root))));
    }
    match socket::connect(&state).map_err(Error::io("connect to the service of", &state))? {
        Some(stream) => Ok(over(&stream, &request).map_err(|error| {
            format!("the service did not answer: {error}; `gridmark event audit` shows what it has recorded")
        })),
        None => offline(settings, request),
    }
}

fn over(mut stream: &UnixStream, request: &Request) -> io::Result<Answer> {
    stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
    stream.set_write_timeout(Some(ANSWER_TIME_MAX))?;
    stream.write_all(&serde_json::to_vec(request)?)?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(serde_json::from_slice(&answer)?)
}

/// Answers a request without the service, which the locks keep from being started meanwhile.
fn offline(settings: &Settings, request: Request) -> Result<Result<Answer, String>, Error> {
    let paths = &settings.paths;
    let _locks = match Locks::take(paths) {
        Ok(locks) => locks,
        Err(error) => return Ok(Err(escape::with_causes(&error))),
    };
    let ledger = Ledger::open(&paths.ledger()).map_err(crate::service::Error::from)?;
    let ledger = Arc::new(ledger);
    let archive = Archive::of(paths.inbox(), paths.archive(), paths.quarantine());
    let definitions = Arc::new(KnownDefinitions::new(Arc::clone(&ledger)));
    let live = Arc::new(LiveStandings::new(Arc::clone(&ledger), Arc::clone(&definitions)));
    let jury = Jury::new(
        Arc::clone(&ledger),
        Arc::new(archive),
        definitions,
        Arc::clone(&live),
        rebuild::rules(settings),
        Duration::from_millis(settings.event.prove_ms_max),
    );
    let now_ms = Timestamp::now().as_millisecond();
    let answer = jury.answer(request, now_ms);
    if matches!(answer, Answer::Ruled(_) | Answer::Regraded(..)) {
        let mut files = Files::new(paths.reports(), paths.public());
        let written = live.read(|standings| {
            let rounds = 0..standings.event().rounds.len();
            files.write(standings, &ledger, rounds, now_ms)
        });
        // It is recorded, and the next start writes the files.
        let failed = match written {
            Ok(None | Some(Ok(()))) => None,
            Ok(Some(Err(error))) => Some(escape::with_causes(&error)),
            Err(error) => Some(escape::with_causes(&error)),
        };
        if let Some(why) = failed {
            super::super::print_error(&format!(
                "recorded, but the files are not up to date: {why}"
            ));
        }
    }
    Ok(Ok(answer))
}
