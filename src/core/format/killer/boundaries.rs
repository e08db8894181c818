//! Where diagrams begin and end.

use super::lookahead::{CaseSoFar, begins, begins_as, is_bottom};
use super::{BORDER, DRAWING_LINES, LINE_BYTES};
use crate::format::lines::{Fetched, Lines, Step, is_blank, without_marks};
use crate::format::{CaseText, Found, Rows};
use memchr::memchr2;

/// Finds where diagrams begin and end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::format) struct Boundaries {
    /// Whether the rest of a case that was too large is being skipped.
    pub skip: bool,
    /// Whether a part of the line that is being skipped is consumed already.
    pub inside_line: bool,
}

/// The rest of a case that was too large, which may still be in its drawing: only a complete
/// drawing ends it.
const TOO_LARGE: CaseSoFar =
    CaseSoFar { lines: 2, alternates: false, is_complete: false, begins_drawn: false };

/// A diagram whose end is not found yet.
struct OpenCase {
    so_far: CaseSoFar,
    /// Where the last line that is not blank ends.
    text_end: usize,
}

impl OpenCase {
    /// Adds a line, which ends at `next`.
    fn add(&mut self, line: &[u8], next: usize) {
        let case = &mut self.so_far;
        if case.lines < DRAWING_LINES {
            case.alternates &= begins_as(line, !case.lines.is_multiple_of(2));
        }
        case.begins_drawn |= case.lines == 0 && (begins_as(line, false) || begins_as(line, true));
        case.lines += 1;
        case.is_complete |= case.lines == DRAWING_LINES && case.alternates && is_bottom(line);
        if !is_blank(without_marks(line)) {
            self.text_end = next;
        }
    }
}

impl Boundaries {
    /// Skips everything up to the next complete drawing.
    pub fn skipping() -> Boundaries {
        Boundaries { skip: true, inside_line: false }
    }

    pub fn step(&mut self, lines: &mut Lines, found: &mut Found) -> Step {
        if self.skip {
            return self.skip_line(lines);
        }
        if !lines.skip_marks() {
            return Step::Stop;
        }
        if let Some((rows, end, count)) = regular(lines) {
            lines.push_case(found, end, rows, CaseText::Killer);
            lines.advance(end, count);
            return Step::Continue;
        }
        match lines.fetch(lines.at, lines.at) {
            Fetched::Line(line) if is_blank(lines.content(line)) => {
                lines.advance(line.next, 1);
                Step::Continue
            }
            Fetched::More | Fetched::End => Step::Stop,
            Fetched::Line(_) | Fetched::Long => self.diagram(lines, found),
        }
    }

    /// A diagram that is not regular.
    fn diagram(&mut self, lines: &mut Lines, found: &mut Found) -> Step {
        let so_far =
            CaseSoFar { lines: 0, alternates: true, is_complete: false, begins_drawn: false };
        let mut open = OpenCase { so_far, text_end: lines.at };
        let mut at = lines.at;
        loop {
            let count = open.so_far.lines;
            if count > 0 {
                match begins(lines, at, open.so_far) {
                    None => return Step::Stop,
                    Some(true) => return end_case(lines, found, open.text_end, at, count),
                    Some(false) => {}
                }
            }
            match lines.fetch(at, lines.at) {
                Fetched::More => return Step::Stop,
                Fetched::End => {
                    end_case(lines, found, open.text_end, at, count);
                    return Step::Stop;
                }
                Fetched::Long
                    if count >= DRAWING_LINES && rest_is_blank(lines, open.text_end, at) =>
                {
                    return end_case(lines, found, open.text_end, at, count);
                }
                Fetched::Long => {
                    lines.push_too_large(found, at, count as u64, true);
                    lines.advance(at, count as u64);
                    // A line that is too large by itself is not examined again.
                    (self.skip, self.inside_line) = (true, count == 0);
                    return Step::Continue;
                }
                Fetched::Line(line) => {
                    open.add(lines.content(line), line.next);
                    at = line.next;
                }
            }
        }
    }

    /// Skips a line after a case that was too large, unless the next drawing begins there.
    fn skip_line(&mut self, lines: &mut Lines) -> Step {
        if self.inside_line {
            if !lines.skip_rest() {
                return Step::Stop;
            }
            self.inside_line = false;
            return Step::Continue;
        }
        let at = lines.at;
        match begins(lines, at, TOO_LARGE) {
            None => return Step::Stop,
            Some(true) => {
                self.skip = false;
                return Step::Continue;
            }
            Some(false) => {}
        }
        match lines.fetch(at, at) {
            Fetched::More | Fetched::End => return Step::Stop,
            Fetched::Long => self.inside_line = true,
            Fetched::Line(line) => lines.advance(line.next, 1),
        }
        Step::Continue
    }
}

/// Whether a case is too large only because of the blank lines behind it.
fn rest_is_blank(lines: &Lines, text_end: usize, at: usize) -> bool {
    let limit = lines.at + lines.case_bytes_max;
    lines.window[text_end..=limit.max(at)].split(|byte| matches!(byte, b'\n' | b'\r')).all(is_blank)
}

fn end_case(lines: &mut Lines, found: &mut Found, end: usize, next: usize, count: usize) -> Step {
    lines.push_case(found, end, Rows::Any, CaseText::Killer);
    lines.advance(next, count as u64);
    Step::Continue
}

/// The layout of a regular diagram, where it ends, and how many lines it has: all lines have the
/// same line end, and the next drawing begins right behind the last cage line, with a border and a
/// row.
fn regular(lines: &Lines) -> Option<(Rows, usize, u64)> {
    let text = &lines.window[lines.at..];
    let text = &text[..text.len().min(lines.case_bytes_max)];
    let (rows, (end, count)) = match text.get(LINE_BYTES)? {
        b'\n' => (Rows::Lf, regular_diagram_end::<{ LINE_BYTES + 1 }>(text, b"\n")?),
        _ => (Rows::CrLf, regular_diagram_end::<{ LINE_BYTES + 2 }>(text, b"\r\n")?),
    };
    Some((rows, lines.at + end, count as u64))
}

/// Where a regular diagram ends whose drawing has lines of `PITCH` bytes, `end` included, and how
/// many lines it has; `None` if it is not regular.
#[inline]
fn regular_diagram_end<const PITCH: usize>(text: &[u8], end: &[u8]) -> Option<(usize, usize)> {
    /// Bytes that are examined together.
    const PIECE: usize = 64;
    let drawing = text.as_chunks::<PITCH>().0.first_chunk::<DRAWING_LINES>()?;
    if !is_regular_drawing(drawing, end) || !drawing[DRAWING_LINES - 1].starts_with(BORDER) {
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
    // Whole pieces only, so the first of them begins in one of the last two lines of the drawing.
    let bytes = cage_lines.len().next_multiple_of(PIECE);
    let of_drawing = bytes - cage_lines.len();
    let (mut feeds, mut others) = (0, 0);
    for piece in text[stop - bytes..stop].as_chunks::<PIECE>().0 {
        let few = piece.iter().map(|byte| u8::from(*byte == b'\n'));
        feeds += usize::from(few.sum::<u8>());
        // As signed numbers, bytes beyond ASCII are below a blank too.
        let few = piece.iter().map(|byte| u8::from((*byte as i8) < b' ' as i8));
        others += usize::from(few.sum::<u8>());
    }
    // The line ends of the drawing in the first piece do not count.
    feeds -= usize::from(of_drawing > 0) + usize::from(of_drawing > PITCH);
    others -= of_drawing.min(end.len()) + of_drawing.saturating_sub(PITCH).min(end.len());
    let is_regular = others == feeds * end.len()
        && *last > b' '
        && (end.len() == 1 || count_pairs(cage_lines) == feeds);
    is_regular.then_some((stop, DRAWING_LINES + feeds))
}

/// How many carriage returns are followed by a line feed.
fn count_pairs(text: &[u8]) -> usize {
    let is_pair = |(byte, next): (&u8, &u8)| u8::from(*byte == b'\r') & u8::from(*next == b'\n');
    // A count up to 128 fits in a byte.
    let pieces = text.chunks(128).zip(text[1..].chunks(128));
    let few = pieces.map(|(piece, next)| piece.iter().zip(next).map(is_pair).sum::<u8>());
    few.map(usize::from).sum()
}

/// Whether a drawing is regular: all its lines have this end and no other, and `+` and `|`
/// alternate at their starts.
#[inline]
fn is_regular_drawing<const PITCH: usize>(
    lines: &[[u8; PITCH]; DRAWING_LINES],
    end: &[u8],
) -> bool {
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
