//! Certification: how long the proof takes that a puzzle has one solution.

use crate::Plan;
use crate::page::{Goal, Page};
use gridmark::puzzle::certify::{certify, prove};
use gridmark_core::Kind;
use gridmark_core::generate::Puzzles;
use gridmark_core::puzzle::{Alphabet, Puzzle, Solutions};
use std::time::{Duration, Instant};

/// Far more than a proof may take.
const TIME_MAX: Duration = Duration::from_secs(60);

/// What the slowest proof may take where the solver is needed, in milliseconds.
const SLOWEST_MS_MAX: f64 = 100.0;

/// Puzzles that need much branching, with their solutions: by Arto Inkala, and one with 17 givens from
/// Gordon Royle's collection.
const HARD: [[&str; 2]; 2] = [
    [
        "800000000003600000070090200050007000000045700000100030001000068008500010090000400",
        "812753649943682175675491283154237896369845721287169534521974368438526917796318452",
    ],
    [
        "000000010400000000020000000000050407008000300001090000300400200050100000000806000",
        "693784512487512936125963874932651487568247391741398625319475268856129743274836159",
    ],
];

pub fn run(plan: &Plan, page: &mut Page) {
    for kind in Kind::ALL {
        if plan.wants(&format!("certify/{kind}")) {
            let counts = match kind {
                Kind::Classic => (1_000, 20),
                Kind::Killer => (100, 2),
                Kind::Hexudoku => (10, 1),
            };
            measure(kind, plan.either(counts.0, counts.1), page);
        }
    }
}

/// Certifies puzzles of a kind, each of which has the one solution that is its key.
fn measure(kind: Kind, count: usize, page: &mut Page) {
    let mut generator = Puzzles::new(kind, 3);
    let mut next =
        || generator.next(&mut |puzzle| prove(puzzle, || false).expect("the judges agree"));
    let mut puzzles = (0..count).map(|_| next()).collect::<Vec<_>>();
    if kind == Kind::Classic {
        puzzles.extend(HARD.map(hard));
    }
    let (mut all, mut slowest) = (Duration::ZERO, Duration::ZERO);
    for puzzle in &puzzles {
        let start = Instant::now();
        let certificate = certify(puzzle, TIME_MAX).expect("the judges agree");
        let took = start.elapsed();
        assert_eq!(certificate.solutions, Some(Solutions::One(puzzle.keys()[0].clone())));
        all += took;
        slowest = slowest.max(took);
    }
    let name = format!("certify/{kind}");
    let mean = all / puzzles.len() as u32;
    page.note(format!("{name:<24} {mean:.1?} a puzzle, {slowest:.1?} the slowest"));
    if kind != Kind::Classic {
        let slowest = slowest.as_secs_f64() * 1e3;
        page.add(
            format!("{name}, the slowest puzzle"),
            slowest,
            " ms",
            Goal::AtMost(SLOWEST_MS_MAX),
        );
    }
}

fn hard(texts: [&str; 2]) -> Puzzle {
    let [givens, solution] = texts.map(|text| text.bytes().map(|b| b - b'0').collect::<Vec<_>>());
    let puzzle = Puzzle::new(Alphabet::OneToNine, &givens).expect("digits");
    puzzle.with_key(&solution).expect("a solution")
}
