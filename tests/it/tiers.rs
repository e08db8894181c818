//! Tiers of the kernels: which one runs, and that they differ in nothing but speed.

use super::core_kit::*;
use super::oracle;
use gridmark::board::{Kind, Mark};
use gridmark::format::{Case, Found, Limits, Reader, Rows};
use gridmark::generate::{Generator, Options};
use gridmark::judge::{Judge, Tier, kernel};

#[test]
fn the_best_tier_of_this_processor_is_taken() {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        assert_eq!(Tier::best(), Tier::Avx2);
    }
    assert!(Tier::best().is_available());
    // Whoever runs the tests where a certain tier must not be missing says so.
    if let Ok(expected) = std::env::var("EXPECTED_KERNEL_TIER") {
        assert_eq!(Tier::best().name(), expected, "the kernels of another tier run here");
    }
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

/// All tiers give the same marks, and so does the way for cases that lie in no usual way.
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

/// Some cases of a kind, of which a part is wrong.
fn text_of(kind: Kind, cases: u64, seed: u64, faulty: f64) -> Vec<u8> {
    let options = Options { faulty, seed, solutions_per_block: 1 + seed as u32 % 70 };
    let (mut text, mut answers) = (Vec::new(), Vec::new());
    Generator::new(kind, options).append(cases, &mut text, &mut answers);
    text
}

#[test]
fn where_text_lies_in_memory_and_how_many_cases_it_holds_makes_no_difference() {
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
fn cases_as_nearly_all_are_lie_in_rows() {
    for kind in Kind::ALL {
        for (end, rows) in [(b"\n".as_slice(), Rows::Lf), (b"\r\n", Rows::CrLf)] {
            let text = with_ends(&text_of(kind, 40, 9, 0.0), &[end]);
            let cases = found(kind, &text).cases;
            assert_eq!(cases.len(), 40);
            // The end of the last diagram is known by the end of the file alone.
            let all = &cases[..if kind == Kind::Killer { 39 } else { 40 }];
            assert!(all.iter().all(|case: &Case| case.rows == rows), "{kind}");
        }
    }
}

#[test]
fn solutions_that_lie_in_different_ways_get_the_same_marks_side_by_side() {
    let chance = &mut Chance(80);
    for seed in 0..40 {
        let lf = text_of(Kind::Classic, 100, seed, 0.3);
        let cases = found(Kind::Classic, &lf).cases;
        let expected = check(Kind::Classic, &lf);
        // Each solution with line ends of its own; some in no usual way.
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

#[test]
fn every_byte_in_every_cell_of_a_grid_is_noticed_by_every_tier() {
    let grid = right_grid(&mut Chance(78));
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
fn houses_that_are_left_out_because_others_imply_them_are_right() {
    let chance = &mut Chance(79);
    for _ in 0..3000 {
        let mut grid = right_grid(chance);
        for _ in 0..1 + chance.below(3) {
            // Digits change places within a box, a row or a column, which stays right.
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
