use super::{PUZZLE, SOLUTION, board, diagram, folder, gridmark};
use std::fs;

#[test]
fn classic_answers_a_letter_a_solution_and_a_line_a_block() {
    let wrong = SOLUTION.replace("123456789\n456", "123456798\n456");
    let input = format!("3\n{PUZZLE}{SOLUTION}{wrong}{SOLUTION}1\n{PUZZLE}{SOLUTION}");
    let done = gridmark(folder().path(), &["judge", "classic"], input);
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("YNY\nY\n", ""));
    assert_eq!(done.code, Some(0), "a wrong solution is an answer, not a failure");
}

#[test]
fn killer_answers_a_word_a_diagram() {
    let input = diagram() + &diagram().replace("4 4 45", "4 4 44");
    let done = gridmark(folder().path(), &["judge", "killer"], input.replace('\n', "\r\n"));
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("OK\nNotOK\n", ""));
    assert_eq!(done.code, Some(0));
}

#[test]
fn hexudoku_answers_a_count_a_board() {
    let folder = folder();
    let boards = board(&[]) + "\n" + &board(&["0123456789ABCDEf", "f---------------"]);
    fs::write(folder.path().join("boards"), boards).unwrap();
    let done = gridmark(folder.path(), &["judge", "hexudoku", "boards"], "");
    let counts = done.stdout.lines().map(|count| count.parse::<u32>().unwrap()).collect::<Vec<_>>();
    assert_eq!((counts.len(), counts[0]), (2, 256));
    assert!(counts[1] < 239 && counts[1] > 200, "{counts:?}");
    assert_eq!((done.stderr.as_str(), done.code), ("", Some(0)));
}

#[test]
fn an_unreadable_case_keeps_its_place_and_is_reported() {
    let broken = diagram().replacen("+---+---+", "+---+-x-+", 1);
    let input = diagram() + &diagram().replace("4 4 45\n", "") + &diagram() + &broken + &diagram();
    let done = gridmark(folder().path(), &["judge", "killer"], input);
    assert_eq!(done.stdout, "OK\nNotOK\nOK\nNotOK\nOK\n");
    assert_eq!(done.code, Some(1));
    let outcome = done.stderr.lines().collect::<Vec<_>>();
    assert_eq!(outcome.len(), 2, "{outcome:?}");
    assert!(outcome[0].starts_with("stdin:36:3: "), "{outcome:?}");
    assert!(outcome[1].starts_with("stdin:84:"), "{outcome:?}");

    let folder = folder();
    let solution = SOLUTION.lines().take(5).collect::<Vec<_>>().join("\n");
    fs::write(folder.path().join("cut.txt"), format!("2\n{PUZZLE}{SOLUTION}{solution}")).unwrap();
    let done = gridmark(folder.path(), &["judge", "classic", "cut.txt"], "");
    assert_eq!((done.stdout.as_str(), done.code), ("YN\n", Some(1)));
    assert!(done.stderr.starts_with("cut.txt:"), "{}", done.stderr);

    let done = gridmark(folder.path(), &["judge", "hexudoku"], board(&["0123456789ABCDEG"]));
    assert_eq!((done.stdout.as_str(), done.code), ("0\n", Some(1)));
    assert!(done.stderr.starts_with("stdin:1:16: "), "{}", done.stderr);
}

#[test]
fn what_is_the_same_for_many_cases_is_reported_once() {
    let input = format!("40\n{PUZZLE}{SOLUTION}");
    let done = gridmark(folder().path(), &["judge", "classic"], input);
    assert_eq!(done.stdout, format!("Y{}\n", "N".repeat(16)));
    let lines = done.stderr.lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[1], "the same for 14 more cases");
    assert!(lines[2].ends_with("23 of them have no rows of their own"), "{lines:?}");
    let input = format!("3\n{PUZZLE}{SOLUTION}");
    let done = gridmark(folder().path(), &["judge", "classic"], input);
    assert!(done.stderr.ends_with("\nthe same for one more case\n"), "{}", done.stderr);
}

#[test]
fn an_empty_input_has_no_answer() {
    for input in ["", "\n \n"] {
        for kind in ["killer", "classic", "hexudoku"] {
            let done = gridmark(folder().path(), &["judge", kind], input);
            assert_eq!((done.stdout.as_str(), done.code), ("", Some(1)), "{kind}");
            assert!(done.stderr.contains("the file is empty"), "{}", done.stderr);
        }
    }
}

#[test]
fn a_missing_file_and_a_folder_are_reported() {
    let folder = folder();
    for (path, why) in [("nowhere", "No such file"), (".", "Is a directory")] {
        let done = gridmark(folder.path(), &["judge", "killer", path], "");
        assert_eq!((done.stdout.as_str(), done.code), ("", Some(1)));
        assert!(done.stderr.starts_with(&format!("gridmark: cannot read {path}: {why}")));
    }
}

#[test]
fn an_unknown_kind_is_refused_with_the_known_ones() {
    let done = gridmark(folder().path(), &["judge", "samurai"], "");
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("killer, classic, hexudoku"), "{}", done.stderr);
}

/// More than a window, so that cases lie across its ends; the answers stand beside.
#[test]
fn long_inputs_are_answered_as_short_ones_are() {
    for kind in ["killer", "classic", "hexudoku"] {
        let folder = folder();
        let cases = if kind == "classic" { "30000" } else { "8000" };
        let made = ["generate", kind, "--cases", cases, "--faulty", "0.3", "--answers", "right"];
        let work = gridmark(folder.path(), &made, "").stdout;
        assert!(work.len() > 2 << 20);
        let done = gridmark(folder.path(), &["judge", kind], work);
        let right = fs::read_to_string(folder.path().join("right")).unwrap();
        assert!(done.stdout == right, "{kind}");
        assert_eq!((done.stderr.as_str(), done.code), ("", Some(0)));
    }
}

#[test]
fn files_with_known_answers_get_them_byte_for_byte() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for (kind, name) in [
        ("classic", "classic/own"),
        ("hexudoku", "hexudoku/own"),
        ("hexudoku", "hexudoku/random-60"),
        ("killer", "killer/own"),
    ] {
        let file = data.join(name);
        let input = fs::read(file.with_extension("in")).unwrap();
        let done = gridmark(folder().path(), &["judge", kind], input);
        assert_eq!(done.stdout, fs::read_to_string(file.with_extension("out")).unwrap(), "{name}");
        assert_eq!(done.code, Some(0), "{name}");
    }
}
