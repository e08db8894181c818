//! Certification: whether a puzzle has exactly one solution.
//!
//! First the [`lint`], then a proof. A 9x9 puzzle without cages is
//! [searched](gridmark_core::puzzle::search), which takes microseconds; everything else goes to a
//! SAT solver. Neither is trusted: each grid that they find has to pass the judges that mark entries.

mod solver;
#[cfg(test)]
mod tests;

use gridmark_core::board::{CELLS_9, Mark};
use gridmark_core::judge::Against;
use gridmark_core::puzzle::{Finding, Puzzle, Solutions, lint, search};
use std::time::{Duration, Instant};

/// What is known of a puzzle after certification.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// What the lint found.
    pub findings: Vec<Finding>,
    /// The solutions; `None` if some finding is an error, since then nothing can solve the puzzle.
    pub solutions: Option<Solutions>,
}

/// A proof and the judges contradict each other, which is a mistake of gridmark's.
#[derive(Debug, thiserror::Error)]
#[error(
    "the proof and the judges of gridmark contradict each other: please report this, with the puzzle"
)]
pub struct Contradiction;

/// Certifies a puzzle. It is always taken as one to be completed, whatever its task.
///
/// It ends within `time_limit`, give or take some milliseconds, if need be with
/// [`Solutions::Unproven`].
///
/// # Errors
///
/// A grid that was found does not pass the judges, or a key of the puzzle is not among its solutions.
pub fn certify(puzzle: &Puzzle, time_limit: Duration) -> Result<Certificate, Contradiction> {
    let start = Instant::now();
    let findings = lint(puzzle);
    if findings.iter().any(|finding| finding.flaw.is_error()) {
        return Ok(Certificate { findings, solutions: None });
    }
    let solutions = prove(puzzle, || start.elapsed() >= time_limit)?;
    Ok(Certificate { findings, solutions: Some(solutions) })
}

/// Counts the solutions of a puzzle, up to two, until `stop` says yes; it is asked at each step. Equal
/// puzzles and equal answers give equal results.
///
/// # Errors
///
/// As [`certify`].
pub fn prove(puzzle: &Puzzle, stop: impl Fn() -> bool) -> Result<Solutions, Contradiction> {
    let solutions = match <&[u8; CELLS_9]>::try_from(puzzle.givens()) {
        Ok(givens) if puzzle.cages().is_empty() => search(givens, &mut || !stop()),
        _ => solver::solve(puzzle, stop),
    };
    check(puzzle, solutions)
}

/// Whether the judges agree with what was proved.
fn check(puzzle: &Puzzle, solutions: Solutions) -> Result<Solutions, Contradiction> {
    let (found, may_be_more) = match &solutions {
        Solutions::None => (&[][..], false),
        Solutions::One(only) => (std::slice::from_ref(only), false),
        Solutions::Many(two) => (&two[..], true),
        Solutions::Unproven(first) => (first.as_slice(), true),
    };
    let differ = found.windows(2).all(|two| two[0] != two[1]);
    let are_right = found.iter().all(|board| is_right(puzzle, board));
    let has_keys = may_be_more || puzzle.keys().iter().all(|key| found.contains(key));
    if differ && are_right && has_keys { Ok(solutions) } else { Err(Contradiction) }
}

/// Whether the judge of entries calls this board right, by the rules alone.
fn is_right(puzzle: &Puzzle, board: &[u8]) -> bool {
    let asked = Puzzle::new(puzzle.alphabet(), puzzle.givens())
        .and_then(|asked| asked.with_cages(puzzle.cages().to_vec()));
    asked.is_ok_and(|asked| Against::new(asked).digits(board).0 == Mark::Correct)
}
