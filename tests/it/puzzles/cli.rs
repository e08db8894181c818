//! `gridmark puzzle` as people type it.

use super::kit::{LINE, dominoes, plain, solved_16};
use gridmark_core::puzzle::{Alphabet, Puzzle, text};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs `gridmark puzzle` in a folder: exit code, standard output and standard error.
pub(super) fn run(folder: &Path, args: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    command.arg("puzzle").args(args).current_dir(folder).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn write(puzzle: Puzzle, format: text::Format) -> String {
    text::write(format, &[puzzle.into()]).unwrap()
}

#[test]
fn one_puzzle_of_a_file_is_shown_or_converted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let other = LINE.replacen(".23", "1.3", 1);
    std::fs::write(folder.join("set.sdm"), format!("{LINE}\n{other}\n")).unwrap();
    let (code, shown, errors) = run(folder, &["show", "set.sdm#2"], "");
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(shown.starts_with("set.sdm#2: 9x9, 72 givens\n+---------+"), "{shown}");
    assert!(shown.contains("\n| 1  .  3 | .  5  6 | .  8  9 |\n"), "{shown}");
    let (code, line, _) = run(folder, &["convert", "set.sdm#2", "--to", "line"], "");
    assert_eq!((code, line), (Some(0), format!("{other}\n")));
    let (_, both, _) = run(folder, &["show", "set.sdm"], "");
    assert_eq!(both.matches("\nset.sdm#").count(), 1, "{both}");

    let (code, output, errors) = run(folder, &["show", "set.sdm#3"], "");
    assert_eq!((code, output.as_str()), (Some(2), ""));
    assert_eq!(errors, "gridmark: set.sdm: no puzzle 3, there are 2\n");
    for missing in ["set.sdm#0", "set.sdm#x", "none"] {
        let (code, _, errors) = run(folder, &["show", missing], "");
        assert_eq!(code, Some(1), "{errors}");
        assert!(errors.starts_with(&format!("gridmark: cannot read {missing}: ")), "{errors}");
    }
    // A file may be called so.
    std::fs::write(folder.join("set.sdm#3"), LINE).unwrap();
    let (_, shown, _) = run(folder, &["show", "set.sdm#3"], "");
    assert!(shown.starts_with("set.sdm#3#1: 9x9, 72 givens\n"), "{shown}");
}

#[test]
fn what_is_converted_goes_to_a_new_file_or_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let drawing = write(dominoes(), text::Format::Killer);
    let to_link = ["convert", "-", "--to", "f-puzzles"];
    let (code, link, errors) = run(folder, &to_link, &drawing);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let to_file = ["convert", "-", "--to", "killer", "--out", "k.txt"];
    assert_eq!(run(folder, &to_file, &link), (Some(0), String::new(), String::new()));
    assert_eq!(std::fs::read_to_string(folder.join("k.txt")).unwrap(), drawing);
    let (code, _, errors) = run(folder, &to_file, &link);
    assert_eq!(code, Some(1));
    assert!(errors.starts_with("gridmark: cannot create k.txt: "), "{errors}");

    let (code, output, errors) = run(folder, &["convert", "k.txt", "--to", "sdm"], "");
    assert_eq!((code, output.as_str()), (Some(1), ""));
    let why = "the format sdm has no place for cages; use killer or f-puzzles";
    assert_eq!(errors, format!("gridmark: cannot convert k.txt#1: {why}\n"));
    let (code, _, errors) = run(folder, &["convert", "k.txt", "--to", "pdf"], "");
    assert_eq!(code, Some(2));
    assert!(
        errors.contains("expected one of line, block, sdk, sdm, killer, f-puzzles"),
        "{errors}"
    );
}

#[test]
fn a_solution_that_is_left_out_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("1\n{}", write(plain(), text::Format::Block))
        + &write(
            Puzzle::new(Alphabet::OneToNine, &super::kit::digits(super::kit::SOLVED)).unwrap(),
            text::Format::Block,
        );
    let (code, shown, _) = run(folder.path(), &["show", "-"], &text);
    assert_eq!(code, Some(0));
    assert!(shown.starts_with("-#1: 9x9, 72 givens, with its solution\n"), "{shown}");
    let (code, line, note) = run(folder.path(), &["convert", "-", "--to", "line"], &text);
    assert_eq!((code, line), (Some(0), format!("{LINE}\n")));
    assert_eq!(note, "note: -#1: the solution is left out: line has no place for it\n");
    let (_, _, note) = run(folder.path(), &["convert", "-", "--to", "f-puzzles"], &text);
    assert_eq!(note, "");
}

#[test]
fn an_alphabet_is_declared_by_a_flag_or_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let givens = solved_16().into_iter().map(|digit| if digit == 1 { 0 } else { digit });
    let puzzle = Puzzle::new(Alphabet::ZeroToF, &givens.collect::<Vec<_>>()).unwrap();
    let text = write(puzzle, text::Format::Block);
    std::fs::write(folder.join("a.txt"), &text).unwrap();
    std::fs::write(folder.join("a.hexudoku"), &text).unwrap();
    let (code, _, errors) = run(folder, &["show", "a.txt"], "");
    assert_eq!(code, Some(1));
    assert!(
        errors.ends_with("may be those of 0-F or of 1-G: declare which (--alphabet)\n"),
        "{errors}"
    );
    let shown = |args: &[&str]| run(folder, args, "").1;
    assert!(shown(&["show", "a.hexudoku"]).starts_with("a.hexudoku#1: 16x16 in 0-F, 240 givens\n"));
    let declared = shown(&["show", "a.txt", "--alphabet", "1-g"]);
    assert!(
        declared.starts_with("a.txt#1: 16x16 in 1-G, 240 givens\n+------------+"),
        "{declared}"
    );
    assert!(
        declared.contains("\n| .  1  2  3 | 4  5  6  7 | 8  9  A  B | C  D  E  F |\n"),
        "{declared}"
    );
    let (code, _, errors) = run(folder, &["show", "a.txt", "--alphabet", "A-F"], "");
    assert_eq!(code, Some(2));
    assert!(errors.contains("expected one of 1-9, 0-F, 1-G, A-P and 1-16"), "{errors}");
}

#[test]
fn a_killer_is_drawn_with_what_a_drawing_cannot_show_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let mut document = serde_json::json!({ "size": 9, "title": "two\u{1b}[31m\nparts" });
    document["grid"] = vec![vec![serde_json::json!({}); 9]; 9].into();
    document["killercage"] = serde_json::json!([
        { "cells": ["R1C1", "R1C2"], "value": "5" },
        { "cells": ["R1C4", "R5C5"], "value": "17" },
        { "cells": ["R9C9", "R9C8"] },
    ]);
    let (code, shown, errors) = run(folder.path(), &["show", "-"], &document.to_string());
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    let lines = shown.lines().collect::<Vec<_>>();
    assert_eq!(
        lines[..5],
        [
            "-#1: killer, 3 cages, 0 givens",
            "title: two\\x1B[31m parts",
            "+5--+---+---+17-+---+---+---+---+---+",
            "|       |   |   |                   |",
            "+---+---+   +---+   +   +   +   +   +",
        ]
    );
    assert_eq!(lines[21..], ["cage with total 17: r1c4 r5c5", "cage with no total: r9c8 r9c9",]);
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let large = LINE.to_owned() + &"\n".repeat(1_000);
    let args = ["show", "-", "--file-bytes-max", "1000"];
    let (code, output, errors) = run(folder.path(), &args, &large);
    assert_eq!((code, output.as_str()), (Some(1), ""));
    let why = "line 1, column 1: expected a file of at most 1000 bytes, found a larger one";
    assert_eq!(errors, format!("gridmark: -: {why}\n"));
    let (code, _, _) = run(folder.path(), &args, &format!("{LINE}\n"));
    assert_eq!(code, Some(0));
}
