//! The event as the service follows it: its folder is taken over at a start and by each reload.
//!
//! A folder that is wrong never stops grading: what was in force before stays so, and the service says that it is
//! not ready.

use super::Shared;
use crate::event::Folder;
use crate::jury::{Refused, TakenOver};
use crate::model::escape;
use crate::model::words::counted;
use crate::telemetry::emit;
use crate::telemetry::health::Concern;
use jiff::Timestamp;
use std::io::ErrorKind;

/// Takes the event folder over, if there is one. `via` says on which occasion. Returns what became of it, in
/// words; nothing if there is no event.
pub(super) fn take_over(shared: &Shared, via: &str) -> Option<Result<String, String>> {
    let result = try_take_over(shared, via)?;
    match &result {
        Ok(_) => shared.health.set_ready(Concern::Event),
        Err(why) => {
            emit::event_refused(why);
            let why = why.lines().next().unwrap_or_default();
            shared.health.set_not_ready(Concern::Event, format!("the event folder: {why}"));
        }
    }
    Some(result)
}

fn try_take_over(shared: &Shared, via: &str) -> Option<Result<String, String>> {
    let path = shared.settings.paths.event();
    let shown = escape::path(&path);
    match path.metadata() {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match shared.ledger.definitions().in_force() {
                Ok(None) => None,
                Ok(Some(_)) => Some(Err(format!("{shown} is gone: put it back"))),
                Err(error) => Some(Err(error.to_string())),
            };
        }
        Err(error) => return Some(Err(format!("cannot read {shown}: {error}"))),
    }
    let folder = match Folder::read(&path) {
        Ok(folder) => folder,
        Err(error) => return Some(Err(escape::with_causes(&error))),
    };
    let now_ms = Timestamp::now().as_millisecond();
    Some(match shared.jury.take_over(folder, via, now_ms) {
        Ok(TakenOver::Unchanged) => Ok("unchanged".into()),
        Ok(TakenOver::InForce { name, matched }) => {
            emit::event_in_force(&name, matched);
            Ok(format!("{} is in force", escape::line(&name)))
        }
        Ok(TakenOver::Staged { judgements }) => {
            emit::event_staged(judgements);
            Ok(format!(
                "staged, since it changes {}: `gridmark event regrade --preview` shows them",
                counted(judgements, "judgement")
            ))
        }
        Err(Refused::Folder(problems)) => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Err(problems.join("\n"))
        }
        Err(refused) => Err(escape::with_causes(&refused)),
    })
}
