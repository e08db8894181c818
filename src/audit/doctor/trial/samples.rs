//! Submissions with known marks: one of each kind, with correct, wrong and unreadable cases, and one of
//! no kind.

use gridmark_core::Kind;
use gridmark_core::generate::{Generator, Options};

/// How many whole cases each kind has; one more is cut off.
const CASES: u64 = 12;
/// How many lines of the last case are kept.
const LINES_LEFT: usize = 10;

/// A submission and its marks.
pub(super) struct Sample {
    /// Its file name.
    pub(super) name: String,
    /// Its kind; `None` if it has none.
    pub(super) kind: Option<Kind>,
    /// Its contents.
    pub(super) text: Vec<u8>,
    /// The answer of each case; `None` if the case is unreadable.
    pub(super) answers: Vec<Option<String>>,
}

/// A submission of each kind, and one of none.
pub(super) fn all() -> Vec<Sample> {
    let mut all = Kind::ALL.map(of_kind).into_iter().collect::<Vec<_>>();
    all.push(Sample {
        name: "none.txt".to_owned(),
        kind: None,
        text: b"This is not a puzzle; gridmark doctor put it here.\n".to_vec(),
        answers: vec![None],
    });
    all
}

fn of_kind(kind: Kind) -> Sample {
    let options = Options { faulty: 0.5, seed: 17, solutions_per_block: CASES as u32 };
    let mut generator = Generator::new(kind, options);
    let (mut text, mut answers) = (Vec::new(), Vec::new());
    generator.append(CASES, &mut text, &mut answers);
    let answers = String::from_utf8_lossy(&answers);
    let words = answers.lines().flat_map(|line| match kind {
        // A letter for each solution, a line for each block.
        Kind::Classic => line.chars().map(String::from).collect(),
        Kind::Killer | Kind::Hexudoku => vec![line.to_owned()],
    });
    let mut answers = words.map(Some).collect::<Vec<_>>();
    let (mut damaged, mut ignored) = (Vec::new(), Vec::new());
    generator.append(1, &mut damaged, &mut ignored);
    // It is cut off inside the drawing, the block or the board.
    let lines = damaged.split_inclusive(|&byte| byte == b'\n').take(LINES_LEFT);
    text.extend(lines.flatten());
    answers.push(None);
    Sample { name: format!("{}.txt", kind.word()), kind: Some(kind), text, answers }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_has_correct_and_wrong_cases_and_an_unreadable_one() {
        for sample in all() {
            let answers = sample.answers.iter().flatten().map(String::as_str);
            let answers = answers.collect::<BTreeSet<_>>();
            match sample.kind {
                Some(Kind::Killer) => assert_eq!(answers, BTreeSet::from(["OK", "NotOK"])),
                Some(Kind::Classic) => assert_eq!(answers, BTreeSet::from(["Y", "N"])),
                Some(Kind::Hexudoku) => assert!(answers.len() > 3, "{answers:?}"),
                None => assert!(answers.is_empty()),
            }
            assert_eq!(sample.answers.last(), Some(&None));
            assert!([1, CASES as usize + 1].contains(&sample.answers.len()));
        }
    }
}
