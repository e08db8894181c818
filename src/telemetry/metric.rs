//! Every metric: its name, kind, unit, labels and help text. Nothing else in the source repeats a name.
//!
//! The table makes a constant of each row, by which `emit` records, and the list [`METRICS`], from
//! which the recorder describes every series and sets it to zero at the start: a rate over a counter
//! that appears with its first event would miss that event.
//!
//! To add a metric, add a row here and a function in `emit` that records it.

use super::emit::{
    CodeRefusal, FolderScan, HandInResult, ReloadResult, ScanReason, Secret, Takeover, Via,
    WatchMode,
};
use crate::model::submission::{Doubt, Status};
use gridmark_core::Kind;
use gridmark_core::board::Verdict;
use metrics::{Label, counter, gauge, histogram};

/// The kind under which a file of no known kind is counted.
pub(super) const UNKNOWN_KIND: &str = "unknown";

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The name, by Prometheus' conventions: `gridmark_cases_total`.
    pub name: &'static str,
    /// How it counts.
    pub kind: MetricKind,
    /// What it counts.
    pub unit: Unit,
    /// Its labels, in the order in which values are given.
    pub labels: &'static [MetricLabel],
    /// What it says, in a sentence.
    pub help: &'static str,
}

/// A label of a metric. No label comes from names or contents of submissions.
#[derive(Clone, Copy, Debug)]
pub struct MetricLabel {
    /// The name of the label.
    pub name: &'static str,
    /// All values, for the series that are present from the start; none if they are known later.
    pub values: fn() -> Vec<&'static str>,
}

/// How a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only increases.
    Counter,
    /// It has a value at each moment.
    Gauge,
    /// It counts values by size.
    Histogram,
}

/// What a metric counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things or events.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

/// A metric that only increases.
#[derive(Clone, Copy)]
pub(super) struct Counter(Metric);

/// A metric that has a value at each moment.
#[derive(Clone, Copy)]
pub(super) struct Gauge(Metric);

/// A metric that counts values by size.
#[derive(Clone, Copy)]
pub(super) struct Histogram(Metric);

impl Counter {
    /// Adds to the series without labels.
    pub(super) fn add(self, count: u64) {
        self.add_for([], count);
    }

    /// Adds to the series with these label values.
    pub(super) fn add_for<const N: usize>(self, values: [&'static str; N], count: u64) {
        counter!(self.0.name, self.0.labels_with(&values)).increment(count);
    }
}

impl Gauge {
    /// Sets the series without labels.
    pub(super) fn set(self, value: f64) {
        self.set_for([], value);
    }

    /// Sets the series with these label values.
    pub(super) fn set_for<const N: usize>(self, values: [&'static str; N], value: f64) {
        gauge!(self.0.name, self.0.labels_with(&values)).set(value);
    }
}

impl Histogram {
    /// Records a value in the series without labels.
    pub(super) fn record(self, value: f64) {
        self.record_for([], value);
    }

    /// Records a value in the series with these label values.
    pub(super) fn record_for<const N: usize>(self, values: [&'static str; N], value: f64) {
        histogram!(self.0.name, self.0.labels_with(&values)).record(value);
    }
}

impl Metric {
    /// The labels with these values, in the order of the table.
    pub(super) fn labels_with(&self, values: &[&'static str]) -> Vec<Label> {
        debug_assert_eq!(values.len(), self.labels.len(), "the labels of {}", self.name);
        let labels = self.labels.iter().zip(values);
        labels.map(|(label, value)| Label::from_static_parts(label.name, value)).collect()
    }

    /// The label values of every series that is present from the start.
    pub(super) fn series(&self) -> Vec<Vec<&'static str>> {
        self.labels.iter().fold(vec![Vec::new()], |series, label| {
            let values = (label.values)();
            let extended = |values: &[&'static str], value| [values, &[value]].concat();
            series
                .iter()
                .flat_map(|known| values.iter().map(|value| extended(known, *value)))
                .collect()
        })
    }
}

/// Makes a constant of each row, and the list of all.
macro_rules! table {
    ($($kind:ident $constant:ident, $name:literal, $unit:ident,
        [$($label:literal: $values:expr),*], $help:literal;)*) => {
        $(pub(super) const $constant: $kind = $kind(Metric {
            name: $name,
            kind: MetricKind::$kind,
            unit: Unit::$unit,
            labels: &[$(MetricLabel { name: $label, values: $values }),*],
            help: $help,
        });)*

        /// Every metric of gridmark. Those about the process itself (`process_...`) come from the
        /// recorder.
        pub const METRICS: &[Metric] = &[$($constant.0),*];
    };
}

table! {
    Gauge BUILD_INFO, "gridmark_build_info", Count, ["version": none, "kernel": none],
        "1, with the version and the kernel tier in use.";
    Gauge LIVE, "gridmark_live", Count, [],
        "1 if everything that has work makes progress.";
    Gauge READY, "gridmark_ready", Count, [],
        "1 if files are taken and graded.";
    Counter PANICS, "gridmark_panics_total", Count, [],
        "Panics, each of which is a bug.";
    Counter LOG_LINES_DROPPED, "gridmark_log_lines_dropped_total", Count, [],
        "Log lines that were dropped because standard error was not read.";
    Counter HTTP_ERRORS, "gridmark_http_errors_total", Count, [],
        "Connections that could not be accepted.";
    Counter PAGE_ERRORS, "gridmark_page_errors_total", Count, [],
        "Times that the page could not follow what happens.";
    Counter RELOADS, "gridmark_reloads_total", Count, ["result": reload_results],
        "Reloads of the settings, by result.";
    Gauge LAST_RELOAD_SUCCESSFUL, "gridmark_config_last_reload_successful", Count, [],
        "1 if the last reload of the settings succeeded.";
    Gauge LAST_RELOAD_TIME, "gridmark_config_last_reload_success_timestamp_seconds", Seconds, [],
        "Time of the last successful reload of the settings, in seconds since 1970.";
    Counter EVENT_TAKEOVERS, "gridmark_event_takeovers_total", Count, ["result": takeovers],
        "Changed event folders, by what became of them.";
    Counter EVENT_JUDGED_AGAIN, "gridmark_event_judged_again_total", Count, [],
        "Submissions that were judged again, since the event folder had changed while they were graded.";
    Counter EVENT_ERRORS, "gridmark_event_errors_total", Count, [],
        "Failures to judge submissions again, to write the files of the event, or to take decisions of staff.";
    Histogram EVENT_SCORING, "gridmark_event_scoring_seconds", Seconds, [],
        "Time to bring the standings up to date, each time that there may be something new.";
    Gauge EVENT_HELD, "gridmark_event_held", Count, [],
        "Submissions that wait for staff to say whose entry they are.";
    Gauge EVENT_DOUBTFUL, "gridmark_event_doubtful", Count, [],
        "Entries of which nobody knows for sure whether they were in time.";
    Gauge EVENT_PROTESTS, "gridmark_event_open_protests", Count, [],
        "Protests that are open.";
    Gauge EVENT_RULINGS, "gridmark_event_rulings", Count, [],
        "Rulings that are recorded.";
    Counter CODES_REFUSED, "gridmark_codes_refused_total", Count, ["secret": secrets, "why": code_refusals],
        "Codes and passphrases that were refused, by why.";
    Counter HAND_INS, "gridmark_hand_ins_total", Count, ["result": hand_in_results],
        "Files that were handed in on the page, by what became of them.";
    Gauge DISK_FREE, "gridmark_disk_free_bytes", Bytes, [],
        "Free bytes on the fullest disk that holds reports, archive or ledger.";
    Gauge DISK_FREE_MIN, "gridmark_disk_free_min_bytes", Bytes, [],
        "Files are taken only while at least this many bytes are free.";
    Gauge UNLOCKED_FOLDERS, "gridmark_unlocked_folders", Count, [],
        "Folders from which no lock keeps another service out.";

    Gauge WATCH_MODE, "gridmark_watch_mode", Count, ["mode": watch_modes],
        "1 for the way in which the inbox is observed.";
    Gauge WATCH_DEGRADED, "gridmark_watch_degraded", Count, [],
        "1 if the inbox is only scanned although it should be watched.";
    Counter WATCH_OVERFLOWS, "gridmark_watch_overflows_total", Count, [],
        "Times that watch events were lost.";
    Counter WATCH_ERRORS, "gridmark_watch_errors_total", Count, [],
        "Errors of the watcher.";
    Counter SCANS, "gridmark_scans_total", Count, ["reason": scan_reasons],
        "Scans of the inbox, by reason.";
    Histogram SCAN_SECONDS, "gridmark_scan_seconds", Seconds, [],
        "Duration of a complete scan of the inbox.";
    Counter SCANNED_FOLDERS, "gridmark_scanned_folders_total", Count, ["folder": folder_scans],
        "Folders that complete scans came by, by whether they were opened.";
    Counter SCAN_ERRORS, "gridmark_scan_errors_total", Count, [],
        "Folders of the inbox that could not be read.";
    Counter FOUND, "gridmark_found_total", Count, ["via": vias],
        "Files that were found, by how.";
    Gauge INBOX_FILES, "gridmark_inbox_files", Count, [],
        "Files known in the inbox and not taken yet.";
    Gauge IGNORED_FILES, "gridmark_ignored_files", Count, [],
        "Files and folders in the inbox that are ignored.";
    Counter CLAIMED, "gridmark_claimed_total", Count, [],
        "Files taken from the inbox.";
    Counter CLAIM_ERRORS, "gridmark_claim_errors_total", Count, [],
        "Failed tries to take a file.";
    Counter ARRIVALS_IN_DOUBT, "gridmark_arrivals_in_doubt_total", Count, ["doubt": doubts],
        "Files taken whose time of arrival is in doubt, by why.";
    Counter CLOCK_STEPS, "gridmark_clock_steps_total", Count, [],
        "Times that the clock was set.";
    Counter STILL_OPEN, "gridmark_still_open_total", Count, [],
        "Checks that left a settled file because a process had it open for writing.";
    Counter WRITERS_UNKNOWN, "gridmark_writers_unknown_total", Count, [],
        "Files taken although a process may have had them open for writing.";
    Counter PUT_BACK, "gridmark_put_back_total", Count, [],
        "Files returned to the inbox because they changed while they were read.";
    Counter PUT_BACK_ERRORS, "gridmark_put_back_errors_total", Count, [],
        "Failed tries to return a file to the inbox.";

    Gauge QUEUE_FILES, "gridmark_queue_files", Count, [],
        "Taken files that wait for grading.";
    Gauge QUEUE_BYTES, "gridmark_queue_bytes", Bytes, [],
        "Bytes that wait for grading.";
    Gauge IN_FLIGHT_FILES, "gridmark_in_flight_files", Count, [],
        "Files that are being graded or wait for their commit.";
    Gauge OLDEST_WAITING, "gridmark_oldest_waiting_seconds", Seconds, [],
        "Age of the oldest file that is ready and not graded.";
    Counter READ_BYTES, "gridmark_read_bytes_total", Bytes, [],
        "Bytes of submissions that were read.";
    Histogram BATCH_CASES, "gridmark_batch_cases", Count, [],
        "Cases in a batch or chunk.";
    Histogram GRADE_SECONDS, "gridmark_grade_seconds", Seconds, ["kind": kinds],
        "Time to grade a batch or chunk.";
    Counter TURNS, "gridmark_turns_total", Count, [],
        "Times that a large file gave way to the next one.";
    Counter GRADE_ERRORS, "gridmark_grade_errors_total", Count, [],
        "Failed tries to grade a submission.";
    Counter SUSPECTS, "gridmark_suspects_total", Count, [],
        "Submissions that were being graded when a process died.";
    Counter JOURNAL_ERRORS, "gridmark_journal_errors_total", Count, [],
        "Failed writes to the in-flight journal.";
    Gauge QUARANTINED_FILES, "gridmark_quarantined_files", Count, [],
        "Files in quarantine.";
    Counter QUARANTINE_ERRORS, "gridmark_quarantine_errors_total", Count, [],
        "Failed moves into quarantine.";

    Counter SUBMISSIONS, "gridmark_submissions_total", Count, ["status": statuses],
        "Committed submissions, by status.";
    Counter CASES, "gridmark_cases_total", Count, ["kind": kinds_or_unknown, "verdict": verdicts],
        "Committed cases, by kind and verdict.";
    Histogram LATENCY, "gridmark_latency_seconds", Seconds, [],
        "Time from ready to durable, for each submission.";
    Histogram COMMIT_SECONDS, "gridmark_commit_seconds", Seconds, [],
        "Duration of a group commit.";
    Counter COMMIT_ERRORS, "gridmark_commit_errors_total", Count, [],
        "Failed tries to commit marks.";
    Counter REPORT_BYTES, "gridmark_report_bytes_total", Bytes, [],
        "Bytes of reports that were made durable.";

    Counter RECOVERED_CLAIMS, "gridmark_recovered_claims_total", Count, [],
        "Submissions that an earlier run took and left to this one.";
    Counter REPORT_CUTS, "gridmark_report_cuts_total", Count, [],
        "Reports cut back to their committed length.";
    Gauge DAMAGED_REPORTS, "gridmark_damaged_reports", Count, [],
        "Reports that are to be rebuilt; meanwhile they lack new rows.";
    Counter REPORTS_SET_ASIDE, "gridmark_reports_set_aside_total", Count, [],
        "Reports that another program had changed and that were set aside.";
    Counter REPORTS_RESTORED, "gridmark_reports_restored_total", Count, [],
        "Reports that were rebuilt.";
    Counter REPORT_REBUILD_ERRORS, "gridmark_report_rebuild_errors_total", Count, [],
        "Failed tries to check or rebuild a report.";
    Counter REBUILD_ERRORS, "gridmark_rebuild_errors_total", Count, [],
        "Submissions whose rows could not be rebuilt.";
}

fn none() -> Vec<&'static str> {
    Vec::new()
}

fn kinds() -> Vec<&'static str> {
    Kind::ALL.map(Kind::word).to_vec()
}

fn kinds_or_unknown() -> Vec<&'static str> {
    [kinds(), vec![UNKNOWN_KIND]].concat()
}

fn verdicts() -> Vec<&'static str> {
    Verdict::ALL.map(Verdict::word).to_vec()
}

fn statuses() -> Vec<&'static str> {
    Status::ALL.map(Status::word).to_vec()
}

fn doubts() -> Vec<&'static str> {
    Doubt::ALL.map(Doubt::word).to_vec()
}

fn vias() -> Vec<&'static str> {
    Via::ALL.map(Via::word).to_vec()
}

fn scan_reasons() -> Vec<&'static str> {
    ScanReason::ALL.map(ScanReason::word).to_vec()
}

fn folder_scans() -> Vec<&'static str> {
    FolderScan::ALL.map(FolderScan::word).to_vec()
}

fn watch_modes() -> Vec<&'static str> {
    WatchMode::ALL.map(WatchMode::word).to_vec()
}

fn hand_in_results() -> Vec<&'static str> {
    HandInResult::ALL.map(HandInResult::word).to_vec()
}

fn secrets() -> Vec<&'static str> {
    Secret::ALL.map(Secret::word).to_vec()
}

fn code_refusals() -> Vec<&'static str> {
    CodeRefusal::ALL.map(CodeRefusal::word).to_vec()
}

fn takeovers() -> Vec<&'static str> {
    Takeover::ALL.map(Takeover::word).to_vec()
}

fn reload_results() -> Vec<&'static str> {
    ReloadResult::ALL.map(ReloadResult::word).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_follow_the_conventions_of_prometheus_and_are_distinct() {
        for metric in METRICS {
            let Metric { name, kind, unit, .. } = metric;
            assert!(name.starts_with("gridmark_"), "{name}");
            assert_eq!(name.ends_with("_total"), *kind == MetricKind::Counter, "{name}");
            let base = name.trim_end_matches("_total");
            assert_eq!(base.ends_with("_bytes"), *unit == Unit::Bytes, "{name}");
            assert_eq!(base.ends_with("_seconds"), *unit == Unit::Seconds, "{name}");
            assert!(metric.help.ends_with('.'), "{name}");
        }
        let names = METRICS.iter().map(|metric| metric.name).collect::<BTreeSet<_>>();
        assert_eq!(names.len(), METRICS.len());
    }

    #[test]
    fn series_are_all_combinations_of_label_values() {
        assert_eq!(LIVE.0.series(), [Vec::<&str>::new()]);
        assert_eq!(FOUND.0.series(), [["event"], ["scan"]]);
        assert_eq!(CASES.0.series().len(), (Kind::ALL.len() + 1) * Verdict::ALL.len());
        assert!(BUILD_INFO.0.series().is_empty());
    }
}
