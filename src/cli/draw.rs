//! Draws grids and lines for people, with the wrong cells marked.

use gridmark_core::board::{CELLS_9, Cell, Fault, Grid, Size, Unreadable, Verdict};
use gridmark_core::format::classic::Solution;
use gridmark_core::format::killer::{Diagram, Walls};
use gridmark_core::puzzle::Puzzle;
use std::io::{self, IsTerminal};

/// Whether output is coloured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Ink {
    Plain,
    Colour,
}

/// The colour of givens, bold like all.
const GIVEN: &str = "39";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

impl Ink {
    /// Colour if standard output is a terminal that can show it and `NO_COLOR` is not set.
    pub(super) fn of_stdout() -> Ink {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if io::stdout().is_terminal() && !no_colour && !dumb { Ink::Colour } else { Ink::Plain }
    }

    /// `text`, in the colour of a verdict.
    pub(super) fn verdict(self, verdict: Verdict, text: &str) -> String {
        match verdict {
            Verdict::Correct => self.paint(GREEN, text),
            Verdict::Wrong => self.paint(RED, text),
            Verdict::Unreadable => self.paint(YELLOW, text),
            Verdict::Counted => text.to_owned(),
        }
    }

    fn paint(self, colour: &str, text: &str) -> String {
        match self {
            Ink::Plain => text.to_owned(),
            Ink::Colour => format!("\x1b[1;{colour}m{text}\x1b[0m"),
        }
    }
}

/// The cells that `faults` are about; `cage_of` is each cell's cage, where there are cages.
pub(super) fn bad_cells(
    faults: &[Fault],
    cells: &Grid,
    cage_of: Option<&[u8; CELLS_9]>,
) -> [bool; CELLS_9] {
    let mut bad = [false; CELLS_9];
    let repeated = |i: usize, counts: &[u8; 16]| match cells[i] {
        digit @ b'1'..=b'9' => counts[usize::from(digit - b'1')] > 1,
        _ => false,
    };
    let in_cage = |i: usize, cage: Cell| cage_of.is_some_and(|of| of[i] == of[cage.index_9()]);
    for fault in faults {
        match fault {
            // What is another puzzle is not judged.
            Fault::ForeignPuzzle(_) | Fault::WrongNumber { .. } => {}
            Fault::NotADigit { cell, .. }
            | Fault::GivenChanged { cell, .. }
            | Fault::WrongDigit { cell, .. } => {
                bad[cell.index_9()] = true;
            }
            // The extra cells of a long row are not on the grid.
            Fault::RowLength { .. } => {}
            Fault::HouseRepeat { house, repeats, .. } => {
                for i in house.cells_9() {
                    bad[i] |= repeated(i, &repeats.counts);
                }
            }
            Fault::CageRepeat { cage, repeats, .. } => {
                for (i, bad) in bad.iter_mut().enumerate() {
                    *bad |= in_cage(i, cage.first) && repeated(i, &repeats.counts);
                }
            }
            Fault::CageSum { cage, .. } => {
                for (i, bad) in bad.iter_mut().enumerate() {
                    *bad |= in_cage(i, cage.first);
                }
            }
        }
    }
    bad
}

/// A classic solution with its boxes.
pub(super) fn classic(solution: &Solution, bad: &[bool; CELLS_9], ink: Ink) -> String {
    let behind = |row: usize| match solution.long_rows[row] {
        length @ 10.. => format!(" {}", ink.paint(RED, &format!("[{} more]", length - 9))),
        _ => String::new(),
    };
    boxed(Size::Nine, |i| cell(i, &solution.cells, bad, ink), behind)
}

/// A killer diagram with its cages, each with its total in the wall above its first cell.
pub(super) fn killer(diagram: &Diagram, bad: &[bool; CELLS_9], ink: Ink) -> String {
    let mut totals = [None; CELLS_9];
    for cage in &diagram.cages {
        totals[cage.first.index_9()] = Some(cage.total);
    }
    caged(&diagram.walls, &totals, |i| cell(i, &diagram.cells, bad, ink))
}

/// A puzzle: a killer with its cages, any other one with its boxes.
pub(super) fn puzzle(puzzle: &Puzzle) -> String {
    let is_killer = !puzzle.cages().is_empty();
    drawn(puzzle, |i| match puzzle.givens()[i] {
        0 if is_killer => "   ".to_owned(),
        0 => " . ".to_owned(),
        given => format!("{:>2} ", puzzle.alphabet().name(given)),
    })
}

/// A completed board of a puzzle, with a star behind each cell of `starred`.
pub(super) fn board(puzzle: &Puzzle, digits: &[u8], starred: &[bool]) -> String {
    let star = |i: usize| if starred[i] { '*' } else { ' ' };
    drawn(puzzle, |i| format!("{:>2}{}", puzzle.alphabet().name(digits[i]), star(i)))
}

/// An entry for a puzzle: givens are bold, or have a dot behind them; cells that `faults` are about are marked.
pub(super) fn entry(puzzle: &Puzzle, digits: &[u8], faults: &[Fault], ink: Ink) -> String {
    let size = puzzle.size();
    let mut bad = vec![false; size.cells()];
    for fault in faults {
        match fault {
            Fault::ForeignPuzzle(_) | Fault::RowLength { .. } | Fault::WrongNumber { .. } => {}
            Fault::NotADigit { cell, .. }
            | Fault::GivenChanged { cell, .. }
            | Fault::WrongDigit { cell, .. } => bad[cell.index(size)] = true,
            Fault::HouseRepeat { house, repeats, .. } => {
                for cell in house.cells(size) {
                    let digit = usize::from(digits[cell]);
                    bad[cell] |= digit > 0 && repeats.counts[digit - 1] > 1;
                }
            }
            Fault::CageRepeat { cage, .. } | Fault::CageSum { cage, .. } => {
                let cage = puzzle.cage_of(cage.first.index(size)).map(|cage| &puzzle.cages()[cage]);
                for cell in cage.iter().flat_map(|cage| cage.cells()) {
                    bad[usize::from(*cell)] = true;
                }
            }
        }
    }
    drawn(puzzle, |cell| {
        let name = match digits[cell] {
            0 => " ",
            digit => puzzle.alphabet().name(digit),
        };
        let is_given = puzzle.givens()[cell] != 0;
        match (bad[cell], is_given, ink) {
            (true, ..) if name.len() == 1 => ink.paint(RED, &format!("[{name}]")),
            (true, ..) => ink.paint(RED, &format!("{name}!")),
            (false, true, Ink::Colour) => ink.paint(GIVEN, &format!("{name:>2} ")),
            (false, true, Ink::Plain) => format!("{name:>2}."),
            (false, false, _) => format!("{name:>2} "),
        }
    })
}

/// A board with its boxes, or with the cages of the puzzle and their totals.
fn drawn(puzzle: &Puzzle, cell: impl Fn(usize) -> String) -> String {
    if puzzle.cages().is_empty() {
        return boxed(puzzle.size(), cell, |_| String::new());
    }
    let mut totals = [None; CELLS_9];
    for cage in puzzle.cages() {
        totals[cage.first().index_9()] = cage.total();
    }
    caged(&puzzle.walls(), &totals, cell)
}

/// A grid with its boxes. Cells are three characters wide; `behind` gives what follows a row.
fn boxed(size: Size, cell: impl Fn(usize) -> String, behind: impl Fn(usize) -> String) -> String {
    let (side, in_box) = (size.side(), size.box_side());
    let rule = format!("+{}", "-".repeat(3 * in_box)).repeat(in_box) + "+\n";
    let mut text = String::new();
    for row in 0..side {
        if row % in_box == 0 {
            text.push_str(&rule);
        }
        for column in 0..side {
            if column % in_box == 0 {
                text.push('|');
            }
            text.push_str(&cell(row * side + column));
        }
        text.push('|');
        text.push_str(&behind(row));
        text.push('\n');
    }
    text + &rule
}

/// A 9x9 grid with cages, and totals in the walls above cells.
fn caged(walls: &Walls, totals: &[Option<u32>; CELLS_9], cell: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for row in 0..=9 {
        for column in 0..9 {
            text.push('+');
            let walled = row == 0 || row == 9 || walls.below[row - 1] >> column & 1 == 1;
            // The cell above a cage's first is in another cage, so there is a wall between.
            match totals.get(row * 9 + column).copied().flatten() {
                Some(total @ 0..=999) => text.push_str(&format!("{total:-<3}")),
                Some(_) => text.push_str("###"),
                None => text.push_str(if walled { "---" } else { "   " }),
            }
        }
        text.push_str("+\n");
        if row == 9 {
            break;
        }
        text.push('|');
        for column in 0..9 {
            text.push_str(&cell(row * 9 + column));
            let walled = column == 8 || walls.right[row] >> column & 1 == 1;
            text.push(if walled { '|' } else { ' ' });
        }
        text.push('\n');
    }
    text
}

/// A cell three characters wide, as `[7]` if it is bad.
fn cell(i: usize, cells: &Grid, bad: &[bool; CELLS_9], ink: Ink) -> String {
    let character = printable(cells[i]);
    if bad[i] { ink.paint(RED, &format!("[{character}]")) } else { format!(" {character} ") }
}

/// A byte of the input as one character; `?` if it is not printable.
fn printable(byte: u8) -> char {
    if (0x20..=0x7e).contains(&byte) { char::from(byte) } else { '?' }
}

/// A part of the input, with `?` for what is not printable.
fn printable_text(bytes: &[u8]) -> String {
    let is_printable = |c: &char| matches!(c, '\\' | '"' | '\'') || c.escape_debug().len() == 1;
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.extend(chunk.valid().chars().map(|c| if is_printable(&c) { c } else { '?' }));
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    text
}

/// The unreadable line with a caret under the column, if it is in `text`, which begins with line
/// `first_line`.
pub(super) fn offending_line(text: &[u8], first_line: u64, why: &Unreadable) -> Option<String> {
    const SHOWN_BEFORE: usize = 40;
    const SHOWN: usize = 72;
    let number = usize::try_from(why.line.checked_sub(first_line)?).ok()?;
    let column = usize::try_from(why.column.checked_sub(1)?).ok()?;
    let line = nth_line(text, number)?;
    let start = column.saturating_sub(SHOWN_BEFORE);
    let end = line.len().min(start + SHOWN);
    let part = printable_text(line.get(start..end)?);
    let indent = printable_text(line.get(start..column.min(end))?).chars().count();
    let indent = indent + column.saturating_sub(end);
    let (before, after) =
        (if start > 0 { "..." } else { "" }, if end < line.len() { "..." } else { "" });
    let caret = " ".repeat(before.len() + indent) + "^";
    let line = format!("| {before}{part}{after}");
    Some(format!("{}\n| {caret}\n", line.trim_end()))
}

/// A line of a text whose lines end in LF, CRLF, CR CR LF or CR, without its end.
fn nth_line(text: &[u8], number: usize) -> Option<&[u8]> {
    let mut rest = text;
    for _ in 0..number {
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
        let ends: [&[u8]; 3] = [b"\r\r\n", b"\r\n", b"\n"];
        let end_bytes = ends.iter().find(|end_of| rest[end..].starts_with(end_of));
        rest = &rest[end + end_bytes.map_or(1, |end| end.len())..];
    }
    rest.split(|byte| matches!(byte, b'\n' | b'\r')).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridmark_core::board::UnreadableCode;

    fn why(line: u64, column: u64) -> Unreadable {
        Unreadable { code: UnreadableCode::BadCharacter, line, column, message: "".into() }
    }

    #[test]
    fn the_caret_is_under_the_column() {
        let text = b"first\r\r\nsec\xffond\rthird\nfourth";
        let shown = |line, column| offending_line(text, 7, &why(line, column));
        assert_eq!(shown(8, 4).as_deref(), Some("| sec?ond\n|    ^\n"));
        assert_eq!(shown(9, 1).as_deref(), Some("| third\n| ^\n"));
        assert_eq!(shown(10, 7).as_deref(), Some("| fourth\n|       ^\n"));
        assert_eq!(shown(11, 1), None);
        assert_eq!(shown(6, 1), None);
        let text = "12–5\u{202e}6".as_bytes();
        let shown = |column| offending_line(text, 1, &why(1, column));
        assert_eq!(shown(3).as_deref(), Some("| 12–5?6\n|   ^\n"));
        assert_eq!(shown(6).as_deref(), Some("| 12–5?6\n|    ^\n"));
    }

    #[test]
    fn a_long_line_is_shown_around_the_column() {
        let text = [b'a'; 1_000];
        let shown = offending_line(&text, 1, &why(1, 501)).unwrap();
        let lines = shown.lines().collect::<Vec<_>>();
        assert_eq!(lines[0], format!("| ...{}...", "a".repeat(72)));
        assert_eq!(lines[1].len(), "| ...".len() + 40 + 1);
    }

    #[test]
    fn colour_is_added_to_the_brackets_and_does_not_replace_them() {
        let mut bad = [false; CELLS_9];
        bad[0] = true;
        let solution =
            Solution { cells: [b'7'; CELLS_9], long_rows: [0; 9], characters: Vec::new() };
        let coloured = classic(&solution, &bad, Ink::Colour);
        assert_eq!(coloured.lines().nth(1).unwrap().find("\x1b[1;31m[7]\x1b[0m 7  7 |"), Some(1));
        let plain = coloured.replace("\x1b[1;31m", "").replace("\x1b[0m", "");
        assert_eq!(plain, classic(&solution, &bad, Ink::Plain));
    }
}
