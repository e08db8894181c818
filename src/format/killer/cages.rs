//! The cages of a drawing, and the lines that tell their totals.

use super::{Cage, Diagram, bad};
use crate::board::{CELLS_9, Cell, Unreadable, UnreadableCode};
use crate::format::lines::{integer, is_blank, trim_end, trim_start};
use crate::format::quote::Quoted;

/// The row of a cell that no cell has: the cage has not been named.
const NOWHERE: Cell = Cell { row: u8::MAX, column: u8::MAX };

/// Numbers the cages, the connected regions of the drawing, in the order of their first cells.
pub(super) fn find(diagram: &mut Diagram) {
    // Union-find: each cell points to an earlier cell of its region, or to itself.
    let mut parent = std::array::from_fn::<u8, CELLS_9, _>(|cell| cell as u8);
    for row in 0..9 {
        let (right, below) = (diagram.walls.right[row], diagram.walls.below[row]);
        for column in 0..9 {
            let cell = row * 9 + column;
            if column < 8 && right >> column & 1 == 0 {
                join(&mut parent, cell, cell + 1);
            }
            if row < 8 && below >> column & 1 == 0 {
                join(&mut parent, cell, cell + 9);
            }
        }
    }
    diagram.cages.clear();
    for (cell, before) in parent.into_iter().enumerate() {
        let before = usize::from(before);
        diagram.cage_of[cell] = if before == cell {
            diagram.cages.push(Cage { first: Cell::of_9(cell), named: NOWHERE, total: 0 });
            (diagram.cages.len() - 1) as u8
        } else {
            diagram.cage_of[before]
        };
    }
}

/// Makes the regions of two cells one; the later root points to the earlier.
fn join(parent: &mut [u8; CELLS_9], a: usize, b: usize) {
    let (a, b) = (root(parent, a), root(parent, b));
    parent[a.max(b)] = a.min(b) as u8;
}

fn root(parent: &mut [u8; CELLS_9], mut cell: usize) -> usize {
    while usize::from(parent[cell]) != cell {
        let before = usize::from(parent[cell]);
        parent[cell] = parent[before];
        cell = before;
    }
    cell
}

/// Reads the lines under the drawing, each of which gives one cage its total.
///
/// `drawing_line` is the number of the drawing's first line.
pub(super) fn read_totals<'a>(
    lines: impl Iterator<Item = (&'a [u8], u64)>,
    drawing_line: u64,
    diagram: &mut Diagram,
) -> Result<(), Unreadable> {
    for (content, line) in lines {
        if is_blank(content) {
            continue;
        }
        let (named, total) = match read_plain(content) {
            Some(numbers) => numbers,
            None => read_total(content, line)?,
        };
        let cage = &mut diagram.cages[usize::from(diagram.cage_of[named.index_9()])];
        if cage.named != NOWHERE {
            let message = format!(
                "expected one total a cage, found a second one for the cage of {named}, which {} \
                 has named already",
                cage.named
            );
            let column = content.len() - trim_start(content).len();
            return Err(bad(UnreadableCode::SecondCageTotal, line, column, message));
        }
        (cage.named, cage.total) = (named, total);
    }
    let Some(cage) = diagram.cages.iter().find(|cage| cage.named == NOWHERE) else {
        return Ok(());
    };
    let Cell { row, column } = cage.first;
    let line = drawing_line + 2 * u64::from(row) + 1;
    let message = format!("expected a total for the cage at {}, found none", cage.first);
    Err(bad(UnreadableCode::MissingCageTotal, line, usize::from(column) * 4 + 2, message))
}

/// A cage line as nearly all are: one digit, one digit and a number, with one blank between.
fn read_plain(content: &[u8]) -> Option<(Cell, u32)> {
    match content {
        [row @ b'1'..=b'9', b' ', column @ b'1'..=b'9', b' ', total @ ..] => {
            Some((Cell { row: row - b'1', column: column - b'1' }, integer(total)?))
        }
        _ => None,
    }
}

/// A cage line: row and column of a cell, and the total of its cage.
fn read_total(content: &[u8], line: u64) -> Result<(Cell, u32), Unreadable> {
    let mut rest = trim_end(content);
    let mut numbers = [0; 3];
    let names = ["a row from 1 to 9", "a column from 1 to 9", "a total of at most nine digits"];
    for (number, name) in numbers.iter_mut().zip(names) {
        rest = trim_start(rest);
        let column = trim_end(content).len() - rest.len();
        let stop = rest.iter().position(|b| matches!(b, b' ' | b'\t')).unwrap_or(rest.len());
        let (word, after) = rest.split_at(stop);
        let value =
            integer(word).filter(|value| name.starts_with("a total") || (1..=9).contains(value));
        let Some(value) = value else {
            let found = if word.is_empty() {
                "the end of the line".into()
            } else {
                Quoted(word).to_string()
            };
            let message = format!("expected {name} in a line `row column total`, found {found}");
            return Err(bad(UnreadableCode::BadCageLine, line, column, message));
        };
        *number = value;
        rest = after;
    }
    rest = trim_start(rest);
    if !rest.is_empty() {
        let column = trim_end(content).len() - rest.len();
        let message = format!("expected nothing after `row column total`, found {}", Quoted(rest));
        return Err(bad(UnreadableCode::BadCageLine, line, column, message));
    }
    let [row, column, total] = numbers;
    Ok((Cell { row: row as u8 - 1, column: column as u8 - 1 }, total))
}
