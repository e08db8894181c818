//! From a line to cells, and from cells to digits.

use super::{ReadError, trim};
use crate::format::quote::Quoted;
use crate::puzzle::{Alphabet, Size};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

/// What stands between cells.
const SEPARATORS: &[u8] = b" \t\xA0,;|";

/// What stands for an open cell, beside `0` where that is no digit.
const BLANKS: &[u8] = b".*_-Xx";

/// The longest line with cells: more than any layout needs, and little enough that a file of one
/// line takes little memory.
const LINE_BYTES_MAX: usize = 4_096;

/// A cell as it is written; empty where two separators have nothing between them.
#[derive(Clone, Copy)]
pub(super) struct Cell<'a> {
    pub text: &'a [u8],
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: usize,
}

/// Whether so many cells are a row or a whole grid.
pub(super) fn is_count(cells: usize) -> bool {
    size_of(cells).is_some()
}

/// The size of the grid of which so many cells are a row, or the whole.
pub(super) fn size_of(cells: usize) -> Option<Size> {
    let fits = |size: &Size| cells == size.side() || cells == size.cells();
    [Size::Nine, Size::Sixteen].into_iter().find(fits)
}

/// The cells of a line: its fields if it has separators for them, else its words, else its
/// characters. The number of cells may be wrong.
///
/// # Errors
///
/// The line is too long. `number` is that of the puzzle.
pub(super) fn split(content: &[u8], line: u64, number: usize) -> Result<Vec<Cell<'_>>, ReadError> {
    if content.len() > LINE_BYTES_MAX {
        let message =
            format!("expected a line of at most {LINE_BYTES_MAX} bytes, found a longer one");
        return Err(ReadError::at(number, line, LINE_BYTES_MAX + 1, message));
    }
    if let Some(fields) = fields(content, line) {
        return Ok(fields);
    }
    let mut words = Vec::new();
    let mut at = 0;
    for word in content.split(|byte| SEPARATORS.contains(byte)) {
        // The first byte of a no-break space in UTF-8.
        let text = word.strip_suffix(b"\xC2").unwrap_or(word);
        if !text.is_empty() {
            words.push(Cell { text, line, column: at + 1 });
        }
        at += word.len() + 1;
    }
    if is_count(words.len()) && words.iter().all(|word| word.text.len() <= 2) {
        return Ok(words);
    }
    let characters = words.iter().flat_map(|word| {
        let columns = word.column..;
        word.text.chunks(1).zip(columns).map(|(text, column)| Cell { text, line, column })
    });
    Ok(characters.collect())
}

/// The fields of a line with as many separators of one kind as a row needs: then an empty field is
/// an open cell.
fn fields(content: &[u8], line: u64) -> Option<Vec<Cell<'_>>> {
    let framed = trim(content);
    let is_framed = framed.len() > 1 && framed.starts_with(b"|") && framed.ends_with(b"|");
    let inside = if is_framed { &framed[1..framed.len() - 1] } else { framed };
    let candidates = [(b',', content), (b';', content), (b'\t', content), (b'|', inside)];
    let (separator, text) = candidates.into_iter().find(|(separator, text)| {
        is_count(text.iter().filter(|byte| *byte == separator).count() + 1)
    })?;
    let start = text.as_ptr() as usize - content.as_ptr() as usize;
    let mut at = start;
    let fields = text.split(|byte| *byte == separator).map(|field| {
        let text = trim(field);
        let blanks = field.len() - super::trim_start(field).len();
        let column = at + 1 + if text.is_empty() { 0 } else { blanks };
        at += field.len() + 1;
        Cell { text, line, column }
    });
    Some(fields.collect())
}

/// Whether a line is part of a frame: nothing but `+`, `-`, `=`, `*`, `|` and `:`, and no row of
/// open cells.
pub(crate) fn is_frame(line: &[u8]) -> bool {
    let has = |bytes: &[u8]| line.iter().any(|byte| bytes.contains(byte));
    let is_cell = |byte: &&u8| !SEPARATORS.contains(byte);
    line.iter().all(|byte| b"+-=*|: ".contains(byte))
        && has(b"-=")
        && (has(b"+=:") || !is_count(line.iter().filter(is_cell).count()))
}

/// The digit of a cell; 0 if it is open, `None` if it is neither.
fn digit(cell: &Cell, alphabet: Alphabet) -> Option<u8> {
    alphabet.digit(cell.text).or_else(|| blank(cell).map(|_| 0))
}

/// The character by which a cell is open: a blank, or two of the same. An empty cell has a blank.
fn blank(cell: &Cell) -> Option<u8> {
    let (first, rest) = match cell.text {
        [] => return Some(b' '),
        [first, rest @ ..] => (*first, rest),
    };
    let is_blank = BLANKS.contains(&first) || first == b'0';
    (is_blank && rest.iter().all(|byte| *byte == first)).then_some(first.to_ascii_uppercase())
}

/// The givens of a grid, and how its digits are written. `declared` is what is known of that.
pub(super) fn givens(
    cells: &[Cell],
    size: Size,
    declared: Option<Alphabet>,
    number: usize,
) -> Result<(Alphabet, Vec<u8>), ReadError> {
    let first = |message| {
        let (line, column) = cells.first().map_or((1, 1), |cell| (cell.line, cell.column));
        ReadError::at(number, line, column, message)
    };
    let alphabets = match (size, declared) {
        (Size::Nine, None) => vec![Alphabet::OneToNine],
        (_, Some(alphabet)) if alphabet.size() != size => {
            let side = size.side();
            let message =
                format!("the alphabet {alphabet} is declared, but this grid is {side}x{side}");
            return Err(first(message));
        }
        (_, Some(alphabet)) => vec![alphabet],
        (Size::Sixteen, None) => {
            Alphabet::SIXTEEN.into_iter().filter(|alphabet| fits(cells, *alphabet)).collect()
        }
    };
    let alphabet = match alphabets[..] {
        [alphabet] => alphabet,
        [] => return Err(first(no_alphabet(cells))),
        _ => {
            let words = alphabets.iter().map(|alphabet| alphabet.word()).collect::<Vec<_>>();
            let message = format!(
                "the digits of this 16x16 grid may be those of {}: declare which (--alphabet)",
                words.join(" or of ")
            );
            return Err(first(message));
        }
    };
    let read = |cell| digit(cell, alphabet).ok_or_else(|| wrong_cell(cell, alphabet, number));
    Ok((alphabet, cells.iter().map(read).collect::<Result<_, _>>()?))
}

/// Whether every cell is a digit of this alphabet or open, and all open ones look alike.
///
/// A grid with `0` and another blank character would have two kinds of blanks if `0` were no digit.
fn fits(cells: &[Cell], alphabet: Alphabet) -> bool {
    let mut open = None;
    cells.iter().all(|cell| {
        alphabet.digit(cell.text).is_some()
            || blank(cell).is_some_and(|found| *open.get_or_insert(found) == found)
    })
}

/// Why a 16x16 grid has no alphabet.
fn no_alphabet(cells: &[Cell]) -> String {
    let is_known =
        |cell: &&Cell| Alphabet::SIXTEEN.iter().any(|known| digit(cell, *known).is_some());
    match cells.iter().find(|cell| !is_known(cell)) {
        Some(cell) => format!(
            "expected digits of 0-F, 1-G, A-P or 1-16, found {} in line {}, column {}",
            Quoted(cell.text),
            cell.line,
            cell.column
        ),
        None => "the digits of this 16x16 grid are not all of one of 0-F, 1-G, A-P and 1-16".into(),
    }
}

fn wrong_cell(cell: &Cell, alphabet: Alphabet, number: usize) -> ReadError {
    let zero = if alphabet.digit(b"0").is_some() { "" } else { "`0`, " };
    let message = format!(
        "expected a digit of {alphabet}, or `.`, {zero}`*`, `_`, `-` or `X` for an open cell, found {}",
        Quoted(cell.text)
    );
    ReadError::at(number, cell.line, cell.column, message)
}
