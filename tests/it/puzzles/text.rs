//! Puzzles as text.

use super::kit::{LINE, SOLVED, dominoes, error, listed, one, plain, solved_16};
use gridmark::puzzle::{Limits, read};
use gridmark_core::puzzle::text::Listed;
use gridmark_core::puzzle::{Alphabet, Cage, Puzzle};

fn rows(text: &str) -> Vec<String> {
    text.as_bytes().chunks(9).map(|row| String::from_utf8(row.to_vec()).unwrap()).collect()
}

/// The rows with something between their cells.
fn joined(between: &str) -> String {
    let join =
        |row: &String| row.split("").filter(|c| !c.is_empty()).collect::<Vec<_>>().join(between);
    rows(LINE).iter().map(|row| join(row) + "\n").collect()
}

/// Groups of three, framed.
fn framed(rule: &str, between: &str) -> String {
    let mut text = String::new();
    for (i, row) in rows(LINE).iter().enumerate() {
        if i % 3 == 0 {
            text.push_str(rule);
            text.push('\n');
        }
        text.push_str(
            &format!("|{}|{}|{}|\n", &row[..3], &row[3..6], &row[6..]).replace('|', between),
        );
    }
    text + rule + "\n"
}

#[test]
fn a_grid_is_read_in_every_layout() {
    let block = rows(LINE).join("\n");
    let layouts = [
        LINE.to_owned(),
        format!("\u{feff}{LINE}\r\n\r\n"),
        format!("\r  {LINE}\t\r\r"),
        LINE.replace('.', "0"),
        LINE.replace('.', "*"),
        LINE.replace('.', "_"),
        LINE.replace('.', "-"),
        LINE.replace('.', "X"),
        LINE.replacen('.', "0", 1),
        block.clone(),
        block.replace('\n', "\r\n"),
        block.replace('\n', "\r"),
        joined(" "),
        joined("\t"),
        joined(","),
        joined(", "),
        joined(";"),
        joined("  ").replace('.', "-"),
        joined(",").replace('.', ""),
        joined("\t").replace('.', ""),
        joined("|").replace('.', " "),
        framed("+---+---+---+", "|"),
        framed("*-----------*", "|"),
        framed("---+---+---", "|"),
        framed("------------", " "),
        framed("+===+===+===+", "|"),
        framed("", " "),
        framed("|---+---+---|", "|").replacen("|---+---+---|", "*-----------*", 1),
        format!("#Atester\n#DThe title\n#C12345\n{block}\n"),
        format!("[Puzzle]\n{block}\n[State]\n{}\n", rows(SOLVED).join("\n")),
        format!("0\n{block}\n"),
        format!("1\r\n{}\r\n{}", block.replace('\n', "\r\n"), rows(SOLVED).join("\r\n")),
    ];
    for layout in layouts {
        let listed = listed(&layout);
        assert_eq!(listed.len(), 1, "{layout}");
        assert_eq!(listed[0].puzzle.givens(), plain().givens(), "{layout}");
    }
}

#[test]
fn blank_rows_of_dashes_are_rows() {
    let mut text = rows(LINE);
    text[4] = "---------".into();
    let puzzle = one(&text.join("\n"));
    assert_eq!(puzzle.givens()[36..45], [0; 9]);
    text[4] = "|---|---|---|".into();
    assert_eq!(one(&text.join("\n")), puzzle);
}

#[test]
fn a_file_may_hold_many_puzzles() {
    let block = rows(LINE).join("\n");
    assert_eq!(listed(&format!("{LINE}\n{SOLVED}\n\n{LINE}")).len(), 3);
    assert_eq!(listed(&format!("{block}\n{block}\n\n{block}\n{LINE}\n")).len(), 4);
    assert_eq!(listed(&format!("0\n{block}\n\n0\n{block}\n")).len(), 2);
    let listed = listed(&format!("#Ame\n#Done\n{block}\n#Dtwo\n{block}"));
    let of = |listed: &Listed| (listed.author.clone(), listed.title.clone());
    assert_eq!(of(&listed[0]), (Some("me".into()), Some("one".into())));
    assert_eq!(of(&listed[1]), (None, Some("two".into())));
}

#[test]
fn the_solutions_of_a_classic_block_are_keys() {
    let text = format!("1\n{}\n{}\n", rows(LINE).join("\n"), rows(SOLVED).join("\n"));
    assert_eq!(one(&text).keys().len(), 1);
    let wrong = text.replace("912345678\n912345678", "x").replacen("\n12345678", "\n21345678", 1);
    assert_eq!(error(wrong), "line 11, column 1: the solution differs from the given at r1c2");
}

#[test]
fn what_is_no_grid_says_where() {
    let block = rows(LINE).join("\n");
    let cases = [
        ("".into(), "line 1, column 1: expected a puzzle, found an empty file"),
        (" \r\n\t\n".into(), "line 1, column 1: expected a puzzle, found an empty file"),
        ("#Ame\n".into(), "line 1, column 1: expected a puzzle, found none"),
        (
            format!("{LINE}\n  {}", LINE.replacen("23", "a3", 1)),
            "line 2, column 4: expected a digit of 1-9, or `.`, `0`, `*`, `_`, `-` or `X` for an \
             open cell, found `a`",
        ),
        (
            format!("{LINE}1\n"),
            "line 1, column 1: expected a row of 9 or 16 cells, or a line of 81 or 256, found 82 \
             cells in `.23.56.89.56.89.23.89.23.562345678915678...`",
        ),
        (
            format!("{LINE} # easy\n"),
            "line 1, column 1: expected a row of 9 or 16 cells, or a line of 81 or 256, found 86 \
             cells in `.23.56.89.56.89.23.89.23.562345678915678...`",
        ),
        (
            block.replacen("234567891", "23456789", 1),
            "line 4, column 1: expected row 4 of a grid, 9 cells, found 8 cells in `23456789`",
        ),
        (
            block.replacen("\n5678", "\n\n5678", 1),
            "line 5, column 1: expected row 5 of a grid, found a blank line",
        ),
        (rows(LINE)[..8].join("\n"), "line 8, column 1: expected 9 rows of a grid, found 8 rows"),
        (
            format!("{block}\nend"),
            "line 10, column 1: expected a row of 9 or 16 cells, or a line of 81 or 256, found 3 \
             cells in `end`",
        ),
        (
            "53  7    6  195     98    6 8   6   34  8 3  17   2   6 6    28    419  5    8  79"
                .into(),
            "line 1, column 1: expected a row of 9 or 16 cells, or a line of 81 or 256, found 30 \
             cells in `53  7    6  195     98    6 8   6   34  ...`",
        ),
        (
            joined(" ").replacen("2 3", "23 3", 1),
            "line 1, column 3: expected a digit of 1-9, or `.`, `0`, `*`, `_`, `-` or `X` for an \
             open cell, found `23`",
        ),
        (
            format!("0\n{}", rows(LINE)[..8].join("\n")),
            "line 1, column 1: expected row 9 of a puzzle of the block in line 1, found the end of \
             the file",
        ),
        (
            format!("0\n{block}\nx"),
            "line 11, column 1: expected the number of solutions of a classic block, found `x`",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(error(&text), message, "{text}");
    }
    assert_eq!(
        error(". ".repeat(10_000)),
        "line 1, column 4097: expected a line of at most 4096 bytes, found a longer one"
    );
    let utf_16 = LINE.encode_utf16().flat_map(u16::to_le_bytes);
    let utf_16 = [0xFF, 0xFE].into_iter().chain(utf_16).collect::<Vec<_>>();
    assert_eq!(
        error(utf_16),
        "line 1, column 1: expected UTF-8, found UTF-16: save the file as UTF-8"
    );
}

fn with_alphabet(text: &str, alphabet: Alphabet) -> Result<Puzzle, String> {
    let mut listed = read(text.as_bytes(), Some(alphabet), Limits::default())
        .map_err(|error| error.to_string())?;
    Ok(listed.remove(0).puzzle)
}

/// A 16x16 grid with `open` in its first cell, and a cell that would say which alphabet it is left
/// open, too.
fn text_16(alphabet: Alphabet, open: &str, between: &str) -> String {
    let solved = solved_16();
    let name = |(i, digit): (usize, &u8)| if i == 0 { open } else { alphabet.name(*digit) };
    let names = solved.iter().enumerate().map(name).collect::<Vec<_>>();
    names.chunks(16).map(|row| row.join(between) + "\n").collect()
}

#[test]
fn sixteen_digits_are_read_in_every_alphabet() {
    for alphabet in Alphabet::SIXTEEN {
        let mut givens = solved_16();
        givens[0] = 0;
        let puzzle = Puzzle::new(alphabet, &givens).unwrap();
        let text = text_16(alphabet, ".", " ");
        // All digits are there, so only one alphabet fits.
        assert_eq!(one(&text), puzzle, "{alphabet}");
        assert_eq!(with_alphabet(&text, alphabet), Ok(puzzle.clone()));
        assert_eq!(one(&text.to_lowercase()), puzzle);
        assert_eq!(one(&text.replace('\n', " ")), puzzle, "on a line");
        if alphabet == Alphabet::OneToSixteen {
            let padded =
                |name: &str| if name.len() == 1 { format!("0{name}") } else { name.into() };
            let padded = text.lines().map(|line| {
                line.split(' ').map(padded).collect::<Vec<_>>().join(",").replace("0.", ".") + "\n"
            });
            assert_eq!(one(&padded.collect::<String>()), puzzle);
        } else {
            assert_eq!(one(&text.replace(' ', "")), puzzle);
        }
    }
    let own = text_16(Alphabet::ZeroToF, "-", "");
    assert_eq!(one(&own).alphabet(), Alphabet::ZeroToF);
}

#[test]
fn an_alphabet_is_never_guessed() {
    // Neither 0 nor G: both alphabets fit.
    let text = text_16(Alphabet::ZeroToF, "-", "").replace('0', "-");
    assert_eq!(
        error(&text),
        "line 1, column 1: the digits of this 16x16 grid may be those of 0-F or of 1-G: declare \
         which (--alphabet)"
    );
    let first = with_alphabet(&text, Alphabet::ZeroToF).unwrap();
    let second = with_alphabet(&text, Alphabet::OneToG).unwrap();
    assert_eq!((first.givens()[1], second.givens()[1]), (2, 1));
    // 0 beside another blank is a digit unless somebody says otherwise.
    let text = text_16(Alphabet::ZeroToF, "-", "");
    assert_eq!(with_alphabet(&text, Alphabet::OneToG).unwrap().givens()[1], 1);
    let wrong = with_alphabet(&text, Alphabet::AToP).unwrap_err();
    assert!(wrong.starts_with("line 1, column 2: expected a digit of A-P, or `.`, `0`"), "{wrong}");
    assert_eq!(
        with_alphabet(LINE, Alphabet::AToP).unwrap_err(),
        "line 1, column 1: the alphabet A-P is declared, but this grid is 9x9"
    );
    let mixed = text.replacen('1', "G", 1);
    assert_eq!(
        error(mixed),
        "line 1, column 1: the digits of this 16x16 grid are not all of one of 0-F, 1-G, A-P and 1-16"
    );
    assert_eq!(
        error(text.replacen('1', "?", 1)),
        "line 1, column 1: expected digits of 0-F, 1-G, A-P or 1-16, found `?` in line 1, column 2"
    );
}

/// The dominoes as a PS string.
fn ps() -> String {
    let puzzle = dominoes();
    let number = |cell| {
        let cage = puzzle.cage_of(cell).unwrap();
        puzzle.cages()[cage].total().unwrap() * 256 + cage as u32
    };
    (0..81).fold("3x3::k:".to_owned(), |text, cell| text + &format!("{}:", number(cell)))
}

/// The dominoes as a SumoCue string.
fn sumocue() -> String {
    let puzzle = dominoes();
    let entry = |cell: usize| {
        let cage = &puzzle.cages()[puzzle.cage_of(cell).unwrap()];
        match cage.first().index_9() {
            first if first == cell => format!("={}", cage.total().unwrap()),
            first => format!("+{first}"),
        }
    };
    (0..81).fold("SumoCueV1".to_owned(), |text, cell| text + &entry(cell))
}

#[test]
fn killer_strings_are_read() {
    assert!(ps().starts_with("3x3::k:768:768:1793:1793:2818:2818:3843:3843:2308:2309:"));
    assert!(sumocue().starts_with("SumoCueV1=3+0=7+2=11+4=15+6=9=9+9=13+11"));
    assert_eq!(one(&ps()), dominoes());
    assert_eq!(one(ps().trim_end_matches(':')), dominoes());
    assert_eq!(one(&sumocue()), dominoes());
    assert_eq!(listed(&format!("{}\r\n\r\n {}\n", ps(), sumocue())).len(), 2);
    // Cells without a cage.
    let uncaged = one(&ps().replacen("768:768:", "0:0:", 1));
    assert_eq!((uncaged.cage_of(0), uncaged.cages().len()), (None, 44));
    let without_total = one(&sumocue().replacen("=3+0", "=0+0", 1));
    assert_eq!(without_total.cages()[0], Cage::new([0, 1], None).unwrap());
    let uncaged = one(&sumocue().replacen("=9=9", "=0=9", 1));
    assert_eq!(uncaged.cage_of(8), None);
    // A cage may point to another of its cells.
    let chain = sumocue().replacen("=3+0=7+2", "+1=3=7+2", 1);
    assert_eq!(one(&chain), dominoes());
}

#[test]
fn killer_strings_that_are_wrong_say_where() {
    let cases = [
        (
            ps().replacen("::", ":d:", 1),
            "line 1, column 5: expected `` for no other rules in `3x3::k:`, found `d` (diagonals, \
             which are not judged)",
        ),
        (
            ps().replacen("3x3", "4x4", 1),
            "line 1, column 1: expected `3x3` for a 9x9 board in `3x3::k:`, found `4x4`",
        ),
        (
            ps().replacen(":768:", ":x:", 1),
            "line 1, column 8: expected a number for r1c1, 1 of the 81 in `3x3::k:`, found `x`",
        ),
        (
            ps().replacen(":768:768:", ":768:1024:", 1),
            "line 1, column 12: expected one total a cage, found 4 and 3 for cage 0 of r1c2",
        ),
        (ps() + "1:", "line 1, column 402: expected the end after 81 numbers, found more"),
        (
            ps()[..200].trim_end_matches(':').to_owned(),
            "line 1, column 201: expected a number for r5c5, 41 of the 81 in `3x3::k:`, found ``",
        ),
        (
            sumocue().replacen("+0", "+0J1", 1),
            "line 1, column 14: expected a killer with boxes, found `J`: a jigsaw, whose regions \
             are not judged",
        ),
        (
            sumocue().replacen("=3+0", "+1+0", 1),
            "line 1, column 10: expected a total for the cage of r1c1, found a loop",
        ),
        (
            sumocue().replacen("+0", "+81", 1),
            "line 1, column 12: expected `=` and a total or `+` and a cell from 0 to 80 for r1c2, found `+81`",
        ),
        (sumocue() + "=1", "line 1, column 223: expected 81 cells in SumoCueV1, found more"),
        ("SumoCueV1=1+0".into(), "line 1, column 14: expected 81 cells in SumoCueV1, found 2"),
        (
            format!("SumoCueV1{}", "=0".repeat(81)),
            "line 1, column 10: expected cages in SumoCueV1, found none of two cells: write givens \
             as 81 characters",
        ),
        (
            format!("{}\n{LINE}", ps()),
            "line 2, column 1: expected a PS or SumoCueV1 string, found `.23.56.89.56.89.23.89.23.562345678915678...`",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(error(&text), message, "{text}");
    }
}

#[test]
fn a_drawing_may_have_blank_cells() {
    let border = "+---+---+---+---+---+---+---+---+---+\n";
    let rows = format!("| 1   2       .   0   *   _   8   9 |\n{border}").repeat(9);
    let totals = (1..=9).map(|row| format!("{row} 1 45\n")).collect::<String>();
    let text = format!("{border}{rows}{totals}");
    let puzzle = one(&text);
    assert_eq!(puzzle.givens()[..9], [1, 2, 0, 0, 0, 0, 0, 8, 9]);
    assert_eq!(puzzle.cages().len(), 9);
    assert_eq!(listed(&format!("{text}\n{text}")).len(), 2);
    assert_eq!(
        error(text.replacen('2', "a", 1)),
        "line 2, column 7: expected `1` to `9` or a blank in r1c2, found `a`"
    );
    assert_eq!(
        error(text.replacen("1 1 45\n", "", 1)),
        "line 2, column 3: expected a total for the cage at r1c1, found none"
    );
    assert_eq!(error(text.replacen("| 1 ", "  1 ", 1)).split(':').next(), Some("line 2, column 1"));
}
