//! Whether a drawing begins here, told by how the next lines look.
//!
//! A drawing that is broken may have lost lines or have some too many, so counting is not enough to
//! know where the next one begins. It begins with a line to which more lines of a drawing belong than
//! to any other one.

use super::{BORDER, DRAWING_LINES};
use crate::format::lines::{Lines, integer, trim_end, trim_start, without_boms};
use memchr::memchr2;

/// How many bytes are looked at: those of a drawing and a line, and some blanks.
pub(in crate::format) const AHEAD_BYTES: usize = 1024;

/// How many lines are looked at: those of a drawing, and two that may stand before it.
const AHEAD_LINES: usize = DRAWING_LINES + 2;

/// How often border and row take turns in a drawing of which about half is there.
const TURNS_MIN: usize = 8;

/// What a line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// The top border of a drawing, or the bottom one.
    OuterBorder,
    /// Another border, or one that is broken.
    Border,
    /// A border with digits in it, as where two lines have become one.
    BorderWithDigits,
    Row,
    /// A line with the total of a cage, if perhaps of none that there is.
    Total,
    Blank,
    Other,
}

/// What is known about the case that ends if a drawing begins here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    /// How many lines it has.
    pub lines: usize,
    /// Whether they are those of a drawing, as far as that goes.
    pub alternating: bool,
    /// Whether its drawing is there from the first to the last line.
    pub whole: bool,
    /// Whether its first line is one of a drawing.
    pub begins_drawn: bool,
}

/// Whether the next drawing begins with the line at `at`; `None` if that needs more of the file.
pub(super) fn begins(lines: &Lines, at: usize, before: Before) -> Option<bool> {
    let rest = &lines.window[at..];
    // Two more bytes, for a line end that just fits.
    if !lines.end && rest.len() < AHEAD_BYTES + 2 {
        return None;
    }
    Some(drawing_begins(rest, before))
}

fn drawing_begins(rest: &[u8], before: Before) -> bool {
    let first = look(first_line(rest));
    if matches!(first, Look::Total | Look::Blank) {
        return false;
    }
    if before.alternating
        && (before.lines == DRAWING_LINES - 1
            || (before.lines < DRAWING_LINES && first != Look::OuterBorder))
    {
        return false;
    }
    let (looks, count) = looks(rest);
    let looks = &looks[..count];
    if is_drawing(looks) {
        // Behind a single line, that is a drawing whose first line is there twice.
        return before.lines > 1 || !before.begins_drawn;
    }
    // A line that stands right before a drawing is no part of it.
    if before.lines < DRAWING_LINES || looks.get(1..).is_some_and(is_drawing) {
        return false;
    }
    let next = looks.iter().skip(1).find(|look| **look != Look::Blank);
    if before.whole && matches!(first, Look::OuterBorder | Look::Border) {
        // Totals behind a border make that a stray line, unless there is more of a drawing.
        return next != Some(&Look::Total) || looks.get(2..).is_some_and(goes_on);
    }
    // The first line of a drawing may be broken, or missing.
    let fits = match looks.get(1) {
        Some(Look::Row) => true,
        Some(Look::OuterBorder | Look::Border) => {
            matches!(first, Look::Row | Look::BorderWithDigits)
        }
        _ => false,
    };
    fits && turns(looks) >= TURNS_MIN
}

/// Whether a drawing goes on with these lines that has begun before.
fn goes_on(looks: &[Look]) -> bool {
    let is_drawn = matches!(looks, [Look::OuterBorder | Look::Border | Look::Row, ..]);
    is_drawn && !is_drawing(looks) && turns(looks) >= TURNS_MIN
}

/// Whether a whole drawing begins with these lines.
fn is_drawing(looks: &[Look]) -> bool {
    let Some(drawing) = looks.first_chunk::<DRAWING_LINES>() else {
        return false;
    };
    drawing[0] == Look::OuterBorder && drawing.windows(2).all(takes_turns)
}

/// How often border and row take turns, up to the first total, in as many lines as a drawing has.
fn turns(looks: &[Look]) -> usize {
    let drawing = &looks[..looks.len().min(DRAWING_LINES)];
    let drawing = drawing.split(|look| *look == Look::Total).next().unwrap_or_default();
    drawing.windows(2).filter(|pair| takes_turns(pair)).count()
}

fn takes_turns(pair: &[Look]) -> bool {
    use Look::{Border, OuterBorder, Row};
    matches!(pair, [OuterBorder | Border, Row] | [Row, OuterBorder | Border])
}

/// How the lines look that end soon enough, and how many they are.
fn looks(rest: &[u8]) -> ([Look; AHEAD_LINES], usize) {
    let mut looks = [Look::Other; AHEAD_LINES];
    let (mut at, mut count) = (0, 0);
    while at < rest.len() && count < AHEAD_LINES {
        let seen = &rest[..rest.len().min(AHEAD_BYTES)];
        let stop = match seen.get(at..).and_then(|text| memchr2(b'\n', b'\r', text)) {
            Some(length) => at + length,
            None if rest.len() < AHEAD_BYTES => rest.len(),
            None => break,
        };
        looks[count] = look(&rest[at..stop]);
        count += 1;
        at = stop + if rest[stop..].starts_with(b"\r\n") { 2 } else { 1 };
    }
    (looks, count)
}

/// The first line, or as much of it as is looked at.
fn first_line(rest: &[u8]) -> &[u8] {
    let seen = &rest[..rest.len().min(AHEAD_BYTES)];
    memchr2(b'\n', b'\r', seen).map_or(seen, |stop| &seen[..stop])
}

fn look(line: &[u8]) -> Look {
    let text = trim_start(trim_end(without_boms(line)));
    match text.first() {
        None => Look::Blank,
        Some(b'|') => Look::Row,
        Some(b'+') if text == BORDER => Look::OuterBorder,
        Some(b'+') if !text.iter().any(u8::is_ascii_digit) => Look::Border,
        Some(b'+') => Look::BorderWithDigits,
        Some(_) if is_total(text) => Look::Total,
        Some(_) => Look::Other,
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

/// Whether `line` begins as lines of a drawing do, those with rows if `row`, else those without.
pub(super) fn begins_as(line: &[u8], row: bool) -> bool {
    let text = trim_start(without_boms(line));
    text.first() == Some(if row { &b'|' } else { &b'+' })
}

/// Whether `line` is the bottom border of a drawing.
pub(super) fn is_bottom(line: &[u8]) -> bool {
    trim_start(trim_end(without_boms(line))) == BORDER
}
