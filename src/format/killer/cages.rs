//! The cages of a drawing, and the lines that tell their totals.

use super::{Cage, Diagram, bad};
use crate::board::{CELLS_9, Cell, Unreadable, UnreadableCode};
use crate::format::lines::{integer, is_blank, split, trim_end, trim_start};
use crate::format::quote::Quoted;

/// The row of a cell that no cell has: the cage has not been named.
const NOWHERE: Cell = Cell { row: u8::MAX, column: u8::MAX };

/// Numbers the cages, the connected regions of the drawing, in the order of their first cells.
pub(super) fn find(diagram: &mut Diagram) {
    // Union-find: each cell points to an earlier cell of its region, or to itself. At first to the
    // first cell of its run, the cells of its row that no wall parts.
    let mut parent = [0u8; CELLS_9];
    for (row, (parents, walls)) in parent.chunks_exact_mut(9).zip(&diagram.walls.right).enumerate()
    {
        let runs = &RUNS[usize::from(*walls & 0xFF)];
        for (parent, run) in parents.iter_mut().zip(runs) {
            *parent = row as u8 * 9 + run;
        }
    }
    for (row, walls) in diagram.walls.below.iter().enumerate().take(8) {
        let mut open = !walls & 0x1FF;
        while open != 0 {
            let cell = row * 9 + open.trailing_zeros() as usize;
            join(&mut parent, cell, cell + 9);
            open &= open - 1;
        }
    }
    // Each cell is noted as if it were the first of a cage, and the next one replaces it if not.
    let cages = &mut diagram.cages;
    cages.clear();
    cages.resize(CELLS_9, Cage { first: NOWHERE, named: NOWHERE, total: 0 });
    let mut count = 0;
    for (cell, before) in parent.into_iter().enumerate() {
        let before = usize::from(before);
        let is_first = before == cell;
        cages[count].first = CELLS[cell];
        diagram.cage_of[cell] = if is_first { count as u8 } else { diagram.cage_of[before] };
        count += usize::from(is_first);
    }
    cages.truncate(count);
}

/// For the walls to the right of the first eight cells of a row, where the run of each cell starts.
static RUNS: [[u8; 9]; 256] = {
    let mut runs = [[0; 9]; 256];
    let mut walls = 0;
    while walls < 256 {
        let mut column = 1;
        while column < 9 {
            let is_wall = walls >> (column - 1) & 1 == 1;
            runs[walls][column] = if is_wall { column as u8 } else { runs[walls][column - 1] };
            column += 1;
        }
        walls += 1;
    }
    runs
};

/// All cells in reading order.
static CELLS: [Cell; CELLS_9] = {
    let mut cells = [Cell::of_9(0); CELLS_9];
    let mut cell = 0;
    while cell < CELLS_9 {
        cells[cell] = Cell::of_9(cell);
        cell += 1;
    }
    cells
};

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

/// Reads the lines under the drawing, each of which gives one cage its total, and of which the
/// first is line `line` of the file.
pub(super) fn read_totals(
    mut text: &[u8],
    mut line: u64,
    diagram: &mut Diagram,
) -> Result<(), Unreadable> {
    while let Some((named, total, rest)) = plain_total(text) {
        give_total(diagram, named, total).map_err(|why| why.at(line, 0))?;
        text = rest;
        line += 1;
    }
    for (content, line) in split(text).zip(line..) {
        if !is_blank(content) {
            let (named, total) = read_total(content, line)?;
            let column = content.len() - trim_start(content).len();
            give_total(diagram, named, total).map_err(|why| why.at(line, column))?;
        }
    }
    Ok(())
}

/// Checks that each cage has a total.
///
/// `line` is the number of the drawing's first line.
pub(super) fn check_totals(line: u64, diagram: &Diagram) -> Result<(), Unreadable> {
    let Some(cage) = diagram.cages.iter().find(|cage| cage.named == NOWHERE) else {
        return Ok(());
    };
    let Cell { row, column } = cage.first;
    let line = line + 2 * u64::from(row) + 1;
    let message = format!("expected a total for the cage at {}, found none", cage.first);
    Err(bad(UnreadableCode::MissingCageTotal, line, usize::from(column) * 4 + 2, message))
}

/// A second total for a cage.
struct SecondTotal {
    named: Cell,
    before: Cell,
}

impl SecondTotal {
    fn at(self, line: u64, column: usize) -> Unreadable {
        let message = format!(
            "expected one total a cage, found a second one for the cage of {}, which {} has named \
             already",
            self.named, self.before
        );
        bad(UnreadableCode::SecondCageTotal, line, column, message)
    }
}

/// Gives the cage of the cell `named` its total.
fn give_total(diagram: &mut Diagram, named: Cell, total: u32) -> Result<(), SecondTotal> {
    let cage = &mut diagram.cages[usize::from(diagram.cage_of[named.index_9()])];
    if cage.named != NOWHERE {
        return Err(SecondTotal { named, before: cage.named });
    }
    (cage.named, cage.total) = (named, total);
    Ok(())
}

/// The first line of `text` if it is as nearly all are, a digit, a digit and a number of one or two
/// digits, with one blank between and LF or CRLF at the end; and what follows it.
fn plain_total(text: &[u8]) -> Option<(Cell, u32, &[u8])> {
    let [row @ b'1'..=b'9', b' ', column @ b'1'..=b'9', b' ', a @ b'0'..=b'9', rest @ ..] = text
    else {
        return None;
    };
    let named = Cell { row: row - b'1', column: column - b'1' };
    let a = u32::from(a - b'0');
    match rest {
        [b @ b'0'..=b'9', b'\n', rest @ ..] | [b @ b'0'..=b'9', b'\r', b'\n', rest @ ..] => {
            Some((named, a * 10 + u32::from(b - b'0'), rest))
        }
        [b'\n', rest @ ..] | [b'\r', b'\n', rest @ ..] => Some((named, a, rest)),
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
