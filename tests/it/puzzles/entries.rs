//! Entries judged against their puzzle, compared with a naive judge, and `gridmark grade --puzzle`.

use gridmark_core::Kind;
use gridmark_core::board::{Alphabet, Fault, Mark, Size, Verdict};
use gridmark_core::format::Limits;
use gridmark_core::generate::{Entries, Layout, Options};
use gridmark_core::judge::Against;
use gridmark_core::puzzle::Puzzle;
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;

/// What an entry is worth, found out the slow way: blank cells, cells of a given that differ, houses and cages that
/// repeat a digit, and cages with a wrong sum.
fn naive_faults(puzzle: &Puzzle, digits: &[u8]) -> usize {
    let side = puzzle.size().side();
    let in_box = puzzle.size().box_side();
    let blank = digits.iter().filter(|digit| **digit == 0).count();
    let changed = puzzle.givens().iter().zip(digits);
    let changed =
        changed.filter(|(given, digit)| **given != 0 && **digit != 0 && given != digit).count();
    let repeats = |cells: &dyn Fn(usize) -> bool| {
        (1..=side as u8).any(|digit| {
            (0..side * side).filter(|cell| cells(*cell) && digits[*cell] == digit).count() > 1
        })
    };
    let mut broken = 0;
    for number in 0..side {
        broken += usize::from(repeats(&|cell| cell / side == number));
        broken += usize::from(repeats(&|cell| cell % side == number));
        broken += usize::from(repeats(&|cell| {
            cell / side / in_box * in_box + cell % side / in_box == number
        }));
    }
    for (number, cage) in puzzle.cages().iter().enumerate() {
        let is_in = |cell: usize| puzzle.cage_of(cell) == Some(number);
        broken += usize::from(repeats(&is_in));
        let cells = || (0..side * side).filter(|cell| is_in(*cell));
        let sum: u32 = cells().map(|cell| u32::from(digits[cell])).sum();
        let is_full = cells().all(|cell| digits[cell] != 0);
        broken += usize::from(is_full && cage.total().is_some_and(|total| total != sum));
    }
    blank + changed + broken
}

/// The digits as a line, or as rows.
fn written(alphabet: Alphabet, digits: &[u8], in_rows: bool) -> String {
    let side = alphabet.size().side();
    let name = |digit: &u8| if *digit == 0 { "." } else { alphabet.name(*digit) };
    match in_rows {
        false => digits.iter().map(name).collect::<String>() + "\n",
        true => {
            let row = |row: &[u8]| row.iter().map(name).collect::<String>() + "\n";
            digits.chunks(side).map(row).collect()
        }
    }
}

/// The marks of a file of entries.
fn marks(against: &Against, text: &str) -> Vec<Mark> {
    let entries = against.entries(text.as_bytes(), Limits::default());
    entries.into_iter().map(|entry| entry.mark).collect()
}

fn faults(mark: &Mark) -> usize {
    match mark {
        Mark::Correct => 0,
        Mark::Wrong(faults) => faults.len(),
        other => panic!("{other:?}"),
    }
}

fn puzzle_and_solution(kind: Kind, seed: u64) -> (Puzzle, Vec<u8>) {
    let (puzzle, solution) = crate::puzzles::kit::generated(kind, seed);
    assert_eq!(puzzle.kind(), kind);
    (puzzle, solution)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn entries_have_the_faults_that_a_naive_judge_finds(
        kind in prop::sample::select(Kind::ALL.to_vec()),
        seed in 0u64..8,
        changes in prop::collection::vec((0usize..256, 0u8..=16), 0..6),
        in_rows in any::<bool>(),
    ) {
        let (puzzle, solution) = puzzle_and_solution(kind, seed);
        let side = puzzle.size().side();
        let mut digits = solution.clone();
        for (cell, digit) in changes {
            digits[cell % solution.len()] = digit % (side as u8 + 1);
        }
        let (alphabet, is_right) = (puzzle.alphabet(), digits == solution);
        let expected = naive_faults(&puzzle, &digits);
        prop_assert_eq!(expected == 0, is_right);
        let against = Against::new(puzzle.with_key(&solution).unwrap());
        let text = written(alphabet, &digits, in_rows);
        let marks = marks(&against, &text);
        prop_assert_eq!(marks.len(), 1, "{}", text);
        prop_assert_eq!(faults(&marks[0]), expected, "{}{:?}", text, marks[0]);
        let open = |cell: &usize| against.puzzle().givens()[*cell] == 0;
        let compared = against.compare(&digits);
        let cells = || (0..digits.len()).filter(open);
        let differ = cells().filter(|cell| digits[*cell] != 0 && digits[*cell] != solution[*cell]);
        prop_assert_eq!(compared.wrong_cells, Some(differ.count() as u32));
        let blank = cells().filter(|cell| digits[*cell] == 0).count();
        prop_assert_eq!((compared.cells, compared.blank_cells), (cells().count() as u32, blank as u32));
    }

    /// What is known of a puzzle makes judging faster and changes no mark: its solution, and its drawing.
    #[test]
    fn entries_have_the_marks_that_they_are_generated_with_however_they_are_judged(
        kind in prop::sample::select(Kind::ALL.to_vec()),
        layout in prop::sample::select(Layout::ALL.to_vec()),
        seed in 0u64..1000,
        crlf in any::<bool>(),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let (puzzle, solution) = puzzle_and_solution(kind, seed % 8);
        prop_assume!(layout.is_for(puzzle.size()));
        let known = puzzle.clone().with_key(&solution).unwrap();
        let options = Options { faulty: 0.6, seed, ..Options::default() };
        let (mut text, mut answers) = (Vec::new(), Vec::new());
        Entries::new(known.clone(), layout, &options).unwrap().append(6, &mut text, &mut answers);
        let mut text = String::from_utf8(text).unwrap();
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let word = |mark: &Mark| match mark {
            Mark::Wrong(faults) if matches!(faults[..], [Fault::ForeignPuzzle(_)]) => "foreign-puzzle",
            mark => mark.verdict().word(),
        };
        let (known, unknown) = (Against::new(known), Against::new(puzzle));
        let found = marks(&known, &text);
        let words: Vec<&str> = found.iter().map(word).collect();
        let answers = String::from_utf8(answers).unwrap();
        prop_assert_eq!(words, answers.lines().collect::<Vec<_>>(), "{}", text);
        prop_assert_eq!(&marks(&unknown, &text), &found, "{}", text);
        // A blank behind the first line of a drawing does not count, and makes it an irregular one.
        let irregular = text.replace("---+\n+", "---+ \n+").replacen("---+\n", "---+ \n", 1);
        prop_assert_eq!(marks(&unknown, &irregular), found, "{}", irregular);
        if let Some((place, byte)) = damage {
            let mut bytes = text.into_bytes();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            let marks = |against: &Against| {
                let entries = against.entries(&bytes, Limits::default());
                entries.into_iter().map(|entry| entry.mark).collect::<Vec<_>>()
            };
            prop_assert_eq!(marks(&known), marks(&unknown));
        }
    }

    #[test]
    fn any_bytes_are_marked_and_none_is_correct_by_chance(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        kind in prop::sample::select(Kind::ALL.to_vec()),
    ) {
        let (puzzle, solution) = puzzle_and_solution(kind, 0);
        let against = Against::new(puzzle.with_key(&solution).unwrap());
        let entries = against.entries(&bytes, Limits::default());
        prop_assert!(!entries.is_empty());
        prop_assert!(entries.iter().all(|entry| entry.mark != Mark::Correct));
    }
}

#[test]
fn a_file_of_many_entries_has_a_mark_for_each() {
    let (puzzle, solution) = puzzle_and_solution(Kind::Classic, 1);
    let against = Against::new(puzzle);
    let mut wrong = solution.clone();
    wrong.swap(0, 1);
    let right = |in_rows| written(Alphabet::OneToNine, &solution, in_rows);
    let text = format!(
        "\u{feff}\r\n{}\n{}{}what is this\n\n{}",
        right(true),
        right(false),
        written(Alphabet::OneToNine, &wrong, true),
        right(true)
    );
    let verdicts: Vec<Verdict> = marks(&against, &text).iter().map(Mark::verdict).collect();
    let (correct, wrong) = (Verdict::Correct, Verdict::Wrong);
    assert_eq!(verdicts, [correct, correct, wrong, Verdict::Unreadable, correct]);
    let lines: Vec<u64> = against
        .entries(text.as_bytes(), Limits::default())
        .iter()
        .map(|entry| entry.line)
        .collect();
    assert_eq!(lines, [2, 12, 13, 22, 24]);
}

#[test]
fn marked_cells_are_handed_in_alone_or_within_the_whole_board() {
    let (puzzle, solution) = puzzle_and_solution(Kind::Classic, 2);
    let cell = |index| gridmark_core::board::Cell::of(Size::Nine, index);
    let row_and_column = (0..9).chain((0..9).map(|row| row * 9)).map(cell).collect();
    let puzzle = puzzle.with_key(&solution).unwrap().with_marked(row_and_column).unwrap();
    let against = Against::new(puzzle);
    // The cell where both cross is there twice.
    let digits: Vec<u8> =
        (0..9).chain((0..9).map(|row| row * 9)).map(|index| solution[index]).collect();
    let line = |digits: &[u8]| digits.iter().map(u8::to_string).collect::<String>();
    let spaced: Vec<String> = digits.iter().map(u8::to_string).collect();
    for text in [line(&digits), spaced.join(" "), written(Alphabet::OneToNine, &solution, true)] {
        assert_eq!(marks(&against, &text), [Mark::Correct], "{text}");
    }
    let mut wrong = digits.clone();
    wrong[3] = wrong[3] % 9 + 1;
    let mark = marks(&against, &line(&wrong)).remove(0);
    assert_eq!(mark.detail(), format!("r1c4 holds {}, not the digit of the solution", wrong[3]));
    let short = marks(&against, &line(&digits[1..])).remove(0);
    assert_eq!(short.verdict(), Verdict::Unreadable);
    assert!(
        short.detail().contains("expected the digits of the 18 marked cells, found 17"),
        "{short:?}"
    );
}

/// Runs `gridmark grade` in a folder: exit code, standard output and standard error.
fn grade(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    let output = command.arg("grade").args(args).current_dir(folder).env_clear().output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn grade_judges_by_the_puzzle_and_not_by_what_a_file_claims() {
    let folder = tempfile::tempdir().unwrap();
    let (puzzle, solution) = puzzle_and_solution(Kind::Classic, 3);
    let givens = written(Alphabet::OneToNine, puzzle.givens(), true);
    let rows = written(Alphabet::OneToNine, &solution, true);
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write("set.sdm", written(Alphabet::OneToNine, puzzle.givens(), false).repeat(2));
    write("own.classic", format!("1\n{givens}{rows}"));
    write("bare.txt", rows.clone());
    write("empty.classic", format!("1\n{}{rows}", ".........\n".repeat(9)));
    let csv = ["--puzzle", "set.sdm#2", "--csv", "-"];
    let of = |file: &str| {
        let (code, output, errors) = grade(folder.path(), &[&[file], &csv[..]].concat());
        assert_eq!(errors, "");
        (code, output.lines().nth(1).unwrap_or_default().to_owned())
    };
    assert_eq!(of("own.classic"), (Some(0), "own.classic,1,1,classic,correct,Y,,,,,0,".into()));
    assert_eq!(of("bare.txt"), (Some(0), "bare.txt,1,1,classic,correct,Y,,,,,0,".into()));
    let (code, row) = of("empty.classic");
    assert_eq!(code, Some(1));
    assert!(row.starts_with("empty.classic,1,1,classic,wrong,N,,,foreign-puzzle,r"), "{row}");
    let (code, _, errors) = grade(folder.path(), &["--puzzle", "set.sdm", "bare.txt"]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("set.sdm holds 2 puzzles: say which, as in set.sdm#1"), "{errors}");
    // A blank cell and a wrong one are shown, and counted apart.
    let mut digits = solution.clone();
    let open: Vec<usize> = (0..81).filter(|cell| puzzle.givens()[*cell] == 0).collect();
    digits[open[0]] = 0;
    digits[open[1]] = digits[open[1]] % 9 + 1;
    write("slip.txt", written(Alphabet::OneToNine, &digits, true));
    let (code, output, _) = grade(folder.path(), &["--puzzle", "set.sdm#1", "slip.txt"]);
    assert_eq!(code, Some(1));
    assert!(output.contains("to be filled still: 1 cell\n"), "{output}");
    assert!(output.contains("not as in the solution: 1 cell\n"), "{output}");
}
