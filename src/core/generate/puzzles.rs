//! Puzzles with exactly one solution.
//!
//! A puzzle starts from a solved board, with fewer givens than it needs. While it has another solution,
//! a cell in which that one differs is given. So each proof leads to the next given, and the last proof
//! is the certificate.

use super::cages::Cages;
use super::grids::Grids;
use super::hexudoku;
use super::random::Random;
use crate::Kind;
use crate::board::CELLS_9;
use crate::puzzle::{Alphabet, Cage, Invalid, Puzzle, Solutions};
use alloc::vec;
use alloc::vec::Vec;

/// How many givens a puzzle starts with, by kind: far fewer than it needs.
const GIVENS_9: usize = 16;
const GIVENS_16: usize = 80;

/// A stream of puzzles of one kind.
///
/// ```
/// use gridmark_core::Kind;
/// use gridmark_core::generate::Puzzles;
/// use gridmark_core::puzzle::{Puzzle, Solutions, search};
///
/// let mut prove = |puzzle: &Puzzle| {
///     search(puzzle.givens().try_into().expect("81 cells"), &mut || true)
/// };
/// let puzzle = Puzzles::new(Kind::Classic, 7).next(&mut prove);
/// assert_eq!(prove(&puzzle), Solutions::One(puzzle.keys()[0].clone()));
/// ```
pub struct Puzzles {
    kind: Kind,
    random: Random,
    grids: Grids,
}

/// What a puzzle is made from.
struct Draft {
    alphabet: Alphabet,
    solution: Vec<u8>,
    cages: Vec<Cage>,
    givens: Vec<u8>,
}

impl Puzzles {
    /// A generator at the start of its stream.
    pub fn new(kind: Kind, seed: u64) -> Puzzles {
        let mut random = Random::new(seed);
        let grids = Grids::new(&mut random);
        Puzzles { kind, random, grids }
    }

    /// The next puzzle, with its solution as key. No given of a classic one can be left out.
    ///
    /// `prove` counts solutions, up to two; where it gives up, one more cell is given. The same seed
    /// and the same proofs give the same puzzles.
    ///
    /// # Panics
    ///
    /// If a board that was made solved is not, which would be a mistake of this module.
    pub fn next(&mut self, prove: &mut dyn FnMut(&Puzzle) -> Solutions) -> Puzzle {
        self.attempt(prove).expect("a solved board keeps the rules of its puzzle")
    }

    fn attempt(&mut self, prove: &mut dyn FnMut(&Puzzle) -> Solutions) -> Result<Puzzle, Invalid> {
        let mut draft = self.draft()?;
        loop {
            let solutions = prove(&draft.puzzle()?);
            let open = (0..draft.givens.len()).filter(|cell| draft.givens[*cell] == 0);
            let differing = open.filter(|&cell| match &solutions {
                Solutions::Many(two) => two.iter().any(|one| one[cell] != draft.solution[cell]),
                Solutions::One(_) => false,
                Solutions::None | Solutions::Unproven(_) => true,
            });
            let differing = differing.collect::<Vec<_>>();
            if differing.is_empty() {
                break;
            }
            draft.give(self.random.pick(&differing));
        }
        if self.kind == Kind::Classic {
            let mut cells = (0..CELLS_9).collect::<Vec<_>>();
            self.random.shuffle(&mut cells);
            for cell in cells.into_iter().filter(|cell| draft.givens[*cell] > 0).collect::<Vec<_>>()
            {
                draft.givens[cell] = 0;
                if !matches!(prove(&draft.puzzle()?), Solutions::One(_)) {
                    draft.give(cell);
                }
            }
        }
        draft.puzzle()?.with_key(&draft.solution)
    }

    /// A solved board with cages or a few givens.
    fn draft(&mut self) -> Result<Draft, Invalid> {
        let random = &mut self.random;
        let draft = |alphabet, solution: Vec<u8>, cages| {
            let givens = vec![0; solution.len()];
            Draft { alphabet, solution, cages, givens }
        };
        let (mut draft, givens) = match self.kind {
            Kind::Hexudoku => {
                let solution = hexudoku::solved(random).map(|digit| digit + 1).to_vec();
                (draft(Alphabet::ZeroToF, solution, Vec::new()), GIVENS_16)
            }
            Kind::Classic | Kind::Killer => {
                let grid = self.grids.solved(random);
                let solution = grid.map(|digit| digit - b'0').to_vec();
                let mut cages = Vec::new();
                if self.kind == Kind::Killer {
                    let divided = Cages::for_puzzle(&grid, random);
                    for (cells, sum) in divided.members().zip(divided.sums(&grid)) {
                        cages.push(Cage::new(cells.map(|cell| cell as u8), Some(sum))?);
                    }
                }
                let givens = if self.kind == Kind::Killer { 0 } else { GIVENS_9 };
                (draft(Alphabet::OneToNine, solution, cages), givens)
            }
        };
        let mut cells = (0..draft.solution.len()).collect::<Vec<_>>();
        random.shuffle(&mut cells);
        cells.iter().take(givens).for_each(|cell| draft.give(*cell));
        Ok(draft)
    }
}

impl Draft {
    fn give(&mut self, cell: usize) {
        self.givens[cell] = self.solution[cell];
    }

    fn puzzle(&self) -> Result<Puzzle, Invalid> {
        Puzzle::new(self.alphabet, &self.givens)?.with_cages(self.cages.clone())
    }
}
