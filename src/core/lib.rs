//! The core of gridmark: what sudoku is, what a file says, and what is right.
//!
//! - [`board`]: cells, houses, faults and marks.
//! - [`mod@format`]: from bytes to cases.
//! - [`judge`]: from cases to marks.
//! - [`generate`]: cases whose right answers are known.
//!
//! Each module may use those above it. Nothing here does I/O, reads a clock or starts a thread: the
//! crate is `no_std`, so the compiler keeps it so. One private module asks the processor what it can
//! do, which only the standard library knows.

#![no_std]

extern crate alloc;

pub mod board;
mod cpu;
pub mod format;
pub mod generate;
pub mod judge;
