//! Work to grade, made from a seed, whose right answers are known by construction.
//!
//! Part of the pure core: no I/O, no clock, no threads. The answers come from how a case was made,
//! or from a slow check of this module's own, never from [`crate::judge`], so that each can be
//! held against the other.

mod cages;
mod classic;
mod grids;
mod hexudoku;
mod killer;
mod random;

use crate::Kind;
use alloc::vec::Vec;
use grids::Grids;
use random::Random;

/// What is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The share of cases that are broken, from 0 to 1; for hexudoku, of boards that start with
    /// conflicts. What lies outside is taken for the nearer end.
    pub faulty: f64,
    /// The same seed gives the same bytes, on every machine.
    pub seed: u64,
    /// Solutions in a classic block, from 1 (0 counts as 1). The last block of a call may be
    /// smaller.
    pub solutions_per_block: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { faulty: 0.0, seed: 0, solutions_per_block: 10 }
    }
}

/// A stream of cases with their answers.
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
    parts: Parts,
    solutions_per_block: u32,
}

/// What all kinds are made with.
struct Parts {
    random: Random,
    grids: Grids,
    /// A case is broken if 32 random bits are below this.
    faulty_below: u64,
}

impl Parts {
    fn draw_faulty(&mut self) -> bool {
        self.random.next() >> 32 < self.faulty_below
    }
}

impl Generator {
    /// A generator at the start of its stream.
    pub fn new(kind: Kind, options: Options) -> Generator {
        let mut random = Random::new(options.seed);
        let grids = Grids::new(&mut random);
        // A product with a power of two is exact; what is not a number becomes 0.
        let faulty_below = (options.faulty.clamp(0.0, 1.0) * 4_294_967_296.0) as u64;
        Generator {
            kind,
            parts: Parts { random, grids, faulty_below },
            solutions_per_block: options.solutions_per_block.max(1),
        }
    }

    /// The kind that is made.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Appends `cases` cases to `text`, and to `answers` what `gridmark judge` prints for them.
    ///
    /// For classic these are whole blocks, the last one smaller if need be; a stream is the same
    /// however it is cut into calls as long as each but the last asks for whole blocks.
    pub fn append(&mut self, cases: u64, text: &mut Vec<u8>, answers: &mut Vec<u8>) {
        let parts = &mut self.parts;
        match self.kind {
            Kind::Killer => (0..cases).for_each(|_| killer::append(parts, text, answers)),
            Kind::Hexudoku => (0..cases).for_each(|_| hexudoku::append(parts, text, answers)),
            Kind::Classic => {
                let mut left = cases;
                while left > 0 {
                    let solutions = left.min(u64::from(self.solutions_per_block));
                    classic::append(parts, solutions, text, answers);
                    left -= solutions;
                }
            }
        }
    }
}
