//! The queue, grading and quarantine.

use super::repeats::is_news;
use crate::model::escape;
use crate::model::submission::Name;
use crate::telemetry::metric;
use gridmark_core::Kind;
use std::fmt::Display;
use std::time::Duration;
use tracing::{debug, error, warn};

const TARGET: &str = "gridmark::grading";

/// What waits, what is in flight, and the age of the oldest file that waits.
pub fn flow(queue_files: usize, queue_bytes: u64, in_flight_files: usize, oldest: Duration) {
    metric::QUEUE_FILES.set(queue_files as f64);
    metric::QUEUE_BYTES.set(queue_bytes as f64);
    metric::IN_FLIGHT_FILES.set(in_flight_files as f64);
    metric::OLDEST_WAITING.set(oldest.as_secs_f64());
}

/// Bytes of submissions were read.
pub fn bytes_read(bytes: u64) {
    metric::READ_BYTES.add(bytes);
}

/// A batch of small files, or a chunk of a large one, was graded.
pub fn batch_graded(kind: Option<Kind>, cases: u64, took: Duration) {
    metric::BATCH_CASES.record(cases as f64);
    if let Some(kind) = kind {
        metric::GRADE_SECONDS.record_for([kind.word()], took.as_secs_f64());
    }
}

/// A large file gives way to the next one.
pub fn turn_over(name: &Name) {
    metric::TURNS.add(1);
    debug!(target: TARGET, %name, "a large file gives way to others; it is continued after them");
}

/// These submissions were being graded when the process died; one of them may be the cause.
pub fn crashes_counted<'a>(names: impl Iterator<Item = &'a Name>) {
    for name in names {
        metric::SUSPECTS.add(1);
        warn!(target: TARGET, %name,
            "an earlier run died while grading this file, which may be the cause");
    }
}

/// The in-flight journal could not be written, so a submission that makes the process die is not
/// found out.
pub fn journal_failed(error: &std::io::Error) {
    metric::JOURNAL_ERRORS.add(1);
    warn!(target: TARGET, error = %escape::line(error), "cannot write the in-flight journal; grading continues");
}

/// Grading a submission failed through our own fault.
pub fn grade_failed(name: &Name, tries: u32, tries_max: u32, reason: &str) {
    metric::GRADE_ERRORS.add(1);
    error!(target: TARGET, %name, tries, tries_max, reason = escape::line(&reason),
        "grading failed; this is gridmark's failure, not the entrant's");
}

/// The system lacks resources to grade a submission now; this does not count as a failed try.
pub fn grade_starved(name: &Name, error: &std::io::Error) {
    metric::GRADE_ERRORS.add(1);
    if is_news("starved", &"", error) {
        warn!(target: TARGET, %name, error = %escape::line(error), "cannot grade a submission now; it is tried again");
    }
}

/// A submission that cannot be graded was moved into quarantine.
pub fn quarantined(name: &Name, reason: &str) {
    error!(target: TARGET, %name, reason = escape::line(&reason), "moved into quarantine");
}

/// A submission that cannot be graded could not be moved into quarantine.
pub fn quarantine_failed(name: &Name, error: &dyn Display) {
    metric::QUARANTINE_ERRORS.add(1);
    error!(target: TARGET, %name, error = %escape::line(error),
        "cannot move a file into quarantine; the next start tries again");
}

/// The number of files in quarantine.
pub fn quarantine_holds(files: u64) {
    metric::QUARANTINED_FILES.set(files as f64);
}
