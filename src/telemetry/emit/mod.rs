//! Every event of the service: its log line and its metric, in one place.
//!
//! A room that has something to report calls a function here; how the event is logged and counted is
//! decided here alone. An event that repeats is counted each time and logged once a minute. Names and
//! contents of submissions appear in log lines and never in labels.
//!
//! The functions are grouped by the part of the service that they are about. Each part has a log
//! target, so that `log.level` can set a level for it: `info,gridmark::intake=debug`.

mod access;
mod event;
mod grading;
mod intake;
mod labels;
mod publish;
mod repeats;
mod service;
mod store;

pub use access::*;
pub use event::*;
pub use grading::*;
pub use intake::*;
pub use labels::{CodeRefusal, HandInResult, ScanReason, Secret, Via, WatchMode};
pub(super) use labels::{FolderScan, ReloadResult, Takeover};
pub use publish::*;
pub use service::*;
pub use store::*;

/// The value of a gauge that says yes or no.
const fn yes_or_no(is_so: bool) -> f64 {
    if is_so { 1.0 } else { 0.0 }
}
