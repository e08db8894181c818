//! A grid by itself, recognised a second time.

use super::{bare as without_marks, is_blank, trim_end, trim_start, without_end_marks};

/// A line of a text: where its line end and the next line start, counted from the start of the text,
/// and how many bytes that has.
pub struct Line<'a> {
    pub content: &'a [u8],
    pub stop: usize,
    pub next: usize,
    pub file_bytes: usize,
}

const LIMIT: usize = 4096;

/// How many bytes and lines the grid has with which these lines begin.
pub fn grid(lines: &[Line]) -> Option<(usize, usize)> {
    let is_near = |line: &&Line| line.stop < LIMIT || line.file_bytes <= LIMIT;
    let lines = lines.iter().take(40).take_while(is_near).collect::<Vec<_>>();
    let rows = lines.iter().filter_map(|line| row(line.content)).collect::<Vec<_>>();
    let has_digit = |row: &String| row.contains(|c| ('1'..='9').contains(&c));
    // Nine dashes are a row if other rows have dashes among digits; and so with underscores.
    let is_open = |sign: char| rows.iter().any(|row| has_digit(row) && row.contains(sign));
    let is_drawn = |row: &String| {
        ['-', '_'].iter().any(|sign| row.chars().all(|c| c == *sign) && !is_open(*sign))
    };
    let (mut cells, mut framed, mut end) = (String::new(), false, (0, 0));
    for (number, line) in lines.iter().enumerate() {
        let next = (line.next, number + 1);
        let text = text_of(line.content);
        if cells.is_empty() && text.len() == 81 && text.iter().all(|c| is_cell(char::from(*c))) {
            cells = String::from_utf8(text.to_vec()).unwrap();
            end = next;
            break;
        }
        let row = row(line.content).filter(|row| cells.len() < 81 && !is_drawn(row));
        if let Some(row) = row {
            let bars = String::from_utf8_lossy(line.content);
            framed |= bars.contains('|') || bars.contains(is_box_drawing);
            cells += &row;
            end = next;
            if cells.len() == 81 && !framed {
                break;
            }
        } else if is_frame(line.content) {
            framed = true;
            end = next;
        } else if cells.len() == 81 {
            break;
        } else if !is_blank(line.content) {
            return None;
        }
    }
    (cells.len() == 81 && has_digit(&cells)).then_some(end)
}

/// The line without what may stand before and behind an input.
fn text_of(line: &[u8]) -> &[u8] {
    trim_end(without_end_marks(trim_start(without_marks(line))))
}

fn is_cell(c: char) -> bool {
    "0123456789.*_-Xx".contains(c)
}

fn is_box_drawing(c: char) -> bool {
    ('\u{2500}'..='\u{257F}').contains(&c)
}

/// The nine cells of a row.
fn row(line: &[u8]) -> Option<String> {
    let mut text = String::new();
    for chunk in text_of(line).utf8_chunks() {
        text += chunk.valid();
        // A no-break space of one byte.
        match chunk.invalid() {
            b"" => {}
            b"\xA0" => text.push(' '),
            _ => return None,
        }
    }
    let is_between = |c: char| " \t\u{A0},;|".contains(c) || is_box_drawing(c);
    let groups = text.split(is_between).filter(|group| !group.is_empty()).collect::<Vec<_>>();
    let cells = groups.concat();
    let is_even = groups.iter().all(|group| group.len() == groups[0].len());
    let fits = cells.chars().all(is_cell) && cells.len() == 9 && [1, 3, 9].contains(&groups.len());
    (fits && is_even).then_some(cells)
}

/// Whether a line is drawn between rows.
fn is_frame(line: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text_of(line)) else {
        return false;
    };
    let is_drawn = |c: char| "-=_".contains(c) || is_box_drawing(c);
    let longest = text.split(|c| !is_drawn(c)).map(|part| part.chars().count()).max();
    text.chars().all(|c| is_drawn(c) || "+*|.':` \t".contains(c))
        && longest >= Some(3)
        && text.matches('+').count() <= 4
}
