//! gridmark grades sudoku.
//!
//! Data flows one way: intake, queue, grade, publish. The modules in reading order:
//!
//! The pure core, which knows no I/O, no clock and no threads:
//!
//! - [`board`]: what sudoku is: cells, houses, faults, marks.
//! - [`mod@format`]: what a file says: from bytes to cases.
//! - [`judge`]: what is right: from cases to marks.

pub mod board;
pub mod format;
pub mod judge;
