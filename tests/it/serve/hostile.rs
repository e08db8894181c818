//! Input that is meant to do harm: it harms nothing but itself.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku, killer, some};
use crate::kit::needs::need;
use crate::kit::reports::Row;
use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn number_of(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |text| text.parse().unwrap())
}

/// What no report, and no file of the archive, may ever hold.
const SECRET: &str = "1\nthis lies outside of the inbox\n";

fn has_secret(folder: &Path) -> bool {
    fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let kind = entry.file_type().unwrap();
        let is_file =
            kind.is_file() && fs::read(entry.path()).is_ok_and(|text| text == SECRET.as_bytes());
        is_file || (kind.is_dir() && has_secret(&entry.path()))
    })
}

/// Promise P6.
///
///
/// Files that turn into links, FIFOs and folders, and folders that turn into links, from one moment
/// to the next: what is read is what was looked at, or nothing.
#[test]
fn a_file_swapped_for_a_link_between_check_and_open_is_not_followed() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.settle_ms", 0).set("intake.scan_every_ms", 1).start();
    sandbox.write("outside/secret", SECRET);
    sandbox.write("outside/team/p", SECRET);
    let (inbox, outside) = (sandbox.path("inbox"), sandbox.path("outside"));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..1_500 {
                let (new, name) = (outside.join("new"), inbox.join(format!("swapped {}", i % 7)));
                match i % 3 {
                    0 => fs::write(&new, classic(i, "Y")).unwrap(),
                    1 => std::os::unix::fs::symlink(outside.join("secret"), &new).unwrap(),
                    _ => {
                        let mode = Mode::from_raw_mode(0o600);
                        rustix::fs::mknodat(CWD, &new, FileType::Fifo, mode, 0).unwrap();
                    }
                }
                fs::rename(&new, &name).unwrap();
            }
            over.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            let (real, link) = (inbox.join("team"), inbox.join(".link"));
            fs::create_dir(&real).unwrap();
            std::os::unix::fs::symlink(outside.join("team"), &link).unwrap();
            while !over.load(Ordering::Acquire) {
                let _ = fs::write(inbox.join("team/q"), hexudoku(1));
                rustix::fs::renameat_with(CWD, &real, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                std::thread::yield_now();
                rustix::fs::renameat_with(CWD, &real, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        });
    });
    // It continues as before.
    sandbox.rename_in("other/p", hexudoku(5));
    sandbox.wait_until("the other one is graded", |sandbox| {
        sandbox.submissions().iter().any(|row| row.get("submission") == "other/p")
    });
    sandbox.stop();
    assert_eq!(sandbox.text("outside/secret"), SECRET);
    assert_eq!(sandbox.text("outside/team/p"), SECRET);
    let secret = blake3::hash(SECRET.as_bytes()).to_hex();
    for row in sandbox.submissions() {
        assert_ne!(row.get("blake3"), secret.as_str());
        assert_ne!(row.get("status"), "failed", "{row:?}");
    }
    assert!(!has_secret(&sandbox.path("archive")) && !has_secret(&sandbox.path("quarantine")));
}

/// Only root may make devices.
#[test]
fn devices_are_left_alone() {
    let mut sandbox = Sandbox::started();
    let mode = Mode::from_raw_mode(0o666);
    let zero = rustix::fs::makedev(1, 5);
    let path = sandbox.path("inbox/zero");
    let made = rustix::fs::mknodat(CWD, &path, FileType::CharacterDevice, mode, zero);
    let made = made.map_err(|error| error.to_string());
    if need("a device node", made, "run the tests as root, with CAP_MKNOD").is_none() {
        return;
    }
    sandbox.rename_in("p", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.wait_for_scans(2);
    assert!(sandbox.has("inbox/zero"));
    assert!(
        sandbox.service().log().contains("is a device, and only files are graded"),
        "{}",
        sandbox.service().log()
    );
}

/// Deeper than any path that the system takes.
#[test]
fn a_tree_that_is_deeper_than_any_path_harms_nothing() {
    let mut sandbox = Sandbox::started();
    let mode = Mode::from_raw_mode(0o755);
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::openat(CWD, sandbox.path("inbox"), flags, Mode::empty()).unwrap();
    let name = "d".repeat(100);
    for _ in 0..150 {
        rustix::fs::mkdirat(&folder, &name, mode).unwrap();
        folder = rustix::fs::openat(&folder, &name, flags, Mode::empty()).unwrap();
    }
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    drop(rustix::fs::openat(&folder, "p", flags, mode).unwrap());
    sandbox.rename_in("team/p", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.wait_for_scans(2);
    let metrics = sandbox.service().metrics();
    assert_eq!(metrics.of("gridmark_ignored_files"), 1.0);
    assert_eq!(metrics.of("gridmark_scan_errors_total"), 0.0, "{}", sandbox.service().log());
}

/// Noise, and files of every kind that end anywhere, are marked or unreadable, and never ours.
#[test]
fn noise_and_truncated_files_are_graded_as_what_they_are() {
    let mut sandbox = Sandbox::started();
    let mut files = 0;
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for i in 0..60 {
        let noise: Vec<u8> = (0..i * 97)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect();
        let extension = ["", ".killer", ".classic", ".hexudoku"][i % 4];
        sandbox.rename_in(format!("noise/{i}{extension}"), noise);
        files += 1;
    }
    let texts = [classic(1, "YNY"), killer(2, true), hexudoku(3), killer(3, false).repeat(2)];
    for (kind, text) in texts.iter().enumerate() {
        for i in 0..40 {
            let end = i * text.len() / 40;
            sandbox.rename_in(format!("truncated/{kind}-{i}"), &text[..end]);
            files += 1;
        }
    }
    for row in sandbox.wait_for(files) {
        assert_ne!(row.get("status"), "failed", "{row:?}");
    }
    let metrics = sandbox.service().metrics();
    for errors in ["grade", "claim", "commit"] {
        assert_eq!(metrics.of(&format!("gridmark_{errors}_errors_total")), 0.0);
    }
    assert_eq!(metrics.of("gridmark_panics_total"), 0.0);
}

/// Promise P6.
///
///
/// A line without an end: a file that is one hole reads as NULs. Its length is 256 MiB, or what
/// GRIDMARK_TEST_LINE_BYTES says; 4294967296 is the long form.
#[test]
fn a_line_of_gigabytes_is_one_unreadable_case_and_takes_little_memory() {
    let bytes = number_of("GRIDMARK_TEST_LINE_BYTES", 256 << 20) as u64;
    let mut sandbox = Sandbox::started();
    for name in ["p", "p.killer", "p.classic", "p.hexudoku"] {
        sandbox.write(Path::new("outside").join(name), "");
        let file = File::options().write(true).open(sandbox.path("outside").join(name)).unwrap();
        file.set_len(bytes).unwrap();
        fs::create_dir_all(sandbox.path("inbox/huge")).unwrap();
        let inbox = sandbox.path("inbox/huge").join(name);
        fs::rename(sandbox.path("outside").join(name), inbox).unwrap();
    }
    sandbox.rename_in("small/p", hexudoku(1));
    sandbox.wait_until("the small one is graded", |sandbox| !sandbox.submissions().is_empty());
    assert_eq!(sandbox.submissions()[0].get("submission"), "small/p");
    let begun = Instant::now();
    sandbox.wait_while_more("bytes are read", "gridmark_read_bytes_total", |sandbox| {
        sandbox.submissions().len() < 5
    });
    let took = begun.elapsed();
    let rows = sandbox.wait_for(5);
    for row in rows.iter().filter(|row| row.get("submission") != "small/p") {
        assert_eq!(row.columns(&["status", "unreadable"]), "unreadable|1");
        assert_eq!(row.number("bytes"), bytes);
    }
    assert!(sandbox.rows("folders/huge.csv").len() == 4);
    let memory = sandbox.service().peak_memory_bytes();
    eprintln!("4 lines of {bytes} bytes took {took:?}, and {memory} bytes of memory at most");
    assert!(memory < 192 << 20, "{memory} bytes");
}

/// Very many tiny files: 20,000, or as many as GRIDMARK_TEST_TINY_FILES says; 1000000 is the long
/// form.
#[test]
fn very_many_tiny_files_are_each_graded_once_and_take_little_memory() {
    let files = number_of("GRIDMARK_TEST_TINY_FILES", 20_000);
    let mut sandbox = Sandbox::new();
    for i in 0..files {
        let folder = sandbox.path(format!("outside/flood/{}", i / 10_000));
        if i % 10_000 == 0 {
            fs::create_dir_all(&folder).unwrap();
        }
        fs::write(folder.join(i.to_string()), b"x").unwrap();
    }
    sandbox.start();
    fs::rename(sandbox.path("outside/flood"), sandbox.path("inbox/flood")).unwrap();
    let begun = Instant::now();
    sandbox.wait_while_more("files are graded", "gridmark_submissions_total", |sandbox| {
        sandbox.service().metrics().sum("gridmark_submissions_total") < files as f64
    });
    let took = begun.elapsed();
    let names = |rows: Vec<Row>| {
        let name = |row: &Row| row.columns(&["submission", "attempt"]);
        rows.iter().map(name).collect::<BTreeSet<_>>()
    };
    for report in ["submissions.csv", "folders/flood.csv"] {
        let rows = sandbox.rows(report);
        assert_eq!(rows.len(), files, "{report}");
        assert_eq!(names(rows).len(), files, "{report}");
    }
    let memory = sandbox.service().peak_memory_bytes();
    eprintln!("{files} files took {took:?}, and {memory} bytes of memory at most");
    assert!(memory < 192 << 20, "{memory} bytes");
}

/// Promise P6.
///
///
/// One team floods the inbox with files, another one writes to a file without a pause, and a third
/// one hands in a file now and then.
#[test]
fn a_flood_from_one_folder_does_not_hold_up_another() {
    const FLOOD: usize = 12_000;
    let mut sandbox = Sandbox::started();
    for i in 0..FLOOD {
        let folder = sandbox.path(format!("outside/flood/{}", i / 2_000));
        if i % 2_000 == 0 {
            fs::create_dir_all(&folder).unwrap();
        }
        fs::write(folder.join(i.to_string()), some(i)).unwrap();
    }
    fs::rename(sandbox.path("outside/flood"), sandbox.path("inbox/flood")).unwrap();
    let mut slowest = Duration::ZERO;
    let mut under_flood = 0;
    let (over, storm) = (Arc::new(AtomicBool::new(false)), sandbox.path("inbox/storm/p"));
    let is_over = Arc::clone(&over);
    let storm = std::thread::spawn(move || {
        fs::create_dir(storm.parent().unwrap()).unwrap();
        while !is_over.load(Ordering::Acquire) {
            let _ = File::options().append(true).create(true).open(&storm).unwrap().write(b"x");
        }
        fs::remove_dir_all(storm.parent().unwrap()).unwrap();
    });
    for i in 0..20 {
        let begun = Instant::now();
        sandbox.rename_in(format!("fair/{i}"), hexudoku(i % 17));
        sandbox.wait_until("the other team's file is graded", |sandbox| {
            sandbox.rows("folders/fair.csv").len() > i
        });
        if sandbox.service().metrics().of("gridmark_claimed_total") < FLOOD as f64 {
            under_flood += 1;
            slowest = slowest.max(begun.elapsed());
        }
    }
    eprintln!("{under_flood} files under the flood took {slowest:?} at the most");
    assert!(under_flood > 0, "the flood was over before it began");
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    over.store(true, Ordering::Release);
    storm.join().unwrap();
    let of_the_teams = |sandbox: &Sandbox| {
        let rows = sandbox.submissions();
        rows.iter().filter(|row| row.get("submission") != "storm/p").count()
    };
    sandbox.wait_until("the flood is graded", |sandbox| of_the_teams(sandbox) >= FLOOD + 20);
    assert_eq!(of_the_teams(&sandbox), FLOOD + 20);
}
