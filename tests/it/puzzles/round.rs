//! What is written is read back as the same puzzle.

use super::kit::{digits, solved_16};
use gridmark::puzzle::{Format, Limits, read, write};
use gridmark_core::puzzle::text::{self, Listed};
use gridmark_core::puzzle::{Alphabet, Cage, Puzzle};
use proptest::collection::vec;
use proptest::prelude::*;

/// Givens of a board with so many digits, some of them in conflict.
fn givens(digits: u8) -> impl Strategy<Value = Vec<u8>> {
    let cell = prop_oneof![Just(0), 0..=digits];
    vec(cell, usize::from(digits) * usize::from(digits))
}

fn nine() -> impl Strategy<Value = Puzzle> {
    givens(9).prop_map(|givens| Puzzle::new(Alphabet::OneToNine, &givens).unwrap())
}

fn sixteen() -> impl Strategy<Value = Puzzle> {
    let alphabet = proptest::sample::select(&Alphabet::SIXTEEN[..]);
    (alphabet, givens(16)).prop_map(|(alphabet, givens)| Puzzle::new(alphabet, &givens).unwrap())
}

/// Killers with cages of any shape: some cells have none, some cages no total.
fn killer() -> impl Strategy<Value = Puzzle> {
    let cage_of = vec(0_usize..40, 81);
    let totals = vec(proptest::option::of(1_u32..60), 40);
    (nine(), cage_of, totals).prop_map(|(puzzle, cage_of, totals)| {
        let cells = |cage| (0..81).filter(move |cell| cage_of[usize::from(*cell)] == cage);
        // Cells of cage 0 are in none.
        let cages = (1..40).map(|cage| (cells.clone()(cage).collect::<Vec<u8>>(), totals[cage]));
        let cages = cages.filter(|(cells, _)| !cells.is_empty());
        let cages = cages.map(|(cells, total)| Cage::new(cells, total).unwrap());
        puzzle.with_cages(cages.collect()).unwrap()
    })
}

/// Killers that can be drawn: the runs between walls of each row, each with a total.
fn drawable() -> impl Strategy<Value = Puzzle> {
    let walls = vec(any::<bool>(), 81);
    (nine(), walls, vec(0_u32..1000, 81)).prop_map(|(puzzle, walls, totals)| {
        let mut cages = Vec::<Vec<u8>>::new();
        for cell in 0..81 {
            match cages.last_mut() {
                Some(cage) if cell % 9 > 0 && !walls[usize::from(cell)] => cage.push(cell),
                _ => cages.push(vec![cell]),
            }
        }
        let cages = cages.into_iter().zip(totals);
        let cages = cages.map(|(cells, total)| Cage::new(cells, Some(total)).unwrap());
        puzzle.with_cages(cages.collect()).unwrap()
    })
}

/// What is read back from a format, if the alphabet is declared.
fn back(format: Format, puzzles: &[Puzzle]) -> Vec<Puzzle> {
    let listed = puzzles.iter().cloned().map(Listed::from).collect::<Vec<_>>();
    let text = write(format, &listed).unwrap();
    let alphabet = puzzles[0].alphabet();
    let read = read(text.as_bytes(), Some(alphabet), Limits::default());
    let read = read.unwrap_or_else(|error| panic!("{error}\n{text}"));
    read.into_iter().map(|listed| listed.puzzle).collect()
}

proptest! {
    #[test]
    fn plain_puzzles_come_back(puzzles in vec(nine(), 1..4)) {
        for format in Format::all().filter(|format| format.word() != "killer") {
            let puzzles = if format.word() == "sdk" { &puzzles[..1] } else { &puzzles };
            prop_assert_eq!(&back(format, puzzles), puzzles, "{}", format.word());
        }
    }

    #[test]
    fn puzzles_of_16x16_come_back(puzzle in sixteen()) {
        for word in ["line", "block", "f-puzzles"] {
            let puzzles = [puzzle.clone(), puzzle.clone()];
            prop_assert_eq!(back(word.parse().unwrap(), &puzzles), puzzles, "{}", word);
        }
        let nine_only = [text::Format::Sdk, text::Format::Sdm];
        for format in nine_only {
            prop_assert!(text::write(format, &[puzzle.clone().into()]).is_err());
        }
    }

    #[test]
    fn killers_come_back(puzzle in killer()) {
        let puzzles = [puzzle];
        prop_assert_eq!(back(Format::FPuzzles, &puzzles), puzzles.clone());
        if !puzzles[0].cages().is_empty() {
            for word in ["line", "block", "sdk", "sdm"] {
                let written = write(word.parse().unwrap(), &[puzzles[0].clone().into()]);
                let message = written.unwrap_err().to_string();
                prop_assert!(message.ends_with("has no place for cages; use killer or f-puzzles"));
            }
        }
    }

    #[test]
    fn drawings_come_back(puzzles in vec(drawable(), 1..3)) {
        prop_assert_eq!(back(Format::Text(text::Format::Killer), &puzzles), puzzles);
    }

    #[test]
    fn titles_come_back_where_they_fit(title in "[ -~é]{0,20}[a-z]", author in "[a-z]{1,9}") {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        let puzzle = Puzzle::new(Alphabet::OneToNine, &[0; 81]).unwrap();
        let listed = Listed { puzzle, title: Some(title), author: Some(author), rules: None };
        for format in [Format::Text(text::Format::Sdk), Format::FPuzzles] {
            let text = write(format, std::slice::from_ref(&listed)).unwrap();
            let read = read(text.as_bytes(), None, Limits::default()).unwrap();
            prop_assert_eq!(&read[0], &listed);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes, None, Limits::default());
    }

    #[test]
    fn any_document_is_read_or_refused(text in "\\{[\"a-z:\\[\\]\\{\\},0-9']{0,60}\\}") {
        let _ = read(text.as_bytes(), None, Limits::default());
        let link = format!("scl{}", lz_str::compress_to_base64(&text));
        let _ = read(link.as_bytes(), None, Limits::default());
    }
}

#[test]
fn a_drawing_is_refused_where_it_would_lose_something() {
    let refused = |cages: Vec<Cage>| {
        let puzzle = Puzzle::new(Alphabet::OneToNine, &[0; 81]).unwrap().with_cages(cages).unwrap();
        text::write(text::Format::Killer, &[puzzle.into()]).unwrap_err().to_string()
    };
    let all = |total| Cage::new(0..81, total).unwrap();
    let without =
        |cells: [u8; 2]| Cage::new((0..81).filter(|cell| !cells.contains(cell)), Some(9)).unwrap();
    assert_eq!(refused(vec![]), "a drawing is for killers, and this puzzle has no cages");
    assert_eq!(
        refused(vec![without([4, 5])]),
        "a drawing has cages everywhere, and r1c5 has none; use f-puzzles"
    );
    assert_eq!(
        refused(vec![all(None)]),
        "a drawing has totals, and the cage at r1c1 has none; use f-puzzles"
    );
    assert_eq!(
        refused(vec![Cage::new([8, 9], Some(3)).unwrap(), without([8, 9])]),
        "a drawing has cages in one part, and the one at r1c9 is in several; use f-puzzles"
    );
    assert_eq!(
        refused(vec![all(Some(1_000_000_000))]),
        "a drawing has totals of nine digits, the cage at r1c1 has 1000000000"
    );
    let sixteen = Puzzle::new(Alphabet::AToP, &solved_16()).unwrap();
    assert!(text::write(text::Format::Killer, &[sixteen.into()]).is_err());
}

#[test]
fn every_format_is_written_as_documented() {
    let puzzle = Puzzle::new(Alphabet::OneToNine, &digits(super::kit::LINE)).unwrap();
    let listed = [Listed { author: Some("me".into()), ..puzzle.into() }];
    let written = |word: &str| write(word.parse().unwrap(), &listed).unwrap();
    assert_eq!(written("line"), format!("{}\n", super::kit::LINE));
    assert_eq!(written("sdm"), format!("{}\n", super::kit::LINE.replace('.', "0")));
    assert!(written("block").starts_with(".23.56.89\n"));
    assert!(written("sdk").starts_with("#A me\n.23.56.89\n"));
    assert_eq!(
        "excel".parse::<Format>().unwrap_err().to_string(),
        "expected one of line, block, sdk, sdm, killer, f-puzzles"
    );
}
