//! Crashes at a chosen step, and what has to hold after any crash.

use super::Sandbox;
use super::reports::{Row, rows_in};
use gridmark::store::fail_point::Point;
use gridmark::store::lock::LOCK_NAME;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The variable that names the step at which a process crashes; it belongs to no setting.
pub const FAIL_POINT: &str = "FAIL_POINT";

impl Sandbox {
    /// Runs `gridmark serve --once`, which crashes when it reaches this point for the n-th time. Its
    /// output if it ran to its end instead.
    pub fn once_dying_at(&mut self, point: Point, n: usize) -> Option<Output> {
        let has_fail_points = cfg!(debug_assertions);
        assert!(has_fail_points, "a release build has none of them: test a debug build");
        self.set_variable(FAIL_POINT, format!("{}@{n}", point.name()));
        let ended = self.once();
        self.variables.remove(FAIL_POINT);
        (ended.status.signal() != Some(9)).then_some(ended)
    }

    /// The folder of the archive, as set.
    pub fn archive(&self) -> PathBuf {
        let set = self.settings.get("paths.archive").map_or("archive", String::as_str);
        self.path(set)
    }

    /// The names of all reports, as paths under `reports/`.
    fn reports(&self) -> Vec<String> {
        let mut reports = vec!["submissions.csv".to_owned(), "loose.csv".to_owned()];
        for entry in fs::read_dir(self.path("reports/folders")).into_iter().flatten() {
            let name = entry.unwrap().file_name();
            let name = name.to_str().unwrap();
            if name.ends_with(".csv") {
                reports.push(format!("folders/{name}"));
            }
        }
        reports
    }

    /// All reports, byte for byte up to order and times: their lines, sorted, without the times.
    pub fn report_lines(&self) -> BTreeMap<String, Vec<String>> {
        let lines = |report: &String| {
            let text = fs::read(self.path("reports").join(report)).unwrap_or_default();
            let text = String::from_utf8(text).unwrap();
            assert!(text.is_empty() || text.ends_with('\n'), "{report} ends inside a row");
            let mut lines: Vec<String> = text.lines().map(without_times).collect();
            lines.sort();
            lines
        };
        self.reports().into_iter().map(|report| (report.clone(), lines(&report))).collect()
    }

    /// Nothing is there twice, and ledger, reports and archive agree.
    #[track_caller]
    pub fn agrees(&self) {
        self.rows_agree();
        self.archive_agrees();
        self.verifies();
    }

    /// `gridmark verify` finds that every report holds the bytes that ledger and archive give.
    #[track_caller]
    pub fn verifies(&self) {
        let outcome = self.run("verify", &[] as &[&str]);
        assert_eq!(outcome.code, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    }

    /// All reports, byte for byte.
    pub fn report_bytes(&self) -> BTreeMap<String, String> {
        let text = |report: &String| fs::read_to_string(self.path("reports").join(report));
        let texts = self.reports().into_iter().map(|report| (text(&report), report));
        texts.map(|(text, report)| (report, text.unwrap_or_default())).collect()
    }

    /// No row is there twice, and the reports and the ledger agree.
    #[track_caller]
    pub fn rows_agree(&self) {
        for report in self.reports() {
            none_twice(&report, &self.rows(&report));
        }
        self.cases_agree();
        self.ledger_agrees();
    }

    /// Every submission has as many rows of cases as its own row says, numbered from 1.
    fn cases_agree(&self) {
        let mut cases: BTreeMap<String, u64> = BTreeMap::new();
        for report in self.reports().iter().filter(|report| *report != "submissions.csv") {
            for row in self.rows(report) {
                let known = cases.entry(row.columns(&["submission", "attempt"])).or_default();
                *known += 1;
                assert_eq!(row.number("case"), *known, "{row:?}");
            }
        }
        for row in self.submissions() {
            let counted = cases.remove(&row.columns(&["submission", "attempt"]));
            assert_eq!(counted.unwrap_or(0), row.number("cases"), "{row:?}");
        }
        assert_eq!(cases, BTreeMap::new(), "cases of submissions that have no row");
    }

    /// The ledger knows the same submissions, and every report is as long as it says.
    fn ledger_agrees(&self) {
        let ledger = self.ledger();
        let known = "SELECT name || '|' || attempt || '|' || state || '|' ||
             (correct + wrong + unreadable + counted) || '|' || archived_as FROM submissions";
        let mut query = ledger.prepare(known).unwrap();
        let known = query.query_map([], |row| row.get(0)).unwrap();
        let known: BTreeSet<String> = known.map(|row| row.unwrap()).collect();
        let columns = ["submission", "attempt", "status", "cases", "archived_as"];
        let reported = self.submissions().iter().map(|row| row.columns(&columns)).collect();
        assert_eq!(
            known, reported,
            "the submissions of the ledger (left) and of the report (right)"
        );
        let mut query = ledger.prepare("SELECT path, length, whole FROM reports").unwrap();
        let lengths =
            query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        for length in lengths {
            let (report, length, whole): (String, i64, bool) = length.unwrap();
            let found = fs::metadata(self.path("reports").join(&report)).map_or(0, |it| it.len());
            assert_eq!((found as i64, true), (length, whole), "{report}");
        }
    }

    /// Every submission is where its row says, as it was graded, and nothing else is there.
    fn archive_agrees(&self) {
        let mut in_archive = 0;
        for row in self.submissions() {
            let place = row.get("archived_as");
            if row.get("status") == "failed" {
                assert!(self.has(Path::new("quarantine").join(place)), "{row:?}");
                continue;
            }
            let text = fs::read(self.archive().join(place)).unwrap();
            assert_eq!(row.get("blake3"), blake3::hash(&text).to_hex().as_str(), "{row:?}");
            in_archive += 1;
        }
        assert_eq!(files(&self.archive()), in_archive);
        assert_eq!(files(&self.path("inbox")), 0);
    }
}

/// A line whose times are blanked out.
fn without_times(line: &str) -> String {
    const TIME: &str = "0000-00-00T00:00:00.000Z";
    let is_time = |text: &[u8]| {
        let fits = |(found, wanted): (&u8, u8)| match wanted {
            b'0' => found.is_ascii_digit(),
            other => *found == other,
        };
        text.iter().zip(TIME.bytes()).all(fits)
    };
    let mut bytes = line.as_bytes().to_owned();
    for at in 0..(bytes.len() + 1).saturating_sub(TIME.len()) {
        if is_time(&bytes[at..][..TIME.len()]) {
            bytes[at..][..TIME.len()].copy_from_slice(TIME.as_bytes());
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// How many files lie in a folder and below, without the service's lock.
pub fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let count = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        Ok(_) if entry.file_name() == LOCK_NAME => 0,
        Ok(_) => 1,
        Err(_) => 0,
    };
    entries.map(count).sum()
}

/// No row of a report is there twice.
fn none_twice(report: &str, rows: &[Row]) {
    let key: &[&str] = match report {
        "submissions.csv" => &["submission", "attempt"],
        _ => &["submission", "attempt", "case"],
    };
    let mut seen = BTreeSet::new();
    for row in rows {
        assert!(seen.insert(row.columns(key)), "{report} holds a row twice: {row:?}");
    }
}

/// Copies all reports, again and again, and checks that no copy has a row twice.
pub struct Copies {
    is_over: Arc<AtomicBool>,
    copier: Option<JoinHandle<usize>>,
}

impl Copies {
    /// Begins to copy.
    pub fn of(sandbox: &Sandbox) -> Copies {
        let is_over = Arc::new(AtomicBool::new(false));
        let (reports, over) = (sandbox.path("reports"), Arc::clone(&is_over));
        let copier = std::thread::spawn(move || {
            let mut copies = 0;
            while !over.load(Ordering::Acquire) {
                let folders = fs::read_dir(reports.join("folders")).into_iter().flatten().flatten();
                let folders = folders.map(|entry| entry.path());
                let loose = ["submissions.csv", "loose.csv"].map(|name| reports.join(name));
                for report in loose.into_iter().chain(folders) {
                    copies += usize::from(check_copy(&report));
                    std::thread::sleep(super::PAUSE);
                }
            }
            copies
        });
        Copies { is_over, copier: Some(copier) }
    }

    /// Ends; how many copies there were.
    pub fn end(mut self) -> usize {
        self.is_over.store(true, Ordering::Release);
        match self.copier.take().unwrap().join() {
            Ok(copies) => copies,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
    }
}

/// Copies a report as it is at this moment; whether that was possible.
fn check_copy(report: &Path) -> bool {
    // A report that is read in several pieces is no copy of one moment.
    let copy = || -> std::io::Result<Option<Vec<u8>>> {
        let mut file = File::open(report)?;
        let mut bytes = vec![0; file.metadata()?.len() as usize + (64 << 10)];
        let read = file.read(&mut bytes)?;
        bytes.truncate(read);
        // Nor is one that was cut meanwhile.
        Ok((file.metadata()?.len() >= read as u64).then_some(bytes))
    };
    let Ok(Some(bytes)) = copy() else {
        return false;
    };
    let name = report.file_name().unwrap().to_str().unwrap();
    none_twice(name, &rows_in(&bytes, report));
    true
}
