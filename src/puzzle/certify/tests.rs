//! Search and solver are each other's oracle, and a naive count is that of both.

use super::*;
use gridmark_core::Kind;
use gridmark_core::board::Size;
use gridmark_core::generate::Puzzles;
use gridmark_core::puzzle::{Alphabet, Cage};
use proptest::prelude::*;
use std::cell::Cell as Counter;

/// A solved 9x9 board.
const SOLVED: &str =
    "687534129921867453354291786576423918243189675819756342798645231465312897132978564";

fn digits(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if byte.is_ascii_digit() { byte - b'0' } else { 0 }).collect()
}

fn classic(givens: &str) -> Puzzle {
    Puzzle::new(Alphabet::OneToNine, &digits(givens)).expect("a puzzle")
}

fn killer(cages: impl IntoIterator<Item = (Vec<u8>, Option<u32>)>, givens: &[u8]) -> Puzzle {
    let cages = cages.into_iter().map(|(cells, total)| Cage::new(cells, total).expect("a cage"));
    let puzzle = Puzzle::new(Alphabet::OneToNine, givens).expect("a puzzle");
    puzzle.with_cages(cages.collect()).expect("no overlap")
}

/// A solved 16x16 board.
fn solved_16() -> Vec<u8> {
    (0..256).map(|i| ((4 * (i / 16 % 4) + i / 64 + i % 16) % 16 + 1) as u8).collect()
}

fn never() -> bool {
    false
}

/// How many solutions there are, up to two, by trying every digit that fits, in the cell with the
/// fewest first.
fn naive(puzzle: &Puzzle) -> usize {
    fn count(puzzle: &Puzzle, board: &mut [u8], most: usize) -> usize {
        let open = (0..board.len()).filter(|cell| board[*cell] == 0);
        let choices = |cell: usize| {
            let digits = 1..=puzzle.size().side() as u8;
            digits.filter(|digit| fits(puzzle, board, cell, *digit)).collect::<Vec<_>>()
        };
        let fewest = open.map(|cell| (choices(cell), cell)).min_by_key(|(some, _)| some.len());
        let Some((choices, cell)) = fewest else {
            return 1;
        };
        let mut found = 0;
        for digit in choices {
            board[cell] = digit;
            found += if found < most { count(puzzle, board, most - found) } else { 0 };
        }
        board[cell] = 0;
        found
    }
    let mut board = puzzle.givens().to_vec();
    for cell in 0..board.len() {
        let given = std::mem::take(&mut board[cell]);
        if given > 0 && !fits(puzzle, &board, cell, given) {
            return 0;
        }
        board[cell] = given;
    }
    count(puzzle, &mut board, 2)
}

/// Whether an open cell of the board may hold this digit.
fn fits(puzzle: &Puzzle, board: &[u8], at: usize, digit: u8) -> bool {
    let (side, in_box) = (puzzle.size().side(), puzzle.size().box_side());
    let boxes = |cell: usize| (cell / side / in_box, cell % side / in_box);
    let shares = |other: usize| {
        other / side == at / side || other % side == at % side || boxes(other) == boxes(at)
    };
    if (0..board.len()).any(|other| board[other] == digit && shares(other)) {
        return false;
    }
    let Some(cage) = puzzle.cage_of(at).map(|cage| &puzzle.cages()[cage]) else {
        return true;
    };
    let held = cage.cells().iter().map(|cell| board[usize::from(*cell)]);
    let is_last = held.clone().filter(|held| *held == 0).count() == 1;
    let sum = held.clone().map(u32::from).sum::<u32>() + u32::from(digit);
    let repeats = held.clone().any(|held| held == digit);
    !repeats && cage.total().is_none_or(|total| if is_last { sum == total } else { sum < total })
}

/// How many solutions a result stands for: 2 is two or more.
fn count(solutions: &Solutions) -> usize {
    match solutions {
        Solutions::None => 0,
        Solutions::One(_) => 1,
        Solutions::Many(_) => 2,
        Solutions::Unproven(_) => panic!("nothing stopped it"),
    }
}

/// The board with all cells blank but those of `kept`, each a random number.
fn some_of(board: &[u8], kept: &[bool]) -> Vec<u8> {
    board.iter().zip(kept).map(|(digit, kept)| if *kept { *digit } else { 0 }).collect()
}

/// Whether the lint calls it an error; what it does has no solution.
fn has_error(puzzle: &Puzzle) -> bool {
    lint(puzzle).iter().any(|finding| finding.flaw.is_error())
}

/// A division into cages: each cell starts a cage, or joins that of its left or upper neighbour.
fn cages_of(joins: &[u8], longest: usize) -> Vec<Vec<u8>> {
    let mut cages: Vec<Vec<u8>> = Vec::new();
    for (cell, join) in joins.iter().enumerate() {
        let neighbour = match join % 3 {
            1 if cell % 9 > 0 => Some(cell - 1),
            2 if cell > 8 => Some(cell - 9),
            _ => None,
        };
        let joined = neighbour.and_then(|neighbour| {
            let holds = |cage: &&mut Vec<u8>| cage.contains(&(neighbour as u8));
            cages.iter_mut().find(holds).filter(|cage| cage.len() < longest)
        });
        match joined {
            Some(cage) => cage.push(cell as u8),
            None => cages.push(vec![cell as u8]),
        }
    }
    cages
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn search_solver_and_a_naive_count_agree_on_classic_puzzles(
        kept in proptest::collection::vec(proptest::bool::weighted(0.4), 81),
        wrong in proptest::option::of((0usize..81, 1u8..=9)),
    ) {
        let mut givens = some_of(&digits(SOLVED), &kept);
        if let Some((cell, digit)) = wrong {
            givens[cell] = digit;
        }
        let puzzle = Puzzle::new(Alphabet::OneToNine, &givens).expect("a puzzle");
        let searched = prove(&puzzle, never).expect("the judges agree");
        let solved = solver::solve(&puzzle, never);
        prop_assert_eq!(count(&searched), naive(&puzzle));
        prop_assert_eq!(count(&searched), count(&solved));
        prop_assert!(!has_error(&puzzle) || count(&searched) == 0);
        if let (Solutions::One(one), Solutions::One(other)) = (&searched, &solved) {
            prop_assert_eq!(one, other);
        }
    }

    #[test]
    fn solver_and_a_naive_count_agree_on_killers(
        joins in proptest::collection::vec(any::<u8>(), 81),
        kept in proptest::collection::vec(proptest::bool::weighted(0.3), 81),
        lacking in proptest::collection::vec(proptest::bool::weighted(0.1), 81),
        changed in proptest::option::of((0usize..81, 1u32..4)),
    ) {
        let board = digits(SOLVED);
        let cages = cages_of(&joins, 4).into_iter().zip(&lacking).enumerate();
        let cages = cages.filter_map(|(number, (cells, lacking))| {
            let sum = cells.iter().map(|cell| u32::from(board[usize::from(*cell)])).sum::<u32>();
            let by = changed.filter(|(of, _)| *of == number).map_or(0, |(_, by)| by);
            // Some cages have no total, and some cells no cage.
            (!(*lacking && number % 2 == 0)).then(|| (cells, (!*lacking).then_some(sum + by)))
        });
        let puzzle = killer(cages, &some_of(&board, &kept));
        let solved = prove(&puzzle, never).expect("the judges agree");
        // Cages that are joined like this may repeat a digit of the board: then there is no solution,
        // or another one.
        prop_assert_eq!(count(&solved), naive(&puzzle));
        prop_assert!(!has_error(&puzzle) || count(&solved) == 0);
    }

    #[test]
    fn solver_and_a_naive_count_agree_on_16_by_16(
        kept in proptest::collection::vec(proptest::bool::weighted(0.85), 256),
        wrong in proptest::option::of((0usize..256, 1u8..=16)),
    ) {
        let mut givens = some_of(&solved_16(), &kept);
        if let Some((cell, digit)) = wrong {
            givens[cell] = digit;
        }
        let puzzle = Puzzle::new(Alphabet::ZeroToF, &givens).expect("a puzzle");
        let solved = prove(&puzzle, never).expect("the judges agree");
        prop_assert_eq!(count(&solved), naive(&puzzle));
        prop_assert!(!has_error(&puzzle) || count(&solved) == 0);
    }

    /// A killer whose cages have one cell each is a classic puzzle.
    #[test]
    fn cages_of_one_cell_are_as_good_as_givens(
        kept in proptest::collection::vec(proptest::bool::weighted(0.35), 81),
    ) {
        let board = digits(SOLVED);
        let givens = some_of(&board, &kept);
        let cells = (0..81).filter(|cell| kept[usize::from(*cell)]);
        let cages = cells.map(|cell| (vec![cell], Some(u32::from(board[usize::from(cell)]))));
        let by_cages = prove(&killer(cages, &[0; 81]), never).expect("the judges agree");
        let puzzle = Puzzle::new(Alphabet::OneToNine, &givens).expect("a puzzle");
        prop_assert_eq!(count(&by_cages), count(&prove(&puzzle, never).expect("the judges agree")));
    }
}

#[test]
fn hard_puzzles_have_the_one_solution_that_is_known() {
    for (givens, solution) in [
        // 17 givens, the fewest that there can be; from Gordon Royle's collection.
        (
            "000000010400000000020000000000050407008000300001090000300400200050100000000806000",
            "693784512487512936125963874932651487568247391741398625319475268856129743274836159",
        ),
        // Made by Arto Inkala to be hard for people.
        (
            "800000000003600000070090200050007000000045700000100030001000068008500010090000400",
            "812753649943682175675491283154237896369845721287169534521974368438526917796318452",
        ),
    ] {
        let puzzle = classic(givens);
        let expected = Solutions::One(digits(solution));
        assert_eq!(prove(&puzzle, never).expect("the judges agree"), expected);
        assert_eq!(solver::solve(&puzzle, never), expected);
    }
}

/// Killers need no givens: the cages alone decide.
#[test]
fn generated_puzzles_have_the_solution_that_they_were_made_from() {
    for (kind, count) in [(Kind::Classic, 8), (Kind::Killer, 8), (Kind::Hexudoku, 1)] {
        let mut puzzles = Puzzles::new(kind, 5);
        let mut without_givens = 0;
        for _ in 0..count {
            let puzzle =
                puzzles.next(&mut |puzzle| prove(puzzle, never).expect("the judges agree"));
            assert_eq!(puzzle.kind(), kind);
            let solution = Solutions::One(puzzle.keys()[0].clone());
            assert_eq!(solver::solve(&puzzle, never), solution);
            assert!(!has_error(&puzzle), "{puzzle:?}");
            without_givens += u32::from(puzzle.givens().iter().all(|given| *given == 0));
        }
        assert_eq!(without_givens > 0, kind == Kind::Killer, "{kind}: {without_givens}");
    }
}

/// The solution is a key, so a proof that there is none, or another one, is noticed.
#[test]
fn a_proof_that_contradicts_a_key_is_refused() {
    let puzzle = classic(SOLVED).with_key(&digits(SOLVED)).expect("a solution");
    assert!(prove(&puzzle, never).is_ok());
    for (solutions, is_right) in [
        (Solutions::None, false),
        (Solutions::One(vec![1; 81]), false),
        (Solutions::One(digits(SOLVED)), true),
        (Solutions::Many(Box::new([digits(SOLVED), digits(SOLVED)])), false),
        (Solutions::Unproven(None), true),
        (Solutions::Unproven(Some(vec![1; 81])), false),
    ] {
        assert_eq!(check(&puzzle, solutions).is_ok(), is_right);
    }
}

#[test]
fn empty_boards_have_two_solutions_that_differ() {
    for puzzle in [
        classic(&".".repeat(81)),
        killer([(vec![0, 1], None)], &[0; 81]),
        Puzzle::new(Alphabet::OneToG, &[0; 256]).expect("a puzzle"),
    ] {
        let solutions = prove(&puzzle, never).expect("the judges agree");
        let Solutions::Many(two) = solutions else { panic!("{solutions:?}") };
        assert_ne!(two[0], two[1]);
        assert_eq!(two[0].len(), puzzle.size().cells());
    }
}

/// A puzzle that each engine can prove only after a step.
fn to_stop() -> [Puzzle; 3] {
    let open = vec![0; Size::Sixteen.cells()];
    [
        classic(&".".repeat(81)),
        killer([(vec![0, 1], Some(3))], &[0; 81]),
        Puzzle::new(Alphabet::ZeroToF, &open).expect("a puzzle"),
    ]
}

#[test]
fn nothing_is_claimed_when_it_is_stopped() {
    for puzzle in to_stop() {
        let stopped = prove(&puzzle, || true).expect("the judges agree");
        assert_eq!(stopped, Solutions::Unproven(None));
        let certificate = certify(&puzzle, Duration::ZERO).expect("the judges agree");
        assert_eq!(certificate.solutions, Some(Solutions::Unproven(None)));
    }
}

/// Whenever it is stopped, the result is true, and more steps never lead to less.
#[test]
fn what_is_known_grows_with_the_steps() {
    for puzzle in to_stop() {
        let mut known = 0;
        for steps in std::iter::successors(Some(0), |steps| Some(steps + 1 + steps / 4)) {
            let left = Counter::new(steps);
            let stop = || {
                left.set(left.get() - 1);
                left.get() < 0
            };
            let now = match prove(&puzzle, stop).expect("the judges agree") {
                Solutions::Unproven(first) => usize::from(first.is_some()),
                solutions => 1 + count(&solutions),
            };
            assert!(now >= known, "{steps}: {now} after {known}");
            known = now;
            if known == 3 {
                break;
            }
        }
    }
}

#[test]
fn a_puzzle_with_an_error_is_not_solved_but_one_with_a_warning_is() {
    let puzzle = classic(&format!("11{}", ".".repeat(79)));
    let certificate = certify(&puzzle, Duration::MAX).expect("the judges agree");
    assert_eq!((certificate.findings.len(), certificate.solutions), (2, None));

    let puzzle = killer([(vec![0], Some(9)), (vec![1, 80], None)], &[0; 81]);
    let certificate = certify(&puzzle, Duration::MAX).expect("the judges agree");
    assert_eq!(certificate.findings.len(), 2);
    assert!(matches!(certificate.solutions, Some(Solutions::Many(_))));
}

#[test]
fn the_judges_refuse_what_breaks_a_rule_of_the_puzzle() {
    let board = digits(SOLVED);
    let other_given = classic(&format!("1{}", ".".repeat(80)));
    assert!(is_right(&classic(SOLVED), &board));
    assert!(!is_right(&other_given, &board));
    assert!(is_right(&killer([(vec![0, 1], Some(14)), (vec![2, 3], None)], &[0; 81]), &board));
    assert!(!is_right(&killer([(vec![0, 1], Some(13))], &[0; 81]), &board));
    // r1c1 and r2c4 hold 6 and 8, r1c1 and r3c9 both 6.
    assert!(is_right(&killer([(vec![0, 12], None)], &[0; 81]), &board));
    assert!(!is_right(&killer([(vec![0, 26], None)], &[0; 81]), &board));
    let mut swapped = board.clone();
    swapped.swap(0, 1);
    assert!(!is_right(&classic(&".".repeat(81)), &swapped));

    let empty = Puzzle::new(Alphabet::AToP, &[0; 256]).expect("a puzzle");
    let full = Puzzle::new(Alphabet::AToP, &solved_16()).expect("a puzzle");
    let mut swapped = solved_16();
    assert!(is_right(&empty, &swapped) && is_right(&full, &swapped));
    swapped.swap(0, 1);
    assert!(!is_right(&empty, &swapped) && !is_right(&full, &swapped));
    assert!(!is_right(&empty, &[0; 256]));
}

#[test]
fn cages_that_no_digits_fit_have_no_solution() {
    let ten = (0..10).collect::<Vec<_>>();
    for cages in [
        vec![(ten.clone(), Some(45))],
        vec![(ten, None)],
        vec![(vec![0, 1], Some(2))],
        vec![(vec![0], Some(u32::MAX))],
        // Two cages fill a row, and their totals do not.
        vec![((0..4).collect(), Some(20)), ((4..9).collect(), Some(24))],
        vec![((0..9).collect(), Some(46))],
    ] {
        assert_eq!(solver::solve(&killer(cages, &[0; 81]), never), Solutions::None);
    }
}
