//! Cases made from a seed, with their correct answers.
//!
//! The answers follow from how a case is made, or come from a slow check of this module's own,
//! never from [`crate::judge`]: so each can be tested against the other.
//!
//! Searching for a solved grid is slow, so a generator searches for a few only, and shuffles those:
//! digits are renamed, and rows, columns, bands and stacks change places, which leaves a grid
//! solved. A faulty case is a correct one with one defect, picked from a list that reaches every
//! rule, some of which break nothing else: a judge that forgets a rule is noticed.
//!
//! A seed stands for the same bytes on every machine and for ever, since benchmarks and bug reports
//! quote seeds. So every random number comes from a published generator, and the order in which
//! numbers are drawn must not change.

mod cages;
mod classic;
mod entries;
mod grids;
mod hexudoku;
mod killer;
mod puzzles;
mod random;

use crate::Kind;
use alloc::vec::Vec;
pub use entries::{Entries, Layout, UnknownLayout};
use grids::Grids;
pub use puzzles::Puzzles;
use random::Random;

/// What a [`Generator`] makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The share of cases that are faulty, from 0 to 1; for hexudoku, of boards that start with
    /// conflicts. Values outside count as the nearer end, and what is not a number as 0.
    pub faulty: f64,
    /// The same seed gives the same bytes, on every machine.
    pub seed: u64,
    /// Solutions in a classic block, from 1 (0 counts as 1). The last block of a call may be
    /// smaller.
    pub solutions_per_block: u32,
}

impl Options {
    /// A case is faulty if 32 random bits are below this.
    fn faulty_below(&self) -> u64 {
        // A product with a power of two is exact; what is not a number becomes 0.
        (self.faulty.clamp(0.0, 1.0) * 4_294_967_296.0) as u64
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { faulty: 0.0, seed: 0, solutions_per_block: 10 }
    }
}

/// A stream of cases of one kind, with their answers.
///
/// ```
/// use gridmark_core::Kind;
/// use gridmark_core::generate::{Generator, Options};
///
/// let mut generator = Generator::new(Kind::Classic, Options { seed: 7, ..Options::default() });
/// let (mut text, mut answers) = (Vec::new(), Vec::new());
/// generator.append(12, &mut text, &mut answers);
/// assert!(text.starts_with(b"10\n"));
/// assert_eq!(answers, b"YYYYYYYYYY\nYY\n");
/// ```
pub struct Generator {
    kind: Kind,
    sources: Sources,
    solutions_per_block: u32,
}

/// What all kinds are made from.
struct Sources {
    random: Random,
    grids: Grids,
    /// A case is faulty if 32 random bits are below this.
    faulty_below: u64,
}

impl Sources {
    fn next_is_faulty(&mut self) -> bool {
        self.random.next() >> 32 < self.faulty_below
    }
}

impl Generator {
    /// A generator at the start of its stream.
    pub fn new(kind: Kind, options: Options) -> Generator {
        let mut random = Random::new(options.seed);
        let grids = Grids::new(&mut random);
        Generator {
            kind,
            sources: Sources { random, grids, faulty_below: options.faulty_below() },
            solutions_per_block: options.solutions_per_block.max(1),
        }
    }

    /// The kind of the cases.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Appends `cases` cases to `text`, and what `gridmark judge` prints for them to `answers`.
    ///
    /// Classic cases come in whole blocks, of which the last one may be smaller. The stream does
    /// not depend on how many cases each call asks for, as long as every call but the last asks for
    /// whole blocks.
    pub fn append(&mut self, cases: u64, text: &mut Vec<u8>, answers: &mut Vec<u8>) {
        let sources = &mut self.sources;
        match self.kind {
            Kind::Killer => (0..cases).for_each(|_| killer::append(sources, text, answers)),
            Kind::Hexudoku => (0..cases).for_each(|_| hexudoku::append(sources, text, answers)),
            Kind::Classic => {
                let mut left = cases;
                while left > 0 {
                    let solutions = left.min(u64::from(self.solutions_per_block));
                    classic::append(sources, solutions, text, answers);
                    left -= solutions;
                }
            }
        }
    }
}
