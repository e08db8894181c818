//! The proof of what is promised: that puzzles have exactly one solution, which then is their key.

use super::definition::Event;
use super::problem::Problem;
use crate::puzzle::certify::{Certificate, certify};
use gridmark_core::puzzle::Solutions;
use std::time::Duration;

/// Certifies all puzzles that are promised to have one solution, each for at most `time_limit`, and keeps the
/// solutions as their keys. Returns what is not as promised.
pub fn prove(event: &mut Event, time_limit: Duration) -> Vec<Problem> {
    let mut problems = Vec::new();
    for round in &mut event.rounds {
        for puzzle in &mut round.puzzles {
            let Some((file, line)) = puzzle.unique.clone() else { continue };
            let (source, number) = &puzzle.source;
            let found = match certify(&puzzle.puzzle, time_limit) {
                Ok(Certificate { solutions: Some(Solutions::One(solution)), .. }) => {
                    let is_known = puzzle.puzzle.keys().contains(&solution);
                    match puzzle.puzzle.clone().with_key(&solution) {
                        Ok(with_key) if !is_known => puzzle.puzzle = with_key,
                        _ => {}
                    }
                    continue;
                }
                Ok(Certificate { solutions: Some(Solutions::None), .. }) => {
                    "has no solution".into()
                }
                Ok(Certificate { solutions: Some(Solutions::Many(_)), .. }) => {
                    "has many solutions".into()
                }
                Ok(Certificate { solutions: Some(Solutions::Unproven(_)), .. }) => format!(
                    "is not proven to have one solution within {} s: allow more time",
                    time_limit.as_secs_f64()
                ),
                Ok(Certificate { solutions: None, findings }) => {
                    let errors = findings.iter().filter(|finding| finding.flaw.is_error());
                    let why: Vec<&str> = errors.map(|finding| finding.message.as_str()).collect();
                    format!("is invalid: {}", why.join("; "))
                }
                Err(error) => error.to_string(),
            };
            let message =
                format!("puzzle {} of {source} {found}, though `unique` is promised", number);
            problems.push(Problem { file, line: Some(line), message });
        }
    }
    problems
}
