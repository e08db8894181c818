//! Damage to a killer diagram costs that diagram alone, and damage to a classic block that block, or the
//! next one too if a row is missing: all others keep their marks.

use super::*;
use proptest::prelude::*;

/// The lines of a diagram, the end of each included.
type Lines = Vec<Vec<u8>>;

/// Lines that may replace a line or be inserted.
const STRAY_LINES: [&str; 8] = [
    "",
    "x",
    "| 1 1 5",
    "+1 1 5",
    "+---",
    "9 9",
    "7 | 3 5 | 1",
    "+   +---+   +---+---+   +   +   +   +",
];

/// What the damage does to the lines of a diagram.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sort {
    Byte,
    Line,
    LineMore,
    LineLess,
}

fn lines_of(text: &str) -> Lines {
    text.split_inclusive('\n').map(|line| line.as_bytes().to_vec()).collect()
}

/// Damages one line, but not the end of the last one, behind which the next diagram begins.
fn damage(sort: Sort, lines: &mut Lines, chance: &mut Chance) {
    let number = chance.below(lines.len());
    let last = lines.len() - 1;
    let length = lines[number].len() - usize::from(number == last);
    match sort {
        Sort::Byte => {
            let at = chance.below(length);
            let byte = chance.pick(b"+-| 019x\n\r\t\xC2\xA0\xFF\0");
            match chance.below(3) {
                0 => lines[number].insert(at, byte),
                1 => drop(lines[number].remove(at)),
                _ => lines[number][at] = byte,
            }
        }
        Sort::Line => {
            let stray = match chance.below(3) {
                0 => lines[number][..chance.below(lines[number].len())].to_vec(),
                1 => chance.pick(&STRAY_LINES).into(),
                // Another line of the drawing.
                _ => lines[chance.below(19)].trim_ascii_end().to_vec(),
            };
            // A border at the end of a file would be a truncated drawing.
            let stray = if number == last && stray.starts_with(b"+") { b"x".into() } else { stray };
            lines[number] = [&stray[..], b"\n"].concat();
        }
        Sort::LineMore => {
            let stray = match chance.one_in(2) {
                true => chance.pick(&STRAY_LINES).into(),
                false => lines[chance.below(lines.len())].trim_ascii_end().to_vec(),
            };
            // Neither before the first line nor after the last one. A top border that occurs twice
            // could also be a line too many of the diagram before it.
            let at = 1 + chance.below(last);
            if at > 1 || stray != lines[0].trim_ascii_end() {
                lines.insert(at, [&stray[..], b"\n"].concat());
            }
        }
        Sort::LineLess => drop(lines.remove(number)),
    }
}

/// The marks of all diagrams but the one with this number.
fn others(marks: Vec<Mark>, damaged: usize) -> Vec<Mark> {
    let others = marks.into_iter().enumerate().filter(|(number, _)| *number != damaged);
    others.map(|(_, mark)| mark).collect()
}

fn marks(text: &[u8]) -> Vec<Mark> {
    let graded = grade(Some(Kind::Killer), Limits::default(), text);
    graded.into_iter().map(|case| case.mark).collect()
}

/// A file of some diagrams, right and wrong, of which one is damaged.
fn check_damage(seed: u64, sort: Sort) {
    let chance = &mut Chance(seed);
    let count = 2 + chance.below(4);
    let between = chance.pick(&["", "", "\n", " \n\n"]);
    let end: &[u8] = chance.pick(&[b"\n", b"\n", b"\r\n", b"\r"]);
    let diagrams = (0..count).map(|_| match chance.below(8) {
        0 => singles(),
        1 => one_cage(chance),
        2 => any_diagram(chance),
        _ => correct_diagram(chance),
    });
    let mut diagrams = diagrams.map(|text| lines_of(&(text + between))).collect::<Vec<_>>();
    let text = |diagrams: &[Lines]| with_ends(&diagrams.concat().concat(), &[end]);
    let before = marks(&text(&diagrams));
    assert_eq!(before.len(), count);
    let number = chance.below(count);
    let mut lines = diagrams[number].clone();
    lines.truncate(lines.len() - between.matches('\n').count());
    damage(sort, &mut lines, chance);
    diagrams[number] = lines;
    diagrams[number].extend(lines_of(between));
    let text = text(&diagrams);
    let after = marks(&text);
    let context = format!("{sort:?} in diagram {number}:\n{}", text.escape_ascii());
    assert_eq!(after.len(), count, "{context}");
    let (before, after) = (others(before, number), others(after, number));
    // Line numbers differ behind damage that adds or removes lines.
    let same = before.iter().zip(&after).all(|(before, after)| match (before, after) {
        (Mark::Unreadable(before), Mark::Unreadable(after)) => before.code == after.code,
        _ => before == after,
    });
    assert!(same, "{context}");
}

/// A diagram without walls inside.
fn one_cage(chance: &mut Chance) -> String {
    with_totals(drawing(&correct_grid(chance), &[false; 81], &[false; 81]), chance)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(), ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_byte_costs_one_diagram(seed: u64) {
        check_damage(seed, Sort::Byte);
    }

    #[test]
    fn a_line_that_is_replaced_or_cut_costs_one_diagram(seed: u64) {
        check_damage(seed, Sort::Line);
    }

    #[test]
    fn a_line_too_many_costs_one_diagram(seed: u64) {
        check_damage(seed, Sort::LineMore);
    }

    #[test]
    fn a_line_that_is_missing_costs_one_diagram(seed: u64) {
        check_damage(seed, Sort::LineLess);
    }
}

/// What happens to the lines of a classic block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum BlockDamage {
    RowLess,
    RowMore,
    RowBroken,
    PuzzleRow,
    NumberBehind,
}

/// A block with some right and some wrong solutions, of which rows may have lost blanks at their ends.
fn any_block(chance: &mut Chance) -> Lines {
    let solution = correct_grid(chance);
    let open = chance.pick(b".*0");
    let mut givens = solution.iter().map(|digit| if chance.one_in(3) { *digit } else { open });
    let mut givens = givens.by_ref().collect::<Vec<_>>();
    givens[72 + chance.below(9)] = open;
    let mut solutions = vec![solution; 1 + chance.below(3)];
    let number = chance.below(solutions.len());
    if chance.one_in(3) {
        solutions[number].swap(chance.below(81), chance.below(81));
    }
    let mut lines = lines_of(std::str::from_utf8(&block(&givens, &solutions)).unwrap());
    if chance.one_in(2) {
        let row = 10 + chance.below(lines.len() - 10);
        let kept = 1 + chance.below(8);
        lines[row].splice(kept..9, []);
    }
    lines
}

/// Damages a block. Returns whether the next block may be lost with it.
fn damage_block(sort: BlockDamage, lines: &mut Lines, chance: &mut Chance) -> bool {
    let row = 10 + chance.below(lines.len() - 10);
    match sort {
        BlockDamage::RowLess => drop(lines.remove(row)),
        BlockDamage::RowMore => {
            let more =
                (0..1 + chance.below(11)).map(|_| chance.pick(b"0123456789")).collect::<Vec<_>>();
            lines.insert(row + chance.below(2), [&more[..], b"\n"].concat());
        }
        BlockDamage::RowBroken => {
            let length = lines[row].len() - 1;
            let rest = lines[row].split_off(chance.below(length + 1));
            lines[row].push(b'\n');
            lines.insert(row + 1, rest);
        }
        BlockDamage::PuzzleRow => {
            let row = 1 + chance.below(9);
            let at = 1 + chance.below(8);
            match chance.below(3) {
                0 => lines[row][at] = b'x',
                1 => lines[row].insert(at, b'1'),
                _ => {
                    let rest = lines[row].split_off(at);
                    lines[row].push(b'\n');
                    lines.insert(row + 1, rest);
                }
            }
        }
        BlockDamage::NumberBehind => lines.push(b"7\n".into()),
    }
    sort == BlockDamage::RowLess
}

/// A file of some blocks of which one is damaged.
fn check_block_damage(seed: u64, sort: BlockDamage) {
    let chance = &mut Chance(seed);
    let mut blocks = (0..2 + chance.below(4)).map(|_| any_block(chance)).collect::<Vec<_>>();
    let marks = |blocks: &[Lines]| {
        let graded = grade(None, Limits::default(), &blocks.concat().concat());
        graded.into_iter().map(|case| case.mark).collect::<Vec<_>>()
    };
    let number = chance.below(blocks.len());
    let before = marks(&blocks[..number]);
    let (behind, next) = (marks(&blocks), blocks.len().min(number + 2));
    let solutions = |blocks: &[Lines]| blocks.iter().map(|lines| (lines.len() - 10) / 9).sum();
    let (all_behind, but_next): (usize, usize) =
        (solutions(&blocks[number + 1..]), solutions(&blocks[next..]));
    let cases_max = behind.len() + 2;
    let costs_next = damage_block(sort, &mut blocks[number], chance);
    let kept = if costs_next { but_next } else { all_behind };
    let after = marks(&blocks);
    let context =
        format!("{sort:?} in block {number}:\n{}", blocks.concat().concat().escape_ascii());
    assert!(if number == 0 { true } else { after.starts_with(&before) }, "{context}");
    assert!(after.ends_with(&behind[behind.len() - kept..]), "{context}");
    // A block that ends inside the file's last one has more missing solutions than it has.
    assert!(after.len() <= cases_max, "{} cases: {context}", after.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(), ..ProptestConfig::default() })]

    #[test]
    fn a_row_that_is_missing_costs_two_blocks(seed: u64) {
        check_block_damage(seed, BlockDamage::RowLess);
    }

    #[test]
    fn a_row_too_many_costs_one_block(seed: u64) {
        check_block_damage(seed, BlockDamage::RowMore);
    }

    #[test]
    fn a_row_that_is_broken_in_two_costs_one_block(seed: u64) {
        check_block_damage(seed, BlockDamage::RowBroken);
    }

    #[test]
    fn a_puzzle_that_is_damaged_costs_one_block(seed: u64) {
        check_block_damage(seed, BlockDamage::PuzzleRow);
    }

    #[test]
    fn a_number_behind_a_block_costs_no_other_block(seed: u64) {
        check_block_damage(seed, BlockDamage::NumberBehind);
    }
}

/// How many files each kind of damage is tried on: `DAMAGE_ROUNDS`, by default 300.
fn rounds() -> u32 {
    std::env::var("DAMAGE_ROUNDS").map_or(300, |rounds| rounds.parse().unwrap())
}
