//! Submissions whose right marks are known: of each kind with right, wrong and unreadable cases, and
//! one that is of no kind.

use gridmark_core::Kind;
use gridmark_core::generate::{Generator, Options};

/// Cases that are made of each kind; one more is damaged.
const CASES: u64 = 12;

/// How many lines of the damaged one are left.
const LINES_LEFT: usize = 10;

/// A submission and what is to be marked.
pub(super) struct Work {
    /// Its name in its folder.
    pub(super) name: String,
    /// Its kind, if it is of one.
    pub(super) kind: Option<Kind>,
    /// What is in it.
    pub(super) text: Vec<u8>,
    /// The answer of each case, or nothing if it is unreadable.
    pub(super) answers: Vec<Option<String>>,
}

/// One of each kind, and one of none.
pub(super) fn all() -> Vec<Work> {
    let mut all = Kind::ALL.map(of_kind).into_iter().collect::<Vec<_>>();
    all.push(Work {
        name: "none.txt".to_owned(),
        kind: None,
        text: b"This is no puzzle; gridmark doctor put it here.\n".to_vec(),
        answers: vec![None],
    });
    all
}

fn of_kind(kind: Kind) -> Work {
    let options = Options { faulty: 0.5, seed: 17, solutions_per_block: CASES as u32 };
    let mut generator = Generator::new(kind, options);
    let (mut text, mut answers) = (Vec::new(), Vec::new());
    generator.append(CASES, &mut text, &mut answers);
    let answers = String::from_utf8_lossy(&answers);
    let words = answers.lines().flat_map(|line| match kind {
        // A letter a solution, a line a block.
        Kind::Classic => line.chars().map(String::from).collect(),
        Kind::Killer | Kind::Hexudoku => vec![line.to_owned()],
    });
    let mut answers = words.map(Some).collect::<Vec<_>>();
    let (mut damaged, mut ignored) = (Vec::new(), Vec::new());
    generator.append(1, &mut damaged, &mut ignored);
    // It ends inside the drawing, the block or the board.
    let lines = damaged.split_inclusive(|&byte| byte == b'\n').take(LINES_LEFT);
    text.extend(lines.flatten());
    answers.push(None);
    Work { name: format!("{}.txt", kind.word()), kind: Some(kind), text, answers }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_has_right_and_wrong_cases_and_one_that_is_unreadable() {
        for work in all() {
            let answers = work.answers.iter().flatten().map(String::as_str);
            let answers = answers.collect::<BTreeSet<_>>();
            match work.kind {
                Some(Kind::Killer) => assert_eq!(answers, BTreeSet::from(["OK", "NotOK"])),
                Some(Kind::Classic) => assert_eq!(answers, BTreeSet::from(["Y", "N"])),
                Some(Kind::Hexudoku) => assert!(answers.len() > 3, "{answers:?}"),
                None => assert!(answers.is_empty()),
            }
            assert_eq!(work.answers.last(), Some(&None));
            assert!([1, CASES as usize + 1].contains(&work.answers.len()));
        }
    }
}
