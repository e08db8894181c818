use super::{PUZZLE, SOLUTION, board, diagram, folder, gridmark};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

#[test]
fn right_work_gets_a_line_a_case() {
    let folder = folder();
    fs::create_dir(folder.path().join("team 7")).unwrap();
    fs::write(folder.path().join("team 7/b.txt"), diagram()).unwrap();
    fs::write(folder.path().join("team 7/a.txt"), board(&["11--------------"]) + &board(&[]))
        .unwrap();
    fs::write(folder.path().join("c.txt"), format!("1\n{PUZZLE}{SOLUTION}")).unwrap();
    let done = gridmark(folder.path(), &["grade", "."], "");
    assert_eq!((done.stderr.as_str(), done.code), ("", Some(0)));
    insta::assert_snapshot!(done.stdout, @"
submission       case  kind      verdict     answer  faults
c.txt               1  classic   correct     Y            0
team 7/a.txt        1  hexudoku  counted     236          -  the board starts with 2 conflicts
team 7/a.txt        2  hexudoku  counted     256          -
team 7/b.txt        1  killer    correct     OK           0

3 files, 4 cases: 2 correct, 2 counted (492 cells filled)
");
}

#[test]
fn a_wrong_solution_is_drawn_and_explained() {
    let folder = folder();
    let wrong = SOLUTION
        .replace("123456789\n456789123", "923456789\n45678912399")
        .replace("567891234", "56x89123");
    fs::write(folder.path().join("p.txt"), format!("1\n{PUZZLE}{wrong}")).unwrap();
    let done = gridmark(folder.path(), &["grade", "p.txt"], "");
    assert_eq!((done.stderr.as_str(), done.code), ("", Some(1)));
    insta::assert_snapshot!(done.stdout, @"
submission     case  kind      verdict     answer  faults
p.txt             1  classic   wrong       N            7

    +---------+---------+---------+
    |[9] 2  3 | 4  5  6 | 7  8 [9]|
    | 4  5  6 | 7  8  9 | 1  2  3 | [2 more]
    | 7  8 [9]| 1  2  3 | 4  5  6 |
    +---------+---------+---------+
    | 2  3  4 | 5  6  7 | 8  9  1 |
    | 5  6 [x]| 8  9  1 | 2  3 [ ]|
    | 8  9  1 | 2  3  4 | 5  6  7 |
    +---------+---------+---------+
    | 3  4  5 | 6  7  8 | 9  1  2 |
    | 6  7  8 | 9  1  2 | 3  4  5 |
    |[9] 1  2 | 3  4  5 | 6  7  8 |
    +---------+---------+---------+
    r5c3 holds x, not a digit
    r5c9 is blank
    row 2 has 11 cells, not 9
    r1c1 holds 9, but 1 is given there
    row 1 has 9 twice
    column 1 has 9 twice
    box 1 has 9 twice
");
}

#[test]
fn a_wrong_diagram_is_drawn_with_its_cages_and_totals() {
    let folder = folder();
    let wrong = diagram()
        .replace("4 4 45", "4 4 1045")
        .replace("| 1   2   3   4", "| 1   2   2   4")
        .replacen(
            "+---+---+---+---+---+---+---+---+---+\n| 9",
            "+---+---+   +---+---+---+---+---+---+\n| 9",
            1,
        )
        .replace("9 9 45\n", "");
    fs::write(folder.path().join("p.txt"), wrong).unwrap();
    let done = gridmark(folder.path(), &["grade", "p.txt"], "");
    assert_eq!((done.stderr.as_str(), done.code), ("", Some(1)));
    insta::assert_snapshot!(done.stdout, @"
submission     case  kind      verdict     answer  faults
p.txt             1  killer    wrong       NotOK        8

    +45-+---+---+---+---+---+---+---+---+
    |[1] [2] [2] [4] [5] [6] [7] [8] [9]|
    +45-+---+---+---+---+---+---+---+---+
    | 4   5   6   7   8   9   1   2   3 |
    +45-+---+---+---+---+---+---+---+---+
    | 7   8   9   1   2   3   4   5   6 |
    +###+---+---+---+---+---+---+---+---+
    |[2] [3] [4] [5] [6] [7] [8] [9] [1]|
    +45-+---+---+---+---+---+---+---+---+
    | 5   6   7   8   9   1   2   3   4 |
    +45-+---+---+---+---+---+---+---+---+
    | 8   9   1   2   3   4   5   6   7 |
    +45-+---+---+---+---+---+---+---+---+
    | 3   4   5   6   7   8   9   1   2 |
    +45-+---+---+---+---+---+---+---+---+
    |[6] [7] [8] [9] [1] [2] [3] [4] [5]|
    +---+---+   +---+---+---+---+---+---+
    |[9] [1] [2] [3] [4] [5] [6] [7] [8]|
    +---+---+---+---+---+---+---+---+---+
    row 1 has 2 twice
    column 3 has 2 twice
    box 1 has 2 twice
    cage at r1c1 has 2 twice
    cage at r8c8 has 1 twice and 2 twice and 3 twice and 4 twice and 5 twice and 6 twice and 7 twice and 8 twice and 9 twice
    cage at r1c1 adds up to 44, not 45
    cage at r4c4 adds up to 45, not 1045
    cage at r8c8 adds up to 90, not 45
");
}

#[test]
fn an_unreadable_case_shows_its_line_and_column() {
    let folder = folder();
    fs::write(folder.path().join("a.txt"), "Dear judges,\n").unwrap();
    fs::write(folder.path().join("b.HEXUDOKU"), board(&["0123456789ABCDEF", "0123\u{e9}"]))
        .unwrap();
    let puzzle = PUZZLE.replace("****9****", "****x****");
    fs::write(folder.path().join("c.txt"), format!("1\n{puzzle}{SOLUTION}").replace('\n', "\r\n"))
        .unwrap();
    let done = gridmark(folder.path(), &["grade", "a.txt", "b.HEXUDOKU", "c.txt"], "");
    assert_eq!((done.stderr.as_str(), done.code), ("", Some(1)));
    insta::assert_snapshot!(done.stdout, @r"
submission     case  kind      verdict     answer  faults
a.txt             1  -         unreadable  -            -

    line 1, column 1: expected a killer drawing (`+---+...`), the number of solutions of a classic puzzle (1 to 99999999), or a hexudoku row of 16 of `0`-`9`, `A`-`F` and `-`, found `Dear judges,`
    | Dear judges,
    | ^

b.HEXUDOKU        1  hexudoku  unreadable  -            -

    line 2, column 5: expected a row of 16 of `0`-`9`, `A`-`F` and `-`, found `é`
    | 0123é
    |     ^

c.txt             1  classic   unreadable  -            -

    line 6, column 5: expected a puzzle row of nine of `1`-`9`, `*`, `.` and `0`, found `x`
    | ****x****
    |     ^


3 files, 3 cases: 3 unreadable
");
}

#[test]
fn a_file_with_many_cases_is_summed_up() {
    let folder = folder();
    let wrong = diagram().replace("4 4 45", "4 4 44");
    let many = diagram().repeat(15) + &wrong.repeat(30) + &diagram().repeat(5);
    fs::write(folder.path().join("many.txt"), many).unwrap();
    let done = gridmark(folder.path(), &["grade", "many.txt"], "");
    assert_eq!(done.code, Some(1));
    let lines = done.stdout.lines().collect::<Vec<_>>();
    let starting = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(starting("many.txt         16  killer    wrong"), 1);
    assert_eq!(starting("    cage at r4c4 adds up to 45, not 44"), 20);
    assert_eq!(starting("    and 10 more that are not right; --all shows them"), 1);
    assert_eq!(starting("many.txt"), 21, "right cases have no lines of their own");
    assert_eq!(
        lines.last(),
        Some(&"many.txt        all  killer    50 cases: 20 correct, 30 wrong")
    );

    let done = gridmark(folder.path(), &["grade", "--all", "many.txt"], "");
    assert_eq!(done.stdout.matches("cage at r4c4 adds up to 45, not 44").count(), 30);
    assert!(!done.stdout.contains("more that are not right"));
}

#[test]
fn only_files_that_would_be_taken_are_graded() {
    let folder = folder();
    let file = |name: &str| fs::write(folder.path().join(name), diagram()).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    ["b.txt", "sub/a.txt", ".hidden", "half.part", "sub/x.tmp", "old~"].into_iter().for_each(file);
    symlink("b.txt", folder.path().join("link.txt")).unwrap();
    symlink(".", folder.path().join("loop")).unwrap();
    let names = |done: super::Done| {
        let lines = done
            .stdout
            .lines()
            .filter(|line| line.contains("correct "))
            .map(|line| line.split_whitespace().next().unwrap_or_default().to_owned());
        lines.collect::<Vec<_>>()
    };
    let done = gridmark(folder.path(), &["grade", "."], "");
    let left = "gridmark: left alone, by intake.ignored: .hidden, half.part, old~ and 1 more\n";
    assert_eq!(done.stderr, left);
    assert_eq!(names(done), ["b.txt", "sub/a.txt"]);
    // What people name is what they mean.
    let done = gridmark(folder.path(), &["grade", "link.txt", ".hidden", "./sub"], "");
    assert_eq!(names(done), ["link.txt", ".hidden", "sub/a.txt"]);
}

#[test]
fn names_that_are_not_text_are_shown_distinctly() {
    let folder = folder();
    let name = OsStr::from_bytes(b"p\xff\x1b[2J.txt");
    fs::write(folder.path().join(name), diagram()).unwrap();
    let done = gridmark(folder.path(), &[OsStr::new("grade"), name], "");
    assert_eq!(done.code, Some(0));
    assert!(
        done.stdout.contains("p\\xFF\\x1B[2J.txt        1  killer    correct"),
        "{}",
        done.stdout
    );
}

#[test]
fn files_that_cannot_be_graded_are_reported_and_the_rest_is_graded() {
    let folder = folder();
    fs::write(folder.path().join("p.txt"), diagram()).unwrap();
    let done = gridmark(folder.path(), &["grade", "nowhere", "p.txt"], "");
    assert_eq!(done.code, Some(2));
    assert!(
        done.stderr.starts_with("gridmark: cannot read nowhere: No such file"),
        "{}",
        done.stderr
    );
    assert!(done.stdout.contains("p.txt"));

    fs::create_dir(folder.path().join("empty")).unwrap();
    let done = gridmark(folder.path(), &["grade", "empty"], "");
    assert_eq!((done.stdout.as_str(), done.code), ("", Some(2)));
    assert_eq!(done.stderr, "gridmark: there is no file to grade\n");

    let done = gridmark(folder.path(), &["grade"], "");
    assert_eq!(done.code, Some(2));
}

#[test]
fn a_path_that_is_neither_file_nor_folder_is_reported_at_once() {
    let folder = folder();
    fs::write(folder.path().join("p.txt"), diagram()).unwrap();
    let fifo = folder.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    symlink("fifo", folder.path().join("link")).unwrap();
    for odd in ["fifo", "socket", "link", "/dev/zero"] {
        let done = gridmark(folder.path(), &["grade", odd, "p.txt"], "");
        assert_eq!(done.code, Some(2), "{odd}");
        let said = format!("gridmark: cannot grade {odd}: it is neither a regular file nor a fo");
        assert!(done.stderr.starts_with(&said), "{}", done.stderr);
        assert!(done.stdout.contains("p.txt             1  killer    correct"), "{}", done.stdout);
    }
}

#[test]
fn an_empty_file_is_unreadable() {
    let folder = folder();
    fs::write(folder.path().join("p.txt"), "").unwrap();
    let done = gridmark(folder.path(), &["grade", "p.txt"], "");
    assert_eq!(done.code, Some(1));
    assert!(done.stdout.contains("the file is empty"), "{}", done.stdout);
}

#[test]
fn csv_has_the_rows_of_the_reports() {
    let folder = folder();
    fs::create_dir(folder.path().join("team 7")).unwrap();
    let wrong = SOLUTION.replace("123456789\n4", "12345678\n4");
    fs::write(folder.path().join("team 7/c.txt"), format!("2\n{PUZZLE}{SOLUTION}{wrong}")).unwrap();
    fs::write(folder.path().join("=h.txt"), board(&["11--------------"])).unwrap();
    fs::write(folder.path().join("x.txt"), "Dear \"judges\",\n").unwrap();
    let grade = ["grade", "--csv", "marks.csv", "=h.txt", "team 7", "x.txt"];
    let done = gridmark(folder.path(), &grade, "");
    assert_eq!((done.stderr.as_str(), done.code), ("", Some(1)));
    let rows = fs::read_to_string(folder.path().join("marks.csv")).unwrap();
    insta::assert_snapshot!(rows, @r#"
submission,attempt,case,kind,verdict,answer,filled,blank,fault,at,faults,detail
'=h.txt,1,1,hexudoku,counted,236,236,18,,,0,the board starts with 2 conflicts
team 7/c.txt,1,1,classic,correct,Y,,,,,0,
team 7/c.txt,1,2,classic,wrong,N,,,not-a-digit,r1c9,1,r1c9 is blank
x.txt,1,1,,unreadable,,,,unknown-format,,0,"line 1, column 1: expected a killer drawing (`+---+...`), the number of solutions of a classic puzzle (1 to 99999999), or a hexudoku row of 16 of `0`-`9`, `A`-`F` and `-`, found `Dear ""judges"",`"
"#);

    // A file that is there is not overwritten, and nothing is graded beside it.
    let done = gridmark(folder.path(), &grade, "");
    assert_eq!((done.stdout.as_str(), done.code), ("", Some(2)));
    assert!(done.stderr.starts_with("gridmark: cannot create marks.csv: File exists"));
    assert_eq!(fs::read_to_string(folder.path().join("marks.csv")).unwrap(), rows);
}

#[test]
fn csv_is_all_that_goes_to_standard_output_or_a_pipe() {
    let folder = folder();
    fs::write(folder.path().join("c.txt"), format!("1\n{PUZZLE}{SOLUTION}")).unwrap();
    let rows = "submission,attempt,case,kind,verdict,answer,filled,blank,fault,at,faults,detail\n\
                c.txt,1,1,classic,correct,Y,,,,,0,\n";
    for to in ["-", "/dev/stdout", "/dev/fd/1"] {
        let done = gridmark(folder.path(), &["grade", "--csv", to, "c.txt"], "");
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), (rows, ""), "{to}");
        assert_eq!(done.code, Some(0), "{to}");
    }
    let read = || fs::read_to_string(folder.path().join("out")).unwrap();
    let shell = |line: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", line, env!("CARGO_BIN_EXE_gridmark")]).current_dir(folder.path());
        assert!(shell.status().unwrap().success(), "{line}");
    };
    // The file to which standard output is redirected is standard output too.
    shell("$0 grade c.txt --csv out > out");
    assert_eq!(read(), rows);
    shell("mkfifo pipe; cat pipe > out & $0 grade c.txt --csv pipe > shown; wait");
    assert_eq!(read(), rows);
    assert!(fs::read_to_string(folder.path().join("shown")).unwrap().contains("correct"));
    // Nobody reads on.
    shell("$0 grade c.txt --csv - | true");
}

/// Very many very small cases, all of them with very many faults.
#[test]
fn a_block_of_blank_rows_is_graded_in_parts() {
    let folder = folder();
    let rows = "\n".repeat(9 * 20_000);
    fs::write(folder.path().join("p.txt"), format!("20000\n{PUZZLE}{rows}")).unwrap();
    let done = gridmark(folder.path(), &["grade", "p.txt"], "");
    assert_eq!((done.stderr.as_str(), done.code), ("", Some(1)));
    assert!(done.stdout.ends_with("all  classic   20000 cases: 20000 wrong\n"));
    let done = gridmark(folder.path(), &["judge", "classic", "p.txt"], "");
    assert_eq!(done.stdout, "N".repeat(20_000) + "\n");
}
