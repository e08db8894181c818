//! `gridmark verify`: it finds what does not agree, and reports written anew hold the same bytes.

use super::{grade, interleaved};
use crate::kit::cases::{classic, hexudoku, killer};
use crate::kit::{Sandbox, Told};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

const TEAM: &str = "reports/folders/team.csv";
const NOTHING: [&str; 0] = [];

/// Runs `gridmark verify`, which must end with this code.
#[track_caller]
fn verify(sandbox: &Sandbox, args: &[&str], code: i32) -> String {
    let Told { code: ended, stdout, stderr, .. } = sandbox.run("verify", args);
    assert_eq!(ended, Some(code), "{stdout}{stderr}");
    // What is told of problems comes on standard error if it could not be looked.
    assert_eq!(stderr.is_empty(), code != 2, "{stderr}");
    stdout + &stderr
}

/// The lines that tell something about this path.
fn about<'a>(told: &'a str, path: &str) -> Vec<&'a str> {
    told.lines().filter(|line| line.contains(path)).collect()
}

/// A sandbox with two graded files of `team`, and nothing that runs.
fn with_two() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("team/1", classic(1, "YN"));
    grade(&mut sandbox);
    sandbox.rename_in("team/2", killer(2, false));
    grade(&mut sandbox);
    sandbox
}

#[test]
fn reports_in_which_large_files_lie_between_others_are_written_anew_byte_for_byte() {
    let mut sandbox = interleaved();
    sandbox.start();
    sandbox.wait_for(42);
    sandbox.stop();
    let before = sandbox.report_bytes();
    // Else this test tells less than it should.
    let names: Vec<String> =
        sandbox.rows("folders/team.csv").iter().map(|row| row.get("submission").into()).collect();
    let changes = names.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes > 16, "the rows are not interleaved: {changes} changes");
    let told = verify(&sandbox, &NOTHING, 0);
    assert!(told.contains("reports: 4, submissions: 42, cases: "), "{told}");
    assert!(told.ends_with(": all agrees\n"), "{told}");

    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    let told = verify(&sandbox, &NOTHING, 1);
    assert_eq!(about(&told, ": it is missing; ").len(), 4, "{told}");
    assert_eq!(about(&told, "; `gridmark verify --repair` writes it anew").len(), 4, "{told}");
    assert!(!told.contains("aside"), "{told}");
    grade(&mut sandbox);
    assert_eq!(sandbox.report_bytes(), before);
    // What is the same is no reason to keep anything aside.
    let told = verify(&sandbox, &["--rebuild", "team", "submissions"], 0);
    assert_eq!(about(&told, ".csv: it was as it is written anew, and is left").len(), 2, "{told}");
    assert!(told.ends_with(": all agrees\n"), "{told}");
    assert_eq!(sandbox.report_bytes(), before);
    assert!(!sandbox.has(format!("{TEAM}.part")) && !sandbox.has(format!("{TEAM}.aside-1")));
    sandbox.verifies();
}

#[test]
fn a_report_that_was_edited_while_nothing_ran_is_found_and_repaired() {
    let mut sandbox = with_two();
    let before = sandbox.text(TEAM);
    // As long as before, so that a start does not notice.
    let edited = before.replace("team/1,1,2,classic,wrong,N", "team/1,1,2,classic,right,Y");
    assert_eq!(edited.len(), before.len());
    fs::write(sandbox.path(TEAM), &edited).unwrap();
    grade(&mut sandbox);
    assert_eq!(sandbox.text(TEAM), edited);
    let told = verify(&sandbox, &NOTHING, 1);
    let [line] = about(&told, "team.csv")[..] else { panic!("{told}") };
    assert!(line.contains("line 3 is `team/1,1,2,classic,right,Y,"), "{told}");
    assert!(line.contains("and should be `team/1,1,2,classic,wrong,N,"), "{told}");
    assert!(
        line.ends_with("`gridmark verify --repair` writes it anew and keeps aside what is there")
    );
    assert!(told.ends_with(": 1 thing does not agree\n"), "{told}");
    let told = verify(&sandbox, &["--repair"], 0);
    assert!(told.ends_with(": all agrees; reports written anew: 1\n"), "{told}");
    assert_eq!(sandbox.text(TEAM), before);
    assert_eq!(sandbox.text(format!("{TEAM}.aside-1")), edited);
    let told = verify(&sandbox, &NOTHING, 0);
    let [line] = about(&told, "note: ")[..] else { panic!("{told}") };
    let words = ".aside-1: kept aside when a report was written anew; remove it if nobody needs it";
    assert!(line.ends_with(words), "{told}");

    // What stands behind the last row, in the middle, or in the other report.
    for (report, edit) in [
        ("team", [before.as_str(), "\n"].concat()),
        ("team", before.replacen("\n", "\n\n", 1)),
        ("submissions", sandbox.text("reports/submissions.csv").replace("graded", "GRADED")),
    ] {
        let path = if report == "team" { TEAM } else { "reports/submissions.csv" };
        let whole = sandbox.text(path);
        fs::write(sandbox.path(path), &edit).unwrap();
        // Beyond what is committed stands what a crash leaves, and that is cut off.
        let code = if edit.starts_with(&whole) { 0 } else { 1 };
        verify(&sandbox, &[report], code);
        verify(&sandbox, &["--rebuild", report], 0);
        assert_eq!(sandbox.text(path), whole, "{report}");
    }
}

#[test]
fn rows_of_files_that_are_gone_or_changed_are_told_and_never_invented() {
    let mut sandbox = with_two();
    sandbox.rename_in("team/3", hexudoku(3));
    grade(&mut sandbox);
    let before = sandbox.text(TEAM);
    let first = sandbox.text("archive/team/1");
    fs::remove_file(sandbox.path("archive/team/1")).unwrap();
    sandbox.write("archive/team/2", killer(2, true));
    let told = verify(&sandbox, &NOTHING, 1);
    let [line] = about(&told, "archive/team/1: ")[..] else { panic!("{told}") };
    assert!(line.contains("team/1, attempt 1: its file is gone; its rows in "), "{told}");
    assert!(line.contains("cannot be checked"), "{told}");
    let [line] = about(&told, "archive/team/2: ")[..] else { panic!("{told}") };
    assert!(line.contains("it holds other bytes than those that were graded"), "{told}");
    // The report itself is as it was, and is left so.
    let told = verify(&sandbox, &["--repair"], 1);
    assert!(told.ends_with(": 2 things do not agree\n"), "{told}");
    assert_eq!(sandbox.text(TEAM), before);

    // By whomever it is written anew, the rows that cannot be had are left out.
    let without = |names: [&str; 2]| -> String {
        let is_there = |line: &&str| names.iter().all(|name| !line.starts_with(name));
        before.lines().filter(is_there).map(|line| format!("{line}\n")).collect()
    };
    let rest = without(["team/1,", "team/2,"]);
    fs::write(sandbox.path(TEAM), before.replace("hexudoku,counted", "HEXUDOKU,COUNTED")).unwrap();
    verify(&sandbox, &["--repair"], 1);
    assert_eq!(sandbox.text(TEAM), rest);
    fs::remove_file(sandbox.path(TEAM)).unwrap();
    sandbox.start();
    assert_eq!(sandbox.metrics().of("gridmark_rebuild_errors_total"), 2.0);
    sandbox.stop();
    assert_eq!(sandbox.text(TEAM), rest);
    let told = verify(&sandbox, &NOTHING, 1);
    assert_eq!(about(&told, "its rows are not in ").len(), 2, "{told}");

    // With the files as they were, all is as it was.
    sandbox.write("archive/team/1", first);
    sandbox.write("archive/team/2", killer(2, false));
    verify(&sandbox, &NOTHING, 1);
    verify(&sandbox, &["--rebuild", TEAM], 0);
    assert_eq!(sandbox.text(TEAM), before);
    sandbox.verifies();
}

#[test]
fn whatever_lies_where_it_does_not_belong_is_told() {
    let sandbox = with_two();
    sandbox.write("archive/team/stray", "somebody's");
    sandbox.write("quarantine/stray", "somebody's");
    sandbox.write("reports/folders/none.csv", "somebody's");
    sandbox.write("reports/loose.csv.aside-3", "somebody's");
    let mut report = File::options().append(true).open(sandbox.path(TEAM)).unwrap();
    report.write_all(b"half a r").unwrap();
    sandbox.write("archive/open", hexudoku(1));
    sandbox.claim("open", "open", 99, hexudoku(1).len());
    sandbox.claim("lost", "lost", 99, 7);
    let told = verify(&sandbox, &NOTHING, 1);
    for (path, words) in [
        ("archive/team/stray", "the ledger knows no submission there"),
        ("quarantine/stray", "no submission that failed lies there"),
        ("reports/folders/none.csv", "a report that the ledger does not know"),
        ("reports/loose.csv.aside-3", "kept aside when a report was written anew"),
        (TEAM, "it has 8 bytes beyond what is committed; the next start cuts them off"),
        ("archive/open", "open, attempt 1: taken and not done; the next start grades it"),
        ("archive/lost", "the next start lets go of it"),
    ] {
        let [line] = about(&told, path)[..] else { panic!("{path}: {told}") };
        assert!(line.contains(words), "{line}");
        assert_eq!(line.starts_with("note: "), !path.contains("stray"), "{line}");
    }
    assert!(told.ends_with(": 2 things do not agree\n"), "{told}");
}

#[test]
fn a_ledger_whose_marks_are_not_those_of_the_files_is_found() {
    let sandbox = with_two();
    let change = "UPDATE submissions SET wrong = 0, correct = 1 WHERE name = 'team/2'";
    sandbox.ledger().execute(change, []).unwrap();
    let told = verify(&sandbox, &NOTHING, 1);
    let [line] = about(&told, "archive/team/2")[..] else { panic!("{told}") };
    assert!(
        line.contains("the ledger has killer (1 correct, 0 filled), and it is killer (1 wrong")
    );
    assert_eq!(about(&told, "submissions.csv").len(), 1, "{told}");
    sandbox
        .ledger()
        .execute("UPDATE submissions SET blake3 = NULL WHERE name = 'team/1'", [])
        .unwrap();
    let told = verify(&sandbox, &NOTHING, 1);
    assert_eq!(about(&told, "it has 1 submissions that are graded and have no").len(), 1, "{told}");
}

#[test]
fn beside_a_service_that_works_all_agrees_and_nothing_is_written() {
    let mut sandbox = interleaved();
    sandbox.start();
    for round in 0..6 {
        for i in 0..20 {
            sandbox.rename_in(format!("team/{round} {i}"), classic(i, "YNY"));
        }
        sandbox.rename_in(format!("other/large {round}"), classic(round, "YN").repeat(300));
        verify(&sandbox, &NOTHING, 0);
    }
    sandbox.wait_for(42 + 6 * 21);
    for flags in [&["--repair"][..], &["--rebuild", "team"]] {
        let told = verify(&sandbox, flags, 2);
        assert!(told.contains("another gridmark works here already"), "{told}");
    }
    let told = verify(&sandbox, &NOTHING, 0);
    assert!(told.contains("submissions: 168, "), "{told}");
    sandbox.stop();
    sandbox.agrees();
}

#[test]
fn what_cannot_be_looked_at_is_told_in_words() {
    let sandbox = Sandbox::new();
    for args in [&NOTHING[..], &["--repair"]] {
        let told = verify(&sandbox, args, 2);
        assert!(told.contains("no service has run here"), "{told}");
        assert!(!sandbox.has("state"));
    }
    let mut sandbox = with_two();
    sandbox.rename_in("loose/p", hexudoku(2));
    sandbox.rename_in("p", hexudoku(2));
    grade(&mut sandbox);
    let told = verify(&sandbox, &["nobody"], 2);
    assert!(told.contains("nobody: no such report in "), "{told}");
    let told = verify(&sandbox, &["loose"], 2);
    assert!(told.contains("say which report: folders/loose.csv, loose.csv"), "{told}");
    let told = verify(&sandbox, &["loose.csv", "folders/loose.csv", TEAM], 0);
    assert!(told.starts_with("reports: 3, submissions: 4, "), "{told}");
    sandbox.ledger().pragma_update(None, "user_version", 99).unwrap();
    let told = verify(&sandbox, &NOTHING, 2);
    assert!(told.contains("put back the backup from before the upgrade"), "{told}");
}

#[test]
fn a_submission_keeps_the_rules_by_which_it_was_begun() {
    let mut sandbox = killed_half_way("=p");
    // It ends inside a block, whose missing solutions are told.
    let cut = classic(1, "YYYYY").lines().take(20).collect::<Vec<_>>().join("\n");
    sandbox.set("publish.neutralise_formulas", false).set("grade.missing_cases_max", 1);
    sandbox.rename_in("=later", &cut);
    grade(&mut sandbox);
    sandbox.set("publish.neutralise_formulas", true).set("grade.missing_cases_max", 3);
    sandbox.rename_in("=last", &cut);
    grade(&mut sandbox);
    let before = sandbox.report_bytes();
    for report in ["loose.csv", "submissions.csv"] {
        let count = |start: &str| before[report].lines().filter(|it| it.starts_with(start)).count();
        let cases = |cases| if report == "loose.csv" { cases } else { 1 };
        assert_eq!(count(LARGE_ROW), cases(9_000), "{report}");
        assert_eq!((count("=later,"), count("'=last,")), (cases(2), cases(4)), "{report}");
    }
    sandbox.verifies();
    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    grade(&mut sandbox);
    assert_eq!(sandbox.report_bytes(), before);
}

/// What the rows of the large file begin with.
const LARGE_ROW: &str = "'=p,1,";

/// A sandbox that was killed when it had graded a part of this large file.
fn killed_half_way(name: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    sandbox.set("publish.commit_wait_ms_max", 0).set("publish.pending_bytes_max", 1);
    let text: String = (0..3_000).map(|i| classic(i, "YNY")).collect();
    sandbox.write(Path::new("inbox").join(name), text);
    sandbox.start_unready();
    sandbox.wait_until("some rows are there", |sandbox| sandbox.rows("loose.csv").len() > 300);
    sandbox.kill();
    let open = "SELECT count(*) FROM submissions WHERE checkpoint IS NOT NULL";
    let open: i64 = sandbox.ledger().query_row(open, [], |row| row.get(0)).unwrap();
    assert_eq!(open, 1, "it was done before it was killed");
    sandbox
}

#[test]
fn a_large_file_that_is_changed_between_a_crash_and_the_next_start_is_failed() {
    let mut sandbox = killed_half_way("p");
    let told = verify(&sandbox, &NOTHING, 0);
    assert_eq!(about(&told, "the next start goes on behind").len(), 1, "{told}");
    // Of the same size, in what was graded already.
    let text = sandbox.text("archive/p");
    sandbox.write("archive/p", text.replacen('1', "2", 1));
    sandbox.start();
    let rows = sandbox.wait_for(1);
    assert_eq!(rows[0].columns(&["status", "blake3"]), "failed|");
    sandbox.wait_until("it is kept", |sandbox| sandbox.has("quarantine/p"));
    assert!(sandbox.log().contains("bytes are not those that they were"), "{}", sandbox.log());
    sandbox.stop();
    let cases = sandbox.rows("loose.csv").len() as u64;
    assert_eq!(rows[0].number("cases"), cases);
    let told = verify(&sandbox, &NOTHING, 0);
    assert_eq!(about(&told, "note: ").len(), 1, "{told}");
    assert!(told.contains("it holds other bytes than those that were graded"), "{told}");
}

#[test]
fn rows_of_a_submission_that_failed_half_way_are_written_anew_from_quarantine() {
    let mut sandbox = killed_half_way("p");
    // It dies over it once more, at most once.
    sandbox.set("grade.tries_max", 1);
    sandbox.ledger().execute("UPDATE submissions SET tries = 1", []).unwrap();
    let ended = sandbox.once();
    assert_eq!(ended.status.code(), Some(1), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(sandbox.has("quarantine/p"));
    let before = sandbox.report_bytes();
    sandbox.verifies();
    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    verify(&sandbox, &["--repair"], 0);
    assert_eq!(sandbox.report_bytes(), before);
}

#[test]
fn a_large_file_that_is_gone_between_a_crash_and_the_next_start_is_failed_and_not_forgotten() {
    let mut sandbox = killed_half_way("p");
    fs::remove_file(sandbox.path("archive/p")).unwrap();
    let told = verify(&sandbox, &NOTHING, 1);
    assert_eq!(about(&told, "the next start makes it a failed one").len(), 1, "{told}");
    sandbox.start();
    let rows = sandbox.wait_for(1);
    assert_eq!(rows[0].columns(&["attempt", "status"]), "1|failed");
    sandbox.rename_in("p", hexudoku(2));
    let rows = sandbox.wait_for(2);
    assert_eq!(rows[1].columns(&["attempt", "status"]), "2|graded");
    sandbox.stop();
    sandbox.rows_agree();
}

#[test]
fn a_ledger_that_is_lost_is_not_taken_for_a_new_one() {
    let mut sandbox = with_two();
    let (ledger, lost) = (sandbox.path("state/ledger.db"), sandbox.path("state/lost"));
    fs::rename(&ledger, &lost).unwrap();
    let reports = sandbox.report_bytes();
    for (what, make) in [("missing", false), ("empty", true)] {
        if make {
            File::create(&ledger).unwrap();
        }
        let ended = sandbox.once();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains(&format!("ledger.db is {what}, but there are marks in ")),
            "{stderr}"
        );
        assert!(stderr.contains("put a copy of it in its place, from a backup"), "{stderr}");
        assert_eq!(sandbox.report_bytes(), reports);
        // Whoever asks is told the same.
        for args in [
            &["verify"][..],
            &["verify", "--repair"],
            &["why", "team/1"],
            &["backup", "copy"],
            &["retry", "team/1"],
        ] {
            let told = sandbox.run(args[0], &args[1..]);
            assert_eq!((told.code, told.stderr), (Some(2), stderr.clone()), "{args:?}");
        }
    }
    // Whoever wants to begin anew can, and nothing is overwritten.
    fs::rename(sandbox.path("reports"), sandbox.path("old reports")).unwrap();
    sandbox.rename_in("team/1", hexudoku(1));
    grade(&mut sandbox);
    assert_eq!(sandbox.submissions()[0].columns(&["attempt", "archived_as"]), "1|team/1~1~1");
    let told = verify(&sandbox, &NOTHING, 1);
    assert_eq!(about(&told, "move it into the inbox").len(), 2, "{told}");
    // And with the ledger and the reports put back all is as it was, but for what came meanwhile.
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _ = fs::remove_file(sandbox.path(Path::new("state").join(file)));
    }
    fs::rename(&lost, &ledger).unwrap();
    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    fs::rename(sandbox.path("old reports"), sandbox.path("reports")).unwrap();
    let told = verify(&sandbox, &NOTHING, 1);
    let told_of_it = about(&told, "archive/team/1~1~1");
    assert_eq!(told_of_it.len(), 1, "{told}");
    let to_do = "move it into the inbox as team/1, once what came before under that name is taken";
    assert!(told_of_it[0].contains(to_do), "{told}");
    assert!(told.ends_with(": 1 thing does not agree\n"), "{told}");
}
