//! Commits of marks.

use super::repeats::is_news;
use crate::model::escape;
use crate::model::submission::{Name, Status, Tally};
use crate::telemetry::metric;
use gridmark_core::Kind;
use gridmark_core::board::Verdict;
use std::fmt::Display;
use std::time::Duration;
use tracing::{debug, error};

const TARGET: &str = "gridmark::publish";

/// Marks of one kind are durable.
pub fn cases_committed(kind: Option<Kind>, tally: &Tally) {
    let kind = kind.map_or(metric::UNKNOWN_KIND, Kind::word);
    for verdict in Verdict::ALL {
        let cases = tally.of(verdict);
        if cases > 0 {
            metric::CASES.add_for([kind, verdict.word()], cases);
        }
    }
}

/// All marks of a submission are durable, and so is its row.
pub fn submission_committed(name: &Name, attempt: u32, status: Status, latency: Duration) {
    metric::SUBMISSIONS.add_for([status.word()], 1);
    metric::LATENCY.record(latency.as_secs_f64());
    debug!(target: TARGET, %name, attempt, status = status.word(), ?latency, "graded");
}

/// A group of results became durable.
pub fn committed(report_bytes: u64, took: Duration) {
    metric::REPORT_BYTES.add(report_bytes);
    metric::COMMIT_SECONDS.record(took.as_secs_f64());
}

/// A group of results could not be made durable.
pub fn commit_failed(error: &dyn Display) {
    metric::COMMIT_ERRORS.add(1);
    if is_news("commit", &"", error) {
        error!(target: TARGET, error = %escape::line(error),
            "cannot make marks durable; nothing is lost, and it is tried again");
    }
}
