//! The plug is pulled at any moment, again and again: the reports are those of a quiet run.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, some};
use crate::kit::reports::{Row, timeless};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

/// How often the plug is pulled.
const KILLS: usize = 10;

/// Names and contents, in the order in which they are dropped.
fn drops() -> VecDeque<(String, String)> {
    let large: String = (0..500).map(|i| classic(i, "YNY")).collect();
    let mut drops = VecDeque::from([("large/p".to_owned(), large)]);
    for i in 0..300 {
        let name = match i % 10 {
            0 => format!("loose {i}"),
            folder => format!("team {folder}/{}/p{i}.txt", i % 3),
        };
        drops.push_back((name, some(i)));
        // Some names come again, and some of them a third time.
        if i % 6 == 5 {
            let (name, _) = drops[i - i % 4].clone();
            drops.push_back((name, some(i + 1_000)));
        }
    }
    drops
}

/// Drops the next file, unless one of its name is still in the inbox.
fn drop_next(sandbox: &Sandbox, drops: &mut VecDeque<(String, String)>) -> bool {
    let is_free =
        drops.front().is_some_and(|(name, _)| !sandbox.has(Path::new("inbox").join(name)));
    if is_free && let Some((name, text)) = drops.pop_front() {
        sandbox.rename_in(name, text);
    }
    is_free
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    // Whoever is killed in the very first moments again and again is not to be blamed here.
    sandbox.set("grade.tries_max", 1_000);
    sandbox.set("publish.commit_wait_ms_max", 5).set("intake.claim_files_max", 16);
    sandbox
}

/// Waits until everything is dropped and graded, and ends the service.
fn finish(sandbox: &mut Sandbox, drops: &mut VecDeque<(String, String)>, submissions: usize) {
    while !drops.is_empty() {
        sandbox.wait_until("the name is free again", |sandbox| drop_next(sandbox, drops));
    }
    sandbox.wait_for(submissions);
    sandbox.stop();
}

/// All rows of all reports but `submissions.csv`, by report, without times.
fn reports(sandbox: &Sandbox) -> BTreeMap<String, Vec<Row>> {
    let folders = std::fs::read_dir(sandbox.path("reports/folders")).unwrap();
    let folders = folders.map(|entry| format!("folders/{}", entry.unwrap().file_name().display()));
    let reports = folders.chain(["loose.csv".to_owned()]);
    reports.map(|report| (report.clone(), timeless(sandbox.rows(&report)))).collect()
}

/// Random numbers: what a 64-bit linear congruential generator gives in its upper half.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        let multiplied = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = multiplied.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// `GRIDMARK_TEST_SEED` repeats the moments of an earlier run, as far as moments can be repeated.
fn random() -> Random {
    let clock = || std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let set = std::env::var("GRIDMARK_TEST_SEED").ok();
    let seed = set.map_or_else(clock, |seed| seed.parse().unwrap());
    println!("GRIDMARK_TEST_SEED={seed}");
    Random(seed)
}

#[test]
fn after_kills_at_any_moment_the_reports_are_those_of_an_undisturbed_run() {
    let mut random = random();
    let mut drops = drops();
    let submissions = drops.len();
    let mut undisturbed = sandbox();
    undisturbed.start();
    finish(&mut undisturbed, &mut drops.clone(), submissions);

    let mut disturbed = sandbox();
    for kill in 0..KILLS {
        disturbed.spawn();
        let lives = Instant::now() + Duration::from_millis(random.below(250));
        let most = submissions * (kill + 1) / KILLS;
        while Instant::now() < lives {
            if submissions - drops.len() >= most || !drop_next(&disturbed, &mut drops) {
                std::thread::yield_now();
            }
        }
        disturbed.kill();
    }
    disturbed.start();
    finish(&mut disturbed, &mut drops, submissions);

    assert_eq!(reports(&disturbed), reports(&undisturbed));
    assert_eq!(timeless(disturbed.submissions()), timeless(undisturbed.submissions()));
    let by_name: BTreeSet<String> =
        disturbed.submissions().iter().map(|row| row.columns(&["submission", "attempt"])).collect();
    assert_eq!(by_name.len(), submissions);
    ledger_agrees(&disturbed);
    archive_agrees(&disturbed);
}

/// The ledger knows the same submissions, and every report is as long as it says.
fn ledger_agrees(sandbox: &Sandbox) {
    let ledger = sandbox.ledger();
    let mut query = ledger
        .prepare(
            "SELECT name || '|' || attempt || '|' || state || '|' ||
             (correct + wrong + unreadable + counted) || '|' || archived_as FROM submissions",
        )
        .unwrap();
    let known = query.query_map([], |row| row.get(0)).unwrap();
    let known: BTreeSet<String> = known.map(|row| row.unwrap()).collect();
    let columns = ["submission", "attempt", "status", "cases", "archived_as"];
    let told = sandbox.submissions().iter().map(|row| row.columns(&columns)).collect();
    assert_eq!(known, told);
    let mut query = ledger.prepare("SELECT path, length FROM reports").unwrap();
    let lengths = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    for length in lengths {
        let (report, length): (String, i64) = length.unwrap();
        assert_eq!(
            sandbox.text(Path::new("reports").join(&report)).len() as i64,
            length,
            "{report}"
        );
    }
}

/// Every submission lies where its row says, and nothing else lies in the archive.
fn archive_agrees(sandbox: &Sandbox) {
    for row in sandbox.submissions() {
        let text = sandbox.text(Path::new("archive").join(row.get("archived_as")));
        assert_eq!(row.get("blake3"), blake3::hash(text.as_bytes()).to_hex().as_str());
    }
    assert_eq!(files(&sandbox.path("archive")), sandbox.submissions().len());
    assert_eq!(files(&sandbox.path("inbox")), 0);
}

fn files(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| if entry.file_type().unwrap().is_dir() { files(&entry.path()) } else { 1 })
        .sum()
}
