//! Puzzles as clauses for a SAT solver.
//!
//! Plain search fails on killers with few givens and on 16x16: it meets the same contradiction again
//! and again in other places. A solver that learns from contradictions does not.
//!
//! - For each cell and digit a variable: the cell holds that digit. Exactly one is true for a cell, and
//!   exactly one for a digit in a house.
//! - For each digit of a cage a variable: some cell of the cage holds it.
//! - For each set of digits that has the size and the total of a cage a variable: these are the digits
//!   of the cage. Exactly one is true. A cage has at most twelve such sets.
//!
//! The totals of the cages inside a house say what its other cells add up to. Those are in one house, so
//! they are one more cage. That is not needed for the answer, but takes a third off the time until it.

use batsat::{Callbacks, Lit, Solver, SolverInterface, SolverOpts, lbool};
use gridmark_core::board::{House, Size};
use gridmark_core::puzzle::{Puzzle, Solutions};

/// Counts the solutions of a puzzle, up to two.
///
/// `stop` is asked at each step; once it says yes, the result is [`Solutions::Unproven`], unless two
/// solutions are known. Equal puzzles and equal answers of `stop` give equal results.
pub(super) fn solve(puzzle: &Puzzle, stop: impl Fn() -> bool) -> Solutions {
    let mut clauses = Clauses::of(puzzle, stop);
    let first = match clauses.solution() {
        Err(Stopped) => return Solutions::Unproven(None),
        Ok(None) => return Solutions::None,
        Ok(Some(first)) => first,
    };
    clauses.exclude(&first);
    match clauses.solution() {
        Err(Stopped) => Solutions::Unproven(Some(first)),
        Ok(None) => Solutions::One(first),
        Ok(Some(second)) => Solutions::Many(Box::new([first, second])),
    }
}

/// The solver was stopped before it had an answer.
struct Stopped;

/// What the solver asks meanwhile.
struct Stop<S>(S);

impl<S: Fn() -> bool> Callbacks for Stop<S> {
    fn stop(&self) -> bool {
        (self.0)()
    }
}

struct Clauses<S: Fn() -> bool> {
    solver: Solver<Stop<S>>,
    size: Size,
    /// By cell and digit: the cell holds the digit.
    holds: Vec<Lit>,
}

impl<S: Fn() -> bool> Clauses<S> {
    fn of(puzzle: &Puzzle, stop: S) -> Clauses<S> {
        let size = puzzle.size();
        let solver = Solver::new(SolverOpts::default(), Stop(stop));
        let mut clauses = Clauses { solver, size, holds: Vec::new() };
        clauses.holds = (0..size.cells() * size.side()).map(|_| clauses.variable()).collect();
        // First, since the solver leaves out of later clauses what is decided already.
        for (cell, given) in puzzle.givens().iter().enumerate().filter(|(_, given)| **given > 0) {
            clauses.add(&[clauses.holds(cell, *given)]);
        }
        for cell in 0..size.cells() {
            clauses.add_exactly_one(
                &clauses.digits().map(|digit| clauses.holds(cell, digit)).collect::<Vec<_>>(),
            );
        }
        for house in House::all(size) {
            for digit in clauses.digits() {
                let holders = house.cells(size).map(|cell| clauses.holds(cell, digit));
                clauses.add_exactly_one(&holders.collect::<Vec<_>>());
            }
        }
        clauses.add_cages(puzzle);
        clauses
    }

    fn add_cages(&mut self, puzzle: &Puzzle) {
        for cage in puzzle.cages() {
            let cells = cage.cells().iter().map(|cell| usize::from(*cell)).collect::<Vec<_>>();
            self.add_differing(&cells);
            if let Some(total) = cage.total() {
                self.add_total(&cells, total);
            }
        }
        if puzzle.cages().is_empty() {
            return;
        }
        for house in House::all(self.size) {
            let mut rest = house.cells(self.size).collect::<Vec<_>>();
            let mut sum = Some(self.digits().map(u32::from).sum::<u32>());
            for cage in puzzle.cages() {
                let is_inside = |cell: &u8| rest.contains(&usize::from(*cell));
                if let Some(total) = cage.total().filter(|_| cage.cells().iter().all(is_inside)) {
                    rest.retain(|cell| !cage.cells().contains(&(*cell as u8)));
                    sum = sum.and_then(|sum| sum.checked_sub(total));
                }
            }
            match sum {
                Some(sum) => self.add_total(&rest, sum),
                None => self.add(&[]),
            }
        }
    }

    /// No two of these cells hold the same digit.
    fn add_differing(&mut self, cells: &[usize]) {
        for (i, one) in cells.iter().enumerate() {
            for other in &cells[..i] {
                for digit in self.digits() {
                    self.add(&[!self.holds(*one, digit), !self.holds(*other, digit)]);
                }
            }
        }
    }

    /// These cells, no two of which hold the same digit, add up to `total`.
    fn add_total(&mut self, cells: &[usize], total: u32) {
        let among = self.digits().map(|digit| {
            let among = self.variable();
            for &cell in cells {
                self.add(&[!self.holds(cell, digit), among]);
            }
            let holders = cells.iter().map(|cell| self.holds(*cell, digit));
            self.add(&holders.chain([!among]).collect::<Vec<_>>());
            among
        });
        let among = among.collect::<Vec<_>>();
        let sets = sets(self.size.side(), cells.len(), total);
        let chosen = sets.iter().map(|_| self.variable()).collect::<Vec<_>>();
        self.add_exactly_one(&chosen);
        for (place, among) in among.iter().enumerate() {
            let has = |set: &u16| set >> place & 1 == 1;
            for (set, chosen) in sets.iter().zip(&chosen) {
                self.add(&[!*chosen, if has(set) { *among } else { !*among }]);
            }
            // A digit that is in all sets that are left is in the cage, and one in none is not.
            let with = |wanted: bool| {
                let sets = sets.iter().zip(&chosen).filter(move |(set, _)| has(set) == wanted);
                sets.map(|(_, chosen)| *chosen)
            };
            let (with, without) = (with(true), with(false));
            self.add(&with.chain([!*among]).collect::<Vec<_>>());
            self.add(&without.chain([*among]).collect::<Vec<_>>());
        }
    }

    fn add_exactly_one(&mut self, literals: &[Lit]) {
        self.add(literals);
        for (i, one) in literals.iter().enumerate() {
            for other in &literals[..i] {
                self.add(&[!*one, !*other]);
            }
        }
    }

    /// Some cell differs from this board.
    fn exclude(&mut self, board: &[u8]) {
        let cells = board.iter().enumerate().map(|(cell, digit)| !self.holds(cell, *digit));
        self.add(&cells.collect::<Vec<_>>());
    }

    /// One of these is true. Contradictions show in the next [`Clauses::solution`].
    fn add(&mut self, literals: &[Lit]) {
        self.solver.add_clause_reuse(&mut literals.to_vec());
    }

    fn variable(&mut self) -> Lit {
        Lit::new(self.solver.new_var_default(), true)
    }

    fn digits(&self) -> impl Iterator<Item = u8> + use<S> {
        1..=self.size.side() as u8
    }

    /// The cell holds the digit.
    fn holds(&self, cell: usize, digit: u8) -> Lit {
        self.holds[cell * self.size.side() + usize::from(digit) - 1]
    }

    /// A board that fits all clauses, if there is one.
    fn solution(&mut self) -> Result<Option<Vec<u8>>, Stopped> {
        let answer = self.solver.solve_limited(&[]);
        if answer == lbool::FALSE {
            return Ok(None);
        }
        if answer != lbool::TRUE {
            return Err(Stopped);
        }
        let held = |cell| {
            let is_held =
                |digit: &u8| self.solver.value_lit(self.holds(cell, *digit)) == lbool::TRUE;
            self.digits().find(is_held).unwrap_or(0)
        };
        Ok(Some((0..self.size.cells()).map(held).collect()))
    }
}

/// The sets of `count` digits up to `most` that add up to `total`: bit 0 is for digit 1.
fn sets(most: usize, count: usize, total: u32) -> Vec<u16> {
    let sum =
        |set: &u16| -> u32 { (0..16).map(|place| u32::from(set >> place & 1) * (place + 1)).sum() };
    let sets = (0..=u16::MAX >> (16 - most)).filter(|set| set.count_ones() as usize == count);
    sets.filter(|set| sum(set) == total).collect()
}
