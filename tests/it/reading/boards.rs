//! Hexudoku boards.

use super::*;

fn board(row: usize, text: &str) -> String {
    let mut rows = vec!["----------------"; 16];
    rows[row] = text;
    rows.join("\n") + "\n"
}

fn blank() -> String {
    board(0, "----------------")
}

#[test]
fn boards_follow_one_another_with_or_without_blank_lines() {
    for between in ["", "\n", "\r\n \r", "\u{feff}", "\u{a0}\n\u{feff}\n"] {
        let text = format!("{}{between}{}", blank(), board(15, "0123456789ABCDEF"));
        check(&text, "counted, counted");
        assert_eq!(answers(Kind::Hexudoku, text.as_bytes()), "256\n240\n");
    }
}

#[test]
fn digits_may_be_in_lower_case_and_lines_have_trailing_blanks() {
    let text = board(7, "aAbBcCdDeEfF--10 \t\u{a0}");
    let graded = grade(None, Limits::default(), text.as_bytes());
    let Mark::Counted(counted) = graded[0].mark else { panic!("{graded:?}") };
    assert_eq!(usize::from(counted.filled + counted.blank), 256 - 14);
    // Row 8 and two or more boxes hold digits twice.
    assert_eq!(counted.conflicts, 1 + 3);
    check(text.trim_end(), "counted");
}

#[test]
fn a_wrong_character_or_length_costs_the_board_alone() {
    for (text, column) in [
        ("---------------g", 16),
        ("*---------------", 1),
        ("-----------", 12),
        ("-----------------", 17),
        ("---------------- -", 17),
        ("--------é-------", 9),
        ("     ----------------", 1),
    ] {
        for row in [1, 15] {
            let text = format!("{}{}", board(row, text), blank());
            check(&text, &format!("bad-character {}:{column}, counted", row + 1));
            assert_eq!(answers(Kind::Hexudoku, text.as_bytes()), "0\n256\n");
        }
    }
    assert_eq!(
        message(board(3, "---x------------")),
        "line 4, column 4: expected a row of 16 of `0`-`9`, `A`-`F` and `-`, found `x`"
    );
    assert_eq!(
        message(board(3, "---–------------")),
        "line 4, column 4: expected a row of 16 of `0`-`9`, `A`-`F` and `-`, found `–` (an en dash)"
    );
    let found = message(board(3, "---"));
    assert!(found.ends_with("`A`-`F` and `-`, found 3 of them"), "{found}");
}

#[test]
fn a_blank_line_ends_a_board_and_so_does_the_end_of_the_file() {
    let rows = "----------------\n".repeat(5);
    check(format!("{rows}\n{}", blank()), "truncated 6:1, counted");
    check(format!("{rows} \n\n{}", blank()), "truncated 6:1, counted");
    check(board(5, "                ") + "\n" + &blank(), "truncated 6:1, truncated 17:1, counted");
    check(&rows, "truncated 6:1");
    check(rows.trim_end(), "truncated 6:1");
    check(format!("-\n{rows}\n"), "unknown-format 1:1");
    check_as(Kind::Hexudoku, format!("-\n{rows}\n{}", blank()), "bad-character 1:2, counted");
    assert!(message(format!("{rows}\n")).ends_with("16 rows, found a blank line"));
    assert!(message(&rows).ends_with("16 rows, found the end of the file"));
}

#[test]
fn rows_between_blank_lines_are_a_board_only_if_there_are_16_of_them() {
    let rows = |count: usize| "----------------\n".repeat(count);
    for count in [17, 18, 31] {
        let surplus = "trailing-data 34:1";
        let text = format!("{}\n{}\n{}", blank(), rows(count), blank());
        check(&text, &format!("counted, {surplus}, counted"));
        assert_eq!(answers(Kind::Hexudoku, text.as_bytes()), "256\n0\n256\n");
        check(format!("{}\n{}", blank(), rows(count)), &format!("counted, {surplus}"));
        check(rows(count) + "\n" + &blank(), "trailing-data 17:1, counted");
        // Blanks behind rows, and rows that hold other characters.
        let wide = rows(count).replace('\n', " \u{a0}\r\n");
        check(format!("{}\n{wide}\n{}", blank(), blank()), &format!("counted, {surplus}, counted"));
        let title = format!("{}\nBoard 2\n{}", blank(), rows(count - 1));
        check(title, &format!("counted, {surplus}"));
        // A file without any blank line is cut every 16 rows.
        check(rows(count), &format!("counted, truncated {}:1", count + 1));
    }
    let found = message(rows(17) + "\n");
    assert_eq!(
        found,
        "line 17, column 1: expected a blank line or the end of the file behind the board's 16 rows, \
         found 17 rows without a blank line between them"
    );
    // So are longer runs.
    for count in [32, 48] {
        let counted = vec!["counted"; count / 16].join(", ");
        check(format!("\n{}\n{}", rows(count), blank()), &format!("{counted}, counted"));
    }
    check(format!("{}\n{}", rows(33), blank()), "counted, counted, truncated 34:1, counted");
}

#[test]
fn a_row_that_is_too_large_costs_the_board_alone() {
    let limits = Limits { case_bytes_max: 1024, ..Limits::default() };
    let long = "-".repeat(5000);
    for (row, place) in [(1, "2:1"), (15, "16:1")] {
        let text = format!("{}{}{}", blank(), board(row, &long), blank());
        let outcomes = grade(None, limits, text.as_bytes()).iter().map(Graded::outcome).collect();
        let line = place.split(':').next().unwrap().parse::<usize>().unwrap() + 16;
        assert_eq!(summary(outcomes), format!("counted, too-large {line}:1, counted"));
    }
    let text = format!("{}{}\n----\n\n{}", blank(), long, blank());
    let outcomes = grade(None, limits, text.as_bytes()).iter().map(Graded::outcome).collect();
    assert_eq!(summary(outcomes), "counted, too-large 17:1025, counted");
}
