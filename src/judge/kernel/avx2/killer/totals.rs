//! The cage lines of a diagram.

use super::cages::Sheet;
use super::{bytes, load};
use crate::board::CELLS_9;
use std::arch::x86_64::*;

/// Bytes whose line ends are looked for at a time.
const STEP: usize = 64;

/// Bytes in front of a step and behind it that are looked at with it.
const BEFORE: usize = 8;

/// Lines that can end in a step: each has six bytes or more.
const LINES_A_STEP: usize = 11;

/// Bytes of all lines at most.
const BYTES_MAX: usize = CELLS_9 * 8;

/// A line that adds nothing, for where there is none; its last byte stands for any line end.
const NO_LINE: [u8; 8] = *b"\n1 1 00\n";

/// What the digits of a grid add up to.
const SUM_9: u64 = 405;

/// Whether the lines from `start` to `end` of `window` give each cage of a drawing one total, to
/// which its digits add up, and all digits of a cage differ; provided that the houses are right.
///
/// A line end stands in front of the lines. False if some line is not as nearly all are, like
/// `1 2 34` with an `END` (the line feed alone, or a carriage return in front of one).
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn are_right<const END: u8>(
    window: &[u8],
    start: usize,
    end: usize,
    sheet: &Sheet,
    lane: usize,
) -> bool {
    let count = end - start;
    if count > BYTES_MAX || window[start..end].last() != Some(&b'\n') {
        return false;
    }
    if window.len() < end + STEP + 1 {
        // So near to its end, a copy with more behind it is looked at.
        let mut copy = [0; BEFORE + BYTES_MAX + STEP + 1];
        copy[..BEFORE + count].copy_from_slice(&window[start - BEFORE..end]);
        return are_right_within::<END>(&copy, BEFORE, BEFORE + count, sheet, lane);
    }
    are_right_within::<END>(window, start, end, sheet, lane)
}

#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn are_right_within<const END: u8>(
    window: &[u8],
    start: usize,
    end: usize,
    sheet: &Sheet,
    lane: usize,
) -> bool {
    let mut lines = [[0; 8]; CELLS_9 + LINES_A_STEP + 4];
    let Some(count) = split::<END>(window, start, end, &mut lines) else { return false };
    let Some(after) = lines[count..].first_chunk_mut::<4>() else { return false };
    *after = [NO_LINE; 4];
    after.iter_mut().for_each(|line| line[7] = END);
    let mut reading = Reading::new();
    let fours = lines.as_chunks_mut::<4>().0;
    for four in fours.iter_mut().take(count.div_ceil(4)) {
        reading.four::<END>(four);
    }
    let line_end = if END == b'\n' { 1 } else { 2 };
    let expected = count * (6 + line_end) - reading.short;
    reading.is_right() && expected == end - start && add_up(&lines[..count], sheet, lane)
}

/// Puts the last eight bytes of each line, `END` included, into `lines`, and returns their count;
/// `None` if there are too many.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn split<const END: u8>(
    window: &[u8],
    start: usize,
    end: usize,
    lines: &mut [[u8; 8]],
) -> Option<usize> {
    let (mut at, mut count) = (start, 0);
    while at < end {
        let text = window[at - BEFORE..].first_chunk::<{ BEFORE + STEP + 1 }>()?;
        let is_end = |from: usize| {
            let bytes = text[from..].first_chunk().unwrap_or(&[0; 32]);
            let is_end = _mm256_cmpeq_epi8(load(bytes), _mm256_set1_epi8(END as i8));
            u64::from(_mm256_movemask_epi8(is_end) as u32)
        };
        let mut ends = is_end(BEFORE) | is_end(BEFORE + 32) << 32;
        if end - at < STEP {
            ends &= (1 << (end - at)) - 1;
        }
        let here = ends.count_ones() as usize;
        if here > LINES_A_STEP {
            return None;
        }
        // All that there can be, so that there is no branch on how many there are.
        for line in lines.get_mut(count..)?.first_chunk_mut::<LINES_A_STEP>()? {
            let stop = ends.trailing_zeros() as usize;
            *line = *text[stop + 1..].first_chunk()?;
            ends &= ends.wrapping_sub(1);
        }
        count += here;
        at += STEP;
    }
    (count <= CELLS_9).then_some(count)
}

/// What is known of the lines that have been read.
struct Reading {
    /// Zero as long as everything is as it must be.
    wrong: __m256i,
    /// How many have a total of one digit.
    short: usize,
}

impl Reading {
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn new() -> Reading {
        Reading { wrong: _mm256_setzero_si256(), short: 0 }
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn is_right(&self) -> bool {
        _mm256_testz_si256(self.wrong, self.wrong) == 1
    }

    /// Reads four lines, each of which becomes the index of its cell and its total, four bytes each.
    ///
    /// ```text
    /// .1 2 34.   the line end before, row, column, total, line end
    /// x.1 2 3.   likewise; `x` is of the line before
    /// ```
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn four<const END: u8>(&mut self, lines: &mut [[u8; 8]; 4]) {
        let text = load(lines.as_flattened().first_chunk().unwrap_or(&[0; 32]));
        let all = |bytes: [u8; 8]| _mm256_set1_epi64x(i64::from_le_bytes(bytes));
        let is_feed = _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'\n' as i8));
        let is_short = _mm256_and_si256(is_feed, all([0, 0xFF, 0, 0, 0, 0, 0, 0]));
        self.short += _mm256_movemask_epi8(is_short).count_ones() as usize;
        // Row and column where they are in a long line.
        let shift =
            _mm256_srli_epi64::<8>(_mm256_and_si256(is_short, all([0, 8, 0, 0, 0, 0, 0, 0])));
        let moved = _mm256_srlv_epi64(text, shift);
        let text = _mm256_blendv_epi8(moved, text, all([0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF]));
        // Each byte as a number from the least that it may be, and the largest that it may be. A
        // short total has a blank for its first digit, of which the other place is looked at.
        let numbers = _mm256_sub_epi8(text, all([b'\n', b'1', b' ', b'1', b' ', b'0', b'0', END]));
        let largest = all([0, 8, 0, 8, 0, 9, 9, 0]);
        let largest = _mm256_or_si256(largest, _mm256_slli_epi64::<32>(is_short));
        self.wrong = _mm256_or_si256(self.wrong, _mm256_subs_epu8(numbers, largest));
        let digits = _mm256_and_si256(numbers, _mm256_set1_epi8(0x0F));
        let weighed = _mm256_maddubs_epi16(digits, all([0, 9, 0, 1, 0, 10, 1, 0]));
        let added = _mm256_madd_epi16(weighed, _mm256_set1_epi16(1));
        lines.as_flattened_mut().copy_from_slice(&bytes(added));
    }
}

/// Whether lines that have been read give each cage its total.
///
/// All 81 digits add up to 405, so if the totals of different cages do so too, and each equals what
/// the different digits of its cage add up to, then no cage is left and no digit is there twice.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn add_up(lines: &[[u8; 8]], sheet: &Sheet, lane: usize) -> bool {
    let mut named = [0u8; 128];
    let (mut wrong, mut all) = (0, 0);
    for line in lines {
        let line = u64::from_le_bytes(*line);
        let (cell, total) = (line as u32 as usize, line >> 32);
        let (Some(sums), Some(cages)) = (sheet.sums.get(cell), sheet.cages.get(cell)) else {
            return false;
        };
        wrong |= u64::from(sums[lane]) ^ total;
        all += total;
        named[usize::from(cages[lane] & 0x7F)] = 1;
    }
    let named = named.iter().sum::<u8>();
    wrong == 0 && all == SUM_9 && usize::from(named) == lines.len()
}
