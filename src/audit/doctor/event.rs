//! Checks the event folder: that it is good, and that only staff can read it, since it holds the puzzles of rounds
//! to come.

use super::finding::Finding;
use crate::config::Settings;
use crate::event::{Folder, Source};
use crate::model::escape;
use crate::model::words::counted;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// The bits of a mode by which others may read or enter.
const OTHERS: u32 = 0o007;

/// Checks the event folder, if there is one.
pub(super) fn examine(settings: &Settings) -> Vec<Finding> {
    let path = settings.paths.event();
    let shown = escape::path(&path);
    let Ok(metadata) = path.metadata() else { return Vec::new() };
    let mut findings = Vec::new();
    if metadata.permissions().mode() & OTHERS != 0 {
        findings.push(Finding::fail(
            "event",
            format!("{shown} can be read by everybody, and holds the puzzles of rounds to come"),
            format!("chmod o-rwx {shown}"),
        ));
    }
    let folder = match Folder::read(&path) {
        Ok(folder) => folder,
        Err(error) => {
            let what = escape::with_causes(&error);
            findings.push(Finding::fail("event", what, "let the user of the service read it"));
            return findings;
        }
    };
    let time_max = Duration::from_millis(settings.event.prove_ms_max);
    findings.push(match Source::prove(folder, Vec::new(), time_max) {
        Ok((_, event)) => Finding::ok(
            "event",
            format!(
                "{} is good: {} with {} and {}",
                shown,
                escape::line(&event.name),
                counted(event.entrants.len(), "entrant"),
                counted(event.rounds.len(), "round")
            ),
        ),
        Err(problems) => {
            let first = problems.first().map_or_else(String::new, ToString::to_string);
            let what = format!("{shown} is wrong: {first}");
            Finding::fail("event", what, format!("gridmark event check {shown} lists everything"))
        }
    });
    findings
}
