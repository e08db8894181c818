//! Mistakes of a puzzle that show without solving it.

use super::{Cage, Puzzle};
use crate::board::{CELLS_9, Cell, House};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// How many cells a message lists; the rest are only counted.
const CELLS_LISTED_MAX: usize = 10;

/// The sum of all digits of a 9x9 board.
const SUM_9: u32 = 405;

/// Something that is wrong or doubtful in a puzzle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind of flaw it is.
    pub flaw: Flaw,
    /// The cells that it is about, in reading order; none if it is about the whole board.
    pub cells: Vec<Cell>,
    /// What is wrong, in plain English, with the place.
    pub message: String,
}

/// The kinds of flaw that [`lint`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// Error: a digit is given twice in a house or a cage.
    GivensConflict,
    /// Error: a cage has more cells than there are digits.
    CageTooLarge,
    /// Error: no digits for the open cells of a cage give its total.
    TotalOutOfRange,
    /// Error: all cells are in cages, and the totals do not add up to 405.
    TotalsOffBoard,
    /// Warning: a cage is in several parts.
    CageInParts,
    /// Warning: a cage has one cell.
    OneCellCage,
}

impl Flaw {
    /// The code of this flaw.
    pub const fn code(self) -> &'static str {
        match self {
            Flaw::GivensConflict => "givens-conflict",
            Flaw::CageTooLarge => "cage-too-large",
            Flaw::TotalOutOfRange => "total-out-of-range",
            Flaw::TotalsOffBoard => "totals-off-board",
            Flaw::CageInParts => "cage-in-parts",
            Flaw::OneCellCage => "one-cell-cage",
        }
    }

    /// Whether no grid can solve a puzzle with this flaw; otherwise it is a warning.
    pub const fn is_error(self) -> bool {
        match self {
            Flaw::GivensConflict
            | Flaw::CageTooLarge
            | Flaw::TotalOutOfRange
            | Flaw::TotalsOffBoard => true,
            Flaw::CageInParts | Flaw::OneCellCage => false,
        }
    }
}

/// What is wrong or doubtful in a puzzle, by flaw in the order of [`Flaw`], and then by place.
///
/// ```
/// use gridmark_core::puzzle::{Alphabet, Cage, Puzzle, lint};
/// let cages = vec![Cage::new([0, 1], Some(2))?, Cage::new([80], Some(5))?];
/// let puzzle = Puzzle::new(Alphabet::OneToNine, &[0; 81])?.with_cages(cages)?;
/// let messages = lint(&puzzle).into_iter().map(|finding| finding.message);
/// assert_eq!(
///     messages.collect::<Vec<_>>(),
///     [
///         "the total of the cage at r1c1 is 2, and its 2 cells can add up to 3 to 17",
///         "a cage has one cell: r9c9",
///     ]
/// );
/// # Ok::<(), gridmark_core::puzzle::Invalid>(())
/// ```
pub fn lint(puzzle: &Puzzle) -> Vec<Finding> {
    let mut findings = Vec::new();
    let size = puzzle.size();
    for house in House::all(size) {
        let cells = house.cells(size).collect::<Vec<_>>();
        push_conflicts(puzzle, &cells, house, &mut findings);
    }
    for cage in puzzle.cages() {
        let cells = cage.cells().iter().map(|cell| usize::from(*cell)).collect::<Vec<_>>();
        push_conflicts(puzzle, &cells, format!("the cage at {}", cage.first()), &mut findings);
    }
    let cages = puzzle.cages().iter();
    findings.extend(cages.clone().filter_map(too_large));
    findings.extend(cages.clone().filter_map(|cage| out_of_range(puzzle, cage)));
    findings.extend(off_board(puzzle));
    findings.extend(cages.filter_map(in_parts));
    findings.extend(one_cell_cages(puzzle));
    findings
}

/// Adds the digits that are given more than once among `cells`, which lie in `place`.
fn push_conflicts(
    puzzle: &Puzzle,
    cells: &[usize],
    place: impl ToString,
    findings: &mut Vec<Finding>,
) {
    let given = |cell: usize| puzzle.givens()[cell];
    for digit in 1..=puzzle.size().side() as u8 {
        let holders = cells.iter().copied().filter(|cell| given(*cell) == digit);
        if holders.clone().count() < 2 {
            continue;
        }
        let cells = holders.map(|cell| Cell::of(puzzle.size(), cell)).collect::<Vec<_>>();
        let times = match cells.len() {
            2 => "twice".to_string(),
            count => format!("{count} times"),
        };
        let (name, place) = (puzzle.alphabet().name(digit), place.to_string());
        let message = format!("{name} is given {times} in {place}: {}", listed(&cells));
        findings.push(Finding { flaw: Flaw::GivensConflict, cells, message });
    }
}

fn too_large(cage: &Cage) -> Option<Finding> {
    let (at, count) = (cage.first(), cage.cells().len());
    let message = format!("the cage at {at} has {count} cells, and there are only 9 digits");
    (count > 9).then(|| Finding { flaw: Flaw::CageTooLarge, cells: cells_of(cage), message })
}

/// Whether the total of a cage is beyond what its givens and different digits for its open cells
/// add up to. Larger cages are [`too_large`].
fn out_of_range(puzzle: &Puzzle, cage: &Cage) -> Option<Finding> {
    let total = cage.total().filter(|_| cage.cells().len() <= 9)?;
    let givens = cage.cells().iter().map(|cell| puzzle.givens()[usize::from(*cell)]);
    let givens = givens.filter(|given| *given != 0).collect::<Vec<_>>();
    let open = cage.cells().len() - givens.len();
    let given = givens.iter().map(|given| u32::from(*given)).sum::<u32>();
    let left = || (1..=9).filter(|digit| !givens.contains(digit)).map(u32::from);
    let least = given + left().take(open).sum::<u32>();
    let most = given + left().rev().take(open).sum::<u32>();
    if (least..=most).contains(&total) {
        return None;
    }
    let cells = match (cage.cells().len(), givens.len()) {
        (1, 0) => "its cell can hold".to_string(),
        (1, _) => "its given is".to_string(),
        (count, 0) => format!("its {count} cells can add up to"),
        (_, _) if open == 0 => "its givens add up to".to_string(),
        (count, _) => format!("its {count} cells with these givens can add up to"),
    };
    let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let message =
        format!("the total of the cage at {} is {total}, and {cells} {range}", cage.first());
    Some(Finding { flaw: Flaw::TotalOutOfRange, cells: cells_of(cage), message })
}

/// Whether all cells are in cages with totals, and those do not add up to the sum of the board.
fn off_board(puzzle: &Puzzle) -> Option<Finding> {
    let cells = puzzle.cages().iter().map(|cage| cage.cells().len()).sum::<usize>();
    let totals = puzzle.cages().iter().map(|cage| cage.total().map(u64::from));
    let sum = totals.sum::<Option<u64>>().filter(|_| cells == CELLS_9)?;
    let message = format!("the totals of all cages add up to {sum}, not to {SUM_9}");
    let flaw = Flaw::TotalsOffBoard;
    (sum != u64::from(SUM_9)).then(|| Finding { flaw, cells: Vec::new(), message })
}

fn in_parts(cage: &Cage) -> Option<Finding> {
    let message = format!("the cage at {} is in several parts", cage.first());
    let flaw = Flaw::CageInParts;
    (!cage.is_connected()).then(|| Finding { flaw, cells: cells_of(cage), message })
}

/// All cages with one cell in one finding, since there may be many.
fn one_cell_cages(puzzle: &Puzzle) -> Option<Finding> {
    let cages = puzzle.cages().iter().filter(|cage| cage.cells().len() == 1);
    let cells = cages.map(Cage::first).collect::<Vec<_>>();
    let message = match cells.len() {
        0 => return None,
        1 => format!("a cage has one cell: {}", listed(&cells)),
        count => format!("{count} cages have one cell: {}", listed(&cells)),
    };
    Some(Finding { flaw: Flaw::OneCellCage, cells, message })
}

fn cells_of(cage: &Cage) -> Vec<Cell> {
    cage.cells().iter().map(|cell| Cell::of_9(usize::from(*cell))).collect()
}

/// The first cells, and how many more there are.
fn listed(cells: &[Cell]) -> String {
    let first = cells.iter().take(CELLS_LISTED_MAX).map(Cell::to_string).collect::<Vec<_>>();
    let more = match cells.len().saturating_sub(CELLS_LISTED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    first.join(" ") + &more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::puzzle::Alphabet;
    use alloc::vec;

    fn findings(alphabet: Alphabet, givens: &[(usize, u8)], cages: Vec<Cage>) -> Vec<Finding> {
        let mut board = alloc::vec![0; alphabet.size().cells()];
        givens.iter().for_each(|(cell, given)| board[*cell] = *given);
        let puzzle = Puzzle::new(alphabet, &board).expect("givens are digits");
        lint(&puzzle.with_cages(cages).expect("cages do not overlap"))
    }

    fn messages(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.message.as_str()).collect()
    }

    fn cage(cells: &[u8], total: impl Into<Option<u32>>) -> Cage {
        Cage::new(cells.iter().copied(), total.into()).expect("a cage")
    }

    #[test]
    fn givens_in_conflict_are_found_in_houses_and_cages_of_both_sizes() {
        let found = findings(Alphabet::OneToNine, &[(0, 5), (8, 5), (72, 5)], Vec::new());
        let expected =
            ["5 is given twice in row 1: r1c1 r1c9", "5 is given twice in column 1: r1c1 r9c1"];
        assert_eq!(messages(&found), expected);
        assert_eq!(found[1].cells, [Cell { row: 0, column: 0 }, Cell { row: 8, column: 0 }]);

        let found = findings(Alphabet::ZeroToF, &[(0, 16), (17, 16), (34, 16)], Vec::new());
        assert_eq!(messages(&found), ["F is given 3 times in box 1: r1c1 r2c2 r3c3"]);

        // The cells of this cage share no house.
        let found = findings(Alphabet::OneToNine, &[(0, 7), (40, 7)], vec![cage(&[0, 40], None)]);
        assert_eq!(messages(&found)[0], "7 is given twice in the cage at r1c1: r1c1 r5c5");
    }

    #[test]
    fn totals_out_of_reach_are_found_with_givens_taken_into_account() {
        let of = |givens: &[(usize, u8)], cells: &[u8], total: u32| {
            let found = findings(Alphabet::OneToNine, givens, vec![cage(cells, total)]);
            let found = found.into_iter().find(|finding| finding.flaw == Flaw::TotalOutOfRange);
            found.map(|finding| finding.message.split(", and ").nth(1).map(str::to_string))
        };
        let said = |words: &str| Some(Some(words.to_string()));
        assert_eq!(of(&[], &[0, 1, 2], 6), None);
        assert_eq!(of(&[], &[0, 1, 2], 24), None);
        assert_eq!(of(&[], &[0, 1, 2], 5), said("its 3 cells can add up to 6 to 24"));
        assert_eq!(of(&[], &[0, 1, 2], 25), said("its 3 cells can add up to 6 to 24"));
        assert_eq!(of(&[], &[0], 10), said("its cell can hold 1 to 9"));
        assert_eq!(of(&[(0, 3)], &[0], 4), said("its given is 3"));
        assert_eq!(of(&[(0, 3), (1, 4)], &[0, 1], 8), said("its givens add up to 7"));
        let with_given = said("its 2 cells with these givens can add up to 10 to 17");
        assert_eq!(of(&[(1, 9)], &[0, 1], 9), with_given);
        assert_eq!(of(&[(1, 9)], &[0, 1], 18), with_given);
        assert_eq!(of(&[(1, 9)], &[0, 1], 10), None);
        assert_eq!(of(&[], &[0, 1, 2, 3, 4, 5, 6, 7, 8], 45), None);
        assert_eq!(of(&[], &[0, 1, 2, 3, 4, 5, 6, 7, 8], 44), said("its 9 cells can add up to 45"));
        assert_eq!(of(&[], &[0, 1], u32::MAX), said("its 2 cells can add up to 3 to 17"));
    }

    #[test]
    fn a_cage_of_ten_cells_and_totals_that_do_not_fill_the_board_are_errors() {
        let ten = findings(Alphabet::OneToNine, &[], vec![cage(&(0..10).collect::<Vec<_>>(), 45)]);
        assert_eq!(messages(&ten), ["the cage at r1c1 has 10 cells, and there are only 9 digits"]);
        assert!(ten[0].flaw.is_error() && ten[0].cells.len() == 10);

        let rows = |last: Option<u32>| {
            let rows = (0..9).map(|row| (row * 9..row * 9 + 9).collect::<Vec<_>>());
            let total = |row| if row == 8 { last } else { Some(45) };
            rows.zip(0..).map(|(cells, row)| cage(&cells, total(row))).collect::<Vec<_>>()
        };
        let all = findings(Alphabet::OneToNine, &[], rows(Some(44)));
        assert_eq!(messages(&all)[1..], ["the totals of all cages add up to 404, not to 405"]);
        assert_eq!(findings(Alphabet::OneToNine, &[], rows(Some(45))), []);
        assert_eq!(findings(Alphabet::OneToNine, &[], rows(None)), []);
        let mut some = rows(Some(45));
        some.pop();
        assert_eq!(findings(Alphabet::OneToNine, &[], some), []);
        let huge = findings(Alphabet::OneToNine, &[], rows(Some(u32::MAX)));
        let sum = "the totals of all cages add up to 4294967655, not to 405";
        assert_eq!(messages(&huge)[1..], [sum]);
    }

    #[test]
    fn cages_in_parts_and_of_one_cell_are_warnings() {
        let parts = findings(Alphabet::OneToNine, &[], vec![cage(&[0, 1, 10, 20, 29], None)]);
        assert_eq!(messages(&parts), ["the cage at r1c1 is in several parts"]);
        // A row's end and the next row's start are no neighbours.
        let parts = findings(Alphabet::OneToNine, &[], vec![cage(&[8, 9], None)]);
        assert_eq!(messages(&parts), ["the cage at r1c9 is in several parts"]);

        let single =
            findings(Alphabet::OneToNine, &[], (0..12).map(|c| cage(&[c], None)).collect());
        let listed = "r1c1 r1c2 r1c3 r1c4 r1c5 r1c6 r1c7 r1c8 r1c9 r2c1 and 2 more";
        assert_eq!(messages(&single), [format!("12 cages have one cell: {listed}")]);
        assert!(!single[0].flaw.is_error() && single[0].cells.len() == 12);
    }
}
