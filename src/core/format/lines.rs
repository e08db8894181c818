//! Lines in a window: their ends, blanks, and lines that are too long or not complete yet.

use super::{Case, CaseText, Found, Rows};
use crate::board::{Unreadable, UnreadableCode};
use alloc::boxed::Box;
use alloc::format;
use memchr::memchr2;

/// The UTF-8 byte-order mark.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Begins a new page in printed text.
const FORM_FEED: u8 = 0x0C;

/// `^Z`, which marks the end of a file in DOS.
const END_OF_FILE: u8 = 0x1A;

/// One line of a window, as indices into it: its content is `start..stop`, and the next line begins
/// at `next`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub start: usize,
    pub stop: usize,
    pub next: usize,
}

/// What [`Lines::fetch`] finds.
pub(super) enum Fetched {
    /// A complete line.
    Line(Line),
    /// The line ends beyond the limit on the length of its case.
    Long,
    /// The window may end inside the line.
    More,
    /// The file has no further line.
    End,
}

/// A position in a window, at the start of a line or inside one that is skipped.
pub(super) struct Lines<'w> {
    pub window: &'w [u8],
    /// Whether the file ends where the window ends.
    pub end: bool,
    /// The longest case in bytes.
    pub case_bytes_max: usize,
    /// Everything before this index is consumed.
    pub at: usize,
    /// The number of the line at `at`, from 1.
    pub line: u64,
}

/// Whether to go on in the same window.
pub(in crate::format) enum Step {
    /// Something was consumed.
    Continue,
    /// The window holds no further complete case, or the file is at its end.
    Stop,
}

impl Lines<'_> {
    /// The line that begins at `at`, as part of a case that began at `case_start`.
    pub fn fetch(&self, at: usize, case_start: usize) -> Fetched {
        let length = self.window.len();
        if at == length {
            return if self.end { Fetched::End } else { Fetched::More };
        }
        let stop_max = case_start + self.case_bytes_max;
        if at > stop_max {
            return Fetched::Long;
        }
        let searched = &self.window[at..length.min(stop_max + 1)];
        match memchr2(b'\n', b'\r', searched).map(|i| at + i) {
            Some(stop) => match self.after_line_end(stop) {
                Some(next) => Fetched::Line(Line { start: at, stop, next }),
                None => Fetched::More,
            },
            None if length > stop_max => Fetched::Long,
            None if self.end => Fetched::Line(Line { start: at, stop: length, next: length }),
            None => Fetched::More,
        }
    }

    /// Where the line after the line end at `stop` begins; `None` if a part of the line end may still
    /// follow.
    fn after_line_end(&self, stop: usize) -> Option<usize> {
        let rest = &self.window[stop..];
        let is_complete = self.end || !matches!(rest, [b'\r'] | [b'\r', b'\r']);
        is_complete.then_some(stop + line_end_bytes(rest))
    }

    /// The content of `line`.
    pub fn content(&self, line: Line) -> &[u8] {
        &self.window[line.start..line.stop]
    }

    /// Consumes `lines` complete lines, the last of which ends at `next`.
    pub fn advance(&mut self, next: usize, lines: u64) {
        self.at = next;
        self.line += lines;
    }

    /// Consumes the rest of a line of any length; false if the window ends before the line does.
    pub fn skip_rest(&mut self) -> bool {
        match memchr2(b'\n', b'\r', &self.window[self.at..]).map(|i| self.at + i) {
            Some(stop) => match self.after_line_end(stop) {
                Some(next) => self.advance(next, 1),
                None => {
                    self.at = stop;
                    return false;
                }
            },
            None => {
                self.advance(self.window.len(), u64::from(self.end));
                return self.end;
            }
        }
        true
    }

    /// Consumes the [marks](without_marks) before an input; false if the window ends inside what may
    /// be one.
    pub fn skip_marks(&mut self) -> bool {
        let rest = &self.window[self.at..];
        self.at += rest.len() - without_marks(rest).len();
        !self.ends_in_bom(self.at)
    }

    /// Whether the window ends inside what may be a byte-order mark at `at`, or right after it.
    pub fn ends_in_bom(&self, at: usize) -> bool {
        let rest = &self.window[at..];
        !self.end && !rest.is_empty() && BOM.starts_with(rest)
    }

    /// Appends an unreadable case that begins here and ends at `end`.
    pub fn push_unreadable(&self, found: &mut Found, end: usize, block_end: bool, why: Unreadable) {
        found.cases.push(Case {
            start: self.at,
            end,
            line: self.line,
            block_end,
            rows: Rows::Any,
            text: CaseText::Unreadable(Box::new(why)),
        });
    }

    /// Appends a diagram or board that begins here and ends at `end`.
    pub fn push_case(&self, found: &mut Found, end: usize, rows: Rows, text: CaseText) {
        let (start, line) = (self.at, self.line);
        found.cases.push(Case { start, end, line, block_end: true, rows, text });
    }

    /// Appends a case that begins here and exceeds the limit in the line at `at`, which is `lines`
    /// lines from here.
    pub fn push_too_large(&self, found: &mut Found, at: usize, lines: u64, block_end: bool) {
        let (what, end, column) = match lines {
            0 => ("line", self.at + self.case_bytes_max, self.case_bytes_max as u64 + 1),
            _ => ("case", at, 1),
        };
        let why = Unreadable {
            code: UnreadableCode::TooLarge,
            line: self.line + lines,
            column,
            message: format!(
                "expected a {what} of at most {} bytes (case_bytes_max), found a longer one",
                self.case_bytes_max
            )
            .into(),
        };
        self.push_unreadable(found, end, block_end, why);
    }
}

/// The layout and the number of bytes of the rows at the start of `text`, if they are
/// [regular](super): each has `WIDTH` bytes from `LOWEST` to `HIGHEST`, and all end alike.
///
/// `LF` and `CRLF` are the bytes of all rows together with such line ends.
pub(super) fn regular_rows<
    const WIDTH: usize,
    const LF: usize,
    const CRLF: usize,
    const LOWEST: u8,
    const HIGHEST: u8,
>(
    text: &[u8],
) -> Option<(Rows, usize)> {
    const { assert!(LF.is_multiple_of(WIDTH + 1) && CRLF == LF + LF / (WIDTH + 1)) };
    match text.get(WIDTH)? {
        b'\n' => {
            let text = text.first_chunk::<LF>()?;
            RegularRows::<WIDTH, LF, LOWEST, HIGHEST>::matches(text).then_some((Rows::Lf, LF))
        }
        b'\r' => {
            let text = text.first_chunk::<CRLF>()?;
            RegularRows::<WIDTH, CRLF, LOWEST, HIGHEST>::matches(text).then_some((Rows::CrLf, CRLF))
        }
        _ => None,
    }
}

/// The test for regular rows of `WIDTH` bytes, which are `BYTES` bytes together with their ends.
pub(super) struct RegularRows<
    const WIDTH: usize,
    const BYTES: usize,
    const LOWEST: u8,
    const HIGHEST: u8,
>;

impl<const WIDTH: usize, const BYTES: usize, const LOWEST: u8, const HIGHEST: u8>
    RegularRows<WIDTH, BYTES, LOWEST, HIGHEST>
{
    /// Which bytes are allowed at each place: the lowest one, and how many more follow it.
    const ALLOWED: ([u8; BYTES], [u8; BYTES]) = {
        let (mut least, mut more) = ([LOWEST; BYTES], [HIGHEST - LOWEST; BYTES]);
        let end: &[u8] = if BYTES.is_multiple_of(WIDTH + 1) { b"\n" } else { b"\r\n" };
        let pitch = WIDTH + end.len();
        assert!(BYTES.is_multiple_of(pitch) && BYTES >= 16);
        let mut at = 0;
        while at < BYTES {
            if at % pitch >= WIDTH {
                (least[at], more[at]) = (end[at % pitch - WIDTH], 0);
            }
            at += 1;
        }
        (least, more)
    };

    /// Whether every byte is allowed where it is.
    #[inline]
    pub fn matches(text: &[u8; BYTES]) -> bool {
        let (least, more) = const { &Self::ALLOWED };
        // 16 bytes at a time; the last 16 may overlap those before them.
        let mut wrong = [0; 16];
        let places = least.as_chunks().0.iter().zip(more.as_chunks().0);
        for (text, (least, more)) in text.as_chunks().0.iter().zip(places) {
            add_wrong(text, least, more, &mut wrong);
        }
        if let (Some(text), Some(least), Some(more)) =
            (text.last_chunk(), least.last_chunk(), more.last_chunk())
        {
            add_wrong(text, least, more, &mut wrong);
        }
        u128::from_ne_bytes(wrong) == 0
    }
}

/// Sets bits of `wrong` where a byte is neither `least` nor one of the `more` bytes above it.
#[inline(always)]
fn add_wrong(text: &[u8; 16], least: &[u8; 16], more: &[u8; 16], wrong: &mut [u8; 16]) {
    for i in 0..16 {
        wrong[i] |= text[i].wrapping_sub(least[i]).max(more[i]) ^ more[i];
    }
}

/// `line` without byte-order marks, form feeds and `^Z` at its start, which occur wherever one file
/// was appended to another or a page begins.
pub(crate) fn without_marks(mut line: &[u8]) -> &[u8] {
    loop {
        line = match line {
            [FORM_FEED | END_OF_FILE, rest @ ..] => rest,
            _ => match line.strip_prefix(BOM) {
                Some(rest) => rest,
                None => return line,
            },
        };
    }
}

/// The text of an input without form feeds and `^Z` behind its last line, nor what blanks and line
/// ends are among them. A text that ends in none of them is returned unchanged.
pub(super) fn without_end_marks(text: &[u8]) -> &[u8] {
    let mut rest = text;
    let mut has_mark = false;
    loop {
        rest = match trim_end(rest) {
            [rest @ .., FORM_FEED | END_OF_FILE] => {
                has_mark = true;
                rest
            }
            [rest @ .., b'\n' | b'\r'] => rest,
            rest if has_mark => return rest,
            _ => return text,
        };
    }
}

/// `text` without trailing blanks, tabs and no-break spaces (UTF-8 or Latin-1).
pub(crate) fn trim_end(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t'] | [rest @ .., 0xC2, 0xA0] | [rest @ .., 0xA0] = text {
        text = rest;
    }
    text
}

/// `text` without leading blanks, tabs and no-break spaces (UTF-8 or Latin-1).
pub(crate) fn trim_start(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [0xC2, 0xA0, rest @ ..] | [0xA0, rest @ ..] = text {
        text = rest;
    }
    text
}

/// Whether `line` holds nothing but blanks, form feeds and `^Z`.
pub(crate) fn is_blank(mut line: &[u8]) -> bool {
    while let [rest @ .., FORM_FEED | END_OF_FILE] = trim_end(line) {
        line = rest;
    }
    trim_end(line).is_empty()
}

/// How many bytes the line end has with which `text` begins: LF, CRLF or CR; or CR CR LF, which comes
/// of converting LF to CRLF twice.
pub(super) fn line_end_bytes(text: &[u8]) -> usize {
    match text {
        [b'\r', b'\r', b'\n', ..] => 3,
        [b'\r', b'\n', ..] => 2,
        _ => 1,
    }
}

/// Whether `text` begins with a line of `BYTES` bytes, its LF included, without other control
/// characters: a faster test than a search for line ends.
pub(super) fn has_line<const BYTES: usize>(text: &[u8]) -> bool {
    text.first_chunk::<BYTES>().and_then(|line| line.split_last()).is_some_and(|(end, line)| {
        *end == b'\n' && line.iter().fold(true, |all, byte| all & (*byte >= b' '))
    })
}

/// The lines of `text`, a whole case, without their ends.
pub(crate) fn split(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || next_line(&mut text))
}

/// Takes the first line off `text`, a whole case, and returns it without its end.
pub(crate) fn next_line<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    if text.is_empty() {
        return None;
    }
    let Some(stop) = memchr2(b'\n', b'\r', text) else {
        return Some(core::mem::take(text));
    };
    let (line, rest) = text.split_at(stop);
    *text = &rest[line_end_bytes(rest)..];
    Some(line)
}

/// The value of `text` if it is one to nine digits and nothing else.
pub(crate) fn integer(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 9 || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(text.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0')))
}
