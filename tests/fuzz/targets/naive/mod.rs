//! Reading once more, written to be read: a whole file in memory, line by line, without limits.
//!
//! Together with the oracle it says what the cases of a file are and which marks they get. It
//! knows nothing of windows, batches, fast ways and messages.

mod cases;

use crate::oracle;
use cases::{BORDER, board, diagram, is_hexudoku};
use gridmark::board::Kind;
use std::collections::HashMap;

const MARK: &[u8] = b"\xEF\xBB\xBF";

/// A case, where it lies, and what its mark has to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub start: usize,
    pub end: usize,
    pub line: u64,
    pub block_end: bool,
    pub mark: Expected,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// The broken rules, each with its cell; none if the case is right.
    Faults(Vec<(String, String)>),
    /// Cells filled, cells that stay blank, conflicts at the start.
    Counted(usize, usize, usize),
    /// Code, line and column.
    Unreadable(String, u64, u64),
}

fn unreadable(code: &str, line: usize, column: usize) -> Expected {
    Expected::Unreadable(code.into(), line as u64, column as u64)
}

fn faults(told: Vec<oracle::Told>) -> Expected {
    Expected::Faults(told.into_iter().map(|(code, at)| (code.into(), at)).collect())
}

/// The kind of a file and its cases; at most so many solutions that are missing at its end.
pub fn grade(forced: Option<Kind>, bytes: &[u8], missing_max: u64) -> (Option<Kind>, Vec<Case>) {
    let (lines, known, cases) = (lines(bytes), HashMap::new(), Vec::new());
    let mut file = File { bytes, lines, at: 0, cases, known };
    while file.next_is_blank() {
        file.at += 1;
    }
    let start = file.offset(file.at);
    let Some(first) = file.next() else {
        file.tell(start, bytes.len(), true, unreadable("unknown-format", 1, 1));
        return (None, file.cases);
    };
    let kind = forced.or_else(|| kind_of(first));
    match kind {
        Some(Kind::Killer) => file.diagrams(),
        Some(Kind::Classic) => file.blocks(missing_max),
        Some(Kind::Hexudoku) => file.boards(),
        None => {
            let start = file.offset(file.at);
            let why = unreadable("unknown-format", file.at + 1, 1);
            file.tell(start, start + first.len(), true, why);
        }
    }
    (kind, file.cases)
}

fn kind_of(line: &[u8]) -> Option<Kind> {
    let row = trim_end(line);
    if line.starts_with(b"+---+") {
        Some(Kind::Killer)
    } else if row.len() == 16 && row.iter().all(|cell| is_hexudoku(*cell)) {
        Some(Kind::Hexudoku)
    } else {
        integer(trim_start(row)).map(|_| Kind::Classic)
    }
}

/// Where a line starts, where its end begins, and where the next one starts.
type Line = (usize, usize, usize);

fn lines(bytes: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let rest = &bytes[start..];
        let length = rest.iter().position(|b| *b == b'\n' || *b == b'\r').unwrap_or(rest.len());
        let end = if rest[length..].starts_with(b"\r\n") { 2 } else { 1 };
        let next = (start + length + end).min(bytes.len());
        lines.push((start, start + length, next));
        start = next;
    }
    lines
}

fn trim_end(mut text: &[u8]) -> &[u8] {
    while let Some(blank) = BLANKS.iter().find(|blank| text.ends_with(blank)) {
        text = &text[..text.len() - blank.len()];
    }
    text
}

fn trim_start(mut text: &[u8]) -> &[u8] {
    while let Some(blank) = BLANKS.iter().find(|blank| text.starts_with(blank)) {
        text = &text[blank.len()..];
    }
    text
}

/// Of two that fit the longer one comes first.
const BLANKS: [&[u8]; 4] = [b" ", b"\t", b"\xC2\xA0", b"\xA0"];

fn is_blank(text: &[u8]) -> bool {
    trim_end(text).is_empty()
}

/// The number that one to nine digits are.
fn integer(text: &[u8]) -> Option<u64> {
    let is_number = (1..=9).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| String::from_utf8_lossy(text).parse().unwrap())
}

struct File<'a> {
    bytes: &'a [u8],
    lines: Vec<Line>,
    /// The next line.
    at: usize,
    cases: Vec<Case>,
    /// Texts that were judged before, in this block if they are solutions: the oracle is slow.
    known: HashMap<&'a [u8], Expected>,
}

impl<'a> File<'a> {
    fn content(&self, line: usize) -> Option<&'a [u8]> {
        self.lines.get(line).map(|(start, stop, _)| &self.bytes[*start..*stop])
    }

    /// Where a line starts, or the end of the file.
    fn offset(&self, line: usize) -> usize {
        self.lines.get(line).map_or(self.bytes.len(), |line| line.0)
    }

    /// The next line, at a place where a case may start: byte-order marks are no part of it.
    fn next(&mut self) -> Option<&'a [u8]> {
        while self.content(self.at)?.starts_with(MARK) {
            self.lines[self.at].0 += MARK.len();
        }
        if self.offset(self.at) == self.bytes.len() {
            self.lines.pop();
        }
        self.content(self.at)
    }

    fn next_is_blank(&mut self) -> bool {
        self.next().is_some_and(is_blank)
    }

    /// A case whose first line is the next one.
    fn tell(&mut self, start: usize, end: usize, block_end: bool, mark: Expected) {
        self.cases.push(Case { start, end, line: self.at as u64 + 1, block_end, mark });
    }

    /// The mark of a text, whose place is no part of it unless it is unreadable.
    fn judged(&mut self, text: &'a [u8], judge: impl FnOnce() -> Expected) -> Expected {
        if let Some(mark) = self.known.get(text) {
            return mark.clone();
        }
        let mark = judge();
        if !matches!(mark, Expected::Unreadable(..)) {
            self.known.insert(text, mark.clone());
        }
        mark
    }

    fn diagrams(&mut self) {
        while let Some(first) = self.next() {
            if is_blank(first) {
                self.at += 1;
                continue;
            }
            let (start, (end, next)) = (self.offset(self.at), self.diagram_end());
            let (text, line) = (&self.bytes[start..end], self.at + 1);
            let mark = self.judged(text, || diagram(text, line));
            self.tell(start, end, true, mark);
            self.at = next;
        }
    }

    /// Where the diagram ends that begins at the next line, and the line behind it.
    fn diagram_end(&self) -> (usize, usize) {
        let mut alternating = true;
        let mut after_drawing_line = false;
        let mut text_end = self.offset(self.at);
        for line in self.at..self.lines.len() {
            let number = line - self.at;
            let content = self.content(line).unwrap();
            let bare = content.strip_prefix(MARK).unwrap_or(content);
            if number >= 19 && alternating && bare.starts_with(b"+") {
                return (text_end, line);
            }
            if number < 19 {
                alternating &=
                    content.starts_with(if number.is_multiple_of(2) { b"+" } else { b"|" });
            }
            let next = self.offset(line + 1);
            if number > 0 && !alternating && bare == BORDER {
                // A border that stands alone begins a drawing; one below a row may end one.
                let stands_alone = !after_drawing_line || content.len() > bare.len();
                if stands_alone || (number >= 19 && self.bytes[next..].starts_with(b"|")) {
                    return (self.offset(line), line);
                }
            }
            after_drawing_line = content.starts_with(b"+") || content.starts_with(b"|");
            if !is_blank(bare) {
                text_end = next;
            }
        }
        (text_end, self.lines.len())
    }

    fn blocks(&mut self, missing_max: u64) {
        let mut after_block = false;
        while let Some(content) = self.next() {
            let text = trim_start(trim_end(content));
            let number = integer(text);
            // Nine digits behind a block are a row too much rather than a number of solutions.
            if number.is_some_and(|n| n > 0) && !(after_block && text.len() == 9) {
                self.at += 1;
                self.block(number.unwrap(), missing_max);
                after_block = true;
            } else if is_blank(content) {
                self.at += 1;
            } else {
                let is_zero = number == Some(0) && text.len() < 9;
                let code = if after_block && !is_zero { "trailing-data" } else { "bad-count" };
                let (start, end) = (self.offset(self.at), self.offset(self.at + 1));
                self.tell(start, end, true, unreadable(code, self.at + 1, 1));
                self.at += 1;
                let is_count = |content| {
                    let text = trim_start(trim_end(content));
                    text.len() < 9 && integer(text).is_some_and(|n| n > 0)
                };
                while self.next().is_some_and(|content| !is_count(content)) {
                    self.at += 1;
                }
            }
        }
    }

    /// A puzzle and so many solutions.
    fn block(&mut self, solutions: u64, missing_max: u64) {
        self.known.clear();
        let mut givens = Vec::new();
        let mut bad = None;
        for _ in 0..9 {
            let Some(content) = self.content(self.at) else {
                return self.missing(solutions, 0, missing_max);
            };
            self.at += 1;
            let row = trim_end(content);
            let wrong = row.iter().take(9).position(|given| !b"123456789*.0".contains(given));
            let wrong = wrong.or((row.len() != 9).then_some(row.len().min(9)));
            bad = bad.or(wrong.map(|column| unreadable("bad-given", self.at, column + 1)));
            givens.extend_from_slice(row);
        }
        for number in 0..solutions {
            let rows = (self.at..self.at + 9).map_while(|line| self.content(line));
            let rows = rows.map(<[u8]>::to_vec).collect::<Vec<_>>();
            if rows.len() < 9 {
                return self.missing(solutions - number, rows.len(), missing_max);
            }
            let (start, end) = (self.offset(self.at), self.offset(self.at + 9));
            let mark = bad.clone().unwrap_or_else(|| {
                self.judged(&self.bytes[start..end], || faults(oracle::classic(&rows, &givens)))
            });
            self.tell(start, end, number + 1 == solutions, mark);
            self.at += 9;
        }
    }

    /// So many solutions are missing, of the first of which so many rows are there.
    fn missing(&mut self, missing: u64, rows: usize, missing_max: u64) {
        let end = self.bytes.len();
        let told = missing.min(missing_max.max(1));
        let why = unreadable("truncated", self.at + rows + 1, 1);
        for number in 1..=told {
            self.tell(self.offset(self.at), end, number == told, why.clone());
            self.at = self.lines.len();
        }
    }

    fn boards(&mut self) {
        while let Some(first) = self.next() {
            let rows = (self.at..self.at + 16).map_while(|line| self.content(line));
            let rows = rows.take_while(|row| !is_blank(row)).count();
            let mut next = self.at + rows;
            // The blank line that ends a board too early belongs to it.
            if rows < 16 && next < self.lines.len() {
                next += 1;
            }
            if !is_blank(first) {
                let (start, end) = (self.offset(self.at), self.offset(next));
                let (text, line) = (&self.bytes[start..end], self.at + 1);
                let mark = self.judged(text, || board(text, line));
                self.tell(start, end, true, mark);
            }
            self.at = next;
        }
    }
}
