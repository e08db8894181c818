//! Watch events alone, without scans: what moves is followed, and what is lost is made up for.

use crate::kit::Sandbox;
use crate::kit::cases::hexudoku;
use std::fs;

/// A sandbox that scans once a day.
fn watching() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.scan_every_ms", 86_400_000).start();
    sandbox
}

fn last_name(sandbox: &mut Sandbox, submissions: usize) -> String {
    sandbox.wait_for(submissions)[submissions - 1].get("submission").to_owned()
}

#[test]
fn a_folder_that_is_renamed_in_the_inbox_is_watched_under_its_new_name() {
    let mut sandbox = watching();
    sandbox.write("inbox/a/deep/1", hexudoku(1));
    assert_eq!(last_name(&mut sandbox, 1), "a/deep/1");
    fs::rename(sandbox.path("inbox/a"), sandbox.path("inbox/b")).unwrap();
    sandbox.write("inbox/b/deep/2", hexudoku(1));
    assert_eq!(last_name(&mut sandbox, 2), "b/deep/2");
    // Out of the inbox and in again, under the first name.
    fs::rename(sandbox.path("inbox/b"), sandbox.path("outside")).unwrap();
    sandbox.write("outside/deep/3", hexudoku(1));
    fs::rename(sandbox.path("outside"), sandbox.path("inbox/a")).unwrap();
    assert_eq!(last_name(&mut sandbox, 3), "a/deep/3");
    sandbox.write("inbox/a/deep/4", hexudoku(1));
    assert_eq!(last_name(&mut sandbox, 4), "a/deep/4");
    assert_eq!(sandbox.metrics().of("gridmark_watch_errors_total"), 0.0);
}

#[test]
fn a_folder_that_is_removed_and_made_again_and_again_is_watched_each_time() {
    let mut sandbox = watching();
    for i in 1..=30 {
        sandbox.write(format!("inbox/a/b/{i}"), hexudoku(1));
        assert_eq!(last_name(&mut sandbox, i), format!("a/b/{i}"));
        fs::remove_dir_all(sandbox.path("inbox/a")).unwrap();
    }
}

#[test]
fn a_file_that_is_renamed_while_it_waits_is_graded_once_under_its_last_name() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.scan_every_ms", 86_400_000).set("intake.settle_ms", 60_000).start();
    sandbox.write("inbox/a", hexudoku(1));
    fs::rename(sandbox.path("inbox/a"), sandbox.path("inbox/b")).unwrap();
    // To be renamed is to be finished.
    assert_eq!(last_name(&mut sandbox, 1), "b");
}

#[test]
fn events_that_the_system_loses_are_made_up_for_by_a_scan() {
    let queue = "/proc/sys/fs/inotify/max_queued_events";
    let events: usize = fs::read_to_string(queue).map_or(0, |text| text.trim().parse().unwrap());
    if !(1..=100_000).contains(&events) {
        eprintln!("skipped: no queue of events that can be filled");
        return;
    }
    let mut sandbox = watching();
    sandbox.write("inbox/a/1", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.pause();
    sandbox.write("inbox/.0", "");
    for i in 0..events {
        let path = |i: usize| sandbox.path(format!("inbox/.{}", i % 2));
        fs::rename(path(i), path(i + 1)).unwrap();
    }
    sandbox.write("inbox/a/2", hexudoku(1));
    sandbox.write("inbox/b/c/3", hexudoku(1));
    sandbox.go_on();
    sandbox.wait_for(3);
    let metrics = sandbox.metrics();
    assert!(metrics.of("gridmark_watch_overflows_total") >= 1.0);
    assert!(metrics.of(r#"gridmark_scans_total{reason="overflow"}"#) >= 1.0);
    // The folders that were made meanwhile are watched, and so are the others.
    sandbox.write("inbox/b/c/4", hexudoku(1));
    sandbox.write("inbox/a/5", hexudoku(1));
    sandbox.wait_for(5);
}
