//! A killer diagram that is damaged costs itself alone: all others keep their answers and places.

use super::*;
use proptest::prelude::*;

/// The lines of a diagram, the end of each included.
type Lines = Vec<Vec<u8>>;

/// What may stand in the place of a line, or beside it.
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

/// Whether a damage keeps 19 lines to the drawing, or takes one away or adds one.
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

/// Does some damage to one line, but not to the end of the last one, behind which is the next
/// diagram.
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
                // Any other line of the drawing.
                _ => lines[chance.below(19)].trim_ascii_end().to_vec(),
            };
            // A border at the end of a file is a drawing of which nothing else is there.
            let stray = if number == last && stray.starts_with(b"+") { b"x".into() } else { stray };
            lines[number] = [&stray[..], b"\n"].concat();
        }
        Sort::LineMore => {
            let stray = match chance.one_in(2) {
                true => chance.pick(&STRAY_LINES).into(),
                false => lines[chance.below(lines.len())].trim_ascii_end().to_vec(),
            };
            // Not before the first line nor behind the last one. A top border that is there twice may
            // as well be a line too many of the diagram before it.
            let at = 1 + chance.below(last);
            if at > 1 || stray != lines[0].trim_ascii_end() {
                lines.insert(at, [&stray[..], b"\n"].concat());
            }
        }
        Sort::LineLess => drop(lines.remove(number)),
    }
}

/// The marks of all diagrams but one.
fn others(marks: Vec<Mark>, but: usize) -> Vec<Mark> {
    let others = marks.into_iter().enumerate().filter(|(number, _)| *number != but);
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
        _ => right_diagram(chance),
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
    let told = format!("{sort:?} in diagram {number}:\n{}", text.escape_ascii());
    assert_eq!(after.len(), count, "{told}");
    let (before, after) = (others(before, number), others(after, number));
    // Lines differ behind a damage that adds some or takes them away.
    let same = before.iter().zip(&after).all(|(before, after)| match (before, after) {
        (Mark::Unreadable(before), Mark::Unreadable(after)) => before.code == after.code,
        _ => before == after,
    });
    assert!(same, "{told}");
}

/// A diagram whose walls are only those around it.
fn one_cage(chance: &mut Chance) -> String {
    with_totals(drawing(&right_grid(chance), &[false; 81], &[false; 81]), chance)
}

/// A diagram of 81 cages: all its borders are like the top one.
fn singles() -> String {
    let chance = &mut Chance(2);
    with_totals(drawing(&right_grid(chance), &[true; 81], &[true; 81]), chance)
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

/// How many files each damage is tried on: 300, or `DAMAGE_ROUNDS`.
fn rounds() -> u32 {
    std::env::var("DAMAGE_ROUNDS").map_or(300, |rounds| rounds.parse().unwrap())
}
