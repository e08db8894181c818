//! Puzzles as documents and links of f-puzzles and SudokuPad.

use super::kit::{LINE, SOLVED, digits, dominoes, error, listed, one, plain, solved_16};
use gridmark::puzzle::{Format, Limits, read, write};
use gridmark_core::puzzle::text::Listed;
use gridmark_core::puzzle::{Alphabet, Cage, Puzzle};
use serde_json::{Value, json};

/// The document of f-puzzles for a grid.
fn f_puzzles(line: &str) -> Value {
    let cell = |digit: &u8| match digit {
        0 => json!({}),
        _ => json!({ "value": digit, "given": true }),
    };
    let rows = digits(line);
    let rows = rows.chunks(9).map(|row| row.iter().map(cell).collect::<Value>());
    json!({ "size": 9, "grid": rows.collect::<Value>() })
}

/// The document of SudokuPad for a grid.
fn sudokupad(line: &str) -> Value {
    let cell = |digit: &u8| match digit {
        0 => json!({}),
        _ => json!({ "value": digit }),
    };
    let rows = digits(line);
    let rows = rows.chunks(9).map(|row| row.iter().map(cell).collect::<Value>());
    let region =
        |b: usize| (0..9).map(|i| json!([b / 3 * 3 + i / 3, b % 3 * 3 + i % 3])).collect::<Value>();
    let regions = (0..9).map(region).collect::<Value>();
    json!({ "id": "x", "cells": rows.collect::<Value>(), "regions": regions })
}

fn with(mut document: Value, key: &str, value: Value) -> String {
    document[key] = value;
    document.to_string()
}

fn compressed(document: impl ToString) -> String {
    lz_str::compress_to_base64(&document.to_string())
}

#[test]
fn documents_and_links_are_read() {
    let scl = compressed(sudokupad(LINE));
    let fpuz = compressed(f_puzzles(LINE));
    let texts = [
        f_puzzles(LINE).to_string(),
        format!("\u{feff}\n {:#}\n", f_puzzles(LINE)),
        format!("https://f-puzzles.com/?load={fpuz}"),
        format!(
            "https://www.f-puzzles.com/?load={}",
            fpuz.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D")
        ),
        format!("https://f-puzzles.com/?load={}\r\n", fpuz.replace('+', " ")),
        format!("f-puzzles.com/?load={}", fpuz.trim_end_matches('=')),
        format!("https://sudokupad.app/fpuzzles{fpuz}"),
        format!("https://sudokupad.app/sudoku/fpuz{fpuz}?setting-nogrid=1"),
        sudokupad(LINE).to_string(),
        format!("https://sudokupad.app/scl{scl}"),
        format!("https://app.crackingthecryptic.com/sudoku/?puzzleid=ctc{scl}"),
        format!("scl{scl}"),
        format!("sudokupad://puzzle/{scl}"),
    ];
    for text in texts {
        assert_eq!(one(&text), plain(), "{text}");
    }
    let links = format!("\nscl{scl}\r\rscl{scl}\nhttps://f-puzzles.com/?load={fpuz}\n");
    assert_eq!(listed(&links).len(), 3);
}

/// The second one would hide the first, and with it a rule.
#[test]
fn a_name_that_stands_twice_in_an_object_is_refused() {
    let f_puzzles = f_puzzles(LINE).to_string();
    let sudokupad = sudokupad(LINE).to_string();
    let twice = |document: &str, first: &str, second: &str| {
        let fields = document.strip_prefix('{').unwrap();
        format!("{{{first},{second},{fields}")
    };
    let rule = r#""thermometer":[{"lines":[["R1C1","R1C2"]]}]"#;
    let cases = [
        (twice(&f_puzzles, rule, r#""thermometer":[]"#), "thermometer"),
        (twice(&f_puzzles, rule, r#""\u0074hermometer":null"#), "thermometer"),
        (f_puzzles.replacen("{}", r#"{"c":1,"c":""}"#, 1), "c"),
        (f_puzzles.replacen(r#""size":9"#, r#""size":16,"size":9"#, 1), "size"),
        (twice(&sudokupad, r#""arrows":[1]"#, r#""arrows":[]"#), "arrows"),
        // A short name and the long one.
        (twice(&sudokupad.replace("\"id\"", "id"), "a:[1]", r#""arrows":[]"#), "arrows"),
    ];
    for (document, name) in cases {
        let message = format!("the name `{name}` stands twice in one object");
        for text in [document.clone(), format!("scl{}", compressed(&document))] {
            let found = error(&text).to_string();
            assert!(found.contains(&message), "{document}: {found}");
        }
    }
}

#[test]
fn the_short_form_of_sudokupad_is_read() {
    let loose = r#"{id:x,ce:[[{v:1},,{v:'3'},,,,,,],[,,,,,,,,],[,,,,,,,,],[,,,,,,,,],[,,,,,,,,],[,,,,,,,,],[,,,,,,,,],[,,,,,,,,],[,,,,,,,,]],ca:[{ce:[[0,0],[0,1]],v:3,unique:t},{v:'title: it\'s'}],re:REGIONS,metadata:{antiking:f}}"#;
    let loose =
        loose.replace("id:x", "id:'x'").replace("REGIONS", &sudokupad(LINE)["regions"].to_string());
    let listed = listed(&format!("scl{}", compressed(&loose)));
    assert_eq!(listed[0].puzzle.givens()[..4], [1, 0, 3, 0]);
    assert_eq!(listed[0].puzzle.cages(), [Cage::new([0, 1], Some(3)).unwrap()]);
    assert_eq!(listed[0].title.as_deref(), Some("it's"));
    assert!(error(loose.replace("antiking:f", "antiking:t")).contains("the anti-king rule"));
    let broken = error(format!("scl{}", compressed(loose.replace("ce:[[{", "ce:[[("))));
    assert!(broken.starts_with("line 1, at `document`: expected JSON: "), "{broken}");
}

#[test]
fn cages_titles_and_solutions_are_read() {
    let mut document = f_puzzles(&".".repeat(81));
    document["killercage"] = json!([
        { "cells": ["R1C2", "R1C1"], "value": "3", "outlineC": "#000000" },
        { "cells": ["R9C9"] },
        { "cells": ["R2C1", "R2C2"], "value": 9 },
    ]);
    document["title"] = json!("A killer");
    document["author"] = json!("me");
    document["ruleset"] = json!("Normal rules.");
    document["solution"] = digits(SOLVED).into();
    document["cage"] = json!([{ "cells": [], "value": "msgcorrect: well done" }]);
    let listed = listed(&document.to_string()).remove(0);
    let cages = [
        Cage::new([0, 1], Some(3)).unwrap(),
        Cage::new([9, 10], Some(9)).unwrap(),
        Cage::new([80], None).unwrap(),
    ];
    assert_eq!(listed.puzzle.cages(), cages);
    assert_eq!(listed.puzzle.keys(), [digits(SOLVED)]);
    assert_eq!(listed.title.as_deref(), Some("A killer"));
    assert_eq!(listed.author.as_deref(), Some("me"));
    assert_eq!(listed.rules.as_deref(), Some("Normal rules."));
    // A solution that is not known everywhere is none.
    document["solution"][3] = Value::Null;
    assert_eq!(one(&document.to_string()).keys(), [[0; 0]; 0]);
    document["solution"] = json!(SOLVED);
    assert_eq!(one(&document.to_string()).keys(), [digits(SOLVED)]);

    let mut document = sudokupad(&".".repeat(81));
    document["cages"] = json!([
        { "cells": [[0, 1], [0, 0]], "value": "3", "unique": true },
        { "cells": [[8, 8]] },
        { "cells": [[1, 0], [1, 1]], "value": 9, "sum": 9 },
        { "cells": sudokupad(LINE)["regions"][4], "unique": true, "hidden": true },
        { "value": "author: me" },
        { "value": format!("solution: {SOLVED}") },
    ]);
    document["metadata"] =
        json!({ "title": "A killer", "rules": "Normal rules.", "solution": SOLVED });
    assert_eq!(super::kit::listed(&document.to_string()), [listed]);
}

#[test]
fn a_rule_that_is_not_judged_is_refused_by_name() {
    let plain = || f_puzzles(LINE);
    let cell = |key: &str, value: Value| {
        let mut document = plain();
        document["grid"][0][1][key] = value;
        document.to_string()
    };
    let pad = |key: &str, value: Value| with(sudokupad(LINE), key, value);
    let cases = [
        (
            with(plain(), "thermometer", json!([{ "lines": [["R1C1", "R1C2"]] }])),
            "`thermometer`: this puzzle has a rule that is not judged: thermometers",
        ),
        (
            with(plain(), "arrow", json!([{}])),
            "`arrow`: this puzzle has a rule that is not judged: arrows",
        ),
        (
            with(plain(), "diagonal+", json!(true)),
            "`diagonal+`: this puzzle has a rule that is not judged: a diagonal",
        ),
        (
            with(plain(), "antiknight", json!(true)),
            "`antiknight`: this puzzle has a rule that is not judged: the anti-knight rule",
        ),
        (
            with(plain(), "line", json!([{}])),
            "`line`: this puzzle has a rule that is not judged: drawn lines",
        ),
        (
            with(plain(), "futurerule", json!(1)),
            "`futurerule`: this may be a rule, and is not known",
        ),
        (
            cell("c", json!("#FFF")),
            "`grid[0][1].c`: this puzzle has a rule that is not judged: coloured cells",
        ),
        (
            cell("region", json!(4)),
            "`grid`: this puzzle has regions other than boxes, which are not judged",
        ),
        (
            cell("region", Value::Null),
            "`grid[0][1]`: this cell is in no region, which is not judged",
        ),
        (
            with(plain(), "killercage", json!([{ "cells": ["R1C1"], "value": "odd" }])),
            "`killercage[0].value`: expected the total of a killer cage, found `\"odd\"`",
        ),
        (
            with(plain(), "killercage", json!([{ "cells": ["R1C1", "R1C10"] }])),
            "`killercage[0].cells[1]`: expected a cell such as R1C9, found `\"R1C10\"`",
        ),
        (
            with(plain(), "killercage", json!([{ "cells": ["R1C1"], "sumrule": 3 }])),
            "`killercage[0].sumrule`: this may be a rule, and is not known",
        ),
        (
            with(plain(), "cage", json!([{ "cells": ["R1C1"], "value": "7" }])),
            "`cage[0]`: this cage is drawn without being a killer cage: it may be a rule, and is not known",
        ),
        (pad("arrows", json!([{}])), "`arrows`: this puzzle has a rule that is not judged: arrows"),
        (
            pad("metadata", json!({ "antiknight": true })),
            "`metadata.antiknight`: this puzzle has a rule that is not judged: the anti-knight rule",
        ),
        (
            pad("regions", json!([])),
            "`document`: expected the boxes as regions, found others, which are not judged",
        ),
        (
            pad("cages", json!([{ "cells": [[0, 0]], "unique": false }])),
            "`cages[0]`: digits may repeat in this cage, which is not judged",
        ),
        (
            pad("cages", json!([{ "cells": [[0, 0]], "hidden": true }])),
            "`cages[0]`: this cage is hidden and no house: a rule that is not judged",
        ),
        (
            pad("cages", json!([{ "cells": [[0, 9]] }])),
            "`cages[0].cells[0]`: expected a cell `[row, column]`, counted from 0, found `[0,9]`",
        ),
        (
            pad("cages", json!([{ "cells": [[0, 0]], "value": 3, "sum": 4 }])),
            "`cages[0].sum`: expected the same total as in `value`, found `4`",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(error(&text), format!("line 1, at {message}"), "{text}");
    }
    // What says nothing is no rule.
    assert_eq!(one(&with(plain(), "diagonal+", json!(false))), self::plain_puzzle());
    assert_eq!(one(&with(plain(), "thermometer", json!([]))), self::plain_puzzle());
}

fn plain_puzzle() -> Puzzle {
    super::kit::plain()
}

#[test]
fn what_no_puzzle_can_be_is_invalid() {
    let cages = json!([{ "cells": ["R1C1", "R1C2"] }, { "cells": ["R1C2", "R1C3"] }]);
    let text = with(f_puzzles(LINE), "killercage", cages);
    let why = read(text.as_bytes(), None, Limits::default()).unwrap_err();
    assert!(why.is_invalid);
    assert_eq!(
        why.to_string(),
        "line 1, at `killercage`: r1c2 is in two cages, those at r1c1 and r1c2"
    );
    let why =
        error(with(f_puzzles(LINE), "solution", digits(&SOLVED.replacen('1', "2", 1)).into()));
    assert_eq!(why, "line 1, at `solution`: the solution repeats the digit at r1c2 in row 1");
}

#[test]
fn a_document_that_is_wrong_says_where() {
    let cut = f_puzzles(LINE).to_string();
    let mut rows = f_puzzles(LINE);
    rows["grid"][3].as_array_mut().unwrap().pop();
    let mut digit = f_puzzles(LINE);
    digit["grid"][8][0]["value"] = json!(10);
    let cases = [
        (cut[..100].to_owned(), "line 1, at `document`: expected JSON: EOF while parsing"),
        (
            "\n\n{}".into(),
            "line 3, at `document`: expected `grid` (f-puzzles) or `cells` (SudokuPad), found neither",
        ),
        (
            with(f_puzzles(LINE), "size", json!(6)),
            "line 1, at `document`: expected a board of 9x9 or 16x16, found 6x6",
        ),
        (rows.to_string(), "line 1, at `grid[3]`: expected 9 cells, found 8"),
        (
            digit.to_string(),
            "line 1, at `grid[8][0].value`: expected a digit from 1 to 9, found `10`",
        ),
        (
            "https://f-puzzles.com/?id=abc".into(),
            "line 1, at `link`: expected `?load=` with the puzzle; puzzles are not fetched",
        ),
        (
            "https://sudokupad.app/abc123".into(),
            "line 1, at `link`: expected `scl`, `ctc` or `fpuzzles` with the puzzle; puzzles are not fetched",
        ),
        (
            "https://example.org/x".into(),
            "line 1, at `link`: expected a link to f-puzzles or SudokuPad, found another one",
        ),
        (
            "scf12".into(),
            "line 1, at `link`: `scf` is a compact form that is not read: export the puzzle to f-puzzles",
        ),
        (
            format!("scl{}", &compressed(&cut)[..40]),
            "line 1, at `link`: expected more of the puzzle: the link is cut off",
        ),
        (
            "sclN4%C3%A9g".into(),
            "line 1, at `link`: expected base64, found `\\u{c3}` as its character 3",
        ),
    ];
    for (text, message) in cases {
        assert!(error(&text).starts_with(message), "{text}\n{}", error(&text));
    }
}

#[test]
fn hostile_files_meet_limits() {
    let limits = Limits { file_bytes_max: 2_000, document_bytes_max: 1_000 };
    let error = |text: &str| read(text.as_bytes(), None, limits).unwrap_err().to_string();
    assert_eq!(
        error(&" ".repeat(2_001)),
        "line 1, column 1: expected a file of at most 2000 bytes, found a larger one"
    );
    let bomb = format!("scl{}", compressed("[".repeat(100_000)));
    assert!(bomb.len() < 2_000);
    assert_eq!(
        error(&bomb),
        "line 1, at `link`: expected a document of at most 1000 bytes, found a larger one"
    );
    assert_eq!(
        error(&format!("{{\"grid\":\"{}\"}}", "x".repeat(1_000))),
        "line 1, at `document`: expected at most 1000 bytes, found 1011"
    );
    for depth in [63, 64, 200] {
        let deep = format!("{{\"grid\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        let is_too_deep = error(&deep).contains("nest at most 64 deep")
            || error(&deep).contains("recursion limit");
        assert_eq!(is_too_deep, depth >= 64, "{}", error(&deep));
    }
    let loose = format!("{{grid:{}{}}}", "[".repeat(200), "]".repeat(200));
    assert!(error(&loose).contains("expected JSON"), "{}", error(&loose));
}

#[test]
fn links_of_16x16_have_numbers() {
    let mut givens = solved_16();
    givens[7] = 0;
    let puzzle =
        Puzzle::new(Alphabet::OneToSixteen, &givens).unwrap().with_key(&solved_16()).unwrap();
    let link = write(Format::FPuzzles, &[puzzle.clone().into()]).unwrap();
    assert_eq!(one(&link), puzzle);
    let declared = read(link.as_bytes(), Some(Alphabet::AToP), Limits::default()).unwrap();
    assert_eq!(declared[0].puzzle.alphabet(), Alphabet::AToP);
    let why = read(link.as_bytes(), Some(Alphabet::OneToNine), Limits::default()).unwrap_err();
    assert_eq!(why.message, "the alphabet 1-9 is declared, but this board is 16x16");
}

#[test]
fn a_link_carries_all_of_a_puzzle() {
    let puzzle = dominoes().with_key(&digits(SOLVED)).unwrap();
    let listed = [
        Listed {
            puzzle: puzzle.clone(),
            title: Some("Übung \"1\"".into()),
            author: Some("me".into()),
            rules: Some("Normal\nrules".into()),
        },
        Listed::from(plain()),
    ];
    let links = write(Format::FPuzzles, &listed).unwrap();
    assert_eq!(super::kit::listed(&links), listed);
    let pad = links.replace("https://f-puzzles.com/?load=", "https://sudokupad.app/fpuzzles");
    assert_eq!(super::kit::listed(&pad), listed);
}
