//! Killers: drawings, and the strings of PS and SumoCue.

use super::{Listed, Place, ReadError, lines, trim};
use crate::Kind;
use crate::board::{CELLS_9, Cell, Unreadable};
use crate::format::killer::{self, Diagram};
use crate::format::lines::{integer, is_blank};
use crate::format::quote::Quoted;
use crate::format::{CaseText, Found, Limits, Reader};
use crate::puzzle::{Alphabet, Cage, Invalid, Puzzle};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// How a drawing begins; the frame of a plain grid has longer strokes.
pub(super) const BORDER_START: &[u8] = b"+---+---+---+---+";

/// The start of a SumoCue string.
const SUMOCUE: &[u8] = b"SumoCueV1";

/// Reads a file of drawings. The cells of a drawing may be blank.
pub(super) fn drawings(text: &[u8]) -> Result<Vec<Listed>, ReadError> {
    let mut found = Found::default();
    Reader::new(Some(Kind::Killer), Limits::default()).read(text, true, &mut found);
    let mut listed = Vec::new();
    for case in &found.cases {
        let number = listed.len() + 1;
        let unreadable = |why: &Unreadable| ReadError {
            number,
            place: Place::Text { line: why.line, column: why.column },
            message: why.message.to_string(),
            is_invalid: false,
        };
        let diagram = match &case.text {
            CaseText::Unreadable(why) => Err(unreadable(why)),
            _ => killer::diagram(&text[case.start..case.end], case.line)
                .map_err(|why| unreadable(&why)),
        }?;
        listed.push(of_drawing(&diagram, case.line, number)?.into());
    }
    Ok(listed)
}

/// The puzzle of a drawing that begins in line `line`.
fn of_drawing(diagram: &Diagram, line: u64, number: usize) -> Result<Puzzle, ReadError> {
    let mut givens = [0; CELLS_9];
    let mut cages = vec![Vec::new(); diagram.cages.len()];
    for (index, text) in diagram.cells.iter().enumerate() {
        givens[index] = match text {
            b'1'..=b'9' => text - b'0',
            b' ' | b'.' | b'0' | b'*' | b'_' | b'-' | b'X' | b'x' => 0,
            _ => {
                let cell = Cell::of_9(index);
                let found = Quoted(core::slice::from_ref(text));
                let message = format!("expected `1` to `9` or a blank in {cell}, found {found}");
                let line = line + 2 * u64::from(cell.row) + 1;
                return Err(ReadError::at(number, line, usize::from(cell.column) * 4 + 3, message));
            }
        };
        cages[usize::from(diagram.cage_of[index])].push(index as u8);
    }
    let totals = diagram.cages.iter().map(|cage| Some(cage.total));
    puzzle(&givens, cages.into_iter().zip(totals))
        .map_err(|why| ReadError::invalid(number, Place::Text { line, column: 1 }, &why))
}

fn puzzle(
    givens: &[u8],
    cages: impl Iterator<Item = (Vec<u8>, Option<u32>)>,
) -> Result<Puzzle, Invalid> {
    let cages = cages.map(|(cells, total)| Cage::new(cells, total)).collect::<Result<_, _>>()?;
    Puzzle::new(Alphabet::OneToNine, givens)?.with_cages(cages)
}

/// Whether a line is a killer string.
pub(super) fn is_string(line: &[u8]) -> bool {
    let size = line.split(|byte| *byte == b':').next().unwrap_or(line);
    let mut sides = size.split(|byte| *byte == b'x').map(integer);
    line.starts_with(SUMOCUE)
        || size.len() < line.len()
            && matches!(
                (sides.next(), sides.next(), sides.next()),
                (Some(Some(_)), Some(Some(_)), None)
            )
}

/// Reads a file with a killer string a line.
pub(super) fn strings(text: &[u8]) -> Result<Vec<Listed>, ReadError> {
    let mut listed = Vec::new();
    for (line, content) in lines(text).filter(|(_, content)| !is_blank(content)) {
        let number = listed.len() + 1;
        let text = trim(content);
        let start = content.len() - super::trim_start(content).len();
        let error = |at: usize, message| ReadError::at(number, line, start + at + 1, message);
        let cages = match text.strip_prefix(SUMOCUE) {
            Some(entries) => sumocue(entries).map_err(|(at, why)| (at + SUMOCUE.len(), why)),
            None if is_string(text) => ps(text),
            None => Err((0, format!("expected a PS or SumoCueV1 string, found {}", Quoted(text)))),
        };
        let cages = cages.map_err(|(at, why)| error(at, why))?;
        let puzzle = puzzle(&[0; CELLS_9], cages.into_iter()).map_err(|why| {
            ReadError::invalid(number, Place::Text { line, column: start as u64 + 1 }, &why)
        })?;
        listed.push(puzzle.into());
    }
    Ok(listed)
}

/// Cages as they are read: their cells and totals.
type Cages = Vec<(Vec<u8>, Option<u32>)>;

/// What is wrong, and at which byte of the string.
type Problem = (usize, String);

/// The cages of `3x3::k:768:768:...:`: a number a cell, 256 times the total of its cage and the
/// number of that cage; less than 256 where the cell has none.
fn ps(text: &[u8]) -> Result<Cages, Problem> {
    let mut at = 0;
    let mut fields = text.split(|byte| *byte == b':').map(|field| {
        let start = at;
        at += field.len() + 1;
        (start, field)
    });
    for (expected, what) in [("3x3", "a 9x9 board"), ("", "no other rules"), ("k", "a killer")] {
        let (at, field) = fields.next().unwrap_or((text.len(), b""));
        if field != expected.as_bytes() {
            let name = if field == b"d" { " (diagonals, which are not judged)" } else { "" };
            let message = format!(
                "expected `{expected}` for {what} in `3x3::k:`, found {}{name}",
                Quoted(field)
            );
            return Err((at, message));
        }
    }
    // By number, the cells and the total.
    let mut cages = vec![(Vec::new(), None); 256];
    for cell in 0..CELLS_9 {
        let (at, field) = fields.next().unwrap_or((text.len(), b""));
        let Some(value) = integer(field) else {
            let message = format!(
                "expected a number for {}, {} of the {CELLS_9} in `3x3::k:`, found {}",
                Cell::of_9(cell),
                cell + 1,
                Quoted(field)
            );
            return Err((at, message));
        };
        let (total, cage) = (value / 256, &mut cages[(value % 256) as usize]);
        if total == 0 {
            continue;
        }
        if let Some(other) = cage.1.replace(total).filter(|other| *other != total) {
            let message = format!(
                "expected one total a cage, found {total} and {other} for cage {} of {}",
                value % 256,
                Cell::of_9(cell)
            );
            return Err((at, message));
        }
        cage.0.push(cell as u8);
    }
    match (fields.next(), fields.next()) {
        (None, _) | (Some((_, b"")), None) => {}
        (Some((at, _)), _) => {
            return Err((at, format!("expected the end after {CELLS_9} numbers, found more")));
        }
    }
    cages.retain(|(cells, _)| !cells.is_empty());
    Ok(cages)
}

/// The cages of `=3+0=7+2...`: the total for the first cell of a cage, and for each other cell one
/// that is in the same cage, from 0. `=0` stands for a cage without a total, or no cage.
fn sumocue(entries: &[u8]) -> Result<Cages, Problem> {
    let mut at = 0;
    // By cell, its total or its neighbour, and where it says so.
    let mut of_cells = Vec::with_capacity(CELLS_9);
    while at < entries.len() && of_cells.len() < CELLS_9 {
        let cell = Cell::of_9(of_cells.len());
        let sign = entries[at];
        let digits = entries[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let value = integer(&entries[at + 1..][..digits]);
        let entry = match (sign, value) {
            (b'=', Some(total)) => Ok(total),
            (b'+', Some(other)) if (other as usize) < CELLS_9 => Err(other as usize),
            _ => {
                let found = Quoted(&entries[at..][..(digits + 1).min(entries.len() - at)]);
                let message = format!(
                    "expected `=` and a total or `+` and a cell from 0 to 80 for {cell}, found {found}"
                );
                return Err((at, message));
            }
        };
        of_cells.push((entry, at));
        at += 1 + digits;
        if entries.get(at) == Some(&b'J') {
            let message =
                "expected a killer with boxes, found `J`: a jigsaw, whose regions are not judged";
            return Err((at, message.into()));
        }
    }
    if of_cells.len() < CELLS_9 || at < entries.len() {
        let found = if at < entries.len() { "more".into() } else { of_cells.len().to_string() };
        return Err((at, format!("expected {CELLS_9} cells in SumoCueV1, found {found}")));
    }
    if of_cells.iter().all(|(entry, _)| entry.is_ok()) {
        let message =
            "expected cages in SumoCueV1, found none of two cells: write givens as 81 characters";
        return Err((0, message.into()));
    }
    let mut cages = vec![(Vec::new(), None); CELLS_9];
    for cell in 0..CELLS_9 {
        let mut head = cell;
        let mut steps = 0;
        let total = loop {
            match of_cells[head].0 {
                Ok(total) => break total,
                Err(_) if steps > CELLS_9 => {
                    let message = format!(
                        "expected a total for the cage of {}, found a loop",
                        Cell::of_9(cell)
                    );
                    return Err((of_cells[cell].1, message));
                }
                Err(next) => (head, steps) = (next, steps + 1),
            }
        };
        cages[head].0.push(cell as u8);
        cages[head].1 = Some(total).filter(|total| *total > 0);
    }
    // A cell alone without a total is in no cage.
    cages.retain(|(cells, total)| cells.len() > 1 || cells.len() == 1 && total.is_some());
    Ok(cages)
}
