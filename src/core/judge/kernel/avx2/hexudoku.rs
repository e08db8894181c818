//! Hexudoku: 32 boards side by side, one in each lane.

use super::super::prefetch::{LINE_BYTES, prefetch};
use super::LANES;
use super::lanes::{join, table, transpose, words};
use crate::board::Counted;
use crate::format::hexudoku::SIDE;
use alloc::vec::Vec;
use core::arch::x86_64::*;

/// Cells of a band, of four rows.
const BAND: usize = 4 * SIDE;

/// A set of digits of each board, bit 0 for digit 0: of boards 0 to 7 and 16 to 23 of a batch in
/// the first vector, of the others in the second.
type Sets = [__m256i; 2];

/// One cell of each board of a batch: digits as numbers, blanks with the top bit set.
type Cells = __m256i;

/// Appends the counts of each board, a batch at a time.
#[target_feature(enable = "avx2")]
pub(super) fn hexudoku<const BYTES: usize>(
    batches: &[[[u8; BYTES]; LANES]],
    counts: &mut Vec<Option<Counted>>,
) {
    const { assert!(BYTES >= 256 && BYTES.is_multiple_of(SIDE)) };
    let mut sets = [[_mm256_setzero_si256(); 2]; SIDE * SIDE];
    for (i, boards) in batches.iter().enumerate() {
        // The next batch is prefetched in parts, while this one is read.
        let next = batches.get(i + 1).map_or(&[][..], |next| next.as_flattened());
        let mut next = next.chunks((BYTES * LANES / SIDE).next_multiple_of(LINE_BYTES));
        let mut readable = [_mm256_set1_epi8(-1); SIDE];
        let mut houses = Houses::empty();
        for (band, sets) in sets.as_chunks_mut::<BAND>().0.iter_mut().enumerate() {
            for (row, sets) in sets.as_chunks_mut::<SIDE>().0.iter_mut().enumerate() {
                next.next().into_iter().for_each(prefetch);
                let cells = read_row(boards, (band * 4 + row) * (BYTES / SIDE), &mut readable);
                expand(&cells, sets);
            }
            houses.add_band(band, sets);
        }
        let conflicts = houses.conflicts();
        let [filled, blank] = houses.fill(&sets);
        let readable = readable_boards(&readable);
        counts.extend((0..LANES).map(|board| {
            let (half, lane) = (board % 16 / 8, board / 16 * 8 + board % 8);
            (readable >> board & 1 == 1).then_some(Counted {
                filled: filled[half][lane],
                blank: blank[half][lane] - filled[half][lane],
                conflicts: conflicts[half][lane],
            })
        }));
    }
}

/// The cells of the rows that begin at byte `at` of each board.
#[inline]
#[target_feature(enable = "avx2")]
fn read_row<const BYTES: usize>(
    boards: &[[u8; BYTES]; LANES],
    at: usize,
    readable: &mut [__m256i; SIDE],
) -> [Cells; SIDE] {
    let mut two = |i: usize| {
        let [low, high] = [&boards[i], &boards[i + 16]].map(|board| board[at..].first_chunk());
        let text = join(low.unwrap_or(&[0; 16]), high.unwrap_or(&[0; 16]));
        read(text, &mut readable[i])
    };
    let first = [two(0), two(1), two(2), two(3), two(4), two(5), two(6), two(7)];
    transpose(first, [two(8), two(9), two(10), two(11), two(12), two(13), two(14), two(15)])
}

/// The cells that bytes of text stand for; a byte of `readable` becomes zero where it stands for
/// none.
#[inline]
#[target_feature(enable = "avx2")]
fn read(text: __m256i, readable: &mut __m256i) -> Cells {
    // A byte is allowed if the table entries of its two halves have a bit in common: 1 for `0` to
    // `9`, 2 for a letter, 4 for `-`.
    let low_half = table([1, 3, 3, 3, 3, 3, 3, 1, 1, 1, 0, 0, 0, 4, 0, 0]);
    let high_half = table([0, 0, 4, 1, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let to_number = table([0, 0, 0x60, -0x30, -0x37, 0, -0x57, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let high = _mm256_and_si256(_mm256_srli_epi16(text, 4), _mm256_set1_epi8(15));
    let right =
        _mm256_and_si256(_mm256_shuffle_epi8(low_half, text), _mm256_shuffle_epi8(high_half, high));
    *readable = _mm256_min_epu8(*readable, right);
    _mm256_add_epi8(text, _mm256_shuffle_epi8(to_number, high))
}

/// Which boards have no zero in `readable`, whose vector `i` is for the boards `i` and `i + 16`.
#[inline]
#[target_feature(enable = "avx2")]
fn readable_boards(readable: &[__m256i; SIDE]) -> u32 {
    readable.iter().enumerate().fold(u32::MAX, |boards, (i, rows)| {
        let wrong = _mm256_cmpeq_epi8(*rows, _mm256_setzero_si256());
        let wrong = _mm256_movemask_epi8(wrong) as u32;
        let (low, high) = (u32::from(wrong & 0xFFFF != 0), u32::from(wrong >> 16 != 0));
        boards & !(low << i | high << (i + 16))
    })
}

/// The sets that hold the digit of each cell, and nothing for a blank.
#[inline]
#[target_feature(enable = "avx2")]
fn expand(cells: &[Cells; SIDE], sets: &mut [Sets; SIDE]) {
    let low = table([1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0]);
    let high = table([0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, -128]);
    for (sets, cells) in sets.iter_mut().zip(cells) {
        let (low, high) = (_mm256_shuffle_epi8(low, *cells), _mm256_shuffle_epi8(high, *cells));
        *sets = [_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)];
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
    #[target_feature(enable = "avx2")]
    fn and(self, other: House) -> House {
        let sum = |i: usize| _mm256_adds_epu16(self.sum[i], other.sum[i]);
        House { set: or(self.set, other.set), sum: [sum(0), sum(1)] }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn or(a: Sets, b: Sets) -> Sets {
    [_mm256_or_si256(a[0], b[0]), _mm256_or_si256(a[1], b[1])]
}

/// The digits in `b` that are not in `a`.
#[inline]
#[target_feature(enable = "avx2")]
fn without(b: Sets, a: Sets) -> Sets {
    [_mm256_andnot_si256(a[0], b[0]), _mm256_andnot_si256(a[1], b[1])]
}

struct Houses {
    rows: [House; SIDE],
    columns: [House; SIDE],
    boxes: [House; SIDE],
}

impl Houses {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn empty() -> Houses {
        let zero = [_mm256_setzero_si256(); 2];
        let empty = [House { set: zero, sum: zero }; SIDE];
        Houses { rows: empty, columns: empty, boxes: empty }
    }

    /// Adds the digits of four rows.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_band(&mut self, band: usize, sets: &[Sets; BAND]) {
        let house = |cell: usize| House { set: sets[cell], sum: sets[cell] };
        let four = |cell: usize, step: usize| {
            let [first, second] = [cell, cell + 2 * step];
            house(first).and(house(first + step)).and(house(second).and(house(second + step)))
        };
        for row in 0..4 {
            for stack in 0..4 {
                let cells = four(row * SIDE + stack * 4, 1);
                let (in_row, in_box) = (band * 4 + row, band * 4 + stack);
                self.rows[in_row] = self.rows[in_row].and(cells);
                self.boxes[in_box] = self.boxes[in_box].and(cells);
            }
        }
        for (column, house) in self.columns.iter_mut().enumerate() {
            *house = house.and(four(column, SIDE));
        }
    }

    /// How many houses of each board hold some digit more than once.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn conflicts(&self) -> [[u16; 16]; 2] {
        let mut conflicts = [_mm256_set1_epi16(3 * SIDE as i16); 2];
        for house in self.rows.iter().chain(&self.columns).chain(&self.boxes) {
            for (conflicts, (set, sum)) in
                conflicts.iter_mut().zip(house.set.iter().zip(&house.sum))
            {
                *conflicts = _mm256_add_epi16(*conflicts, _mm256_cmpeq_epi16(*set, *sum));
            }
        }
        [words(conflicts[0]), words(conflicts[1])]
    }

    /// Fills the boards; returns how many cells are filled, and how many were blank before.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn fill(&mut self, sets: &[Sets; SIDE * SIDE]) -> [[[u16; 16]; 2]; 2] {
        let zero = _mm256_setzero_si256();
        let (mut filled, mut blank) = ([zero; 2], [zero; 2]);
        for (row, sets) in sets.as_chunks::<SIDE>().0.iter().enumerate() {
            let given = self.rows[row].set;
            let mut in_row = given;
            let boxes = &mut self.boxes[row / 4 * 4..][..4];
            let columns = self.columns.as_chunks_mut::<4>().0;
            for ((in_box, columns), sets) in
                boxes.iter_mut().zip(columns).zip(sets.as_chunks::<4>().0)
            {
                let before = or(in_row, in_box.set);
                let mut taken = before;
                for (column, sets) in columns.iter_mut().zip(sets) {
                    for half in 0..2 {
                        let is_blank = _mm256_cmpeq_epi16(sets[half], zero);
                        let taken_here = _mm256_or_si256(taken[half], column.set[half]);
                        let open = _mm256_andnot_si256(taken_here, is_blank);
                        let placed = _mm256_and_si256(open, _mm256_sub_epi16(zero, open));
                        taken[half] = _mm256_or_si256(taken[half], placed);
                        column.set[half] = _mm256_or_si256(column.set[half], placed);
                        blank[half] = _mm256_sub_epi16(blank[half], is_blank);
                    }
                }
                let placed = without(taken, before);
                in_row = or(in_row, placed);
                in_box.set = or(in_box.set, placed);
            }
            for (filled, placed) in filled.iter_mut().zip(without(in_row, given)) {
                *filled = _mm256_add_epi16(*filled, count_bits(placed));
            }
        }
        [[words(filled[0]), words(filled[1])], [words(blank[0]), words(blank[1])]]
    }
}

/// How many bits are set in each 16.
#[inline]
#[target_feature(enable = "avx2")]
fn count_bits(sets: __m256i) -> __m256i {
    let bits = table([0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4]);
    let low = _mm256_and_si256(sets, _mm256_set1_epi8(15));
    let high = _mm256_and_si256(_mm256_srli_epi16(sets, 4), _mm256_set1_epi8(15));
    let bytes = _mm256_add_epi8(_mm256_shuffle_epi8(bits, low), _mm256_shuffle_epi8(bits, high));
    _mm256_maddubs_epi16(bytes, _mm256_set1_epi8(1))
}
