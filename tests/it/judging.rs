//! Every tier of the kernels and the explanations agree with the oracle.

use super::core_kit::*;
use super::oracle;
use gridmark_core::Kind;
use gridmark_core::board::{Counted, Fault, Grid, Mark};
use gridmark_core::format::classic::Solution;
use gridmark_core::format::{Found, Limits, Reader, killer};
use gridmark_core::judge::{Judge, Tier, explain_classic, explain_killer, kernel};

const OPEN: [u8; 81] = [b'.'; 81];

fn places(faults: &[Fault]) -> Vec<oracle::FaultAt> {
    faults.iter().map(|fault| (fault.code(), fault.at().unwrap().to_string())).collect()
}

/// The faults of the only mark.
fn only_faults(marks: &[Mark]) -> Vec<oracle::FaultAt> {
    match marks {
        [Mark::Wrong(faults)] => places(faults),
        [Mark::Correct] => Vec::new(),
        marks => panic!("{marks:?}"),
    }
}

/// Checks one grid: by the kernels in some places of a batch, by the explanation, and as text.
fn check_classic(grid: &[u8], givens: &[u8]) {
    let cells = Grid::try_from(grid).unwrap();
    let givens = Grid::try_from(givens).unwrap();
    let rows_of = grid.chunks(9).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let expected = oracle::classic(&rows_of, &givens);
    let solution = Solution { cells, long_rows: [0; 9], characters: Vec::new() };
    let faults = places(&explain_classic(&solution, &givens));
    assert_eq!(faults, expected, "{}", grid.escape_ascii());
    let text = [b"1\n".to_vec(), rows(&givens, b"\n"), rows(grid, b"\n")].concat();
    for tier in Tier::available() {
        if givens == OPEN {
            check_kernel::<81>(tier, grid, b"", expected.is_empty());
            check_kernel::<90>(tier, grid, b"\n", expected.is_empty());
            check_kernel::<99>(tier, grid, b"\r\n", expected.is_empty());
        }
        for text in [text.clone(), with_ends(&text, &[b"\r\n"])] {
            // A cell that is a line end moves all cells behind it, so it is left to the tests of
            // reading.
            if !grid.iter().any(|cell| matches!(cell, b'\n' | b'\r')) {
                let marks = marks_in(tier, &text);
                let faults = only_faults(&marks);
                assert_eq!(faults, oracle::classic(&rows_of, &givens), "{tier} {text:?}");
            }
        }
    }
}

/// Checks one grid in the first, the last and two other places of a batch.
fn check_kernel<const BYTES: usize>(tier: Tier, grid: &[u8], end: &[u8], is_right: bool) {
    let grid = <[u8; BYTES]>::try_from(rows(grid, end)).unwrap();
    for (size, place) in [(1, 0), (kernel::LANES, 31), (kernel::LANES, 16), (9, 3)] {
        let mut batch = vec![[b'1'; BYTES]; size];
        batch[place] = grid;
        let right = kernel::classic(tier, &batch);
        assert_eq!(right, u32::from(is_right) << place, "{tier} {}", grid.escape_ascii());
    }
}

/// The marks of a file in one tier.
fn marks_in(tier: Tier, text: &[u8]) -> Vec<Mark> {
    let mut found = Found::default();
    Reader::new(None, Limits::default()).read(text, true, &mut found);
    let mut marks = Vec::new();
    Judge::new(tier).mark(text, &found.cases, &found.puzzles, &mut marks);
    marks
}

fn check_diagram(text: &str) {
    let expected = oracle::killer(text);
    let diagram = killer::diagram(text.as_bytes(), 1).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(places(&explain_killer(&diagram)), expected, "\n{text}");
    for tier in Tier::available() {
        for text in [text.as_bytes(), &with_ends(text.as_bytes(), &[b"\r\n"])] {
            let marks = marks_in(tier, text);
            let faults = only_faults(&marks);
            assert_eq!(faults, expected, "{tier}\n{}", text.escape_ascii());
        }
    }
}

#[test]
fn correct_grids_are_correct_and_every_changed_cell_is_noticed() {
    let chance = &mut Chance(1);
    let grid = correct_grid(chance);
    check_classic(&grid, &OPEN);
    for cell in 0..81 {
        for text in *b"123456789 0x\xFF" {
            let mut changed = grid.clone();
            changed[cell] = text;
            check_classic(&changed, &OPEN);
            check_classic(&changed, &grid);
        }
    }
}

#[test]
fn a_cyclic_square_is_wrong_in_its_boxes_alone() {
    let square = cyclic_square();
    check_classic(&square, &OPEN);
    let rows = square.chunks(9).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let faults = oracle::classic(&rows, &OPEN);
    assert_eq!(faults.iter().map(|faults| faults.0).collect::<Vec<_>>(), ["box-repeat"; 9]);
}

#[test]
fn each_house_alone_can_make_a_grid_wrong() {
    // Two cells of one column swap their digits: both rows are wrong, and both boxes unless it is
    // the same one. Likewise with a row.
    let chance = &mut Chance(2);
    for _ in 0..200 {
        let mut grid = correct_grid(chance);
        let (a, b, line) = (chance.below(9), chance.below(9), chance.below(9));
        if chance.one_in(2) {
            grid.swap(a * 9 + line, b * 9 + line);
        } else {
            grid.swap(line * 9 + a, line * 9 + b);
        }
        check_classic(&grid, &OPEN);
    }
}

#[test]
fn random_grids_get_the_faults_of_the_oracle() {
    let chance = &mut Chance(3);
    for _ in 0..2000 {
        let mut grid = correct_grid(chance);
        let givens = (0..81).map(|i| if chance.one_in(3) { grid[i] } else { b'.' });
        let givens = givens.collect::<Vec<_>>();
        for _ in 0..chance.below(4) {
            let (a, b) = (chance.below(81), chance.below(81));
            match chance.below(3) {
                0 => grid.swap(a, b),
                1 => grid[a] = chance.pick(b"123456789"),
                _ => grid[a] = chance.next() as u8,
            }
        }
        check_classic(&grid, &givens);
    }
    for _ in 0..500 {
        let grid = (0..81).map(|_| chance.pick(b"123456789")).collect::<Vec<_>>();
        check_classic(&grid, &OPEN);
    }
}

#[test]
fn grids_of_a_batch_do_not_mix() {
    let chance = &mut Chance(4);
    for size in 0..=kernel::LANES {
        let mut grids = Vec::new();
        let mut expected = 0u32;
        for lane in 0..size {
            let mut grid = correct_grid(chance);
            if chance.one_in(2) {
                grid[chance.below(81)] = b'x';
            } else {
                expected |= 1 << lane;
            }
            grids.push(Grid::try_from(grid).unwrap());
        }
        for tier in Tier::available() {
            assert_eq!(kernel::classic(tier, &grids), expected, "{tier}, {size} grids");
        }
    }
}

#[test]
fn many_batches_are_judged_like_one_at_a_time() {
    let chance = &mut Chance(44);
    let grids = (0..5 * kernel::LANES + 7).map(|_| {
        let mut grid = correct_grid(chance);
        if chance.one_in(2) {
            grid.swap(chance.below(81), chance.below(81));
        }
        Grid::try_from(grid).unwrap()
    });
    let grids = grids.collect::<Vec<_>>();
    for tier in Tier::available() {
        for size in 0..grids.len() {
            let grids = &grids[..size];
            let batches = grids.chunks(kernel::LANES);
            let expected = batches.map(|grids| kernel::classic(tier, grids)).collect::<Vec<_>>();
            let mut right = vec![7];
            kernel::classic_batches(tier, grids, &mut right);
            assert_eq!((right[0], &right[1..]), (7, &expected[..]), "{tier}, {size} grids");
        }
    }
}

#[test]
fn solutions_of_any_layout_get_the_faults_of_the_oracle() {
    let chance = &mut Chance(5);
    for _ in 0..400 {
        let givens = correct_grid(chance);
        let givens = givens.iter().map(|d| if chance.one_in(9) { *d } else { b'*' });
        let givens = givens.collect::<Vec<_>>();
        let mut solutions = Vec::new();
        for _ in 0..1 + chance.below(70) {
            let grid = correct_grid(chance);
            let mut rows = grid.chunks(9).map(<[u8]>::to_vec).collect::<Vec<_>>();
            for _ in 0..chance.below(3) {
                let row = &mut rows[chance.below(9)];
                let at = chance.below(row.len() + 1);
                match chance.below(6) {
                    0 => row.truncate(at),
                    1 => row.insert(at, chance.pick(b"1 x")),
                    2 => row.extend(b" \t \xC2\xA0\xA0"),
                    3 => row.extend(b"x \xA0"),
                    4 => row.splice(at.., b"  \xC2\xA0".to_vec()).for_each(drop),
                    _ => row.clear(),
                }
            }
            solutions.push(rows);
        }
        let mut text = format!("{}\n", solutions.len()).into_bytes();
        text.extend(rows(&givens, b"\n"));
        solutions.iter().flatten().for_each(|row| text.extend([row, b"\n".as_slice()].concat()));
        let graded = grade(None, Limits::default(), &text);
        assert_eq!(graded.len(), solutions.len());
        for (case, rows) in graded.iter().zip(&solutions) {
            let expected = oracle::classic(rows, &givens);
            let faults = only_faults(std::slice::from_ref(&case.mark));
            assert_eq!(faults, expected, "{rows:?}");
        }
    }
}

#[test]
fn diagrams_get_the_faults_of_the_oracle() {
    let chance = &mut Chance(6);
    for _ in 0..300 {
        let text = correct_diagram(chance);
        assert!(oracle::killer(&text).is_empty(), "\n{text}");
        check_diagram(&text);
        check_diagram(&any_diagram(chance));
    }
}

#[test]
fn every_changed_cell_and_total_of_a_correct_diagram_is_noticed() {
    let text = correct_diagram(&mut Chance(7));
    for cell in 0..81 {
        let at = (cell / 9 * 2 + 1) * 38 + cell % 9 * 4 + 2;
        for new in b"123456789 x".iter().filter(|new| **new != text.as_bytes()[at]) {
            let mut changed = text.clone();
            changed.replace_range(at..=at, &char::from(*new).to_string());
            assert!(!oracle::killer(&changed).is_empty());
            check_diagram(&changed);
        }
    }
    let (drawing, totals) = text.split_at(19 * 38);
    let totals = totals.lines().collect::<Vec<_>>();
    for number in 0..totals.len() {
        for total in ["0", "46", "999999999", "0000001"] {
            let mut totals = totals.iter().map(|line| line.to_string()).collect::<Vec<_>>();
            totals[number].replace_range(4.., total);
            let changed = format!("{drawing}{}\n", totals.join("\n"));
            let sums = oracle::killer(&changed).iter().any(|faults| faults.0 == "cage-sum");
            let same =
                text.lines().nth(19 + number).unwrap()[4..] == *total.trim_start_matches('0');
            if sums {
                check_diagram(&changed);
            } else {
                assert!(same || total == "0000001", "a wrong total is not noticed:\n{changed}");
            }
        }
    }
}

#[test]
fn one_cage_and_81_cages_and_all_rows_are_judged() {
    let chance = &mut Chance(8);
    let grid = correct_grid(chance);
    let (no, all) = ([false; 81], [true; 81]);
    let single = with_totals(drawing(&grid, &all, &all), chance);
    assert!(oracle::killer(&single).is_empty());
    let by_row = with_totals(drawing(&grid, &no, &all), chance);
    assert!(oracle::killer(&by_row).is_empty());
    let one = with_totals(drawing(&grid, &no, &no), chance);
    assert_eq!(oracle::killer(&one).len(), 1, "a cage of 81 cells repeats digits");
    [single, by_row, one].iter().for_each(|text| check_diagram(text));
    // More than fifteen times the same digit in one cage overflows a counter of four bits.
    for digit in *b"1289" {
        let same = with_totals(drawing(&[digit; 81], &no, &no), chance);
        check_diagram(&same);
    }
}

#[test]
fn boards_get_the_counts_of_the_oracle_one_at_a_time_and_in_batches() {
    use gridmark_core::format::hexudoku::{BLANK, board};
    let chance = &mut Chance(9);
    let mut texts = Vec::new();
    let mut expected = Vec::new();
    for number in 0..200 {
        let rows = any_board(chance, [1, 2, 3, 5, 20, 1000][number % 6]);
        texts.push(rows.join("\n") + "\n");
        expected.push(oracle::hexudoku(&rows));
    }
    let boards = texts.iter().map(|text| board(text.as_bytes(), 1).unwrap()).collect::<Vec<_>>();
    let rows_of = |board: &[u8; 256]| {
        let cell = |digit: &u8| match *digit {
            BLANK => '-',
            digit => char::from_digit(digit.into(), 16).unwrap().to_ascii_uppercase(),
        };
        board.chunks(16).map(|row| row.iter().map(cell).collect()).collect::<Vec<String>>()
    };
    let mut singles = boards.clone();
    for ((single, text), (rows, filled, blank, conflicts)) in
        singles.iter_mut().zip(&texts).zip(&expected)
    {
        let counted = gridmark_core::judge::hexudoku::fill(single);
        let counts = (counted.filled, counted.blank, counted.conflicts);
        assert_eq!(counts, (*filled as u16, *blank as u16, *conflicts as u16), "\n{text}");
        assert_eq!(&rows_of(single), rows, "\n{text}");
    }
    for tier in Tier::available() {
        for size in [0, 1, 2, 31, 32, 33, 200] {
            check_boards::<256>(tier, &texts[..size], b"", &expected);
            check_boards::<272>(tier, &texts[..size], b"\n", &expected);
            check_boards::<288>(tier, &texts[..size], b"\r\n", &expected);
        }
    }
    let graded = grade(None, Limits::default(), texts.concat().as_bytes());
    assert_eq!(graded.len(), texts.len());
    for (case, (_, filled, ..)) in graded.iter().zip(&expected) {
        assert_eq!(case.mark.answer(Kind::Hexudoku), filled.to_string());
    }
}

fn check_boards<const BYTES: usize>(
    tier: Tier,
    texts: &[String],
    end: &[u8],
    expected: &[(Vec<String>, usize, usize, usize)],
) {
    let board = |text: &String| with_ends(text.as_bytes(), &[end]).try_into().unwrap();
    let boards = texts.iter().map(board).collect::<Vec<[u8; BYTES]>>();
    let mut counts = Vec::new();
    kernel::hexudoku(tier, &boards, &mut counts);
    assert_eq!(counts.len(), texts.len());
    for (counted, (_, filled, blank, conflicts)) in counts.iter().zip(expected) {
        let counted = counted.unwrap();
        let counts = (counted.filled, counted.blank, counted.conflicts);
        assert_eq!(counts, (*filled as u16, *blank as u16, *conflicts as u16), "{tier}");
    }
}

#[test]
fn every_byte_in_every_cell_of_a_board_is_read() {
    for tier in Tier::available() {
        for text in 0..=u8::MAX {
            let is_cell = text.is_ascii_hexdigit() || text == b'-';
            let mut boards = [[b'-'; 256]; 256];
            boards.iter_mut().enumerate().for_each(|(cell, board)| board[cell] = text);
            let mut counts = Vec::new();
            kernel::hexudoku(tier, &boards, &mut counts);
            assert_eq!(counts.len(), 256);
            let is_right = |counted: &Option<Counted>| match counted {
                Some(counted) => {
                    is_cell && counted.blank + counted.filled == 256 - u16::from(text != b'-')
                }
                None => !is_cell,
            };
            assert!(counts.iter().all(is_right), "{tier} {text:#x}");
        }
    }
}

#[test]
fn tiers_are_known_by_name() {
    assert!(Tier::available().any(|tier| tier == Tier::best()));
    for tier in Tier::all() {
        match Tier::named(tier.name()) {
            Ok(named) => assert_eq!(named, *tier),
            Err(error) => assert!(error.to_string().starts_with("this processor cannot run")),
        }
    }
    let error = Tier::named("abacus").unwrap_err().to_string();
    assert!(error.starts_with("there is no kernel tier `abacus`; it can run portable"), "{error}");
}
