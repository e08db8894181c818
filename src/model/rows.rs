//! Rows of the reports: RFC 4180, UTF-8, LF.
//!
//! Columns belong to the reports: the core knows marks only.

use crate::model::submission::{Claimed, FILE_NAME_BYTES_MAX, Finished, Name};
use gridmark_core::Kind;
use gridmark_core::board::{Mark, Verdict};
use jiff::Timestamp;
use serde::Serialize;
use std::borrow::Cow;

/// The version of all that decides about the bytes of rows besides [`Rules`](crate::model::submission::Rules):
/// formats, verdicts, words of faults. It changes only when rows change, so that reports can be rebuilt byte
/// for byte by any program with the same version.
pub const ROWS_VERSION: i64 = 1;

/// The report with a row per submission, below the folder of reports.
pub const SUBMISSIONS: &[u8] = b"submissions.csv";

/// The header of a report with a row per case.
pub const CASE_HEADER: &str =
    "submission,attempt,case,kind,verdict,answer,filled,blank,fault,at,faults,detail\n";

/// The header of `submissions.csv`, with a row per submission.
pub const SUBMISSION_HEADER: &str = "submission,attempt,handed_in_at,received_at,graded_at,bytes,\
                                     blake3,kind,cases,correct,wrong,unreadable,counted,filled,status,archived_as\n";

/// The byte-order mark, by which some spreadsheets recognise UTF-8.
pub const BOM: &str = "\u{FEFF}";

/// How the report at this path begins, with a byte-order mark or without one.
pub fn header_of(report: &Name, bom: bool) -> String {
    let header = if report.as_bytes() == SUBMISSIONS { SUBMISSION_HEADER } else { CASE_HEADER };
    let bom = if bom { BOM } else { "" };
    format!("{bom}{header}")
}

/// Where a submission's case rows go, below the folder of reports: `folders/<folder>.csv`, or
/// `loose.csv` for a file that lies in no folder.
///
/// A folder's name that leaves no room for `.csv` in a file name is cut, and a hash makes it unique; so is a
/// name that looks like a cut one.
pub fn report_of(name: &Name) -> Name {
    let Some(folder) = name.folder() else {
        return Name::from_bytes(*b"loose.csv");
    };
    let mut path = b"folders/".to_vec();
    if folder.len() + ".csv".len() <= FILE_NAME_BYTES_MAX && !looks_cut(folder) {
        path.extend_from_slice(folder);
    } else {
        let hash = blake3::hash(folder).to_hex();
        path.extend_from_slice(&folder[..CUT_BYTES]);
        path.push(b'~');
        path.extend_from_slice(&hash.as_bytes()[..HASH_DIGITS]);
    }
    path.extend_from_slice(b".csv");
    Name::from_bytes(path)
}

/// How much of the folder's name and of its hash is in the name of such a report.
const CUT_BYTES: usize = 200;
const HASH_DIGITS: usize = 32;

/// Whether a folder's name looks like a cut one.
fn looks_cut(folder: &[u8]) -> bool {
    folder.len() == CUT_BYTES + 1 + HASH_DIGITS
        && folder[CUT_BYTES] == b'~'
        && folder[CUT_BYTES + 1..].iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// Text that a spreadsheet takes for a formula gets an apostrophe in front. So does such text that
/// already begins with one, so that texts that differ stay different.
pub fn neutralised(text: &str) -> Cow<'_, str> {
    let bare = text.trim_start_matches('\'');
    if bare.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r']) {
        format!("'{text}").into()
    } else {
        text.into()
    }
}

/// A name as it stands in a row.
pub fn name_cell(name: &Name, neutralise: bool) -> String {
    let text = name.to_string();
    if neutralise { neutralised(&text).into_owned() } else { text }
}

/// Writes the case rows of one submission.
pub struct CaseRows {
    /// The two leading columns with their commas, the same in every row.
    prefix: Vec<u8>,
}

impl CaseRows {
    /// Rows for this attempt of this submission; `neutralise` keeps spreadsheets from taking
    /// names for formulas.
    pub fn new(name: &Name, attempt: u32, neutralise: bool) -> CaseRows {
        let mut prefix = record(&(name_cell(name, neutralise), attempt));
        prefix.pop();
        prefix.push(b',');
        CaseRows { prefix }
    }

    /// The beginning of every row: name and attempt, with their commas.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// About how many bytes the rows of `cases` correct cases have.
    pub fn bytes_of(&self, cases: usize) -> usize {
        cases * (self.prefix.len() + 40)
    }

    /// Appends the row of the case with this number, from 1, to `rows`.
    pub fn append(&self, case: u64, kind: Option<Kind>, mark: &Mark, rows: &mut Vec<u8>) {
        let push = |rows: &mut Vec<u8>, texts: &[&str]| {
            texts.iter().for_each(|text| rows.extend_from_slice(text.as_bytes()));
        };
        rows.extend_from_slice(&self.prefix);
        push_number(rows, case);
        // Nearly all rows are of correct cases: a copy each.
        if let (Mark::Correct, Some(kind)) = (mark, kind) {
            return push(rows, &[end_of_correct(kind)]);
        }
        // The columns before the detail hold nothing that has to be quoted.
        push(rows, &[",", kind.map_or("", Kind::word), ",", mark.verdict().word(), ","]);
        match (mark, kind) {
            (Mark::Counted(counted), _) => {
                for number in [counted.filled, counted.filled, counted.blank] {
                    push_number(rows, number);
                    rows.push(b',');
                }
                push(rows, &[",,0,"]);
            }
            (Mark::Wrong(faults), Some(kind)) => {
                push(rows, &[&mark.answer(kind), ",,,"]);
                if let Some(first) = faults.first() {
                    let at = first.at().map_or_else(String::new, |cell| cell.to_string());
                    push(rows, &[first.code(), ",", &at]);
                }
                rows.push(b',');
                push_number(rows, faults.len());
                rows.push(b',');
            }
            (Mark::Unreadable(why), _) => push(rows, &[",,,", why.code.code(), ",,0,"]),
            (Mark::Correct, _) | (Mark::Wrong(_), None) => push(rows, &[",,,,,0,"]),
        }
        push_quoted(rows, &mark.detail());
        rows.push(b'\n');
    }
}

/// What follows the number in the row of a correct case.
fn end_of_correct(kind: Kind) -> &'static str {
    match kind {
        Kind::Killer => ",killer,correct,OK,,,,,0,\n",
        Kind::Classic => ",classic,correct,Y,,,,,0,\n",
        Kind::Hexudoku => ",hexudoku,correct,,,,,,0,\n",
    }
}

fn push_number(rows: &mut Vec<u8>, number: impl itoa::Integer) {
    rows.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a text, in quotes if it has to be; `csv` would make a writer for each.
fn push_quoted(rows: &mut Vec<u8>, text: &str) {
    if !text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        return rows.extend_from_slice(text.as_bytes());
    }
    rows.push(b'"');
    for (i, part) in text.split('"').enumerate() {
        rows.extend_from_slice(if i == 0 { b"" } else { b"\"\"" });
        rows.extend_from_slice(part.as_bytes());
    }
    rows.push(b'"');
}

/// The row of one submission, as `csv` writes it.
#[derive(Serialize)]
struct SubmissionRow<'a> {
    submission: &'a str,
    attempt: u32,
    handed_in_at: String,
    received_at: String,
    graded_at: String,
    bytes: u64,
    blake3: &'a str,
    kind: &'a str,
    cases: u64,
    correct: u64,
    wrong: u64,
    unreadable: u64,
    counted: u64,
    filled: u64,
    status: &'a str,
    archived_as: &'a str,
}

/// The row of a submission in `submissions.csv`.
pub fn submission_row(claimed: &Claimed, done: &Finished, neutralise: bool) -> Vec<u8> {
    let shown = |name: &Name| name_cell(name, neutralise);
    let blake3 = done.blake3.map(|hash| blake3::Hash::from_bytes(hash).to_hex());
    record(&SubmissionRow {
        submission: &shown(&claimed.name),
        attempt: claimed.attempt,
        handed_in_at: rfc_3339(claimed.handed_in.at_ms),
        received_at: rfc_3339(claimed.received_at_ms),
        graded_at: rfc_3339(done.graded_at_ms),
        bytes: done.bytes,
        blake3: blake3.as_ref().map_or("", |hex| hex.as_str()),
        kind: done.kind.map_or("", Kind::word),
        cases: done.tally.cases(),
        correct: done.tally.of(Verdict::Correct),
        wrong: done.tally.of(Verdict::Wrong),
        unreadable: done.tally.of(Verdict::Unreadable),
        counted: done.tally.of(Verdict::Counted),
        filled: done.tally.filled,
        status: done.status.word(),
        archived_as: &shown(&claimed.archived_as),
    })
}

/// RFC 3339, UTC, milliseconds; a clock beyond the range of dates shows as 1970.
pub fn rfc_3339(ms: i64) -> String {
    format!("{:.3}", Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// One record as `csv` writes it, with its line end.
fn record(row: &impl Serialize) -> Vec<u8> {
    // A writer for each record, so its memory is small.
    const BUFFER_BYTES: usize = 512;
    let mut record = Vec::new();
    let mut builder = csv::WriterBuilder::new();
    let mut writer =
        builder.has_headers(false).buffer_capacity(BUFFER_BYTES).from_writer(&mut record);
    let written = writer.serialize(row).and_then(|()| Ok(writer.flush()?));
    // Writing to memory cannot fail, and every row type is flat.
    debug_assert!(written.is_ok(), "a row that csv cannot write: {written:?}");
    drop(writer);
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridmark_core::board::{Cell, Counted, Fault, Found, Unreadable, UnreadableCode};

    /// A row as `csv` writes it.
    #[derive(Serialize)]
    struct CaseRow<'a> {
        submission: &'a str,
        attempt: u32,
        case: u64,
        kind: &'a str,
        verdict: &'a str,
        answer: &'a str,
        filled: Option<u16>,
        blank: Option<u16>,
        fault: &'a str,
        at: &'a str,
        faults: usize,
        detail: String,
    }

    fn assert_row(kind: Option<Kind>, mark: &Mark, row: CaseRow<'_>) {
        let rows = CaseRows::new(&Name::from_bytes(*b"a, \"b\"/c.txt"), 2, true);
        let mut ours = Vec::new();
        rows.append(1_234_567, kind, mark, &mut ours);
        let row = CaseRow { detail: mark.detail(), verdict: mark.verdict().word(), ..row };
        assert_eq!(String::from_utf8(ours), String::from_utf8(record(&row)));
    }

    #[test]
    fn a_folder_that_is_called_as_a_cut_one_has_a_report_of_its_own() {
        let report = |folder: &[u8]| report_of(&Name::from_bytes([folder, b"/x"].concat()));
        let long = report(&b"a".repeat(252));
        let (_, file) = long.split();
        let stem = file.as_encoded_bytes().strip_suffix(b".csv").expect("it ends so");
        assert_eq!(stem.len(), CUT_BYTES + 1 + HASH_DIGITS);
        let same = report(stem);
        assert_ne!(same, long);
        let (_, file) = same.split();
        assert_ne!(report(file.as_encoded_bytes().strip_suffix(b".csv").expect("so too")), same);
        let other = [&b"a".repeat(200)[..], b"~", &b"g".repeat(32)].concat();
        assert_eq!(report(&other).split().1.len(), other.len() + 4);
        assert!(report(&other).as_bytes().ends_with(b"g.csv"));
    }

    #[test]
    fn rows_are_as_csv_writes_them() {
        let row = || CaseRow {
            submission: "a, \"b\"/c.txt",
            attempt: 2,
            case: 1_234_567,
            kind: "hexudoku",
            verdict: "",
            answer: "",
            filled: None,
            blank: None,
            fault: "",
            at: "",
            faults: 0,
            detail: String::new(),
        };
        for conflicts in [0, 1, 20] {
            let mark = Mark::Counted(Counted { filled: 200, blank: 7, conflicts });
            let counts = CaseRow { filled: Some(200), blank: Some(7), ..row() };
            assert_row(Some(Kind::Hexudoku), &mark, CaseRow { answer: "200", ..counts });
        }
        for (kind, answer) in [(Kind::Killer, "OK"), (Kind::Classic, "Y")] {
            let expected = CaseRow { kind: kind.word(), answer, ..row() };
            assert_row(Some(kind), &Mark::Correct, expected);
        }
        let cell = Cell { row: 2, column: 8 };
        for count in [1, 11] {
            let faults = vec![Fault::NotADigit { cell, found: Found::Byte(b'"') }; count];
            let code = CaseRow { fault: "not-a-digit", at: "r3c9", faults: count, ..row() };
            let expected = CaseRow { kind: "classic", answer: "N", ..code };
            assert_row(Some(Kind::Classic), &Mark::Wrong(faults), expected);
        }
        let why = Unreadable {
            code: UnreadableCode::BadCharacter,
            line: 3,
            column: 4,
            message: "expected \"a\", found\nb".into(),
        };
        let mark = Mark::Unreadable(Box::new(why));
        assert_row(None, &mark, CaseRow { kind: "", fault: "bad-character", ..row() });
    }
}
