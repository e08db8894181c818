//! Descriptors: how many the service needs, and how many each of what may hold many gets.

use super::Error;
use crate::config::Settings;
use crate::telemetry::emit;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Standard streams, lock, ledger with its log and index, what is under way, the listener, the
/// runtime, signals, the watcher, and a few for short looks.
const BASE: usize = 22;

/// Folders and files that intake looks at and takes at a time, beside its walk.
const TAKING: usize = 6;

/// What a walk through the inbox keeps open at the least.
const WALKING: usize = 10;

/// What one thread that grades has open: a folder, its file, and one more on the way there.
const GRADING: usize = 3;

/// A large file, and one on the way to it.
const STREAMING: usize = 2;

/// What publishing has open beside reports: folders to be synced, and what a report is written anew
/// from.
const PUBLISHING: usize = 5;

/// Reports that are kept open from commit to commit, at the least and where descriptors are plenty.
const OPEN_REPORTS_LEAST: usize = 8;
const OPEN_REPORTS_MAX: usize = 256;

/// One connection that is answered, and one that waits for its place.
const CONNECTING: usize = 2;

/// Each of what may hold many (connections, folders, reports) gets one in so many of those that are
/// to spare.
const SHARE: usize = 8;

/// How many descriptors the service cannot do without, by these settings.
pub fn descriptors_needed(settings: &Settings) -> usize {
    // The summary is open beside the reports of folders.
    let fixed = BASE + TAKING + WALKING + PUBLISHING + OPEN_REPORTS_LEAST + 1 + CONNECTING;
    let grading = settings.grade.threads().saturating_mul(GRADING);
    let streaming = settings.grade.streams_max.saturating_mul(STREAMING);
    fixed.saturating_add(grading).saturating_add(streaming)
}

/// With how many descriptors nothing is held back for want of them.
pub fn descriptors_wanted(settings: &Settings) -> usize {
    let most = settings.http.connections_max.max(OPEN_REPORTS_MAX);
    descriptors_needed(settings).saturating_add(most.saturating_mul(SHARE))
}

/// Has the system let us have as many as it may, and makes sure that they are enough.
pub(super) fn raise_limit(settings: &Settings) -> Result<(), Error> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where that is refused, those that we have may be enough.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let (most, needed) = (descriptors_max(), descriptors_needed(settings));
    if most < needed { Err(Error::Descriptors { most, needed }) } else { Ok(()) }
}

/// How many the system lets us have.
fn descriptors_max() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// How many of those beyond what is needed each of what may hold many gets.
fn share(settings: &Settings) -> usize {
    descriptors_max().saturating_sub(descriptors_needed(settings)) / SHARE
}

/// How many folders a walk through the inbox may keep open.
pub(super) fn open_folders_max(settings: &Settings) -> usize {
    share(settings)
}

/// How many reports may be kept open.
pub(super) fn open_reports_max(settings: &Settings) -> usize {
    OPEN_REPORTS_LEAST.saturating_add(share(settings)).min(OPEN_REPORTS_MAX)
}

/// How many connections there may be.
pub(super) fn connections_max(settings: &Settings) -> usize {
    let (wanted, most) = (settings.http.connections_max, share(settings).saturating_add(1));
    if wanted > most {
        emit::connections_bounded(wanted, most);
    }
    wanted.min(most)
}
