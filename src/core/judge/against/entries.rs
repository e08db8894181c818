//! From a file to its entries.
//!
//! The first line that is not blank says whether a file has the kind's own form. Everything else is a list of
//! grids by themselves, of numbers (Lazy Larry's task), or of lines with the marked cells.

use super::{Against, Digits, unreadable};
use crate::Kind;
use crate::board::{
    Alphabet, CELLS_9, Cell, Fault, Found as FoundInCell, Grid, Mark, Size, UnreadableCode,
};
use crate::format::bare;
use crate::format::classic::Solution;
use crate::format::detect::{encoding, kind_by_line};
use crate::format::lines::{integer, is_blank, next_line, trim_end, trim_start, without_marks};
use crate::format::quote::Quoted;
use crate::format::{Case, CaseText, Found, Limits, Puzzle, Reader, classic, hexudoku as boards};
use crate::judge::hexudoku;
use crate::puzzle::Task;
use crate::puzzle::text::cells::is_frame;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

/// What stands between the digits of marked cells.
const SEPARATORS: &[u8] = b" \t,;|\xA0";

/// How much of a file is looked through at a time, in bytes: as much as caches hold.
const WINDOW_BYTES: usize = 1 << 20;

/// One entry of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The number of its first line in the file, from 1.
    pub line: u64,
    /// Its mark.
    pub mark: Mark,
    /// Its digits, if it is a whole board that is wrong.
    pub digits: Option<Digits>,
}

impl Entry {
    /// The only entry of a file.
    fn first(mark: Mark) -> Entry {
        Entry { line: 1, mark, digits: None }
    }
}

impl Against {
    /// The marks of all entries of a file, at least one, in their order. The file is in memory as a whole.
    pub fn entries(&self, text: &[u8], limits: Limits) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.each_entry(text, limits, |entry| entries.push(entry));
        entries
    }

    /// Calls `each` with each of the [`entries`](Against::entries) of a file.
    pub fn each_entry(&self, text: &[u8], limits: Limits, mut each: impl FnMut(Entry)) {
        let unknown = |message| unreadable(UnreadableCode::UnknownFormat, 1, 1, message);
        if let Some(Err(name)) = encoding(text, true) {
            let message = format!(
                "expected text in UTF-8 or ASCII, found {name}; save it as UTF-8 and hand it in again"
            );
            return each(Entry::first(unknown(message)));
        }
        let text = without_marks(text);
        let first = lines(text).find(|line| !is_blank(line.content));
        let Some(first) = first else {
            return each(Entry::first(unknown("the file is empty".into())));
        };
        if self.puzzle.task() == Task::Larry {
            let board = self.puzzle.board();
            let filled = board.map_or(0, |mut board| hexudoku::fill(&mut board).filled);
            return each_line(text, |content, line| number(content, line, filled.into()), each);
        }
        if !self.puzzle.marked().is_empty() {
            return match self.read_grid(text, 1) {
                Ok(digits) => {
                    let marked = self.puzzle.marked().iter();
                    let found = marked.map(|cell| digits[cell.index(self.puzzle.size())]).collect();
                    each(Entry::first(self.marked(found)));
                }
                Err(_) => each_line(text, |content, line| self.marked_line(content, line), each),
            };
        }
        let own = match (kind_by_line(trim_end(first.content)), self.puzzle.size()) {
            (Some(kind @ (Kind::Killer | Kind::Classic)), Size::Nine) => Some(kind),
            (Some(Kind::Hexudoku), Size::Sixteen) => {
                (self.puzzle.alphabet() == Alphabet::ZeroToF).then_some(Kind::Hexudoku)
            }
            _ => None,
        };
        match own {
            Some(kind) => self.each_case(text, kind, limits, each),
            None => self.each_grid(text, each),
        }
    }

    /// The cases of a file in the form of a kind.
    fn each_case(&self, text: &[u8], kind: Kind, limits: Limits, mut each: impl FnMut(Entry)) {
        let mut reader = Reader::new(Some(kind), limits);
        let mut found = Found::default();
        let (mut start, mut bytes) = (0, WINDOW_BYTES);
        while start < text.len() {
            let window = &text[start..];
            let is_last = window.len() <= bytes;
            let window = &window[..window.len().min(bytes)];
            found.clear();
            let consumed = reader.read(window, is_last, &mut found);
            for case in &found.cases {
                let (mark, digits) = self.case(window, case, &found.puzzles);
                each(Entry { line: case.line, mark, digits });
            }
            if is_last {
                break;
            }
            start += consumed;
            // A case may be longer than a window.
            bytes = if consumed == 0 { bytes * 2 } else { WINDOW_BYTES };
        }
    }

    /// The mark of a case, as a reader found it in this window.
    fn case(&self, window: &[u8], case: &Case, puzzles: &[Puzzle]) -> (Mark, Option<Digits>) {
        let content = &window[case.start..case.end];
        match &case.text {
            CaseText::Unreadable(why) => (Mark::Unreadable(why.clone()), None),
            CaseText::Killer => self.diagram(content, case.line),
            CaseText::Classic { puzzle } => {
                let givens = &puzzles[*puzzle].givens;
                let is_key = self.keys_in_rows.iter().any(|key| key == content);
                if is_key && self.givens.as_ref() == Some(givens) {
                    (Mark::Correct, None)
                } else {
                    self.solution(&classic::solution(content), givens)
                }
            }
            CaseText::Hexudoku => match boards::board(content, case.line) {
                Ok(board) => self.board(&board),
                // A grid by itself may begin with a row as this kind has it.
                Err(why) => match self.grid(content, case.line) {
                    (Mark::Unreadable(_), _) => (Mark::Unreadable(Box::new(why)), None),
                    read => read,
                },
            },
        }
    }

    /// The grids of a file that holds nothing else.
    fn each_grid(&self, text: &[u8], mut each: impl FnMut(Entry)) {
        let (mut at, mut line) = (0, 1);
        while at < text.len() {
            let rest = &text[at..];
            let blank = lines(rest).take_while(|line| is_blank(line.content)).last();
            if let Some(blank) = blank {
                at += blank.next;
                line += blank.number + 1;
                continue;
            }
            let (bytes, taken, (mark, digits)) = self.first_grid(rest, line);
            each(Entry { line, mark, digits });
            (at, line) = (at + bytes, line + taken);
        }
    }

    /// How many bytes and lines the grid takes with which `text` begins, in line `line` of the file, and its mark.
    fn first_grid(&self, text: &[u8], line: u64) -> (usize, u64, (Mark, Option<Digits>)) {
        if let (Some(givens), Some((cells, bytes, lines))) = (&self.givens, plain_grid(text)) {
            return (bytes, lines, self.mark_9(&Solution::of(cells), givens));
        }
        let (bytes, lines) = match self.puzzle.size() {
            Size::Nine => match bare::recognise(text) {
                Some(grid) => (grid.bytes, grid.lines),
                None => until_blank(text),
            },
            Size::Sixteen => rows_of_16(text),
        };
        (bytes, lines, self.grid(&text[..bytes], line))
    }

    /// Marks a line with the digits of the marked cells.
    fn marked_line(&self, content: &[u8], line: u64) -> Mark {
        let alphabet = self.puzzle.alphabet();
        let words = content.split(|byte| SEPARATORS.contains(byte)).filter(|word| !word.is_empty());
        let tokens: Vec<&[u8]> = match alphabet {
            Alphabet::OneToSixteen => words.collect(),
            _ => words.flat_map(|word| word.chunks(1)).collect(),
        };
        let expected = self.puzzle.marked().len();
        if tokens.len() != expected {
            let message = format!(
                "expected the digits of the {expected} marked cells, found {} in {}",
                tokens.len(),
                Quoted(content)
            );
            return unreadable(UnreadableCode::BadCharacter, line, 1, message);
        }
        self.marked(tokens.iter().map(|token| alphabet.digit(token).unwrap_or(0)).collect())
    }

    /// Marks the digits of the marked cells by the nearest solution that is known.
    fn marked(&self, found: Digits) -> Mark {
        let (size, alphabet) = (self.puzzle.size(), self.puzzle.alphabet());
        let marked = self.puzzle.marked();
        let wrong_in = |key: &Vec<u8>| {
            let pairs = marked.iter().zip(&found);
            pairs.filter(|(cell, digit)| key[cell.index(size)] != **digit).count()
        };
        let Some(key) = self.puzzle.keys().iter().min_by_key(|key| wrong_in(key)) else {
            let message = "expected a puzzle whose solution is known, to compare marked cells with";
            return unreadable(UnreadableCode::UnknownFormat, 1, 1, message.into());
        };
        let (blank, wrong): (Vec<_>, Vec<_>) = marked
            .iter()
            .zip(&found)
            .filter(|(cell, digit)| key[cell.index(size)] != **digit)
            .partition(|(_, digit)| **digit == 0);
        let blank = blank.into_iter().map(|(cell, _): (&Cell, _)| Fault::NotADigit {
            cell: *cell,
            found: FoundInCell::Byte(b' '),
        });
        let wrong = wrong.into_iter().map(|(cell, digit)| Fault::WrongDigit {
            cell: *cell,
            found: *digit,
            alphabet,
        });
        super::super::wrong_or_correct(blank.chain(wrong).collect())
    }
}

/// The mark of each line of a file that is not blank.
fn each_line(text: &[u8], mark: impl Fn(&[u8], u64) -> Mark, mut each: impl FnMut(Entry)) {
    for line in lines(text).filter(|line| !is_blank(line.content)) {
        let number = line.number + 1;
        let mark = mark(trim_start(trim_end(line.content)), number);
        each(Entry { line: number, mark, digits: None });
    }
}

/// Marks how many cells Lazy Larry fills, as an entry says; it is `filled`.
fn number(content: &[u8], line: u64, filled: u32) -> Mark {
    match integer(content) {
        Some(found) if found == filled => Mark::Correct,
        Some(found) => Mark::Wrong(vec![Fault::WrongNumber { found }]),
        None => {
            let message = format!(
                "expected one number, how many cells Larry fills, found {}",
                Quoted(content)
            );
            unreadable(UnreadableCode::BadCount, line, 1, message)
        }
    }
}

/// The completed 9x9 grid with which `text` begins, if it is written in nine rows of nine digits or on a line, with
/// nothing between; and how many bytes and lines it takes.
fn plain_grid(text: &[u8]) -> Option<(Grid, usize, u64)> {
    let line = || {
        let (cells, rest) = text.split_first_chunk::<CELLS_9>()?;
        let end = match rest {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => return None,
        };
        Some((*cells, CELLS_9 + end, 1))
    };
    let (cells, bytes, lines) = plain_rows(text).or_else(line)?;
    let all_digits = cells.iter().fold(true, |all, cell| all & matches!(cell, b'1'..=b'9'));
    all_digits.then_some((cells, bytes, lines))
}

/// The nine rows of nine bytes with which `text` begins, and how many bytes and lines they take. All end in LF, or
/// all in CRLF.
fn plain_rows(text: &[u8]) -> Option<(Grid, usize, u64)> {
    match text.get(9)? {
        b'\n' => rows_with_ends::<10>(text, b"\n"),
        _ => rows_with_ends::<11>(text, b"\r\n"),
    }
}

fn rows_with_ends<const PITCH: usize>(text: &[u8], end: &[u8]) -> Option<(Grid, usize, u64)> {
    let rows = text.as_chunks::<PITCH>().0.first_chunk::<9>()?;
    let mut cells = [0; CELLS_9];
    for (row, cells) in rows.iter().zip(cells.as_chunks_mut::<9>().0) {
        let (found, found_end) = row.split_first_chunk::<9>()?;
        if found_end != end {
            return None;
        }
        *cells = *found;
    }
    Some((cells, 9 * PITCH, 9))
}

/// A line of a text.
struct Line<'a> {
    content: &'a [u8],
    /// From 0.
    number: u64,
    /// Where the next line begins.
    next: usize,
}

fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let (mut rest, mut number) = (text, 0);
    core::iter::from_fn(move || {
        let content = next_line(&mut rest)?;
        number += 1;
        Some(Line { content, number: number - 1, next: text.len() - rest.len() })
    })
}

/// How many bytes and lines there are up to the next blank line.
fn until_blank(text: &[u8]) -> (usize, u64) {
    let filled = lines(text).take_while(|line| !is_blank(line.content));
    filled.last().map_or((text.len(), 1), |line| (line.next, line.number + 1))
}

/// How many bytes and lines a 16x16 grid takes: a line of all cells, or up to 16 rows, with frames between them,
/// and with blank lines between bands.
fn rows_of_16(text: &[u8]) -> (usize, u64) {
    const SIDE: usize = 16;
    let is_frame = |line: &[u8]| is_frame(trim_start(trim_end(line)));
    let (mut rows, mut end) = (0, (text.len(), 1));
    for line in lines(text) {
        if is_blank(line.content) {
            if rows % 4 != 0 {
                break;
            }
            continue;
        }
        if rows == SIDE && !is_frame(line.content) {
            break;
        }
        end = (line.next, line.number + 1);
        rows += usize::from(!is_frame(line.content));
        if line.content.len() >= SIDE * SIDE {
            break;
        }
    }
    end
}
