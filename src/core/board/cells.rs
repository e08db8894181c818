//! Sets of cells of a nine-digit grid.

use super::CELLS_9;

/// A set of cells of a nine-digit grid: one bit a cell, in reading order from bit 0.
pub(crate) type Cells = u128;

/// All cells.
pub(crate) const ALL: Cells = (1 << CELLS_9) - 1;

/// The cells of a set, in reading order.
pub(crate) fn each(cells: Cells) -> impl Iterator<Item = usize> {
    let mut left = cells;
    core::iter::from_fn(move || {
        let cell = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (cell < CELLS_9).then_some(cell)
    })
}
