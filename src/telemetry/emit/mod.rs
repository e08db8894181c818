//! Everything that can happen: its log line and its metric, once.
//!
//! A stage says what happened; how that is logged and counted is decided here alone. What repeats
//! itself is counted each time and told once a minute. Names and
//! contents of files appear in log lines and never in labels.

mod often;
mod recorder;
mod reload;
mod words;

pub use recorder::Recorder;
pub use reload::{reload_refused, reloaded, setting_changed, setting_held, settings_read};
pub use words::{ScanReason, Via, WatchMode};

use crate::model::escape;
use crate::model::submission::{Name, Status, Tally};
use gridmark_core::Kind;
use gridmark_core::board::Verdict;
use metrics::{counter, gauge, histogram};
use often::is_news;
use std::path::Path;
use std::sync::Once;
use std::time::Duration;
use tracing::{debug, error, info, warn};

/// The histogram that counts cases; all others measure seconds.
const CASES_HISTOGRAM: &str = "gridmark_batch_cases";

/// The service works from now on.
pub fn started(version: &str, kernel: &'static str, root: &Path) {
    gauge!("gridmark_build_info", "version" => version.to_owned(), "kernel" => kernel).set(1.0);
    gauge!("gridmark_live").set(1.0);
    info!(version, kernel, root = %escape::path(root), "gridmark grades what is dropped into the inbox");
}

/// The HTTP listener is open.
pub fn listening(address: std::net::SocketAddr) {
    info!(%address, "metrics and health are served");
}

/// A signal asks the service to end.
pub fn stopping(signal: &str) {
    info!(signal, "stopping: what was taken is finished first; a second signal ends it now");
}

/// The service has ended in order; whether all that was taken is `committed`, but for large files, of
/// which so many are `unfinished`.
pub fn stopped(committed: bool, unfinished: usize) {
    if committed && unfinished > 0 {
        info!(
            unfinished,
            "stopped: what was graded is committed; the next start goes on with large files"
        );
    } else if committed {
        info!("stopped: all that was taken is graded and committed");
    } else {
        error!(
            "stopped: not all that was taken could be graded and its marks made durable; the next \
             start grades the rest"
        );
    }
}

/// An earlier run left this behind, and it is put right.
pub fn recovered(claims: usize, released: usize) {
    if claims + released > 0 {
        counter!("gridmark_recovered_claims_total").increment(claims as u64);
        info!(
            claims,
            released, "an earlier run ended early: its claims are graded again, or released"
        );
    }
}

/// A large file that is not done yet makes room for the next one.
pub fn turn_over(name: &Name) {
    counter!("gridmark_turns_total").increment(1);
    debug!(%name, "its turn is over; it is graded on when others had theirs");
}

/// The process died while these were graded, and one of them may be why.
pub fn deaths_counted<'a>(names: impl Iterator<Item = &'a Name>) {
    for name in names {
        counter!("gridmark_suspects_total").increment(1);
        warn!(%name, "an earlier run died while it was graded; it is graded alone now");
    }
}

/// It cannot be written down what is being graded, so that a submission that makes the process die
/// is not found out.
pub fn under_way_failed(error: &std::io::Error) {
    counter!("gridmark_under_way_errors_total").increment(1);
    warn!(%error, "cannot write down what is being graded; grading goes on");
}

/// A report held rows that were never committed; they are cut off and written again.
pub fn report_cut(report: &Name, bytes: u64) {
    counter!("gridmark_report_cuts_total").increment(1);
    warn!(%report, bytes, "cut rows off a report that an earlier run did not commit");
}

/// Something else than what the ledger says stood where a report belongs.
pub fn report_set_aside(report: &Name, aside: &Path, why: &str) {
    counter!("gridmark_reports_set_aside_total").increment(1);
    error!(%report, aside = %escape::path(aside), why, "a report was changed by someone else; their copy is kept aside");
}

/// An older gridmark did not note in which order it appended rows; whether the report told that.
pub fn order_taken_over(report: &Name, is_known: bool) {
    if is_known {
        info!(%report, "the order of its rows is taken over into the ledger");
    } else {
        warn!(%report, "the order of its rows is not known; were it written anew, rows might change places");
    }
}

/// Something of the state that somebody has removed or cut is there again.
pub fn state_restored(what: &'static str) {
    warn!(
        what,
        "somebody has removed or cut a file of the state; it is there again, with all that it held"
    );
}

/// How the inbox is observed from now on; and why, if it is scanned though it should be watched.
pub fn watch_mode(mode: WatchMode, why: &str) {
    for each in WatchMode::ALL {
        gauge!("gridmark_watch_mode", "mode" => each.word()).set(truth(each == mode));
    }
    let is_degraded = mode == WatchMode::Scan && !why.is_empty();
    gauge!("gridmark_watch_degraded").set(truth(is_degraded));
    match mode {
        WatchMode::Events => info!(mode = mode.word(), "the inbox is watched"),
        WatchMode::Scan if why.is_empty() => info!(mode = mode.word(), "the inbox is scanned"),
        WatchMode::Scan => {
            warn!(mode = mode.word(), why, "the inbox is scanned on a timer, not watched");
        }
    }
}

/// The watcher reports trouble; a scan makes up for what it may have missed.
pub fn watch_failed(error: &str) {
    counter!("gridmark_watch_errors_total").increment(1);
    if is_news("watch", &"", &error) {
        warn!(error, "the watcher reports an error; the inbox is scanned");
    }
}

/// Watch events were lost; a scan makes up for it.
pub fn watch_overflowed(queue: &'static str) {
    counter!("gridmark_watch_overflows_total").increment(1);
    warn!(queue, "watch events were lost; the watches are set anew and the inbox is scanned");
}

/// A scan begins.
pub fn scan_started(reason: ScanReason) {
    counter!("gridmark_scans_total", "reason" => reason.word()).increment(1);
    debug!(reason = reason.word(), "scanning the inbox");
}

/// A whole scan is done.
pub fn scan_finished(took: Duration, ignored: u64) {
    histogram!("gridmark_scan_seconds").record(took);
    gauge!("gridmark_ignored_files").set(ignored as f64);
    debug!(?took, ignored, "scanned the inbox");
}

/// The inbox, or a folder in it, could not be read.
pub fn scan_failed(folder: &Path, error: &std::io::Error) {
    counter!("gridmark_scan_errors_total").increment(1);
    if is_news("scan", &escape::path(folder), error) {
        warn!(folder = %escape::path(folder), %error, "cannot read a folder of the inbox; it is tried again");
    }
}

/// Something in the inbox is left alone; said once for each.
pub fn ignored(name: &Name, why: &str) {
    info!(%name, why, "left alone in the inbox");
}

/// Files were found that are ready to be taken.
pub fn found(via: Via, files: usize) {
    counter!("gridmark_found_total", "via" => via.word()).increment(files as u64);
}

/// So many files of the inbox are known that are not taken yet.
pub fn inbox_holds(files: usize) {
    gauge!("gridmark_inbox_files").set(files as f64);
}

/// Files were taken.
pub fn claimed(files: usize) {
    counter!("gridmark_claimed_total").increment(files as u64);
    debug!(files, "taken into the archive");
}

/// A file could not be taken; it stays in the inbox and is tried again.
pub fn claim_failed(name: &Name, error: &dyn std::fmt::Display) {
    counter!("gridmark_claim_errors_total").increment(1);
    if is_news("claim", name, error) {
        error!(%name, error = %escape::line(error), "cannot take a file; it stays in the inbox and is tried again");
    }
}

/// So many files could not be taken for a reason that has nothing to do with them.
pub fn claims_failed(files: usize, error: &dyn std::fmt::Display) {
    counter!("gridmark_claim_errors_total").increment(files as u64);
    if is_news("claims", &"", error) {
        error!(error = %escape::line(error), "cannot take files; they stay in the inbox and are tried again");
    }
}

/// A file that has settled is still open for writing; it stays in the inbox.
pub fn still_open(name: &Name) {
    counter!("gridmark_still_open_total").increment(1);
    debug!(%name, "somebody has it open for writing; it stays in the inbox");
}

/// The system does not say whether somebody has a file open for writing.
pub fn writers_unknown(name: &Name) {
    static TOLD: Once = Once::new();
    counter!("gridmark_writers_unknown_total").increment(1);
    TOLD.call_once(|| {
        warn!(%name, "the system does not tell whether somebody has this file open for writing, and may be others: the settle time alone keeps half a file from being taken; rename files in, or let gridmark have CAP_LEASE");
    });
}

/// A file changed while it was read, so it was given back to settle.
pub fn put_back(name: &Name, why: &str) {
    counter!("gridmark_put_back_total").increment(1);
    warn!(%name, why, "put back into the inbox to settle");
}

/// A file could not be given back to the inbox.
pub fn put_back_failed(name: &Name, error: &dyn std::fmt::Display) {
    counter!("gridmark_put_back_errors_total").increment(1);
    if is_news("put back", name, error) {
        error!(%name, error = %escape::line(error), "cannot put a file back into the inbox; it is tried again");
    }
}

/// A batch of small files, or a chunk of a large one, was graded.
pub fn batch_graded(kind: Option<Kind>, cases: u64, took: Duration) {
    histogram!(CASES_HISTOGRAM).record(cases as f64);
    if let Some(kind) = kind {
        histogram!("gridmark_grade_seconds", "kind" => kind.word()).record(took);
    }
}

/// Bytes of submissions were read.
pub fn bytes_read(bytes: u64) {
    counter!("gridmark_read_bytes_total").increment(bytes);
}

/// Grading a submission failed for a reason that is ours.
pub fn grade_failed(name: &Name, tries: u32, tries_max: u32, reason: &str) {
    counter!("gridmark_grade_errors_total").increment(1);
    error!(%name, tries, tries_max, reason, "grading failed; this is gridmark's failure, not the contestant's");
}

/// The system has too little for us to grade a submission now; that is none of its tries.
pub fn grade_starved(name: &Name, error: &std::io::Error) {
    counter!("gridmark_grade_errors_total").increment(1);
    if is_news("starved", &"", error) {
        warn!(%name, %error, "cannot grade a submission for now; it is tried again");
    }
}

/// A submission that cannot be graded was set aside.
pub fn quarantined(name: &Name, reason: &str) {
    error!(%name, reason, "moved into quarantine");
}

/// A submission that cannot be graded could not be set aside; it stays in the archive.
pub fn quarantine_failed(name: &Name, error: &dyn std::fmt::Display) {
    counter!("gridmark_quarantine_errors_total").increment(1);
    error!(%name, error = %escape::line(error), "cannot move into quarantine; it stays in the archive");
}

/// How many files lie in quarantine.
pub fn quarantine_holds(files: u64) {
    gauge!("gridmark_quarantined_files").set(files as f64);
}

/// Marks of one kind are durable.
pub fn cases_committed(kind: Option<Kind>, tally: &Tally) {
    // Files of no known kind have no kind to be counted under.
    let kind = kind.map_or("unknown", Kind::word);
    for verdict in Verdict::ALL {
        let cases = tally.of(verdict);
        if cases > 0 {
            counter!("gridmark_cases_total", "kind" => kind, "verdict" => verdict.word())
                .increment(cases);
        }
    }
}

/// A submission's marks are durable and its row is written.
pub fn submission_committed(name: &Name, attempt: u32, status: Status, latency: Duration) {
    counter!("gridmark_submissions_total", "status" => status.word()).increment(1);
    histogram!("gridmark_latency_seconds").record(latency);
    debug!(%name, attempt, status = status.word(), ?latency, "graded");
}

/// A group of results became durable.
pub fn committed(report_bytes: u64, took: Duration) {
    counter!("gridmark_report_bytes_total").increment(report_bytes);
    histogram!("gridmark_commit_seconds").record(took);
}

/// A group of results could not be made durable; it is tried again and nothing is lost.
pub fn commit_failed(error: &dyn std::fmt::Display) {
    counter!("gridmark_commit_errors_total").increment(1);
    if is_news("commit", &"", error) {
        error!(
            error = %escape::line(error),
            "cannot make marks durable; trying again, nothing is lost"
        );
    }
}

/// What waits, what is being graded, and for how long the oldest has waited.
pub fn flow(queue_files: usize, queue_bytes: u64, in_flight_files: usize, oldest: Duration) {
    gauge!("gridmark_queue_files").set(queue_files as f64);
    gauge!("gridmark_queue_bytes").set(queue_bytes as f64);
    gauge!("gridmark_in_flight_files").set(in_flight_files as f64);
    gauge!("gridmark_oldest_waiting_seconds").set(oldest.as_secs_f64());
}

/// How much room is left where reports, archive and ledger lie, and with how much less than that
/// no more is taken.
pub fn disk_free(bytes: u64, bytes_min: u64) {
    gauge!("gridmark_disk_free_bytes").set(bytes as f64);
    gauge!("gridmark_disk_free_min_bytes").set(bytes_min as f64);
}

/// A part of the service that has work to do does not get on, or all of them move again.
pub fn liveness(live: &Result<(), String>) {
    gauge!("gridmark_live").set(truth(live.is_ok()));
    match live {
        Ok(()) => info!("all of the service moves again"),
        Err(reason) => {
            error!(reason, "a part of the service is stuck; if it stays so, restart gridmark")
        }
    }
}

/// The service became ready, or stopped being ready for these reasons.
pub fn readiness(reasons: &[String]) {
    gauge!("gridmark_ready").set(truth(reasons.is_empty()));
    if reasons.is_empty() {
        info!("ready");
    } else {
        warn!(reasons = reasons.join("; "), "not ready");
    }
}

/// The rows of a submission cannot be written anew, since its file cannot be read.
pub fn rebuild_failed(name: &Name, error: &dyn std::fmt::Display) {
    counter!("gridmark_rebuild_errors_total").increment(1);
    if is_news("rebuild", name, error) {
        error!(%name, error = %escape::line(error), "cannot write the rows of a submission anew: what was graded is not to be had any more");
    }
}

/// A report was replaced or removed by someone else; it is there again with all that is committed.
pub fn report_restored(report: &Name, why: &str) {
    counter!("gridmark_reports_restored_total").increment(1);
    warn!(%report, why, "wrote a report anew");
}

/// A client could not be served because the system gives no more connections.
pub fn accept_failed(error: &std::io::Error) {
    counter!("gridmark_http_errors_total").increment(1);
    if is_news("accept", &"", error) {
        warn!(%error, "cannot accept a connection; metrics and health may be late");
    }
}

/// Fewer connections are open at a time than was set, since descriptors are few.
pub fn connections_bounded(wanted: usize, most: usize) {
    warn!(
        wanted,
        most,
        "fewer connections are taken than http.connections_max: descriptors are few (ulimit -n)"
    );
}

/// A thread of the service ended by a panic; that is a bug of gridmark's.
pub fn thread_panicked(thread: &str) {
    counter!("gridmark_panics_total").increment(1);
    error!(thread, "a thread of gridmark panicked");
}

/// As a gauge tells it.
const fn truth(is_so: bool) -> f64 {
    if is_so { 1.0 } else { 0.0 }
}
