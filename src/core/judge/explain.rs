//! Which rules are broken, and where, for the cases that no kernel found correct.

use crate::board::{
    Alphabet, CELLS_9, CageFault, Cell, Fault, Found, Grid, HOUSES_9, House, Repeats,
};
use crate::format::classic::Solution;
use crate::format::killer::Diagram;
use alloc::vec::Vec;

/// How many faults there is room for from the start: one wrong cell breaks three houses.
const FAULTS_EXPECTED: usize = 4;

/// The set that holds the digit of each byte of text, and no digit for other bytes.
const SET_OF: [u16; 256] = {
    let mut table = [0; 256];
    let mut digit = 1;
    while digit <= 9 {
        table[b'0' as usize + digit] = 1 << digit;
        digit += 1;
    }
    table
};

/// The faults of a classic solution, in the order of [`Fault`]; none if it is correct.
///
/// `givens` are text as in [`Puzzle`](crate::format::Puzzle): `b'1'` to `b'9'`, or `b'.'` for an
/// open cell.
///
/// ```
/// use gridmark_core::{format::classic::solution, judge::explain_classic};
/// let rows = ["123456789", "456789123", "789123456"].map(|row| row.to_string() + "\n").concat();
/// let faults = explain_classic(&solution(rows.repeat(3).as_bytes()), &[b'.'; 81]);
/// assert_eq!(faults[0].to_string(), "column 1 has 1 three times and 4 three times and 7 three times");
/// ```
pub fn explain_classic(solution: &Solution, givens: &Grid) -> Vec<Fault> {
    let Solution { cells, long_rows, characters } = solution;
    let no_digits = cells_where(|cell| digit(cells[cell]).is_none());
    let changed = cells_where(|cell| (cells[cell] != givens[cell]) & (givens[cell] != b'.'));
    let changed = changed & !no_digits;
    let long_rows = long_rows.iter().zip(0..).filter(|(length, _)| **length > 0);
    let houses = Houses::of(cells);
    let faults = no_digits.count_ones() + changed.count_ones() + houses.broken.count_ones();
    let mut faults = Vec::with_capacity(faults as usize + long_rows.clone().count());
    push_not_digits(cells, no_digits, &mut faults);
    name_characters(characters, no_digits, &mut faults);
    faults.extend(long_rows.map(|(length, row)| Fault::RowLength { row, length: *length }));
    faults.extend(bits(changed).map(|cell| Fault::GivenChanged {
        cell: Cell::of_9(cell),
        given: givens[cell].wrapping_sub(b'0'),
        found: cells[cell].wrapping_sub(b'0'),
        alphabet: Alphabet::OneToNine,
    }));
    houses.push_repeats(cells, &mut faults);
    faults
}

/// The faults of a killer diagram, in the order of [`Fault`]; none if it is correct.
pub fn explain_killer(diagram: &Diagram) -> Vec<Fault> {
    let Diagram { cells, cage_of, cages, .. } = diagram;
    let mut faults = Vec::with_capacity(FAULTS_EXPECTED);
    let no_digits = cells_where(|cell| digit(cells[cell]).is_none());
    push_not_digits(cells, no_digits, &mut faults);
    let houses = Houses::of(cells);
    faults.reserve(houses.broken.count_ones() as usize);
    houses.push_repeats(cells, &mut faults);
    let cages = cages
        .iter()
        .map(|cage| (CageFault { first: cage.first, named: cage.named }, Some(cage.total)));
    push_cage_faults(cells, cage_of, cages, &mut faults);
    faults
}

/// A cell that is in no cage.
pub(super) const NO_CAGE: u8 = u8::MAX;

/// Appends the faults of cages: those with repeated digits, then those with wrong sums. `cage_of` says which of
/// `cages` each cell is in, or [`NO_CAGE`]; a cage may have no total.
pub(super) fn push_cage_faults(
    cells: &Grid,
    cage_of: &[u8; CELLS_9],
    cages: impl Iterator<Item = (CageFault, Option<u32>)> + Clone,
    faults: &mut Vec<Fault>,
) {
    let mut counters = [0; 256];
    for (text, cage) in cells.iter().zip(cage_of) {
        counters[usize::from(*cage)] += CAGE_COUNTER_OF[usize::from(*text)];
    }
    for (number, ((cage, _), counter)) in cages.clone().zip(&counters).enumerate() {
        if counter & CAGE_REPEATED != 0 {
            let members = (0..CELLS_9).filter(|cell| usize::from(cage_of[*cell]) == number);
            let repeats = repeats(cells, members);
            faults.extend(repeats.map(|(at, repeats)| Fault::CageRepeat { cage, at, repeats }));
        }
    }
    for ((cage, total), counter) in cages.zip(&counters) {
        let (sum, others) = ((counter >> SUM_SHIFT) as u16, counter >> OTHERS_SHIFT);
        // The sum of a cage is not judged if one of its cells is not a digit.
        if let Some(total) = total.filter(|total| others == 0 && u32::from(sum) != *total) {
            faults.push(Fault::CageSum { cage, sum: sum.into(), total });
        }
    }
}

/// The digit that a byte of text stands for.
fn digit(text: u8) -> Option<u8> {
    matches!(text, b'1'..=b'9').then(|| text - b'0')
}

/// The cells for which `condition` holds, one bit a cell.
fn cells_where(condition: impl Fn(usize) -> bool) -> u128 {
    // In two steps, so that the compiler takes many cells at a time in the first.
    let mut flags = [0; CELLS_9.next_multiple_of(8)];
    for (cell, flag) in flags[..CELLS_9].iter_mut().enumerate() {
        *flag = u8::from(condition(cell));
    }
    let eights = flags.as_chunks().0;
    if eights.iter().fold(0, |any, flags| any | u64::from_le_bytes(*flags)) == 0 {
        return 0;
    }
    eights.iter().rev().fold(0, |cells, flags| {
        // Moves the lowest bit of byte `i` to bit 56 + `i`.
        let eight = u64::from_le_bytes(*flags).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        cells << 8 | u128::from(eight)
    })
}

/// The numbers of the bits that are set, lowest first.
fn bits(mut set: u128) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize);
        set &= set.wrapping_sub(1);
        bit
    })
}

/// Appends a fault for each cell without a digit.
fn push_not_digits(cells: &Grid, no_digits: u128, faults: &mut Vec<Fault>) {
    let fault = |cell| Fault::NotADigit { cell: Cell::of_9(cell), found: Found::Byte(cells[cell]) };
    faults.extend(bits(no_digits).map(fault));
}

/// Puts characters of several bytes, each with the number of its cell, into the faults of cells without
/// a digit, which are the first ones.
fn name_characters(characters: &[(u8, char)], no_digits: u128, faults: &mut [Fault]) {
    for (cell, character) in characters {
        let before = no_digits & ((1 << cell) - 1);
        if let Some(Fault::NotADigit { found, .. }) = faults.get_mut(before.count_ones() as usize) {
            *found = Found::Character(*character);
        }
    }
}

/// Four bits a digit, enough to count it in a house of nine cells; zero for other bytes.
const HOUSE_COUNTER_OF: [u64; 256] = {
    let mut table = [0; 256];
    let mut digit = 0;
    while digit < 9 {
        table[b'1' as usize + digit] = 1 << (4 * digit);
        digit += 1;
    }
    table
};

/// The bits of a counter of which one is set if some digit occurs more than once.
const HOUSE_REPEATED: u64 = 0xE_EEEE_EEEE;

/// The digits of the 27 houses.
struct Houses {
    /// How often each house holds each digit, in the order of [`House::all_9`].
    counters: [[u64; 9]; 3],
    /// The houses that hold some digit more than once, one bit a house.
    broken: u32,
}

impl Houses {
    fn of(cells: &Grid) -> Houses {
        let mut counters = [[0; 9]; 3];
        let [rows, columns, boxes] = &mut counters;
        let bands = cells.as_chunks::<27>().0.iter().zip(rows.as_chunks_mut::<3>().0);
        for ((band, rows), boxes) in bands.zip(boxes.as_chunks_mut::<3>().0) {
            let mut in_rows = [0; 3];
            let mut in_boxes = [0; 3];
            for (cells, in_row) in band.as_chunks::<9>().0.iter().zip(&mut in_rows) {
                let counters = cells.map(|text| HOUSE_COUNTER_OF[usize::from(text)]);
                let [a, b, c, d, e, f, g, h, i] = counters;
                let threes = [a + b + c, d + e + f, g + h + i];
                *in_row = threes.iter().sum();
                in_boxes.iter_mut().zip(threes).for_each(|(in_box, three)| *in_box += three);
                columns.iter_mut().zip(counters).for_each(|(column, counter)| *column += counter);
            }
            (*rows, *boxes) = (in_rows, in_boxes);
        }
        let counters = counters;
        let broken = counters
            .as_flattened()
            .iter()
            .rev()
            .fold(0, |broken, counter| broken << 1 | u32::from(counter & HOUSE_REPEATED != 0));
        Houses { counters, broken }
    }

    /// Appends a fault for each house that holds some digit more than once.
    fn push_repeats(&self, cells: &Grid, faults: &mut Vec<Fault>) {
        faults.extend(bits(self.broken.into()).map(|number| {
            let nth = (number % 9) as u8;
            let house = match number / 9 {
                0 => House::Row(nth),
                1 => House::Column(nth),
                _ => House::Box(nth),
            };
            let repeats = Repeats {
                counts: counts(self.counters.as_flattened()[number]),
                alphabet: Alphabet::OneToNine,
            };
            Fault::HouseRepeat { house, at: first_repeat(cells, &HOUSES_9[number]), repeats }
        }));
    }
}

/// The first cell of a house whose digit occurs earlier in it, provided that there is one.
fn first_repeat(cells: &Grid, house: &[u8; 9]) -> Cell {
    let (mut once, mut again) = (0, 0u32);
    for (place, cell) in house.iter().enumerate() {
        let set = SET_OF[usize::from(cells[usize::from(*cell)])];
        again |= u32::from(once & set != 0) << place;
        once |= set;
    }
    Cell::of_9(house[again.trailing_zeros().min(8) as usize].into())
}

/// The counts of a counter, a byte a digit instead of four bits.
fn counts(counter: u64) -> [u8; 16] {
    let spread = |word: u64, bits: u32, mask: u64| (word | word << bits) & mask;
    let eight = spread(counter & 0xFFFF_FFFF, 16, 0x0000_FFFF_0000_FFFF);
    let eight = spread(eight, 8, 0x00FF_00FF_00FF_00FF);
    let eight = spread(eight, 4, 0x0F0F_0F0F_0F0F_0F0F);
    let mut counts = [0; 16];
    counts[..8].copy_from_slice(&eight.to_le_bytes());
    counts[8] = (counter >> 32) as u8;
    counts
}

/// What each byte of text adds to a counter: one to the count of its digit, a byte each, and the
/// digit to the sum; or one to the number of cells without a digit.
const CAGE_COUNTER_OF: [u128; 256] = {
    let mut table = [1 << OTHERS_SHIFT; 256];
    let mut digit = 0;
    while digit < 9 {
        table[b'1' as usize + digit] = 1 << (8 * digit) | (digit as u128 + 1) << SUM_SHIFT;
        digit += 1;
    }
    table
};

/// Where the sum begins in a counter.
const SUM_SHIFT: u32 = 80;

/// Where the number of cells without a digit begins in a counter.
const OTHERS_SHIFT: u32 = 96;

/// The bits of a counter of which one is set if some digit occurs more than once.
const CAGE_REPEATED: u128 = 0xFE_FEFE_FEFE_FEFE_FEFE;

/// The first cell of a region whose digit occurs earlier in it, and how often the region holds each
/// digit; `None` if it holds none more than once. The cells come in reading order.
fn repeats(cells: &Grid, region: impl Iterator<Item = usize>) -> Option<(Cell, Repeats)> {
    let (mut once, mut counts, mut first) = (0, 0u128, usize::MAX);
    for cell in region {
        let text = usize::from(cells[cell]);
        let occurs_earlier = once & SET_OF[text] != 0;
        first = first.min(if occurs_earlier { cell } else { usize::MAX });
        once |= SET_OF[text];
        counts += CAGE_COUNTER_OF[text];
    }
    let mut of_digits = [0; 16];
    of_digits[..9].copy_from_slice(&counts.to_le_bytes()[..9]);
    let repeats = Repeats { counts: of_digits, alphabet: Alphabet::OneToNine };
    (first < CELLS_9).then_some((Cell::of_9(first), repeats))
}
