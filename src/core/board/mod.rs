//! What sudoku is, as far as grading needs it: kinds, cells and houses, faults, marks.
//!
//! Part of the pure core: no I/O, no clock, no threads, no serialization.

mod fault;
mod mark;
mod place;

pub use fault::{CageFault, Fault, Repeats};
pub use mark::{Counted, Mark, Unreadable, UnreadableCode, Verdict};
pub use place::{Cell, House, Kind, UnknownKind};

/// Cells of a grid with nine digits, in reading order.
pub const CELLS_9: usize = 81;
/// Cells of a hexudoku board, in reading order.
pub const CELLS_16: usize = 256;

/// A nine-digit grid as it was written: one byte of text a cell, in reading order.
///
/// The bytes are text (`b'1'` to `b'9'` where the cell holds a digit), not numbers, and may be
/// anything: a grid is what somebody wrote, not what is right.
pub type Grid = [u8; CELLS_9];
