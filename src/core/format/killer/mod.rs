//! Killer sudoku: a drawing of a completed grid with its cages, and a total for each cage.

mod boundaries;
mod cages;
mod drawing;
mod lookahead;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
pub(super) use boundaries::Boundaries;
pub use cages::Totals;
pub(super) use lookahead::LOOKAHEAD_BYTES;

use super::lines::{next_line, without_end_marks};
use super::quote::QuotedLine;
use crate::board::{CELLS_9, Cell, Grid, Unreadable, UnreadableCode};

/// The start of a drawing, by which a killer file is recognised.
pub(super) const CORNER: &[u8] = b"+---+";

/// Lines of a drawing.
pub(crate) const DRAWING_LINES: usize = 19;

/// Bytes of a line of a drawing.
pub(crate) const LINE_BYTES: usize = 37;

/// Bytes of a drawing whose lines all end in LF.
pub(crate) const LF_BYTES: usize = DRAWING_LINES * (LINE_BYTES + 1);

/// The same with CRLF.
pub(crate) const CRLF_BYTES: usize = DRAWING_LINES * (LINE_BYTES + 2);

/// The top border of a drawing, and the bottom one.
const BORDER: &[u8; LINE_BYTES] = b"+---+---+---+---+---+---+---+---+---+";

/// A killer diagram: the grid, and its cages with their totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagram {
    /// The text of the cells.
    pub cells: Grid,
    /// The cage of each cell, in reading order, as an index into `cages`.
    pub cage_of: [u8; CELLS_9],
    /// The cages, in the order of their first cells.
    pub cages: Vec<Cage>,
    /// The walls, so that the diagram can be drawn again.
    pub walls: Walls,
}

/// A cage of a [`Diagram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cage {
    /// Its first cell in reading order.
    pub first: Cell,
    /// The cell that names it in the line with its total.
    pub named: Cell,
    /// The sum that its digits must have.
    pub total: u32,
}

/// The walls between the cells of a [`Diagram`]; those around the grid are implied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walls {
    /// By row: bit `c` is set if a wall stands between the cell in column `c` (from 0) and the
    /// next.
    pub right: [u16; 9],
    /// By row: bit `c` is set if a wall stands between the cell in column `c` and the one below.
    pub below: [u16; 9],
}

impl Default for Diagram {
    /// Blank cells without cages, to be read into.
    fn default() -> Diagram {
        Diagram {
            cells: [b' '; CELLS_9],
            cage_of: [0; CELLS_9],
            cages: Vec::new(),
            walls: Walls::default(),
        }
    }
}

/// Reads the text of one diagram, whose first line is line `line` of the file.
///
/// # Errors
///
/// `bad-diagram`, `truncated`, `bad-cage-line` or `second-cage-total` for the first line that is
/// wrong; if none is, `missing-cage-total` for the first cage that no line names.
///
/// ```
/// use gridmark_core::format::killer::diagram;
/// let border = "+---+---+---+---+---+---+---+---+---+\n";
/// let rows = "| 1   2   3   4   5   6   7   8   9 |\n".to_string() + border;
/// let totals = (1..=9).map(|row| format!("{row} 1 45\n")).collect::<String>();
/// let text = format!("{border}{}{totals}", rows.repeat(9));
/// let diagram = diagram(text.as_bytes(), 1)?;
/// assert_eq!(diagram.cages.len(), 9);
/// assert_eq!(&diagram.cells[..9], b"123456789");
/// # Ok::<(), gridmark_core::board::Unreadable>(())
/// ```
pub fn diagram(text: &[u8], line: u64) -> Result<Diagram, Unreadable> {
    let mut diagram = Diagram::default();
    read(text, line, &mut diagram)?;
    Ok(diagram)
}

/// As [`diagram`], into an existing diagram, whose memory is reused and whose contents are
/// unspecified after an error.
///
/// # Errors
///
/// As [`diagram`].
pub fn read(text: &[u8], line: u64, diagram: &mut Diagram) -> Result<(), Unreadable> {
    read_some_totals(text, line, diagram)?;
    cages::check_totals(line, diagram)
}

/// As [`read`], but cages may [lack](Cage::has_total) a total.
///
/// # Errors
///
/// As [`diagram`], but for `missing-cage-total`.
pub fn read_some_totals(text: &[u8], line: u64, diagram: &mut Diagram) -> Result<(), Unreadable> {
    let text = without_end_marks(text);
    let totals = match drawing::read_regular(text, &mut diagram.cells, &mut diagram.walls) {
        Some(totals) => totals,
        None => read_lines(text, line, diagram)?,
    };
    cages::find(diagram);
    cages::read_totals(totals, line + DRAWING_LINES as u64, diagram)
}

impl Cage {
    /// Whether a line gave its total.
    pub fn has_total(&self) -> bool {
        self.named != cages::NOWHERE
    }
}

/// The part of a [`Diagram`] that a kernel needs beside the totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// The text of the cells.
    pub cells: Grid,
    /// For each cell, the first cell of its cage, as an index in reading order.
    pub first_of: [u8; CELLS_9],
}

impl Default for Sketch {
    /// Blank cells in one cage, to be read into.
    fn default() -> Sketch {
        Sketch { cells: [b' '; CELLS_9], first_of: [0; CELLS_9] }
    }
}

/// Reads the text of one regular diagram, and returns its totals, which are read one by one; `None`
/// if it is not regular, and then the contents of `sketch` are unspecified.
///
/// ```
/// use gridmark_core::format::killer::{Sketch, sketch};
/// let border = "+---+---+---+---+---+---+---+---+---+\n";
/// let rows = "| 1   2   3   4   5   6   7   8   9 |\n".to_string() + border;
/// let text = format!("{border}{}1 5 45\n", rows.repeat(9));
/// let mut cages = Sketch::default();
/// let mut totals = sketch(text.as_bytes(), &mut cages).expect("it is regular");
/// assert_eq!(cages.first_of[8..11], [0, 9, 9]);
/// assert_eq!(totals.next().map(|(_, total)| total), Some(45));
/// assert!(totals.is_empty());
/// ```
pub fn sketch<'a>(text: &'a [u8], sketch: &mut Sketch) -> Option<Totals<'a>> {
    let mut walls = Walls::default();
    let totals = drawing::read_regular(text, &mut sketch.cells, &mut walls)?;
    sketch.first_of = cages::regions(&walls);
    Some(Totals::new(totals))
}

/// Reads a drawing line by line, and returns what follows it.
fn read_lines<'a>(
    text: &'a [u8],
    line: u64,
    diagram: &mut Diagram,
) -> Result<&'a [u8], Unreadable> {
    let mut rest = text;
    for (index, line) in (0..DRAWING_LINES).zip(line..) {
        match next_line(&mut rest) {
            Some(content) => drawing::read_line(content, index, line, diagram)?,
            None => return Err(truncated(line, index)),
        }
    }
    Ok(rest)
}

fn truncated(line: u64, index: usize) -> Unreadable {
    let message =
        format!("expected line {} of the {DRAWING_LINES} of the drawing, found none", index + 1);
    bad(UnreadableCode::Truncated, line, 0, message)
}

/// An unreadable diagram; `column` is counted from 0 here.
fn bad(code: UnreadableCode, line: u64, column: usize, message: String) -> Unreadable {
    Unreadable { code, line, column: column as u64 + 1, message: message.into() }
}

fn bad_line(line: u64, expected: &str, found: &[u8]) -> Unreadable {
    let message = format!("expected {expected}, found {}", QuotedLine(found));
    bad(UnreadableCode::BadDiagram, line, 0, message)
}
