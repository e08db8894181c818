//! Names as people read them.

use gridmark::model::escape;
use gridmark::model::rows::{CASE_HEADER, CaseRows, report_of};
use gridmark::model::submission::Name;
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::format::kind_by_name;

/// Two names are displayed on one line each, stay distinct, are not formulas in a table, and belong
/// to different reports if they are in different folders.
///
/// The first byte is the length of the first name; zero stands for 300 bytes.
pub fn names(bytes: &[u8]) {
    let Some((length, bytes)) = bytes.split_first() else {
        return;
    };
    let length = usize::from(*length).min(bytes.len());
    let (a, b) = bytes.split_at(length);
    let long = b.iter().copied().cycle().take(if b.is_empty() { 0 } else { 300 });
    let a = if length == 0 { long.collect() } else { a.to_vec() };
    let (a, b) = (Name::from_bytes(a), Name::from_bytes(b));
    for name in [&a, &b] {
        check(name);
    }
    assert_eq!(a == b, a.to_string() == b.to_string());
    let folders = (a.folder(), b.folder());
    assert_eq!(folders.0 == folders.1, report_of(&a) == report_of(&b), "{a}, {b}");
}

fn check(name: &Name) {
    let displayed = name.to_string();
    assert!(!displayed.contains(is_deceptive), "{displayed:?}");
    assert_eq!(unescaped(&displayed), name.as_bytes(), "{displayed}");
    assert_eq!(escape::line(&displayed), displayed);
    let field = field(name, false);
    assert_eq!(field, displayed);
    let field = self::field(name, true);
    assert!(!field.starts_with(begins_formula), "{field}");
    let bare = field.trim_start_matches('\'');
    let marked = bare.starts_with(begins_formula);
    assert_eq!(if marked { &field[1..] } else { &field }, displayed);
    let report = report_of(name);
    let (folder, file) = report.split();
    assert!(file.len() <= 255, "{report}");
    assert_eq!(folder.is_empty(), name.folder().is_none());
    // A folder whose name is that of another folder's report has another report.
    let stem = file.as_encoded_bytes().strip_suffix(b".csv").unwrap();
    if name.folder() != Some(stem) {
        assert_ne!(report_of(&Name::from_bytes([stem, b"/x"].concat())), report, "{report}");
    }
    assert_eq!(kind_by_name(name.as_bytes()), kind_of(name.as_bytes()));
}

/// The name of a submission in a row of a report.
fn field(name: &Name, neutralise: bool) -> String {
    // After a header, as in a report, since a byte-order mark at the very start would be skipped.
    let mut row = CASE_HEADER.as_bytes().to_vec();
    CaseRows::new(name, 1, neutralise).append(1, Some(Kind::Killer), &Mark::Correct, &mut row);
    let mut reader = csv::Reader::from_reader(&row[..]);
    let records = reader.records().map(|record| record.unwrap()).collect::<Vec<_>>();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].len(), 12);
    records[0][0].to_owned()
}

fn begins_formula(character: char) -> bool {
    "=+-@\t\r＝＋－＠".contains(character)
}

fn is_deceptive(character: char) -> bool {
    character.is_control()
        || "\u{61C}\u{200E}\u{200F}\u{2028}\u{2029}\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}\
            \u{2066}\u{2067}\u{2068}\u{2069}"
            .contains(character)
}

/// The bytes that are displayed like this.
fn unescaped(displayed: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = displayed;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("\\\\") {
            bytes.push(b'\\');
            rest = after;
        } else if let Some(after) = rest.strip_prefix("\\x") {
            bytes.push(u8::from_str_radix(&after[..2], 16).unwrap());
            rest = &after[2..];
        } else {
            assert_ne!(character, '\\', "{displayed}");
            let (this, after) = rest.split_at(character.len_utf8());
            bytes.extend_from_slice(this.as_bytes());
            rest = after;
        }
    }
    bytes
}

fn kind_of(name: &[u8]) -> Option<Kind> {
    let name = name.to_ascii_lowercase();
    Kind::ALL.into_iter().find(|kind| name.ends_with(format!(".{kind}").as_bytes()))
}
