//! Reading a second time, simply: a whole file in memory, line by line, without limits.
//!
//! Together with the oracle it says what the cases of a file are and which marks they get. It has
//! no windows, no batches, no fast paths and no messages, and shares no code with the readers.

mod bare;
mod cases;

use crate::oracle;
use cases::{BORDER, board, diagram, is_hexudoku};
use gridmark_core::Kind;
use std::collections::HashMap;

/// What may stand before an input.
const MARKS: [&[u8]; 3] = [b"\xEF\xBB\xBF", b"\x0C", b"\x1A"];

/// What may stand behind one, besides blanks.
const END_MARKS: [&[u8]; 2] = [b"\x0C", b"\x1A"];

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
    if is_utf_16_or_32(bytes) {
        file.push(0, 0, true, unreadable("unknown-format", 1, 1));
        return (forced, file.cases);
    }
    while file.next_is_blank() {
        file.at += 1;
    }
    let start = file.offset(file.at);
    let Some(first) = file.next() else {
        let code = if forced.is_some() { "truncated" } else { "unknown-format" };
        file.push(start, bytes.len(), true, unreadable(code, 1, 1));
        return (forced, file.cases);
    };
    if forced != Some(Kind::Hexudoku)
        && let Some((bytes, lines)) = bare::grid(&file.lines_from(file.at))
    {
        let start = file.offset(file.at);
        file.push(start, start + bytes, true, unreadable("bare-grid", file.at + 1, 1));
        file.at += lines;
        match forced {
            Some(Kind::Classic) => file.blocks_behind_other_text(missing_max),
            Some(Kind::Killer) => file.diagrams_behind_other_text(),
            _ => {}
        }
        return (forced, file.cases);
    }
    let kind = forced.or_else(|| kind_of(first));
    match kind {
        Some(Kind::Killer) => file.diagrams(),
        Some(Kind::Classic) => file.blocks(missing_max, false),
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
    let row = trim_end(without_end_marks(line));
    if line.starts_with(b"+---+") {
        Some(Kind::Killer)
    } else if row.len() == 16 && row.iter().all(|cell| is_hexudoku(*cell)) {
        Some(Kind::Hexudoku)
    } else {
        count(line).map(|_| Kind::Classic)
    }
}

fn is_utf_16_or_32(bytes: &[u8]) -> bool {
    let is_text = |byte: u8| byte != 0 && byte.is_ascii();
    let marks: [&[u8]; 3] = [b"\xFF\xFE", b"\xFE\xFF", b"\0\0\xFE\xFF"];
    marks.iter().any(|mark| bytes.starts_with(mark))
        || (bytes.len() >= 4
            && ((is_text(bytes[0]) && bytes[1] == 0 && is_text(bytes[2]) && bytes[3] == 0)
                || (bytes[0] == 0 && is_text(bytes[1]) && bytes[2] == 0 && is_text(bytes[3]))))
}

/// Where a line starts, where its line end starts, and where the next line starts.
type Line = (usize, usize, usize);

fn lines(bytes: &[u8]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let rest = &bytes[start..];
        let length = rest.iter().position(|b| *b == b'\n' || *b == b'\r').unwrap_or(rest.len());
        let ends: [&[u8]; 3] = [b"\r\r\n", b"\r\n", b""];
        let end = ends.iter().find(|end| rest[length..].starts_with(end)).unwrap().len().max(1);
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
    trim_end(without_end_marks(text)).is_empty()
}

/// A text without the form feeds and `^Z` at its end and the blanks and line ends among them, if it has
/// any of the former.
fn without_end_marks(text: &[u8]) -> &[u8] {
    let mut rest = text;
    let mut has_mark = false;
    loop {
        let mut trimmed = trim_end(rest);
        if let Some(mark) = END_MARKS.iter().find(|mark| trimmed.ends_with(mark)) {
            has_mark = true;
            trimmed = &trimmed[..trimmed.len() - mark.len()];
        } else if trimmed.ends_with(b"\n") || trimmed.ends_with(b"\r") {
            trimmed = &trimmed[..trimmed.len() - 1];
        }
        if trimmed.len() == rest.len() {
            return if has_mark { rest } else { text };
        }
        rest = trimmed;
    }
}

/// A number of solutions: up to eight digits.
fn count(line: &[u8]) -> Option<u64> {
    let text = trim_start(trim_end(without_end_marks(line)));
    if text.len() < 9 { integer(text) } else { None }
}

/// The value of one to nine digits.
fn integer(text: &[u8]) -> Option<u64> {
    let is_number = (1..=9).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    is_number.then(|| String::from_utf8_lossy(text).parse().unwrap())
}

/// A line without leading marks.
fn bare(mut line: &[u8]) -> &[u8] {
    while let Some(mark) = MARKS.iter().find(|mark| line.starts_with(mark)) {
        line = &line[mark.len()..];
    }
    line
}

/// What a line could be, in a drawing or below it.
fn shape_of(line: &[u8]) -> &'static str {
    let text = trim_start(trim_end(bare(line)));
    let words = text.split(|byte| *byte == b' ' || *byte == b'\t').map(trim_start);
    let mut words = words.filter(|word| !word.is_empty());
    let is_total = (0..3).all(|_| words.next().and_then(integer).is_some());
    if is_blank(text) {
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

    /// The next line, where a case may start: leading marks are not part of it.
    fn next(&mut self) -> Option<&'a [u8]> {
        let content = self.content(self.at)?;
        self.lines[self.at].0 += content.len() - bare(content).len();
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

    /// Each line from this one on, with places counted from the start of this one.
    fn lines_from(&self, line: usize) -> Vec<bare::Line<'a>> {
        let start = self.offset(line);
        let lines = self.lines[line..].iter().map(|(from, stop, next)| bare::Line {
            content: &self.bytes[*from..*stop],
            stop: stop - start,
            next: next - start,
            file_bytes: self.bytes.len() - start,
        });
        lines.collect()
    }

    /// Skips everything up to a complete drawing.
    fn diagrams_behind_other_text(&mut self) {
        while self.at < self.lines.len() {
            let shapes = self.shapes(self.at);
            if shapes.len() >= 19 && shapes[0] == "outer" && alternations(&shapes[..19]) == 18 {
                return self.diagrams();
            }
            self.at += 1;
        }
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
        let first = shape_of(&self.content(line).unwrap()[..self.length(line).min(4096)]);
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

    /// The shapes of the next 21 lines, as far as they end within four kilobytes.
    fn shapes(&self, line: usize) -> Vec<&'static str> {
        let start = self.offset(line);
        let lines = self.lines[line..].iter().take(21);
        let near = lines.take_while(|(_, stop, _)| stop - start < 4096);
        near.map(|(start, stop, _)| shape_of(&self.bytes[*start..*stop])).collect()
    }

    fn blocks(&mut self, missing_max: u64, mut after_block: bool) {
        while let Some(content) = self.next() {
            if is_blank(content) {
                self.at += 1;
                continue;
            }
            let why = match count(content) {
                None | Some(0) => unreadable("bad-count", self.at + 1, 1),
                Some(number) => match self.puzzle(self.at + 1) {
                    Ok(givens) => {
                        self.at += 10;
                        self.block(number, &givens, missing_max);
                        after_block = true;
                        continue;
                    }
                    Err(why) => why,
                },
            };
            let why = if after_block { unreadable("trailing-data", self.at + 1, 1) } else { why };
            self.push(self.offset(self.at), self.offset(self.at + 1), true, why);
            self.at += 1;
            return self.blocks_behind_other_text(missing_max);
        }
    }

    /// Skips everything up to a number of solutions with a puzzle behind it whose last row has open cells.
    fn blocks_behind_other_text(&mut self, missing_max: u64) {
        while let Some(content) = self.next() {
            if let (Some(number @ 1..), Ok(givens)) = (count(content), self.puzzle(self.at + 1))
                && givens[72..].iter().any(|given| !(b'1'..=b'9').contains(given))
            {
                self.at += 10;
                self.block(number, &givens, missing_max);
                return self.blocks(missing_max, true);
            }
            self.at += 1;
        }
    }

    /// The givens in the nine rows from this line on, or why they are not a puzzle.
    fn puzzle(&self, first: usize) -> Result<Vec<u8>, Expected> {
        let mut givens = Vec::new();
        for line in first..first + 9 {
            let content = self.content(line).ok_or_else(|| unreadable("truncated", line + 1, 1))?;
            let row = trim_end(content);
            let wrong = row.iter().take(9).position(|given| !b"123456789*.0".contains(given));
            if let Some(column) = wrong.or((row.len() != 9).then_some(row.len().min(9))) {
                return Err(unreadable("bad-given", line + 1, column + 1));
            }
            givens.extend_from_slice(row);
        }
        Ok(givens)
    }

    /// Adds the solutions of a block, of which the next line is the first.
    fn block(&mut self, solutions: u64, givens: &[u8], missing_max: u64) {
        self.known.clear();
        for number in 0..solutions {
            let rows = (self.at..self.at + 9).map_while(|line| self.content(line));
            let mut rows = rows.map(<[u8]>::to_vec).collect::<Vec<_>>();
            if rows.len() < 9 {
                return self.missing(solutions - number, rows.len(), missing_max);
            }
            let (start, mut end) = (self.offset(self.at), self.offset(self.at + 9));
            let is_last = number + 1 == solutions;
            let row = without_end_marks(&rows[8]).len();
            if row < rows[8].len() && (is_last || self.at + 9 == self.lines.len()) {
                rows[8].truncate(row);
                end = self.offset(self.at + 8) + row;
            }
            let text = &self.bytes[start..end];
            let mark = self.judged(text, || faults(oracle::classic(&rows, givens)));
            self.push(start, end, is_last, mark);
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
        let mut before = "the start of the file";
        while let Some(first) = self.next() {
            if is_blank(first) {
                before = "a blank line";
                self.at += 1;
                continue;
            }
            let run = (self.at..).map_while(|line| self.content(line));
            let run = run.take_while(|row| !is_blank(row)).count();
            let ends_blank = self.at + run < self.lines.len();
            let start = self.offset(self.at);
            let is_between = ends_blank || before == "a blank line";
            if (17..=31).contains(&run) && before != "a row" && is_between {
                let why = unreadable("trailing-data", self.at + 17, 1);
                self.push(start, self.offset(self.at + run), true, why);
                self.at += run;
                before = "a row";
                continue;
            }
            // The blank line that ends a board too early belongs to it.
            before = if run < 16 && ends_blank { "a blank line" } else { "a row" };
            let next = self.at + run.min(16) + usize::from(before == "a blank line");
            let end = self.offset(next);
            let (text, line) = (&self.bytes[start..end], self.at + 1);
            let mark = self.judged(text, || board(text, line));
            self.push(start, end, true, mark);
            self.at = next;
        }
    }
}
