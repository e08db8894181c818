//! When a file is ready: never before it is whole.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku};
use std::fs::{self, File};
use std::io::{Seek, Write};

/// Promise P3.
#[test]
fn a_slow_writer_is_graded_once_and_whole() {
    let mut sandbox = Sandbox::started();
    let text = classic(1, "YNY");
    let mut file = File::create(sandbox.path("inbox/slow")).unwrap();
    for part in text.as_bytes().chunks(text.len() / 3 + 1) {
        file.write_all(part).unwrap();
        // Longer than the settle time.
        sandbox.wait_for_scans(2);
        assert_eq!(sandbox.submissions(), []);
        assert!(sandbox.has("inbox/slow"));
    }
    drop(file);
    let rows = sandbox.wait_for(1);
    assert_eq!(rows[0].columns(&["cases", "correct", "wrong"]), "3|2|1");
    assert_eq!(rows[0].get("blake3"), blake3::hash(text.as_bytes()).to_hex().as_str());
    sandbox.wait_for_scans(2);
    assert_eq!(sandbox.submissions().len(), 1);
}

/// Promise P3.
///
///
/// As web folders of Windows and macOS do it: a file is created, closed, and filled a moment later.
#[test]
fn a_file_that_is_created_empty_and_filled_later_is_graded_once_and_whole() {
    for watch in ["auto", "off"] {
        let mut sandbox = Sandbox::new();
        sandbox.set("intake.watch", watch).set("intake.open_settle_ms", 600_000).start();
        sandbox.write("inbox/written", "");
        sandbox.rename_in("renamed", "");
        sandbox.write("outside/team/moved", "");
        fs::rename(sandbox.path("outside/team"), sandbox.path("inbox/team")).unwrap();
        // Longer than the settle time.
        sandbox.wait_for_scans(4);
        assert_eq!(sandbox.submissions(), [], "{watch}");
        for name in ["written", "renamed", "team/moved"] {
            fs::write(sandbox.path("inbox").join(name), hexudoku(4)).unwrap();
        }
        for row in sandbox.wait_for(3) {
            assert_eq!(row.columns(&["attempt", "filled", "status"]), "1|4|graded", "{watch}");
        }
    }
}

/// An empty file may be all that is handed in.
#[test]
fn a_file_that_stays_empty_is_graded_after_the_longer_settle_time() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.open_settle_ms", 400).start();
    sandbox.write("inbox/p", "");
    let rows = sandbox.wait_for(1);
    assert_eq!(rows[0].columns(&["attempt", "bytes", "status"]), "1|0|unreadable");
}

#[test]
fn a_file_that_stays_open_is_graded_after_the_longer_settle_time() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.open_settle_ms", 400).start();
    let mut file = File::create(sandbox.path("inbox/open")).unwrap();
    file.write_all(hexudoku(4).as_bytes()).unwrap();
    assert_eq!(sandbox.wait_for(1)[0].number("filled"), 4);
    drop(file);
}

#[test]
fn a_file_that_is_rewritten_while_it_waits_is_graded_in_its_last_state() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.settle_ms", 1500).start();
    for filled in 0..=9 {
        fs::write(sandbox.path("inbox/p"), hexudoku(filled)).unwrap();
    }
    let rows = sandbox.wait_for(1);
    assert_eq!(rows[0].columns(&["attempt", "filled"]), "1|9");
}

/// Promise P3.
#[test]
fn without_a_settle_time_a_file_is_graded_when_it_is_closed() {
    let mut sandbox = Sandbox::new();
    // A scan that finds a file before the event of its creation would take it at once.
    sandbox.set("intake.settle_ms", 0).set("intake.scan_every_ms", 86_400_000).start();
    let text = classic(9, &"YN".repeat(100));
    for i in 0..50 {
        let mut file = File::create(sandbox.path(format!("inbox/{i}"))).unwrap();
        for part in text.as_bytes().chunks(4096) {
            file.write_all(part).unwrap();
        }
    }
    for row in sandbox.wait_for(50) {
        assert_eq!(row.columns(&["attempt", "cases", "correct", "wrong"]), "1|200|100|100");
    }
}

#[test]
fn times_of_the_file_in_the_future_or_long_ago_are_no_obstacle() {
    let mut sandbox = Sandbox::started();
    for (name, seconds) in [("past", 0), ("future", 4_000_000_000)] {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        let mut file = File::create(sandbox.path("inbox").join(name)).unwrap();
        file.write_all(hexudoku(1).as_bytes()).unwrap();
        file.set_modified(time).unwrap();
    }
    sandbox.wait_for(2);
}

/// Promise P3.
///
///
/// As after a crash in the moment in which a writer goes on writing to what was taken: the file in
/// the archive is not what the claim says.
#[test]
fn a_file_that_changes_after_it_was_taken_is_put_back_until_closed() {
    let mut sandbox = Sandbox::started();
    sandbox.stop();
    let text = classic(4, "YYN");
    let half = &text.as_bytes()[..text.len() / 2];
    let mut writer = File::create(sandbox.path("archive/p")).unwrap();
    writer.write_all(half).unwrap();
    sandbox.claim("p", "p", 0, 5);
    sandbox.start();
    sandbox.wait_until("it is put back", |sandbox| sandbox.service().log().contains("put back"));
    sandbox.wait_for_scans(3);
    assert!(sandbox.has("inbox/p"));
    assert_eq!(sandbox.submissions(), []);
    writer.write_all(&text.as_bytes()[half.len()..]).unwrap();
    assert_eq!(writer.stream_position().unwrap(), text.len() as u64);
    drop(writer);
    let rows = sandbox.wait_for(1);
    let wanted = "p|1|3|2|1|graded";
    let columns = ["submission", "attempt", "cases", "correct", "wrong", "status"];
    assert_eq!(rows[0].columns(&columns), wanted);
    assert_eq!(sandbox.service().metrics().of("gridmark_put_back_total"), 1.0);
}

/// Promise P3.
#[test]
fn a_writer_that_sets_the_full_length_first_is_graded_once_and_whole() {
    for watch in ["auto", "off"] {
        let mut sandbox = Sandbox::new();
        // A scan sees no writer, so there the settle time has to do.
        let settle = if watch == "auto" { 50 } else { 2_000 };
        sandbox.set("intake.watch", watch).set("intake.settle_ms", settle).start();
        let text = classic(1, "YNY");
        let mut file = File::create(sandbox.path("inbox/p")).unwrap();
        file.set_len(text.len() as u64).unwrap();
        for part in text.as_bytes().chunks(text.len() / 4 + 1) {
            sandbox.wait_for_scans(2);
            assert!(sandbox.has("inbox/p"), "{watch}");
            file.write_all(part).unwrap();
        }
        drop(file);
        let rows = sandbox.wait_for(1);
        assert_eq!(rows[0].columns(&["attempt", "cases", "correct", "wrong"]), "1|3|2|1");
        assert_eq!(rows[0].get("blake3"), blake3::hash(text.as_bytes()).to_hex().as_str());
    }
}

/// Promise P3.
///
///
/// Same size, same modification time: only the change time differs.
#[test]
fn a_rewrite_with_the_same_size_and_times_is_noticed() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.watch", "off").set("intake.settle_ms", 1_500).start();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for filled in 1..=5 {
        let text = hexudoku(filled);
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(sandbox.path("inbox/p"))
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.set_modified(time).unwrap();
        drop(file);
        sandbox.wait_for_scans(2);
    }
    let rows = sandbox.wait_for(1);
    assert_eq!(rows[0].columns(&["attempt", "filled"]), "1|5");
}

#[test]
fn a_file_that_is_rewritten_without_a_pause_is_graded_once_in_its_last_state() {
    for settle in [0, 20] {
        let mut sandbox = Sandbox::new();
        sandbox.set("intake.settle_ms", settle).start();
        let mut file = File::create(sandbox.path("inbox/p")).unwrap();
        let texts: Vec<String> = (1..=400).map(|i| classic(i, "YNYNY")).collect();
        for text in &texts {
            file.rewind().unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }
        assert_eq!(sandbox.submissions(), []);
        drop(file);
        let rows = sandbox.wait_for(1);
        let last = blake3::hash(texts[399].as_bytes()).to_hex();
        assert_eq!(rows[0].columns(&["attempt", "blake3"]), format!("1|{last}"));
    }
}

/// Promise P3.
///
///
/// What is taken by a rename may still be written to: then it is read again, until it is still.
#[test]
fn a_file_that_is_written_to_while_it_is_read_is_never_graded_in_part() {
    let mut sandbox = Sandbox::started();
    for i in 0..40 {
        let text = classic(i, &"YN".repeat(50));
        let half = text.len() / 2;
        sandbox.write("outside/p", &text.as_bytes()[..half]);
        let mut writer = File::options().append(true).open(sandbox.path("outside/p")).unwrap();
        fs::rename(sandbox.path("outside/p"), sandbox.path(format!("inbox/{i}"))).unwrap();
        writer.write_all(&text.as_bytes()[half..]).unwrap();
    }
    let rows = sandbox.wait_for(40);
    for row in &rows {
        // It was graded in one of its states, from beginning to end.
        let number: usize = row.get("submission").parse().unwrap();
        let text = classic(number, &"YN".repeat(50));
        let whole = blake3::hash(text.as_bytes()).to_hex();
        let half = blake3::hash(&text.as_bytes()[..text.len() / 2]).to_hex();
        assert!([whole.as_str(), half.as_str()].contains(&row.get("blake3")), "{number}");
        assert_eq!(row.number("cases"), 100);
    }
    assert_eq!(sandbox.rows("loose.csv").len(), 4_000);
}
