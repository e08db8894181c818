//! What the service reports about itself.
//!
//! - [`emit`]: every event: its log line and its metric, in one place.
//! - [`health`]: whether the service is alive and ready, and why not.
//! - [`log`]: log lines on standard error.
//! - [`metric`]: the table of all metrics.
//! - [`Recorder`]: collects and renders the metrics.

pub mod emit;
pub mod health;
pub mod log;
pub mod metric;
mod recorder;

pub use recorder::Recorder;
