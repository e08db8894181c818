//! gridmark grades sudoku.
//!
//! Data flows one way: intake, queue, grade, publish. The modules in reading order:
//!
//! The pure core, which knows no I/O, no clock and no threads:
//!
//! - [`board`]: what sudoku is: cells, houses, faults, marks.
//! - [`mod@format`]: what a file says: from bytes to cases.
//! - [`judge`]: what is right: from cases to marks.
//! - [`generate`]: work to grade whose right answers are known.
//!
//! The surface:
//!
//! - [`config`]: settings from defaults, file, environment and flags, each with its origin.
//! - [`http`]: metrics and health on one address.
//! - [`log`]: what is told on standard error.
//! - [`cli`]: the commands that people type.

pub mod board;
pub mod cli;
pub mod config;
pub mod format;
pub mod generate;
pub mod http;
pub mod judge;
pub mod log;
