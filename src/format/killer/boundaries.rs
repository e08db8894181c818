//! Where diagrams begin and end.

use super::{BORDER, CRLF_BYTES, DRAWING_LINES, LF_BYTES, LINE_BYTES};
use crate::format::lines::{Fetched, Line, Lines, Step, count, is_blank, plain_rows, without_bom};
use crate::format::{CaseText, Found, Rows};
use memchr::memchr;

/// Finds where diagrams begin and end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::format) struct Boundaries {
    /// Whether the rest of a case that was too large is passed over.
    pub skip: bool,
    /// Whether the line that is passed over has begun already.
    pub inside_line: bool,
    /// Whether the line before was one of a drawing.
    pub after_drawing_line: bool,
}

/// What is known about a diagram whose end is looked for.
#[derive(Default)]
struct Seen {
    /// Lines so far.
    lines: usize,
    /// Whether they alternate between `+` and `|`, as far as a drawing goes.
    alternating: bool,
    /// Whether the last one begins as lines of a drawing do.
    after_drawing_line: bool,
    /// Where the last line that is not blank ends.
    text_end: usize,
}

impl Seen {
    /// Whether all lines of a drawing are there, so that the next drawing begins with the next `+`.
    fn whole_drawing(&self) -> bool {
        self.alternating && self.lines >= DRAWING_LINES
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
        let mut seen = Seen { alternating: true, ..Seen::default() };
        let mut at = lines.at;
        loop {
            let line = match lines.fetch(at, lines.at) {
                // Nothing but its first byte is needed of the line that begins the next drawing.
                _ if seen.whole_drawing() && begins_drawing(lines, at) => {
                    return end_case(lines, found, seen.text_end, at, seen.lines);
                }
                // That byte may still come behind a byte-order mark.
                _ if seen.whole_drawing() && lines.ends_in_bom(at) => return Step::Stop,
                Fetched::More => return Step::Stop,
                Fetched::End => {
                    end_case(lines, found, seen.text_end, at, seen.lines);
                    return Step::Stop;
                }
                Fetched::Long
                    if seen.whole_drawing() && rest_is_blank(lines, seen.text_end, at) =>
                {
                    return end_case(lines, found, seen.text_end, at, seen.lines);
                }
                Fetched::Long => {
                    lines.tell_too_large(found, at, seen.lines as u64, true);
                    lines.advance(at, seen.lines as u64);
                    self.skip = true;
                    self.after_drawing_line = seen.after_drawing_line;
                    return Step::On;
                }
                Fetched::Line(line) => line,
            };
            let text = lines.content(line);
            if seen.lines < DRAWING_LINES {
                let expected = if seen.lines.is_multiple_of(2) { b'+' } else { b'|' };
                seen.alternating &= text.first() == Some(&expected);
            }
            if !seen.alternating && seen.lines > 0 {
                let trust_border = !seen.after_drawing_line || text.len() > without_bom(text).len();
                match in_step(lines, line, trust_border, seen.lines >= DRAWING_LINES) {
                    None => return Step::Stop,
                    Some(true) => return end_case(lines, found, at, at, seen.lines),
                    Some(false) => {}
                }
            }
            seen.after_drawing_line = matches!(text.first(), Some(b'+' | b'|'));
            seen.lines += 1;
            at = line.next;
            if !is_blank(without_bom(text)) {
                seen.text_end = at;
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
            self.after_drawing_line = false;
            return Step::On;
        }
        let at = lines.at;
        match lines.fetch(at, at) {
            Fetched::More | Fetched::End => return Step::Stop,
            Fetched::Long => self.inside_line = true,
            Fetched::Line(line) => {
                let text = lines.content(line);
                let trust_border = !self.after_drawing_line || text.len() > without_bom(text).len();
                match in_step(lines, line, trust_border, true) {
                    None => return Step::Stop,
                    Some(true) => self.skip = false,
                    Some(false) => {
                        self.after_drawing_line = matches!(text.first(), Some(b'+' | b'|'));
                        lines.advance(line.next, 1);
                    }
                }
            }
        }
        Step::On
    }
}

/// Whether `line` is the top border of the next drawing, after one that is broken.
///
/// A border that does not follow another line of a drawing is one (`trust`). If it does, the border
/// may be the bottom of the broken drawing: only with a row below it is it the top of the next one,
/// and then only if the broken drawing has had all its lines (`enough_lines`). `None`: the window
/// ends before that row.
fn in_step(lines: &Lines, line: Line, trust: bool, enough_lines: bool) -> Option<bool> {
    if without_bom(lines.content(line)) != BORDER {
        return Some(false);
    }
    if trust || !enough_lines {
        return Some(trust);
    }
    match lines.window.get(line.next) {
        Some(byte) => Some(*byte == b'|'),
        None => lines.end.then_some(false),
    }
}

/// Whether the line at `at` begins the next drawing, after one that has all its lines.
fn begins_drawing(lines: &Lines, at: usize) -> bool {
    without_bom(&lines.window[at..]).first() == Some(&b'+')
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
/// lines have the same line end, and right behind the last cage line the next drawing begins.
fn plain(lines: &Lines) -> Option<(Rows, usize, u64)> {
    let text = &lines.window[lines.at..];
    let text = &text[..text.len().min(lines.case_bytes_max)];
    let (rows, bytes) = plain_rows::<LINE_BYTES, LF_BYTES, CRLF_BYTES>(text, |byte| byte < b' ')?;
    let (drawing, rest) = text.split_at(bytes);
    let mut lines_of_drawing = drawing.chunks_exact(bytes / DRAWING_LINES).enumerate();
    let alternating =
        lines_of_drawing.all(|(i, line)| line[0] == if i % 2 == 0 { b'+' } else { b'|' });
    let cage_lines = &rest[..memchr(b'+', rest)?];
    let line_ends = count(cage_lines, |byte| byte == b'\n');
    let end: &[u8] = if rows == Rows::Lf { b"\n" } else { b"\r\n" };
    let others = count(cage_lines, |byte| !(b' '..=b'~').contains(&byte));
    let last_line = cage_lines.strip_suffix(end)?.rsplit(|byte| *byte == b'\n').next()?;
    if !alternating || others != line_ends * end.len() || is_blank(last_line) {
        return None;
    }
    // As many carriage returns as line feeds: each stands before one if none stands elsewhere.
    let returned = rows == Rows::Lf
        || cage_lines.split_inclusive(|byte| *byte == b'\n').all(|line| line.ends_with(end));
    let end = lines.at + bytes + cage_lines.len();
    returned.then_some((rows, end, (DRAWING_LINES + line_ends) as u64))
}
