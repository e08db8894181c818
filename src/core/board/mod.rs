//! What sudoku is, as far as grading needs it: cells and houses, faults, marks.

mod alphabet;
mod cell;
pub(crate) mod cells;
mod character;
mod fault;
mod house;
mod mark;
mod size;

pub use alphabet::{Alphabet, UnknownAlphabet};
pub use cell::Cell;
pub(crate) use character::{Shown, name_of};
pub use fault::{CageFault, Difference, Fault, Found, InWords, Repeats, in_words};
pub(crate) use house::HOUSES_9;
pub use house::House;
pub use mark::{Counted, Mark, Unreadable, UnreadableCode, Verdict};
pub use size::Size;

/// Cells of a grid with nine digits, in reading order.
pub const CELLS_9: usize = 81;
/// Cells of a hexudoku board, in reading order.
pub const CELLS_16: usize = 256;

/// A nine-digit grid as it was written: one byte of text a cell, in reading order.
///
/// The bytes are text (`b'1'` to `b'9'` where the cell holds a digit), not numbers, and may be any
/// bytes: a grid may be correct or not.
pub type Grid = [u8; CELLS_9];
