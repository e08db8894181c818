//! Files whose names would break a line or move the cursor.

use super::{board, folder, gridmark};
use std::ffi::OsStr;
use std::fs;

/// A name with an escape sequence, a line end, a backslash and an override of text's direction.
const NAME: &str = "p\x1b[2J\n\\q\u{202e}.txt";
/// The same as it is shown.
const SHOWN: &str = r"p\x1B[2J\x0A\\q\xE2\x80\xAE.txt";

#[test]
fn errors_show_names_on_one_line() {
    for (arguments, said) in [
        (&["judge", "killer", NAME][..], format!("cannot read {SHOWN}: ")),
        (&["fill", NAME], format!("cannot read {SHOWN}: ")),
        (&["grade", NAME], format!("cannot read {SHOWN}: ")),
        (&["config", "--check", NAME], format!("cannot read the settings file {SHOWN}: ")),
        (&["config", "--config", NAME], format!("cannot read the settings file {SHOWN}: ")),
        (
            &["generate", "killer", "--cases", "1", "--answers", "no/\x1b"],
            r"cannot create no/\x1B: ".into(),
        ),
        (
            &["generate", "killer", "--cases=1", "--files=1", "--into=\n", "--answers=\n/a"],
            r"--answers \x0A/a lies in --into \x0A: ".into(),
        ),
    ] {
        let done = gridmark(folder().path(), arguments, "");
        assert_eq!(done.stdout, "", "{arguments:?}");
        assert!(done.stderr.starts_with(&format!("gridmark: {said}")), "{}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    }
}

#[test]
fn places_in_files_stay_on_one_line() {
    let folder = folder();
    fs::write(folder.path().join(NAME), board(&["short"])).unwrap();
    for command in [&["judge", "hexudoku", NAME][..], &["fill", NAME]] {
        let done = gridmark(folder.path(), command, "");
        assert_eq!(done.code, Some(1));
        assert!(done.stderr.starts_with(&format!("{SHOWN}:1:1: ")), "{}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    }
}

#[test]
fn settings_files_and_their_contents_stay_on_one_line() {
    let folder = folder();
    let file = folder.path().join(NAME);
    let check = |text: &str| {
        fs::write(&file, text).unwrap();
        gridmark(folder.path(), &["config", "--check", NAME], "")
    };
    let done = check("[intake]\nsettle_ms = 500\n");
    assert_eq!((done.stdout, done.code), (format!("{SHOWN} is good\n"), Some(0)));
    for (text, said) in [
        ("[intake]\n\"a\\u001bb\" = 1\n", r"2:1: `intake.a\x1Bb` is no setting"),
        ("[intake]\nsettle_ms = [\n1,\n]\n", r"2:1: `intake.settle_ms` is [\x0A1,\x0A]; "),
        ("[intake\n", "1:8: "),
    ] {
        let done = check(text);
        assert_eq!((done.stdout.as_str(), done.code), ("", Some(1)));
        assert!(done.stderr.contains(&format!("{SHOWN}:{said}")), "{}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    }
    fs::write(&file, "[intake]\nsettle_ms = 500\n").unwrap();
    let done = gridmark(folder.path(), &["config", "--config", NAME], "");
    let line = format!("settle_ms = 500 # file {SHOWN}:2:1");
    assert!(done.stdout.lines().any(|shown| shown == line), "{}", done.stdout);
}

#[test]
fn the_root_of_a_service_stays_on_one_line() {
    let folder = folder();
    // A file is where the root is to be.
    fs::write(folder.path().join(NAME), "").unwrap();
    let arguments = ["serve", "--once", "--root", NAME].map(OsStr::new);
    let done = gridmark(folder.path(), &arguments, "");
    assert_eq!(done.code, Some(1));
    let outcome = done.stderr.lines().last().unwrap_or_default();
    assert!(outcome.starts_with("gridmark: cannot create the folder "), "{}", done.stderr);
    assert!(!done.stderr.contains(['\x1b', '\u{202e}']), "{}", done.stderr);
}
