//! Faults: their order, places, number and words.

use super::core_kit::*;
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::format::Limits;

/// A correct grid, all of whose rows are rotations of the first one.
const GRID: &[u8; 81] =
    b"123456789456789123789123456234567891567891234891234567345678912678912345912345678";

fn only(text: impl AsRef<[u8]>) -> Mark {
    let mut graded = grade(None, Limits::default(), text.as_ref());
    assert_eq!(graded.len(), 1, "one case");
    graded.remove(0).mark
}

fn classic(givens: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Mark {
    let mut grid = GRID.to_vec();
    change(&mut grid);
    only(block(givens, &[grid]))
}

fn codes(mark: &Mark) -> Vec<(&'static str, String)> {
    let Mark::Wrong(faults) = mark else { panic!("{mark:?}") };
    faults.iter().map(|fault| (fault.code(), fault.at().unwrap().to_string())).collect()
}

#[test]
fn a_correct_solution_has_no_detail() {
    let mark = classic(GRID, |_| {});
    assert_eq!((mark.detail().as_str(), mark.answer(Kind::Classic)), ("", "Y".into()));
}

#[test]
fn faults_are_ordered_by_code_and_then_in_reading_order() {
    let mut givens = [b'.'; 81];
    givens[80] = b'8';
    // r2c1 takes the digit of r1c1, r9c9 another than is given, r5c5 a letter.
    let mark = classic(&givens, |grid| {
        grid[9] = b'1';
        grid[80] = b'7';
        grid[40] = b'x';
    });
    assert_eq!(
        codes(&mark),
        [
            ("not-a-digit", "r5c5"),
            ("given-changed", "r9c9"),
            ("row-repeat", "r2c7"),
            ("row-repeat", "r9c9"),
            ("column-repeat", "r2c1"),
            ("column-repeat", "r9c9"),
            ("box-repeat", "r2c1"),
            ("box-repeat", "r9c9"),
        ]
        .map(|(code, at)| (code, at.to_string()))
    );
    assert_eq!(
        mark.detail(),
        "r5c5 holds x, not a digit; r9c9 holds 7, but 8 is given there; row 2 has 1 twice; row 9 \
         has 7 twice; column 1 has 1 twice; column 9 has 7 twice; box 1 has 1 twice; box 9 has 7 \
         twice"
    );
}

#[test]
fn a_long_row_is_reported_with_its_length_and_its_tenth_cell() {
    let text = [b"1\n".to_vec(), rows(&[b'.'; 81], b"\n"), rows(GRID, b"\n")].concat();
    let text = String::from_utf8(text).unwrap().replace("\n789123456\n", "\n78912345612\n");
    let mark = only(&text);
    assert_eq!(codes(&mark), [("row-length", "r3c10".to_string())]);
    assert_eq!(mark.detail(), "row 3 has 11 cells, not 9");
}

#[test]
fn short_rows_are_padded_and_only_ten_faults_are_described() {
    let text = [
        b"1\n".to_vec(),
        rows(&[b'.'; 81], b"\n"),
        b"123456789\n\n1\xA0\n".to_vec(),
        b"\n".repeat(6),
    ];
    let mark = only(text.concat());
    let Mark::Wrong(faults) = &mark else { panic!("{mark:?}") };
    // 71 blank cells, and 1 twice in the first column and in the first box.
    assert_eq!(faults.len(), 71 + 2);
    let detail = mark.detail();
    assert!(detail.starts_with("r2c1 is blank; r2c2 is blank; "), "{detail}");
    assert!(detail.ends_with("; r3c2 is blank; and 63 more"), "{detail}");
}

#[test]
fn a_changed_given_that_is_not_a_digit_is_one_fault() {
    let mark = classic(GRID, |grid| grid[0] = b'\x07');
    assert_eq!(codes(&mark), [("not-a-digit", "r1c1".to_string())]);
    assert_eq!(mark.detail(), "r1c1 holds byte 0x07, not a digit");
}

/// The text of a correct solution in which `change` has changed the nine rows.
fn rows_changed(change: impl Fn(usize, &str) -> String) -> Vec<u8> {
    let mut text = [b"1\n".to_vec(), rows(&[b'.'; 81], b"\n")].concat();
    for (number, row) in GRID.chunks(9).enumerate() {
        let row = change(number, std::str::from_utf8(row).unwrap());
        text.extend_from_slice((row + "\n").as_bytes());
    }
    text
}

#[test]
fn a_character_of_several_bytes_is_in_one_cell() {
    let dash = |number: usize, row: &str| match number {
        1 => format!("{}–{}", &row[..3], &row[4..]),
        _ => row.into(),
    };
    let mark = only(rows_changed(dash));
    assert_eq!(codes(&mark), [("not-a-digit", "r2c4".to_string())]);
    assert_eq!(mark.detail(), "r2c4 holds an en dash (–), not 1 to 9");
    let mark = only(rows_changed(|number, row| dash(number, row).replace('–', "é")));
    assert_eq!(mark.detail(), "r2c4 holds é, not a digit");
    let mark = only(rows_changed(|number, row| dash(number, row).replace('–', "\u{202e}")));
    assert_eq!(
        mark.detail(),
        r"r2c4 holds a mark that turns the direction of text (\u{202e}), not 1 to 9"
    );
    // Behind the ninth cell it makes the row long by one.
    let mark =
        only(rows_changed(|number, row| if number == 4 { format!("{row}–") } else { row.into() }));
    assert_eq!(codes(&mark), [("row-length", "r5c10".to_string())]);
    assert_eq!(mark.detail(), "row 5 has 10 cells, not 9");
}

#[test]
fn full_width_digits_are_called_so_once() {
    let wide = |row: &str| -> String {
        row.bytes().map(|digit| char::from_u32(0xFF10 + u32::from(digit - b'0')).unwrap()).collect()
    };
    let mark = only(rows_changed(|_, row| wide(row)));
    let Mark::Wrong(faults) = &mark else { panic!("{mark:?}") };
    assert_eq!(faults.len(), 81);
    let first = wide(std::str::from_utf8(&GRID[..1]).unwrap());
    assert_eq!(
        mark.detail(),
        format!("r1c1 and 80 other cells hold a full-width digit ({first}), not 1 to 9")
    );
    let mark = only(rows_changed(|number, row| match number {
        3 => wide(&row[..2]) + &row[2..8] + "x",
        _ => row.into(),
    }));
    let first = wide(std::str::from_utf8(&GRID[27..28]).unwrap());
    assert_eq!(
        mark.detail(),
        format!(
            "r4c1 and 1 other cell hold a full-width digit ({first}), not 1 to 9; r4c9 holds x, not a \
             digit"
        )
    );
}

#[test]
fn all_repeats_of_a_house_are_one_fault() {
    let mark = classic(&[b'0'; 81], |grid| grid[..9].copy_from_slice(b"112223333"));
    let detail = mark.detail();
    assert!(
        detail.starts_with("row 1 has 1 twice and 2 three times and 3 four times; "),
        "{detail}"
    );
    assert_eq!(codes(&mark)[0], ("row-repeat", "r1c2".to_string()));
}

/// A diagram of `GRID` with three cages: r1c1 r1c2, r9c8 r9c9, and single cells elsewhere.
fn pairs(cells: &[u8], first: u32, last: u32) -> String {
    let (mut right, below) = ([true; 81], [true; 81]);
    (right[0], right[79]) = (false, false);
    let mut text = drawing(cells, &right, &below);
    text.push_str(&format!("9 9 {last}\n1 2 {first}\n"));
    for cell in (2..79).rev() {
        text.push_str(&format!("{} {} {}\n", cell / 9 + 1, cell % 9 + 1, GRID[cell] - b'0'));
    }
    text
}

#[test]
fn cages_are_ordered_by_their_first_cell_and_named_by_their_line() {
    assert_eq!(only(pairs(GRID, 3, 15)), Mark::Correct);
    let mark = only(pairs(GRID, 4, 14));
    assert_eq!(codes(&mark), [("cage-sum", "r1c2".to_string()), ("cage-sum", "r9c9".to_string())]);
    assert_eq!(
        mark.detail(),
        "cage at r1c2 adds up to 3, not 4; cage at r9c9 adds up to 15, not 14"
    );
}

#[test]
fn a_cage_repeat_comes_after_houses_and_before_sums() {
    let mut cells = *GRID;
    cells[1] = b'1';
    let mark = only(pairs(&cells, 3, 16));
    assert_eq!(
        codes(&mark),
        [
            ("row-repeat", "r1c2"),
            ("column-repeat", "r9c2"),
            ("box-repeat", "r1c2"),
            ("cage-repeat", "r1c2"),
            ("cage-sum", "r1c2"),
            ("cage-sum", "r9c9"),
        ]
        .map(|(code, at)| (code, at.to_string()))
    );
    assert!(mark.detail().contains("; cage at r1c2 has 1 twice; "), "{}", mark.detail());
}

#[test]
fn the_sum_of_a_cage_with_a_blank_cell_is_not_judged() {
    let mut cells = *GRID;
    cells[1] = b' ';
    let mark = only(pairs(&cells, 44, 15));
    assert_eq!(codes(&mark), [("not-a-digit", "r1c2".to_string())]);
    assert_eq!(mark.detail(), "r1c2 is blank");
    assert_eq!(mark.answer(Kind::Killer), "NotOK");
}

#[test]
fn conflicts_of_a_hexudoku_board_are_reported_and_are_not_faults() {
    let blank = "----------------\n";
    let text = |first: &str| format!("{first}\n{}", blank.repeat(15));
    let cases = [
        ("0---------------", ""),
        ("0--------------0", "the board starts with 1 conflict"),
        ("00-------------0", "the board starts with 2 conflicts"),
    ];
    for (first, detail) in cases {
        let mark = only(text(first));
        assert_eq!((mark.verdict().word(), mark.detail().as_str()), ("counted", detail));
    }
}
