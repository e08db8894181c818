use super::names::archive_name;
use super::*;

fn candidate(name: &[u8]) -> Candidate {
    Candidate {
        name: Name::from_bytes(name),
        signature: Signature::for_tests(100),
        ready: Instant::now(),
    }
}

fn ledger() -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = Ledger::open(&folder.path().join("ledger.db")).expect("a new ledger");
    (folder, ledger)
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
    let progress =
        Progress { checkpoint: "here".into(), tally: Tally::from_counts([1, 2, 3, 4], 5) };
    let report = Name::from_bytes(*b"loose.csv");
    let commit = Commit {
        progressed: vec![(claims[0].id, Some(Kind::Killer), progress.clone())],
        finished: vec![Finished {
            id: claims[1].id,
            status: Status::Graded,
            graded_at_ms: 6,
            bytes: 100,
            blake3: Some([1; 32]),
            kind: Some(Kind::Classic),
            tally: Tally::default(),
            tries: 0,
            reason: None,
        }],
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
        .for_each_finished(|claimed, finished| {
            done.push((claimed.name.to_string(), finished.status, finished.blake3));
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
    let deaths = |ledger: &Ledger| -> Vec<u32> {
        let open = ledger.open_claims().expect("open claims");
        open.iter().map(|claim| claim.claimed.deaths).collect()
    };
    assert_eq!(deaths(&ledger), [2, 1]);
    let progress = Progress { checkpoint: "here".into(), tally: Tally::default() };
    let commit = Commit { progressed: vec![(ids[0], None, progress)], ..Commit::default() };
    ledger.commit(&commit).expect("committed");
    assert_eq!(deaths(&ledger), [0, 1]);
}

#[test]
fn an_older_ledger_is_brought_forward() {
    let (folder, ledger) = ledger();
    ledger.claim(&[candidate(b"p")], 7, |_| Place::Free).expect("claims");
    let back = "ALTER TABLE submissions DROP COLUMN tries; PRAGMA user_version = 1;";
    ledger.connection().execute_batch(back).expect("an older ledger");
    drop(ledger);
    let ledger = Ledger::open(&folder.path().join("ledger.db")).expect("the same ledger");
    let open = ledger.open_claims().expect("open claims");
    assert_eq!((open[0].claimed.received_at_ms, open[0].claimed.deaths), (7, 0));
}

#[test]
fn a_ledger_of_a_newer_gridmark_is_refused_in_words() {
    let (folder, ledger) = ledger();
    ledger.connection().pragma_update(None, "user_version", 99).expect("a version");
    drop(ledger);
    let error = Ledger::open(&folder.path().join("ledger.db")).err().expect("an error");
    assert!(error.to_string().contains("has format 99"), "{error}");
}
