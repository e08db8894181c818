//! What the tests of the core share: seeded random numbers, boards, and functions that grade a
//! text.

use super::oracle;
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::format::{Found, Limits, Reader};
use gridmark_core::judge::{Judge, Tier};

/// Random numbers that a seed repeats: splitmix64.
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// A correct grid, as text, in reading order.
pub fn correct_grid(chance: &mut Chance) -> Vec<u8> {
    let mut digits = *b"123456789";
    chance.shuffle(&mut digits);
    let mut lines = || {
        let mut bands = [[0, 1, 2], [3, 4, 5], [6, 7, 8]];
        bands.iter_mut().for_each(|band| chance.shuffle(band));
        chance.shuffle(&mut bands);
        bands.concat()
    };
    let (rows, columns) = (lines(), lines());
    let cell = |row: &usize, column: &usize| digits[(row * 3 + row / 3 + column) % 9];
    rows.iter().flat_map(|row| columns.iter().map(move |column| cell(row, column))).collect()
}

/// A grid whose rows and columns are correct, and whose boxes are all wrong.
pub fn cyclic_square() -> Vec<u8> {
    (0..81).map(|i| b'1' + ((i / 9 + i % 9) % 9) as u8).collect()
}

/// Nine rows, each ended by `end`.
pub fn rows(grid: &[u8], end: &[u8]) -> Vec<u8> {
    grid.chunks(9).flat_map(|row| [row, end].concat()).collect()
}

/// A classic block of one puzzle and some solutions.
pub fn block(givens: &[u8], solutions: &[Vec<u8>]) -> Vec<u8> {
    let mut text = format!("{}\n", solutions.len()).into_bytes();
    text.extend(rows(givens, b"\n"));
    solutions.iter().for_each(|solution| text.extend(rows(solution, b"\n")));
    text
}

/// The drawing of `grid`, with the walls to the right of and below each cell.
pub fn drawing(grid: &[u8], right: &[bool], below: &[bool]) -> String {
    let border = "+---".repeat(9) + "+\n";
    let mut text = border.clone();
    for row in 0..9 {
        text.push('|');
        for cell in row * 9..row * 9 + 9 {
            let wall = cell % 9 == 8 || right[cell];
            text.push_str(&format!(" {} {}", char::from(grid[cell]), if wall { '|' } else { ' ' }));
        }
        text.push('\n');
        if row < 8 {
            for wall in &below[row * 9..row * 9 + 9] {
                text.push_str(if *wall { "+---" } else { "+   " });
            }
            text.push_str("+\n");
        }
    }
    text + &border
}

/// The drawing with correct totals for its cages, in random order.
pub fn with_totals(drawing: String, chance: &mut Chance) -> String {
    let lines = drawing.lines().collect::<Vec<_>>();
    let mut totals = Vec::new();
    for cage in oracle::cages(&lines) {
        let digit = |(row, column): &(usize, usize)| {
            u32::from(lines[2 * row + 1].as_bytes()[4 * column + 2]).saturating_sub(48)
        };
        let total = cage.iter().map(digit).sum::<u32>();
        let (row, column) = chance.pick(&cage);
        totals.push(format!("{} {} {total}\n", row + 1, column + 1));
    }
    chance.shuffle(&mut totals);
    drawing + &totals.concat()
}

/// A correct diagram: walls are removed as long as the digits of each cage differ.
pub fn correct_diagram(chance: &mut Chance) -> String {
    let grid = correct_grid(chance);
    let (mut right, mut below) = (vec![true; 81], vec![true; 81]);
    let mut cage_of = (0..81).collect::<Vec<_>>();
    let mut walls = (0..81).flat_map(|cell| [(cell, 1), (cell, 9)]).collect::<Vec<_>>();
    chance.shuffle(&mut walls);
    for (cell, step) in walls {
        let other = cell + step;
        if (step == 1 && cell % 9 == 8) || other > 80 || chance.one_in(3) {
            continue;
        }
        let (a, b) = (cage_of[cell], cage_of[other]);
        let members = (0..81).filter(|i| cage_of[*i] == a || cage_of[*i] == b);
        let mut digits = members.map(|i| grid[i]).collect::<Vec<_>>();
        let count = digits.len();
        digits.sort();
        digits.dedup();
        if digits.len() == count {
            cage_of.iter_mut().filter(|cage| **cage == b).for_each(|cage| *cage = a);
            if step == 1 { right[cell] = false } else { below[cell] = false }
        }
    }
    with_totals(drawing(&grid, &right, &below), chance)
}

/// A diagram with walls anywhere, and some cells that may be wrong.
pub fn any_diagram(chance: &mut Chance) -> String {
    let mut grid = correct_grid(chance);
    for _ in 0..chance.below(4) {
        grid[chance.below(81)] = chance.pick(b"123456789 x0");
    }
    let odds = 2 + chance.below(8);
    let mut walls = || (0..81).map(|_| !chance.one_in(odds)).collect::<Vec<_>>();
    let (right, below) = (walls(), walls());
    with_totals(drawing(&grid, &right, &below), chance)
}

/// The 16 rows of a board with about one digit in `odds` cells.
pub fn any_board(chance: &mut Chance, odds: usize) -> Vec<String> {
    let mut row = || {
        let cell = |_| match chance.one_in(odds) {
            true => char::from(chance.pick(b"0123456789ABCDEFabcdef")),
            false => '-',
        };
        (0..16).map(cell).collect()
    };
    (0..16).map(|_| row()).collect()
}

/// A case: its place in the file, and its mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Graded {
    pub start: u64,
    pub end: u64,
    pub line: u64,
    pub block_end: bool,
    pub mark: Mark,
}

impl Graded {
    /// The code of the first fault and its cell, or of why it is unreadable and `line:column`; else
    /// the verdict.
    pub fn outcome(&self) -> (&'static str, String) {
        match &self.mark {
            Mark::Wrong(faults) => (faults[0].code(), faults[0].at().unwrap().to_string()),
            Mark::Unreadable(why) => (why.code.code(), format!("{}:{}", why.line, why.column)),
            mark => (mark.verdict().word(), String::new()),
        }
    }
}

/// Adds the marks of what was found in a window that starts at byte `offset` of the file.
pub fn mark_found(window: &[u8], offset: u64, found: &Found, graded: &mut Vec<Graded>) {
    let mut marks = Vec::new();
    Judge::new(Tier::best()).mark(window, &found.cases, &found.puzzles, &mut marks);
    assert_eq!(marks.len(), found.cases.len());
    graded.extend(found.cases.iter().zip(marks).map(|(case, mark)| Graded {
        start: offset + case.start as u64,
        end: offset + case.end as u64,
        line: case.line,
        block_end: case.block_end,
        mark,
    }));
}

/// Grades a whole file in one window.
pub fn grade(kind: Option<Kind>, limits: Limits, text: &[u8]) -> Vec<Graded> {
    let mut reader = Reader::new(kind, limits);
    let mut found = Found::default();
    assert_eq!(reader.read(text, true, &mut found), text.len());
    assert_eq!(reader.offset(), text.len() as u64);
    let mut graded = Vec::new();
    mark_found(text, 0, &found, &mut graded);
    graded
}

/// The outcome of each case of a file whose kind is recognised.
pub fn outcomes(text: impl AsRef<[u8]>) -> Vec<(&'static str, String)> {
    grade(None, Limits::default(), text.as_ref()).iter().map(Graded::outcome).collect()
}

/// The outcome of each case of a file whose kind is forced.
pub fn outcomes_as(kind: Kind, text: impl AsRef<[u8]>) -> Vec<(&'static str, String)> {
    grade(Some(kind), Limits::default(), text.as_ref()).iter().map(Graded::outcome).collect()
}

/// What `gridmark judge` prints for a file.
pub fn answers(kind: Kind, text: &[u8]) -> String {
    let mut answers = String::new();
    for case in grade(None, Limits::default(), text) {
        answers.push_str(&case.mark.answer(kind));
        if case.block_end {
            answers.push('\n');
        }
    }
    answers
}

/// `text` with other line ends: each `\n` becomes the next of `ends`, over and over.
pub fn with_ends(text: &[u8], ends: &[&[u8]]) -> Vec<u8> {
    let mut ends = ends.iter().cycle();
    let line = |line: &[u8]| match line.strip_suffix(b"\n") {
        Some(line) => [line, ends.next().unwrap()].concat(),
        None => line.to_vec(),
    };
    text.split_inclusive(|byte| *byte == b'\n').flat_map(line).collect()
}
