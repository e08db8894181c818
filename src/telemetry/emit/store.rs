//! Recovery, and repairs of reports and of the state folder.

use super::repeats::is_news;
use crate::model::escape;
use crate::model::submission::Name;
use crate::telemetry::metric;
use std::fmt::Display;
use std::path::Path;
use tracing::{error, info, warn};

const TARGET: &str = "gridmark::store";

/// An earlier run left claims; `claims` are graded again, `released` are back in the inbox.
pub fn recovered(claims: usize, released: usize) {
    if claims + released > 0 {
        metric::RECOVERED_CLAIMS.add(claims as u64);
        info!(target: TARGET, claims, released,
            "an earlier run left claims: they are graded again, or released");
    }
}

/// A report held rows that were never committed; they were cut off.
pub fn report_cut(report: &Name, bytes: u64) {
    metric::REPORT_CUTS.add(1);
    warn!(target: TARGET, %report, bytes,
        "rows that an earlier run did not commit were cut off a report; they are written again");
}

/// What is left to the next start could not be made durable; the next start checks it.
pub fn leave_failed(error: &dyn Display) {
    warn!(target: TARGET, error = %escape::line(error),
        "cannot make files durable that are left to the next start; it will check them");
}

/// This many reports are to be rebuilt.
pub fn damaged_reports(reports: usize) {
    metric::DAMAGED_REPORTS.set(reports as f64);
}

/// A report was not as the ledger says and was set aside.
pub fn report_set_aside(report: &Name, aside: &Path, why: &str) {
    metric::REPORTS_SET_ASIDE.add(1);
    error!(target: TARGET, %report, aside = %escape::path(aside), why,
        "a report was changed by another program; the changed copy is kept aside");
}

/// A report was replaced or removed by another program and is rebuilt.
pub fn report_restored(report: &Name, why: &str) {
    metric::REPORTS_RESTORED.add(1);
    warn!(target: TARGET, %report, why, "rebuilt a report");
}

/// A report cannot be checked or rebuilt now; that is tried again.
pub fn report_rebuild_failed(error: &dyn Display) {
    metric::REPORT_REBUILD_ERRORS.add(1);
    error!(target: TARGET, error = %escape::line(error),
        "cannot rebuild a report; marks are committed all the same, and it is tried again");
}

/// The ledger's file is not the one that is open, so what is committed was saved beside it at the end.
pub fn ledger_rescued(why: &dyn Display, copy: &Path) {
    error!(target: TARGET, %why, copy = %escape::path(copy),
        "the ledger's file is not the one that was in use: what is committed is in the copy; put that one into \
         its place before the next start");
}

/// The ledger's file is not the one that is open, and what is committed could not be saved.
pub fn ledger_lost(why: &dyn Display, failed: &dyn Display) {
    error!(target: TARGET, %why, %failed,
        "the ledger's file is not the one that was in use, and what is committed could not be saved: restore \
         it from a backup before the next start");
}

/// The rows of a submission cannot be rebuilt.
pub fn rebuild_failed(name: &Name, error: &dyn Display) {
    metric::REBUILD_ERRORS.add(1);
    if is_news("rebuild", name, error) {
        error!(target: TARGET, %name, error = %escape::line(error),
            "cannot rebuild the rows of a submission: the file that was graded is gone or changed");
    }
}

/// A lock or the ledger was removed or cut, and is restored.
pub fn file_restored(what: &'static str) {
    if is_news("restored", &what, &"") {
        warn!(target: TARGET, what,
            "a file that the service needs was removed or cut; it is restored with all its content");
    }
}

/// These locks cannot be taken, each with the reason; none if all are taken again.
pub fn folders_unlocked(locks: &[String]) {
    metric::UNLOCKED_FOLDERS.set(locks.len() as f64);
    if locks.is_empty() {
        info!(target: TARGET, "all folders are locked again");
    } else {
        warn!(target: TARGET, locks = locks.join("; "),
            "not all folders can be locked; see to it that no other service uses them");
    }
}
