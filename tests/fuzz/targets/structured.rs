//! Files that are nearly correct, which random bytes hardly ever are.

use super::steer::Steer;
use super::{KINDS, check};
use crate::core_kit::{
    Chance, any_board, block, correct_diagram, correct_grid, drawing, with_totals,
};
use gridmark_core::Kind;

/// A file of some cases of one kind with a few flaws is graded as the oracle grades it.
///
/// The bytes say how the cases are made and what is done to them.
pub fn structured(bytes: &[u8]) {
    let steer = &mut Steer(bytes);
    let kind = Kind::ALL[steer.below(3)];
    let forced = if steer.below(4) == 0 { KINDS[steer.below(4)] } else { None };
    let mut text = Vec::new();
    for _ in 0..=steer.below(3) {
        text.extend_from_slice(steer.pick(&BETWEEN));
        let mut case = match kind {
            Kind::Killer => diagram(steer),
            Kind::Classic => solutions(steer),
            Kind::Hexudoku => board(steer),
        };
        // More than a batch of them, one of which is changed.
        if steer.below(8) == 7 {
            let length = case.len();
            case = case.repeat(steer.pick(&[2, 31, 32, 33, 40]));
            case.truncate(check::TEXT_BYTES_MAX / 4 / length * length);
            let at = steer.place(case.len() / length) * length + steer.place(length);
            case[at] = changed(case[at], steer);
        }
        text.extend(case);
    }
    for _ in 0..steer.below(6) {
        edit(&mut text, steer);
    }
    if steer.below(6) == 5 {
        let mut bare = bare_grid(steer);
        for _ in 0..steer.below(4).saturating_sub(1) {
            edit(&mut bare, steer);
        }
        text.splice(0..0, bare);
    }
    check::check(forced, &with_ends(&text, steer));
}

const BETWEEN: [&[u8]; 6] =
    [b"", b"\x0C", b"\n", b" \t\n\n\x1A", b"\xEF\xBB\xBF", b"\n\xC2\xA0\n\xA0\n"];

/// Characters that may replace others.
const CHARACTERS: &[u8] = b"123456789 0-+|.*xAf\n\r\t\xA0\xC2\xEF\xBB\xBF\0\x7F\xFF/:@G\x0C\x1A";

fn changed(byte: u8, steer: &mut Steer) -> u8 {
    match steer.below(4) {
        0 => steer.byte(),
        1 => byte ^ (1 << steer.below(8)),
        _ => steer.pick(CHARACTERS),
    }
}

fn chance(steer: &mut Steer) -> Chance {
    Chance(steer.byte().into())
}

/// A correct grid, in which some cells may be changed or swapped.
fn grid(steer: &mut Steer) -> Vec<u8> {
    let mut grid = correct_grid(&mut chance(steer));
    for _ in 0..steer.below(8).saturating_sub(3) {
        let (a, b) = (steer.below(81), steer.below(81));
        match steer.below(4) {
            0 => grid.swap(a, b),
            // Both are in one row, or in one column.
            1 => grid.swap(a, a / 9 * 9 + b % 9),
            2 => grid.swap(a, b / 9 * 9 + a % 9),
            _ => grid[a] = steer.pick(b"123456789 x0\xFF"),
        }
    }
    grid
}

fn diagram(steer: &mut Steer) -> Vec<u8> {
    let mut text = match steer.below(3) {
        0 => correct_diagram(&mut chance(steer)),
        sort => {
            let grid = grid(steer).iter().map(|cell| cell & 0x7F).collect::<Vec<_>>();
            // Two bytes for eight walls, so that three quarters of all walls are there, or one
            // quarter.
            let mut wall = Vec::new();
            while wall.len() < 162 {
                let (a, b) = (steer.byte(), steer.byte());
                let walls = if sort == 1 { a | b } else { a & b };
                wall.extend((0..8).map(|bit| walls >> bit & 1 == 1));
            }
            let (right, below) = wall.split_at(81);
            with_totals(drawing(&grid, right, below), &mut chance(steer))
        }
    };
    // A cage line changes its form or its place.
    for _ in 0..steer.below(4).saturating_sub(1) {
        let mut lines = text.lines().map(String::from).collect::<Vec<_>>();
        let (a, b) = (steer.place(lines.len()), steer.place(lines.len()));
        match steer.below(7) {
            0 => lines[a] = lines[a].replace(' ', "  "),
            1 => lines[a] = lines[a].replace(' ', " 00"),
            2 => lines[a].push_str(" \t"),
            3 => lines[a].insert(0, ' '),
            4 => lines[a].push(char::from(steer.pick(b"0123456789"))),
            5 => lines[a] = lines[b].clone(),
            _ => lines.swap(a, b),
        }
        text = lines.join("\n") + "\n";
    }
    text.into_bytes()
}

fn solutions(steer: &mut Steer) -> Vec<u8> {
    let first = grid(steer);
    let mut givens = vec![b'*'; 81];
    for _ in 0..steer.below(12) {
        let cell = steer.below(81);
        givens[cell] = steer.pick(&[first[cell], first[cell], b'.', b'0', b'5', b'x']);
    }
    let mut solutions = vec![first];
    for _ in 0..steer.below(4) {
        solutions.push(grid(steer));
    }
    if steer.below(6) == 5 {
        let copies = vec![solutions[0].clone(); steer.pick(&[1, 30, 31, 32, 33, 70])];
        let place = steer.below(copies.len());
        solutions.extend(copies);
        solutions[place] = grid(steer);
    }
    block(&givens, &solutions)
}

/// A grid by itself, in one of many layouts.
fn bare_grid(steer: &mut Steer) -> Vec<u8> {
    const EDGES: [&str; 8] = [
        "",
        "+---+---+---+",
        "*-----------*",
        "---------",
        "------+-------+------",
        "---|---|---",
        "+---+---+---+---+---+---+---+---+---+",
        "╔═══╦═══╦═══╗",
    ];
    let open = char::from(steer.pick(b".0*_-Xx"));
    let mut grid = grid(steer).into_iter().map(|cell| char::from(cell & 0x7F)).collect::<Vec<_>>();
    for _ in 0..steer.below(12) {
        grid[steer.below(81)] = open;
    }
    if steer.below(4) == 3 {
        return (String::from_iter(grid) + "\n").into_bytes();
    }
    let between = steer.pick(&["", "", " ", "\t", ",", "\u{a0}", "|", " | ", "│"]);
    let boxes = steer.pick(&["", " ", "|", " | ", "║", "; ", "  "]);
    let (left, right) = steer.pick(&[("", ""), ("|", "|"), ("| ", " |"), (" ", " \t"), ("║", "║")]);
    let (edge, band, row_edge) = (steer.pick(&EDGES), steer.pick(&EDGES), steer.pick(&EDGES));
    let mut text = String::new();
    for (number, row) in grid.chunks(9).enumerate() {
        let edge = match number {
            0 => edge,
            3 | 6 => band,
            _ if steer.below(8) == 7 => row_edge,
            _ => "",
        };
        if !edge.is_empty() {
            text += &format!("{edge}\n");
        }
        let three =
            |cells: &[char]| cells.iter().map(char::to_string).collect::<Vec<_>>().join(between);
        text += left;
        text += &row.chunks(3).map(three).collect::<Vec<_>>().join(boxes);
        text += &format!("{right}\n");
    }
    if !edge.is_empty() {
        text += &format!("{edge}\n");
    }
    text.into_bytes()
}

fn board(steer: &mut Steer) -> Vec<u8> {
    let odds = steer.pick(&[1, 2, 3, 5, 20, 1000]);
    let mut rows = any_board(&mut chance(steer), odds).join("\n").into_bytes();
    rows.push(b'\n');
    for _ in 0..steer.below(16) {
        let at = steer.place(rows.len());
        if rows[at] != b'\n' {
            rows[at] = steer.pick(b"0123456789ABCDEFabcdef------");
        }
    }
    rows
}

/// One change of the whole text.
fn edit(text: &mut Vec<u8>, steer: &mut Steer) {
    let at = steer.place(text.len() + 1);
    let line_start = |text: &[u8]| {
        text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |before| before + 1)
    };
    let start = line_start(text);
    let length = text[start..].iter().position(|byte| *byte == b'\n');
    let end = length.map_or(text.len(), |length| start + length + 1);
    match steer.below(11) {
        0 => text.truncate(at),
        1 => text.insert(at, steer.pick(CHARACTERS)),
        2 => drop(text.splice(at..(at + 1).min(text.len()), [])),
        3 => drop(text.splice(start..end, [])),
        4 => drop(text.splice(start..start, text[start..end].to_vec())),
        5 => drop(text.splice(start..start, *b"\xEF\xBB\xBF")),
        6 => drop(text.splice(end.saturating_sub(1)..end, *b" \xC2\xA0\xA0\t\n")),
        7 => drop(text.splice(start..start, steer.pick(&BETWEEN).to_vec())),
        8 => {
            let other = steer.place(text.len() + 1);
            let copy = text[at.min(other)..at.max(other)].to_vec();
            text.splice(at..at, copy.into_iter().take(2000));
        }
        _ if at < text.len() => text[at] = changed(text[at], steer),
        _ => {}
    }
}

/// The text with other line ends, and sometimes without the last one.
fn with_ends(text: &[u8], steer: &mut Steer) -> Vec<u8> {
    const ENDS: [&[u8]; 4] = [b"\n", b"\r\n", b"\r", b"\r\r\n"];
    let sort = steer.below(8);
    let mut out = Vec::with_capacity(text.len() * 2);
    for byte in text {
        match (byte, sort) {
            (b'\n', 0..=3) => out.push(b'\n'),
            (b'\n', 4) => out.extend_from_slice(ENDS[1]),
            (b'\n', 5) => out.extend_from_slice(ENDS[3]),
            (b'\n', 6) => out.extend_from_slice(ENDS[2]),
            (b'\n', _) => out.extend_from_slice(steer.pick(&ENDS)),
            _ => out.push(*byte),
        }
    }
    if steer.below(4) == 3 {
        out.pop();
    }
    out
}
