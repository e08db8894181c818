//! A search for the solutions of a puzzle with nine digits and no cages.
//!
//! The state is, for each digit, the set of cells that may still hold it: nine sets, copied at each
//! branch. Cells with one digit left (naked singles) are found for all cells at once, by counting in
//! bits; digits with one place left in a house (hidden singles) by one intersection each. Where
//! neither is left, the search branches where there are fewest choices. Puzzles of people need
//! hardly any branch, and the hardest known ones some hundred.

use crate::board::cells::{ALL, Cells, each};
use crate::board::{CELLS_9, HOUSES_9};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// What is known of the solutions of a puzzle: completed boards in reading order, digits from 1 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Solutions {
    /// There is none.
    None,
    /// There is exactly one.
    One(Vec<u8>),
    /// There are at least these two, which differ.
    Many(Box<[Vec<u8>; 2]>),
    /// The search was stopped before anything was proved; one solution may be known.
    Unproven(Option<Vec<u8>>),
}

/// The cells of each house.
static HOUSES: [Cells; 27] = {
    let mut houses = [0; 27];
    let mut i = 0;
    while i < 27 * 9 {
        houses[i / 9] |= 1 << HOUSES_9[i / 9][i % 9];
        i += 1;
    }
    houses
};

/// The cells that share a house with each cell, without itself.
static PEERS: [Cells; CELLS_9] = {
    let mut peers = [0; CELLS_9];
    let mut i = 0;
    while i < CELLS_9 * 27 {
        let (cell, house) = (i / 27, HOUSES[i % 27]);
        if house >> cell & 1 == 1 {
            peers[cell] |= house & !(1 << cell);
        }
        i += 1;
    }
    peers
};

/// Searches for solutions of a puzzle without cages, at most two: `givens` are digits from 1 to 9;
/// any other number stands for an open cell.
///
/// `go_on` is asked before each branch; once it says no, the search ends with
/// [`Solutions::Unproven`], unless two solutions are known.
///
/// ```
/// use gridmark_core::puzzle::{Solutions, search};
/// let mut givens = [0; 81];
/// assert!(matches!(search(&givens, &mut || true), Solutions::Many(_)));
/// assert_eq!(search(&givens, &mut || false), Solutions::Unproven(None));
/// (givens[..9]).copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 0]);
/// givens[17] = 9;
/// assert_eq!(search(&givens, &mut || true), Solutions::None);
/// ```
pub fn search(givens: &[u8; CELLS_9], go_on: &mut dyn FnMut() -> bool) -> Solutions {
    let mut search = Search { go_on, stopped: false, first: None, second: None };
    let mut state = State { places: [ALL; 9], placed: 0 };
    for (cell, given) in givens.iter().enumerate() {
        let digit = given.wrapping_sub(1);
        if digit < 9 && !state.place(usize::from(digit), cell) {
            return Solutions::None;
        }
    }
    search.explore(state);
    match (search.first, search.second) {
        (Some(first), Some(second)) => Solutions::Many(Box::new([first, second])),
        (first, _) if search.stopped => Solutions::Unproven(first),
        (Some(only), None) => Solutions::One(only),
        (None, _) => Solutions::None,
    }
}

struct Search<'a> {
    go_on: &'a mut dyn FnMut() -> bool,
    stopped: bool,
    first: Option<Vec<u8>>,
    second: Option<Vec<u8>>,
}

impl Search<'_> {
    /// Collects the solutions of a state, until two are known or the caller stops it.
    fn explore(&mut self, mut state: State) {
        let branches = match state.reduce() {
            Reduced::Contradiction => return,
            Reduced::Solved if self.first.is_none() => return self.first = Some(state.digits()),
            Reduced::Solved => return self.second = Some(state.digits()),
            Reduced::Branches(branches) => branches,
        };
        for (digit, cell) in branches.choices() {
            if !(self.go_on)() {
                self.stopped = true;
            }
            if self.stopped || self.second.is_some() {
                return;
            }
            let mut next = state;
            if next.place(digit, cell) {
                self.explore(next);
            }
        }
    }
}

/// What is known: for each digit the cells that may hold it, and the cells that hold one for sure.
#[derive(Clone, Copy)]
struct State {
    places: [Cells; 9],
    placed: Cells,
}

enum Reduced {
    Contradiction,
    Solved,
    Branches(Branches),
}

/// Choices of which exactly one is right.
enum Branches {
    /// The digits, as bits, that a cell may hold.
    Digits { digits: u16, cell: usize },
    /// The cells of a house that may hold a digit.
    Places { digit: usize, cells: Cells },
}

impl Branches {
    fn choices(&self) -> impl Iterator<Item = (usize, usize)> {
        let (mut digits, cell, digit, mut cells) = match *self {
            Branches::Digits { digits, cell } => (digits, cell, 0, 0),
            Branches::Places { digit, cells } => (0, 0, digit, cells),
        };
        core::iter::from_fn(move || {
            if digits != 0 {
                let digit = digits.trailing_zeros() as usize;
                digits &= digits - 1;
                return Some((digit, cell));
            }
            let cell = cells.trailing_zeros() as usize;
            cells &= cells.wrapping_sub(1);
            (cell < CELLS_9).then_some((digit, cell))
        })
    }
}

impl State {
    /// Puts a digit into a cell; false if it cannot be there.
    fn place(&mut self, digit: usize, cell: usize) -> bool {
        let bit = 1 << cell;
        if self.places[digit] & bit == 0 {
            return false;
        }
        self.places[digit] &= !PEERS[cell];
        for (other, places) in self.places.iter_mut().enumerate() {
            *places &= !(bit * Cells::from(other != digit));
        }
        self.placed |= bit;
        true
    }

    /// Places singles until none is left.
    fn reduce(&mut self) -> Reduced {
        loop {
            // The cells with at least one, two and three digits left.
            let (mut one, mut two, mut three) = (0, 0, 0);
            for places in self.places {
                three |= two & places;
                two |= one & places;
                one |= places;
            }
            if one != ALL {
                return Reduced::Contradiction;
            }
            let naked = one & !two & !self.placed;
            for digit in 0..9 {
                for cell in each(naked & self.places[digit]) {
                    if !self.place(digit, cell) {
                        return Reduced::Contradiction;
                    }
                }
            }
            if self.placed == ALL {
                return Reduced::Solved;
            }
            if naked != 0 {
                continue;
            }
            match self.place_hidden() {
                Hidden::Contradiction => return Reduced::Contradiction,
                Hidden::Placed => {}
                Hidden::None { pair } => {
                    return Reduced::Branches(match (each(two & !three).next(), pair) {
                        (Some(cell), _) => self.digits_of(cell),
                        (None, Some((digit, cells))) => Branches::Places { digit, cells },
                        (None, None) => self.fewest_digits(),
                    });
                }
            }
        }
    }

    /// Places the digits that have one place left in a house.
    fn place_hidden(&mut self) -> Hidden {
        let (mut placed, mut pair) = (false, None);
        for digit in 0..9 {
            for house in HOUSES {
                let cells = house & self.places[digit];
                match cells.count_ones() {
                    0 => return Hidden::Contradiction,
                    1 if cells & self.placed == 0 => {
                        self.place(digit, cells.trailing_zeros() as usize);
                        placed = true;
                    }
                    2 => pair = pair.or(Some((digit, cells))),
                    _ => {}
                }
            }
        }
        if placed { Hidden::Placed } else { Hidden::None { pair } }
    }

    fn digits_of(&self, cell: usize) -> Branches {
        let bits = self.places.iter().zip(0..).map(|(places, digit)| {
            let is_left = (*places >> cell) as u16 & 1;
            is_left << digit
        });
        Branches::Digits { digits: bits.sum(), cell }
    }

    /// The choices of an open cell that has the fewest.
    fn fewest_digits(&self) -> Branches {
        let count =
            |cell: &usize| -> Cells { self.places.iter().map(|places| places >> cell & 1).sum() };
        self.digits_of(each(ALL & !self.placed).min_by_key(count).unwrap_or(0))
    }

    /// The digits of a solved state.
    fn digits(&self) -> Vec<u8> {
        let mut digits = vec![0; CELLS_9];
        for (places, digit) in self.places.iter().zip(1..) {
            each(*places).for_each(|cell| digits[cell] = digit);
        }
        digits
    }
}

enum Hidden {
    Contradiction,
    Placed,
    /// There is none; perhaps a digit that has two places left in a house.
    None {
        pair: Option<(usize, Cells)>,
    },
}
