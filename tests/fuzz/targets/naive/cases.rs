//! The text of one case, read a second time.

use super::{
    Expected, faults, integer, is_blank, lines, trim_end, trim_start, unreadable, without_end_marks,
};
use crate::oracle;
use std::collections::BTreeMap;

pub const BORDER: &[u8] = b"+---+---+---+---+---+---+---+---+---+";

pub fn is_hexudoku(cell: u8) -> bool {
    cell.is_ascii_hexdigit() || cell == b'-'
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    lines(text).into_iter().map(|(start, stop, _)| &text[start..stop]).collect()
}

/// The mark of a hexudoku board.
pub fn board(text: &[u8], line: usize) -> Expected {
    let mut board = Vec::new();
    let rows = split(without_end_marks(text));
    for number in 0..16 {
        let row = rows.get(number).map_or(&b""[..], |row| trim_end(row));
        if row.is_empty() {
            return unreadable("truncated", line + number, 1);
        }
        let wrong = row.iter().take(16).position(|cell| !is_hexudoku(*cell));
        if let Some(column) = wrong.or((row.len() != 16).then_some(row.len().min(16))) {
            return unreadable("bad-character", line + number, column + 1);
        }
        board.push(String::from_utf8_lossy(row).into_owned());
    }
    let (_, filled, blank, conflicts) = oracle::hexudoku(&board);
    Expected::Counted(filled, blank, conflicts)
}

/// The mark of a killer diagram.
pub fn diagram(text: &[u8], line: usize) -> Expected {
    let mut lines = split(without_end_marks(text));
    for number in 0..19 {
        let Some(content) = lines.get_mut(number) else {
            return unreadable("truncated", line + number, 1);
        };
        if content.len() > 37 && trim_end(&content[37..]).is_empty() {
            *content = &content[..37];
        }
        if let Some(column) = drawing_problem(content, number) {
            return unreadable("bad-diagram", line + number, column + 1);
        }
    }
    let drawing = lines[..19].iter().enumerate().map(|(number, line)| ascii(number, line));
    let drawing = drawing.collect::<Vec<_>>();
    let cages = oracle::cages(&drawing.iter().map(String::as_str).collect::<Vec<_>>());
    let mut totals = BTreeMap::new();
    for (number, content) in lines.iter().enumerate().skip(19) {
        if is_blank(content) {
            continue;
        }
        match cage_line(content) {
            Err(column) => return unreadable("bad-cage-line", line + number, column + 1),
            Ok([row, column, total]) => {
                let cell = (row as usize - 1, column as usize - 1);
                let cage = cages.iter().position(|cage| cage.contains(&cell)).unwrap();
                let column = content.len() - trim_start(content).len();
                if totals.insert(cage, format!("{} {} {total}", cell.0 + 1, cell.1 + 1)).is_some() {
                    return unreadable("second-cage-total", line + number, column + 1);
                }
            }
        }
    }
    for (number, cage) in cages.iter().enumerate() {
        if !totals.contains_key(&number) {
            let (row, column) = cage[0];
            return unreadable("missing-cage-total", line + 2 * row + 1, 4 * column + 3);
        }
    }
    let totals = totals.into_values().collect::<Vec<_>>();
    faults(oracle::killer(&[drawing, totals].concat().join("\n")))
}

/// A line of a drawing, with an `x` in each cell that does not hold a digit.
fn ascii(number: usize, line: &[u8]) -> String {
    let mut line = line.to_vec();
    if number % 2 == 1 {
        for cell in line.iter_mut().skip(2).step_by(4) {
            *cell = if matches!(cell, b'1'..=b'9') { *cell } else { b'x' };
        }
    }
    String::from_utf8(line).unwrap()
}

/// The column, from 0, of the first problem in a line of a drawing.
fn drawing_problem(line: &[u8], number: usize) -> Option<usize> {
    let is_row = number % 2 == 1;
    if !line.starts_with(if is_row { b"|" } else { b"+" }) {
        return Some(0);
    }
    for (column, text) in line.iter().enumerate().take(37) {
        let is_edge = column == 0 || column == 36;
        let is_right = match (is_row, column % 4) {
            (true, 0) => *text == b'|' || (*text == b' ' && !is_edge),
            (true, 2) => true,
            (true, _) => *text == b' ',
            (false, _) if number == 0 || number == 18 => *text == BORDER[column],
            (false, 0) => *text == b'+',
            (false, part) => {
                // All three characters of a wall are equal; a problem is reported where the wall
                // begins.
                let wall = &line[column + 1 - part..line.len().min(column + 4 - part)];
                if !b"---".starts_with(wall) && !b"   ".starts_with(wall) {
                    return Some(column + 1 - part);
                }
                true
            }
        };
        if !is_right {
            return Some(column);
        }
    }
    (line.len() != 37).then_some(line.len().min(37))
}

/// Row, column and total of a cage line, or the column, from 0, of its first problem.
fn cage_line(line: &[u8]) -> Result<[u64; 3], usize> {
    let line = trim_end(line);
    let mut rest = line;
    let mut numbers = [0; 3];
    for (place, number) in numbers.iter_mut().enumerate() {
        rest = trim_start(rest);
        let length = rest.iter().position(|b| *b == b' ' || *b == b'\t').unwrap_or(rest.len());
        match integer(&rest[..length]) {
            Some(value) if place == 2 || (1..=9).contains(&value) => *number = value,
            _ => return Err(line.len() - rest.len()),
        }
        rest = &rest[length..];
    }
    let rest = trim_start(rest);
    if rest.is_empty() { Ok(numbers) } else { Err(line.len() - rest.len()) }
}
