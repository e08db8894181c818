//! gridmark grades sudoku.
//!
//! The rooms, from the ground up; each may use those above it in this list and no others:
//!
//! - `gridmark_core`, a crate of its own: boards, formats, judges, generated cases.
//! - [`model`]: the words that all rooms share.
//! - [`config`]: settings, each with where it came from.
//! - [`telemetry`]: every event with its log line and its metric; health.
//! - [`store`]: what lasts: ledger, archive, reports.
//! - [`pipeline`]: the stages: intake, queue, grading, publish.
//! - [`service`]: builds, wires, runs and drains the stages; HTTP for machines.
//! - [`audit`]: whether all of it agrees: verify, backup, doctor.
//! - [`cli`]: the commands that people type.

pub mod audit;
pub mod cli;
pub mod config;
pub mod model;
pub mod pipeline;
pub mod service;
pub mod store;
pub mod telemetry;
