//! Reading a second time, simply: a whole file in memory, line by line, without limits.
//!
//! Together with the oracle it says what the cases of a file are and which marks they get. It has
//! no windows, no batches, no fast paths and no messages, and shares no code with the readers.

mod cases;

use crate::oracle;
use cases::{BORDER, board, diagram, is_hexudoku};
use gridmark_core::Kind;
use std::collections::HashMap;

const MARK: &[u8] = b"\xEF\xBB\xBF";

/// A case: its place in the file, and its expected mark.
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

fn faults(found: Vec<oracle::FaultAt>) -> Expected {
    Expected::Faults(found.into_iter().map(|(code, at)| (code.into(), at)).collect())
}

/// The kind of a file and its cases, with at most `missing_max` cases for solutions that are
/// missing at its end.
pub fn grade(forced: Option<Kind>, bytes: &[u8], missing_max: u64) -> (Option<Kind>, Vec<Case>) {
    let (lines, known, cases) = (lines(bytes), HashMap::new(), Vec::new());
    let mut file = File { bytes, lines, at: 0, cases, known };
    while file.next_is_blank() {
        file.at += 1;
    }
    let start = file.offset(file.at);
    let Some(first) = file.next() else {
        let code = if forced.is_some() { "truncated" } else { "unknown-format" };
        file.push(start, bytes.len(), true, unreadable(code, 1, 1));
        return (forced, file.cases);
    };
    let kind = forced.or_else(|| kind_of(first));
    match kind {
        Some(Kind::Killer) => file.diagrams(),
        Some(Kind::Classic) => file.blocks(missing_max),
        Some(Kind::Hexudoku) => file.boards(),
        None => {
            let start = file.offset(file.at);
            let why = unreadable("unknown-format", file.at + 1, 1);
            file.push(start, start + first.len(), true, why);
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

/// Where a line starts, where its line end starts, and where the next line starts.
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

/// The longer of two that fit comes first.
const BLANKS: [&[u8]; 4] = [b" ", b"\t", b"\xC2\xA0", b"\xA0"];

fn is_blank(text: &[u8]) -> bool {
    trim_end(text).is_empty()
}

/// The value of one to nine digits.
fn integer(text: &[u8]) -> Option<u64> {
    let is_number = (1..=9).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| String::from_utf8_lossy(text).parse().unwrap())
}

/// A line without leading byte-order marks.
fn bare(mut line: &[u8]) -> &[u8] {
    while line.starts_with(MARK) {
        line = &line[MARK.len()..];
    }
    line
}

/// What a line could be, in a drawing or below it.
fn shape_of(line: &[u8]) -> &'static str {
    let text = trim_start(trim_end(bare(line)));
    let words = text.split(|byte| *byte == b' ' || *byte == b'\t').map(trim_start);
    let mut words = words.filter(|word| !word.is_empty());
    let is_total = (0..3).all(|_| words.next().and_then(integer).is_some());
    if text.is_empty() {
        "blank"
    } else if text == BORDER {
        "outer"
    } else if text.starts_with(b"+") && !text.iter().any(u8::is_ascii_digit) {
        "border"
    } else if text.starts_with(b"+") {
        "border with digits"
    } else if text.starts_with(b"|") {
        "row"
    } else if is_total && words.next().is_none() {
        "total"
    } else {
        "other"
    }
}

/// How often borders and rows alternate.
fn alternations(shapes: &[&str]) -> usize {
    let is_border = |shape: &str| shape == "outer" || shape == "border";
    let pairs = shapes.windows(2);
    let turn = |pair: &&[&str]| {
        (is_border(pair[0]) && pair[1] == "row") || (pair[0] == "row" && is_border(pair[1]))
    };
    pairs.filter(turn).count()
}

struct File<'a> {
    bytes: &'a [u8],
    lines: Vec<Line>,
    /// The next line.
    at: usize,
    cases: Vec<Case>,
    /// The marks of texts that were judged before, of solutions only those of this block: the
    /// oracle is slow.
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

    /// The next line, where a case may start: leading byte-order marks are not part of it.
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

    /// Adds a case whose first line is the next one.
    fn push(&mut self, start: usize, end: usize, block_end: bool, mark: Expected) {
        self.cases.push(Case { start, end, line: self.at as u64 + 1, block_end, mark });
    }

    /// The mark of a text, kept for equal texts; that of an unreadable one depends on its place.
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
            self.push(start, end, true, mark);
            self.at = next;
        }
    }

    /// Where the diagram ends that begins at the next line, and the line behind it.
    fn diagram_end(&self) -> (usize, usize) {
        let mut text_end = self.offset(self.at);
        for line in self.at..self.lines.len() {
            if line > self.at && self.drawing_begins(line) {
                return (text_end, line);
            }
            if !is_blank(bare(self.content(line).unwrap())) {
                text_end = self.offset(line + 1);
            }
        }
        (text_end, self.lines.len())
    }

    /// Whether the next drawing begins with this line, where one has begun at the next line.
    fn drawing_begins(&self, line: usize) -> bool {
        let before = line - self.at;
        let bare_line = |number| trim_start(bare(self.content(number).unwrap()));
        let first_byte = |number: usize| if number.is_multiple_of(2) { b"+" } else { b"|" };
        let as_drawn = (0..before.min(19))
            .all(|number| bare_line(self.at + number).starts_with(first_byte(number)));
        let whole = before >= 19 && as_drawn && trim_end(bare_line(self.at + 18)) == BORDER;

        let shapes = self.shapes(line);
        let first = shape_of(&self.content(line).unwrap()[..self.length(line).min(1024)]);
        let is_drawing = |from: usize| {
            let lines = shapes.get(from..from + 19);
            lines.is_some_and(|lines| lines[0] == "outer" && alternations(lines) == 18)
        };
        if first == "total" || first == "blank" {
            return false;
        }
        if as_drawn && (before == 18 || (before < 19 && first != "outer")) {
            return false;
        }
        if is_drawing(0) {
            let one = bare_line(self.at);
            return before > 1 || !(one.starts_with(b"+") || one.starts_with(b"|"));
        }
        if before < 19 || is_drawing(1) {
            return false;
        }
        let is_border = |shape: &str| shape == "outer" || shape == "border";
        let next = shapes.iter().skip(1).find(|shape| **shape != "blank");
        let half_a_drawing = |shapes: &[&str]| {
            let up_to_total = shapes.iter().take(19).take_while(|shape| **shape != "total");
            alternations(&up_to_total.copied().collect::<Vec<_>>()) >= 8
        };
        if whole && is_border(first) {
            let goes_on = shapes.len() > 2
                && (is_border(shapes[2]) || shapes[2] == "row")
                && !is_drawing(2)
                && half_a_drawing(&shapes[2..]);
            return next != Some(&"total") || goes_on;
        }
        let begins_drawn = first == "row" || first == "border with digits";
        let fits =
            shapes.len() > 1 && (shapes[1] == "row" || (begins_drawn && is_border(shapes[1])));
        fits && half_a_drawing(&shapes)
    }

    fn length(&self, line: usize) -> usize {
        self.lines[line].1 - self.lines[line].0
    }

    /// The shapes of the next 21 lines, as far as they end within a kilobyte.
    fn shapes(&self, line: usize) -> Vec<&'static str> {
        let start = self.offset(line);
        let lines = self.lines[line..].iter().take(21);
        let near = lines.take_while(|(_, stop, _)| stop - start < 1024);
        near.map(|(start, stop, _)| shape_of(&self.bytes[*start..*stop])).collect()
    }

    fn blocks(&mut self, missing_max: u64) {
        let mut after_block = false;
        while let Some(content) = self.next() {
            let text = trim_start(trim_end(content));
            let number = integer(text);
            // Nine digits behind a block are a row too many rather than a number of solutions.
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
                self.push(start, end, true, unreadable(code, self.at + 1, 1));
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

    /// Adds the solutions of a block, which begins with its puzzle.
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
            self.push(start, end, number + 1 == solutions, mark);
            self.at += 9;
        }
    }

    /// Adds `missing` solutions that are missing, of the first of which `rows` rows are there.
    fn missing(&mut self, missing: u64, rows: usize, missing_max: u64) {
        let end = self.bytes.len();
        let listed = missing.min(missing_max.max(1));
        let why = unreadable("truncated", self.at + rows + 1, 1);
        for number in 1..=listed {
            self.push(self.offset(self.at), end, number == listed, why.clone());
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
                self.push(start, end, true, mark);
            }
            self.at = next;
        }
    }
}
