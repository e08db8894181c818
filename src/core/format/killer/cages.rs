//! The cages of a drawing, and the lines with their totals.

use super::{Cage, Diagram, Walls, bad};
use crate::board::{CELLS_9, Cell, Unreadable, UnreadableCode};
use crate::format::lines::{integer, is_blank, split, trim_end, trim_start};
use crate::format::quote::Quoted;
use alloc::format;
use alloc::string::ToString;

/// A cell that no grid has, for a cage that no line has named yet.
pub(super) const NOWHERE: Cell = Cell { row: u8::MAX, column: u8::MAX };

/// Numbers the cages, the connected regions of the drawing, in the order of their first cells.
pub(super) fn find(diagram: &mut Diagram) {
    let region_of = regions(&diagram.walls);
    // No branch on whether a cell is the first of its cage, which no processor predicts: each is
    // noted as if it were, and overwritten by the next one if it is not.
    let cages = &mut diagram.cages;
    cages.clear();
    cages.resize(CELLS_9, Cage { first: NOWHERE, named: NOWHERE, total: 0 });
    let mut numbers = [0; 256];
    let mut count = 0u8;
    for (index, cell) in CELLS.iter().enumerate() {
        numbers[index] = count;
        cages[usize::from(count)].first = *cell;
        count += u8::from(usize::from(region_of[index]) == index);
    }
    cages.truncate(usize::from(count));
    diagram.cage_of = region_of.map(|first| numbers[usize::from(first)]);
}

/// For each cell, the first cell of its region: of the cells that no wall separates from it.
pub(super) fn regions(walls: &Walls) -> [u8; CELLS_9] {
    // Union-find: each cell points to an earlier cell of its region, or to itself. It starts with
    // runs, the cells of a row that no wall separates: each cell points to the first of its run.
    let mut parent = [0; 256];
    let rows = parent.chunks_exact_mut(9).zip(&walls.right);
    for ((parents, right), first) in rows.zip((0..).step_by(9)) {
        let runs = &RUNS[usize::from(*right & 0xFF)];
        for (parent, run) in parents.iter_mut().zip(runs) {
            *parent = first + run;
        }
    }
    for (row, below) in walls.below.iter().enumerate().take(8) {
        let open = !below & 0x1FF;
        // Where the neighbours to the left are joined already, and no wall is between those and
        // these, nothing is left to do.
        let separated = walls.right[row] | walls.right[row + 1];
        let mut open = open & !((open & !separated) << 1);
        while open != 0 {
            let cell = row as u8 * 9 + open.trailing_zeros() as u8;
            join(&mut parent, cell, cell + 9);
            open &= open - 1;
        }
    }
    core::array::from_fn(|cell| root(&parent, cell as u8))
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

/// Joins the regions of two cells: the later root points to the earlier.
fn join(parent: &mut [u8; 256], a: u8, b: u8) {
    let roots = (root(parent, a), root(parent, b));
    let (first, last) = (roots.0.min(roots.1), roots.0.max(roots.1));
    for cell in [a, b, last] {
        parent[usize::from(cell)] = first;
    }
}

fn root(parent: &[u8; 256], cell: u8) -> u8 {
    let of = |cell: u8| parent[usize::from(cell)];
    // Two steps are nearly always enough.
    let mut root = of(of(cell));
    while of(root) != root {
        root = of(root);
    }
    root
}

/// Reads the cage lines, each of which sets the total of one cage; the first of them is line `line`
/// of the file.
pub(super) fn read_totals(
    mut text: &[u8],
    mut line: u64,
    diagram: &mut Diagram,
) -> Result<(), Unreadable> {
    while let Some((named, total, rest)) = regular_total(text) {
        set_total(diagram, named, total).map_err(|why| why.at(line, 0))?;
        text = rest;
        line += 1;
    }
    for (content, line) in split(text).zip(line..) {
        if !is_blank(content) {
            let (named, total) = read_total(content, line)?;
            let column = content.len() - trim_start(content).len();
            set_total(diagram, named, total).map_err(|why| why.at(line, column))?;
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
    /// The cell in this line.
    named: Cell,
    /// The cell in the line before that names the same cage.
    earlier: Cell,
}

impl SecondTotal {
    fn at(self, line: u64, column: usize) -> Unreadable {
        let message = format!(
            "expected one total a cage, found a second one for the cage of {}, which {} has named \
             already",
            self.named, self.earlier
        );
        bad(UnreadableCode::SecondCageTotal, line, column, message)
    }
}

/// Sets the total of the cage of the cell `named`.
fn set_total(diagram: &mut Diagram, named: Cell, total: u32) -> Result<(), SecondTotal> {
    let cage = &mut diagram.cages[usize::from(diagram.cage_of[named.index_9()])];
    if cage.named != NOWHERE {
        return Err(SecondTotal { named, earlier: cage.named });
    }
    (cage.named, cage.total) = (named, total);
    Ok(())
}

/// Regular cage lines: iterates over the cell that each names, and its total.
#[derive(Clone, Debug)]
pub struct Totals<'a> {
    text: &'a [u8],
}

impl<'a> Totals<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Totals<'a> {
        Totals { text }
    }

    /// Whether all lines are read. If not, the line at which the iterator ended is not regular.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl Iterator for Totals<'_> {
    type Item = (Cell, u32);

    #[inline]
    fn next(&mut self) -> Option<(Cell, u32)> {
        let (named, total, rest) = regular_total(self.text)?;
        self.text = rest;
        Some((named, total))
    }
}

/// The cell and the total in the first line of `text` if it is regular, and what follows the line:
/// a digit, a digit and a number of one or two digits, with one blank between and LF or CRLF at the
/// end.
#[inline]
fn regular_total(text: &[u8]) -> Option<(Cell, u32, &[u8])> {
    let line = text.first_chunk().copied().unwrap_or_else(|| padded(text));
    let [row, b' ', column, b' ', tens, units, ..]: [u8; 8] = line else {
        return None;
    };
    let [row, column] = [row, column].map(|digit| digit.wrapping_sub(b'1'));
    let [tens, units] = [tens, units].map(|digit| u32::from(digit.wrapping_sub(b'0')));
    // Without a branch, since about as many totals have one digit as two.
    let has_two = units <= 9;
    let total = if has_two { tens * 10 + units } else { tens };
    let mut end = 5 + usize::from(has_two);
    end += usize::from(line[end] == b'\r');
    let is_regular = row.max(column) <= 8 && tens <= 9 && line[end] == b'\n';
    is_regular.then(|| (Cell { row, column }, total, &text[end + 1..]))
}

/// Fewer than eight bytes, padded with zeros.
#[cold]
fn padded(text: &[u8]) -> [u8; 8] {
    core::array::from_fn(|i| text.get(i).copied().unwrap_or(0))
}

/// Reads a cage line: the cell that names its cage, and the total.
fn read_total(content: &[u8], line: u64) -> Result<(Cell, u32), Unreadable> {
    let mut rest = trim_end(content);
    let mut numbers = [0; 3];
    let names = ["a row from 1 to 9", "a column from 1 to 9", "a total from 0 to 999999999"];
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
