//! The 19 lines of a drawing.
//!
//! ```text
//! +---+---+   borders: a corner, and below each cell `---` for a wall or three blanks for none
//! | 1   2 |   rows: in front of each cell `|` for a wall or a blank for none; the cell has a
//! +   +---+         blank on both sides
//! ```

use super::{BORDER, DRAWING_LINES, Diagram, LINE_BYTES, Walls, bad, bad_line};
use crate::board::{Cell, Grid, Unreadable, UnreadableCode};
use crate::format::lines::trim_end;
use crate::format::quote::Quoted;
use alloc::format;

/// Columns from one cell to the next.
const PITCH: usize = 4;

/// Reads line `index` of a drawing, from 0, into `diagram`; it is line `line` of the file. Blanks behind
/// the drawing do not count.
pub(super) fn read_line(
    content: &[u8],
    index: usize,
    line: u64,
    diagram: &mut Diagram,
) -> Result<(), Unreadable> {
    let content = match content.split_at_checked(LINE_BYTES) {
        Some((drawn, rest)) if trim_end(rest).is_empty() => drawn,
        _ => content,
    };
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

/// Reads a regular drawing, and returns what follows it; `None` if it is not regular or if anything
/// is wrong with it.
pub(super) fn read_regular<'a>(
    text: &'a [u8],
    cells: &mut Grid,
    walls: &mut Walls,
) -> Option<&'a [u8]> {
    match text.get(LINE_BYTES)? {
        b'\n' => read_with_ends::<{ LINE_BYTES + 1 }>(text, b"\n", cells, walls),
        _ => read_with_ends::<{ LINE_BYTES + 2 }>(text, b"\r\n", cells, walls),
    }
}

fn read_with_ends<'a, const PITCH: usize>(
    text: &'a [u8],
    end: &[u8],
    cells: &mut Grid,
    walls: &mut Walls,
) -> Option<&'a [u8]> {
    let lines = text.as_chunks::<PITCH>().0.first_chunk::<DRAWING_LINES>()?;
    let line = |index: usize| {
        let (line, found_end) = lines[index].split_first_chunk::<LINE_BYTES>()?;
        (found_end == end).then_some(line)
    };
    if line(0)? != BORDER {
        return None;
    }
    for (row, cells) in cells.as_chunks_mut::<9>().0.iter_mut().enumerate() {
        walls.right[row] = read_row(line(2 * row + 1)?, cells)?;
        if cells.iter().fold(false, |any, cell| any | matches!(cell, b'\n' | b'\r')) {
            return None;
        }
        walls.below[row] = read_border(line(2 * row + 2)?)?;
    }
    // The walls at the bottom are those around the grid.
    let bottom = core::mem::take(&mut walls.below[8]);
    (bottom == 0x1FF).then(|| &text[DRAWING_LINES * PITCH..])
}

/// Reads a row: its cells into `cells`, and the walls to the right of them; `None` if anything is
/// wrong.
fn read_row(text: &[u8; LINE_BYTES], cells: &mut [u8]) -> Option<u16> {
    for (cell, text) in cells.iter_mut().zip(text.chunks_exact(PITCH)) {
        *cell = text[2];
    }
    let walls = walls(text, [b' ', b' ', 0, b' '], [b'|', b' ', 0, b' '])?;
    // The wall in front of a cell is the one to the right of the cell before it.
    (walls & 1 == 1 && text[LINE_BYTES - 1] == b'|').then_some(walls >> 1)
}

/// The walls under the nine cells above a border; `None` if anything is wrong.
fn read_border(text: &[u8; LINE_BYTES]) -> Option<u16> {
    let walls = walls(text, *b"+   ", *b"+---")?;
    (text[LINE_BYTES - 1] == b'+').then_some(walls)
}

/// At which of the nine cells of a line a wall is drawn, bit 0 for the first cell; `None` if one
/// has neither `open` nor `wall`. A byte that is zero in both stands for any.
#[inline]
fn walls(text: &[u8; LINE_BYTES], open: [u8; PITCH], wall: [u8; PITCH]) -> Option<u16> {
    // Two cells are compared together: the first in the lower half of a number.
    const BOTH: u64 = 1 << 32 | 1;
    let twice = |bytes: [u8; PITCH]| u64::from(u32::from_le_bytes(bytes)) * BOTH;
    let compared = twice(open.map(|byte| if byte == 0 { 0 } else { u8::MAX }));
    let (open, wall) = (twice(open), twice(open) ^ twice(wall));
    let (mut found, mut wrong) = (0, 0);
    let mut compare = |cells: [u8; 2 * PITCH], number: usize| {
        let differs = (u64::from_le_bytes(cells) ^ open) & compared;
        let is_wall = differs >> wall.trailing_zeros() & BOTH;
        wrong |= differs ^ (is_wall * (wall & u64::from(u32::MAX)));
        found |= is_wall << number;
    };
    let (pairs, last) = text.as_chunks::<{ 2 * PITCH }>();
    for (i, pair) in pairs.iter().enumerate() {
        compare(*pair, 2 * i);
    }
    let open = (open as u32).to_le_bytes();
    compare([last[0], last[1], last[2], last[3], open[0], open[1], open[2], open[3]], 8);
    (wrong == 0).then_some((found | found >> 31) as u16 & 0x1FF)
}

/// The first problem of a row of cells.
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
        let message = format!("expected {expected}, found {}", Quoted::character(content, column));
        return bad(UnreadableCode::BadDiagram, line, column, message);
    }
    wrong_length(content, line)
}

/// The first problem of the border under row `row`.
fn border_problem(content: &[u8], row: usize, line: u64) -> Unreadable {
    if content.first() != Some(&b'+') {
        let expected = format!("the border under row {} of the drawing, from `+` to `+`", row + 1);
        return bad_line(line, &expected, content);
    }
    for (column, text) in content.chunks(PITCH).enumerate().take(9) {
        let at = column * PITCH;
        if text[0] != b'+' {
            let message = format!(
                "expected `+` at the corner of the cells, found {}",
                Quoted::character(content, at)
            );
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
        Some(_) => {
            let found = Quoted::character(content, LINE_BYTES - 1);
            let message = format!("expected `+` at the edge of the drawing, found {found}");
            bad(UnreadableCode::BadDiagram, line, LINE_BYTES - 1, message)
        }
    }
}

/// The first problem of the top or bottom border.
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
                Quoted::character(content, column)
            );
            bad(UnreadableCode::BadDiagram, line, column, message)
        }
        None => wrong_length(content, line),
    }
}

/// A line that is too short or too long, and correct otherwise.
fn wrong_length(content: &[u8], line: u64) -> Unreadable {
    let message = format!(
        "expected a line of {LINE_BYTES} characters in the drawing, found {} of them",
        content.len()
    );
    bad(UnreadableCode::BadDiagram, line, content.len().min(LINE_BYTES), message)
}
