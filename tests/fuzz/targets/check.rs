//! Grades a file and compares the cases, marks and rows with what is expected.

use super::naive::{self, Case, Expected};
use gridmark::model::rows::CaseRows;
use gridmark::model::submission::Name;
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::format::{Found, Limits, Reader, Rows};
use gridmark_core::judge::{Judge, Tier};

/// Longer files may hold a case that is too large, which the naive reader does not know.
pub const TEXT_BYTES_MAX: usize = 60_000;

/// Few missing cases, so that they take little time.
const LIMITS: Limits = Limits { case_bytes_max: 65_536, missing_cases_max: 20 };

/// Grades `text` in every tier.
pub fn check(forced: Option<Kind>, text: &[u8]) {
    if text.len() > TEXT_BYTES_MAX {
        return;
    }
    let (kind, expected) = naive::grade(forced, text, LIMITS.missing_cases_max);
    let mut reader = Reader::new(forced, LIMITS);
    let mut found = Found::default();
    assert_eq!(reader.read(text, true, &mut found), text.len());
    assert_eq!(reader.kind(), kind);
    for tier in Tier::available() {
        let marks = marks(tier, text, &found);
        assert_eq!(as_expected(&found, &marks), expected, "{tier} {}", text.escape_ascii());
        if tier == Tier::best() {
            check_rows(kind, &marks);
            check_ways(tier, text, found.clone(), &marks);
        }
    }
}

fn marks(tier: Tier, text: &[u8], found: &Found) -> Vec<Mark> {
    let mut marks = Vec::new();
    Judge::new(tier).mark(text, &found.cases, &found.puzzles, &mut marks);
    assert_eq!(marks.len(), found.cases.len());
    marks
}

/// The cases in the form of the naive reader.
fn as_expected(found: &Found, marks: &[Mark]) -> Vec<Case> {
    let cases = found.cases.iter().zip(marks).map(|(case, mark)| Case {
        start: case.start,
        end: case.end,
        line: case.line,
        block_end: case.block_end,
        mark: match mark {
            Mark::Correct => Expected::Faults(Vec::new()),
            Mark::Wrong(faults) => {
                assert!(!faults.is_empty());
                let cases = faults
                    .iter()
                    .map(|fault| (fault.code().into(), fault.at().expect("a cell").to_string()));
                Expected::Faults(cases.collect())
            }
            Mark::Counted(counted) => {
                let counts = [counted.filled, counted.blank, counted.conflicts].map(usize::from);
                Expected::Counted(counts[0], counts[1], counts[2])
            }
            Mark::Unreadable(why) => {
                Expected::Unreadable(why.code.code().into(), why.line, why.column)
            }
        },
    });
    cases.collect()
}

/// Cases get the same marks one by one, and as cases that are not regular.
fn check_ways(tier: Tier, text: &[u8], mut found: Found, expected: &[Mark]) {
    let judge = Judge::new(tier);
    for (case, mark) in found.cases.iter().zip(expected).take(5) {
        let mut alone = Vec::new();
        judge.mark(text, std::slice::from_ref(case), &found.puzzles, &mut alone);
        assert_eq!(alone, std::slice::from_ref(mark));
    }
    found.cases.iter_mut().for_each(|case| case.rows = Rows::Any);
    assert_eq!(marks(tier, text, &found), expected, "{}", text.escape_ascii());
}

/// The row of each case is one record of twelve fields, in print.
fn check_rows(kind: Option<Kind>, marks: &[Mark]) {
    let rows = CaseRows::new(&Name::from_bytes(*b"a,\"b/c"), 3, true);
    let mut text = Vec::new();
    for (mark, case) in marks.iter().zip(1..) {
        rows.append(case, kind, mark, &mut text);
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&text[..]);
    let records = reader.records().map(|record| record.unwrap()).collect::<Vec<_>>();
    assert_eq!(records.len(), marks.len());
    for ((record, mark), case) in records.iter().zip(marks).zip(1..) {
        assert_eq!(record.iter().take(2).collect::<Vec<_>>(), ["a,\"b/c", "3"]);
        assert_eq!(record[2], format!("{case}"));
        assert_eq!(&record[3], kind.map_or("", Kind::word));
        assert_eq!(&record[4], mark.verdict().word());
        assert_eq!(record[11], mark.detail());
        assert!(!record[11].contains(char::is_control), "{:?}", &record[11]);
        assert!(record[11].len() < 4000, "{:?}", &record[11]);
        assert_eq!(record.len(), 12);
    }
}
