//! Watching and scanning the inbox, and taking files from it.

use super::labels::{FolderScan, ScanReason, Via, WatchMode};
use super::repeats::is_news;
use super::yes_or_no;
use crate::model::escape;
use crate::model::submission::{Doubt, Name};
use crate::telemetry::metric;
use std::fmt::Display;
use std::path::Path;
use std::sync::Once;
use std::time::Duration;
use tracing::{debug, error, info, warn};

const TARGET: &str = "gridmark::intake";

/// How the inbox is observed from now on; `why` if it is only scanned although it should be watched.
pub fn watch_mode(mode: WatchMode, why: &str) {
    for each in WatchMode::ALL {
        metric::WATCH_MODE.set_for([each.word()], yes_or_no(each == mode));
    }
    let is_degraded = mode == WatchMode::Scan && !why.is_empty();
    metric::WATCH_DEGRADED.set(yes_or_no(is_degraded));
    let mode_word = mode.word();
    match mode {
        WatchMode::Events => info!(target: TARGET, mode = mode_word, "the inbox is watched"),
        WatchMode::Scan if why.is_empty() => {
            info!(target: TARGET, mode = mode_word, "the inbox is scanned");
        }
        WatchMode::Scan => {
            warn!(target: TARGET, mode = mode_word, why,
                "the inbox is scanned on a timer, not watched");
        }
    }
}

/// The watcher reported an error; a scan finds what it may have missed.
pub fn watch_failed(error: &str) {
    metric::WATCH_ERRORS.add(1);
    if is_news("watch", &"", &error) {
        warn!(target: TARGET, error, "the watcher reports an error; the inbox is scanned");
    }
}

/// Watch events were lost; a scan finds what they were about.
pub fn watch_overflowed(queue: &'static str) {
    metric::WATCH_OVERFLOWS.add(1);
    warn!(target: TARGET, queue,
        "watch events were lost; the watches are renewed and the inbox is scanned");
}

/// A scan begins.
pub fn scan_started(reason: ScanReason) {
    metric::SCANS.add_for([reason.word()], 1);
    debug!(target: TARGET, reason = reason.word(), "scanning the inbox");
}

/// A complete scan has ended, which opened so many folders and passed so many in which nothing had changed.
pub fn scan_finished(took: Duration, ignored: u64, opened: u64, unchanged: u64) {
    metric::SCAN_SECONDS.record(took.as_secs_f64());
    metric::SCANNED_FOLDERS.add_for([FolderScan::Opened.word()], opened);
    metric::SCANNED_FOLDERS.add_for([FolderScan::Unchanged.word()], unchanged);
    metric::IGNORED_FILES.set(ignored as f64);
    debug!(target: TARGET, ?took, ignored, opened, unchanged, "scanned the inbox");
}

/// The inbox, or a folder in it, could not be read.
pub fn scan_failed(folder: &Path, error: &std::io::Error) {
    metric::SCAN_ERRORS.add(1);
    if is_news("scan", &"", error) {
        warn!(target: TARGET, folder = %escape::path(folder), error = %escape::line(error),
            "cannot read a folder of the inbox; the next scan tries again");
    }
}

/// A file or folder in the inbox is left alone; logged once for each.
pub fn ignored(name: &Name, why: &str) {
    info!(target: TARGET, %name, why, "left alone in the inbox");
}

/// So many more files and folders are left alone than are logged one by one.
pub fn more_ignored(more: u64) {
    info!(target: TARGET, more,
        "more is left alone in the inbox than is logged by name; `gridmark why` says why");
}

/// Files were found that are ready to be taken.
pub fn found(via: Via, files: usize) {
    metric::FOUND.add_for([via.word()], files as u64);
}

/// The number of known files in the inbox that are not taken.
pub fn inbox_holds(files: usize) {
    metric::INBOX_FILES.set(files as f64);
}

/// Files were taken.
pub fn claimed(files: usize) {
    metric::CLAIMED.add(files as u64);
    debug!(target: TARGET, files, "taken into the archive");
}

/// A file was taken whose time of arrival is in doubt.
pub fn arrival_in_doubt(name: &Name, doubt: Doubt) {
    metric::ARRIVALS_IN_DOUBT.add_for([doubt.word()], 1);
    if is_news("arrival", &"", &doubt.reason()) {
        info!(target: TARGET, %name, why = doubt.reason(),
            "the time at which a file was handed in is in doubt; the ledger marks all of them");
    }
}

/// The clock was put forward by so much, or back.
pub fn clock_set(by_ms: i64) {
    metric::CLOCK_STEPS.add(1);
    let by_seconds = by_ms as f64 / 1_000.0;
    warn!(target: TARGET, by_seconds,
        "the clock was set; when the files were handed in that wait in the inbox is in doubt");
}

/// A file could not be taken.
pub fn claim_failed(name: &Name, error: &dyn Display) {
    metric::CLAIM_ERRORS.add(1);
    if is_news("claim", &"", error) {
        error!(target: TARGET, %name, error = %escape::line(error),
            "cannot take a file; it stays in the inbox and is tried again");
    }
}

/// Files could not be taken for a reason that does not concern them in particular.
pub fn claims_failed(files: usize, error: &dyn Display) {
    metric::CLAIM_ERRORS.add(files as u64);
    if is_news("claims", &"", error) {
        error!(target: TARGET, error = %escape::line(error),
            "cannot take files; they stay in the inbox and are tried again");
    }
}

/// A settled file stays in the inbox because a process has it open for writing.
pub fn still_open(name: &Name) {
    metric::STILL_OPEN.add(1);
    debug!(target: TARGET, %name, "a process has it open for writing; it stays in the inbox");
}

/// The system does not say whether a process has a file open for writing.
pub fn writers_unknown(name: &Name) {
    static LOGGED: Once = Once::new();
    metric::WRITERS_UNKNOWN.add(1);
    LOGGED.call_once(|| {
        warn!(target: TARGET, %name,
            "the system does not say whether a process has this file open for writing, and perhaps \
             for no file: only the settle time keeps gridmark from taking half a file; rename files \
             into the inbox, or give gridmark CAP_LEASE");
    });
}

/// A file changed while it was read, and was returned to the inbox.
pub fn put_back(name: &Name, why: &str) {
    metric::PUT_BACK.add(1);
    if is_news("put back", &"", &why) {
        warn!(target: TARGET, %name, why, "put back into the inbox to settle");
    }
}

/// A file could not be returned to the inbox.
pub fn put_back_failed(name: &Name, error: &dyn Display) {
    metric::PUT_BACK_ERRORS.add(1);
    if is_news("put back failed", &"", error) {
        error!(target: TARGET, %name, error = %escape::line(error),
            "cannot put a file back into the inbox; it is tried again");
    }
}
