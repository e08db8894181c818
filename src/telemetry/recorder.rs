//! The recorder behind the metrics: describes every series, sets it to zero, and renders all of them.

use super::metric::{METRICS, Metric, MetricKind, Unit};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;

/// Renders the metrics of this process.
#[derive(Clone)]
pub struct Recorder {
    handle: PrometheusHandle,
    process: metrics_process::Collector,
}

impl Recorder {
    /// The recorder of this process, installed by the first call.
    ///
    /// # Errors
    ///
    /// Another recorder is installed; as a message.
    pub fn install() -> Result<Recorder, String> {
        static RECORDER: OnceLock<Result<Recorder, String>> = OnceLock::new();
        RECORDER.get_or_init(Recorder::new).clone()
    }

    fn new() -> Result<Recorder, String> {
        let mut builder = PrometheusBuilder::new()
            .set_buckets(&SECONDS_BUCKETS)
            .map_err(|error| error.to_string())?;
        let of_counts =
            |metric: &&Metric| metric.kind == MetricKind::Histogram && metric.unit == Unit::Count;
        for metric in METRICS.iter().filter(of_counts) {
            builder = builder
                .set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), &COUNT_BUCKETS)
                .map_err(|error| error.to_string())?;
        }
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).map_err(|error| error.to_string())?;
        let process = metrics_process::Collector::default();
        process.describe();
        METRICS.iter().for_each(register);
        Ok(Recorder { handle, process })
    }

    /// All metrics, in the text format of Prometheus.
    pub fn render(&self) -> String {
        self.process.collect();
        self.handle.render()
    }

    /// Compacts recorded values; must be called from time to time to keep memory bounded.
    pub fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}

/// Upper bounds of the buckets for durations, in seconds: 10 µs to 100 s.
const SECONDS_BUCKETS: [f64; 22] = [
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.02,
    0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0,
];

/// Upper bounds of the buckets for counts.
const COUNT_BUCKETS: [f64; 10] =
    [1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0, 16_384.0, 65_536.0, 262_144.0];

/// Describes a metric and sets its series to zero.
fn register(metric: &Metric) {
    let Metric { name, help, .. } = *metric;
    let unit = match metric.unit {
        Unit::Count => metrics::Unit::Count,
        Unit::Bytes => metrics::Unit::Bytes,
        Unit::Seconds => metrics::Unit::Seconds,
    };
    match metric.kind {
        MetricKind::Counter => describe_counter!(name, unit, help),
        MetricKind::Gauge => describe_gauge!(name, unit, help),
        MetricKind::Histogram => describe_histogram!(name, unit, help),
    }
    for values in metric.series() {
        let labels = metric.labels_with(&values);
        match metric.kind {
            MetricKind::Counter => counter!(name, labels).absolute(0),
            MetricKind::Gauge => gauge!(name, labels).set(0.0),
            // A histogram is present as soon as it has a handle.
            MetricKind::Histogram => drop(histogram!(name, labels)),
        }
    }
}
