//! Which rules are broken, and where, for the cases that a kernel found wrong.
//!
//! Faults are told by code, and within one code in reading order; see [`Fault`].

use crate::board::{CELLS_9, CageFault, Cell, Fault, Grid, House, Repeats};
use crate::format::classic::Solution;
use crate::format::killer::{Cage, Diagram};

/// The faults of a classic solution; none if it is right.
pub fn explain_classic(solution: &Solution, givens: &Grid) -> Vec<Fault> {
    let cells = &solution.cells;
    let mut faults = not_digits(cells).collect::<Vec<_>>();
    let long_rows = solution.long_rows.iter().zip(0..).filter(|(length, _)| **length > 0);
    faults.extend(long_rows.map(|(length, row)| Fault::RowLength { row, length: *length }));
    for (i, (found, given)) in cells.iter().zip(givens).enumerate() {
        if *given != b'.' && found != given && digit(*found).is_some() {
            faults.push(Fault::GivenChanged { cell: Cell::of_9(i), given: *given, found: *found });
        }
    }
    faults.extend(house_repeats(cells));
    faults
}

/// The faults of a killer diagram; none if it is right.
pub fn explain_killer(diagram: &Diagram) -> Vec<Fault> {
    let Diagram { cells, cage_of, cages, .. } = diagram;
    let mut faults = not_digits(cells).collect::<Vec<_>>();
    faults.extend(house_repeats(cells));
    let mut sums = [Some(0u32); CELLS_9];
    let mut digits = [Digits::default(); CELLS_9];
    for (text, cage) in cells.iter().zip(cage_of) {
        let (sum, digits) = (&mut sums[usize::from(*cage)], &mut digits[usize::from(*cage)]);
        let digit = digit(*text);
        digit.into_iter().for_each(|digit| digits.add(digit));
        // The sum of a cage with a cell that is no digit is not judged.
        *sum = sum.zip(digit).map(|(sum, digit)| sum + u32::from(digit));
    }
    let fault = |cage: &Cage| CageFault { first: cage.first, named: cage.named };
    for (number, (cage, _)) in
        cages.iter().zip(&digits).enumerate().filter(|(_, (_, d))| d.repeated())
    {
        let members = (0..CELLS_9).filter(|cell| usize::from(cage_of[*cell]) == number);
        let repeats = repeats(cells, members);
        faults.extend(repeats.map(|(at, repeats)| Fault::CageRepeat {
            cage: fault(cage),
            at,
            repeats,
        }));
    }
    for (cage, sum) in cages.iter().zip(sums) {
        if let Some(sum) = sum.filter(|sum| *sum != cage.total) {
            faults.push(Fault::CageSum { cage: fault(cage), sum, total: cage.total });
        }
    }
    faults
}

/// The digits of a region, as sets.
#[derive(Clone, Copy, Default)]
struct Digits {
    once: u16,
    twice: u16,
}

impl Digits {
    fn add(&mut self, digit: u8) {
        let set = 1 << digit;
        self.twice |= self.once & set;
        self.once |= set;
    }

    /// Whether some digit stands there more than once.
    fn repeated(&self) -> bool {
        self.twice != 0
    }
}

/// The digit that a byte of text stands for.
fn digit(text: u8) -> Option<u8> {
    matches!(text, b'1'..=b'9').then(|| text - b'0')
}

fn not_digits(cells: &Grid) -> impl Iterator<Item = Fault> {
    let cells = cells.iter().enumerate().filter(|(_, found)| digit(**found).is_none());
    cells.map(|(i, found)| Fault::NotADigit { cell: Cell::of_9(i), found: *found })
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

fn house_repeats(cells: &Grid) -> impl Iterator<Item = Fault> {
    House::all_9().zip(&HOUSES).filter_map(|(house, members)| {
        let (at, repeats) = repeats(cells, members.iter().copied().map(usize::from))?;
        Some(Fault::HouseRepeat { house, at, repeats })
    })
}

/// How often each digit stands in a region, and the first cell whose digit stood earlier in it;
/// `None` if no digit stands there more than once.
fn repeats(cells: &Grid, region: impl Iterator<Item = usize> + Clone) -> Option<(Cell, Repeats)> {
    let mut digits = Digits::default();
    region.clone().filter_map(|cell| digit(cells[cell])).for_each(|digit| digits.add(digit));
    if !digits.repeated() {
        return None;
    }
    let mut counts = [0u8; 9];
    let mut first = None;
    for cell in region {
        let Some(digit) = digit(cells[cell]) else { continue };
        let count = &mut counts[usize::from(digit) - 1];
        *count += 1;
        if *count > 1 {
            first.get_or_insert(Cell::of_9(cell));
        }
    }
    Some((first?, Repeats { counts }))
}
