//! The two sizes of boards.

/// How large a board is: 9 by 9 with boxes of 3 by 3, or 16 by 16 with boxes of 4 by 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// 81 cells, nine digits.
    Nine,
    /// 256 cells, sixteen digits.
    Sixteen,
}

impl Size {
    /// Cells of a row, of a column and of a box, and so the number of digits: 9 or 16.
    pub const fn side(self) -> usize {
        self.box_side() * self.box_side()
    }

    /// Cells of a row of a box: 3 or 4.
    pub const fn box_side(self) -> usize {
        match self {
            Size::Nine => 3,
            Size::Sixteen => 4,
        }
    }

    /// Cells of the board: 81 or 256.
    pub const fn cells(self) -> usize {
        self.side() * self.side()
    }
}
