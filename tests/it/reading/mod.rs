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
        ("999999999", Some(Kind::Classic)),
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
    assert!(
        found.ends_with("found `\\xC3\\xA9, and more than can well be told in on...`"),
        "{found}"
    );
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
