//! Which rules are broken, and where, for the cases that a kernel found wrong.
//!
//! Faults are told by code, and within one code in reading order; see [`Fault`].

use crate::board::{CELLS_9, CageFault, Cell, Fault, Grid, House, Repeats};
use crate::format::classic::Solution;
use crate::format::killer::{Cage, Diagram};

/// Faults for which there is room from the start: one wrong cell breaks three houses.
const FAULTS_EXPECTED: usize = 4;

/// All nine digits as a set: bit 1 is for 1.
const ALL_DIGITS: u16 = 0x3FE;

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

/// The faults of a classic solution; none if it is right.
pub fn explain_classic(solution: &Solution, givens: &Grid) -> Vec<Fault> {
    let cells = &solution.cells;
    let mut faults = Vec::with_capacity(FAULTS_EXPECTED);
    not_digits(cells, &mut faults);
    let long_rows = solution.long_rows.iter().zip(0..).filter(|(length, _)| **length > 0);
    faults.extend(long_rows.map(|(length, row)| Fault::RowLength { row, length: *length }));
    let differs = |(found, given): (&u8, &u8)| found != given && *given != b'.';
    // Looked at in one go first: most solutions change no given.
    if cells.iter().zip(givens).fold(false, |any, pair| any | differs(pair)) {
        for (i, (found, given)) in cells.iter().zip(givens).enumerate() {
            if differs((found, given)) && digit(*found).is_some() {
                let (given, found) = (*given, *found);
                faults.push(Fault::GivenChanged { cell: Cell::of_9(i), given, found });
            }
        }
    }
    house_repeats(cells, &mut faults);
    faults
}

/// The faults of a killer diagram; none if it is right.
pub fn explain_killer(diagram: &Diagram) -> Vec<Fault> {
    let Diagram { cells, cage_of, cages, .. } = diagram;
    let mut faults = Vec::with_capacity(FAULTS_EXPECTED);
    not_digits(cells, &mut faults);
    house_repeats(cells, &mut faults);
    let mut counters = [0; CELLS_9];
    for (text, cage) in cells.iter().zip(cage_of) {
        counters[usize::from(*cage)] += COUNT_OF[usize::from(*text)];
    }
    let fault = |cage: &Cage| CageFault { first: cage.first, named: cage.named };
    for (number, (cage, counter)) in cages.iter().zip(&counters).enumerate() {
        if counter & REPEATED != 0 {
            let members = (0..CELLS_9).filter(|cell| usize::from(cage_of[*cell]) == number);
            let repeats = repeats(cells, members);
            faults.extend(repeats.map(|(at, repeats)| Fault::CageRepeat {
                cage: fault(cage),
                at,
                repeats,
            }));
        }
    }
    for (cage, counter) in cages.iter().zip(&counters) {
        let (sum, others) = ((counter >> SUM_SHIFT) as u16, counter >> OTHERS_SHIFT);
        // The sum of a cage with a cell that is no digit is not judged.
        if others == 0 && u32::from(sum) != cage.total {
            let (cage, sum, total) = (fault(cage), sum.into(), cage.total);
            faults.push(Fault::CageSum { cage, sum, total });
        }
    }
    faults
}

/// The digit that a byte of text stands for.
fn digit(text: u8) -> Option<u8> {
    matches!(text, b'1'..=b'9').then(|| text - b'0')
}

fn not_digits(cells: &Grid, faults: &mut Vec<Fault>) {
    let is_none = |text: u8| !matches!(text, b'1'..=b'9');
    // Looked at in one go first: most grids hold digits alone.
    if cells.iter().fold(false, |any, found| any | is_none(*found)) {
        let cells = cells.iter().enumerate().filter(|(_, found)| is_none(**found));
        faults.extend(
            cells.map(|(i, found)| Fault::NotADigit { cell: Cell::of_9(i), found: *found }),
        );
    }
}

/// The cells of each house, in the order of [`House::all_9`].
static HOUSES: [[u8; 9]; 27] = {
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

fn house_repeats(cells: &Grid, faults: &mut Vec<Fault>) {
    // A house is right if all digits are there.
    let sets = house_sets(cells);
    faults.reserve(sets.iter().filter(|set| **set != ALL_DIGITS).count());
    for ((house, members), set) in House::all_9().zip(&HOUSES).zip(sets) {
        if set != ALL_DIGITS
            && let Some((at, repeats)) = repeats(cells, members.iter().copied().map(usize::from))
        {
            faults.push(Fault::HouseRepeat { house, at, repeats });
        }
    }
}

/// The digits of each house as a set, in the order of [`House::all_9`].
fn house_sets(cells: &Grid) -> [u16; 27] {
    // Ten bits for each column of a stack, side by side.
    let mut columns = [0u32; 3];
    let mut sets = [0; 27];
    for (band, cells) in cells.as_chunks::<27>().0.iter().enumerate() {
        let mut boxes = [0; 3];
        for (row, cells) in cells.as_chunks::<9>().0.iter().enumerate() {
            let mut in_row = 0;
            let stacks = cells.as_chunks::<3>().0.iter().zip(&mut columns).zip(&mut boxes);
            for ((cells, columns), in_box) in stacks {
                let [a, b, c] = cells.map(|text| SET_OF[usize::from(text)]);
                *columns |= u32::from(a) | u32::from(b) << 10 | u32::from(c) << 20;
                *in_box |= a | b | c;
                in_row |= a | b | c;
            }
            sets[band * 3 + row] = in_row;
        }
        sets[18 + band * 3..][..3].copy_from_slice(&boxes);
    }
    for (column, set) in sets[9..18].iter_mut().enumerate() {
        *set = (columns[column / 3] >> (column % 3 * 10)) as u16 & 0x3FF;
    }
    sets
}

/// What each byte of text adds to a counter: one in the byte that counts its digit, and the digit
/// to the sum; or one to the cells that hold none.
const COUNT_OF: [u128; 256] = {
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

/// The bits of a counter of which one is set if some digit is there more than once.
const REPEATED: u128 = 0xFE_FEFE_FEFE_FEFE_FEFE;

/// How often each digit stands in a region, whose cells come in reading order, and the first cell
/// whose digit stood earlier in it; `None` if no digit stands there more than once.
fn repeats(cells: &Grid, region: impl Iterator<Item = usize>) -> Option<(Cell, Repeats)> {
    let (mut once, mut counts, mut first) = (0, 0, usize::MAX);
    for cell in region {
        let text = usize::from(cells[cell]);
        let stood_earlier = once & SET_OF[text] != 0;
        first = first.min(if stood_earlier { cell } else { usize::MAX });
        once |= SET_OF[text];
        counts += COUNT_OF[text];
    }
    let counts = *counts.to_le_bytes().first_chunk()?;
    (first < CELLS_9).then(|| (Cell::of_9(first), Repeats { counts }))
}
