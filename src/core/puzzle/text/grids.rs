//! Lists of grids: lines, blocks, frames, and what stands around them in `.sdk`.

use super::cells::{self, Cell};
use super::{Listed, ReadError, count, lines, trim};
use crate::format::lines::is_blank;
use crate::format::quote::Quoted;
use crate::puzzle::{Alphabet, Puzzle, Size};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Reads all grids.
pub(super) fn read(text: &[u8], alphabet: Option<Alphabet>) -> Result<Vec<Listed>, ReadError> {
    let mut list = List { alphabet, ..List::default() };
    let mut last = 1;
    for (line, content) in lines(text) {
        list.line(content, line)?;
        last = line;
    }
    if let Some(size) = list.size {
        let found = count(list.rows, "row");
        let message = format!("expected {} rows of a grid, found {found}", size.side());
        return Err(ReadError::at(list.number(), last, 1, message));
    }
    if list.listed.is_empty() {
        return Err(ReadError::at(1, last, 1, "expected a puzzle, found none"));
    }
    Ok(list.listed)
}

/// What was read so far.
#[derive(Default)]
struct List<'a> {
    alphabet: Option<Alphabet>,
    listed: Vec<Listed>,
    /// The size of the grid of which some rows are read.
    size: Option<Size>,
    rows: usize,
    cells: Vec<Cell<'a>>,
    title: Option<String>,
    author: Option<String>,
    /// Whether the lines are a player's state, not the puzzle.
    in_state: bool,
}

impl<'a> List<'a> {
    /// The number of the puzzle that is being read.
    fn number(&self) -> usize {
        self.listed.len() + 1
    }

    fn line(&mut self, content: &'a [u8], line: u64) -> Result<(), ReadError> {
        let trimmed = trim(content);
        if self.size.is_none() && self.heading(trimmed) || self.in_state {
            return Ok(());
        }
        // A row of empty fields is blank, too.
        if !cells::is_count(content.split(|byte| *byte == b'\t').count())
            && (is_blank(content) || cells::is_frame(trimmed))
        {
            return self.gap(trimmed, line);
        }
        let found = cells::split(content, line, self.number())?;
        let row_of = |size: Size| if found.len() == size.side() { Some(size) } else { None };
        let size = match self.size {
            Some(size) if found.len() == size.side() => size,
            Some(size) => {
                let expected = format!("row {} of a grid, {} cells", self.rows + 1, size.side());
                return Err(self.wrong_row(&expected, content, &found, line));
            }
            None => match cells::size_of(found.len()) {
                Some(size) if row_of(size).is_some() => size,
                Some(size) => {
                    self.cells = found;
                    return self.finish(size);
                }
                None => {
                    let expected = "a row of 9 or 16 cells, or a line of 81 or 256";
                    return Err(self.wrong_row(expected, content, &found, line));
                }
            },
        };
        self.size = Some(size);
        self.rows += 1;
        self.cells.extend(found);
        if self.rows == size.side() { self.finish(size) } else { Ok(()) }
    }

    /// A blank line or a frame: a blank line may stand between bands of a grid, not inside one.
    fn gap(&self, trimmed: &[u8], line: u64) -> Result<(), ReadError> {
        match self.size {
            Some(size) if trimmed.is_empty() && !self.rows.is_multiple_of(size.box_side()) => {
                let message =
                    format!("expected row {} of a grid, found a blank line", self.rows + 1);
                Err(ReadError::at(self.number(), line, 1, message))
            }
            _ => Ok(()),
        }
    }

    /// Takes a line between grids that is none of theirs: `#A author`, `#D description`, other `#`
    /// lines, and the names of sections.
    fn heading(&mut self, trimmed: &[u8]) -> bool {
        if let Some(comment) = trimmed.strip_prefix(b"#") {
            let text = |bytes: &[u8]| {
                let text = String::from_utf8_lossy(trim(bytes)).into_owned();
                (!text.is_empty()).then_some(text)
            };
            match comment {
                [b'A', rest @ ..] => self.author = text(rest),
                [b'D', rest @ ..] => self.title = text(rest),
                _ => {}
            }
            return true;
        }
        let is_puzzle = trimmed.eq_ignore_ascii_case(b"[Puzzle]");
        let is_state = trimmed.eq_ignore_ascii_case(b"[State]") && !self.listed.is_empty();
        if is_puzzle || is_state {
            self.in_state = is_state;
        }
        is_puzzle || is_state
    }

    fn finish(&mut self, size: Size) -> Result<(), ReadError> {
        let cells = core::mem::take(&mut self.cells);
        let (alphabet, givens) = cells::givens(&cells, size, self.alphabet, self.number())?;
        let puzzle = Puzzle::new(alphabet, &givens).map_err(|why| {
            let place = super::Place::Text { line: cells[0].line, column: cells[0].column as u64 };
            ReadError::invalid(self.number(), place, &why)
        })?;
        let (title, author) = (self.title.take(), self.author.take());
        self.listed.push(Listed { puzzle, title, author, rules: None });
        (self.size, self.rows) = (None, 0);
        Ok(())
    }

    fn wrong_row(&self, expected: &str, content: &[u8], found: &[Cell], line: u64) -> ReadError {
        let column = found.first().map_or(1, |cell| cell.column);
        let cells = count(found.len(), "cell");
        let message = format!("expected {expected}, found {cells} in {}", Quoted(trim(content)));
        ReadError::at(self.number(), line, column, message)
    }
}
