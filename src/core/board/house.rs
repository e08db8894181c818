//! Houses: rows, columns and boxes.

use super::cell::write_number;
use super::size::Size;
use core::fmt::{self, Write};

/// A row, a column or a box; each is counted from 0, boxes in reading order.
///
/// The derived order is that of faults in a report: rows, then columns, then boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum House {
    /// The row with this number.
    Row(u8),
    /// The column with this number.
    Column(u8),
    /// The box with this number.
    Box(u8),
}

impl House {
    /// The 27 houses of a nine-digit grid: rows, columns, boxes.
    pub fn all_9() -> impl Iterator<Item = House> {
        (0..9).map(House::Row).chain((0..9).map(House::Column)).chain((0..9).map(House::Box))
    }

    /// The nine cells of this house on a nine-digit grid, as indices in reading order.
    ///
    /// ```
    /// use gridmark_core::board::House;
    /// assert_eq!(House::Box(1).cells_9(), [3, 4, 5, 12, 13, 14, 21, 22, 23]);
    /// ```
    pub fn cells_9(self) -> [usize; 9] {
        let number = match self {
            House::Row(row) => row,
            House::Column(column) => 9 + column,
            House::Box(number) => 18 + number,
        };
        HOUSES_9[usize::from(number)].map(usize::from)
    }

    /// The houses of a board of this size, 27 or 48: rows, columns, boxes.
    pub fn all(size: Size) -> impl Iterator<Item = House> {
        let numbers = move || 0..size.side() as u8;
        let rows = numbers().map(House::Row);
        rows.chain(numbers().map(House::Column)).chain(numbers().map(House::Box))
    }

    /// The cells of this house on a board of this size, as indices in reading order.
    ///
    /// ```
    /// use gridmark_core::board::{House, Size};
    /// assert_eq!(House::Box(1).cells(Size::Sixteen).skip(3).next(), Some(7));
    /// assert!(House::Box(1).cells(Size::Nine).eq(House::Box(1).cells_9()));
    /// ```
    pub fn cells(self, size: Size) -> impl Iterator<Item = usize> {
        let (side, in_box) = (size.side(), size.box_side());
        (0..side).map(move |place| match self {
            House::Row(row) => usize::from(row) * side + place,
            House::Column(column) => place * side + usize::from(column),
            House::Box(number) => {
                let number = usize::from(number);
                let row = number / in_box * in_box + place / in_box;
                row * side + number % in_box * in_box + place % in_box
            }
        })
    }
}

/// The cells of each house of a nine-digit grid, in the order of [`House::all_9`].
pub(crate) static HOUSES_9: [[u8; 9]; 27] = {
    let mut houses = [[0; 9]; 27];
    let mut i = 0;
    while i < 81 {
        let (row, column) = (i / 9, i % 9);
        houses[row][column] = i as u8;
        houses[9 + column][row] = i as u8;
        houses[18 + row / 3 * 3 + column / 3][row % 3 * 3 + column % 3] = i as u8;
        i += 1;
    }
    houses
};

impl fmt::Display for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, number) = match self {
            House::Row(number) => ("row", number),
            House::Column(number) => ("column", number),
            House::Box(number) => ("box", number),
        };
        f.write_str(word)?;
        f.write_char(' ')?;
        write_number(*number, f)
    }
}
