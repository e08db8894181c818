//! Puzzles for these tests, and how they are read.

use gridmark::puzzle::certify::prove;
use gridmark::puzzle::{Limits, read};
use gridmark_core::Kind;
use gridmark_core::generate::Puzzles;
use gridmark_core::puzzle::text::Listed;
use gridmark_core::puzzle::{Alphabet, Cage, Puzzle};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// A solved grid.
pub const SOLVED: &str =
    "123456789456789123789123456234567891567891234891234567345678912678912345912345678";

/// The same with blanks in it.
pub const LINE: &str =
    ".23.56.89.56.89.23.89.23.56234567891567891234891234567345678912678912345912345678";

/// The digits of a text, 0 for everything else.
pub fn digits(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if byte.is_ascii_digit() { byte - b'0' } else { 0 }).collect()
}

/// The puzzle of [`LINE`].
pub fn plain() -> Puzzle {
    Puzzle::new(Alphabet::OneToNine, &digits(LINE)).unwrap()
}

/// A killer without givens whose cages are dominoes of [`SOLVED`], the last cell of a row alone.
pub fn dominoes() -> Puzzle {
    let solved = digits(SOLVED);
    let mut cages = Vec::new();
    for row in 0..9 {
        for first in [0, 2, 4, 6, 8] {
            let cells = (first..(first + 2).min(9)).map(|column| row * 9 + column);
            let total = cells.clone().map(|cell| u32::from(solved[cell as usize])).sum();
            cages.push(Cage::new(cells, Some(total)).unwrap());
        }
    }
    Puzzle::new(Alphabet::OneToNine, &[0; 81]).unwrap().with_cages(cages).unwrap()
}

/// The digits of a solved 16x16 grid, from 1 on.
pub fn solved_16() -> Vec<u8> {
    (0..256)
        .map(|i| (i / 16, i % 16))
        .map(|(r, c)| ((4 * (r % 4) + r / 4 + c) % 16) as u8 + 1)
        .collect()
}

/// The puzzles of a text that has to be readable.
pub fn listed(text: &str) -> Vec<Listed> {
    read(text.as_bytes(), None, Limits::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The only puzzle of a text.
pub fn one(text: &str) -> Puzzle {
    let [listed] = <[Listed; 1]>::try_from(listed(text)).unwrap();
    listed.puzzle
}

/// Why a text cannot be read.
pub fn error(text: impl AsRef<[u8]>) -> String {
    match read(text.as_ref(), None, Limits::default()) {
        Ok(listed) => panic!("{listed:?}\n{}", String::from_utf8_lossy(text.as_ref())),
        Err(error) => error.to_string(),
    }
}

/// A puzzle with exactly one solution, without it, and the solution.
pub fn generated(kind: Kind, seed: u64) -> (Puzzle, Vec<u8>) {
    static KNOWN: LazyLock<Mutex<HashMap<(Kind, u64), Puzzle>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let puzzle = known.entry((kind, seed)).or_insert_with(|| {
        Puzzles::new(kind, seed).next(&mut |puzzle: &Puzzle| prove(puzzle, || false).unwrap())
    });
    let solution = puzzle.keys()[0].clone();
    let plain = Puzzle::new(puzzle.alphabet(), puzzle.givens()).unwrap();
    (plain.with_cages(puzzle.cages().to_vec()).unwrap(), solution)
}
