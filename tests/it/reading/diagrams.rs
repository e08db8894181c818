//! Killer diagrams.

use super::*;

fn good() -> String {
    correct_diagram(&mut Chance(1))
}

/// The good diagram with its lines changed.
fn changed(change: impl FnOnce(&mut Vec<String>)) -> String {
    let mut lines = good().lines().map(String::from).collect();
    change(&mut lines);
    lines.join("\n") + "\n"
}

/// The good diagram with line `number`, from 0, replaced, and another good diagram behind it.
fn with_line(number: usize, line: &str) -> String {
    changed(|lines| lines[number] = line.into()) + &good()
}

/// The good diagram with the byte at `column` of line `number`, both from 0, replaced, and another
/// good diagram behind it.
fn with_byte(number: usize, column: usize, byte: u8) -> Vec<u8> {
    let mut text = good().into_bytes();
    text[number * 38 + column] = byte;
    text.extend(good().bytes());
    text
}

#[test]
fn diagrams_follow_one_another_with_or_without_blank_lines() {
    for between in ["", "\n", "\r\n \t\r\n", "\u{feff}", "\u{a0}\n\u{feff}\n"] {
        let text = good() + between + &good();
        check(&text, "correct, correct");
        assert_eq!(answers(Kind::Killer, text.as_bytes()), "OK\nOK\n");
        let graded = grade(None, Limits::default(), text.as_bytes());
        let lengths = graded.iter().map(|case| (case.end - case.start) as usize);
        assert_eq!(lengths.collect::<Vec<_>>(), [good().len(); 2], "blank lines are in no case");
    }
    check(good().trim_end(), "correct");
    check(good() + "\n\n", "correct");
}

#[test]
fn cage_lines_may_have_blanks_around_and_between_and_blank_lines_among_them() {
    let text = changed(|lines| {
        for line in &mut lines[19..] {
            *line = format!(" \u{a0}\t{}\u{a0} ", line.replace(' ', " \t "));
        }
        lines.insert(19, String::new());
        lines.insert(22, " \u{a0}".into());
    });
    check(text.clone() + &good(), "correct, correct");
    check(good() + &text, "correct, correct");
}

#[test]
fn a_cell_may_hold_any_byte_which_is_then_not_a_digit() {
    for byte in [b' ', b'0', b'x', b'+', b'|', b'-', 0, 0xFF] {
        let mut text = with_byte(3, 6, byte);
        text.truncate(good().len());
        let graded = grade(None, Limits::default(), &text);
        assert_eq!(graded[0].outcome(), ("not-a-digit", "r2c2".into()));
        let Mark::Wrong(faults) = &graded[0].mark else { panic!() };
        assert_eq!(faults.len(), 1, "{byte}: no sum is judged");
    }
}

#[test]
fn wrong_bytes_of_a_drawing_are_reported_with_their_place() {
    for (line, column, byte, place) in [
        (0, 2, b' ', "1:3"),
        (0, 4, b'-', "1:5"),
        (0, 36, b'|', "1:37"),
        (18, 1, b' ', "19:2"),
        (18, 36, b'-', "19:37"),
        (2, 4, b'-', "3:5"),
        (2, 36, b' ', "3:37"),
        (4, 9, b'x', "5:10"),
        (1, 0, b'I', "2:1"),
        (1, 36, b' ', "2:37"),
        (1, 1, b'1', "2:2"),
        (3, 7, b'1', "4:8"),
        (3, 8, b'!', "4:9"),
    ] {
        let text = with_byte(line, column, byte);
        check_as(Kind::Killer, text, &format!("bad-diagram {place}, correct"));
    }
}

#[test]
fn messages_say_what_was_expected_and_what_was_found() {
    let border = good().lines().nth(6).unwrap().to_owned();
    let half = format!("{}+-- {}", &border[..12], &border[16..]);
    assert_eq!(
        message(with_line(6, &half)),
        "line 7, column 14: expected `---` or three blanks for the wall under r3c4, found `-- `"
    );
    let row = good().lines().nth(5).unwrap().to_owned();
    for (line, expected) in [
        (
            format!("{}:{}", &row[..8], &row[9..]),
            "column 9: expected `|` or a blank in front of r3c3, found `:`",
        ),
        (
            format!("{}a{}", &row[..9], &row[10..]),
            "column 10: expected a blank beside the cell r3c3, found `a`",
        ),
        (
            format!("{row} x"),
            "column 38: expected a line of 37 characters in the drawing, found 39 of them",
        ),
        (
            row.replacen("| ", "|–", 1),
            "column 2: expected a blank beside the cell r3c1, found `–` (an en dash)",
        ),
        (
            format!("{}é{}", &row[..2], &row[3..]),
            "column 4: expected a blank beside the cell r3c1, found `é`",
        ),
        (
            row[..36].into(),
            "column 37: expected a line of 37 characters in the drawing, found 36 of them",
        ),
        (
            "| 1 ".into(),
            "column 5: expected a line of 37 characters in the drawing, found 4 of them",
        ),
        ("".into(), "column 1: expected row 3 of the drawing, from `|` to `|`, found a blank line"),
        ("9 9 9".into(), "column 1: expected row 3 of the drawing, from `|` to `|`, found `9 9 9`"),
    ] {
        assert_eq!(message(with_line(5, &line)), format!("line 6, {expected}"));
    }
    assert_eq!(
        message(with_line(0, "+---+")),
        "line 1, column 6: expected a line of 37 characters in the drawing, found 5 of them"
    );
    assert_eq!(
        message(with_byte(18, 1, b'=')),
        "line 19, column 2: expected `-` in the bottom border of the drawing, found `=`"
    );
}

#[test]
fn blanks_behind_the_drawing_do_not_count() {
    let wide = |blanks: &[u8]| {
        let text = good();
        let mut wide = Vec::new();
        for (number, line) in text.lines().enumerate() {
            wide.extend_from_slice(line.as_bytes());
            wide.extend_from_slice(if number < 19 { blanks } else { b"" });
            wide.push(b'\n');
        }
        wide
    };
    for blanks in [b" ".as_slice(), b"\t", b"\xC2\xA0", b"\xA0", b" \t\xA0 \xC2\xA0"] {
        let text = wide(blanks);
        check([&text[..], &text, good().as_bytes(), &text].concat(), &["correct"; 4].join(", "));
    }
    // As wide as a terminal, or a page.
    for columns in [80, 132, 190] {
        let text = wide(&vec![b' '; columns - 37]);
        check([&text[..], &text, good().as_bytes(), &text].concat(), &["correct"; 4].join(", "));
    }
    // Inside the drawing they do.
    check(with_byte(1, 36, b' '), "bad-diagram 2:37, correct");
    check(with_byte(2, 36, 0xA0), "bad-diagram 3:37, correct");
}

#[test]
fn a_drawing_that_is_short_of_lines_or_has_too_many_costs_itself_alone() {
    for line in 0..19 {
        let text = changed(|lines| drop(lines.remove(line))) + &good();
        let found = outcomes_as(Kind::Killer, &text);
        assert_eq!(found.len(), 2, "without line {line}");
        assert_eq!((found[0].0, found[1].0), ("bad-diagram", "correct"), "without line {line}");
    }
    for line in 1..18 {
        let text = changed(|lines| lines.insert(line, lines[line].clone())) + &good();
        let found = outcomes(&text);
        assert_eq!(found.len(), 2, "line {line} twice");
        assert_eq!((found[0].0, found[1].0), ("bad-diagram", "correct"), "line {line} twice");
    }
    for text in ["", "1 1 5", "x"] {
        let broken = changed(|lines| lines.insert(6, text.into()));
        check(broken + &good(), "bad-diagram 7:1, correct");
    }
}

#[test]
fn a_drawing_with_borders_everywhere_is_one_diagram() {
    for line in 1..18 {
        let mut lines = singles().lines().map(String::from).collect::<Vec<_>>();
        lines.insert(line, lines[line].clone());
        let text = lines.join("\n") + "\n" + &good();
        check(text, &format!("bad-diagram {}:1, correct", line + 2));
    }
}

#[test]
fn a_carriage_return_in_a_cell_ends_the_line_there() {
    let text = with_byte(3, 6, b'\r');
    let graded = grade(None, Limits::default(), &text);
    check(&text, "bad-diagram 4:7, correct");
    assert_eq!(graded[1].line, good().lines().count() as u64 + 2);
}

#[test]
fn a_broken_drawing_without_cage_lines_costs_itself_alone() {
    let broken = changed(|lines| {
        lines.truncate(19);
        lines.insert(4, lines[4].clone());
    });
    check(broken + &good(), "bad-diagram 6:1, correct");
}

#[test]
fn text_before_the_first_drawing_is_one_case() {
    check_as(Kind::Killer, format!("Puzzle 1\nby me\n{}", good()), "bad-diagram 1:1, correct");
    check_as(Kind::Killer, "1 1 5\n", "bad-diagram 1:1");
}

#[test]
fn a_file_that_ends_inside_a_drawing_is_truncated() {
    let lines = good().lines().map(|line| line.to_owned() + "\n").collect::<Vec<_>>();
    for count in 1..19 {
        let text = lines[..count].concat();
        check(&text, &format!("truncated {}:1", count + 1));
        check(
            format!("{}{text}\n\n", good()),
            &format!("correct, truncated {}:1", lines.len() + count + 1),
        );
    }
    check(lines[..19].concat(), "missing-cage-total 2:3");
    assert_eq!(
        message(lines[..2].concat()),
        "line 3, column 1: expected line 3 of the 19 of the drawing, found none"
    );
}

#[test]
fn cage_lines_that_are_not_three_numbers_are_reported() {
    for (line, column) in [
        ("1", 2),
        ("1 1", 4),
        ("1 1 5 5", 7),
        ("0 1 5", 1),
        ("10 1 5", 1),
        ("1 0 5", 3),
        ("  1 10 5", 5),
        ("1 1 -5", 5),
        ("1 1 +5", 5),
        ("1 1 5.0", 5),
        ("1 1 1234567890", 5),
        ("1,1,5", 1),
        ("| 1 1 5", 1),
        ("hello", 1),
    ] {
        check(with_line(19, line), &format!("bad-cage-line 20:{column}, correct"));
    }
    assert_eq!(
        message(with_line(19, "10 1 5")),
        "line 20, column 1: expected a row from 1 to 9 in a line `row column total`, found `10`"
    );
    let found = message(with_line(19, "1 1"));
    assert!(found.contains("expected a total from 0 to 999999999 in a line"), "{found}");
    assert!(found.ends_with("found the end of the line"), "{found}");
    let found = message(with_line(19, "1 1 -5"));
    assert!(found.contains("expected a total from 0 to 999999999 in a line"), "{found}");
    let found = message(with_line(19, "1 1 １"));
    assert!(found.ends_with("found `１` (a full-width digit)"), "{found}");
}

#[test]
fn each_cage_has_one_total() {
    let last = good().lines().count();
    let text = changed(|lines| lines.push(format!(" {}", lines[19])));
    check(text + &good(), &format!("second-cage-total {}:2, correct", last + 1));
    let lines = good().lines().map(String::from).collect::<Vec<_>>();
    for missing in 19..last {
        let text = changed(|lines| drop(lines.remove(missing))) + &good();
        let found = message(&text);
        // The place is that of the cage's first cell in the drawing.
        let (row, column) = found.split_once("cage at r").unwrap().1.split_once('c').unwrap();
        let row = row.parse::<usize>().unwrap();
        let column = column.split(',').next().unwrap().parse::<usize>().unwrap();
        let place = format!("line {}, column {}: ", 2 * row, 4 * column - 1);
        assert!(found.starts_with(&place), "{found} without {}", lines[missing]);
    }
}

#[test]
fn the_first_problem_is_reported() {
    let text = changed(|lines| {
        lines[19] = "x".into();
        lines[20] = "y".into();
        lines[5] = "z".into();
    });
    check(&text, "bad-diagram 6:1");
    let text = changed(|lines| (lines[19], lines[20]) = ("x".into(), "y".into()));
    check(&text, "bad-cage-line 20:1");
}

#[test]
fn a_drawing_whose_first_line_is_too_large_is_passed_over() {
    let limits = Limits { case_bytes_max: 1024, ..Limits::default() };
    let text = good().replacen('\n', &(" ".repeat(2000) + "\n"), 1) + &good();
    let graded = grade(Some(Kind::Killer), limits, text.as_bytes());
    let found = summary(graded.iter().map(Graded::outcome).collect());
    assert_eq!(found, "too-large 1:1025, correct");
}

#[test]
fn a_diagram_that_is_too_large_costs_itself_alone() {
    let limits = Limits { case_bytes_max: 2000, ..Limits::default() };
    let outcome = |text: String| {
        let graded = grade(Some(Kind::Killer), limits, text.as_bytes());
        summary(graded.iter().map(Graded::outcome).collect())
    };
    let long = "7".repeat(5000);
    let last = good().lines().count();
    assert_eq!(outcome(with_line(20, &long)), "too-large 21:1, correct");
    assert_eq!(outcome(with_line(5, &long)), "too-large 6:1, correct");
    assert_eq!(outcome(long.clone() + "\n" + &good()), "too-large 1:2001, correct");
    let many = good() + &"1 1 5\n".repeat(2000) + &good();
    assert!(outcome(many).ends_with(":1, correct"));
    let borders = good().lines().next().unwrap().to_owned() + "\n";
    assert_eq!(outcome(borders.repeat(90) + &good()), "too-large 53:1, correct");
    // Blank lines behind a diagram do not make it too large.
    assert_eq!(outcome(good() + &"\n".repeat(5000) + &good()), "correct, correct");
    assert_eq!(
        outcome(good() + &" \r\n".repeat(5000) + "x\n" + &good()),
        format!("correct, bad-diagram {}:1, correct", last + 5001)
    );
}

#[test]
fn the_size_limit_is_exact_to_the_byte() {
    // The line end is not part of the content.
    let length = singles().len() - 1;
    for limit in length - 3..length + 9 {
        let limits = Limits { case_bytes_max: limit, ..Limits::default() };
        for (between, content) in [("", 0), ("\n", 0), ("x\n", 2), ("  \n  x\n", 7)] {
            let text = singles() + between + &good();
            let graded = grade(None, limits, text.as_bytes());
            let codes = graded.iter().map(|case| case.outcome().0).collect::<Vec<_>>();
            let expected: &[&str] = match limit {
                _ if limit < length => &["too-large", "correct"],
                _ if content == 0 => &["correct", "correct"],
                _ if limit >= length + content => &["bad-cage-line", "correct"],
                // The limit is in the blanks: the text behind them is not a part of the case.
                _ if content == 7 && limit < length + 6 => &["correct", "bad-diagram", "correct"],
                _ => &["too-large", "correct"],
            };
            assert_eq!(codes, expected, "{limit} of {length}, {between:?}");
        }
    }
}

#[test]
fn a_diagram_can_be_drawn_again() {
    let chance = &mut Chance(3);
    for _ in 0..50 {
        let text = any_diagram(chance);
        let diagram = killer::diagram(text.as_bytes(), 1).unwrap();
        let walls = |walls: [u16; 9]| {
            (0..81).map(|cell| walls[cell / 9] >> (cell % 9) & 1 == 1).collect::<Vec<_>>()
        };
        let again =
            drawing(&diagram.cells, &walls(diagram.walls.right), &walls(diagram.walls.below));
        assert_eq!(again, text[..19 * 38]);
    }
}

/// Where the first line from `from` on is that begins like a border, and how many lines precede it.
fn next_border(text: &[u8], from: usize) -> (usize, u64) {
    let (mut at, mut lines) = (from, 0);
    while !text[at..].starts_with(b"+-") {
        while !matches!(text[at], b'\r' | b'\n') {
            at += 1;
        }
        let ends: [&[u8]; 3] = [b"\r\r\n", b"\r\n", b""];
        at += ends.iter().find(|end| text[at..].starts_with(end)).unwrap().len().max(1);
        lines += 1;
    }
    (at, lines)
}

#[test]
fn the_next_drawing_is_found_behind_any_cage_lines() {
    let chance = &mut Chance(71);
    for number in 0..600 {
        let end: &[u8] = if chance.one_in(2) { b"\n" } else { b"\r\n" };
        let drawing = with_ends(good().as_bytes(), &[end]);
        let drawing = &drawing[..19 * (37 + end.len())];
        let line = |i: usize| format!("{} {} {}\n", i % 9 + 1, i / 9 % 9 + 1, i * 7 % 46);
        let lines = (0..number % 100).map(line).collect::<String>();
        let mut lines = with_ends(lines.as_bytes(), &[end]);
        for _ in 0..chance.below(4).min(lines.len()) {
            let at = chance.below(lines.len());
            match chance.below(3) {
                0 => lines.insert(at, chance.pick(b"\r\n 1")),
                1 => drop(lines.remove(at)),
                _ => lines[at] = chance.pick(b"\r\n \t\xA0\x7F5+"),
            }
        }
        let text = [drawing, &lines, end, drawing, b"1 1 1"].concat();
        let (at, count) = next_border(&text, drawing.len());
        let graded = grade(Some(Kind::Killer), Limits::default(), &text);
        assert_eq!(graded[1].start, at as u64, "{}", text.escape_ascii());
        assert_eq!(graded[1].line, 20 + count, "{}", text.escape_ascii());
    }
}
