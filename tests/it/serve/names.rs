//! Submissions with names of every sort.

use crate::kit::Sandbox;
use crate::kit::cases::hexudoku;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file name as the inbox has it, and as the reports show it.
fn names() -> Vec<(Vec<u8>, String)> {
    let plain = [
        "with space",
        "comma, comma",
        "a \"quoted\" one",
        "'apostrophe",
        "semi;colon",
        " blank ",
        "한글.txt",
        "Привет",
        "ä",
        "a\u{308}",
        "%41",
        "a.b.c",
        "C:",
        "*?",
        "$(id)",
    ];
    let mut names: Vec<(Vec<u8>, String)> = plain.map(|name| (name.into(), name.to_owned())).into();
    let mut add = |name: &[u8], shown: &str| names.push((name.to_vec(), shown.to_owned()));
    add(b"new\nline", r"new\x0Aline");
    add(b"tab\t", r"tab\x09");
    add(b"\rreturn", r"\x0Dreturn");
    add(b"esc\x1b[31m", r"esc\x1B[31m");
    add(b"latin1 \xe9", r"latin1 \xE9");
    add(br"latin1 \xE9", r"latin1 \\xE9");
    add(br"back\slash", r"back\\slash");
    add("c1 \u{85}".as_bytes(), r"c1 \xC2\x85");
    add("p\u{2028}q\u{2029}".as_bytes(), r"p\xE2\x80\xA8q\xE2\x80\xA9");
    add("p\u{202e}txt.3".as_bytes(), r"p\xE2\x80\xAEtxt.3");
    add("p\u{61c}".as_bytes(), r"p\xD8\x9C");
    add(b"=1+1", "'=1+1");
    add(b"+1", "'+1");
    add(b"-1", "'-1");
    add(b"--once", "'--once");
    add(b"@SUM(A1)", "'@SUM(A1)");
    add("＝1+1".as_bytes(), "'＝1+1");
    add("＋1".as_bytes(), "'＋1");
    add("－1".as_bytes(), "'－1");
    add("＠SUM(A1)".as_bytes(), "'＠SUM(A1)");
    add(b"'=1+1", "''=1+1");
    let long = "n".repeat(255);
    add(long.as_bytes(), &long);
    names
}

fn drop_all(sandbox: &Sandbox) -> BTreeMap<String, u64> {
    let mut filled = BTreeMap::new();
    for (i, (name, shown)) in names().into_iter().enumerate() {
        let i = i % 17;
        sandbox.rename_in(OsStr::from_bytes(&name), hexudoku(i));
        filled.insert(shown, i as u64);
    }
    filled
}

#[test]
fn unusual_names_each_have_their_own_row_and_stay_distinct() {
    let mut sandbox = Sandbox::started();
    let wanted = drop_all(&sandbox);
    sandbox.wait_for(wanted.len());
    let shown = |rows: Vec<crate::kit::reports::Row>| -> BTreeMap<String, u64> {
        rows.iter().map(|row| (row.get("submission").to_owned(), row.number("filled"))).collect()
    };
    assert_eq!(shown(sandbox.submissions()), wanted);
    assert_eq!(shown(sandbox.rows("loose.csv")), wanted);
    for (name, _) in names() {
        assert!(sandbox.has(Path::new("archive").join(OsStr::from_bytes(&name))));
    }
    for row in sandbox.submissions() {
        assert_eq!(row.get("archived_as"), row.get("submission"));
    }
}

#[test]
fn formulas_are_neutralised_only_if_set_so() {
    let mut sandbox = Sandbox::new();
    sandbox.set("publish.neutralise_formulas", false).start();
    sandbox.rename_in("=1+1", hexudoku(1));
    sandbox.rename_in("'=1+1", hexudoku(1));
    let rows = sandbox.wait_for(2);
    let mut names: Vec<&str> = rows.iter().map(|row| row.get("submission")).collect();
    names.sort_unstable();
    assert_eq!(names, ["'=1+1", "=1+1"]);
}

#[test]
fn folders_with_unusual_names_each_have_their_own_report() {
    let mut sandbox = Sandbox::started();
    let names = names();
    for (name, _) in &names {
        sandbox.rename_in(PathBuf::from(OsStr::from_bytes(name)).join("p"), hexudoku(1));
    }
    sandbox.wait_for(names.len());
    let reports = std::fs::read_dir(sandbox.path("reports/folders")).unwrap();
    let reports: Vec<PathBuf> = reports.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(reports.len(), names.len());
    let mut shown: Vec<String> = reports
        .iter()
        .flat_map(|report| sandbox.rows(report))
        .map(|row| row.get("submission").to_owned())
        .collect();
    shown.sort_unstable();
    let mut wanted: Vec<String> = names.into_iter().map(|(_, shown)| shown + "/p").collect();
    wanted.sort_unstable();
    assert_eq!(shown, wanted);
}

#[test]
fn a_name_of_255_bytes_may_be_handed_in_repeatedly() {
    let mut sandbox = Sandbox::started();
    let name = "n".repeat(251) + ".txt";
    for attempt in 1..=12 {
        sandbox.rename_in(&name, hexudoku(attempt));
        let rows = sandbox.wait_for(attempt);
        let last = &rows[attempt - 1];
        assert_eq!(last.number("attempt"), attempt as u64);
        assert_eq!(last.number("filled"), attempt as u64);
        let archived = Path::new("archive").join(last.get("archived_as"));
        assert_eq!(sandbox.text(archived), hexudoku(attempt));
    }
}
