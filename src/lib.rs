//! gridmark grades sudoku.
//!
//! Data flows one way: intake, queue, grade, publish. The modules in reading order:
//!
//! The pure core, which knows no I/O, no clock and no threads:
//!
//! - [`board`]: what sudoku is: cells, houses, faults, marks.
//! - [`generate`]: work to grade whose right answers are known.

pub mod board;
pub mod generate;
