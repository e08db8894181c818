//! Entries for a given puzzle: right ones, near misses, and ones for another puzzle.

use super::Options;
use super::random::Random;
use crate::Kind;
use crate::board::Size;
use crate::puzzle::text::{self, Format, WriteError};
use crate::puzzle::{Alphabet, Cage, Puzzle};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// How an entry is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// As its kind has it: below its givens, in a drawing with its cages, or as a board of 16 rows.
    Own,
    /// All cells on a line.
    Line,
    /// A row a line.
    Rows,
    /// A row a line, with blanks between the cells; 9x9 only.
    Spaced,
    /// A row a line, with lines drawn between the boxes; 9x9 only.
    Framed,
}

impl Layout {
    /// All layouts.
    pub const ALL: [Layout; 5] =
        [Layout::Own, Layout::Line, Layout::Rows, Layout::Spaced, Layout::Framed];

    /// The word for this layout on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Layout::Own => "own",
            Layout::Line => "line",
            Layout::Rows => "rows",
            Layout::Spaced => "spaced",
            Layout::Framed => "framed",
        }
    }

    /// Whether a board of this size is written so.
    pub const fn is_for(self, size: Size) -> bool {
        matches!(size, Size::Nine) || !matches!(self, Layout::Spaced | Layout::Framed)
    }
}

/// The word is not that of a [`Layout`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLayout;

impl fmt::Display for UnknownLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of own, line, rows, spaced and framed")
    }
}

impl core::error::Error for UnknownLayout {}

impl FromStr for Layout {
    type Err = UnknownLayout;

    fn from_str(word: &str) -> Result<Self, UnknownLayout> {
        Layout::ALL.into_iter().find(|layout| layout.word() == word).ok_or(UnknownLayout)
    }
}

/// How an entry is made wrong.
#[derive(Clone, Copy, PartialEq)]
enum Defect {
    /// An open cell holds another digit.
    Changed,
    /// Two open cells of a row have changed places.
    Swapped,
    /// An open cell is blank.
    Blank,
    /// A given is another digit.
    Given,
    /// It brings another puzzle along: other givens, or a cage with another total.
    Foreign,
}

const DEFECTS: [Defect; 5] =
    [Defect::Changed, Defect::Swapped, Defect::Blank, Defect::Given, Defect::Foreign];

/// A stream of entries for a puzzle with a known solution.
///
/// ```
/// use gridmark_core::generate::{Entries, Layout, Options};
/// use gridmark_core::puzzle::text;
///
/// let line = b"53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
/// let solved = b"534678912672195348198342567859761423426853791713924856961537284287419635345286179";
/// let puzzle = text::read(line, None)?.remove(0).puzzle;
/// let puzzle = puzzle.with_key(&solved.map(|digit| digit - b'0'))?;
/// let mut entries = Entries::new(puzzle, Layout::Line, &Options::default())?;
/// let (mut text, mut answers) = (Vec::new(), Vec::new());
/// entries.append(1, &mut text, &mut answers);
/// assert_eq!((&text[..81], &answers[..]), (&solved[..], &b"correct\n"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Entries {
    puzzle: Puzzle,
    layout: Layout,
    random: Random,
    /// An entry is wrong if 32 random bits are below this.
    faulty_below: u64,
}

impl Entries {
    /// A stream of entries for this puzzle, whose first key is the solution. `faulty` of the options is the share
    /// of wrong ones.
    ///
    /// # Errors
    ///
    /// No solution is known, or entries for such a puzzle cannot be written so.
    pub fn new(puzzle: Puzzle, layout: Layout, options: &Options) -> Result<Entries, WriteError> {
        let refuse = |message: &str| Err(WriteError { number: 1, message: message.into() });
        if puzzle.keys().is_empty() {
            return refuse("its solution is not known");
        }
        if !layout.is_for(puzzle.size()) {
            return refuse("the layouts spaced and framed are for 9x9; use rows or line");
        }
        if layout == Layout::Own && puzzle.kind() == Kind::Killer {
            text::write(Format::Killer, &[puzzle.clone().into()])?;
        }
        let random = Random::new(options.seed);
        Ok(Entries { puzzle, layout, random, faulty_below: options.faulty_below() })
    }

    /// Appends entries to `text`, and a line for each to `answers`: `correct`, `wrong` or `foreign-puzzle`.
    pub fn append(&mut self, entries: u64, text: &mut Vec<u8>, answers: &mut Vec<u8>) {
        for _ in 0..entries {
            let is_faulty = self.random.next() >> 32 < self.faulty_below;
            let defect = is_faulty.then(|| self.random.pick(&DEFECTS));
            let answer = self.append_one(defect, text);
            answers.extend_from_slice(answer.as_bytes());
            answers.push(b'\n');
        }
    }

    fn append_one(&mut self, defect: Option<Defect>, text: &mut Vec<u8>) -> &'static str {
        let Entries { puzzle, random, .. } = self;
        let mut digits = puzzle.keys()[0].clone();
        let (givens, side) = (puzzle.givens(), puzzle.size().side());
        let cells_where =
            |is_given: bool| (0..givens.len()).filter(move |cell| (givens[*cell] != 0) == is_given);
        let open = cells_where(false).collect::<Vec<_>>();
        let given = cells_where(true).collect::<Vec<_>>();
        let mut brought = puzzle.clone();
        let mut answer = if defect.is_some() { "wrong" } else { "correct" };
        let change = |digits: &mut [u8], cells: &[usize], random: &mut Random| {
            let cell = random.pick(cells);
            digits[cell] = (digits[cell] as usize + random.below(side - 1)) as u8 % side as u8 + 1;
        };
        let all = (0..givens.len()).collect::<Vec<_>>();
        let of = |cells: &[usize]| if cells.is_empty() { all.clone() } else { cells.to_vec() };
        match defect {
            Some(Defect::Swapped) => {
                let cell = random.pick(&of(&open));
                let in_row = of(&open).into_iter().filter(|other| other / side == cell / side);
                let others = in_row.filter(|other| *other != cell).collect::<Vec<_>>();
                match others[..] {
                    [] => change(&mut digits, &[cell], random),
                    _ => digits.swap(cell, random.pick(&others)),
                }
            }
            Some(Defect::Blank) => digits[random.pick(&of(&open))] = 0,
            Some(Defect::Given) => change(&mut digits, &of(&given), random),
            Some(Defect::Foreign) if self.layout == Layout::Own => {
                if let Some(other) = another(puzzle, random) {
                    (brought, answer) = (other, "foreign-puzzle");
                } else {
                    change(&mut digits, &of(&open), random);
                }
            }
            Some(Defect::Changed | Defect::Foreign) => change(&mut digits, &of(&open), random),
            None => {}
        }
        self.write(&brought, &digits, text);
        answer
    }

    /// Writes the digits of an entry that brings this puzzle along.
    fn write(&self, brought: &Puzzle, digits: &[u8], text: &mut Vec<u8>) {
        let (alphabet, side) = (brought.alphabet(), brought.size().side());
        let blank = match brought.size() {
            Size::Nine => ".",
            Size::Sixteen => "-",
        };
        let name = |digit: &u8| if *digit == 0 { blank } else { alphabet.name(*digit) };
        let rows = |between: &dyn Fn(usize) -> &'static str| -> String {
            let row = |(number, row): (usize, &[u8])| {
                let cells = row.iter().enumerate();
                let cells = cells.map(|(column, digit)| between(column).to_string() + name(digit));
                let above = if between(3).contains('|') && number % 3 == 0 && number > 0 {
                    "------+-------+------\n"
                } else {
                    ""
                };
                format!("{above}{}\n", cells.collect::<String>())
            };
            digits.chunks(side).enumerate().map(row).collect()
        };
        let is_spaced = alphabet == Alphabet::OneToSixteen;
        let plain = |column| if is_spaced && column > 0 { " " } else { "" };
        let written = match (self.layout, brought.kind()) {
            (Layout::Own, Kind::Classic) => {
                let given = |given: &u8| if *given == 0 { "*" } else { alphabet.name(*given) };
                let puzzle = brought.givens().chunks(side);
                let puzzle = puzzle.map(|row| row.iter().map(given).collect::<String>() + "\n");
                format!("1\n{}{}", puzzle.collect::<String>(), rows(&plain))
            }
            (Layout::Own, Kind::Killer) => {
                let entry = Puzzle::new(alphabet, digits)
                    .and_then(|entry| entry.with_cages(brought.cages().to_vec()));
                let written = entry.map(|entry| text::write(Format::Killer, &[entry.into()]));
                written.ok().and_then(Result::ok).unwrap_or_default()
            }
            (Layout::Own, Kind::Hexudoku) => rows(&plain),
            (Layout::Line, _) => {
                let between = if is_spaced { " " } else { "" };
                digits.iter().map(name).collect::<Vec<_>>().join(between) + "\n"
            }
            (Layout::Rows, _) => rows(&plain),
            (Layout::Spaced, _) => rows(&|column| if column == 0 { "" } else { " " }),
            (Layout::Framed, _) => rows(&|column| match column {
                0 => "",
                3 | 6 => " | ",
                _ => " ",
            }),
        };
        text.extend_from_slice(written.as_bytes());
        let apart = matches!(self.layout, Layout::Framed)
            || brought.size() == Size::Sixteen && self.layout != Layout::Line;
        if apart {
            text.push(b'\n');
        }
    }
}

/// Another puzzle: a given less or more, or a cage with another total. `None` if an entry of its kind brings
/// neither along.
fn another(puzzle: &Puzzle, random: &mut Random) -> Option<Puzzle> {
    match puzzle.kind() {
        Kind::Hexudoku => None,
        Kind::Classic => {
            let mut givens = puzzle.givens().to_vec();
            let cell = random.below(givens.len());
            givens[cell] = if givens[cell] == 0 { puzzle.keys()[0][cell] } else { 0 };
            Puzzle::new(puzzle.alphabet(), &givens).ok()
        }
        Kind::Killer => {
            let mut cages = puzzle.cages().to_vec();
            let cage = random.below(cages.len());
            let cells = cages[cage].cells().to_vec();
            let total = cages[cage].total()?;
            cages[cage] = Cage::new(cells, Some(total + 1)).ok()?;
            Puzzle::new(puzzle.alphabet(), puzzle.givens()).and_then(|it| it.with_cages(cages)).ok()
        }
    }
}
