//! Whether a drawing begins here, decided by the shapes of the next lines.
//!
//! A damaged drawing may have lost or gained lines, so counting lines is not enough to know where
//! the next drawing begins. It begins with the line from which more lines of a drawing follow than
//! from any other.

use super::{BORDER, DRAWING_LINES};
use crate::format::lines::{
    Lines, integer, is_blank, line_end_bytes, trim_end, trim_start, without_marks,
};
use memchr::memchr2;

/// How many bytes are examined: a drawing and two more lines, with room for many blanks behind each.
pub(in crate::format) const LOOKAHEAD_BYTES: usize = 4096;

/// How many lines are examined: those of a drawing, and two that may precede it.
const LOOKAHEAD_LINES: usize = DRAWING_LINES + 2;

/// How often border and row alternate in a drawing of which about half is there.
const ALTERNATIONS_MIN: usize = 8;

/// What a line could be, by its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// The top border of a drawing, or the bottom one.
    OuterBorder,
    /// Another border, possibly damaged.
    Border,
    /// A border with digits in it, as where two lines were joined.
    BorderWithDigits,
    /// A row of cells.
    Row,
    /// Three numbers, as in a line with the total of a cage.
    Total,
    Blank,
    Other,
}

/// The lines of the current case, which ends if the next drawing begins here.
#[derive(Clone, Copy, Debug)]
pub(super) struct CaseSoFar {
    /// How many lines it has.
    pub lines: usize,
    /// Whether borders and rows alternate in its lines, up to the length of a drawing.
    pub alternates: bool,
    /// Whether its drawing is complete, from the first line to the last.
    pub is_complete: bool,
    /// Whether its first line is one of a drawing.
    pub begins_drawn: bool,
}

/// Whether the next drawing begins with the line at `at`; `None` if that takes more of the file.
pub(super) fn begins(lines: &Lines, at: usize, case: CaseSoFar) -> Option<bool> {
    let rest = &lines.window[at..];
    // Two more bytes, for a line end of three bytes right at the limit.
    if !lines.end && rest.len() < LOOKAHEAD_BYTES + 2 {
        return None;
    }
    Some(drawing_begins(rest, case))
}

fn drawing_begins(rest: &[u8], case: CaseSoFar) -> bool {
    let first = shape_of(first_line(rest));
    if matches!(first, Shape::Total | Shape::Blank) {
        return false;
    }
    if case.alternates
        && (case.lines == DRAWING_LINES - 1
            || (case.lines < DRAWING_LINES && first != Shape::OuterBorder))
    {
        return false;
    }
    let (shapes, count) = shapes(rest);
    let shapes = &shapes[..count];
    if is_drawing(shapes) {
        // After a single line of a drawing, this is a drawing whose first line occurs twice.
        return case.lines > 1 || !case.begins_drawn;
    }
    // A line right before a drawing is not a part of it.
    if case.lines < DRAWING_LINES || shapes.get(1..).is_some_and(is_drawing) {
        return false;
    }
    let next = shapes.iter().skip(1).find(|shape| **shape != Shape::Blank);
    if case.is_complete && matches!(first, Shape::OuterBorder | Shape::Border) {
        // Totals after a border make it a stray line, unless more of a drawing follows.
        return next != Some(&Shape::Total) || shapes.get(2..).is_some_and(continues);
    }
    // The first line of a drawing may be damaged or missing.
    let fits = match shapes.get(1) {
        Some(Shape::Row) => true,
        Some(Shape::OuterBorder | Shape::Border) => {
            matches!(first, Shape::Row | Shape::BorderWithDigits)
        }
        _ => false,
    };
    fits && alternations(shapes) >= ALTERNATIONS_MIN
}

/// Whether a drawing that began earlier continues with these lines.
fn continues(shapes: &[Shape]) -> bool {
    let is_drawn = matches!(shapes, [Shape::OuterBorder | Shape::Border | Shape::Row, ..]);
    is_drawn && !is_drawing(shapes) && alternations(shapes) >= ALTERNATIONS_MIN
}

/// Whether a complete drawing begins with these lines.
fn is_drawing(shapes: &[Shape]) -> bool {
    let Some(drawing) = shapes.first_chunk::<DRAWING_LINES>() else {
        return false;
    };
    drawing[0] == Shape::OuterBorder && drawing.windows(2).all(alternate)
}

/// How often border and row alternate, up to the first total, in as many lines as a drawing has.
fn alternations(shapes: &[Shape]) -> usize {
    let drawing = &shapes[..shapes.len().min(DRAWING_LINES)];
    let drawing = drawing.split(|shape| *shape == Shape::Total).next().unwrap_or_default();
    drawing.windows(2).filter(|pair| alternate(pair)).count()
}

fn alternate(pair: &[Shape]) -> bool {
    use Shape::{Border, OuterBorder, Row};
    matches!(pair, [OuterBorder | Border, Row] | [Row, OuterBorder | Border])
}

/// The shapes of the lines that end within the bytes examined, and their number.
fn shapes(rest: &[u8]) -> ([Shape; LOOKAHEAD_LINES], usize) {
    let mut shapes = [Shape::Other; LOOKAHEAD_LINES];
    let (mut at, mut count) = (0, 0);
    while at < rest.len() && count < LOOKAHEAD_LINES {
        let examined = &rest[..rest.len().min(LOOKAHEAD_BYTES)];
        let stop = match examined.get(at..).and_then(|text| memchr2(b'\n', b'\r', text)) {
            Some(length) => at + length,
            None if rest.len() < LOOKAHEAD_BYTES => rest.len(),
            None => break,
        };
        shapes[count] = shape_of(&rest[at..stop]);
        count += 1;
        at = stop + line_end_bytes(&rest[stop..]);
    }
    (shapes, count)
}

/// The first line, or the part of it that is examined.
fn first_line(rest: &[u8]) -> &[u8] {
    let examined = &rest[..rest.len().min(LOOKAHEAD_BYTES)];
    memchr2(b'\n', b'\r', examined).map_or(examined, |stop| &examined[..stop])
}

fn shape_of(line: &[u8]) -> Shape {
    let text = trim_start(trim_end(without_marks(line)));
    match text.first() {
        _ if is_blank(text) => Shape::Blank,
        Some(b'|') => Shape::Row,
        Some(b'+') if text == BORDER => Shape::OuterBorder,
        Some(b'+') if !text.iter().any(u8::is_ascii_digit) => Shape::Border,
        Some(b'+') => Shape::BorderWithDigits,
        Some(_) if is_total(text) => Shape::Total,
        _ => Shape::Other,
    }
}

fn is_total(mut text: &[u8]) -> bool {
    for _ in 0..3 {
        let stop = text.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(text.len());
        let (word, rest) = text.split_at(stop);
        if integer(word).is_none() {
            return false;
        }
        text = trim_start(rest);
    }
    text.is_empty()
}

/// Whether `line` begins as a row of a drawing does, if `row` is set, or else as a border does.
pub(super) fn begins_as(line: &[u8], row: bool) -> bool {
    let text = trim_start(without_marks(line));
    text.first() == Some(if row { &b'|' } else { &b'+' })
}

/// Whether `line` is the bottom border of a drawing.
pub(super) fn is_bottom(line: &[u8]) -> bool {
    trim_start(trim_end(without_marks(line))) == BORDER
}
