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

/// A reason without its numbers, such as free bytes, which change all the time.
fn without_numbers(reason: &str) -> String {
    reason.replace(|letter: char| letter.is_ascii_digit(), "")
}
