//! The recorder behind the metrics: every series described, with its buckets, present at zero.

use super::{CASES_HISTOGRAM, ScanReason, Status, Via, WatchMode};
use gridmark_core::Kind;
use gridmark_core::board::Verdict;
use metrics::{
    Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;

/// What the metrics of this process are read from.
#[derive(Clone)]
pub struct Recorder {
    handle: PrometheusHandle,
    process: metrics_process::Collector,
}

impl Recorder {
    /// The recorder of this process, put in place by the first call.
    ///
    /// # Errors
    ///
    /// If another recorder is in place already.
    pub fn install() -> Result<Recorder, String> {
        static RECORDER: OnceLock<Result<Recorder, String>> = OnceLock::new();
        RECORDER.get_or_init(Recorder::new).clone()
    }

    fn new() -> Result<Recorder, String> {
        let recorder = PrometheusBuilder::new()
            .set_buckets(&SECONDS_BUCKETS)
            .and_then(|builder| {
                let cases = Matcher::Full(CASES_HISTOGRAM.to_owned());
                builder.set_buckets_for_metric(cases, &CASES_BUCKETS)
            })
            .map_err(|error| error.to_string())?
            .build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).map_err(|error| error.to_string())?;
        let process = metrics_process::Collector::default();
        process.describe();
        register();
        Ok(Recorder { handle, process })
    }

    /// All metrics, in the text format of Prometheus.
    pub fn render(&self) -> String {
        self.process.collect();
        self.handle.render()
    }

    /// Digests what was recorded; to be called now and then, so that memory stays bounded.
    pub fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}

/// Upper bounds of the buckets for durations, in seconds: 10 µs to 100 s.
const SECONDS_BUCKETS: [f64; 22] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.02,
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0,
];

/// Upper bounds of the buckets for the number of cases in a batch.
const CASES_BUCKETS: [f64; 10] =
    [1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0, 16_384.0, 65_536.0, 262_144.0];

const COUNTERS: [(&str, Unit, &str); 27] = [
    ("gridmark_read_bytes_total", Unit::Bytes, "Bytes of submissions that were read."),
    ("gridmark_report_bytes_total", Unit::Bytes, "Bytes of reports that were made durable."),
    ("gridmark_claimed_total", Unit::Count, "Files taken from the inbox."),
    ("gridmark_watch_overflows_total", Unit::Count, "Times that watch events were lost."),
    ("gridmark_watch_errors_total", Unit::Count, "Errors of the watcher."),
    ("gridmark_scan_errors_total", Unit::Count, "Folders of the inbox that could not be read."),
    ("gridmark_claim_errors_total", Unit::Count, "Files that could not be taken, by tries."),
    ("gridmark_still_open_total", Unit::Count, "Files left since they were open, by looks."),
    ("gridmark_writers_unknown_total", Unit::Count, "Files that may have been open for writing."),
    ("gridmark_put_back_total", Unit::Count, "Files put back because they changed while read."),
    ("gridmark_put_back_errors_total", Unit::Count, "Files that could not be put back, by tries."),
    ("gridmark_turns_total", Unit::Count, "Times that a large file made room for the next one."),
    ("gridmark_grade_errors_total", Unit::Count, "Failed tries to grade a submission."),
    ("gridmark_commit_errors_total", Unit::Count, "Failed tries to make marks durable."),
    ("gridmark_recovered_claims_total", Unit::Count, "Submissions taken up from an earlier run."),
    ("gridmark_suspects_total", Unit::Count, "Submissions over which a process died."),
    ("gridmark_under_way_errors_total", Unit::Count, "What is graded could not be written down."),
    ("gridmark_report_cuts_total", Unit::Count, "Reports cut back to their committed length."),
    ("gridmark_reports_set_aside_total", Unit::Count, "Reports that someone else had changed."),
    (
        "gridmark_rebuild_errors_total",
        Unit::Count,
        "Submissions whose rows could not be written anew.",
    ),
    ("gridmark_reports_restored_total", Unit::Count, "Reports that were written anew."),
    ("gridmark_quarantine_errors_total", Unit::Count, "Failed moves into quarantine."),
    ("gridmark_http_errors_total", Unit::Count, "Connections that could not be accepted."),
    ("gridmark_panics_total", Unit::Count, "Threads that panicked."),
    ("gridmark_submissions_total", Unit::Count, "Submissions by how they ended."),
    ("gridmark_cases_total", Unit::Count, "Cases by kind and verdict."),
    ("gridmark_reloads_total", Unit::Count, "Times that the settings were read anew."),
];

const GAUGES: [(&str, Unit, &str); 15] = [
    ("gridmark_ready", Unit::Count, "1 if files are taken and graded."),
    ("gridmark_live", Unit::Count, "1 if whatever has work gets on with it."),
    ("gridmark_inbox_files", Unit::Count, "Files seen in the inbox and not taken yet."),
    ("gridmark_queue_files", Unit::Count, "Files that were taken and wait to be graded."),
    ("gridmark_queue_bytes", Unit::Bytes, "Bytes of work that wait to be graded."),
    ("gridmark_in_flight_files", Unit::Count, "Files being graded or waiting for their commit."),
    (
        "gridmark_oldest_waiting_seconds",
        Unit::Seconds,
        "Age of the oldest file that is ready and not yet graded.",
    ),
    ("gridmark_ignored_files", Unit::Count, "Things in the inbox that are left alone."),
    ("gridmark_quarantined_files", Unit::Count, "Files in quarantine."),
    ("gridmark_disk_free_bytes", Unit::Bytes, "Free bytes where reports, archive and ledger lie."),
    (
        "gridmark_config_last_reload_successful",
        Unit::Count,
        "1 if the settings were right when they were read last.",
    ),
    (
        "gridmark_config_last_reload_success_timestamp_seconds",
        Unit::Seconds,
        "When settings that were right were read last, since 1970.",
    ),
    (
        "gridmark_disk_free_min_bytes",
        Unit::Bytes,
        "With fewer free bytes than that no files are taken.",
    ),
    (
        "gridmark_watch_degraded",
        Unit::Count,
        "1 if the inbox is scanned though it should be watched.",
    ),
    ("gridmark_watch_mode", Unit::Count, "1 for the way in which the inbox is observed."),
];

const HISTOGRAMS: [(&str, Unit, &str); 5] = [
    (CASES_HISTOGRAM, Unit::Count, "Cases in a batch or chunk."),
    ("gridmark_grade_seconds", Unit::Seconds, "Time to grade a batch or chunk."),
    ("gridmark_latency_seconds", Unit::Seconds, "Time from ready to durable, a submission."),
    ("gridmark_commit_seconds", Unit::Seconds, "Time of a group commit."),
    ("gridmark_scan_seconds", Unit::Seconds, "Time of a whole scan of the inbox."),
];

/// Describes every series and makes it present at zero.
fn register() {
    for (name, unit, help) in COUNTERS {
        describe_counter!(name, unit, help);
    }
    for (name, unit, help) in GAUGES {
        describe_gauge!(name, unit, help);
    }
    for (name, unit, help) in HISTOGRAMS {
        describe_histogram!(name, unit, help);
    }
    describe_counter!("gridmark_found_total", "Files found, by what found them.");
    describe_counter!("gridmark_scans_total", "Scans of the inbox, by reason.");
    describe_gauge!("gridmark_build_info", "1, with the version and the kernel tier in use.");
    let labelled = ["gridmark_submissions_total", "gridmark_cases_total", "gridmark_reloads_total"];
    for (name, ..) in COUNTERS.into_iter().filter(|(name, ..)| !labelled.contains(name)) {
        counter!(name).absolute(0);
    }
    for (name, ..) in GAUGES.into_iter().filter(|(name, ..)| *name != "gridmark_watch_mode") {
        gauge!(name).set(0.0);
    }
    for status in Status::ALL {
        counter!("gridmark_submissions_total", "status" => status.word()).absolute(0);
    }
    for kind in Kind::ALL.map(Kind::word).into_iter().chain(["unknown"]) {
        for verdict in Verdict::ALL {
            counter!("gridmark_cases_total", "kind" => kind, "verdict" => verdict.word())
                .absolute(0);
        }
    }
    for via in [Via::Event, Via::Scan] {
        counter!("gridmark_found_total", "via" => via.word()).absolute(0);
    }
    for result in super::reload::RESULTS {
        counter!("gridmark_reloads_total", "result" => result).absolute(0);
    }
    for reason in ScanReason::ALL {
        counter!("gridmark_scans_total", "reason" => reason.word()).absolute(0);
    }
    for mode in WatchMode::ALL {
        gauge!("gridmark_watch_mode", "mode" => mode.word()).set(0.0);
    }
    // A histogram is there as soon as a handle to it is.
    for (name, ..) in HISTOGRAMS.into_iter().filter(|(name, ..)| *name != "gridmark_grade_seconds")
    {
        let _ = histogram!(name);
    }
    for kind in Kind::ALL {
        let _ = histogram!("gridmark_grade_seconds", "kind" => kind.word());
    }
}
