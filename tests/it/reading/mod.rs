//! Which files are read, what is said of the unreadable ones, and where reading continues after
//! damage.

use super::core_kit::*;
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::format::{Found, Limits, Reader, classic, hexudoku, killer, kind_by_name};
use std::fmt::Write;

mod blocks;
mod boards;
mod damage;
mod diagrams;

/// The outcomes of all cases in one line: `correct, bad-count 1:1`.
fn summary(outcomes: Vec<(&'static str, String)>) -> String {
    let mut line = String::new();
    for (code, at) in outcomes {
        let comma = if line.is_empty() { "" } else { ", " };
        let space = if at.is_empty() { "" } else { " " };
        write!(line, "{comma}{code}{space}{at}").unwrap();
    }
    line
}

fn check(text: impl AsRef<[u8]>, expected: &str) {
    let text = text.as_ref();
    assert_eq!(summary(outcomes(text)), expected, "{}", text.escape_ascii());
}

fn check_as(kind: Kind, text: impl AsRef<[u8]>, expected: &str) {
    let text = text.as_ref();
    assert_eq!(summary(outcomes_as(kind, text)), expected, "{}", text.escape_ascii());
}

/// A diagram of 81 cages: all its borders are like the top one.
fn singles() -> String {
    let chance = &mut Chance(2);
    with_totals(drawing(&correct_grid(chance), &[true; 81], &[true; 81]), chance)
}

/// The message of the only case that is unreadable.
fn message(text: impl AsRef<[u8]>) -> String {
    let graded = grade(None, Limits::default(), text.as_ref());
    let mut unreadable = graded.into_iter().filter_map(|case| match case.mark {
        Mark::Unreadable(why) => Some(why.to_string()),
        _ => None,
    });
    let message = unreadable.next().expect("a case is unreadable");
    assert_eq!(unreadable.next(), None, "only one case is unreadable");
    message
}

#[test]
fn names_force_the_kind_by_their_extension() {
    for (name, kind) in [
        (b"a.killer".as_slice(), Some(Kind::Killer)),
        (b"x/y.CLASSIC", Some(Kind::Classic)),
        (b"\xFF.b.HexuDoku", Some(Kind::Hexudoku)),
        (b".killer", Some(Kind::Killer)),
        (b"killer", None),
        (b"a.killer/b", None),
        (b"a.killer.txt", None),
        (b"a.killers", None),
        (b"", None),
        (b"a.", None),
    ] {
        assert_eq!(kind_by_name(name), kind, "{}", name.escape_ascii());
    }
}

#[test]
fn the_kind_is_known_by_the_first_line_that_is_not_blank() {
    let row = "0123456789abcdef";
    let border = "+---+---+---+---+---+---+---+---+---+";
    for (line, kind) in [
        (border, Some(Kind::Killer)),
        ("+---+-", Some(Kind::Killer)),
        (row, Some(Kind::Hexudoku)),
        ("----------------  \u{a0}", Some(Kind::Hexudoku)),
        ("1111111111111111", Some(Kind::Hexudoku)),
        ("10", Some(Kind::Classic)),
        (" \t10\u{a0}", Some(Kind::Classic)),
        ("99999999", Some(Kind::Classic)),
        ("999999999", None),
        ("0", Some(Kind::Classic)),
        ("1234567890", None),
        ("+--+", None),
        ("012345678abcdef", None),
        ("0123456789abcdefa", None),
        ("0123456789abcdeg", None),
        ("+5", None),
        ("1 2", None),
        ("sudoku", None),
    ] {
        for before in ["", "\n\r\n \t\u{a0}\n", "\u{feff}", "\u{feff}\n\u{feff}"] {
            let text = format!("{before}{line}\n");
            let mut reader = Reader::new(None, Limits::default());
            reader.read(text.as_bytes(), true, &mut Found::default());
            assert_eq!(reader.kind(), kind, "{text:?}");
        }
    }
}

#[test]
fn a_file_of_unknown_format_is_one_case() {
    check("hello\n1\n2\n", "unknown-format 1:1");
    check("\n\n  hello", "unknown-format 3:1");
    check("", "unknown-format 1:1");
    check(b"\xEF\xBB\xBF", "unknown-format 1:1");
    check(" \n\r\n\t", "unknown-format 1:1");
    let long = vec![b'1'; 70_000];
    check(&long, "unknown-format 1:1");
    for kind in Kind::ALL {
        // Where the kind is known, an empty file is a truncated case of it.
        for text in ["", "\n \u{a0}\r\n", "\u{feff}"] {
            check_as(kind, text, "truncated 1:1");
            let mut reader = Reader::new(Some(kind), Limits::default());
            reader.read(text.as_bytes(), true, &mut Found::default());
            assert_eq!((reader.kind(), reader.is_empty()), (Some(kind), true), "{text:?}");
        }
    }
    assert_eq!(message(""), "line 1, column 1: the file is empty");
    let found = message("hello\tworld\\\n");
    assert!(found.ends_with("of `0`-`9`, `A`-`F` and `-`, found `hello\\tworld\\\\`"), "{found}");
    let found = message("é, and more than can well be told in one line");
    assert!(found.ends_with("found `é, and more than can well be told in on...`"), "{found}");
    let found = message("１\n");
    assert!(found.ends_with("found `１` (a full-width digit)"), "{found}");
}

/// A correct file of each kind, of two inputs without blank lines between.
fn two_inputs(kind: Kind) -> (Vec<u8>, Vec<u8>) {
    let text = match kind {
        Kind::Killer => correct_diagram(&mut Chance(1)).into_bytes(),
        Kind::Classic => block(&[b'*'; 81], &[correct_grid(&mut Chance(1))]),
        Kind::Hexudoku => "----------------\n".repeat(16).into_bytes(),
    };
    (text.clone(), text)
}

#[test]
fn form_feeds_and_control_z_count_as_blank_around_inputs() {
    for kind in Kind::ALL {
        let good = if kind == Kind::Hexudoku { "counted" } else { "correct" };
        let both = format!("{good}, {good}");
        let (first, second) = two_inputs(kind);
        for marks in
            ["\x1A", "\x0C", "\x1A\x1A\x1A", "\x0C\n", "\n\x1A", " \x0C \x1A\t", "\x1A\r\n\x1A\r\n"]
        {
            let marks = marks.as_bytes();
            for end in [b"\n".as_slice(), b"\r\n"] {
                let (first, second) = (with_ends(&first, &[end]), with_ends(&second, &[end]));
                // Behind the last line, and directly behind its text.
                check([&first[..], &second, marks].concat(), &both);
                let bare = second.trim_ascii_end();
                check([&first[..], bare, marks].concat(), &both);
                check([&first[..], bare, marks, end].concat(), &both);
                // Between two inputs, in front of the second one, and behind the text of the first.
                check([&first[..], marks, end, &second].concat(), &both);
                check([first.trim_ascii_end(), marks, end, &second].concat(), &both);
            }
        }
        for marks in ["\x0C", "\x1A\x0C", "\x0C\n", "\x1A\n\u{feff}\x0C", "\u{feff}\x0C\u{feff}"] {
            let marks = marks.as_bytes();
            check([marks, &first, &second].concat(), &both);
            check([&first[..], marks, &second].concat(), &both);
            check_as(kind, [marks, &first, marks, &second].concat(), &both);
        }
        // Nothing else is a case of an empty file.
        check_as(kind, "\x1A", "truncated 1:1");
    }
    check("\x0C\x1A\n\x1A", "unknown-format 1:1");
    // Inside an input they are what they are.
    let text = String::from_utf8(two_inputs(Kind::Classic).0).unwrap();
    let mut lines = text.lines().map(String::from).collect::<Vec<_>>();
    lines[12].push('\x0C');
    check(lines.join("\n"), "row-length r3c10");
    lines.truncate(18);
    lines[17].push('\x1A');
    check(lines.join("\n"), "truncated 19:1");
    let rows = "----------------\n".repeat(15);
    check(rows.trim_end().to_owned() + "\x1A", "truncated 16:1");
    check(rows.trim_end().to_owned() + "\x0C\n----------------\n", "bad-character 15:17");
    check(rows + "\x0C\n----------------\n", "truncated 16:1, truncated 18:1");
    // A file may also end inside a block.
    let text = block(&[b'*'; 81], &vec![correct_grid(&mut Chance(1)); 2]);
    let cut = text[..text.len() - 91].to_vec();
    check([&cut[..], b"\x1A"].concat(), "correct, truncated 20:1");
    check([&cut[..], b"\x1A\r\n"].concat(), "correct, truncated 20:1");
    check([&cut[..], b"\x1A\n1\n"].concat(), "row-length r9c10, truncated 21:1");
}

#[test]
fn two_carriage_returns_and_a_line_feed_are_one_line_end() {
    for kind in Kind::ALL {
        let (first, second) = two_inputs(kind);
        let text = [first, b"\n".to_vec(), second].concat();
        let expected = grade(None, Limits::default(), &text);
        for ends in [&[b"\r\r\n".as_slice()][..], &[b"\r\r\n", b"\n", b"\r\n"]] {
            let graded = grade(None, Limits::default(), &with_ends(&text, ends));
            let marks = |graded: &[Graded]| {
                graded.iter().map(|case| (case.line, case.mark.clone())).collect::<Vec<_>>()
            };
            assert_eq!(marks(&graded), marks(&expected), "{kind}");
        }
    }
    let row = "----------------";
    check(format!("{row}\r\r\r\n"), "truncated 2:1");
}

#[test]
fn a_file_in_utf_16_is_one_case_that_says_so() {
    for kind in Kind::ALL {
        let (text, _) = two_inputs(kind);
        let text = String::from_utf8(text).unwrap();
        for (mark, name) in [("\u{feff}", "UTF-16"), ("", "UTF-16")] {
            let units = (mark.to_owned() + &text).encode_utf16().collect::<Vec<_>>();
            let little = units.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>();
            let big = units.iter().flat_map(|unit| unit.to_be_bytes()).collect::<Vec<_>>();
            for (text, order) in [(little, "little"), (big, "big")] {
                check(&text, "unknown-format 1:1");
                check_as(kind, &text, "unknown-format 1:1");
                assert_eq!(
                    message(&text),
                    format!(
                        "line 1, column 1: expected text in UTF-8 or ASCII, found {name} \
                         ({order}-endian); save it as UTF-8 and hand it in again"
                    )
                );
                // The kind of its name stays in the reports.
                let mut reader = Reader::new(Some(kind), Limits::default());
                reader.read(&text, true, &mut Found::default());
                assert_eq!(reader.kind(), Some(kind));
            }
        }
        let wide = text.chars().flat_map(|c| u32::from(c).to_le_bytes());
        let wide = [b"\xFF\xFE\0\0".to_vec(), wide.collect()].concat();
        assert!(message(&wide).contains("found UTF-32;"), "{}", message(&wide));
    }
    check(b"\xFF\xFE", "unknown-format 1:1");
    check(b"\xFF", "unknown-format 1:1");
    assert!(message(b"\xFF").ends_with(r"found `\xFF`"));
}

#[test]
fn a_grid_by_itself_is_one_case_that_says_what_is_missing() {
    let grid = correct_grid(&mut Chance(1));
    let row = |row: &[u8]| {
        let cells = row.iter().map(|cell| char::from(*cell).to_string()).collect::<Vec<_>>();
        cells.chunks(3).map(|three| three.join(" ")).collect::<Vec<_>>().join(" | ")
    };
    let framed = grid.chunks(9).map(row).collect::<Vec<_>>();
    let framed = framed.chunks(3).map(|band| band.join("\n")).collect::<Vec<_>>();
    let framed = framed.join("\n------+-------+------\n");
    let good = block(&[b'*'; 81], std::slice::from_ref(&grid));
    for (text, what) in [
        (rows(&grid, b"\n"), "nine rows of nine cells"),
        (rows(&grid, b"\r\r\n"), "nine rows of nine cells"),
        (grid.clone(), "81 cells on a line"),
        (framed.into_bytes(), "a 9x9 grid"),
        (
            b"+---+---+---+\n".iter().chain(b"|123|456|789|\n".repeat(9).iter()).copied().collect(),
            "a 9x9 grid",
        ),
    ] {
        check(&text, "bare-grid 1:1");
        check([b"\n \n", &text[..]].concat(), "bare-grid 3:1");
        // Whatever follows, the file is one case.
        check([&text[..], b"\n", &text, b"\n", &good].concat(), "bare-grid 1:1");
        let found = message(&text);
        let start = format!(
            "line 1, column 1: expected a grid with its puzzle, found {what} alone; for classic, write \
             a line with the number of solutions (`1`), the nine rows of the puzzle"
        );
        assert!(found.starts_with(&start), "{found}");
        // Where the name says the kind, other cases of it may follow.
        let behind = [&text[..], b"\n", &good].concat();
        check_as(Kind::Classic, behind, "bare-grid 1:1, correct");
        let behind = [&text[..], b"\n", &two_inputs(Kind::Killer).0].concat();
        check_as(Kind::Killer, &behind, "bare-grid 1:1, correct");
        assert_eq!(answers(Kind::Classic, &text), "N\n");
    }
    check_as(Kind::Hexudoku, rows(&grid, b"\n"), "bad-character 1:10");
    // Fewer rows are none.
    let eight = rows(&grid[9..], b"\n");
    check(&eight, "unknown-format 1:1");
    check_as(Kind::Classic, &eight, "bad-count 1:1");
}

#[test]
fn reading_the_end_twice_finds_nothing_twice() {
    for text in ["", "x", "3\n", "0123456789abcdef\n", "+---+"] {
        let mut reader = Reader::new(None, Limits::default());
        let mut found = Found::default();
        reader.read(text.as_bytes(), true, &mut found);
        let once = found.clone();
        assert!(!once.cases.is_empty());
        reader.read(b"", true, &mut found);
        assert_eq!(found, once, "{text:?}");
    }
}

#[test]
fn cleared_results_keep_their_memory() {
    let text = block(&[b'*'; 81], &[cyclic_square()]);
    let mut found = Found::default();
    Reader::new(None, Limits::default()).read(&text, true, &mut found);
    assert_eq!((found.cases.len(), found.puzzles.len()), (1, 1));
    found.clear();
    assert_eq!(found, Found::default());
    assert!(found.cases.capacity() > 0 && found.puzzles.capacity() > 0);
}

#[test]
fn a_block_in_two_windows_has_its_puzzle_in_each() {
    let text = block(&[b'7'; 81], &vec![cyclic_square(); 3]);
    let mut reader = Reader::new(None, Limits::default());
    for (window, end, solutions) in [(&text[..200], false, 1), (&text[182..], true, 2)] {
        let mut found = Found::default();
        let consumed = reader.read(window, end, &mut found);
        assert_eq!(consumed, if end { window.len() } else { 182 });
        assert_eq!((found.cases.len(), found.puzzles.len()), (solutions, 1));
        assert_eq!(found.puzzles[0].givens, [b'7'; 81]);
    }
}

#[test]
fn the_text_of_one_case_is_read_by_itself() {
    assert_eq!(
        killer::diagram(b"", 7).unwrap_err().to_string().split(':').next(),
        Some("line 7, column 1")
    );
    assert_eq!(hexudoku::board(b"", 7).unwrap_err().line, 7);
    assert_eq!(classic::solution(b"").cells, [b' '; 81]);
}
