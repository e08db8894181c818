use super::*;
use crate::board::Verdict;
use crate::format::classic;
use crate::puzzle::Cage;
use alloc::string::{String, ToString};
use alloc::vec;

const PUZZLE: &[u8; 81] =
    b"53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
const SOLVED: &[u8; 81] =
    b"534678912672195348198342567859761423426853791713924856961537284287419635345286179";

fn classic_puzzle() -> Puzzle {
    let key = SOLVED.map(|digit| digit - b'0');
    let puzzle = text::read(PUZZLE, None).expect("a puzzle").remove(0).puzzle;
    puzzle.with_key(&key).expect("its solution")
}

/// A killer of the pairs of cells of each row; the ninth cell of a row is in no cage.
fn killer_puzzle() -> Puzzle {
    let cages = (0..36).map(|pair| {
        let first = pair / 4 * 9 + pair % 4 * 2;
        let sum = SOLVED[first] + SOLVED[first + 1] - 2 * b'0';
        Cage::new([first as u8, first as u8 + 1], Some(sum.into())).expect("a cage")
    });
    let puzzle = Puzzle::new(Alphabet::OneToNine, &[0; 81]).expect("a puzzle");
    puzzle.with_cages(cages.collect()).expect("cages")
}

/// The drawing of these cells with the cages of the killer, with `extra` walls and these totals left out.
fn drawing(cells: &[u8; 81], totals_from: usize) -> String {
    let border = "+".to_string() + &"---+".repeat(9) + "\n";
    let mut text = border.clone();
    for row in cells.chunks(9) {
        text += "|";
        for (column, cell) in row.iter().enumerate() {
            let wall = if column % 2 == 1 || column == 8 { '|' } else { ' ' };
            text += &format!(" {} {wall}", char::from(*cell));
        }
        text += "\n";
        text += &border;
    }
    for pair in totals_from..36 {
        let first = pair / 4 * 9 + pair % 4 * 2;
        let sum = SOLVED[first] + SOLVED[first + 1] - 2 * b'0';
        text += &format!("{} {} {sum}\n", first / 9 + 1, first % 9 + 2);
    }
    text
}

fn detail(mark: &Mark) -> (Verdict, String) {
    (mark.verdict(), mark.detail())
}

fn is_foreign(mark: &Mark, words: &str) {
    let Mark::Wrong(faults) = mark else { panic!("{mark:?}") };
    let [fault] = &faults[..] else { panic!("{faults:?}") };
    assert_eq!(fault.code(), "foreign-puzzle");
    assert_eq!(fault.to_string(), format!("this is another puzzle: {words}"));
}

#[test]
fn a_block_counts_only_with_the_registered_givens() {
    let against = Against::new(classic_puzzle());
    let rows = |grid: &[u8; 81]| {
        let rows = grid.chunks(9).map(|row| String::from_utf8_lossy(row).into_owned() + "\n");
        classic::solution(rows.collect::<String>().as_bytes())
    };
    let solution = rows(SOLVED);
    let (mark, digits) = against.solution(&solution, PUZZLE);
    assert_eq!((mark, digits), (Mark::Correct, None));
    // An empty puzzle of the entrant's own, one with another given, and one with a given more.
    let mut other = *PUZZLE;
    is_foreign(
        &against.solution(&solution, &[b'.'; 81]).0,
        "r1c1 is open, in the puzzle 5 is given",
    );
    other[0] = b'4';
    is_foreign(&against.solution(&solution, &other).0, "given at r1c1 is 4, the puzzle has 5");
    other = *PUZZLE;
    other[2] = b'4';
    is_foreign(
        &against.solution(&solution, &other).0,
        "given at r1c3 is 4, in the puzzle the cell is open",
    );
    // Another valid grid with digits renamed keeps no given.
    let renamed = SOLVED.map(|digit| if digit == b'9' { b'1' } else { digit + 1 });
    let (mark, _) = against.solution(&rows(&renamed), PUZZLE);
    assert!(mark.detail().starts_with("r1c1 holds 6, but 5 is given there; "), "{mark:?}");
}

#[test]
fn a_drawing_counts_only_with_the_registered_cages() {
    let against = Against::new(killer_puzzle());
    assert_eq!(against.diagram(drawing(SOLVED, 0).as_bytes(), 1).0, Mark::Correct);
    // Without the total of a cage, with another one, and with one for a cell that is in no cage.
    is_foreign(
        &against.diagram(drawing(SOLVED, 1).as_bytes(), 1).0,
        "cage at r1c1 has no total, in the puzzle it adds up to 8",
    );
    let other = drawing(SOLVED, 0).replace("\n1 2 8\n", "\n1 2 9\n");
    is_foreign(
        &against.diagram(other.as_bytes(), 1).0,
        "cage at r1c1 adds up to 9, in the puzzle to 8",
    );
    let more = drawing(SOLVED, 0) + "1 9 2\n";
    is_foreign(
        &against.diagram(more.as_bytes(), 1).0,
        "cage at r1c9 adds up to 2, in the puzzle it has no total",
    );
    // A wall more, and one less.
    let wall = drawing(SOLVED, 1).replacen("| 5   3 |", "| 5 | 3 |", 1) + "1 1 5\n1 2 3\n";
    is_foreign(
        &against.diagram(wall.as_bytes(), 1).0,
        "a wall between r1c1 and r1c2 that the puzzle does not have",
    );
    let open = drawing(SOLVED, 0).replacen("3 | 4", "3   4", 1).replacen("1 2 8\n", "", 1);
    is_foreign(
        &against.diagram(open.as_bytes(), 1).0,
        "no wall between r1c2 and r1c3, where the puzzle has one",
    );
    // Cages of the entrant's own, a cell each, for a puzzle that has none.
    let plain = Against::new(classic_puzzle());
    is_foreign(
        &plain.diagram(drawing(SOLVED, 0).as_bytes(), 1).0,
        "it has cages, the puzzle has none",
    );
    // The registered totals judge, and repeats in a cage are found.
    let mut cells = *SOLVED;
    cells.swap(0, 2);
    let mark = against.diagram(drawing(&cells, 0).as_bytes(), 1).0;
    assert!(mark.detail().contains("cage at r1c1 adds up to 7, not 8"), "{}", mark.detail());
}

#[test]
fn a_grid_by_itself_is_judged_in_any_layout() {
    let against = Against::new(classic_puzzle());
    let rows: Vec<String> =
        SOLVED.chunks(9).map(|row| String::from_utf8_lossy(row).into_owned()).collect();
    let spaced = rows.iter().map(|row| {
        let cells: Vec<String> = row.chars().map(String::from).collect();
        cells.join(" ")
    });
    for text in [
        String::from_utf8_lossy(SOLVED).into_owned(),
        rows.join("\n"),
        spaced.collect::<Vec<_>>().join("\r\n"),
    ] {
        assert_eq!(against.grid(text.as_bytes(), 1).0, Mark::Correct, "{text}");
    }
    let with_blanks = rows.join("\n").replacen("34", "..", 1);
    let (mark, digits) = against.grid(with_blanks.as_bytes(), 1);
    assert_eq!(detail(&mark), (Verdict::Wrong, "r1c2 is blank; r1c3 is blank".into()));
    let compared = against.compare(&digits.expect("digits"));
    assert_eq!((compared.cells, compared.blank_cells, compared.wrong_cells), (51, 1, Some(0)));
    let (mark, _) = against.grid(b"1 2 3\n", 7);
    assert_eq!(mark.verdict(), Verdict::Unreadable);
    assert!(mark.detail().starts_with("line 7, column 1: expected a row of 9 or 16 cells"));
}

#[test]
fn wrong_cells_and_right_houses_are_counted_by_the_nearest_key() {
    let against = Against::new(classic_puzzle());
    let mut digits = SOLVED.map(|digit| digit - b'0').to_vec();
    // Two cells of a row that are no givens: one row, two columns and one box are not right.
    digits.swap(2, 3);
    let compared = against.compare(&digits);
    assert_eq!(compared.wrong_cells, Some(2));
    assert_eq!(compared.right_houses, Some([8, 7, 7]));
    let unknown = Against::new(killer_puzzle()).compare(&digits);
    assert_eq!((unknown.cells, unknown.wrong_cells, unknown.right_houses), (81, None, None));
}

/// The cyclic grid of 16 digits, from 1.
fn sixteen() -> Vec<u8> {
    (0..256).map(|cell| ((4 * (cell / 16 % 4) + cell / 64 + cell % 16) % 16) as u8 + 1).collect()
}

#[test]
fn a_16x16_board_is_judged_by_its_48_houses_and_its_givens() {
    let solved = sixteen();
    let mut givens = vec![0; 256];
    givens[5] = solved[5];
    let puzzle = Puzzle::new(Alphabet::AToP, &givens).expect("a puzzle");
    let against = Against::new(puzzle.with_key(&solved).expect("its solution"));
    let written = |digits: &[u8]| -> String {
        let rows = digits.chunks(16).map(|row| {
            let names = row.iter().map(|digit| match digit {
                0 => ".",
                digit => Alphabet::AToP.name(*digit),
            });
            names.collect::<String>() + "\n"
        });
        rows.collect()
    };
    assert_eq!(against.grid(written(&solved).as_bytes(), 1).0, Mark::Correct);
    let mut wrong = solved.clone();
    wrong.swap(5, 6);
    wrong[255] = 0;
    let (mark, digits) = against.grid(written(&wrong).as_bytes(), 1);
    let Mark::Wrong(faults) = &mark else { panic!("{mark:?}") };
    let words: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        [
            "r16c16 is blank",
            "r1c6 holds G, but F is given there",
            "column 6 has G twice",
            "column 7 has F twice",
        ]
    );
    let compared = against.compare(&digits.expect("digits"));
    // The given that was changed is none of the cells to be filled.
    assert_eq!((compared.cells, compared.blank_cells, compared.wrong_cells), (255, 1, Some(1)));
    // As Lazy Larry's boards are read.
    let board = core::array::from_fn(|cell| solved[cell] - 1);
    assert_eq!(against.board(&board).0, Mark::Correct);
    let small = against.grid(SOLVED, 1).0;
    assert!(small.detail().contains("expected a 16x16 grid"), "{small:?}");
}
