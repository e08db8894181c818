//! From the text of a drawing to a byte for each cell.

use super::load;
use crate::board::CELLS_9;
use crate::format::killer::LF_BYTES;
use core::arch::x86_64::*;

/// The cells of a drawing, a byte each: the digit in the lower four bits, and the walls [`RIGHT`]
/// and [`BELOW`]. The first column comes last, since its text is read separately.
///
/// ```text
///     cell a of r1c2 to r1c5, b of r2c2 to r2c5, ...      cell a of r1c6 to r1c9, ...
/// [0] aaaabbbb ccccdddd                                   aaaabbbb ccccdddd       rows 1 to 4
/// [1] the same                                                                    rows 5 to 8
/// [2] i159i---i269i---                                    i379i---i48-i---        row 9: i
/// ```
///
/// In `[2]`, a digit `n` stands for the first cell of row `n`.
pub(super) type Cells = [__m256i; 3];

/// Set if a wall is between this cell and the next.
pub(super) const RIGHT: i8 = 0x40;

/// Set if a wall is between this cell and the one below.
pub(super) const BELOW: i8 = 0x20;

/// The cell that each byte of [`Cells`] stands for, 16 at a time; some stand for none.
pub(super) const CELL_OF: [[Option<u8>; 16]; 6] = {
    let mut cells = [[None; 16]; 6];
    let mut cell = 0;
    while cell < CELLS_9 {
        let (row, column) = (cell / 9, cell % 9);
        let place = match (row, column) {
            (8, 0) => 64 + 3,
            (_, 0) => 64 + row % 4 * 8 + row / 4 + 1,
            (8, _) => 64 + (column - 1) * 4,
            _ => row / 4 * 32 + (column - 1) / 4 * 16 + row % 4 * 4 + (column - 1) % 4,
        };
        cells[place / 16][place % 16] = Some(cell as u8);
        cell += 1;
    }
    cells
};

/// Bytes of two lines, a border and a row.
const TWO_LINES: usize = 76;

/// Bytes of the top border before the first part.
const TOP: usize = 36;

/// One of the nine parts of a drawing: the end of a border, a row, and the next border without its
/// end.
///
/// ```text
/// +.| 1   2 ...  9 |.+---+--- ... +---
/// head    row        edge, border
/// ```
struct Part<'a> {
    head: &'a [u8; 8],
    row: &'a [u8; 32],
    /// The border below the first two cells.
    edge: &'a [u8; 8],
    border: &'a [u8; 32],
}

impl<'a> Part<'a> {
    #[inline]
    fn new(text: &'a [u8; TWO_LINES]) -> Option<Part<'a>> {
        let head = text.first_chunk()?;
        let row = text[8..].first_chunk()?;
        let edge = text[40..].first_chunk()?;
        let border = text[44..].first_chunk()?;
        Some(Part { head, row, edge, border })
    }
}

/// The cells of a drawing whose lines end in LF; `None` if anything in it is wrong, or if a cell is
/// not a digit. (Some bytes that are not digits pass as a digit that no house allows.)
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn read(text: &[u8; LF_BYTES]) -> Option<Cells> {
    let parts = text[TOP..].as_chunks::<TWO_LINES>().0.first_chunk::<9>()?;
    let mut reading = Reading { right: _mm256_set1_epi8(-1) };
    reading.top(text.first_chunk()?, text[TOP - 8..].first_chunk()?);
    let part = |row: usize| Part::new(&parts[row]);
    let rows = [part(0)?, part(1)?, part(2)?, part(3)?, part(4)?, part(5)?, part(6)?, part(7)?];
    let last = part(8)?;
    let [a, b, c, d, e, f, g, h] = rows;
    let first_rows = reading.four([&a, &b, &c, &d]);
    let next_rows = reading.four([&e, &f, &g, &h]);
    let last_row = reading.row(&last, wall());
    let firsts = reading.firsts([&a, &b, &c, &d], open());
    let nexts = reading.firsts([&e, &f, &g, &h], open());
    let lasts = reading.firsts([&last, &last, &last, &last], wall());
    // Each cell is in the lowest byte of its number.
    let firsts = _mm256_or_si256(
        _mm256_slli_epi64::<8>(firsts),
        _mm256_or_si256(_mm256_slli_epi64::<16>(nexts), _mm256_slli_epi64::<24>(lasts)),
    );
    let is_right = _mm256_movemask_epi8(reading.right) == -1 && text.ends_with(b"+\n");
    is_right.then(|| [first_rows, next_rows, _mm256_or_si256(last_row, firsts)])
}

/// The border below a cell, where a wall is.
#[inline]
#[target_feature(enable = "avx2")]
fn wall() -> __m256i {
    _mm256_set1_epi32(i32::from_le_bytes(*b"+---"))
}

/// The border below a cell, where no wall is.
#[inline]
#[target_feature(enable = "avx2")]
fn open() -> __m256i {
    _mm256_set1_epi32(i32::from_le_bytes(*b"+   "))
}

struct Reading {
    /// All ones as long as everything is correct.
    right: __m256i,
}

impl Reading {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn is_right(&mut self, right: __m256i) {
        self.right = _mm256_and_si256(self.right, right);
    }

    /// Checks the top border: its first 32 bytes, and the eight before the first part.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn top(&mut self, first: &[u8; 32], last: &[u8; 8]) {
        self.is_right(_mm256_cmpeq_epi32(load(first), wall()));
        let last = _mm256_set1_epi64x(i64::from_le_bytes(*last));
        self.is_right(_mm256_cmpeq_epi32(last, wall()));
    }

    /// The cells of a row without the first, each in the lowest byte of a number. The border below
    /// each is a wall or `open`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn row(&mut self, part: &Part, open: __m256i) -> __m256i {
        let cell = |wall: u8| i32::from_le_bytes([b'0', b' ', wall, b' ']);
        let [wall_right, open_right] = [cell(b'|'), cell(b' ')];
        let last = i32::from_le_bytes(*b"0 |\n");
        let w = wall_right;
        let walls = _mm256_setr_epi32(w, w, w, w, w, w, w, last);
        let o = open_right;
        let opens = _mm256_setr_epi32(o, o, o, o, o, o, o, last);
        let row = load(part.row);
        let text = _mm256_and_si256(row, _mm256_set1_epi32(-1 ^ 0x0F));
        let right = _mm256_cmpeq_epi32(text, walls);
        self.is_right(_mm256_or_si256(right, _mm256_cmpeq_epi32(text, opens)));
        let border = load(part.border);
        let below = _mm256_cmpeq_epi32(border, wall());
        self.is_right(_mm256_or_si256(below, _mm256_cmpeq_epi32(border, open)));
        let digits = _mm256_and_si256(row, _mm256_set1_epi32(0x0F));
        let right = _mm256_and_si256(right, _mm256_set1_epi32(RIGHT.into()));
        let below = _mm256_and_si256(below, _mm256_set1_epi32(BELOW.into()));
        _mm256_or_si256(digits, _mm256_or_si256(right, below))
    }

    /// The cells of four rows without the first of each.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn four(&mut self, [a, b, c, d]: [&Part; 4]) -> __m256i {
        let first = _mm256_packus_epi32(self.row(a, open()), self.row(b, open()));
        let last = _mm256_packus_epi32(self.row(c, open()), self.row(d, open()));
        _mm256_packus_epi16(first, last)
    }

    /// The first cells of four rows, each in the lowest byte of a number.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn firsts(&mut self, [a, b, c, d]: [&Part; 4], open: __m256i) -> __m256i {
        let four = |[a, b, c, d]: [&[u8; 8]; 4]| {
            let [a, b, c, d] = [a, b, c, d].map(|bytes| i64::from_le_bytes(*bytes));
            _mm256_setr_epi64x(a, b, c, d)
        };
        let heads = four([a.head, b.head, c.head, d.head]);
        let edges = four([a.edge, b.edge, c.edge, d.edge]);
        let text = _mm256_and_si256(heads, _mm256_set1_epi64x(-1 ^ 0x0F << 32));
        let head = |text: &[u8; 8]| _mm256_set1_epi64x(i64::from_le_bytes(*text));
        let right = _mm256_cmpeq_epi64(text, head(b"+\n| 0 | "));
        self.is_right(_mm256_or_si256(right, _mm256_cmpeq_epi64(text, head(b"+\n| 0   "))));
        let below = _mm256_cmpeq_epi32(edges, wall());
        self.is_right(_mm256_or_si256(below, _mm256_cmpeq_epi32(edges, open)));
        let digits = _mm256_and_si256(_mm256_srli_epi64::<32>(heads), _mm256_set1_epi64x(0x0F));
        let right = _mm256_and_si256(right, _mm256_set1_epi64x(RIGHT.into()));
        let below = _mm256_and_si256(below, _mm256_set1_epi64x(BELOW.into()));
        _mm256_or_si256(digits, _mm256_or_si256(right, below))
    }
}
