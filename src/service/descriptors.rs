//! The budget of file descriptors.
//!
//! A service that runs out of descriptors fails at random places, so it counts at the start what its
//! settings need and refuses to start with less. What the limit allows beyond that is shared between
//! the three consumers that work better with more: HTTP connections, folders that a scan keeps open,
//! and reports that publishing keeps open.

use super::Error;
use crate::config::{PageListen, Settings};
use crate::telemetry::emit;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Standard streams, locks, ledger with its log and index, in-flight journal, listener, runtime,
/// signals, watcher, and a few for short reads.
const BASE: usize = 26;

/// Folders and files that intake opens to claim a file, apart from its scan.
const CLAIMING: usize = 6;

/// The least that a scan of the inbox keeps open.
const SCANNING: usize = 10;

/// Per grading thread: a folder, its file, and one more while the path is opened.
const GRADING: usize = 3;

/// Per large file: the file, and one more while its path is opened.
const STREAMING: usize = 2;

/// What publishing has open apart from reports: folders to sync, and the sources of a rebuilt report.
const PUBLISHING: usize = 5;

/// How many reports stay open from commit to commit: the least, and the most.
const OPEN_REPORTS_LEAST: usize = 8;
const OPEN_REPORTS_MAX: usize = 256;

/// A connection that is answered, and one that waits for its turn.
const CONNECTING: usize = 2;

/// The page, if it is on: its listener, its runtime, and a connection that is accepted.
const PAGE: usize = 8;

/// Each of the three consumers gets this fraction of the spare descriptors: an eighth.
const SHARE: usize = 8;

/// The least number of descriptors that the service needs with these settings.
fn descriptors_needed(settings: &Settings) -> usize {
    // The summary is open beside the reports of folders.
    let fixed = BASE + CLAIMING + SCANNING + PUBLISHING + OPEN_REPORTS_LEAST + 1 + CONNECTING;
    let grading = settings.grade.threads().saturating_mul(GRADING);
    let streaming = settings.grade.streams_max.saturating_mul(STREAMING);
    let page = if has_page(settings) { PAGE } else { 0 };
    fixed.saturating_add(grading).saturating_add(streaming).saturating_add(page)
}

fn has_page(settings: &Settings) -> bool {
    settings.page.listen != PageListen::Off
}

/// The number of descriptors from which more make no difference.
pub fn descriptors_wanted(settings: &Settings) -> usize {
    let most = settings.http.connections_max.max(OPEN_REPORTS_MAX);
    let page = if has_page(settings) { settings.page.connections_max } else { 0 };
    let wanted = descriptors_needed(settings).saturating_add(most.saturating_mul(SHARE));
    // The page gets at most half of what is spare.
    wanted
        .saturating_add(page)
        .max(descriptors_needed(settings).saturating_add(page.saturating_mul(2)))
}

/// Raises RLIMIT_NOFILE to its hard limit.
///
/// # Errors
///
/// The hard limit is below what the settings need.
pub(super) fn raise_limit(settings: &Settings) -> Result<(), Error> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If this is refused, the present limit may still be enough.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let (most, needed) = (descriptors_max(), descriptors_needed(settings));
    if most < needed { Err(Error::Descriptors { most, needed }) } else { Ok(()) }
}

/// The limit in force.
fn descriptors_max() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

/// The spare descriptors for each of the three consumers.
fn share(settings: &Settings) -> usize {
    spare(settings).saturating_sub(page_share(settings)) / SHARE
}

fn spare(settings: &Settings) -> usize {
    descriptors_max().saturating_sub(descriptors_needed(settings))
}

/// The spare descriptors for connections of the page.
fn page_share(settings: &Settings) -> usize {
    let wanted = if has_page(settings) { settings.page.connections_max } else { 0 };
    wanted.min(spare(settings) / 2)
}

/// How many connections of the page may be open, so that none of them takes a descriptor that grading needs.
pub(super) fn page_connections_max(settings: &Settings) -> usize {
    let (wanted, most) = (settings.page.connections_max, page_share(settings).max(1));
    if has_page(settings) && wanted > most {
        emit::connections_bounded("page.connections_max", wanted, most);
    }
    wanted.min(most)
}

/// How many folders a scan of the inbox may keep open.
pub(super) fn open_folders_max(settings: &Settings) -> usize {
    share(settings)
}

/// How many reports may be kept open.
pub(super) fn open_reports_max(settings: &Settings) -> usize {
    OPEN_REPORTS_LEAST.saturating_add(share(settings)).min(OPEN_REPORTS_MAX)
}

/// How many HTTP connections may be open.
pub(super) fn connections_max(settings: &Settings) -> usize {
    let (wanted, most) = (settings.http.connections_max, share(settings).saturating_add(1));
    if wanted > most {
        emit::connections_bounded("http.connections_max", wanted, most);
    }
    wanted.min(most)
}
