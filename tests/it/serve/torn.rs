//! The plug is pulled, and what was being written is torn: reports beyond what is committed, and the
//! ledger's log, at any byte.
//!
//! `GRIDMARK_TEST_LONG=1` tears many more times, and `GRIDMARK_TEST_SEED` repeats an earlier run.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, some};
use crate::kit::crashes::files;
use crate::kit::random::{Random, is_long};
use gridmark::store::fail_point::Point;
use gridmark::store::lock::LOCK_NAME;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const WAL: &str = "state/ledger.db-wal";

/// Names and contents.
fn drops() -> BTreeMap<String, String> {
    let large: String = (0..60).map(|i| classic(i, "YNY")).collect();
    let small = (0..12).map(|i| (format!("team {}/{i}", i % 3), some(i)));
    let loose = (12..16).map(|i| (format!("{i}"), some(i)));
    small.chain(loose).chain([("large/p".to_owned(), large)]).collect()
}

/// A sandbox in which all of them are dropped. Commits are small, and so are claims if there are to
/// be many; else there is one.
fn sandbox(claims: bool) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    sandbox
        .set("grade.batch_files_max", 3)
        .set("intake.claim_files_max", if claims { 3 } else { 512 });
    // More crashes than a submission may have by default.
    sandbox.set("grade.tries_max", 1_000);
    sandbox.set("publish.commit_wait_ms_max", 0).set("publish.pending_bytes_max", 1);
    sandbox.set("intake.settle_ms", 0).set("intake.scan_every_ms", 20);
    for (name, text) in drops() {
        sandbox.rename_in(name, text);
    }
    sandbox
}

/// Runs to the end, which must be a good one.
#[track_caller]
fn finish(sandbox: &mut Sandbox) {
    let ended = sandbox.once();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
}

fn undisturbed() -> BTreeMap<String, Vec<String>> {
    let mut undisturbed = sandbox(false);
    finish(&mut undisturbed);
    undisturbed.report_lines()
}

/// The committed length of every report, read from a copy of the ledger: opening the ledger itself
/// would change its log.
fn committed(sandbox: &Sandbox) -> Vec<(PathBuf, u64)> {
    let copy = tempfile::tempdir().unwrap();
    for name in ["ledger.db", "ledger.db-wal"] {
        fs::copy(sandbox.path("state").join(name), copy.path().join(name)).unwrap();
    }
    let ledger = rusqlite::Connection::open(copy.path().join("ledger.db")).unwrap();
    let mut query = ledger.prepare("SELECT path, length FROM reports").unwrap();
    let reports = query
        .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)? as u64)))
        .unwrap();
    let reports = reports.map(Result::unwrap);
    reports.map(|(report, length)| (sandbox.path("reports").join(report), length)).collect()
}

/// A log is torn by a loss of power, and then nothing says how far the ledger had come.
fn forget_how_far(sandbox: &Sandbox) {
    fs::remove_file(sandbox.path("state/ledger.db.last")).unwrap();
}

/// Cuts a file at this byte, or fills it from there on with what is none of ours.
fn tear(random: &mut Random, path: &Path, at: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let behind = file.metadata().unwrap().len() - at;
    let noise: Vec<u8> = (0..behind.max(200)).map(|_| random.below(256) as u8).collect();
    match random.below(5) {
        0 => file.set_len(at).unwrap(),
        1 => file.set_len(at + random.below(behind + 1)).unwrap(),
        2 => file.write_all_at(&noise, at).unwrap(),
        3 => {
            file.set_len(at).unwrap();
            file.set_len(at + behind + random.below(5_000)).unwrap();
        }
        // What stands there already, once more, and half a row.
        _ => {
            let mut again = vec![0; at as usize];
            file.read_exact_at(&mut again, 0).unwrap();
            again.extend_from_slice(b"team 1/1,1,1,classic,corr");
            file.write_all_at(&again, at).unwrap();
        }
    }
}

/// Promise P4.
#[test]
fn reports_torn_at_any_byte_behind_the_commit_are_repaired() {
    let mut random = Random::new();
    let wanted = undisturbed();
    for _ in 0..if is_long() { 50 } else { 2 } {
        let mut sandbox = sandbox(false);
        for _ in 0..5 {
            let points = [Point::RowsHalfAppended, Point::RowsAppended, Point::ArchiveSynced];
            let (point, n) = (*random.pick(&points), 1 + random.below(3));
            let came_to_its_end = sandbox.once_dying_at(point, n as usize).is_some();
            if came_to_its_end {
                break;
            }
            for (report, length) in committed(&sandbox) {
                if report.exists() {
                    tear(&mut random, &report, length);
                }
            }
        }
        finish(&mut sandbox);
        assert_eq!(sandbox.report_lines(), wanted);
        sandbox.agrees();
    }
}

/// The bytes of the ledger's log at which its transactions end, and where the first one begins.
fn transactions(wal: &[u8]) -> Vec<u64> {
    const HEADER: usize = 32;
    const FRAME_HEADER: usize = 24;
    let number = |at: usize| u32::from_be_bytes(wal[at..at + 4].try_into().unwrap());
    let frame = FRAME_HEADER + number(8) as usize;
    let mut ends = vec![HEADER as u64];
    for at in (HEADER..).step_by(frame).take_while(|at| at + frame <= wal.len()) {
        let is_of_this_log = wal[at + 8..at + 16] == wal[16..24];
        // The last page of a transaction holds the size of the file with it.
        if is_of_this_log && number(at + 4) > 0 {
            ends.push((at + frame) as u64);
        }
    }
    ends
}

/// Promise P4.
///
///
/// All files are claimed in one transaction here. What is lost behind it is an earlier commit,
/// to which the reports are cut back; and where it is lost itself, no file has been moved.
#[test]
fn a_ledger_log_torn_at_any_byte_behind_the_claims_grades_everything_again() {
    let mut random = Random::new();
    let wanted = undisturbed();
    let deaths = [(Point::Claimed, 1), (Point::ReportsIntroduced, 2), (Point::Committed, 1)];
    let more_deaths = (2..12).map(|n| (Point::Committed, n));
    let deaths: Vec<(Point, usize)> = if is_long() {
        let all = deaths.into_iter().chain(more_deaths).collect::<Vec<_>>();
        std::iter::repeat_n(all, 8).flatten().collect()
    } else {
        deaths.into_iter().chain([(Point::Committed, 6)]).collect()
    };
    for (point, n) in deaths {
        let mut sandbox = sandbox(false);
        // The tables are there already, so that the log begins with a reading of the clocks and the claims.
        let dropped = sandbox.path("inbox");
        fs::rename(&dropped, sandbox.path("later")).unwrap();
        finish(&mut sandbox);
        fs::remove_dir_all(&dropped).unwrap();
        fs::rename(sandbox.path("later"), &dropped).unwrap();
        if sandbox.once_dying_at(point, n).is_some() {
            // Sometimes what is graded comes together in fewer commits.
            assert!(n > 2, "it does not reach {point:?}");
            continue;
        }
        let wal = fs::read(sandbox.path(WAL)).unwrap();
        let ends = transactions(&wal);
        let safe = if point == Point::Claimed { ends[0] } else { ends[2] };
        let at = safe + random.below(ends[ends.len() - 1] - safe);
        tear(&mut random, &sandbox.path(WAL), at);
        forget_how_far(&sandbox);
        if random.below(2) == 0 {
            fs::remove_file(sandbox.path("state/ledger.db-shm")).unwrap();
        }
        finish(&mut sandbox);
        assert_eq!(sandbox.report_lines(), wanted, "{point:?}, {n}: torn at {at}");
        sandbox.agrees();
    }
}

/// Promise P2.
///
///
/// The same if claims are lost whose files have been moved already, which no honest disk does: those
/// files lie unharmed in the archive, and the rest is graded, once.
#[test]
fn a_ledger_that_lost_claims_loses_no_file_and_doubles_no_row() {
    let mut random = Random::new();
    for _ in 0..if is_long() { 60 } else { 3 } {
        let mut sandbox = sandbox(true);
        let n = 1 + random.below(8) as usize;
        if sandbox.once_dying_at(Point::Committed, n).is_some() {
            assert!(n > 2, "it does not commit");
            continue;
        }
        let length = fs::metadata(sandbox.path(WAL)).unwrap().len();
        let at = random.below(length);
        tear(&mut random, &sandbox.path(WAL), at);
        forget_how_far(&sandbox);
        // Reports that the ledger does not know any more are kept aside when they get rows.
        let mut all: BTreeSet<String> =
            drops().values().map(|text| hash(text.as_bytes())).collect();
        for (folder, i) in ["", "large/", "team 0/", "team 1/", "team 2/"].into_iter().zip(100..) {
            sandbox.rename_in(format!("{folder}more"), some(i));
            all.insert(hash(some(i).as_bytes()));
        }
        finish(&mut sandbox);
        sandbox.rows_agree();
        assert_eq!(files(&sandbox.path("inbox")), 0);
        let mut hashes = BTreeMap::new();
        hash_all(&sandbox.archive(), &mut hashes);
        assert_eq!(hashes.keys().cloned().collect::<BTreeSet<_>>(), all, "torn at {at}");
        for row in sandbox.submissions() {
            assert_eq!(hashes[row.get("blake3")], row.get("archived_as"), "torn at {at}");
        }
    }
}

fn hash(text: &[u8]) -> String {
    blake3::hash(text).to_hex().to_string()
}

/// The paths of all files below a folder, by what they hold.
fn hash_all(root: &Path, found: &mut BTreeMap<String, String>) {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.ends_with(LOCK_NAME) {
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let before = found.insert(hash(&fs::read(&path).unwrap()), name);
            assert_eq!(before, None, "{} is there twice", path.display());
        }
    }
}

/// What is cut off the ledger's main file no log can mend: the service says so and touches nothing.
#[test]
fn a_cut_ledger_is_refused_with_a_message_and_nothing_is_changed() {
    let mut random = Random::new();
    let mut sandbox = sandbox(false);
    finish(&mut sandbox);
    let path = sandbox.path("state/ledger.db");
    let whole = fs::read(&path).unwrap();
    let reports = sandbox.report_lines();
    sandbox.rename_in("later", some(2));
    let pages = whole.len() / 4_096;
    let anywhere = 1 + random.below(whole.len() as u64 - 1) as usize;
    for at in [1, 20, 4_095, 4_096, (pages - 1) * 4_096, anywhere, whole.len() - 1] {
        fs::write(&path, &whole[..at]).unwrap();
        let ended = sandbox.once();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "cut at {at}: {stderr}");
        assert!(stderr.contains("the ledger"), "cut at {at}: {stderr}");
        assert_eq!(sandbox.report_lines(), reports, "cut at {at}");
        assert!(sandbox.has("inbox/later"));
        for left in ["state/ledger.db-wal", "state/ledger.db-shm"] {
            let _ = fs::remove_file(sandbox.path(left));
        }
    }
    fs::write(&path, &whole).unwrap();
    finish(&mut sandbox);
    assert_eq!(sandbox.submissions().len(), drops().len() + 1);
}
