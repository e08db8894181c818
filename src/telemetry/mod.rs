//! What the service says of itself.
//!
//! - [`emit`]: every event: its log line and its metric, once.
//! - [`health`]: whether the service is alive and ready, and why not.
//! - [`log`]: log lines on standard error.

pub mod emit;
pub mod health;
pub mod log;
