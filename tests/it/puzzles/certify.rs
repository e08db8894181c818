//! `gridmark puzzle certify` as people type it, and puzzles that `gridmark generate` makes.

use super::cli::run;
use super::kit::{LINE, SOLVED};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// A 9x9 puzzle with one solution.
const ONE: &str =
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";

const ONE_SOLVED: &str =
    "534678912672195348198342567859761423426853791713924856961537284287419635345286179";

fn certify(folder: &Path, args: &[&str], input: &str) -> (Option<i32>, String, String) {
    run(folder, &[&["certify"][..], args].concat(), input)
}

/// What is printed and the exit code for a text on standard input.
fn said(text: &str) -> (Option<i32>, String) {
    let (code, said, _) = certify(Path::new("/"), &["-"], text);
    (code, said)
}

/// A document of f-puzzles with these cages.
fn with_cages(cages: &Value) -> String {
    json!({ "size": 9, "grid": vec![vec![json!({}); 9]; 9], "killercage": cages }).to_string()
}

#[test]
fn each_puzzle_gets_a_line_and_the_exit_code_says_whether_all_are_right() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let none = ONE.replacen("..7", "127", 1);
    let invalid = ONE.replacen("..7", "5.7", 1);
    std::fs::write(folder.join("one.sdm"), format!("{ONE}\n{LINE}\n")).unwrap();
    std::fs::write(folder.join("good.sdm"), format!("{ONE}\n{SOLVED}\n")).unwrap();
    std::fs::write(folder.join("bad.sdm"), format!("{none}\n{invalid}\n")).unwrap();
    let (code, lines, errors) = certify(folder, &["good.sdm"], "");
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert_eq!(lines, "good.sdm:1: one solution\ngood.sdm:2: one solution\n");
    let (code, lines, errors) = certify(folder, &["one.sdm", "bad.sdm"], "");
    assert_eq!((code, errors.as_str()), (Some(1), ""));
    let expected = "\
one.sdm:1: one solution
one.sdm:2: many solutions
bad.sdm:1: no solution
bad.sdm:2: invalid: 5 is given twice in row 1: r1c1 r1c3; 5 is given twice in box 1: r1c1 r1c3
";
    assert_eq!(lines, expected);
    let (code, lines, _) = certify(folder, &["bad.sdm#2"], "");
    assert_eq!((code, lines.lines().count()), (Some(1), 1));
    assert!(lines.starts_with("bad.sdm:2: invalid: "), "{lines}");
}

#[test]
fn a_file_that_cannot_be_read_does_not_keep_the_others_from_being_certified() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("short"), "12345").unwrap();
    std::fs::write(folder.join("many"), ".".repeat(81)).unwrap();
    let (code, lines, errors) = certify(folder, &["none", "short", "many"], "");
    assert_eq!((code, lines.as_str()), (Some(2), "many:1: many solutions\n"));
    let errors = errors.lines().collect::<Vec<_>>();
    assert!(errors[0].starts_with("gridmark: cannot read none: "), "{errors:?}");
    assert!(errors[1].starts_with("gridmark: short: line 1, column 1: "), "{errors:?}");
    assert_eq!(errors.len(), 2);
}

#[test]
fn the_solution_or_two_that_differ_are_shown() {
    let (code, shown, _) = certify(Path::new("/"), &["-", "--show"], ONE);
    let (line, board) = shown.split_once('\n').unwrap();
    assert_eq!((code, line), (Some(0), "-:1: one solution"));
    let digits = board.chars().filter(char::is_ascii_digit).collect::<String>();
    assert_eq!(digits, ONE_SOLVED);
    assert!(!board.contains('*'), "{board}");

    let (code, shown, _) = certify(Path::new("/"), &["-", "--show"], LINE);
    assert_eq!((code, shown.lines().count()), (Some(1), 1 + 2 * 13));
    let cells = |board: &[&str]| board.concat().replace(['+', '-', '|', ' '], "");
    let lines = shown.lines().collect::<Vec<_>>();
    let (one, other) = (cells(&lines[1..14]), cells(&lines[14..]));
    assert_ne!(one, other);
    assert_eq!(one.matches('*').count(), other.matches('*').count());
    assert!(one.contains('*') && one.replace('*', "").len() == 81, "{one}");
}

#[test]
fn programs_read_json() {
    let objects = |args: &[&str], input: &str| {
        let (_, text, _) = certify(Path::new("/"), &[&["-", "--json"], args].concat(), input);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let expected = json!({
        "file": "-", "number": 1, "result": "one solution", "findings": [],
        "solutions": [ONE_SOLVED],
    });
    assert_eq!(objects(&["--show"], ONE), [expected]);
    let finding = json!({
        "level": "error", "code": "givens-conflict", "cells": ["r1c1", "r1c2"],
        "message": "1 is given twice in row 1: r1c1 r1c2",
    });
    let invalid = &objects(&[], &format!("{ONE}\n11{}", ".".repeat(79)))[1];
    assert_eq!((&invalid["number"], &invalid["result"]), (&json!(2), &json!("invalid")));
    assert_eq!((&invalid["findings"][0], &invalid["solutions"]), (&finding, &Value::Null));
    let cages = json!([{ "cells": ["R1C1"], "value": "3" }]);
    let warned = &objects(&[], &with_cages(&cages))[0];
    assert_eq!(warned["findings"][0]["level"], "warning");
    assert_eq!(warned["findings"][0]["code"], "one-cell-cage");
    let overlap = json!([{ "cells": ["R1C1", "R1C2"] }, { "cells": ["R1C2", "R1C3"] }]);
    let overlap = &objects(&[], &with_cages(&overlap))[0];
    assert_eq!(overlap["result"], "invalid");
    assert_eq!(overlap["findings"][0]["code"], "no-puzzle");
}

#[test]
fn warnings_go_to_standard_error() {
    let cages = json!([
        { "cells": ["R1C1"], "value": "3" },
        { "cells": ["R2C2", "R9C9"], "value": "12" },
    ]);
    let (code, lines, errors) = certify(Path::new("/"), &["-"], &with_cages(&cages));
    assert_eq!((code, lines.as_str()), (Some(1), "-:1: many solutions\n"));
    let expected = "\
warning: -:1: the cage at r2c2 is in several parts
warning: -:1: a cage has one cell: r1c1
";
    assert_eq!(errors, expected);
}

#[test]
fn impossible_cages_are_invalid_with_the_reason() {
    let row = |row: usize| (1..=9).map(|c| format!("R{row}C{c}")).collect::<Vec<_>>();
    let rows = (1..=9).map(|number| {
        let total = if number == 9 { "44" } else { "45" };
        json!({ "cells": row(number), "value": total })
    });
    let ten = [row(1), vec!["R2C1".into()]].concat();
    for (cages, why) in [
        (
            json!([{ "cells": ten, "value": "45" }]),
            "the cage at r1c1 has 10 cells, and there are only 9 digits",
        ),
        (
            json!([{ "cells": ["R1C1", "R1C2"], "value": "18" }]),
            "the total of the cage at r1c1 is 18, and its 2 cells can add up to 3 to 17",
        ),
        (
            json!(rows.collect::<Vec<_>>()),
            "the total of the cage at r9c1 is 44, and its 9 cells can add up to 45; the totals of all cages add up to 404, not to 405",
        ),
    ] {
        let (code, said) = said(&with_cages(&cages));
        assert_eq!((code, said), (Some(1), format!("-:1: invalid: {why}\n")));
    }
    let overlap = json!([{ "cells": ["R1C1", "R1C2"] }, { "cells": ["R1C2", "R1C3"] }]);
    let (code, said) = said(&with_cages(&overlap));
    assert_eq!(code, Some(1));
    assert!(said.starts_with("-:1: invalid: ") && said.contains("r1c2 is in two cages"), "{said}");
}

/// What takes long is not proven, and says so in time.
#[test]
fn the_time_limit_is_kept() {
    let open = format!("0{}F", "-".repeat(254));
    for text in [".".repeat(81), open, with_cages(&json!([{ "cells": ["R1C1", "R1C2"] }]))] {
        let (code, said, errors) =
            certify(Path::new("/"), &["-", "--time-limit", "0", "--show"], &text);
        assert_eq!((code, said.as_str(), errors.as_str()), (Some(1), "-:1: not proven\n", ""));
    }
    let (code, _, errors) = certify(Path::new("/"), &["-", "--time-limit", "soon"], ONE);
    assert_eq!(code, Some(2));
    assert!(errors.contains("expected a time such as 200ms"), "{errors}");
}

#[test]
fn boards_that_are_nearly_empty_have_many_solutions() {
    let open = format!("0{}F", "-".repeat(254));
    assert_eq!(said(&open), (Some(1), "-:1: many solutions\n".into()));
    let uncaged = json!([{ "cells": ["R5C5", "R5C6"] }]);
    assert_eq!(said(&with_cages(&uncaged)), (Some(1), "-:1: many solutions\n".into()));
    assert_eq!(
        said(&format!("3x3::k:{}", "0:".repeat(81))),
        (Some(1), "-:1: many solutions\n".into())
    );
}

#[test]
fn generated_puzzles_are_certified_and_come_with_their_solutions() {
    for (kind, cases) in [("classic", "3"), ("killer", "3"), ("hexudoku", "2")] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let generate = |more: &[&str]| {
            let make = ["generate", kind, "--puzzle", "--cases", cases, "--seed", "4"];
            let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
            let output = command.args(make).args(more).current_dir(folder).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let stream = generate(&["--answers", "stream.out"]);
        assert_eq!(generate(&[]), stream, "the same seed");
        generate(&["--files", cases, "--into", "in", "--answers", "out"]);
        let args = ["-", "--show", "--json"];
        let (code, lines, _) = certify(folder, &args, &stream);
        assert_eq!((code, lines.lines().count().to_string().as_str()), (Some(0), cases), "{lines}");
        let solutions = lines.lines().map(|line| {
            let json = serde_json::from_str::<Value>(line).unwrap();
            assert_eq!(json["result"], "one solution");
            json["solutions"][0].as_str().unwrap().to_owned()
        });
        let solutions = solutions.collect::<Vec<_>>();
        let answers = std::fs::read_to_string(folder.join("stream.out")).unwrap();
        assert_eq!(answers.replace('\n', ""), solutions.concat());
        let mut files = String::new();
        for (number, solution) in (1..).zip(&solutions) {
            let file = format!("p{number:04}.txt");
            let answer = std::fs::read_to_string(folder.join("out").join(file.clone() + ".out"));
            assert_eq!(&answer.unwrap().replace('\n', ""), solution);
            files.push_str(&std::fs::read_to_string(folder.join("in").join(file)).unwrap());
        }
        assert_eq!(files.replace('\n', ""), stream.replace('\n', ""));
    }
}
