//! Classic blocks.

use super::*;

const OPEN: [u8; 81] = [b'*'; 81];

fn good() -> Vec<u8> {
    correct_grid(&mut Chance(1))
}

fn good_block(solutions: usize) -> Vec<u8> {
    block(&OPEN, &vec![good(); solutions])
}

#[test]
fn blocks_follow_one_another_with_or_without_blank_lines() {
    for between in ["", "\n", "\r\n \t\r\n", "\u{feff}", "\u{a0}\n\u{feff}\n"] {
        let text = [good_block(2), between.as_bytes().to_vec(), good_block(1)].concat();
        check(&text, "correct, correct, correct");
        assert_eq!(answers(Kind::Classic, &text), "YY\nY\n");
    }
}

#[test]
fn the_last_line_may_lack_its_end_and_empty_lines_may_follow() {
    let mut text = good_block(1);
    text.extend(b"\n\n");
    check(&text, "correct");
    text.truncate(text.len() - 3);
    check(&text, "correct");
}

#[test]
fn open_cells_may_be_stars_dots_and_zeros() {
    let mut givens = good();
    for (i, open) in b"*.0".iter().enumerate() {
        givens[i * 11..i * 11 + 9].fill(*open);
    }
    check(block(&givens, &[good()]), "correct");
    let mut changed = good();
    changed.swap(79, 80);
    check(block(&givens, &[changed]), "given-changed r9c8");
}

#[test]
fn counts_may_have_blanks_around_and_zeros_in_front() {
    let rest = &good_block(1)[2..];
    for count in ["1", " 1 ", "\t1\u{a0}", "001", "00000001"] {
        check([count.as_bytes(), b"\n", rest].concat(), "correct");
    }
}

#[test]
fn a_first_line_that_is_no_count_is_one_case_and_reading_goes_on_at_the_next_count() {
    let text = |first: &str| {
        [first.as_bytes(), b"\n123456789\n*********\n\n0\nx\n", &good_block(2)].concat()
    };
    for first in ["x", "-1", "1 2", "123456789", "1234567890", "0", "000", "+1", "1.", "*********"]
    {
        check_as(Kind::Classic, text(first), "bad-count 1:1, correct, correct");
    }
    check(text("0"), "bad-count 1:1, correct, correct");
    assert_eq!(
        message(text("0")),
        "line 1, column 1: expected the number of solutions, from 1 to 99999999, found `0`"
    );
}

#[test]
fn a_short_row_of_digits_is_not_a_count_unless_a_puzzle_follows_it() {
    let (one, two) = (good_block(1), good_block(2));
    let with_lines = |text: &[u8], change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = String::from_utf8(text.to_vec()).unwrap();
        let mut rows = lines.lines().map(String::from).collect::<Vec<_>>();
        change(&mut rows);
        lines = rows.join("\n") + "\n";
        lines.into_bytes()
    };
    // The last row of the first block is broken in two.
    let broken = with_lines(&one, &|lines| {
        let last = lines.pop().unwrap();
        lines.extend([last[..3].to_owned(), last[3..].to_owned()]);
    });
    check([&broken[..], &two].concat(), "not-a-digit r9c4, trailing-data 20:1, correct, correct");
    // A number by itself between two blocks.
    let text = [&one[..], b"7\n", &one].concat();
    check(&text, "correct, trailing-data 20:1, correct");
    assert_eq!(answers(Kind::Classic, &text), "Y\nN\nY\n");
    assert_eq!(
        message(&text),
        "line 20, column 1: expected the number of solutions of a further block, or the end of the \
         file, found `7` without a puzzle behind it (line 21, column 2: expected a puzzle row of \
         nine of `1`-`9`, `*`, `.` and `0`, found 1 character)"
    );
    // In front of the first block, where it decides the kind.
    check([b"7\n".to_vec(), two.clone()].concat(), "bad-given 2:2, correct, correct");
    // A row is missing, so that the next count is taken for it, and a row of what is skipped then has
    // lost blanks at its end.
    let short = with_lines(&good_block(3), &|lines| lines[18].truncate(5));
    let missing = with_lines(&one, &|lines| drop(lines.remove(12)));
    let text = [&missing[..], &short, &one].concat();
    let found = summary(outcomes(text));
    assert!(found.ends_with(", trailing-data 20:1, correct"), "{found}");
    // Two rows too many.
    let rows = with_lines(&one, &|lines| lines.extend_from_within(17..19));
    check([&rows[..], &two].concat(), "correct, trailing-data 20:1, correct, correct");
    // The puzzle of a further block may be complete, or written in any way that one may be.
    let full = block(&good(), &[good()]);
    check([&one[..], &full].concat(), "correct, correct");
    let wide = with_lines(&one, &|lines| lines[5].push_str(" \u{a0}\t"));
    check([&one[..], &wide, &one].concat(), "correct, correct, correct");
    // A row of a puzzle is broken in two, and what is left of it is a number.
    let zeros = block(&[b'0'; 81], &[good()]);
    let zeros = with_lines(&zeros, &|lines| {
        lines[1] = "530".into();
        lines.insert(2, "070000".into());
    });
    check([&zeros[..], &two].concat(), "bad-given 2:4, correct, correct");
    check([&one[..], &zeros, &two].concat(), "correct, trailing-data 20:1, correct, correct");
    // One that cannot be read costs its own block alone.
    let bad = with_lines(&two, &|lines| lines[9].push('1'));
    check([&one[..], &bad, &one].concat(), "correct, trailing-data 20:1, correct");
}

#[test]
fn what_follows_a_block_and_is_no_count_is_trailing_data() {
    // The block has one solution more than it says.
    let mut text = good_block(2);
    text[0] = b'1';
    let text = [text, good_block(1)].concat();
    check(&text, "correct, trailing-data 20:1, correct");
    assert_eq!(answers(Kind::Classic, &text), "Y\nN\nY\n");
    check([good_block(1), b"\nend of file\n".to_vec()].concat(), "correct, trailing-data 21:1");
    for text in ["0", "000000000", "123456789", "1234567890", "1", "1\n*********"] {
        check([&good_block(1), text.as_bytes()].concat(), "correct, trailing-data 20:1");
    }
    let found = message([good_block(1), b"thanks\n".to_vec()].concat());
    assert_eq!(
        found,
        "line 20, column 1: expected the number of solutions of a further block, or the end of \
         the file, found `thanks`"
    );
}

#[test]
fn a_row_where_a_number_has_to_be_says_that_the_number_may_be_missing() {
    let without_number = |text: Vec<u8>| text[2..].to_vec();
    let found = message([good_block(1), without_number(good_block(1))].concat());
    let says = "which is a row: it is too many, or the line with the number above it is missing";
    assert!(found.ends_with(says), "{found}");
    // Nine rows of nine are a grid by themselves, unless one of them is not.
    let text = [b"53..7....\n123\n".to_vec(), good_block(1)].concat();
    let found = grade(Some(Kind::Classic), Limits::default(), &text).remove(0);
    let says = "found `53..7....`, which is a row: the line with the number above it is missing";
    assert!(matches!(&found.mark, Mark::Unreadable(why) if why.to_string().ends_with(says)));
}

#[test]
fn rows_are_padded_and_trailing_blanks_dropped() {
    let text = String::from_utf8(good_block(1)).unwrap();
    let (head, last) = text.trim_end().split_at(text.len() - 10);
    check(format!("{head}{last} \t\u{a0} \n"), "correct");
    check([head.as_bytes(), last.as_bytes(), b" \xA0\n"].concat(), "correct");
    check(format!("{head}{}\n", &last[..7]), "not-a-digit r9c8");
    check(format!("{head}\n"), "not-a-digit r9c1");
    check(format!("{head} {}\n", &last[1..]), "not-a-digit r9c1");
    check(format!("{head}{last}1\n"), "row-length r9c10");
    check(format!("{head}{last}\u{a0}x\n"), "row-length r9c10");
    check(format!("{head}{last} x\n"), "row-length r9c10");
}

#[test]
fn a_blank_line_inside_a_block_is_a_row() {
    let text = String::from_utf8(good_block(2)).unwrap();
    let mut lines = text.lines().collect::<Vec<_>>();
    lines[12] = "";
    check(lines.join("\n"), "not-a-digit r3c1, correct");
    // One line too many shifts all that follow.
    let mut lines = text.lines().collect::<Vec<_>>();
    lines.insert(10, "");
    assert!(summary(outcomes(lines.join("\n"))).ends_with(", trailing-data 29:1"));
}

#[test]
fn a_puzzle_that_cannot_be_read_costs_its_own_block_alone() {
    for (row, column) in [
        ("1234567x9", 8),
        ("12345678", 9),
        ("1234567891", 10),
        ("", 1),
        ("*** *****", 4),
        ("*********\u{e9}", 10),
    ] {
        let mut text = String::from_utf8(good_block(2)).unwrap();
        text = text.replacen("*********", row, 1);
        let text = [text.into_bytes(), good_block(1)].concat();
        check(&text, &format!("bad-given 2:{column}, correct"));
        assert_eq!(answers(Kind::Classic, &text), "N\nY\n");
    }
    let text = String::from_utf8(good_block(1)).unwrap();
    check(text.replace("*********\n", "*********\u{a0} \n"), "correct");
    assert_eq!(
        message(text.replacen("*********", "****?****", 1)),
        "line 2, column 5: expected a puzzle row of nine of `1`-`9`, `*`, `.` and `0`, found `?`"
    );
    let found = message(text.replacen("*********", "***", 1));
    assert!(found.ends_with("`*`, `.` and `0`, found 3 characters"), "{found}");
    let found = message(text.replacen("*********", "*", 1));
    assert!(found.ends_with("`*`, `.` and `0`, found 1 character"), "{found}");
    let found = message(text.replacen("*********", "***–*****", 1));
    assert!(found.ends_with("`*`, `.` and `0`, found `–` (an en dash)"), "{found}");
}

#[test]
fn solutions_that_are_missing_at_the_end_are_truncated() {
    let text = String::from_utf8(good_block(3)).unwrap();
    let lines = text.split_inclusive('\n').collect::<Vec<_>>();
    check(lines[..30].concat(), "correct, correct, truncated 31:1");
    check(lines[..28].concat(), "correct, correct, truncated 29:1");
    check(lines[..27].concat(), "correct, truncated 28:1, truncated 28:1");
    // Without its puzzle the whole block is one case, however many solutions it should have.
    check(lines[..9].concat(), "truncated 10:1");
    check(lines[..1].concat(), "truncated 2:1");
    check("99999999\n", "truncated 2:1");
    assert_eq!(answers(Kind::Classic, lines[..28].concat().as_bytes()), "YYN\n");
    assert_eq!(
        message(lines[..30].concat()),
        "line 31, column 1: expected one more solution of the block, found the end of the file"
    );
}

#[test]
fn a_hostile_count_does_not_make_as_many_cases() {
    let text = [b"99999999\n".as_slice(), &good_block(1)[2..]].concat();
    let default = grade(None, Limits::default(), &text);
    assert_eq!(default.len(), 1 + 16);
    let more = "; 99999982 of them have no rows of their own";
    assert!(default[16].mark.detail().ends_with(more), "{}", default[16].mark.detail());
    let limits = Limits { missing_cases_max: 4, ..Limits::default() };
    let graded = grade(None, limits, &text);
    assert_eq!(graded.len(), 5);
    assert_eq!(
        graded.iter().map(|case| case.block_end).collect::<Vec<_>>(),
        [false, false, false, false, true]
    );
    assert_eq!(
        graded[4].mark.detail(),
        "line 20, column 1: expected 99999998 more solutions of the block, found the end of the \
         file; 99999994 of them have no rows of their own"
    );
    assert!(!graded[3].mark.detail().contains("own"));
    let text = [b"6\n".as_slice(), &good_block(1)[2..]].concat();
    let graded = grade(None, limits, &text);
    let found = graded[4].mark.detail();
    assert!(found.ends_with("file; one of them has no row of its own"), "{found}");
}

#[test]
fn a_solution_or_row_that_is_too_large_costs_itself_alone() {
    let limits = Limits { case_bytes_max: 1024, ..Limits::default() };
    let outcome = |text: &str| {
        let graded = grade(None, limits, text.as_bytes());
        summary(graded.iter().map(Graded::outcome).collect())
    };
    let text = String::from_utf8(good_block(3)).unwrap();
    let mut lines = text.lines().collect::<Vec<_>>();
    let (long, half, most) = ("7".repeat(5000), "7".repeat(600), "7".repeat(1000));
    lines[19] = &most;
    assert_eq!(outcome(&lines.join("\n")), "correct, too-large 23:1, correct");
    lines[21] = &long;
    assert_eq!(outcome(&lines.join("\n")), "correct, too-large 22:1, correct");
    lines[19] = &long;
    assert_eq!(outcome(&lines.join("\n")), "correct, too-large 20:1025, correct");
    (lines[19], lines[21]) = (&half, &half);
    assert_eq!(outcome(&lines.join("\n")), "correct, too-large 22:1, correct");
    lines[3] = &long;
    assert_eq!(outcome(&lines.join("\n")), "bad-given 4:10");
    let mut lines = text.lines().collect::<Vec<_>>();
    lines[27] = &long;
    assert_eq!(outcome(&lines[..28].join("\n")), "correct, too-large 28:1, truncated 29:1");
    lines[18] = &long;
    assert_eq!(outcome(&lines[..19].join("\n")), "too-large 19:1, truncated 20:1, truncated 20:1");
    assert_eq!(outcome(&format!("1\n{long}")), "bad-given 2:10");
    let after = format!("{}{long}\n{}", String::from_utf8(good_block(1)).unwrap(), text);
    assert_eq!(outcome(&after), "correct, too-large 20:1025, correct, correct, correct");
}
