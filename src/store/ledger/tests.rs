use super::names::archive_name;
use super::*;
use crate::model::submission::{Progress, Status, Tally};
use gridmark_core::Kind;

fn candidate(name: &[u8]) -> Candidate {
    Candidate {
        name: Name::from_bytes(name),
        signature: Signature::for_tests(100),
        ready: Instant::now(),
        though_open: false,
    }
}

fn ledger() -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = Ledger::open(&folder.path().join("ledger.db")).expect("a new ledger");
    (folder, ledger)
}

fn progress() -> Progress {
    let graded = Some(Prefix { bytes: 7, blake3: [7; 32] });
    Progress { checkpoint: "here".into(), tally: Tally::default(), graded, rules: None }
}

fn finished(id: i64) -> Finished {
    Finished {
        id,
        status: Status::Graded,
        graded_at_ms: 6,
        bytes: 100,
        blake3: Some([1; 32]),
        kind: Some(Kind::Classic),
        tally: Tally::from_counts([3, 0, 0, 0], 0),
        tries: 0,
        reason: None,
    }
}

fn archive_names(claims: &[Claimed]) -> Vec<String> {
    claims.iter().map(|claim| claim.archived_as.to_string()).collect()
}

#[test]
fn the_second_submission_of_a_name_is_its_second_attempt() {
    let (_folder, ledger) = ledger();
    let twice = [candidate(b"a/p3.txt"), candidate(b"a/p3.txt")];
    let claims = ledger.claim(&twice, 0, |_| Place::Free).expect("claims");
    assert_eq!(claims.iter().map(|claim| claim.attempt).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(archive_names(&claims), ["a/p3.txt", "a/p3~2.txt"]);
}

#[test]
fn a_name_that_is_taken_in_the_archive_is_never_promised() {
    let (_folder, ledger) = ledger();
    let files = [b"p3~2.txt".as_slice(), b"p3.txt", b"p3.txt", b"a/b/p.txt"].map(candidate);
    let claims = ledger
        .claim(&files, 0, |name| match name.as_bytes() {
            b"p3.txt" => Place::Taken,
            b"a/b/p.txt" => Place::Blocked(3),
            _ => Place::Free,
        })
        .expect("claims");
    assert_eq!(archive_names(&claims), ["p3~2.txt", "p3~1~1.txt", "p3~2~1.txt", "a/b~/p.txt"]);
}

#[test]
fn archive_names_stay_within_what_a_file_system_takes() {
    let long = [b"folder/".as_slice(), &[b'x'; 251], b".txt"].concat();
    let name = archive_name(&Name::from_bytes(long), 12, 0);
    assert_eq!(name.as_bytes().len(), "folder/".len() + 255);
    assert!(name.as_bytes().ends_with(b"x~12.txt"));
    let long = [b"p.".as_slice(), &[b'x'; 253]].concat();
    let name = archive_name(&Name::from_bytes(long), 2, 0);
    assert_eq!(name.as_bytes().len(), 255);
    assert!(name.as_bytes().ends_with(b"x~2"));
}

#[test]
fn a_long_folder_is_gone_round_and_no_character_is_cut_apart() {
    let long = "ä".repeat(127) + "a";
    let first = free_archive_name(&Name::from_bytes(long.clone() + "/p"), 1, |name| {
        match name.as_bytes() {
            bytes if bytes.starts_with(long.as_bytes()) => Place::Blocked(long.len()),
            bytes if bytes.ends_with("ä~/p".as_bytes()) => Place::Blocked(bytes.len() - 2),
            _ => Place::Free,
        }
    });
    assert_eq!(first.to_string(), "ä".repeat(126) + "~~/p");
    let second = archive_name(&Name::from_bytes("ä".repeat(127)), 2, 0);
    assert_eq!(second.to_string(), "ä".repeat(126) + "~2");
}

#[test]
fn a_dot_at_the_start_or_in_a_folder_is_no_extension() {
    let name = |text: &[u8]| archive_name(&Name::from_bytes(text), 2, 0).to_string();
    assert_eq!(name(b"v1.2/p3"), "v1.2/p3~2");
    assert_eq!(name(b"a/.p3"), "a/.p3~2");
    assert_eq!(name(b"a.tar.gz"), "a.tar~2.gz");
}

#[test]
fn a_released_claim_leaves_no_trace() {
    let (_folder, ledger) = ledger();
    let claims = ledger.claim(&[candidate(b"p")], 0, |_| Place::Free).expect("claims");
    ledger.release(&[claims[0].id]).expect("released");
    assert!(ledger.open_claims().expect("open claims").is_empty());
    let again = ledger.claim(&[candidate(b"p")], 0, |_| Place::Free).expect("claims");
    assert_eq!(again[0].attempt, 1);
}

#[test]
fn progress_and_results_survive_a_reopening() {
    let (folder, ledger) = ledger();
    let name = [b'p', 0xff];
    let claims =
        ledger.claim(&[candidate(&name), candidate(b"q")], 5, |_| Place::Free).expect("claims");
    let progress = Progress { tally: Tally::from_counts([1, 2, 3, 4], 5), ..progress() };
    let report = Name::from_bytes(*b"loose.csv");
    let commit = Commit {
        results: vec![
            Outcome::Progressed {
                id: claims[0].id,
                kind: Some(Kind::Killer),
                cases: 10,
                progress: progress.clone(),
            },
            Outcome::Finished(finished(claims[1].id)),
        ],
        report_lengths: vec![(report.clone(), 42)],
    };
    ledger.commit(&commit).expect("committed");
    drop(ledger);
    let ledger = Ledger::open(&folder.path().join("ledger.db")).expect("the same ledger");
    let open = ledger.open_claims().expect("open claims");
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].claimed.name.as_bytes(), name);
    assert_eq!(open[0].claimed.received_at_ms, 5);
    assert_eq!(open[0].claimed.progress, Some(progress));
    assert_eq!(ledger.report_length(&report).expect("length"), Some(42));
    let whole = Report { path: report.clone(), length: 42, whole: true };
    assert_eq!(ledger.reports().expect("reports"), [whole]);
    ledger.report_is_damaged(&report).expect("recorded");
    assert!(!ledger.reports().expect("reports")[0].whole);
    ledger.report_is_whole(&report, 7).expect("recorded");
    assert_eq!(
        ledger.reports().expect("reports"),
        [Report { path: report, length: 7, whole: true }]
    );
    let mut done = Vec::new();
    ledger
        .for_each_finished(|record, finished| {
            done.push((record.claimed.name.to_string(), finished.status, finished.blake3));
            Ok::<(), Error>(())
        })
        .expect("what is finished");
    assert_eq!(done, [("q".to_owned(), Status::Graded, Some([1; 32]))]);
}

#[test]
fn deaths_count_until_a_large_submission_comes_further_and_only_while_it_is_open() {
    let (_folder, ledger) = ledger();
    let claims =
        ledger.claim(&[candidate(b"p"), candidate(b"q")], 0, |_| Place::Free).expect("claims");
    let ids = claims.iter().map(|claim| claim.id).collect::<Vec<_>>();
    ledger.count_deaths(&ids).expect("counted");
    ledger.count_deaths(&[ids[0], 99]).expect("counted");
    let crashes = |ledger: &Ledger| -> Vec<u32> {
        let open = ledger.open_claims().expect("open claims");
        open.iter().map(|claim| claim.claimed.crashes).collect()
    };
    assert_eq!(crashes(&ledger), [2, 1]);
    let further = Outcome::Progressed { id: ids[0], kind: None, cases: 0, progress: progress() };
    let commit = Commit { results: vec![further], ..Commit::default() };
    ledger.commit(&commit).expect("committed");
    assert_eq!(crashes(&ledger), [0, 1]);
}

/// A ledger of format 1, as the gridmark of that time made it: `b` was done before `a`, in the same
/// commit as `c`; `d` is under way.
const FORMAT_1: &str = "
    CREATE TABLE submissions (
        id INTEGER PRIMARY KEY, name NOT NULL, attempt INTEGER NOT NULL, archived_as NOT NULL,
        inode INTEGER NOT NULL, received_at INTEGER NOT NULL, graded_at INTEGER,
        bytes INTEGER NOT NULL, blake3 BLOB, state TEXT NOT NULL, kind TEXT,
        correct INTEGER, wrong INTEGER, unreadable INTEGER, counted INTEGER, filled INTEGER,
        checkpoint TEXT, reason TEXT
    );
    CREATE UNIQUE INDEX submissions_by_name ON submissions (name, attempt);
    CREATE INDEX submissions_open ON submissions (id) WHERE state = 'claimed';
    CREATE INDEX submissions_failed ON submissions (id) WHERE state = 'failed';
    CREATE TABLE reports (
        path PRIMARY KEY, length INTEGER NOT NULL, whole INTEGER NOT NULL DEFAULT 1
    ) WITHOUT ROWID;
    INSERT INTO submissions VALUES
        (1, 'a', 1, 'a', 1, 1, 9, 10, x'00', 'failed', NULL, 0, 0, 0, 0, 0, NULL, 'no'),
        (2, 'b', 1, 'b', 2, 1, 8, 10, NULL, 'graded', 'killer', 3, 0, 0, 0, 0, NULL, NULL),
        (3, 'c', 1, 'c', 3, 1, 8, 10, NULL, 'graded', 'killer', 2, 0, 0, 0, 0, NULL, NULL),
        (4, 'd', 1, 'd', 4, 7, NULL, 10, NULL, 'claimed', 'killer', 5, 0, 0, 0, 0, 'here', NULL);
    INSERT INTO reports VALUES ('loose.csv', 100, 1), ('submissions.csv', 90, 1);
    PRAGMA user_version = 1;
";

fn older_ledger(path: &Path) {
    let older = Connection::open(path).expect("a database");
    older.execute_batch(FORMAT_1).expect("an older ledger");
}

fn pieces(ledger: &Ledger) -> Vec<(String, i64, u64)> {
    let mut pieces = Vec::new();
    let add = |name: &Name, piece: Piece| pieces.push((piece.step, name.to_string(), piece));
    ledger.for_each_piece(add).expect("pieces");
    pieces.sort_by_key(|(step, ..)| *step);
    pieces.into_iter().map(|(step, name, piece)| (name, step, piece.cases)).collect()
}

#[test]
fn an_older_ledger_is_brought_forward_and_a_copy_of_it_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("ledger.db");
    older_ledger(&path);
    let ledger = Ledger::open(&path).expect("the ledger, brought forward");
    let open = ledger.open_claims().expect("open claims");
    assert_eq!((open[0].claimed.received_at_ms, open[0].claimed.crashes), (7, 0));
    // Of the order only what the times tell is known for now.
    let guessed = [("b", 1, 3), ("c", 2, 2), ("d", 8, 5)];
    assert_eq!(pieces(&ledger), guessed.map(|(name, step, cases)| (name.to_owned(), step, cases)));
    let loose = Name::from_bytes(*b"loose.csv");
    assert_eq!(ledger.reports_of_unknown_order().expect("reports").len(), 2);
    ledger.report_has_order(&loose, Some(&[(3, 1), (2, 3), (3, 1), (4, 5)])).expect("an order");
    let known = [("c", 1, 1), ("b", 2, 3), ("c", 3, 1), ("d", 4, 5)];
    let known = known.map(|(name, step, cases)| (name.to_owned(), step, cases));
    let mut now = pieces(&ledger);
    now.sort_by_key(|(_, step, _)| *step);
    assert_eq!(now, known);
    // What comes now comes behind all of it.
    let next = Outcome::Finished(Finished { blake3: None, ..finished(4) });
    let next = Commit { results: vec![next], ..Commit::default() };
    ledger.commit(&next).expect("committed");
    assert_eq!(ledger.records_of(&[4]).expect("a record")[0].claimed.name.as_bytes(), b"d");
    drop(ledger);
    let copy = Connection::open(folder.path().join("ledger.db.format-1")).expect("the copy");
    let told: (i64, i64) = copy
        .query_row(
            "SELECT user_version, count(*) FROM pragma_user_version, submissions",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .expect("what it holds");
    assert_eq!(told, (1, 4));
}

#[test]
fn rows_are_known_in_the_order_of_commits_and_by_the_rules_of_their_first() {
    let (_folder, ledger) = ledger();
    let files = [b"p", b"q"].map(|name| candidate(name));
    let claims = ledger.claim(&files, 0, |_| Place::Free).expect("claims");
    let (p, q) = (claims[0].id, claims[1].id);
    let rules =
        |case_bytes_max| Rules { case_bytes_max, missing_cases_max: 3, neutralise_formulas: true };
    let further = |cases| Outcome::Progressed { id: p, kind: None, cases, progress: progress() };
    let done =
        |id| Outcome::Finished(Finished { tally: Tally::from_counts([9; 4], 0), ..finished(id) });
    for (rules, results) in [
        (rules(1), vec![further(4)]),
        (rules(2), vec![done(q), further(5)]),
        (rules(1), vec![further(6), done(p)]),
    ] {
        ledger.grade_by(&rules).expect("recorded");
        ledger.commit(&Commit { results, ..Commit::default() }).expect("committed");
    }
    let order = [("p", 1, 4), ("q", 2, 36), ("p", 3, 5), ("p", 4, 6), ("p", 5, 21)];
    assert_eq!(pieces(&ledger), order.map(|(name, step, cases)| (name.to_owned(), step, cases)));
    let records = ledger.records_of(&[q, p]).expect("records");
    assert_eq!(
        records.iter().map(|it| it.rules).collect::<Vec<_>>(),
        [2, 1].map(|n| Some(rules(n)))
    );
    assert_eq!(records[1].graded, Some(Prefix { bytes: 7, blake3: [7; 32] }));
    let count = "SELECT count(*) FROM rules";
    let count: i64 = ledger.connection().query_row(count, [], |row| row.get(0)).expect("a count");
    assert_eq!(count, 2);
}

#[test]
fn a_ledger_of_a_newer_gridmark_is_refused_in_words() {
    let (folder, ledger) = ledger();
    ledger.connection().pragma_update(None, "user_version", 99).expect("a version");
    drop(ledger);
    let error = Ledger::open(&folder.path().join("ledger.db")).err().expect("an error");
    assert!(error.to_string().contains("has format 99"), "{error}");
}
