//! Watch events alone, without scans: what moves is followed, and what is lost is made up for.

use crate::kit::Sandbox;
use crate::kit::cases::{hexudoku, some};
use crate::kit::needs::need;
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
    assert_eq!(sandbox.service().metrics().of("gridmark_watch_errors_total"), 0.0);
}

#[test]
fn a_folder_that_is_removed_and_created_repeatedly_is_watched_each_time() {
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

/// Promise P5.
#[test]
fn files_of_lost_events_are_found_by_a_scan() {
    let queue = "/proc/sys/fs/inotify/max_queued_events";
    let events: usize = fs::read_to_string(queue).map_or(0, |text| text.trim().parse().unwrap());
    let found = (1..=100_000).contains(&events).then_some(()).ok_or(format!("{events} events"));
    let remedy = "sysctl fs.inotify.max_queued_events=16384";
    if need("a queue of events that can be filled", found, remedy).is_none() {
        return;
    }
    let mut sandbox = watching();
    sandbox.write("inbox/a/1", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.service().pause();
    sandbox.write("inbox/.0", "");
    for i in 0..events {
        let path = |i: usize| sandbox.path(format!("inbox/.{}", i % 2));
        fs::rename(path(i), path(i + 1)).unwrap();
    }
    sandbox.write("inbox/a/2", hexudoku(1));
    sandbox.write("inbox/b/c/3", hexudoku(1));
    sandbox.service().resume();
    sandbox.wait_for(3);
    let metrics = sandbox.service().metrics();
    assert!(metrics.of("gridmark_watch_overflows_total") >= 1.0);
    assert!(metrics.of(r#"gridmark_scans_total{reason="overflow"}"#) >= 1.0);
    // The folders that were made meanwhile are watched, and so are the others.
    sandbox.write("inbox/b/c/4", hexudoku(1));
    sandbox.write("inbox/a/5", hexudoku(1));
    sandbox.wait_for(5);
}

/// Promise P5.
///
///
/// The system tells of the end of a folder only when nobody has it open any more; by then another
/// one may be there under its name.
#[test]
fn a_late_event_of_a_removed_folder_keeps_the_watch_of_its_successor() {
    let mut sandbox = watching();
    sandbox.write("inbox/a/1", hexudoku(1));
    sandbox.wait_for(1);
    let held = fs::File::open(sandbox.path("inbox/a")).unwrap();
    fs::remove_dir_all(sandbox.path("inbox/a")).unwrap();
    sandbox.write("inbox/a/2", hexudoku(1));
    sandbox.wait_for(2);
    drop(held);
    for i in 3..=12 {
        sandbox.write(format!("inbox/a/{i}"), hexudoku(1));
        sandbox.wait_for(i);
    }
}

/// Promise P5.
///
///
/// More events than the system's queue holds, all of them of files to be graded, and folders made
/// meanwhile among them.
#[test]
fn more_files_than_the_queue_of_events_holds_are_each_graded_once() {
    let mut sandbox = watching();
    sandbox.write("inbox/old/first", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.service().pause();
    // Each is made, written and closed.
    for i in 0..6_000 {
        let folder = if i % 2 == 0 { "old".to_owned() } else { format!("new/{}/deep", i % 6) };
        let path = sandbox.path(format!("inbox/{folder}/{i}"));
        if i < 6 {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        fs::write(path, "no puzzle at all\n").unwrap();
    }
    sandbox.service().resume();
    sandbox.wait_until("all are graded", |sandbox| {
        sandbox.service().metrics().sum("gridmark_submissions_total") >= 6_001.0
    });
    let rows = sandbox.wait_for(6_001);
    let mut names: Vec<&str> = rows.iter().map(|row| row.get("submission")).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 6_001);
    assert!(rows.iter().all(|row| row.get("attempt") == "1"));
    // And the folders are watched from now on.
    sandbox.write("inbox/new/1/deep/last", hexudoku(1));
    sandbox.wait_for(6_002);
}

/// Promise P5.
#[test]
fn without_free_watches_scans_find_everything() {
    let Some(mut sandbox) = Sandbox::on_island() else { return };
    sandbox.on_shore("echo 4 > /proc/sys/user/max_inotify_watches");
    sandbox.start();
    for i in 0..60 {
        sandbox.write(format!("inbox/{}/deep/{i}", i % 12), some(i));
    }
    sandbox.wait_for(60);
    sandbox.wait_until("it says that it scans", |sandbox| {
        let metrics = sandbox.service().metrics();
        metrics.of(r#"gridmark_watch_mode{mode="scan"}"#) == 1.0
            && metrics.of("gridmark_watch_degraded") == 1.0
            && sandbox.service().log().contains("fs.inotify.max_user_watches")
    });
    assert!(sandbox.service().get("/readyz").starts_with("HTTP/1.1 200 OK\r\n"));
    sandbox.on_shore("echo 1000 > /proc/sys/user/max_inotify_watches");
    sandbox.wait_until("it watches again", |sandbox| {
        sandbox.service().metrics().of(r#"gridmark_watch_mode{mode="events"}"#) == 1.0
    });
    assert_eq!(sandbox.service().metrics().of("gridmark_watch_degraded"), 0.0);
    sandbox.write("inbox/11/deep/last", hexudoku(1));
    sandbox.wait_for(61);
}

#[test]
fn each_name_of_a_file_is_a_submission_and_other_names_elsewhere_are_left_alone() {
    let mut sandbox = watching();
    sandbox.write("outside/p", hexudoku(3));
    for name in ["inbox/a", "inbox/b"] {
        fs::hard_link(sandbox.path("outside/p"), sandbox.path(name)).unwrap();
    }
    let rows = sandbox.wait_for(2);
    for row in &rows {
        assert_eq!(row.columns(&["attempt", "filled", "status"]), "1|3|graded");
    }
    assert_eq!(sandbox.text("outside/p"), hexudoku(3));
    assert_eq!(sandbox.text("archive/a"), hexudoku(3));
    assert_eq!(sandbox.text("archive/b"), hexudoku(3));
    // The very same file once more is the next attempt.
    fs::hard_link(sandbox.path("outside/p"), sandbox.path("inbox/a")).unwrap();
    let rows = sandbox.wait_for(3);
    assert_eq!(rows[2].columns(&["submission", "attempt", "archived_as"]), "a|2|a~2");
}
