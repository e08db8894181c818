//! Damage to a killer diagram costs that diagram alone: all others keep their marks.

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

/// How many files each kind of damage is tried on: `DAMAGE_ROUNDS`, by default 300.
fn rounds() -> u32 {
    std::env::var("DAMAGE_ROUNDS").map_or(300, |rounds| rounds.parse().unwrap())
}
