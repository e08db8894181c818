//! The 19 lines of a drawing.
//!
//! ```text
//! +---+---+   borders: a corner, and below each cell `---` for a wall or three blanks for none
//! | 1   2 |   rows: in front of each cell `|` for a wall or a blank for none; a blank on both
//! +   +---+         sides of what stands in the cell
//! ```

use super::{BORDER, DRAWING_LINES, Diagram, LINE_BYTES, bad, bad_line};
use crate::board::{Cell, Unreadable, UnreadableCode};
use crate::format::quote::Quoted;

/// Columns from one cell to the next.
const PITCH: usize = 4;

/// Bytes of a line and its end.
const LINE_WITH_END: usize = LINE_BYTES + 1;

/// Reads the line that is `index` lines below the top border into `diagram`.
pub(super) fn read_line(
    content: &[u8],
    index: usize,
    line: u64,
    diagram: &mut Diagram,
) -> Result<(), Unreadable> {
    let row = index / 2;
    let whole = <&[u8; LINE_BYTES]>::try_from(content).ok();
    if index % 2 == 1 {
        match whole.and_then(|text| read_row(text, &mut diagram.cells[row * 9..][..9])) {
            Some(walls) => diagram.walls.right[row] = walls,
            None => return Err(row_problem(content, row, line)),
        }
    } else if index == 0 || index == DRAWING_LINES - 1 {
        if whole != Some(BORDER) {
            return Err(outer_border_problem(content, index, line));
        }
        if index > 0 {
            diagram.walls.below[8] = 0;
        }
    } else {
        match whole.and_then(read_border) {
            Some(walls) => diagram.walls.below[row - 1] = walls,
            None => return Err(border_problem(content, row - 1, line)),
        }
    }
    Ok(())
}

/// Reads a drawing as nearly all are, of which all lines end in LF, and returns what follows it;
/// `None` if it is not so, or if something is wrong.
pub(super) fn read_plain<'a>(text: &'a [u8], diagram: &mut Diagram) -> Option<&'a [u8]> {
    let (drawing, rest) = text.split_first_chunk::<{ DRAWING_LINES * LINE_WITH_END }>()?;
    let (top, pairs) = drawing.split_first_chunk::<LINE_WITH_END>()?;
    let (pairs, _) = pairs.as_chunks::<{ 2 * LINE_WITH_END }>();
    if without_end(top)? != BORDER {
        return None;
    }
    for (row, pair) in pairs.iter().enumerate() {
        let (line, border) = pair.split_first_chunk::<LINE_WITH_END>()?;
        let cells = &mut diagram.cells[row * 9..][..9];
        diagram.walls.right[row] = read_row(without_end(line)?, cells)?;
        if cells.iter().any(|cell| matches!(cell, b'\n' | b'\r')) {
            return None;
        }
        diagram.walls.below[row] = read_border(without_end(border.try_into().ok()?)?)?;
    }
    // The walls at the bottom are those around the grid.
    (std::mem::take(&mut diagram.walls.below[8]) == 0x1FF).then_some(rest)
}

/// A line without its end, if that is LF.
fn without_end(line: &[u8; LINE_WITH_END]) -> Option<&[u8; LINE_BYTES]> {
    match line.split_last_chunk::<1>()? {
        (line, b"\n") => line.try_into().ok(),
        _ => None,
    }
}

/// The walls to the right of the nine cells of a row, of which the cells are read as well; `None`
/// if something is wrong.
fn read_row(text: &[u8; LINE_BYTES], cells: &mut [u8]) -> Option<u16> {
    let mut walls = 0;
    let mut good = true;
    for (column, (cell, text)) in cells.iter_mut().zip(text.chunks_exact(PITCH)).enumerate() {
        let wall = text[0] == b'|';
        good &= (wall || (text[0] == b' ' && column > 0)) && text[1] == b' ' && text[3] == b' ';
        walls |= u16::from(wall) << column;
        *cell = text[2];
    }
    // The wall in front of a cell is the one to the right of the cell before it.
    (good && text[LINE_BYTES - 1] == b'|').then_some(walls >> 1)
}

/// The walls under the nine cells above a border; `None` if something is wrong.
fn read_border(text: &[u8; LINE_BYTES]) -> Option<u16> {
    let mut walls = 0;
    let mut good = true;
    for (column, text) in text.chunks_exact(PITCH).enumerate() {
        let wall = text == b"+---";
        good &= wall || text == b"+   ";
        walls |= u16::from(wall) << column;
    }
    (good && text[LINE_BYTES - 1] == b'+').then_some(walls)
}

/// The first thing that is wrong with a row of cells.
fn row_problem(content: &[u8], row: usize, line: u64) -> Unreadable {
    if content.first() != Some(&b'|') {
        return bad_line(
            line,
            &format!("row {} of the drawing, from `|` to `|`", row + 1),
            content,
        );
    }
    for (column, found) in content.iter().enumerate().take(LINE_BYTES) {
        let cell = Cell { row: row as u8, column: (column / PITCH).min(8) as u8 };
        let expected = match column % PITCH {
            0 if column == 0 || column == LINE_BYTES - 1 => match found {
                b'|' => continue,
                _ => "`|` at the edge of the drawing".into(),
            },
            0 => match found {
                b'|' | b' ' => continue,
                _ => format!("`|` or a blank in front of {cell}"),
            },
            2 => continue,
            _ if *found == b' ' => continue,
            _ => format!("a blank beside the cell {cell}"),
        };
        let message = format!("expected {expected}, found {}", Quoted(&[*found]));
        return bad(UnreadableCode::BadDiagram, line, column, message);
    }
    wrong_length(content, line)
}

/// The first thing that is wrong with a border between two rows of cells, under row `row`.
fn border_problem(content: &[u8], row: usize, line: u64) -> Unreadable {
    if content.first() != Some(&b'+') {
        let expected = format!("the border under row {} of the drawing, from `+` to `+`", row + 1);
        return bad_line(line, &expected, content);
    }
    for (column, text) in content.chunks(PITCH).enumerate().take(9) {
        let at = column * PITCH;
        if text[0] != b'+' {
            let message =
                format!("expected `+` at the corner of the cells, found {}", Quoted(&text[..1]));
            return bad(UnreadableCode::BadDiagram, line, at, message);
        }
        let wall = &text[1..];
        if !b"---".starts_with(wall) && !b"   ".starts_with(wall) {
            let cell = Cell { row: row as u8, column: column as u8 };
            let message = format!(
                "expected `---` or three blanks for the wall under {cell}, found {}",
                Quoted(wall)
            );
            return bad(UnreadableCode::BadDiagram, line, at + 1, message);
        }
    }
    match content.get(LINE_BYTES - 1) {
        None | Some(b'+') => wrong_length(content, line),
        Some(found) => {
            let message =
                format!("expected `+` at the edge of the drawing, found {}", Quoted(&[*found]));
            bad(UnreadableCode::BadDiagram, line, LINE_BYTES - 1, message)
        }
    }
}

/// The first thing that is wrong with the top or bottom border.
fn outer_border_problem(content: &[u8], index: usize, line: u64) -> Unreadable {
    let which = if index == 0 { "top" } else { "bottom" };
    if content.first() != Some(&b'+') {
        let expected = format!("the {which} border of the drawing, `+---+` and so on");
        return bad_line(line, &expected, content);
    }
    match content.iter().zip(BORDER).position(|(found, expected)| found != expected) {
        Some(column) => {
            let message = format!(
                "expected {} in the {which} border of the drawing, found {}",
                Quoted(&BORDER[column..=column]),
                Quoted(&content[column..=column])
            );
            bad(UnreadableCode::BadDiagram, line, column, message)
        }
        None => wrong_length(content, line),
    }
}

/// A line that is right as far as it goes, but too short or too long.
fn wrong_length(content: &[u8], line: u64) -> Unreadable {
    let message = format!(
        "expected a line of {LINE_BYTES} characters in the drawing, found {} of them",
        content.len()
    );
    bad(UnreadableCode::BadDiagram, line, content.len().min(LINE_BYTES), message)
}
