//! Hexudoku: 32 boards side by side, one in each lane of 16 bits.

use super::super::prefetch::{LINE_BYTES, prefetch};
use super::LANES;
use super::lanes::{four, load, or, transpose};
use crate::board::Counted;
use alloc::vec::Vec;
use core::arch::x86_64::*;

/// Rows of a board, and cells of a row.
const SIDE: usize = 16;

/// A set of digits of each board, bit 0 for digit 0.
type Sets = __m512i;

/// Two cells of each board, a byte each: digits as numbers, and blanks as [`BLANK`].
type Pairs = __m512i;

/// A blank: a shift by this many bits leaves an empty set.
const BLANK: u8 = 16;

/// The bit of a cell that is neither a digit nor a blank.
const UNREADABLE: u8 = 0x80;

/// The cell that each byte of ASCII stands for.
const CELL_OF: [[u8; 64]; 2] = {
    let mut cells = [[UNREADABLE; 64]; 2];
    let mut digit = 0;
    while digit < 16 {
        if digit < 10 {
            cells[0][(b'0' + digit) as usize] = digit;
        } else {
            cells[1][(b'A' - 64 + digit - 10) as usize] = digit;
            cells[1][(b'a' - 64 + digit - 10) as usize] = digit;
        }
        digit += 1;
    }
    cells[0][b'-' as usize] = BLANK;
    cells
};

/// Appends the counts of each board, a batch at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512bitalg")]
pub(super) fn hexudoku<const BYTES: usize>(
    batches: &[[[u8; BYTES]; LANES]],
    counts: &mut Vec<Option<Counted>>,
) {
    const { assert!(BYTES >= 256 && BYTES.is_multiple_of(SIDE)) };
    let mut sets = [[_mm512_setzero_si512(); SIDE]; SIDE];
    for (i, boards) in batches.iter().enumerate() {
        // The next batch is prefetched in parts, while this one is read.
        let next = batches.get(i + 1).map_or(&[][..], |next| next.as_flattened());
        let mut next = next.chunks((BYTES * LANES / SIDE).next_multiple_of(LINE_BYTES));
        let mut seen = Found::nothing();
        let mut houses = Houses::empty();
        for (band, sets) in sets.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            for (row, sets) in sets.iter_mut().enumerate() {
                next.next().into_iter().for_each(prefetch);
                let pairs = seen.row(boards, (band * 4 + row) * (BYTES / SIDE));
                expand(&pairs, sets);
            }
            houses.add_band(band, sets);
        }
        let (blank, conflicts) = (words(seen.blank()), words(houses.conflicts()));
        let filled = words(houses.fill(&sets));
        let readable = seen.readable_boards();
        // An unreadable cell is filled although it was not a blank, so the counts of its board are
        // wrong; they are not used.
        counts.extend((0..LANES).map(|board| {
            (readable >> board & 1 == 1).then(|| Counted {
                filled: filled[board],
                blank: blank[board] - filled[board],
                conflicts: conflicts[board],
            })
        }));
    }
}

/// What is known of the boards of a batch from their text.
struct Found {
    /// The OR of all cells so far: 16 bytes of each of the boards `i`, `i + 8`, `i + 16` and
    /// `i + 24`.
    cells: [__m512i; 8],
    /// How many blanks of each board are in the even columns, and in the odd ones.
    blanks: __m512i,
}

impl Found {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn nothing() -> Found {
        Found { cells: [_mm512_setzero_si512(); 8], blanks: _mm512_setzero_si512() }
    }

    /// The cells of the rows that begin at byte `at` of each board, two a vector.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn row<const BYTES: usize>(
        &mut self,
        boards: &[[u8; BYTES]; LANES],
        at: usize,
    ) -> [Pairs; SIDE / 2] {
        let [low, high] = [load(&CELL_OF[0]), load(&CELL_OF[1])];
        let mut eighth = |i: usize| {
            let row = |board: usize| boards[board][at..].first_chunk().unwrap_or(&[0; 16]);
            let text = four([row(i), row(i + 8), row(i + 16), row(i + 24)]);
            let cells = _mm512_permutex2var_epi8(low, text, high);
            // A byte beyond ASCII takes the entry of another byte; its own top bit marks it.
            self.cells[i] = or(self.cells[i], cells, text);
            cells
        };
        let rows = [
            eighth(0),
            eighth(1),
            eighth(2),
            eighth(3),
            eighth(4),
            eighth(5),
            eighth(6),
            eighth(7),
        ];
        let pairs = transpose(rows);
        for pair in pairs {
            let blank = _mm512_and_si512(pair, _mm512_set1_epi8(BLANK as i8));
            self.blanks = _mm512_add_epi8(self.blanks, _mm512_srli_epi16::<4>(blank));
        }
        pairs
    }

    /// How many blanks there are in each board.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn blank(&self) -> __m512i {
        let even = _mm512_and_si512(self.blanks, _mm512_set1_epi16(0xFF));
        _mm512_add_epi16(even, _mm512_srli_epi16::<8>(self.blanks))
    }

    /// Which boards hold nothing but digits and blanks.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn readable_boards(&self) -> u32 {
        self.cells.iter().enumerate().fold(u32::MAX, |boards, (i, cells)| {
            let wrong = _mm512_movepi8_mask(*cells);
            (0..4).fold(boards, |boards, lane| {
                let is_wrong = u32::from(wrong >> (lane * 16) & 0xFFFF != 0);
                boards & !(is_wrong << (lane * 8 + i))
            })
        })
    }
}

/// The sets that hold the digit of each cell, and nothing for a blank.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn expand(pairs: &[Pairs; SIDE / 2], sets: &mut [Sets; SIDE]) {
    let one = _mm512_set1_epi16(1);
    for (pair, sets) in pairs.iter().zip(sets.as_chunks_mut::<2>().0) {
        let first = _mm512_and_si512(*pair, _mm512_set1_epi16(0xFF));
        let second = _mm512_srli_epi16::<8>(*pair);
        *sets = [_mm512_sllv_epi16(one, first), _mm512_sllv_epi16(one, second)];
    }
}

/// The digits of a house, as a set, and as the sum of the sets of its cells: a digit repeats
/// exactly if the two differ.
#[derive(Clone, Copy)]
struct House {
    set: Sets,
    /// Saturates at all ones rather than overflow, which the set can equal only if all 16 digits
    /// occur.
    sum: Sets,
}

impl House {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn of([a, b, c, d]: [Sets; 4]) -> House {
        let sum = |a, b| _mm512_adds_epu16(a, b);
        House { set: _mm512_or_si512(or(a, b, c), d), sum: sum(sum(a, b), sum(c, d)) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn and(self, other: House) -> House {
        House {
            set: _mm512_or_si512(self.set, other.set),
            sum: _mm512_adds_epu16(self.sum, other.sum),
        }
    }
}

struct Houses {
    rows: [Sets; SIDE],
    columns: [House; SIDE],
    boxes: [Sets; SIDE],
    /// How many rows and boxes hold some digit more than once.
    conflicts: __m512i,
}

impl Houses {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn empty() -> Houses {
        let zero = _mm512_setzero_si512();
        let (sets, columns) = ([zero; SIDE], [House { set: zero, sum: zero }; SIDE]);
        Houses { rows: sets, columns, boxes: sets, conflicts: zero }
    }

    /// Adds the digits of four rows.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn add_band(&mut self, band: usize, sets: &[[Sets; SIDE]; 4]) {
        let four = |row: usize, stack: usize| House::of(sets[row].as_chunks().0[stack]);
        let fours = |row| [four(row, 0), four(row, 1), four(row, 2), four(row, 3)];
        let mut in_boxes = fours(0);
        self.add_row(band * 4, in_boxes);
        for row in 1..4 {
            let fours = fours(row);
            self.add_row(band * 4 + row, fours);
            for (in_box, four) in in_boxes.iter_mut().zip(fours) {
                *in_box = in_box.and(four);
            }
        }
        for (stack, in_box) in in_boxes.into_iter().enumerate() {
            self.boxes[band * 4 + stack] = in_box.set;
            self.conflicts = count(self.conflicts, in_box);
        }
        for (column, house) in self.columns.iter_mut().enumerate() {
            *house = house.and(House::of(sets.map(|row| row[column])));
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn add_row(&mut self, row: usize, [a, b, c, d]: [House; 4]) {
        let in_row = a.and(b).and(c.and(d));
        self.rows[row] = in_row.set;
        self.conflicts = count(self.conflicts, in_row);
    }

    /// How many houses of each board hold some digit more than once.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn conflicts(&self) -> __m512i {
        self.columns.iter().fold(self.conflicts, |conflicts, house| count(conflicts, *house))
    }

    /// Fills the boards; returns how many cells are filled.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512bitalg")]
    fn fill(&mut self, sets: &[[Sets; SIDE]; SIDE]) -> __m512i {
        let mut filled = _mm512_setzero_si512();
        for (row, sets) in sets.iter().enumerate() {
            let given = self.rows[row];
            let mut in_row = given;
            let boxes = &mut self.boxes[row / 4 * 4..][..4];
            let columns = self.columns.as_chunks_mut::<4>().0;
            for ((in_box, columns), sets) in
                boxes.iter_mut().zip(columns).zip(sets.as_chunks::<4>().0)
            {
                let before = _mm512_or_si512(in_row, *in_box);
                let mut taken = before;
                for (column, set) in columns.iter_mut().zip(sets) {
                    let is_blank = _mm512_testn_epi16_mask(*set, *set);
                    let taken_here = _mm512_or_si512(taken, column.set);
                    // Adding one turns the lowest zero into a one. Zero if the cell is not a blank.
                    let next = _mm512_maskz_add_epi16(is_blank, taken_here, _mm512_set1_epi16(1));
                    taken = or_without(taken, next, taken_here);
                    column.set = or_without(column.set, next, taken_here);
                }
                let placed = _mm512_andnot_si512(before, taken);
                in_row = _mm512_or_si512(in_row, placed);
                *in_box = _mm512_or_si512(*in_box, placed);
            }
            let placed = _mm512_andnot_si512(given, in_row);
            filled = _mm512_add_epi16(filled, _mm512_popcnt_epi16(placed));
        }
        filled
    }
}

/// Adds one where the house holds some digit more than once.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn count(conflicts: __m512i, house: House) -> __m512i {
    let has_repeat = _mm512_cmpneq_epi16_mask(house.set, house.sum);
    _mm512_mask_add_epi16(conflicts, has_repeat, conflicts, _mm512_set1_epi16(1))
}

/// The digits in `a`, and those in `b` that are not in `c`.
#[inline]
#[target_feature(enable = "avx512f")]
fn or_without(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0xF4>(a, b, c)
}

/// The 32 numbers of 16 bits of a vector.
#[inline]
#[target_feature(enable = "avx512f")]
fn words(vector: __m512i) -> [u16; LANES] {
    let mut words = [0; LANES];
    let quarters = [
        _mm512_extracti32x4_epi32::<0>(vector),
        _mm512_extracti32x4_epi32::<1>(vector),
        _mm512_extracti32x4_epi32::<2>(vector),
        _mm512_extracti32x4_epi32::<3>(vector),
    ];
    for (words, quarter) in words.as_chunks_mut::<8>().0.iter_mut().zip(quarters) {
        let halves = [_mm_extract_epi64::<0>(quarter), _mm_extract_epi64::<1>(quarter)];
        *words = core::array::from_fn(|i| (halves[i / 4] >> (i % 4 * 16)) as u16);
    }
    words
}
