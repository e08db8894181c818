//! When files were handed in: `handed_in_at`, and where that is in doubt.

use crate::kit::Sandbox;
use crate::kit::cases::hexudoku;
use crate::kit::needs::second_file_system;
use crate::kit::reports::Row;
use gridmark::store::fail_point::Point;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// When the inode of a file or folder changed last, in milliseconds since 1970.
fn changed_ms(sandbox: &Sandbox, path: impl AsRef<Path>) -> i64 {
    let found = sandbox.path(path).symlink_metadata().unwrap();
    found.ctime() * 1_000 + found.ctime_nsec() / 1_000_000
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Waits until the file system's clock shows a time that is so much later.
fn let_pass(sandbox: &Sandbox, ms: i64) {
    let start = now_ms();
    let has_passed = || {
        sandbox.write("clock", "");
        changed_ms(sandbox, "clock") > start + ms
    };
    while !has_passed() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn ms(row: &Row, column: &str) -> i64 {
    row.get(column).parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

fn row<'a>(rows: &'a [Row], name: &str) -> &'a Row {
    rows.iter().find(|row| row.get("submission") == name).unwrap()
}

/// Why the ledger doubts when the last attempt of this name was handed in; empty if it does not.
fn doubt(sandbox: &Sandbox, name: &str) -> String {
    let query =
        "SELECT coalesce(doubt, '') FROM submissions WHERE name = ? ORDER BY attempt DESC LIMIT 1";
    sandbox.ledger().query_row(query, [name], |row| row.get(0)).unwrap()
}

/// A file was handed in at this time, for certain, or for all that is known.
#[track_caller]
fn assert_handed_in(sandbox: &Sandbox, rows: &[Row], name: &str, at_ms: i64, why: &str) {
    let row = row(rows, name);
    assert_eq!((ms(row, "handed_in_at"), doubt(sandbox, name).as_str()), (at_ms, why), "{name}");
    assert!(row.get("handed_in_at") <= row.get("received_at"), "{row:?}");
}

/// A sandbox whose service has run and is down.
fn stopped() -> Sandbox {
    let mut sandbox = Sandbox::started();
    sandbox.stop();
    sandbox
}

fn move_in(sandbox: &Sandbox, folder: &str) {
    let inbox = sandbox.path("inbox").join(folder);
    fs::rename(sandbox.path("outside").join(folder), inbox).unwrap();
}

fn set_mode(sandbox: &Sandbox, path: &str, mode: u32) {
    fs::set_permissions(sandbox.path(path), Permissions::from_mode(mode)).unwrap();
}

/// Promise P7.
#[test]
fn a_service_that_was_down_makes_nobody_late() {
    let mut sandbox = stopped();
    fs::create_dir(sandbox.path("inbox/old")).unwrap();
    let_pass(&sandbox, 30);
    sandbox.write("inbox/old/written", hexudoku(1));
    sandbox.rename_in("renamed", hexudoku(2));
    sandbox.write("inbox/new/deep/written", hexudoku(3));
    let names = ["old/written", "renamed", "new/deep/written"];
    let changed = names.map(|name| changed_ms(&sandbox, Path::new("inbox").join(name)));
    let_pass(&sandbox, 100);
    let bell = now_ms();
    sandbox.start();
    let rows = sandbox.wait_for(3);
    for (name, at_ms) in names.into_iter().zip(changed) {
        assert_handed_in(&sandbox, &rows, name, at_ms, "");
        assert!(at_ms < bell && ms(row(&rows, name), "received_at") >= bell, "{name}");
    }
    sandbox.stop();
    sandbox.agrees();
}

#[test]
fn a_folder_that_is_moved_in_is_handed_in_then_whenever_its_files_were_written() {
    for (watch, is_up) in [("auto", true), ("off", true), ("auto", false)] {
        let mut sandbox = Sandbox::new();
        sandbox.set("intake.watch", watch).start();
        if !is_up {
            sandbox.stop();
        }
        sandbox.write("outside/team/deep/p", hexudoku(1));
        let written = changed_ms(&sandbox, "outside/team/deep/p");
        let_pass(&sandbox, 50);
        move_in(&sandbox, "team");
        // What happens in it and around it is as usual.
        let moved = changed_ms(&sandbox, "inbox/team");
        assert!(written < moved);
        if !is_up {
            let_pass(&sandbox, 30);
            sandbox.start();
        }
        let rows = sandbox.wait_for(1);
        assert_handed_in(&sandbox, &rows, "team/deep/p", moved, "");
        // A file that comes into it later has its own time.
        let_pass(&sandbox, 30);
        sandbox.write("outside/q", hexudoku(2));
        fs::rename(sandbox.path("outside/q"), sandbox.path("inbox/team/q")).unwrap();
        let rows = sandbox.wait_for(2);
        assert!(ms(row(&rows, "team/q"), "handed_in_at") > moved, "{watch}");
        assert_eq!(doubt(&sandbox, "team/q"), "", "{watch}");
    }
}

#[test]
fn what_was_moved_in_before_the_first_start_is_not_in_doubt() {
    let mut sandbox = Sandbox::new();
    sandbox.write("outside/team/p", hexudoku(1));
    fs::create_dir(sandbox.path("inbox")).unwrap();
    let_pass(&sandbox, 30);
    move_in(&sandbox, "team");
    let moved = changed_ms(&sandbox, "inbox/team");
    let_pass(&sandbox, 30);
    // It adds its own lock to the inbox.
    sandbox.once();
    assert_handed_in(&sandbox, &sandbox.submissions(), "team/p", moved, "");
}

#[test]
fn where_a_move_may_have_been_missed_the_time_is_in_doubt() {
    let mut sandbox = stopped();
    for team in ["one", "two", "three"] {
        sandbox.write(format!("outside/{team}/p"), hexudoku(1));
    }
    let written = ["one", "two"].map(|team| changed_ms(&sandbox, format!("outside/{team}/p")));
    let mut moved = Vec::new();
    for team in ["one", "two", "three"] {
        let_pass(&sandbox, 30);
        move_in(&sandbox, team);
        moved.push(changed_ms(&sandbox, Path::new("inbox").join(team)));
    }
    // The next entry hides when the first one was moved.
    let_pass(&sandbox, 30);
    sandbox.write("inbox/one/q", hexudoku(2));
    let later = changed_ms(&sandbox, "inbox/one/q");
    sandbox.start();
    let rows = sandbox.wait_for(4);
    assert_handed_in(&sandbox, &rows, "one/p", written[0], "move");
    assert_handed_in(&sandbox, &rows, "one/q", later, "");
    // It was moved, or its mode was changed.
    assert!(written[1] < moved[1]);
    assert_handed_in(&sandbox, &rows, "two/p", moved[1], "move");
    assert_handed_in(&sandbox, &rows, "three/p", moved[2], "");
    let in_doubt = r#"gridmark_arrivals_in_doubt_total{doubt="move"}"#;
    assert_eq!(sandbox.service().metrics().of(in_doubt), 2.0);
    let why = sandbox.run("why", &["one/p"]).stdout;
    let says = format!(
        "attempt 1: handed in {} (in doubt: its folder may have been moved into the inbox later), \
         taken 2",
        row(&rows, "one/p").get("handed_in_at")
    );
    assert!(why.contains(&says), "{why}");
    assert!(!sandbox.run("why", &["one/q"]).stdout.contains("in doubt"));
    sandbox.stop();
    sandbox.agrees();
}

#[test]
fn a_change_of_mode_while_the_service_runs_makes_nobody_late() {
    let mut sandbox = Sandbox::new();
    sandbox.write("inbox/team/p", hexudoku(1));
    set_mode(&sandbox, "inbox/team/p", 0);
    if !sandbox.run_as_nobody() {
        return;
    }
    let dropped = changed_ms(&sandbox, "inbox/team/p");
    let_pass(&sandbox, 1_200);
    sandbox.start();
    sandbox.wait_until("it could not be read", |sandbox| {
        sandbox.service().metrics().of("gridmark_claim_errors_total") >= 1.0
    });
    set_mode(&sandbox, "inbox/team/p", 0o644);
    assert!(changed_ms(&sandbox, "inbox/team/p") > dropped);
    let rows = sandbox.wait_for(1);
    assert_handed_in(&sandbox, &rows, "team/p", dropped, "change");
}

#[test]
fn a_change_of_mode_while_the_service_was_down_is_noticed() {
    let mut sandbox = stopped();
    sandbox.rename_in("team/p", hexudoku(1));
    sandbox.rename_in("other/p", hexudoku(2));
    // Longer than a program takes that writes a file and then sets its mode.
    let_pass(&sandbox, 1_200);
    set_mode(&sandbox, "inbox/team/p", 0o600);
    let changed = changed_ms(&sandbox, "inbox/team/p");
    let other = changed_ms(&sandbox, "inbox/other/p");
    sandbox.start();
    let rows = sandbox.wait_for(2);
    assert_handed_in(&sandbox, &rows, "team/p", changed, "change");
    assert_handed_in(&sandbox, &rows, "other/p", other, "");
}

#[test]
fn retry_keeps_when_a_file_was_handed_in_first() {
    retries(Sandbox::new());
}

/// Where files are copied, they get other inodes, and may get other times.
#[test]
fn retry_keeps_when_a_file_was_handed_in_first_though_it_was_copied() {
    let mut sandbox = Sandbox::new();
    let Some(far) = second_file_system(&sandbox.path("")) else { return };
    sandbox.set("paths.archive", far.path().join("archive").display());
    retries(sandbox);
}

fn retries(mut sandbox: Sandbox) {
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "p").set("grade.tries_max", 1);
    sandbox.rename_in("p", hexudoku(1));
    let first = changed_ms(&sandbox, "inbox/p");
    assert_eq!(sandbox.once().status.code(), Some(1));
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "nobody");
    // Another file of that name is graded meanwhile.
    let_pass(&sandbox, 30);
    sandbox.rename_in("p", hexudoku(2));
    let second = changed_ms(&sandbox, "inbox/p");
    sandbox.once();
    let_pass(&sandbox, 30);
    assert_eq!(sandbox.run("retry", &["p"]).code, Some(0));
    sandbox.once();
    let columns = ["attempt", "filled", "status"];
    let rows = sandbox.submissions();
    let found = rows.iter().map(|row| (row.columns(&columns), ms(row, "handed_in_at")));
    let expected = [("1|0|failed", first), ("2|2|graded", second), ("3|1|graded", first)];
    assert!(found.eq(expected.map(|(row, at_ms)| (row.to_owned(), at_ms))), "{rows:#?}");
    assert_eq!(doubt(&sandbox, "p"), "");
    sandbox.verifies();
}

/// The file in the archive is not what its claim says: it goes back, and is taken again.
#[test]
fn a_file_that_was_put_back_keeps_when_it_was_handed_in_first() {
    let mut sandbox = stopped();
    sandbox.set("intake.open_settle_ms", 100);
    sandbox.write("archive/p", hexudoku(4));
    sandbox.claim("p", "p", 0, 5);
    sandbox.start();
    let rows = sandbox.wait_for(1);
    assert_eq!(sandbox.service().metrics().of("gridmark_put_back_total"), 1.0);
    // As the claim says, which is of another content.
    assert_handed_in(&sandbox, &rows, "p", 1_234, "change");
}

#[test]
fn a_crash_between_claim_and_rename_keeps_when_a_file_was_handed_in() {
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("team/p", hexudoku(1));
    let dropped = changed_ms(&sandbox, "inbox/team/p");
    assert!(sandbox.once_dying_at(Point::Claimed, 1).is_none());
    assert!(sandbox.has("inbox/team/p"));
    let_pass(&sandbox, 30);
    set_mode(&sandbox, "inbox/team/p", 0o600);
    assert!(changed_ms(&sandbox, "inbox/team/p") > dropped);
    sandbox.once();
    let rows = sandbox.submissions();
    assert_handed_in(&sandbox, &rows, "team/p", dropped, "");
}

/// A file that is hidden to be copied gets its name back if that fails, by our own renames.
#[test]
fn a_file_that_could_not_be_copied_keeps_when_it_was_handed_in() {
    let mut sandbox = Sandbox::new();
    let Some(far) = second_file_system(&sandbox.path("")) else { return };
    sandbox.set("paths.archive", far.path().display());
    fs::create_dir(far.path().join("team")).unwrap();
    fs::set_permissions(far.path(), Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(far.path().join("team"), Permissions::from_mode(0o555)).unwrap();
    sandbox.rename_in("team/p", hexudoku(1));
    if !sandbox.run_as_nobody() {
        return;
    }
    let dropped = changed_ms(&sandbox, "inbox/team/p");
    let_pass(&sandbox, 30);
    sandbox.start_unready();
    sandbox.wait_until("it could not be copied", |sandbox| {
        sandbox.service().metrics().of("gridmark_claim_errors_total") >= 2.0
    });
    fs::set_permissions(far.path().join("team"), Permissions::from_mode(0o777)).unwrap();
    let rows = sandbox.wait_for(1);
    assert_handed_in(&sandbox, &rows, "team/p", dropped, "");
}

/// Where the times of files may be of another clock, or not those of a rename, a file arrives when it is last
/// seen to change.
#[test]
fn on_a_file_system_whose_times_are_not_trusted_it_counts_when_a_file_is_seen() {
    let Some(mut sandbox) = Sandbox::on_island() else { return };
    fs::create_dir(sandbox.path("inbox")).unwrap();
    sandbox.on_shore("mount -t ramfs none inbox");
    sandbox.write("inbox/early", hexudoku(1));
    let early = changed_ms(&sandbox, "inbox/early");
    let_pass(&sandbox, 30);
    sandbox.start();
    let rows = sandbox.wait_for(1);
    assert_handed_in(&sandbox, &rows, "early", early, "clock");
    sandbox.service().pause();
    sandbox.write("inbox/late", hexudoku(2));
    let_pass(&sandbox, 100);
    let seen = now_ms();
    sandbox.service().resume();
    let rows = sandbox.wait_for(2);
    assert!(ms(row(&rows, "late"), "handed_in_at") >= seen);
    assert_eq!(doubt(&sandbox, "late"), "");
}

#[test]
fn after_the_clock_was_set_the_times_before_are_in_doubt() {
    let before =
        ["UPDATE clock SET wall = wall - 3600000", "UPDATE clock SET wall = wall + 3600000"];
    let later = "UPDATE submissions SET received_at = received_at + 3600000";
    for (change, steps) in [(before[0], 1.0), (before[1], 1.0), (later, 0.0)] {
        let mut sandbox = Sandbox::started();
        sandbox.rename_in("first", hexudoku(1));
        sandbox.wait_for(1);
        sandbox.stop();
        assert_eq!(sandbox.ledger().execute(change, []).unwrap(), 1);
        sandbox.rename_in("early", hexudoku(2));
        let early = changed_ms(&sandbox, "inbox/early");
        let_pass(&sandbox, 30);
        sandbox.start();
        let rows = sandbox.wait_for(2);
        assert_handed_in(&sandbox, &rows, "early", early, "clock");
        assert_eq!(sandbox.service().metrics().of("gridmark_clock_steps_total"), steps, "{change}");
        sandbox.rename_in("late", hexudoku(3));
        sandbox.wait_for(3);
        assert_eq!(doubt(&sandbox, "late"), "", "{change}");
        // It is noticed once.
        sandbox.stop();
        sandbox.rename_in("next", hexudoku(4));
        sandbox.start();
        sandbox.wait_for(4);
        assert_eq!(doubt(&sandbox, "next"), "", "{change}");
    }
}

/// What sets the change time of a file while it waits does not hand it in.
#[test]
fn a_change_of_mode_links_or_times_while_a_file_settles_makes_nobody_late() {
    let mut sandbox = Sandbox::new();
    // An empty file waits for that long.
    sandbox.set("intake.open_settle_ms", 4_000).start();
    let names = ["mode", "links", "touched", "dated", "finished", "written"];
    let dropped = names.map(|name| {
        let path = format!("inbox/{name}");
        let holds = if name == "written" { "12" } else { "" };
        sandbox.write(&path, holds);
        // Until the next write it is open.
        changed_ms(&sandbox, path)
    });
    let open = |name| fs::OpenOptions::new().write(true).open(sandbox.path("inbox").join(name));
    let mut being_written = open("written").unwrap();
    std::io::Write::write_all(&mut being_written, b"1").unwrap();
    let set_time = |name, at| open(name).unwrap().set_modified(at).unwrap();
    set_time("finished", SystemTime::UNIX_EPOCH);
    let_pass(&sandbox, 1_200);
    set_mode(&sandbox, "inbox/mode", 0o600);
    fs::hard_link(sandbox.path("inbox/links"), sandbox.path("link")).unwrap();
    let now = SystemTime::now();
    let times = fs::FileTimes::new().set_accessed(now).set_modified(now);
    open("touched").unwrap().set_times(times).unwrap();
    set_time("dated", SystemTime::UNIX_EPOCH);
    std::io::Write::write_all(&mut being_written, b"2").unwrap();
    drop(being_written);
    let written = changed_ms(&sandbox, "inbox/written");
    let rows = sandbox.wait_for(6);
    for (name, at_ms) in names.into_iter().zip(dropped).take(4) {
        assert_handed_in(&sandbox, &rows, name, at_ms, "change");
    }
    assert_handed_in(&sandbox, &rows, "finished", dropped[4], "");
    assert_handed_in(&sandbox, &rows, "written", written, "");
}

/// Rights that exclude the service, and that are put right as the documents say.
#[test]
fn a_folder_that_could_not_be_read_makes_nobody_late() {
    for watch in ["auto", "off"] {
        let mut sandbox = Sandbox::new();
        sandbox.set("intake.watch", watch);
        for folder in ["inbox", "outside/moved"] {
            fs::create_dir_all(sandbox.path(folder)).unwrap();
        }
        sandbox.write("outside/old", hexudoku(3));
        if !sandbox.run_as_nobody() {
            return;
        }
        let_pass(&sandbox, 1_200);
        sandbox.start();
        fs::create_dir(sandbox.path("inbox/team")).unwrap();
        set_mode(&sandbox, "inbox/team", 0o700);
        sandbox.write("inbox/team/p", hexudoku(1));
        sandbox.write("inbox/team/deep/given", hexudoku(4));
        sandbox.write("inbox/team/deep/left", hexudoku(5));
        set_mode(&sandbox, "inbox/team/p", 0o600);
        set_mode(&sandbox, "inbox/team/deep", 0o700);
        let written = changed_ms(&sandbox, "inbox/team/p");
        let left = changed_ms(&sandbox, "inbox/team/deep/left");
        sandbox.wait_until("it could not be read", |sandbox| {
            sandbox.service().metrics().of("gridmark_scan_errors_total") >= 1.0
        });
        let_pass(&sandbox, 1_200);
        // Another entry hides when those of the folder changed before.
        fs::copy(sandbox.path("outside/old"), sandbox.path("inbox/team/q")).unwrap();
        // Else the folder in it may have been moved there.
        let_pass(&sandbox, 30);
        for path in ["p", "q", "deep/given", "deep", ""] {
            let path = sandbox.path("inbox/team").join(path);
            std::os::unix::fs::chown(path, Some(65_534), None).unwrap();
        }
        let given = changed_ms(&sandbox, "inbox/team/p");
        let copied = changed_ms(&sandbox, "inbox/team/q");
        let deep = changed_ms(&sandbox, "inbox/team/deep/given");
        let rows = sandbox.wait_for(4);
        assert!(written < given);
        assert_handed_in(&sandbox, &rows, "team/deep/given", deep, "change");
        // Before the copy, its folder may have been moved to where it is.
        assert_handed_in(&sandbox, &rows, "team/deep/left", left, "move");
        assert_handed_in(&sandbox, &rows, "team/p", given, "change");
        assert_handed_in(&sandbox, &rows, "team/q", copied, "");
    }
}

/// Other content is another hand-in, whose time nobody has seen.
#[test]
fn what_was_changed_in_quarantine_is_in_doubt() {
    let far = second_file_system(&Sandbox::new().path(""));
    for copied in [None, far] {
        let mut sandbox = Sandbox::new();
        if let Some(far) = &copied {
            sandbox.set("paths.archive", far.path().join("archive").display());
        }
        sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "p").set("grade.tries_max", 1);
        for how in ["in place", "by a new file"] {
            sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "p");
            sandbox.rename_in("p", hexudoku(1));
            let first = changed_ms(&sandbox, "inbox/p");
            assert_eq!(sandbox.once().status.code(), Some(1));
            sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "nobody");
            let_pass(&sandbox, 30);
            let place = sandbox.submissions().last().unwrap().get("archived_as").to_owned();
            if how == "by a new file" {
                fs::remove_file(sandbox.path("quarantine").join(&place)).unwrap();
            }
            sandbox.write(Path::new("quarantine").join(&place), hexudoku(2));
            let_pass(&sandbox, 30);
            assert_eq!(sandbox.run("retry", &["p"]).code, Some(0));
            sandbox.once();
            let rows = sandbox.submissions();
            let last = rows.last().unwrap();
            assert_eq!(last.columns(&["status", "filled"]), "graded|2");
            assert_eq!(
                (ms(last, "handed_in_at"), doubt(&sandbox, "p").as_str()),
                (first, "change")
            );
        }
        sandbox.verifies();
    }
}

/// A copy of a file that has failed is another hand-in.
#[test]
fn a_file_like_one_that_has_failed_has_its_own_time() {
    let mut sandbox = Sandbox::new();
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "p").set("grade.tries_max", 1);
    sandbox.rename_in("p", hexudoku(1));
    let like = |sandbox: &Sandbox| {
        sandbox.write("outside/p", hexudoku(2));
        let file = fs::OpenOptions::new().write(true).open(sandbox.path("outside/p")).unwrap();
        let failed = sandbox.path("quarantine/p").metadata().and_then(|found| found.modified());
        let modified = failed.or_else(|_| sandbox.path("archive/p~2").metadata()?.modified());
        file.set_modified(modified.unwrap()).unwrap();
        fs::rename(sandbox.path("outside/p"), sandbox.path("inbox/p")).unwrap();
        changed_ms(sandbox, "inbox/p")
    };
    assert_eq!(sandbox.once().status.code(), Some(1));
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "nobody");
    let_pass(&sandbox, 30);
    // While the one that has failed is in quarantine, and after it was graded.
    let second = like(&sandbox);
    sandbox.once();
    assert_eq!(sandbox.run("retry", &["p"]).code, Some(0));
    sandbox.once();
    let_pass(&sandbox, 30);
    let fourth = like(&sandbox);
    sandbox.once();
    let rows = sandbox.submissions();
    let found: Vec<i64> = rows.iter().map(|row| ms(row, "handed_in_at")).collect();
    assert_eq!((found[1], found[3]), (second, fourth));
    assert_eq!(found[2], found[0]);
    assert_eq!(doubt(&sandbox, "p"), "");
}

#[test]
fn a_second_name_of_a_file_that_appears_while_the_service_is_down_is_noticed() {
    let mut sandbox = stopped();
    sandbox.write("inbox/first", hexudoku(1));
    sandbox.write("inbox/alone", hexudoku(2));
    let_pass(&sandbox, 1_200);
    fs::hard_link(sandbox.path("inbox/first"), sandbox.path("inbox/second")).unwrap();
    let linked = changed_ms(&sandbox, "inbox/first");
    let alone = changed_ms(&sandbox, "inbox/alone");
    sandbox.start();
    let rows = sandbox.wait_for(3);
    assert_handed_in(&sandbox, &rows, "first", linked, "change");
    assert_handed_in(&sandbox, &rows, "second", linked, "change");
    assert_handed_in(&sandbox, &rows, "alone", alone, "");
}

/// Names in it can be read, and nothing else.
#[test]
fn a_folder_that_may_be_listed_and_not_entered_counts_as_unreadable() {
    let mut sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("inbox")).unwrap();
    if !sandbox.run_as_nobody() {
        return;
    }
    sandbox.start();
    fs::create_dir(sandbox.path("inbox/team")).unwrap();
    set_mode(&sandbox, "inbox/team", 0o744);
    sandbox.write("inbox/team/p", hexudoku(1));
    sandbox.write("inbox/team/q", hexudoku(2));
    let written = changed_ms(&sandbox, "inbox/team/p");
    let_pass(&sandbox, 1_200);
    sandbox.wait_until("it is reported", |sandbox| {
        sandbox.service().metrics().of("gridmark_scan_errors_total") >= 1.0
    });
    assert!(sandbox.service().log().contains("cannot read a folder of the inbox"));
    set_mode(&sandbox, "inbox/team/q", 0o640);
    set_mode(&sandbox, "inbox/team/q", 0o644);
    set_mode(&sandbox, "inbox/team", 0o755);
    std::os::unix::fs::chown(sandbox.path("inbox/team"), Some(65_534), None).unwrap();
    let rows = sandbox.wait_for(2);
    assert_handed_in(&sandbox, &rows, "team/p", written, "");
    assert_eq!(doubt(&sandbox, "team/q"), "change");
}

/// What the service cannot take yet may be replaced meanwhile, by as many bytes with the same time.
#[test]
fn a_file_that_is_replaced_before_it_can_be_taken_is_in_doubt() {
    let mut sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("inbox")).unwrap();
    if !sandbox.run_as_nobody() {
        return;
    }
    sandbox.start();
    // Nobody but its owner may move files out of this folder.
    for name in ["team/same", "team/other"] {
        sandbox.write(Path::new("inbox").join(name), hexudoku(1));
    }
    let paths = ["inbox/team/same", "inbox/team/other"];
    let dropped = paths.map(|path| changed_ms(&sandbox, path));
    sandbox.wait_until("they could not be taken", |sandbox| {
        sandbox.service().metrics().of("gridmark_claim_errors_total") >= 2.0
    });
    let modified = sandbox.path(paths[1]).metadata().unwrap().modified().unwrap();
    let other = hexudoku(2);
    assert_eq!(other.len(), hexudoku(1).len());
    fs::write(sandbox.path(paths[1]), other).unwrap();
    let file = fs::OpenOptions::new().write(true).open(sandbox.path(paths[1])).unwrap();
    file.set_modified(modified).unwrap();
    drop(file);
    std::os::unix::fs::chown(sandbox.path("inbox/team"), Some(65_534), None).unwrap();
    let rows = sandbox.wait_for(2);
    assert_handed_in(&sandbox, &rows, "team/same", dropped[0], "");
    assert_handed_in(&sandbox, &rows, "team/other", dropped[1], "change");
    assert_eq!(row(&rows, "team/other").get("filled"), "2");
}

/// As a program does that copies two folders, and gives each the times of the original when it is copied.
#[test]
fn a_folder_that_changes_at_the_moment_at_which_another_comes_may_not_have_been_moved() {
    let mut sandbox = stopped();
    sandbox.write("inbox/one/p", hexudoku(1));
    let_pass(&sandbox, 1_200);
    // The system's clock for files may tick in between.
    let same_moment = (0..100).any(|i| {
        let one = fs::File::open(sandbox.path("inbox/one")).unwrap();
        one.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        fs::create_dir(sandbox.path(format!("inbox/two-{i}"))).unwrap();
        let above = sandbox.path("inbox").metadata().unwrap();
        let above_ms = above.mtime() * 1_000 + above.mtime_nsec() / 1_000_000;
        above_ms - changed_ms(&sandbox, "inbox/one") <= 5
    });
    assert!(same_moment);
    sandbox.start();
    sandbox.wait_for(1);
    assert_eq!(doubt(&sandbox, "one/p"), "move");
}
