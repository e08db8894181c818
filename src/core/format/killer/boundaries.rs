//! Where diagrams begin and end.

use super::ahead::{Before, begins, begins_as, is_bottom};
use super::{BORDER, DRAWING_LINES, LINE_BYTES};
use crate::format::lines::{Fetched, Lines, Step, is_blank, without_boms};
use crate::format::{CaseText, Found, Rows};
use memchr::memchr2;

/// Finds where diagrams begin and end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::format) struct Boundaries {
    /// Whether the rest of a case that was too large is passed over.
    pub skip: bool,
    /// Whether the line that is passed over has begun already.
    pub inside_line: bool,
}

/// What is known about the rest of a case that was too large, and that may still be in its drawing:
/// only a whole drawing ends it.
const TOO_LARGE: Before =
    Before { lines: 2, alternating: false, whole: false, begins_drawn: false };

/// A diagram whose end is looked for.
struct Seen {
    before: Before,
    /// Where the last line that is not blank ends.
    text_end: usize,
}

impl Seen {
    /// One more line of the diagram, which ends at `next`.
    fn add(&mut self, line: &[u8], next: usize) {
        let before = &mut self.before;
        if before.lines < DRAWING_LINES {
            before.alternating &= begins_as(line, !before.lines.is_multiple_of(2));
        }
        before.begins_drawn |=
            before.lines == 0 && (begins_as(line, false) || begins_as(line, true));
        before.lines += 1;
        before.whole |= before.lines == DRAWING_LINES && before.alternating && is_bottom(line);
        if !is_blank(without_boms(line)) {
            self.text_end = next;
        }
    }
}

impl Boundaries {
    pub fn step(&mut self, lines: &mut Lines, found: &mut Found) -> Step {
        if self.skip {
            return self.skip_line(lines);
        }
        if !lines.skip_bom() {
            return Step::Stop;
        }
        if let Some((rows, end, count)) = plain(lines) {
            lines.tell_case(found, end, rows, CaseText::Killer);
            lines.advance(end, count);
            return Step::On;
        }
        match lines.fetch(lines.at, lines.at) {
            Fetched::Line(line) if is_blank(lines.content(line)) => {
                lines.advance(line.next, 1);
                Step::On
            }
            Fetched::More | Fetched::End => Step::Stop,
            Fetched::Line(_) | Fetched::Long => self.diagram(lines, found),
        }
    }

    /// A diagram, whose first line is here.
    fn diagram(&mut self, lines: &mut Lines, found: &mut Found) -> Step {
        let before = Before { lines: 0, alternating: true, whole: false, begins_drawn: false };
        let mut seen = Seen { before, text_end: lines.at };
        let mut at = lines.at;
        loop {
            let count = seen.before.lines;
            if count > 0 {
                match begins(lines, at, seen.before) {
                    None => return Step::Stop,
                    Some(true) => return end_case(lines, found, seen.text_end, at, count),
                    Some(false) => {}
                }
            }
            match lines.fetch(at, lines.at) {
                Fetched::More => return Step::Stop,
                Fetched::End => {
                    end_case(lines, found, seen.text_end, at, count);
                    return Step::Stop;
                }
                Fetched::Long
                    if count >= DRAWING_LINES && rest_is_blank(lines, seen.text_end, at) =>
                {
                    return end_case(lines, found, seen.text_end, at, count);
                }
                Fetched::Long => {
                    lines.tell_too_large(found, at, count as u64, true);
                    lines.advance(at, count as u64);
                    self.skip = true;
                    return Step::On;
                }
                Fetched::Line(line) => {
                    seen.add(lines.content(line), line.next);
                    at = line.next;
                }
            }
        }
    }

    /// Passes over a line after a case that was too large, unless the next drawing begins there.
    fn skip_line(&mut self, lines: &mut Lines) -> Step {
        if self.inside_line {
            if !lines.skip_rest() {
                return Step::Stop;
            }
            self.inside_line = false;
            return Step::On;
        }
        let at = lines.at;
        match begins(lines, at, TOO_LARGE) {
            None => return Step::Stop,
            Some(true) => {
                self.skip = false;
                return Step::On;
            }
            Some(false) => {}
        }
        match lines.fetch(at, at) {
            Fetched::More | Fetched::End => return Step::Stop,
            Fetched::Long => self.inside_line = true,
            Fetched::Line(line) => lines.advance(line.next, 1),
        }
        Step::On
    }
}

/// Whether a case that is too large is so only because of blank lines behind it.
fn rest_is_blank(lines: &Lines, text_end: usize, at: usize) -> bool {
    let limit = lines.at + lines.case_bytes_max;
    lines.window[text_end..=limit.max(at)].split(|byte| matches!(byte, b'\n' | b'\r')).all(is_blank)
}

fn end_case(lines: &mut Lines, found: &mut Found, end: usize, next: usize, count: usize) -> Step {
    lines.tell_case(found, end, Rows::Any, CaseText::Killer);
    lines.advance(next, count as u64);
    Step::On
}

/// How the rows lie of a diagram as nearly all are, where it ends, and how many lines it has: all
/// lines have the same line end, and right behind the last cage line the next drawing begins, with a
/// border and a row.
fn plain(lines: &Lines) -> Option<(Rows, usize, u64)> {
    let text = &lines.window[lines.at..];
    let text = &text[..text.len().min(lines.case_bytes_max)];
    let (rows, (end, count)) = match text.get(LINE_BYTES)? {
        b'\n' => (Rows::Lf, plain_diagram::<{ LINE_BYTES + 1 }>(text, b"\n")?),
        _ => (Rows::CrLf, plain_diagram::<{ LINE_BYTES + 2 }>(text, b"\r\n")?),
    };
    Some((rows, lines.at + end, count as u64))
}

/// Where a diagram ends whose drawing has lines of `PITCH` bytes, `end` included, and how many lines
/// it has; `None` if it is not as nearly all are.
#[inline]
fn plain_diagram<const PITCH: usize>(text: &[u8], end: &[u8]) -> Option<(usize, usize)> {
    /// Bytes that are looked at together.
    const PIECE: usize = 64;
    let drawing = text.as_chunks::<PITCH>().0.first_chunk::<DRAWING_LINES>()?;
    if !is_plain_drawing(drawing, end) || !drawing[DRAWING_LINES - 1].starts_with(BORDER) {
        return None;
    }
    let drawing = DRAWING_LINES * PITCH;
    let rest = &text[drawing..];
    let (cage_lines, next) = rest.split_at(memchr2(b'+', b'|', rest)?);
    if next.strip_prefix(BORDER)?.strip_prefix(end)?.first() != Some(&b'|') {
        return None;
    }
    let last = cage_lines.strip_suffix(end)?.last()?;
    let stop = drawing + cage_lines.len();
    // Whole pieces, the first of which begins in one of the last two lines of the drawing.
    let bytes = cage_lines.len().next_multiple_of(PIECE);
    let of_drawing = bytes - cage_lines.len();
    let (mut feeds, mut others) = (0, 0);
    for piece in text[stop - bytes..stop].as_chunks::<PIECE>().0 {
        let few = piece.iter().map(|byte| u8::from(*byte == b'\n'));
        feeds += usize::from(few.sum::<u8>());
        // Signed, bytes that are not ASCII are less than a blank too.
        let few = piece.iter().map(|byte| u8::from((*byte as i8) < b' ' as i8));
        others += usize::from(few.sum::<u8>());
    }
    // Line ends of the drawing are among them.
    feeds -= usize::from(of_drawing > 0) + usize::from(of_drawing > PITCH);
    others -= of_drawing.min(end.len()) + of_drawing.saturating_sub(PITCH).min(end.len());
    let is_plain = others == feeds * end.len()
        && *last > b' '
        && (end.len() == 1 || count_pairs(cage_lines) == feeds);
    is_plain.then_some((stop, DRAWING_LINES + feeds))
}

/// How many carriage returns stand in front of a line feed.
fn count_pairs(text: &[u8]) -> usize {
    let is_pair = |(byte, next): (&u8, &u8)| u8::from(*byte == b'\r') & u8::from(*next == b'\n');
    // Counts of 128 fit in a byte.
    let pieces = text.chunks(128).zip(text[1..].chunks(128));
    let few = pieces.map(|(piece, next)| piece.iter().zip(next).map(is_pair).sum::<u8>());
    few.map(usize::from).sum()
}

/// Whether a drawing is as nearly all are: all lines end so, no other ends are in them, and they
/// begin with `+` and `|` by turns.
#[inline]
fn is_plain_drawing<const PITCH: usize>(lines: &[[u8; PITCH]; DRAWING_LINES], end: &[u8]) -> bool {
    const PIECE: usize = 16;
    let (mut least, mut wrong) = ([u8::MAX; PIECE], 0);
    for (line, first) in lines.iter().zip(b"+|".iter().cycle()) {
        for at in [0, PIECE, LINE_BYTES - PIECE] {
            let piece = line[at..].first_chunk::<PIECE>().unwrap_or(&[0; PIECE]);
            least = core::array::from_fn(|i| least[i].min(piece[i]));
        }
        wrong |= line[0] ^ first;
        wrong |= line[LINE_BYTES] ^ end[0];
        wrong |= line[PITCH - 1] ^ b'\n';
    }
    wrong == 0 && !least.iter().fold(false, |has, byte| has | (*byte < b' '))
}
