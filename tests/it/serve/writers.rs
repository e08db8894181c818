//! Files that a program still has open: the service did not see them being opened, and they have
//! settled long ago.

use crate::kit::Sandbox;
use crate::kit::cases::classic;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;

const NAMES: [&str; 5] = ["new/1", "newer/deep/er/2", "newest/3", "4", "moved/5"];

/// Files of which a half is written.
struct HalfWritten {
    text: String,
    files: Vec<File>,
}

impl HalfWritten {
    fn new(sandbox: &Sandbox, names: &[&str]) -> HalfWritten {
        let text = classic(3, "YNY");
        let begin = |name: &&str| {
            let path = sandbox.path("inbox").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut file = File::create(path).unwrap();
            file.write_all(&text.as_bytes()[..text.len() / 2]).unwrap();
            file
        };
        HalfWritten { files: names.iter().map(begin).collect(), text }
    }

    fn finish(mut self) {
        for file in &mut self.files {
            file.write_all(&self.text.as_bytes()[self.text.len() / 2..]).unwrap();
        }
    }
}

/// A sandbox that waits for writers for so long that no test sees the end of it.
fn patient() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.open_settle_ms", 600_000);
    sandbox
}

/// Waits until the service knows that each of these is open in a program.
fn wait_until_known(sandbox: &mut Sandbox, names: &[&str]) {
    for name in names {
        sandbox.wait_until("it is known to be open", |sandbox| {
            let outcome = sandbox.run("why", &[name]).stdout;
            assert!(!outcome.contains("graded as attempt"), "{outcome}");
            // If a write was noticed as well, that is the reason given.
            outcome.contains("a program has it open")
                || outcome.contains("a program may still be writing")
        });
    }
}

fn are_whole(sandbox: &mut Sandbox, submissions: usize) {
    for row in sandbox.wait_for(submissions) {
        assert_eq!(row.columns(&["attempt", "cases", "unreadable", "status"]), "1|3|0|graded");
    }
}

/// Promise P3.
#[test]
fn files_written_in_new_folders_are_graded_whole() {
    for watch in ["auto", "off"] {
        let mut sandbox = patient();
        sandbox.set("intake.watch", watch).set("intake.scan_every_ms", 100).start();
        let written = HalfWritten::new(&sandbox, &NAMES);
        wait_until_known(&mut sandbox, &NAMES);
        let still_open = sandbox.service().metrics().of("gridmark_still_open_total");
        assert!(watch == "auto" || still_open >= 5.0, "{still_open}");
        // They hold up nobody else.
        sandbox.rename_in("other", classic(1, "YYY"));
        sandbox.wait_for(1);
        written.finish();
        are_whole(&mut sandbox, 6);
    }
}

/// Promise P3.
#[test]
fn files_whose_writers_outlive_the_service_are_graded_whole() {
    let mut sandbox = patient();
    sandbox.start();
    let written = HalfWritten::new(&sandbox, &NAMES);
    sandbox.kill();
    sandbox.start();
    wait_until_known(&mut sandbox, &NAMES);
    sandbox.stop();
    sandbox.start();
    wait_until_known(&mut sandbox, &NAMES);
    written.finish();
    are_whole(&mut sandbox, 5);
}

/// Promise P3.
#[test]
fn a_file_that_is_renamed_or_moved_in_while_it_is_written_is_graded_whole() {
    let mut sandbox = patient();
    sandbox.start();
    let names = ["renamed", "moved/file"];
    let written = HalfWritten::new(&sandbox, &[".renamed.part", "../outside/file"]);
    fs::rename(sandbox.path("inbox/.renamed.part"), sandbox.path("inbox/renamed")).unwrap();
    fs::rename(sandbox.path("outside"), sandbox.path("inbox/moved")).unwrap();
    wait_until_known(&mut sandbox, &names);
    written.finish();
    are_whole(&mut sandbox, 2);
}

/// Promise P3.
#[test]
fn more_writers_than_are_remembered_are_waited_for() {
    let mut sandbox = patient();
    sandbox.set("intake.waiting_files_max", 2).set("intake.scan_every_ms", 100).start();
    let written = HalfWritten::new(&sandbox, &NAMES);
    // Scans find them again and again, and take none.
    sandbox.wait_for_scans(5);
    sandbox.rename_in("other", classic(1, "YYY"));
    sandbox.wait_for(1);
    written.finish();
    are_whole(&mut sandbox, 6);
}

/// As if they had opened it between our last look and the move.
#[test]
fn a_file_that_is_written_to_in_the_archive_is_put_back_and_graded_whole() {
    let mut sandbox = patient();
    sandbox.start();
    sandbox.stop();
    let written = HalfWritten::new(&sandbox, &["../archive/p"]);
    let found = fs::metadata(sandbox.path("archive/p")).unwrap();
    sandbox.claim("p", "p", found.ino(), found.len() as usize);
    sandbox.start();
    wait_until_known(&mut sandbox, &["p"]);
    assert!(sandbox.has("inbox/p") && !sandbox.has("archive/p"));
    written.finish();
    for row in sandbox.wait_for(1) {
        assert_eq!(row.columns(&["cases", "unreadable", "status"]), "3|0|graded");
    }
}

#[test]
fn files_are_taken_soon_after_they_are_closed_without_an_event() {
    let mut sandbox = patient();
    sandbox.set("intake.watch", "off").set("intake.scan_every_ms", 100).start();
    let written = HalfWritten::new(&sandbox, &NAMES);
    wait_until_known(&mut sandbox, &NAMES);
    drop(written);
    // The longer settle time would be ten minutes.
    sandbox.wait_for(NAMES.len());
}

#[test]
fn a_file_that_is_never_closed_is_taken_after_the_longer_settle_time() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.open_settle_ms", 400).start();
    let written = HalfWritten::new(&sandbox, &["new/1"]);
    let rows = sandbox.wait_for(1);
    assert_ne!(rows[0].get("cases"), "0");
    drop(written);
}
