//! Tiers of the kernels: which one runs, and that only their speed differs.

use super::core_kit::*;
use super::oracle;
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::format::{Case, CaseText, Found, Limits, Reader, Rows, killer};
use gridmark_core::generate::{Generator, Options};
use gridmark_core::judge::{Judge, Tier, explain_killer, kernel};

#[test]
fn the_best_tier_of_this_processor_is_taken() {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512vbmi") && is_x86_feature_detected!("avx512bw") {
        assert_eq!(Tier::best(), Tier::Avx512);
    } else if is_x86_feature_detected!("avx2") {
        assert_eq!(Tier::best(), Tier::Avx2);
    }
    assert!(Tier::best().is_available());
}

fn found(kind: Kind, text: &[u8]) -> Found {
    let mut found = Found::default();
    let consumed = Reader::new(Some(kind), Limits::default()).read(text, true, &mut found);
    assert_eq!(consumed, text.len());
    found
}

fn marks(tier: Tier, text: &[u8], found: &Found) -> Vec<Mark> {
    let mut marks = Vec::new();
    Judge::new(tier).mark(text, &found.cases, &found.puzzles, &mut marks);
    marks
}

/// All tiers give the same marks, and so does the way for cases that are not regular.
fn check(kind: Kind, text: &[u8]) -> Vec<Mark> {
    let mut found = found(kind, text);
    let expected = marks(Tier::Portable, text, &found);
    for tier in Tier::available() {
        assert_eq!(marks(tier, text, &found), expected, "{tier} {}", text.escape_ascii());
    }
    found.cases.iter_mut().for_each(|case| case.rows = Rows::Any);
    assert_eq!(marks(Tier::best(), text, &found), expected, "{}", text.escape_ascii());
    expected
}

/// Cases of a kind, of which the share `faulty` is faulty.
fn text_of(kind: Kind, cases: u64, seed: u64, faulty: f64) -> Vec<u8> {
    let options = Options { faulty, seed, solutions_per_block: 1 + seed as u32 % 70 };
    let (mut text, mut answers) = (Vec::new(), Vec::new());
    Generator::new(kind, options).append(cases, &mut text, &mut answers);
    text
}

#[test]
fn the_place_in_memory_and_the_number_of_cases_make_no_difference() {
    for kind in Kind::ALL {
        for end in [b"\n".as_slice(), b"\r\n"] {
            for offset in 0..64 {
                let text = with_ends(&text_of(kind, offset + 1, offset, 0.4), &[end]);
                let expected = check(kind, &text);
                // The text ends where its memory ends.
                let moved = [vec![b'5'; offset as usize], text].concat().into_boxed_slice();
                assert_eq!(check(kind, &moved[offset as usize..]), expected);
            }
        }
    }
}

#[test]
fn regular_cases_are_found_as_such() {
    for kind in Kind::ALL {
        for (end, rows) in [(b"\n".as_slice(), Rows::Lf), (b"\r\n", Rows::CrLf)] {
            let text = with_ends(&text_of(kind, 40, 9, 0.0), &[end]);
            let cases = found(kind, &text).cases;
            assert_eq!(cases.len(), 40);
            // The last diagram ends with the file, which is not regular.
            let all = &cases[..if kind == Kind::Killer { 39 } else { 40 }];
            assert!(all.iter().all(|case: &Case| case.rows == rows), "{kind}");
        }
    }
}

#[test]
fn solutions_of_different_layouts_get_the_same_marks_side_by_side() {
    let chance = &mut Chance(80);
    for seed in 0..40 {
        let lf = text_of(Kind::Classic, 100, seed, 0.3);
        let cases = found(Kind::Classic, &lf).cases;
        let expected = check(Kind::Classic, &lf);
        // Each solution has line ends of its own; some are not regular.
        let (mut text, mut done) = (Vec::new(), 0);
        for case in &cases {
            text.extend_from_slice(&lf[done..case.start]);
            let end: &[u8] = chance.pick(&[b"\n".as_slice(), b"\r\n", b" \n"]);
            text.extend(with_ends(&lf[case.start..case.end], &[end]));
            done = case.end;
        }
        assert_eq!(check(Kind::Classic, &text), expected, "{}", text.escape_ascii());
    }
}

#[test]
fn bytes_that_matter_get_the_same_marks_in_all_tiers() {
    let chance = &mut Chance(77);
    for seed in 0..300 {
        for kind in Kind::ALL {
            let mut text = text_of(kind, 1 + seed % 5, seed, 0.4);
            for _ in 0..1 + chance.below(5) {
                let at = chance.below(text.len());
                match chance.below(3) {
                    0 => text[at] = chance.pick(b"123456789 -+|0aFx\n\r\xA0\xC2\xEF\x80\xB1"),
                    1 => text.insert(at, chance.pick(b"1 \n\r\xA0")),
                    _ => drop(text.remove(at)),
                }
            }
            let ends: &[&[u8]] = if chance.one_in(2) { &[b"\n"] } else { &[b"\r\n"] };
            check(kind, &with_ends(&text, ends));
        }
    }
}

/// The walls of a drawing, right and below, that make one cage of the cells on a path, and a cage
/// of each other cell.
fn walls_beside(path: &[usize]) -> (Vec<bool>, Vec<bool>) {
    let (mut right, mut below) = (vec![true; 81], vec![true; 81]);
    for two in path.windows(2) {
        let (first, last) = (two[0].min(two[1]), two[0].max(two[1]));
        if last - first == 1 { right[first] = false } else { below[first] = false }
    }
    (right, below)
}

/// A path through columns `0..width`, row by row, in alternating directions.
fn snake(width: usize) -> Vec<usize> {
    let row = |row: usize| {
        let column = move |i: usize| if row.is_multiple_of(2) { i } else { width - 1 - i };
        (0..width).map(move |i| row * 9 + column(i))
    };
    (0..9).flat_map(row).collect()
}

/// A path from the first cell along the edge, and then further inwards.
fn spiral() -> Vec<usize> {
    let (mut path, mut seen) = (vec![0], [false; 81]);
    let (mut row, mut column, mut step) = (0isize, 0isize, (0, 1));
    seen[0] = true;
    while path.len() < 81 {
        let (to_row, to_column) = (row + step.0, column + step.1);
        let is_free = (0..9).contains(&to_row)
            && (0..9).contains(&to_column)
            && !seen[(to_row * 9 + to_column) as usize];
        if is_free {
            (row, column) = (to_row, to_column);
            let cell = (row * 9 + column) as usize;
            seen[cell] = true;
            path.push(cell);
        } else {
            step = (step.1, -step.0);
        }
    }
    path
}

#[test]
fn cages_of_any_shape_are_found_by_every_tier() {
    let chance = &mut Chance(80);
    let turned = |path: &[usize]| path.iter().map(|cell| cell % 9 * 9 + cell / 9).collect();
    let mut paths = (1..=9).map(snake).collect::<Vec<Vec<usize>>>();
    paths.push(spiral());
    let turned = paths.iter().map(|path| turned(path)).collect::<Vec<Vec<usize>>>();
    for path in paths.iter().chain(&turned) {
        let grid = correct_grid(chance);
        // First all of it is one cage; then it is divided into cages in which no digit repeats.
        let (mut right, mut below) = walls_beside(path);
        let whole = with_totals(drawing(&grid, &right, &below), chance);
        let mut digits = Vec::new();
        for (i, cell) in path.iter().enumerate() {
            if digits.contains(&grid[*cell]) {
                digits.clear();
                let (first, last) = (path[i - 1].min(*cell), path[i - 1].max(*cell));
                if last - first == 1 { right[first] = true } else { below[first] = true }
            }
            digits.push(grid[*cell]);
        }
        let cut = with_totals(drawing(&grid, &right, &below), chance);
        for text in [&whole, &cut] {
            let is_right = oracle::killer(text).is_empty();
            for text in [text.clone().into_bytes(), with_ends(text.as_bytes(), &[b"\r\n"])] {
                let is_plain = [u32::from(is_right)].repeat(Tier::available().count());
                assert_eq!(correct_in_tiers(&text), is_plain, "{}", text.escape_ascii());
                let marks = check(Kind::Killer, &text);
                assert_eq!(marks[0] == Mark::Correct, is_right);
            }
        }
        assert!(oracle::killer(&cut).is_empty());
    }
}

/// Which diagrams of a text the kernel of each tier calls correct.
fn correct_in_tiers(text: &[u8]) -> Vec<u32> {
    let found = found(Kind::Killer, text);
    Tier::available().map(|tier| kernel::killer(tier, text, &found.cases)).collect()
}

#[test]
fn regular_correct_diagrams_are_correct_for_the_kernels_of_every_tier() {
    for cases in 1..=kernel::LANES as u64 {
        for end in [b"\n".as_slice(), b"\r\n"] {
            let text = with_ends(&text_of(Kind::Killer, cases, cases, 0.0), &[end]);
            let all = u32::MAX >> (kernel::LANES as u64 - cases);
            assert!(correct_in_tiers(&text).iter().all(|right| *right == all), "{cases}");
        }
    }
}

#[test]
fn every_byte_in_every_place_of_a_diagram_is_noticed_by_every_tier() {
    for end in [b"\n".as_slice(), b"\r\n"] {
        let text = with_ends(correct_diagram(&mut Chance(81)).as_bytes(), &[end]);
        for place in 0..text.len() {
            for byte in 0..=u8::MAX {
                let mut changed = text.clone();
                changed[place] = byte;
                let cases = [Case {
                    start: 0,
                    end: text.len(),
                    line: 1,
                    block_end: true,
                    rows: Rows::Any,
                    text: CaseText::Killer,
                }];
                let of_tiers = Tier::available().map(|tier| kernel::killer(tier, &changed, &cases));
                let of_tiers = of_tiers.collect::<Vec<_>>();
                let is_right = killer::diagram(&changed, 1)
                    .is_ok_and(|diagram| explain_killer(&diagram).is_empty());
                for right in &of_tiers {
                    assert_eq!(*right, of_tiers[0], "{place} {byte}");
                    assert!(*right == 0 || is_right, "{place} {byte}");
                    assert!(*right == 1 || changed != text, "{place} {byte}");
                }
            }
        }
    }
}

#[test]
fn diagrams_with_some_bytes_changed_get_the_same_marks_in_all_tiers() {
    let chance = &mut Chance(82);
    let mut right = 0;
    for number in 0..2000 {
        let text = match number % 3 {
            0 => any_diagram(chance),
            _ => correct_diagram(chance),
        };
        let text = if chance.one_in(3) { text.repeat(2) } else { text };
        let end: &[u8] = if chance.one_in(2) { b"\n" } else { b"\r\n" };
        let mut text = with_ends(text.as_bytes(), &[end]);
        for _ in 0..chance.below(4) {
            let at = chance.below(text.len());
            match chance.below(8) {
                0 => text[at] = chance.next() as u8,
                1 => text.insert(at, chance.pick(b"1 +|-\n\r")),
                2 => drop(text.remove(at)),
                3 => text.swap(at, at / 2),
                // A wall is removed or added.
                4 => text[at] = if text[at] == b'|' { b' ' } else { b'|' },
                _ => text[at] = chance.pick(b"123456789 -+|0\n\r"),
            }
        }
        let marks = check(Kind::Killer, &text);
        right += marks.iter().filter(|mark| **mark == Mark::Correct).count();
    }
    assert!(right > 200, "{right}");
}

#[test]
fn every_byte_in_every_cell_of_a_grid_is_noticed_by_every_tier() {
    let grid = correct_grid(&mut Chance(78));
    let grid = <[u8; 81]>::try_from(grid).unwrap();
    for tier in Tier::available() {
        for cell in 0..81 {
            for eight in 0..32 {
                // Eight bytes at a time, in lanes that move from cell to cell.
                let mut batch = [grid; kernel::LANES];
                let lane = |i: usize| (i * 4 + cell) % kernel::LANES;
                (0..8).for_each(|i| batch[lane(i)][cell] = (eight * 8 + i) as u8);
                let wrong = (0..8).filter(|i| batch[lane(*i)][cell] != grid[cell]);
                let wrong = wrong.fold(0u32, |wrong, i| wrong | 1 << lane(i));
                assert_eq!(kernel::classic(tier, &batch), !wrong, "{tier} {cell} {eight}");
            }
        }
    }
}

#[test]
fn houses_that_kernels_skip_are_implied_by_others() {
    let chance = &mut Chance(79);
    for _ in 0..3000 {
        let mut grid = correct_grid(chance);
        for _ in 0..1 + chance.below(3) {
            // Two digits of a house swap places, which leaves that house correct.
            let (house, a, b) = (chance.below(27), chance.below(9), chance.below(9));
            let place = |i: usize| match house / 9 {
                0 => house % 9 * 9 + i,
                1 => i * 9 + house % 9,
                _ => (house % 9 / 3 * 3 + i / 3) * 9 + house % 3 * 3 + i % 3,
            };
            grid.swap(place(a), place(b));
        }
        let rows = grid.chunks(9).map(<[u8]>::to_vec).collect::<Vec<_>>();
        let is_right = oracle::classic(&rows, &[b'.'; 81]).is_empty();
        let grid = <[u8; 81]>::try_from(grid).unwrap();
        for tier in Tier::available() {
            assert_eq!(kernel::classic(tier, &[grid]) == 1, is_right, "{tier}");
        }
    }
}
