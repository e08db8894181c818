//! The cage lines of a diagram.

use super::super::LANES;
use super::cages::FoundCages;
use super::{bytes, load};
use crate::board::CELLS_9;
use core::arch::x86_64::*;

/// How many bytes are searched for line ends at a time.
const STEP: usize = 64;

/// How many bytes before a step are read with it, so that a line that ends at its start is
/// complete.
const BEFORE: usize = 8;

/// How many lines can end in a step, since each has six bytes or more.
const LINES_A_STEP: usize = 11;

/// The most bytes of all lines.
const BYTES_MAX: usize = CELLS_9 * 8;

/// The sum of all digits of a grid.
const SUM_9: u32 = 405;

/// Room for the last eight bytes of each line of a diagram, for the lines of a step more, and for
/// rounding up to four.
pub(super) type Room = [[u8; 8]; CELLS_9 + LINES_A_STEP + 4];

/// Empty room for lines.
pub(super) const ROOM: Room = [[0; 8]; CELLS_9 + LINES_A_STEP + 4];

/// Whether the lines from `start` to `end` of `window` set one total for each cage of a drawing,
/// the sum of its digits, and all digits of a cage differ; provided that the houses are correct.
///
/// The byte before the lines is a line end. False if some line is not regular, like `1 2 34` and an
/// `END` (a line feed alone, or a carriage return with a line feed behind it).
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) fn are_right<const END: u8>(
    window: &[u8],
    [start, end]: [usize; 2],
    found: &FoundCages,
    lane: usize,
    room: &mut Room,
) -> bool {
    let bytes = end - start;
    if bytes > BYTES_MAX || window[start..end].last() != Some(&b'\n') {
        return false;
    }
    let count = if window.len() < end + STEP + 1 {
        // Too near the end of the window: a copy with room behind it is read.
        let mut copy = [0; BEFORE + BYTES_MAX + STEP + 1];
        copy[..BEFORE + bytes].copy_from_slice(&window[start - BEFORE..end]);
        split::<END>(&copy, BEFORE, BEFORE + bytes, room)
    } else {
        split::<END>(window, start, end, room)
    };
    let Some(count) = count else { return false };
    // The last four may hold lines beyond `count`, which are ignored.
    for four in room.as_chunks_mut::<4>().0.iter_mut().take(count.div_ceil(4)) {
        read_four::<END>(four);
    }
    let Some(lines) = room.get(..count) else { return false };
    let line_end = if END == b'\n' { 1 } else { 2 };
    add_up(lines, found, lane).is_some_and(|short| count * (6 + line_end) - short == bytes)
}

/// Copies the last eight bytes of each line, up to `END`, into `lines`, and returns the number of
/// lines; `None` if there are too many.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn split<const END: u8>(
    window: &[u8],
    start: usize,
    end: usize,
    lines: &mut Room,
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
        // As many as there can be, so that there is no branch on how many there are.
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

/// What [`read_four`] adds to a total of one digit.
const SHORT: u32 = 1 << 16;

/// Reads four lines. Each becomes the index of its cell in [`FoundCages::cages`], flattened, and
/// its total; a line that is not regular gets a total that no cage has.
///
/// ```text
/// .1 2 34.   the line end before, row, column, total, line end
/// x.1 2 3.   likewise; `x` is of the line before
/// ```
#[inline]
#[target_feature(enable = "avx2")]
fn read_four<const END: u8>(lines: &mut [[u8; 8]; 4]) {
    let text = load(lines.as_flattened().first_chunk().unwrap_or(&[0; 32]));
    let all = |bytes: [u8; 8]| _mm256_set1_epi64x(i64::from_le_bytes(bytes));
    let is_feed = _mm256_cmpeq_epi8(text, _mm256_set1_epi8(b'\n' as i8));
    let is_short = _mm256_and_si256(is_feed, all([0, 0xFF, 0, 0, 0, 0, 0, 0]));
    // Moves row and column of a short line to where they are in a long one.
    let shift = _mm256_srli_epi64::<8>(_mm256_and_si256(is_short, all([0, 8, 0, 0, 0, 0, 0, 0])));
    let moved = _mm256_srlv_epi64(text, shift);
    let text = _mm256_blendv_epi8(moved, text, all([0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF]));
    // Each byte minus the least that is allowed at its place, and the largest such number that is
    // allowed. Where a long total has its first digit, a short one has a blank, which occurs in
    // `moved` too.
    let numbers = _mm256_sub_epi8(text, all([b'\n', b'1', b' ', b'1', b' ', b'0', b'0', END]));
    let largest = all([0, 8, 0, 8, 0, 9, 9, 0]);
    let largest = _mm256_or_si256(largest, _mm256_slli_epi64::<32>(is_short));
    let zero = _mm256_setzero_si256();
    let is_right = _mm256_cmpeq_epi64(_mm256_subs_epu8(numbers, largest), zero);
    let digits = _mm256_and_si256(numbers, _mm256_set1_epi8(0x0F));
    let weighed = _mm256_maddubs_epi16(digits, all([0, 9, 0, 1, 0, 10, 1, 0]));
    let step = LANES as u8;
    let added = _mm256_madd_epi16(weighed, all([step, 0, step, 0, 1, 0, 1, 0]));
    let short = _mm256_slli_epi64::<40>(_mm256_and_si256(is_short, all([0, 1, 0, 0, 0, 0, 0, 0])));
    let read = _mm256_or_si256(added, short);
    let wrong = _mm256_andnot_si256(is_right, all([0, 0, 0, 0, 0xFF, 0, 0, 0]));
    lines.as_flattened_mut().copy_from_slice(&bytes(_mm256_or_si256(read, wrong)));
}

/// How many of the lines are short; `None` if they do not set the right total for each cage.
///
/// All 81 digits add up to 405. So if the totals of different cages do too, and each equals the sum
/// of the different digits of its cage, then no cage lacks a total and none holds a digit twice.
#[inline]
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn add_up(lines: &[[u8; 8]], found: &FoundCages, lane: usize) -> Option<usize> {
    let place = FoundCages::place(lane);
    // The cages that are named, as a set of their numbers: those below 64, and the others.
    let mut named = [0u64; 2];
    let (mut wrong, mut all) = (0, 0);
    for line in lines {
        let line = u64::from_le_bytes(*line);
        let cage = found.cages.as_flattened().get(line as u32 as usize + place)?;
        let total = (line >> 32) as u32;
        wrong |= (u32::from(*cage) ^ total) & 0xFF;
        all += total;
        let bit = 1 << (cage >> 8 & 63);
        let is_other = u64::from(cage >> 14);
        named[0] |= bit & is_other.wrapping_sub(1);
        named[1] |= bit & is_other.wrapping_neg();
    }
    let different = named.map(u64::count_ones).iter().sum::<u32>() as usize;
    let is_right = wrong == 0 && all % SHORT == SUM_9 && different == lines.len();
    is_right.then_some((all / SHORT) as usize)
}
