//! How files come into the inbox, and that each is found.

use crate::kit::Sandbox;
use crate::kit::cases::{hexudoku, some};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

/// The names in `submissions.csv`.
fn names(sandbox: &Sandbox) -> BTreeSet<String> {
    sandbox.submissions().iter().map(|row| row.get("submission").to_owned()).collect()
}

#[test]
fn files_that_were_there_before_the_start_are_graded() {
    let mut sandbox = Sandbox::new();
    for name in ["loose", "a/p", "a/deep/er/p", "b/p"] {
        sandbox.write(Path::new("inbox").join(name), hexudoku(1));
    }
    sandbox.start();
    sandbox.wait_for(4);
    assert_eq!(names(&sandbox), ["a/deep/er/p", "a/p", "b/p", "loose"].map(String::from).into());
    let metrics = sandbox.service().metrics();
    assert_eq!(metrics.of(r#"gridmark_found_total{via="scan"}"#), 4.0);
}

#[test]
fn files_that_need_many_claims_are_each_taken_once() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.claim_files_max", 7);
    for i in 0..300 {
        sandbox.write(format!("inbox/{}/p{i}", i % 9), some(i));
    }
    let output = sandbox.once();
    assert!(output.status.success(), "{output:?}");
    assert_eq!((sandbox.submissions().len(), names(&sandbox).len()), (300, 300));
    assert!(sandbox.submissions().iter().all(|row| row.get("attempt") == "1"));
    let done = "SELECT count(*) FROM submissions WHERE state <> 'claimed'";
    let done: u32 = sandbox.ledger().query_row(done, [], |row| row.get(0)).unwrap();
    assert_eq!(done, 300);
}

#[test]
fn a_folder_that_is_moved_in_is_graded_whole_without_a_scan() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.scan_every_ms", 86_400_000).start();
    for i in 0..40 {
        sandbox.write(format!("outside/team/{}/p{i}", i % 4), some(i));
    }
    fs::rename(sandbox.path("outside/team"), sandbox.path("inbox/team")).unwrap();
    sandbox.wait_for(40);
    // The folder is watched now, though it was made elsewhere.
    sandbox.write("inbox/team/3/late", hexudoku(1));
    sandbox.wait_for(41);
}

#[test]
fn a_tree_that_is_copied_in_is_graded_whole_without_a_scan() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.scan_every_ms", 86_400_000).start();
    for i in 0..100 {
        sandbox.write(format!("outside/{}/{}/{i}.txt", i % 5, i % 3), some(i));
    }
    copy(&sandbox.path("outside"), &sandbox.path("inbox/copied"));
    sandbox.wait_for(100);
    assert_eq!(names(&sandbox).len(), 100);
    for row in sandbox.submissions() {
        let name = row.get("submission").trim_start_matches("copied/");
        let original = fs::read(sandbox.path("outside").join(name)).unwrap();
        assert_eq!(row.get("blake3"), blake3::hash(&original).to_hex().as_str());
    }
}

/// Copies as `cp -r` does: folder by folder, each file opened, written and closed.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            let mut source = fs::File::open(entry.path()).unwrap();
            std::io::copy(&mut source, &mut fs::File::create(target).unwrap()).unwrap();
        }
    }
}

#[test]
fn files_in_new_folders_are_graded_without_a_scan() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.scan_every_ms", 86_400_000).start();
    for i in 0..50 {
        // As `mkdir -p` does, and the file follows at once.
        sandbox.write(format!("inbox/{i}/a/b/c/d/p"), hexudoku(i % 17));
    }
    sandbox.wait_for(50);
}

#[test]
fn many_folders_each_get_their_report() {
    let mut sandbox = Sandbox::started();
    for i in 0..300 {
        sandbox.rename_in(format!("team {i}/p"), hexudoku(i % 17));
    }
    sandbox.wait_for(300);
    for i in 0..300 {
        let rows = sandbox.rows(format!("folders/team {i}.csv"));
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].number("filled"), i % 17);
    }
}

#[test]
fn folders_deeper_than_the_setting_and_names_longer_than_it_are_left_alone() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.depth_max", 2).set("intake.name_bytes_max", 20).start();
    sandbox.write("inbox/a/b/p", hexudoku(1));
    sandbox.write("inbox/a/b/c/p", hexudoku(1));
    let long = "inbox/a/long".to_owned() + &"g".repeat(30);
    sandbox.write(&long, hexudoku(1));
    sandbox.wait_for(1);
    sandbox.wait_for_scans(2);
    assert_eq!(names(&sandbox), ["a/b/p".to_owned()].into());
    assert!(sandbox.has("inbox/a/b/c/p") && sandbox.has(&long));
    assert_eq!(sandbox.service().metrics().of("gridmark_ignored_files"), 2.0);
    for setting in ["intake.depth_max", "intake.name_bytes_max"] {
        let log = sandbox.service().log();
        assert_eq!(log.matches(setting).count(), 1, "{setting} in {log}");
    }
}

/// Promise P6.
#[test]
fn what_is_no_file_is_left_alone_counted_and_logged_once() {
    let mut sandbox = Sandbox::started();
    sandbox.write("outside/p", hexudoku(1));
    sandbox.write("outside/folder/p", hexudoku(1));
    let inbox = sandbox.path("inbox");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(sandbox.path(to), inbox.join(name)).unwrap();
    };
    link("outside/p", "to-file");
    link("outside/folder", "to-folder");
    link("nowhere", "dangling");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        inbox.join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let _socket = UnixListener::bind(inbox.join("socket")).unwrap();
    sandbox.write("inbox/file", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.wait_for_scans(3);
    assert_eq!(names(&sandbox), ["file".to_owned()].into());
    assert_eq!(sandbox.service().metrics().of("gridmark_ignored_files"), 5.0);
    for name in ["to-file", "to-folder", "dangling", "fifo", "socket"] {
        assert!(sandbox.has(Path::new("inbox").join(name)), "{name}");
        let log = sandbox.service().log();
        assert_eq!(log.matches(&format!("name={name} ")).count(), 1, "{name} in {log}");
    }
    assert!(sandbox.has("outside/p") && sandbox.has("outside/folder/p"));
}

#[test]
fn ignored_names_are_left_alone_until_they_are_renamed() {
    let mut sandbox = Sandbox::started();
    let ignored = [".hidden", "a~", "b.part", "c.bak", "Thumbs.db", "desktop.ini", ".~lock.e.csv#"];
    for name in ignored {
        sandbox.write(Path::new("inbox/team").join(name), hexudoku(1));
    }
    sandbox.write("inbox/#recycle/team/p", hexudoku(1));
    sandbox.wait_for_scans(2);
    assert_eq!(sandbox.submissions(), []);
    assert_eq!(sandbox.service().metrics().of("gridmark_ignored_files"), 8.0);
    for name in ignored {
        let path = sandbox.path("inbox/team").join(name);
        fs::rename(&path, path.with_file_name(format!("done{}", name.len()))).unwrap();
        sandbox.wait_until("it is taken", |sandbox| {
            !sandbox.has(format!("inbox/team/done{}", name.len()))
        });
    }
    sandbox.wait_for(ignored.len());
    sandbox.wait_for_scans(1);
    assert_eq!(sandbox.service().metrics().of("gridmark_ignored_files"), 1.0);
}

#[test]
fn more_ignored_files_than_are_logged_are_summed_up() {
    const FILES: usize = 4_196;
    let mut sandbox = Sandbox::new();
    for i in 0..FILES {
        sandbox.write(format!("inbox/team/{i}.bak"), "");
    }
    sandbox.start();
    sandbox.wait_for_scans(1);
    assert_eq!(sandbox.service().metrics().of("gridmark_ignored_files"), FILES as f64);
    let log = sandbox.service().log();
    assert_eq!(log.matches("left alone in the inbox name=").count(), 4_096);
    let more = "more is left alone in the inbox than is logged by name";
    assert_eq!(log.matches(more).count(), 1, "{}", log.lines().last().unwrap());
    assert!(log.contains("more=100"));
}

/// Promise P5.
#[test]
fn without_watching_scans_find_everything() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.watch", "off").start();
    assert_eq!(sandbox.service().metrics().of(r#"gridmark_watch_mode{mode="scan"}"#), 1.0);
    assert_eq!(sandbox.service().metrics().of("gridmark_watch_degraded"), 0.0);
    sandbox.write("inbox/a/b/p", hexudoku(1));
    sandbox.rename_in("q", hexudoku(1));
    sandbox.wait_for(2);
    let metrics = sandbox.service().metrics();
    assert_eq!(metrics.of(r#"gridmark_found_total{via="event"}"#), 0.0);
    assert_eq!(metrics.of(r#"gridmark_found_total{via="scan"}"#), 2.0);
}

/// Promise P5.
///
///
/// Nothing can be published at first, so that nothing moves while it is to be found.
#[test]
fn however_many_files_wait_scans_go_on_and_a_new_folder_has_its_turn_soon() {
    for watch in ["auto", "off"] {
        let mut sandbox = Sandbox::new();
        sandbox.write("reports/folders", "no folder");
        sandbox.set("intake.watch", watch).set("intake.waiting_files_max", 64);
        sandbox.set("intake.claim_files_max", 8).set("queue.files_max", 64);
        sandbox.set("grade.threads_max", 1).set("publish.pending_bytes_max", 1);
        const FOLDERS: usize = 20;
        const FILES: usize = 50 * FOLDERS;
        for i in 0..FILES {
            sandbox.write(format!("inbox/{}/{i}", i % FOLDERS), hexudoku(i % 17));
        }
        sandbox.start_unready();
        sandbox.wait_until("the queue is full", |sandbox| {
            sandbox.service().metrics().of("gridmark_queue_files") >= 64.0
        });
        sandbox.wait_for_scans(1);
        for name in ["new/deep/er/p", "newer/p"] {
            sandbox.rename_in(name, hexudoku(1));
        }
        sandbox.wait_for_scans(1);
        fs::remove_file(sandbox.path("reports/folders")).unwrap();
        let rows = sandbox.wait_for(FILES + 2);
        for name in ["new/deep/er/p", "newer/p"] {
            let place = rows.iter().position(|row| row.get("submission") == name).unwrap();
            // What was taken, claimed and being graded before, and a turn of each folder.
            assert!(place < FILES / 4, "{name} comes after {place} others, watch = {watch}");
        }
        let names: BTreeSet<&str> = rows.iter().map(|row| row.get("submission")).collect();
        assert_eq!(names.len(), FILES + 2);
        assert!(rows.iter().all(|row| row.get("attempt") == "1"));
    }
}

#[test]
fn scans_pass_folders_in_which_nothing_has_changed() {
    let mut sandbox = Sandbox::new();
    const FOLDERS: usize = 300;
    for i in 0..FOLDERS {
        let hidden = if i % 3 == 0 { ".DS_Store" } else { "" };
        fs::create_dir_all(sandbox.path(format!("inbox/{i}"))).unwrap();
        if !hidden.is_empty() {
            sandbox.write(format!("inbox/{i}/{hidden}"), "x");
        }
    }
    sandbox.start();
    let counts = |sandbox: &Sandbox| {
        let metrics = sandbox.service().metrics();
        let of =
            |folder| metrics.of(&format!("gridmark_scanned_folders_total{{folder={folder:?}}}"));
        (metrics.of("gridmark_scan_seconds_count"), of("opened"), of("unchanged"))
    };
    let mut before = counts(&sandbox);
    sandbox.wait_until("scans open nothing but the inbox", |sandbox| {
        let now = counts(sandbox);
        let (scans, opened) = (now.0 - before.0, now.1 - before.1);
        let is_so = scans >= 1.0 && opened == scans && now.2 - before.2 == scans * FOLDERS as f64;
        before = now;
        is_so
    });
    // What is left alone is counted all the same.
    let ignored = sandbox.service().metrics().of("gridmark_ignored_files");
    assert_eq!(ignored, (FOLDERS / 3) as f64);
    sandbox.write("inbox/7/p", hexudoku(1));
    sandbox.rename_in("8/p", hexudoku(1));
    sandbox.wait_for(2);
}

#[test]
fn an_inbox_that_is_removed_and_created_again_is_watched_again() {
    let mut sandbox = Sandbox::started();
    fs::remove_dir_all(sandbox.path("inbox")).unwrap();
    // Either gridmark or this test creates it first.
    sandbox.write("inbox/team/p", hexudoku(1));
    sandbox.wait_for(1);
    fs::rename(sandbox.path("inbox"), sandbox.path("old")).unwrap();
    sandbox.wait_until("gridmark makes it again", |sandbox| sandbox.has("inbox"));
    sandbox.wait_for_scans(1);
    let events =
        |sandbox: &Sandbox| sandbox.service().metrics().of(r#"gridmark_found_total{via="event"}"#);
    let before = events(&sandbox);
    // Scans find files too, so a few are needed to see that events do.
    let mut files = 1;
    while events(&sandbox) == before {
        files += 1;
        sandbox.rename_in(format!("team/p{files}"), hexudoku(1));
        sandbox.wait_for(files);
    }
    assert!(sandbox.service().get("/readyz").starts_with("HTTP/1.1 200 OK\r\n"));
}
