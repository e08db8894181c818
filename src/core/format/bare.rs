//! Grids by themselves: 81 cells, without a count or a puzzle above them or cages around them.
//!
//! People and solvers write them in many layouts:
//!
//! ```text
//! 534678912672195348...   534678912   5 3 4 | 6 7 8 | 9 1 2   +---+---+---+
//!                         672195348   6 7 2 | 1 9 5 | 3 4 8   |534|678|912|
//!                         ...         ------+-------+------   ...
//! ```
//!
//! [`recognise`] knows a layout by the whole grid, never by one line: a line of dashes is a frame in
//! one grid and a row of open cells in another. What fits no layout exactly is not a grid.

use super::lines::{
    is_blank, line_end_bytes, trim_end, trim_start, without_end_marks, without_marks,
};
use crate::board::{CELLS_9, Grid};
use memchr::memchr2;

/// The longest text of a grid, in bytes: all lines of a wide frame, drawn in characters of three
/// bytes, with some blanks around them.
pub const BYTES_MAX: usize = 4096;

/// Lines of a grid at most: a frame around each row, and as many blank lines.
const LINES_MAX: usize = 40;

/// A grid by itself, as [`recognise`] finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BareGrid {
    /// The cells: `b'1'` to `b'9'`, or `b'.'` for an open one.
    pub cells: Grid,
    /// How it is written.
    pub layout: Layout,
    /// Where each cell is: its line, from 0 for the first line of the text, and its column in bytes,
    /// from 0.
    pub places: [(usize, usize); CELLS_9],
    /// How many bytes of the text it takes, the end of its last line included.
    pub bytes: usize,
    /// How many lines of the text that is.
    pub lines: u64,
}

/// How a grid by itself is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// 81 characters on a line.
    Line,
    /// Nine lines of nine characters.
    Rows,
    /// Nine lines with blanks, tabs, commas or semicolons between the cells or the boxes.
    Spaced,
    /// Nine lines with lines drawn between or around them.
    Framed,
}

/// The grid with which `text` begins, blank lines before it not counted. Only the first
/// [`BYTES_MAX`] bytes are looked at, so a longer text may be cut off two bytes behind them.
///
/// Open cells are `.`, `0`, `*`, `_`, `-`, `X` or `x`. A text without any digit from 1 to 9 is no grid.
///
/// ```
/// use gridmark_core::format::bare::{Layout, recognise};
/// let rows = "1 . . | 4 5 6 | 7 8 9\n".repeat(9);
/// let grid = recognise(rows.as_bytes()).expect("it is a grid");
/// assert_eq!((&grid.cells[..4], grid.layout), (b"1..4".as_slice(), Layout::Framed));
/// assert_eq!((grid.places[4], grid.lines), ((0, 10), 9));
/// assert_eq!(recognise(b"123456789\n"), None);
/// ```
pub fn recognise(text: &[u8]) -> Option<BareGrid> {
    let mut grid = BareGrid {
        cells: [b'.'; CELLS_9],
        layout: Layout::Rows,
        places: [(0, 0); CELLS_9],
        bytes: 0,
        lines: 0,
    };
    let open = open_by_rows(text);
    let mut rows = 0;
    for (number, line) in lines(text).enumerate() {
        let content = line.content;
        let is_row = if rows == 9 { None } else { row(content).filter(|row| open.allow(row)) };
        if let Some(row) = is_row {
            for (i, (cell, column)) in row.cells.into_iter().zip(row.columns).enumerate() {
                grid.cells[rows * 9 + i] = if matches!(cell, b'1'..=b'9') { cell } else { b'.' };
                grid.places[rows * 9 + i] = (number, column);
            }
            grid.layout = grid.layout.with(row.layout);
            rows += 1;
        } else if let (0, Some(start)) = (rows, whole_line(content)) {
            for (i, cell) in content[start..start + CELLS_9].iter().enumerate() {
                grid.cells[i] = if matches!(cell, b'1'..=b'9') { *cell } else { b'.' };
                grid.places[i] = (number, start + i);
            }
            (grid.layout, rows) = (Layout::Line, 9);
            (grid.bytes, grid.lines) = (line.next, number as u64 + 1);
            break;
        } else if is_frame(content) {
            grid.layout = Layout::Framed;
        } else if rows == 9 {
            break;
        } else if !is_blank(content) {
            return None;
        } else {
            continue;
        }
        (grid.bytes, grid.lines) = (line.next, number as u64 + 1);
        // The lower edge of the frame belongs to it; nothing else behind the last row does.
        if rows == 9 && grid.layout != Layout::Framed {
            break;
        }
    }
    let has_digit = grid.cells.iter().any(|cell| *cell != b'.');
    (rows == 9 && has_digit).then_some(grid)
}

/// Whether a grid may begin with `line`, so that it is worth while to look at what follows.
pub(super) fn may_begin(line: &[u8]) -> bool {
    row(line).is_some() || whole_line(line).is_some() || is_frame(line)
}

impl Layout {
    /// The layout of rows of which one has this layout and another that one.
    fn with(self, other: Layout) -> Layout {
        match (self, other) {
            (Layout::Rows, layout) | (layout, Layout::Rows) => layout,
            (Layout::Framed, _) | (_, Layout::Framed) => Layout::Framed,
            _ => Layout::Spaced,
        }
    }
}

/// A line of a text that is looked at.
struct Line<'a> {
    content: &'a [u8],
    /// Where the next line begins.
    next: usize,
}

/// The first lines of `text`, as far as they end within [`BYTES_MAX`] bytes.
fn lines(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut at = 0;
    let next_line = move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let examined = &rest[..rest.len().min(BYTES_MAX.saturating_sub(at))];
        let stop = match memchr2(b'\n', b'\r', examined) {
            Some(stop) => stop,
            None if text.len() <= BYTES_MAX => rest.len(),
            None => return None,
        };
        let end = rest.get(stop..).filter(|end| !end.is_empty()).map_or(0, line_end_bytes);
        at += stop + end;
        Some(Line { content: &rest[..stop], next: at })
    };
    core::iter::from_fn(next_line).take(LINES_MAX)
}

/// A line of nine cells.
struct Row {
    cells: [u8; 9],
    columns: [usize; 9],
    layout: Layout,
}

/// Reads a row: nine cells in groups of one, three or nine, with anything of a frame or blanks between
/// the groups.
fn row(content: &[u8]) -> Option<Row> {
    let mut row = Row { cells: [0; 9], columns: [0; 9], layout: Layout::Rows };
    let (mut count, mut group) = (0, 0);
    let mut groups = None;
    let mut end_group = |group: &mut usize| {
        let size = core::mem::take(group);
        size == 0 || *groups.get_or_insert(size) == size
    };
    let text = trimmed(content);
    let mut at = content.len() - without_marks_and_blanks(content).len();
    let end = at + text.len();
    while at < end {
        let (bytes, layout) = match &content[at..end] {
            [b' ' | b'\t' | b',' | b';' | 0xA0, ..] => (1, Layout::Spaced),
            [0xC2, 0xA0, ..] => (2, Layout::Spaced),
            [b'|', ..] => (1, Layout::Framed),
            [0xE2, 0x94 | 0x95, 0x80..=0xBF, ..] => (3, Layout::Framed),
            [cell, ..] if is_cell(*cell) && count < 9 => {
                (row.cells[count], row.columns[count]) = (*cell, at);
                (count, group, at) = (count + 1, group + 1, at + 1);
                continue;
            }
            _ => return None,
        };
        if !end_group(&mut group) {
            return None;
        }
        row.layout = row.layout.with(layout);
        at += bytes;
    }
    let fits = end_group(&mut group) && count == 9 && matches!(groups, Some(1 | 3 | 9));
    fits.then_some(row)
}

fn is_cell(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'.' | b'*' | b'_' | b'-' | b'X' | b'x')
}

/// Where 81 cells begin in a line that holds nothing else.
fn whole_line(content: &[u8]) -> Option<usize> {
    let text = trimmed(content);
    let is_whole = text.len() == CELLS_9 && text.iter().all(|byte| is_cell(*byte));
    is_whole.then(|| content.len() - without_marks_and_blanks(content).len())
}

fn without_marks_and_blanks(content: &[u8]) -> &[u8] {
    trim_start(without_marks(content))
}

fn trimmed(content: &[u8]) -> &[u8] {
    trim_end(without_end_marks(without_marks_and_blanks(content)))
}

/// Which characters that a frame is drawn with are open cells in this grid: those that stand in a row
/// beside digits.
#[derive(Clone, Copy, Default)]
struct Open {
    dash: bool,
    underscore: bool,
}

impl Open {
    /// Whether `row` is one, and no part of a frame.
    fn allow(self, row: &Row) -> bool {
        match row.cells[0] {
            b'-' => self.dash || row.cells != [b'-'; 9],
            b'_' => self.underscore || row.cells != [b'_'; 9],
            _ => true,
        }
    }
}

fn open_by_rows(text: &[u8]) -> Open {
    let mut open = Open::default();
    for row in lines(text).filter_map(|line| row(line.content)) {
        if row.cells.iter().any(|cell| matches!(cell, b'1'..=b'9')) {
            open.dash |= row.cells.contains(&b'-');
            open.underscore |= row.cells.contains(&b'_');
        }
    }
    open
}

/// Whether a line is a part of a frame: a drawn line, possibly with corners and blanks. The border of
/// a killer drawing, with a corner at each cell, is none.
fn is_frame(content: &[u8]) -> bool {
    /// Corners of a frame around boxes.
    const CORNERS_MAX: usize = 4;
    let mut rest = trimmed(content);
    let (mut corners, mut drawn, mut longest) = (0, 0, 0);
    while let Some(first) = rest.first() {
        let bytes = match rest {
            [b'-' | b'=' | b'_', ..] => 1,
            [0xE2, 0x94 | 0x95, 0x80..=0xBF, ..] => 3,
            [b'+' | b'*' | b'|' | b'.' | b'\'' | b':' | b'`' | b' ' | b'\t', ..] => {
                corners += usize::from(*first == b'+');
                (drawn, rest) = (0, &rest[1..]);
                continue;
            }
            _ => return false,
        };
        drawn += 1;
        longest = longest.max(drawn);
        rest = &rest[bytes..];
    }
    longest >= 3 && corners <= CORNERS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    const GRID: &str =
        "5346789126721953481983425678597614234268537917139248569615372842874196353452861.9";

    fn rows() -> Vec<&'static str> {
        (0..9).map(|row| &GRID[row * 9..][..9]).collect()
    }

    fn spaced(row: &str, between: &str, boxes: &str) -> String {
        let cells = row.chars().map(String::from).collect::<Vec<_>>();
        let boxed = cells.chunks(3).map(|three| three.join(between)).collect::<Vec<_>>();
        boxed.join(boxes)
    }

    #[track_caller]
    fn check(text: &str, layout: Layout) {
        for text in [text.into(), text.replace('\n', "\r\n"), format!("\n \n{text}")] {
            for rest in ["", "\n", "\nhello\n", "\n1\n", "\n123456789\n"] {
                let whole = format!("{text}{rest}");
                let grid = recognise(whole.as_bytes()).unwrap_or_else(|| panic!("{whole}"));
                assert_eq!((&grid.cells[..], grid.layout), (GRID.as_bytes(), layout), "{whole}");
                let lines = whole.lines().collect::<Vec<_>>();
                for ((line, column), cell) in grid.places.iter().zip(GRID.bytes()) {
                    assert_eq!(lines[*line].as_bytes()[*column], cell, "{whole}");
                }
                let behind = &whole[grid.bytes..];
                assert_eq!(behind, rest.trim_start_matches('\n'), "{whole}");
                assert_eq!(grid.lines as usize, text.lines().count());
            }
        }
    }

    #[test]
    fn rows_and_a_line_are_grids() {
        check(&rows().join("\n"), Layout::Rows);
        check(&rows().join(" \u{a0}\n \t"), Layout::Rows);
        check(&rows().join("\n\n"), Layout::Rows);
        check(GRID, Layout::Line);
        check(&format!(" {GRID}\t"), Layout::Line);
    }

    #[test]
    fn cells_and_boxes_may_have_blanks_commas_and_lines_between() {
        for (between, boxes, layout) in [
            (" ", " ", Layout::Spaced),
            ("", "  ", Layout::Spaced),
            ("\t", "\t\u{a0}", Layout::Spaced),
            (",", ",", Layout::Spaced),
            ("; ", "; ", Layout::Spaced),
            (" ", " | ", Layout::Framed),
            ("", "|", Layout::Framed),
            (" | ", " | ", Layout::Framed),
            (" ", " │ ", Layout::Framed),
            ("│", "║", Layout::Framed),
        ] {
            let rows = rows().into_iter().map(|row| spaced(row, between, boxes));
            check(&rows.collect::<Vec<_>>().join("\n"), layout);
        }
    }

    #[test]
    fn frames_may_be_around_boxes_or_cells() {
        for (edge, between, left, cells) in [
            ("+-------+-------+-------+", "+-------+-------+-------+", "| ", " "),
            ("+---+---+---+", "+---+---+---+", "|", ""),
            ("*-----------*", "|---+---+---|", "|", ""),
            (".-------.-------.-------.", ":-------+-------+-------:", "| ", " "),
            ("┌───┬───┬───┐", "├───┼───┼───┤", "│", ""),
            ("╔═══════╦═══════╦═══════╗", "╠═══════╬═══════╬═══════╣", "║ ", " "),
            ("", "---+---+---", "", ""),
            ("", "------+-------+------", "", " "),
            ("", "---------------------", "", " "),
            ("", "---|---|---", "", ""),
        ] {
            let bar = if left.is_empty() { "|" } else { left.trim_end() };
            let boxes = format!("{cells}{bar}{cells}");
            let row = |row: &&str| {
                let right = left.chars().rev().collect::<String>();
                format!("{left}{}{right}", spaced(row, cells, &boxes))
            };
            let rows = rows().iter().map(row).collect::<Vec<_>>();
            let bands = rows.chunks(3).map(|band| band.join("\n")).collect::<Vec<_>>();
            let grid = bands.join(&format!("\n{between}\n"));
            let text = if edge.is_empty() { grid } else { format!("{edge}\n{grid}\n{edge}") };
            check(&text, Layout::Framed);
        }
        let cell_lines = rows().into_iter().map(|row| format!("│{}│", spaced(row, "│", "│")));
        let text = cell_lines.collect::<Vec<_>>().join("\n├─┼─┼─┼─┼─┼─┼─┼─┼─┤\n");
        check(&text, Layout::Framed);
    }

    #[test]
    fn open_cells_have_many_signs() {
        for open in [".", "0", "*", "_", "-", "X", "x"] {
            for layout in [Layout::Rows, Layout::Line] {
                let text = match layout {
                    Layout::Rows => rows().join("\n"),
                    _ => GRID.into(),
                };
                let grid = recognise(text.replace('.', open).as_bytes()).expect(open);
                assert_eq!(&grid.cells[..], GRID.as_bytes(), "{open}");
            }
        }
        // Where dashes are open cells, nine of them are a row.
        let text = format!("{}\n---------\n{}", rows()[..7].join("\n"), "12345678-");
        let grid = recognise(text.as_bytes()).expect("it is a grid");
        assert_eq!(grid.cells[63..72], *b".........");
    }

    #[test]
    fn what_fits_no_layout_exactly_is_no_grid() {
        let good = rows().join("\n");
        let border = "+---".repeat(9) + "+";
        for text in [
            String::new(),
            "hello".into(),
            rows()[..8].join("\n"),
            good.replacen('5', "", 1),
            good.replacen('5', "55", 1),
            good.replacen('5', "a", 1),
            good.replacen("534", "53 4", 1),
            format!("1\n{good}"),
            format!("{}1", GRID),
            GRID[1..].into(),
            "........\n".repeat(9),
            "---------\n".repeat(9),
            ".".repeat(81),
            "-".repeat(81),
            format!("{border}\n{}", "| 1   2   3   4   5   6   7   8   9 |\n".repeat(9)),
            format!("10 2 3 4 5 6 7 8\n{good}"),
        ] {
            assert_eq!(recognise(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_text_that_is_cut_off_behind_the_limit_gives_the_same() {
        for blanks in [0, 400, 440, 445, 446, 447, 448, 450, 500] {
            let end = format!("{}\r\r\n", " ".repeat(blanks));
            let text = rows().join(&end) + &end + &"x".repeat(BYTES_MAX);
            let whole = recognise(text.as_bytes());
            assert_eq!(whole.is_some(), 9 * (9 + blanks) + 8 * 3 < BYTES_MAX, "{blanks}");
            assert_eq!(recognise(&text.as_bytes()[..BYTES_MAX + 2]), whole, "{blanks}");
        }
    }
}
