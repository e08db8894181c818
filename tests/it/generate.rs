//! Generated cases: reproducible, and with the answers that reading and judging give.

use crate::core_kit::answers;
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::format::{CaseText, Found, Limits, Reader, killer};
use gridmark_core::generate::{Generator, Options};
use gridmark_core::judge::{Judge, Tier};
use std::collections::BTreeSet;

/// A generated stream, read and judged.
struct Work {
    text: Vec<u8>,
    answers: Vec<u8>,
    found: Found,
    marks: Vec<Mark>,
}

impl Work {
    fn new(kind: Kind, cases: u64, options: Options) -> Work {
        let (text, answers) = generated(kind, cases, options);
        let mut found = Found::default();
        Reader::new(None, Limits::default()).read(&text, true, &mut found);
        let mut marks = Vec::new();
        Judge::new(Tier::best()).mark(&text, &found.cases, &found.puzzles, &mut marks);
        Work { text, answers, found, marks }
    }

    fn count(&self, counts: impl Fn(&Mark) -> bool) -> usize {
        self.marks.iter().filter(|mark| counts(mark)).count()
    }
}

fn generated(kind: Kind, cases: u64, options: Options) -> (Vec<u8>, Vec<u8>) {
    let (mut text, mut answers) = (Vec::new(), Vec::new());
    Generator::new(kind, options).append(cases, &mut text, &mut answers);
    (text, answers)
}

fn is_faulty(mark: &Mark) -> bool {
    match mark {
        Mark::Correct => false,
        Mark::Wrong(_) => true,
        Mark::Counted(counted) => counted.conflicts > 0,
        Mark::Unreadable(why) => panic!("generated work is readable: {why}"),
    }
}

/// Once published, a seed's bytes never change: others compare what they measured with them.
#[test]
fn a_seed_gives_the_same_bytes_for_ever() {
    let options = Options { faulty: 0.5, seed: 2026, solutions_per_block: 10 };
    let hashes = Kind::ALL.map(|kind| {
        let (text, answers) = generated(kind, 1_000, options.clone());
        let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex()[..16].to_owned();
        format!("{kind} {} {}", hash(&text), hash(&answers))
    });
    insta::assert_snapshot!(hashes.join("\n"), @"
killer bdcd11f496943093 90637bbc20efb17c
classic 855db236d5493da9 9b0f7de7bb604515
hexudoku 0ff5d78acc6e2bf7 4059b488caa57d1e
");
}

#[test]
fn another_seed_gives_other_bytes() {
    for kind in Kind::ALL {
        let of = |seed| generated(kind, 20, Options { seed, ..Options::default() }).0;
        assert_ne!(of(1), of(2), "{kind}");
    }
}

#[test]
fn a_stream_does_not_depend_on_how_it_is_cut_into_calls() {
    let options = Options { faulty: 0.3, seed: 5, solutions_per_block: 4 };
    for kind in Kind::ALL {
        let whole = generated(kind, 46, options.clone());
        let mut generator = Generator::new(kind, options.clone());
        let (mut text, mut answers) = (Vec::new(), Vec::new());
        for cases in [4, 0, 40, 2] {
            generator.append(cases, &mut text, &mut answers);
        }
        assert_eq!((text, answers), whole, "{kind}");
    }
}

#[test]
fn the_answers_are_what_reading_and_judging_say() {
    for kind in Kind::ALL {
        for (seed, (faulty, solutions_per_block)) in
            (0..60).zip([(0.0, 1), (0.3, 10), (0.5, 3), (1.0, 7)].into_iter().cycle())
        {
            let options = Options { faulty, seed, solutions_per_block };
            let work = Work::new(kind, 100, options.clone());
            assert_eq!(work.marks.len(), 100, "{kind} {options:?}");
            let judged = answers(kind, &work.text);
            assert_eq!(String::from_utf8_lossy(&work.answers), judged, "{kind} {options:?}");
        }
    }
}

#[test]
fn the_share_of_faulty_cases_is_that_of_the_options() {
    for kind in Kind::ALL {
        for (faulty, expected) in [
            (0.0, 0..=0),
            (0.25, 425..=575),
            (1.0, 2_000..=2_000),
            (-3.0, 0..=0),
            (f64::NAN, 0..=0),
        ] {
            let options = Options { faulty, seed: 11, ..Options::default() };
            let broken = Work::new(kind, 2_000, options).count(is_faulty);
            assert!(expected.contains(&broken), "{kind} {faulty}: {broken} of 2000");
        }
    }
}

/// The codes of all faults in faulty cases of a kind.
fn codes(kind: Kind) -> BTreeSet<&'static str> {
    let work = Work::new(kind, 2_000, Options { faulty: 1.0, seed: 12, ..Options::default() });
    let faults = work.marks.iter().filter_map(|mark| match mark {
        Mark::Wrong(faults) => Some(faults),
        _ => None,
    });
    faults.flatten().map(|fault| fault.code()).collect()
}

#[test]
fn every_fault_occurs() {
    assert_eq!(
        codes(Kind::Killer),
        BTreeSet::from([
            "not-a-digit",
            "row-repeat",
            "column-repeat",
            "box-repeat",
            "cage-repeat",
            "cage-sum"
        ])
    );
    assert_eq!(
        codes(Kind::Classic),
        BTreeSet::from([
            "not-a-digit",
            "row-length",
            "given-changed",
            "row-repeat",
            "column-repeat",
            "box-repeat"
        ])
    );
}

/// Some cases break one rule only, so that a judge that forgets it is noticed.
#[test]
fn some_faulty_cases_break_one_rule_alone() {
    for (kind, code) in [
        (Kind::Killer, "cage-sum"),
        (Kind::Killer, "cage-repeat"),
        (Kind::Killer, "box-repeat"),
        (Kind::Classic, "box-repeat"),
        (Kind::Classic, "given-changed"),
        (Kind::Classic, "row-length"),
        (Kind::Classic, "not-a-digit"),
    ] {
        let work = Work::new(kind, 2_000, Options { faulty: 1.0, seed: 13, ..Options::default() });
        let alone = work.count(|mark| match mark {
            Mark::Wrong(faults) => faults.iter().all(|fault| fault.code() == code),
            _ => false,
        });
        assert!(alone > 10, "{kind}: {alone} cases with {code} alone");
    }
}

#[test]
fn killer_drawings_vary() {
    let work = Work::new(Kind::Killer, 2_000, Options { seed: 14, ..Options::default() });
    let diagrams = work.found.cases.iter().map(|case| {
        killer::diagram(&work.text[case.start..case.end], case.line).expect("readable")
    });
    let (mut counts, mut sizes, mut redundant) = (BTreeSet::new(), BTreeSet::new(), 0);
    for diagram in diagrams {
        counts.insert(diagram.cages.len());
        for cage in 0..diagram.cages.len() {
            sizes.insert(diagram.cage_of.iter().filter(|of| usize::from(**of) == cage).count());
        }
        let walls = (0..72).filter(|i| diagram.walls.below[i / 9] >> (i % 9) & 1 == 1);
        redundant += walls.filter(|i| diagram.cage_of[*i] == diagram.cage_of[i + 9]).count();
    }
    assert!(counts.contains(&9) && counts.contains(&81), "{counts:?}");
    assert!(counts.iter().filter(|count| (20..50).contains(*count)).count() > 15, "{counts:?}");
    assert_eq!(sizes, (1..=9).collect());
    assert!(redundant > 100, "{redundant} walls inside cages");
}

#[test]
fn classic_blocks_have_their_size_and_givens_that_leave_a_choice() {
    let options = Options { seed: 15, solutions_per_block: 6, ..Options::default() };
    let work = Work::new(Kind::Classic, 6 * 200 + 5, options);
    assert_eq!(work.found.puzzles.len(), 201);
    let sizes = String::from_utf8_lossy(&work.answers);
    assert_eq!(sizes.lines().map(str::len).filter(|size| *size == 6).count(), 200);
    assert_eq!(sizes.lines().last(), Some("YYYYY"));

    let givens =
        |puzzle: usize| work.found.puzzles[puzzle].givens.iter().filter(|c| **c != b'.').count();
    let (mut open, mut choice, mut many) = (0, 0, 0);
    for puzzle in 0..200 {
        let solutions = work.found.cases.iter().filter_map(|case| match case.text {
            CaseText::Classic { puzzle: of } if of == puzzle => {
                Some(&work.text[case.start..case.end])
            }
            _ => None,
        });
        let distinct = solutions.collect::<BTreeSet<_>>().len();
        open += usize::from(givens(puzzle) == 0);
        choice += usize::from(givens(puzzle) > 0 && distinct > 1);
        many += usize::from(givens(puzzle) > 40);
    }
    assert!(open > 20 && choice > 60 && many > 10, "{open} {choice} {many}");
}

#[test]
fn hexudoku_boards_vary() {
    let work =
        Work::new(Kind::Hexudoku, 1_000, Options { faulty: 0.5, seed: 16, ..Options::default() });
    let blank = work.count(|mark| matches!(mark, Mark::Counted(c) if c.filled == 256));
    let stuck = work.count(|mark| matches!(mark, Mark::Counted(c) if c.blank > 0));
    let filled = work.marks.iter().map(|mark| match mark {
        Mark::Counted(counted) => counted.filled,
        _ => 0,
    });
    let distinct = filled.collect::<BTreeSet<_>>().len();
    assert!(blank > 10 && stuck > 500 && distinct > 100, "{blank} {stuck} {distinct}");
    assert!(work.text.iter().any(u8::is_ascii_lowercase));
}
