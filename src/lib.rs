//! gridmark grades sudoku.
//!
//! Data flows one way: intake, queue, grade, publish. The modules in reading order:
//!
//! The pure core, which knows no I/O, no clock and no threads:
//!
//! - [`board`]: what sudoku is: cells, houses, faults, marks.

pub mod board;
