use super::names::{archive_name, free_archive_name};
use super::*;
use crate::event::{Folder, Key, Source};
use crate::model::ruling::Draft;
use crate::model::submission::{
    self, Claimed, Doubt, Entry, Finished, HandedIn, Judgement, Marked, Place, Prefix, Progress,
    Signature, Status, Tally,
};
use gridmark_core::Kind;
use gridmark_core::scoring::{self, TryMark};
use std::time::Instant;

fn candidate(name: &[u8]) -> Candidate {
    Candidate {
        name: Name::from_bytes(name),
        signature: Signature::for_tests(100),
        changed: (8, 9),
        handed_in: HandedIn { at_ms: 4, doubt: None },
        ready: Instant::now(),
        though_open: false,
    }
}

fn ledger() -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = Ledger::open(&folder.path().join("ledger.db")).expect("a new ledger");
    (folder, ledger)
}

const RULES: Rules =
    Rules { case_bytes_max: 1, missing_cases_max: 3, neutralise_formulas: true, definitions: None };

fn take(ledger: &Ledger, files: &[Candidate], received_at_ms: i64) -> Vec<Claimed> {
    let free = |_: &Name| Place::Free;
    ledger.claims().record(files, received_at_ms, "a boot", free, |_| false).expect("claims")
}

/// The same for one file, where none of those that have failed is in quarantine any more.
fn take_again(ledger: &Ledger, file: Candidate) -> Claimed {
    let free = |_: &Name| Place::Free;
    ledger.claims().record(&[file], 100, "a boot", free, |_| true).expect("claims").remove(0)
}

fn progress() -> Progress {
    let graded = Prefix { bytes: 7, blake3: [7; 32] };
    Progress { checkpoint: "here".into(), tally: Tally::default(), graded, rules: RULES }
}

fn progressed(claimed: &Claimed, cases: u64, progress: Progress) -> Outcome {
    let (id, name) = (claimed.id, claimed.name.clone());
    Outcome::Progressed { id, name, kind: Some(Kind::Killer), cases, progress }
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
        rules: RULES,
    }
}

fn archive_names(claims: &[Claimed]) -> Vec<String> {
    claims.iter().map(|claim| claim.archived_as.to_string()).collect()
}

#[test]
fn the_second_submission_of_a_name_is_its_second_attempt() {
    let (_folder, ledger) = ledger();
    let twice = [candidate(b"a/p3.txt"), candidate(b"a/p3.txt")];
    let claims = take(&ledger, &twice, 0);
    assert_eq!(claims.iter().map(|claim| claim.attempt).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(archive_names(&claims), ["a/p3.txt", "a/p3~2.txt"]);
}

#[test]
fn a_name_that_is_taken_in_the_archive_is_never_promised() {
    let (_folder, ledger) = ledger();
    let files = [b"p3~2.txt".as_slice(), b"p3.txt", b"p3.txt", b"a/b/p.txt"].map(candidate);
    let place = |name: &Name| match name.as_bytes() {
        b"p3.txt" => Place::Taken,
        b"a/b/p.txt" => Place::Blocked(3),
        _ => Place::Free,
    };
    let claims = ledger.claims().record(&files, 0, "", place, |_| false).expect("claims");
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
    let claims = take(&ledger, &[candidate(b"p")], 0);
    ledger.claims().release(&[claims[0].id]).expect("released");
    assert!(ledger.claims().open().expect("open claims").is_empty());
    assert_eq!(take(&ledger, &[candidate(b"p")], 0)[0].attempt, 1);
}

#[test]
fn progress_and_results_survive_a_reopening() {
    let (folder, ledger) = ledger();
    let name = [b'p', 0xff];
    let claims = take(&ledger, &[candidate(&name), candidate(b"q")], 5);
    let progress = Progress { tally: Tally::from_counts([1, 2, 3, 4], 5), ..progress() };
    let report = Name::from_bytes(*b"loose.csv");
    ledger.reports().introduce(std::slice::from_ref(&report), true).expect("introduced");
    let commit = Commit {
        judgements: Vec::new(),
        results: vec![
            progressed(&claims[0], 10, progress.clone()),
            Outcome::Finished(finished(claims[1].id)),
        ],
        report_lengths: vec![(report.clone(), 42)],
    };
    ledger.commit(&commit).expect("committed");
    drop(ledger);
    let ledger = Ledger::open(&folder.path().join("ledger.db")).expect("the same ledger");
    let open = ledger.claims().open().expect("open claims");
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].claimed.name.as_bytes(), name);
    assert_eq!(open[0].claimed.received_at_ms, 5);
    assert_eq!((open[0].modified, open[0].boot_id.as_deref()), ((0, 0), Some("a boot")));
    ledger.claims().set_durable(&[open[0].claimed.id]).expect("recorded");
    assert_eq!(ledger.claims().open().expect("open claims")[0].boot_id, None);
    assert_eq!(open[0].claimed.progress, Some(progress));
    let known = |length, whole| Report { path: report.clone(), length, whole, bom: true };
    assert_eq!(ledger.reports().get(&report).expect("a report"), Some(known(42, true)));
    ledger.reports().mark_damaged(&report).expect("recorded");
    assert_eq!(ledger.reports().damaged().expect("damaged ones"), std::slice::from_ref(&report));
    assert_eq!(ledger.reports().all().expect("reports"), [known(42, false)]);
    ledger.reports().mark_whole(&report, 7).expect("recorded");
    assert_eq!(ledger.reports().all().expect("reports"), [known(7, true)]);
    let done = ledger.records().finished_after(0, 9).expect("what is finished");
    assert_eq!(done.len(), 1);
    let (step, record) = &done[0];
    let finished = record.finished.as_ref().expect("marks");
    assert_eq!((*step, record.claimed.name.to_string()), (2, "q".to_owned()));
    assert_eq!((finished.status, finished.blake3), (Status::Graded, Some([1; 32])));
    assert!(ledger.records().finished_after(2, 9).expect("nothing more").is_empty());
}

#[test]
fn crashes_count_until_a_large_submission_progresses_and_only_while_it_is_open() {
    let (_folder, ledger) = ledger();
    let claims = take(&ledger, &[candidate(b"p"), candidate(b"q")], 0);
    let ids = claims.iter().map(|claim| claim.id).collect::<Vec<_>>();
    ledger.claims().count_crashes(&ids).expect("counted");
    ledger.claims().count_crashes(&[ids[0], 99]).expect("counted");
    let crashes = |ledger: &Ledger| -> Vec<u32> {
        let open = ledger.claims().open().expect("open claims");
        open.iter().map(|claim| claim.claimed.crashes).collect()
    };
    assert_eq!(crashes(&ledger), [2, 1]);
    let results = vec![progressed(&claims[0], 0, progress())];
    ledger.commit(&Commit { results, ..Commit::default() }).expect("committed");
    assert_eq!(crashes(&ledger), [0, 1]);
}

fn pieces(ledger: &Ledger, report: &str) -> Vec<(i64, i64, u64)> {
    let report = Name::from_bytes(report.as_bytes());
    let (mut all, mut after) = (Vec::new(), 0);
    // A few at a time, as a rebuild reads them.
    loop {
        let pieces = ledger.reports().pieces(&report, after, 2).expect("pieces");
        let Some(last) = pieces.last() else { return all };
        after = last.step;
        all.extend(pieces.iter().map(|piece| (piece.step, piece.submission, piece.cases)));
    }
}

#[test]
fn rows_are_known_in_the_order_of_commits_and_by_the_rules_of_each_submission() {
    let (_folder, ledger) = ledger();
    let claims = take(&ledger, &[b"p".as_slice(), b"q", b"team/r"].map(candidate), 0);
    let [p, q, r] = [0, 1, 2].map(|i: usize| claims[i].id);
    let rules = |case_bytes_max| Rules { case_bytes_max, ..RULES };
    let further = |cases| progressed(&claims[0], cases, Progress { rules: rules(1), ..progress() });
    let done = |id, by| {
        let tally = Tally::from_counts([9; 4], 0);
        Outcome::Finished(Finished { tally, rules: rules(by), ..finished(id) })
    };
    for results in
        [vec![further(4)], vec![done(q, 2), further(5), done(r, 2)], vec![further(6), done(p, 1)]]
    {
        ledger.commit(&Commit { results, ..Commit::default() }).expect("committed");
    }
    let order = [(1, p, 4), (2, q, 36), (3, p, 5), (5, p, 6), (6, p, 21)];
    assert_eq!(pieces(&ledger, "loose.csv"), order);
    assert_eq!(pieces(&ledger, "folders/team.csv"), [(4, r, 36)]);
    let records = ledger.records().with_ids(&[q, p]).expect("records");
    let by = records.iter().map(Record::rules).collect::<Vec<_>>();
    assert_eq!(by, [2, 1].map(|n| Some(rules(n))));
    assert_eq!(records[1].graded, Some(Prefix { bytes: 7, blake3: [7; 32] }));
    let count = "SELECT count(*) FROM rules";
    let count: i64 = ledger.connection().query_row(count, [], |row| row.get(0)).expect("a count");
    assert_eq!(count, 2);
}

fn fail(ledger: &Ledger, claimed: &Claimed) {
    let failed = Finished { status: Status::Failed, bytes: claimed.bytes, ..finished(claimed.id) };
    let results = vec![Outcome::Finished(failed)];
    ledger.commit(&Commit { results, ..Commit::default() }).expect("committed");
}

/// When it was handed in, as the ledger knows it.
fn handed_in(ledger: &Ledger, claimed: &Claimed) -> HandedIn {
    let record = ledger.records().with_ids(&[claimed.id]).expect("records").remove(0);
    assert_eq!(record.claimed.handed_in, claimed.handed_in);
    record.claimed.handed_in
}

#[test]
fn a_file_that_was_put_back_or_handed_in_again_keeps_its_first_time_of_arrival() {
    let (_folder, ledger) = ledger();
    let moved = HandedIn { at_ms: 70, doubt: Some(Doubt::Move) };
    let later = |signature| Candidate { handed_in: moved, signature, ..candidate(b"p") };
    let put_back = |claimed: &Claimed, inode| {
        let returned =
            Returned { id: claimed.id, name: claimed.name.clone(), inode, changed: (8, 9) };
        ledger.claims().release_returned(&[returned]).expect("released");
    };
    let signature = Signature::for_tests(100);
    let certain = HandedIn { at_ms: 4, doubt: None };
    let changed = HandedIn { at_ms: 4, doubt: Some(Doubt::Change) };
    let first = &take(&ledger, &[candidate(b"p")], 100)[0];
    assert_eq!(handed_in(&ledger, first), certain);
    put_back(first, signature.identity.1);
    let second = &take(&ledger, &[later(signature)], 100)[0];
    assert_eq!((second.attempt, handed_in(&ledger, second)), (1, certain));
    // It is not what it was then, or was changed so that this does not show.
    put_back(second, signature.identity.1);
    let other = Candidate { changed: (8, 10), ..later(signature) };
    let second = &take(&ledger, &[other], 100)[0];
    assert_eq!((second.attempt, handed_in(&ledger, second)), (1, changed));
    put_back(second, signature.identity.1);
    let longer = Signature { bytes: 101, ..signature };
    let third = &take(&ledger, &[later(longer)], 100)[0];
    assert_eq!((third.attempt, handed_in(&ledger, third)), (1, changed));
    // It fails, another attempt is graded, and it is handed in again.
    fail(&ledger, third);
    let other = Signature { modified: (1, 1), ..signature };
    let fourth = &take(&ledger, &[later(other)], 100)[0];
    assert_eq!((fourth.attempt, handed_in(&ledger, fourth)), (2, moved));
    let fifth = &take_again(&ledger, later(longer));
    assert_eq!((fifth.attempt, handed_in(&ledger, fifth)), (3, changed));
    // Another file has the name of one that was put back.
    put_back(fifth, signature.identity.1 + 1);
    let sixth = &take(&ledger, &[later(other)], 60)[0];
    assert_eq!(handed_in(&ledger, sixth), HandedIn { at_ms: 60, ..moved });
}

#[test]
fn a_file_that_is_handed_in_again_is_known_by_its_content_or_else_the_newest_and_only_once() {
    let (_folder, ledger) = ledger();
    let file = |at_ms, bytes| {
        let signature = Signature::for_tests(bytes);
        let handed_in = HandedIn { at_ms, doubt: None };
        Candidate { signature, handed_in, ..candidate(b"p") }
    };
    for at_ms in [10, 11, 12] {
        let failed = take(&ledger, &[file(at_ms, at_ms as u64)], 100).remove(0);
        fail(&ledger, &failed);
    }
    // A copy has another inode.
    let copy = Candidate {
        signature: Signature { identity: (1, 2), ..Signature::for_tests(11) },
        ..file(50, 0)
    };
    assert_eq!(take(&ledger, std::slice::from_ref(&copy), 100)[0].handed_in, copy.handed_in);
    let again = [copy.clone(), copy.clone(), file(50, 10), copy.clone(), file(50, 10)];
    let found = again.map(|file| {
        let HandedIn { at_ms, doubt } = take_again(&ledger, file).handed_in;
        (at_ms, doubt.is_some())
    });
    assert_eq!(found, [(11, false), (12, true), (10, false), (50, false), (50, false)]);
}

#[test]
fn a_failed_submission_whose_place_is_taken_is_not_among_the_failed_ones() {
    let (_folder, ledger) = ledger();
    let first = &take(&ledger, &[candidate(b"p")], 0)[0];
    let failed = Finished { status: Status::Failed, ..finished(first.id) };
    let results = vec![Outcome::Finished(failed)];
    ledger.commit(&Commit { results, ..Commit::default() }).expect("committed");
    assert_eq!(ledger.records().failed().expect("failed ones").len(), 1);
    let place = |name: &Name| {
        if name.as_bytes() == b"p~2" { Place::Taken } else { Place::Free }
    };
    let claims = ledger.claims().record(&[candidate(b"p")], 0, "", place, |_| false);
    let second = &claims.expect("claims")[0];
    assert_ne!(second.archived_as, first.archived_as);
    assert_eq!(ledger.records().failed().expect("failed ones").len(), 1);
    let other = Candidate { name: Name::from_bytes(*b"p"), ..candidate(b"p") };
    ledger.connection().execute("DELETE FROM submissions WHERE attempt > 1", []).expect("gone");
    ledger.connection().execute("UPDATE submissions SET name = 'q'", []).expect("renamed");
    let third = &take(&ledger, &[other], 0)[0];
    assert_eq!(third.archived_as, first.archived_as);
    assert!(ledger.records().failed().expect("failed ones").is_empty());
}

#[test]
fn a_note_has_its_reason_on_one_line() {
    let note = quarantine_note(&Name::from_bytes(*b"p"), 2, Some("two\nlines"), 3);
    assert!(note.contains("\nattempt: 2\nreason: two\\x0Alines\ntries: 3\n"), "{note}");
}

#[test]
fn a_ledger_of_a_newer_gridmark_is_refused_in_words() {
    let (folder, ledger) = ledger();
    ledger.connection().pragma_update(None, "user_version", 99).expect("a version");
    drop(ledger);
    let error = Ledger::open(&folder.path().join("ledger.db")).err().expect("an error");
    assert!(error.to_string().contains("has format 99"), "{error}");
}

fn source(text: &str, keys: Vec<Key>) -> Source {
    let files = [("event.toml".to_owned(), text.as_bytes().to_vec())];
    Source { folder: Folder::of(files), keys }
}

fn decision(action: &str, source: Option<Source>) -> Decision {
    let draft = Draft { action: action.to_owned(), by: "Ö".into(), ..Draft::default() };
    Decision { draft, source, ..Decision::default() }
}

#[test]
fn a_claim_has_the_definitions_that_are_in_force_when_it_is_taken() {
    let (_folder, ledger) = ledger();
    let definitions = |name: &[u8]| take(&ledger, &[candidate(name)], 5)[0].definitions;
    assert_eq!(definitions(b"a"), None);
    let accepted =
        Key { round: "r1".into(), puzzle: "p1".into(), digits: vec![1; 81], accepted: true };
    let [first, second] = [source("1", vec![]), source("1", vec![accepted])];
    ledger.definitions().stage(&first).expect("staged");
    assert_eq!(definitions(b"b"), None, "staged ones are not in force");
    let put = |source: &Source| {
        let decision = decision("takeover", Some(source.clone()));
        ledger.changes().record(&[decision], 7).expect("recorded");
        ledger.definitions().in_force().expect("the ledger").expect("definitions")
    };
    let (one, two) = (put(&first), put(&second));
    assert_ne!(one, two);
    assert_eq!(definitions(b"c"), Some(two));
    assert_eq!(put(&first), one, "the same again is the same");
    assert_eq!(definitions(b"d"), Some(one));
    assert_eq!(ledger.definitions().get(two).expect("the ledger"), Some(second));
    assert_eq!(ledger.definitions().get(99).expect("the ledger"), None);
    let open = ledger.claims().open().expect("the claims");
    let pinned: Vec<_> = open.iter().map(|open| open.claimed.definitions).collect();
    assert_eq!(pinned, [Some(one), Some(one), Some(two), Some(one)]);
}

#[test]
fn judgements_and_rulings_are_read_as_they_were_recorded_in_one_order() {
    let (_folder, ledger) = ledger();
    let claims = take(&ledger, &[b"a", b"b", b"c"].map(|name| candidate(name)), 5);
    let entry = Entry { entrant: "1".into(), round: "r".into(), puzzle: "p".into() };
    let marked = |mark| {
        submission::Outcome::Marked(Marked {
            case: 2,
            mark,
            fault: "x".into(),
            at: "r1c1".into(),
            faults: 3,
            detail: "words".into(),
        })
    };
    let judged = |correct| scoring::Judged {
        correct,
        cells: 51,
        blank_cells: 1,
        wrong_cells: (!correct).then_some(2),
        right_houses: correct.then_some([3, 4, 5]),
        side: 9,
    };
    let outcomes = [
        submission::Outcome::Held { why: "why".into(), nearest: Some("entrant 2".into()) },
        marked(TryMark::Judged(judged(true))),
        marked(TryMark::Judged(judged(false))),
        marked(TryMark::Foreign),
        marked(TryMark::Unreadable),
        marked(TryMark::Failed),
        submission::Outcome::Dismissed,
    ];
    let judgements: Vec<(i64, Judgement)> = (0..)
        .zip(outcomes)
        .map(|(i, outcome)| {
            let entry = (i > 0).then(|| entry.clone());
            (claims[i % 3].id, Judgement { definitions: 4, entry, outcome })
        })
        .collect();
    let commit = Commit { judgements: judgements[..5].to_vec(), ..Commit::default() };
    ledger.commit(&commit).expect("committed");
    let mut ruling = decision("verdict", None);
    ruling.judgements = judgements[5..].to_vec();
    let rulings = ledger.changes().record(&[ruling, decision("undo", None)], 9).expect("recorded");
    assert_eq!((rulings[0].number, rulings[1].number), (1, 2));
    let changes = ledger.changes().after(0, 100).expect("changes");
    let numbers: Vec<i64> = changes.iter().map(Change::number).collect();
    assert_eq!(numbers, (1..=9).collect::<Vec<_>>());
    let read: Vec<Judgement> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Judged(judged) => Some(judged.judgement.clone()),
            Change::Ruled(_) => None,
        })
        .collect();
    let recorded = |with_words: bool| -> Vec<Judgement> {
        let judgements = judgements.iter().map(|(_, judgement)| {
            let mut judgement = judgement.clone();
            if let submission::Outcome::Marked(marked) = &mut judgement.outcome
                && !with_words
            {
                let words = [&mut marked.fault, &mut marked.at, &mut marked.detail];
                words.into_iter().for_each(String::clear);
            }
            judgement
        });
        judgements.collect()
    };
    assert_eq!(read, recorded(false), "scoring reads no words");
    let of_first = ledger.changes().of_submission(claims[1].id).expect("the judgements");
    let of_first: Vec<Judgement> = of_first.into_iter().map(|judged| judged.judgement).collect();
    assert_eq!(of_first, [recorded(true)[1].clone(), recorded(true)[4].clone()]);
    assert_eq!(ledger.changes().after(5, 2).expect("changes"), changes[5..7]);
    assert_eq!(ledger.changes().rulings().expect("rulings"), rulings);
    let hash = rulings[1].draft.hash(2, 9, &rulings[0].hash);
    assert_eq!(rulings[1].hash, hash, "rulings are chained");
    let newest = ledger.changes().newest_after(0, 10).expect("the newest");
    let newest: Vec<_> = newest.iter().map(|judged| (judged.submission, judged.change)).collect();
    assert_eq!(newest, [(claims[0].id, 8), (claims[1].id, 5), (claims[2].id, 7)]);
}
