//! `gridmark verify`: it finds every disagreement, and rebuilt reports have the same bytes as before.

use super::{grade, interleaved};
use crate::kit::cases::{classic, hexudoku, killer};
use crate::kit::{Outcome, Sandbox};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

const TEAM: &str = "reports/folders/team.csv";
const NOTHING: [&str; 0] = [];

/// Runs `gridmark verify`, which must end with this code.
#[track_caller]
fn verify(sandbox: &Sandbox, args: &[&str], code: i32) -> String {
    let Outcome { code: ended, stdout, stderr, .. } = sandbox.run("verify", args);
    assert_eq!(ended, Some(code), "{stdout}{stderr}");
    // Findings go to standard output; standard error says why the check could not be completed.
    assert_eq!(stderr.is_empty(), code != 2, "{stderr}");
    stdout + &stderr
}

/// The lines of the output that contain this text.
fn lines_with<'a>(output: &'a str, text: &str) -> Vec<&'a str> {
    output.lines().filter(|line| line.contains(text)).collect()
}

/// A sandbox with two graded files of `team`, in which no service runs.
fn with_two() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("team/1", classic(1, "YN"));
    grade(&mut sandbox);
    sandbox.rename_in("team/2", killer(2, false));
    grade(&mut sandbox);
    sandbox
}

#[test]
fn reports_in_which_large_files_are_interleaved_with_others_are_rebuilt_byte_for_byte() {
    let mut sandbox = interleaved();
    sandbox.start();
    sandbox.wait_for(42);
    sandbox.stop();
    let before = sandbox.report_bytes();
    // Without interleaved rows this test would prove less than its name says.
    let names: Vec<String> =
        sandbox.rows("folders/team.csv").iter().map(|row| row.get("submission").into()).collect();
    let changes = names.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes > 16, "the rows are not interleaved: {changes} changes");
    let output = verify(&sandbox, &NOTHING, 0);
    assert!(output.contains("reports: 4, submissions: 42, cases: "), "{output}");
    assert!(output.ends_with(": everything agrees\n"), "{output}");

    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    let output = verify(&sandbox, &NOTHING, 1);
    assert_eq!(lines_with(&output, ": it is missing; ").len(), 4, "{output}");
    assert_eq!(
        lines_with(&output, "; run `gridmark verify --repair` to rebuild it").len(),
        4,
        "{output}"
    );
    assert!(!output.contains("is kept"), "{output}");
    grade(&mut sandbox);
    assert_eq!(sandbox.report_bytes(), before);
    // A rebuild that gives the same bytes keeps no second copy.
    let output = verify(&sandbox, &["--rebuild", "team", "submissions"], 0);
    assert_eq!(
        lines_with(&output, ".csv: it was right already, and is unchanged").len(),
        2,
        "{output}"
    );
    assert!(output.ends_with(": everything agrees\n"), "{output}");
    assert_eq!(sandbox.report_bytes(), before);
    assert!(!sandbox.has(format!("{TEAM}.part")) && !sandbox.has(format!("{TEAM}.aside-1")));
    sandbox.verifies();
}

#[test]
fn a_report_that_was_edited_while_nothing_ran_is_found_and_repaired() {
    let mut sandbox = with_two();
    let before = sandbox.text(TEAM);
    // It keeps its length, so that a start does not notice the edit.
    let edited = before.replace("team/1,1,2,classic,wrong,N", "team/1,1,2,classic,right,Y");
    assert_eq!(edited.len(), before.len());
    fs::write(sandbox.path(TEAM), &edited).unwrap();
    grade(&mut sandbox);
    assert_eq!(sandbox.text(TEAM), edited);
    let output = verify(&sandbox, &NOTHING, 1);
    let [line] = lines_with(&output, "team.csv")[..] else { panic!("{output}") };
    assert!(line.contains("line 3 is `team/1,1,2,classic,right,Y,"), "{output}");
    assert!(line.contains("and should be `team/1,1,2,classic,wrong,N,"), "{output}");
    assert!(
        line.ends_with("run `gridmark verify --repair` to rebuild it; the present file is kept")
    );
    assert!(output.ends_with(": 1 disagreement\n"), "{output}");
    let output = verify(&sandbox, &["--repair"], 0);
    assert!(output.ends_with(": everything agrees; reports rebuilt: 1\n"), "{output}");
    assert_eq!(sandbox.text(TEAM), before);
    assert_eq!(sandbox.text(format!("{TEAM}.aside-1")), edited);
    let output = verify(&sandbox, &NOTHING, 0);
    let [line] = lines_with(&output, "note: ")[..] else { panic!("{output}") };
    let words = ".aside-1: it was kept when its report was rebuilt; delete it if nobody needs it";
    assert!(line.ends_with(words), "{output}");

    // Edits after the last row, in the middle, and in the other report.
    for (report, edit) in [
        ("team", [before.as_str(), "\n"].concat()),
        ("team", before.replacen("\n", "\n\n", 1)),
        ("submissions", sandbox.text("reports/submissions.csv").replace("graded", "GRADED")),
    ] {
        let path = if report == "team" { TEAM } else { "reports/submissions.csv" };
        let whole = sandbox.text(path);
        fs::write(sandbox.path(path), &edit).unwrap();
        verify(&sandbox, &[report], 1);
        verify(&sandbox, &["--rebuild", report], 0);
        assert_eq!(sandbox.text(path), whole, "{report}");
    }
}

#[test]
fn rows_of_missing_or_changed_files_are_listed_and_never_invented() {
    let mut sandbox = with_two();
    sandbox.rename_in("team/3", hexudoku(3));
    grade(&mut sandbox);
    let before = sandbox.text(TEAM);
    let first = sandbox.text("archive/team/1");
    fs::remove_file(sandbox.path("archive/team/1")).unwrap();
    sandbox.write("archive/team/2", killer(2, true));
    let output = verify(&sandbox, &NOTHING, 1);
    let [line] = lines_with(&output, "archive/team/1: ")[..] else { panic!("{output}") };
    assert!(line.contains("team/1, attempt 1: its file is gone; its rows in "), "{output}");
    assert!(line.contains("cannot be checked"), "{output}");
    let [line] = lines_with(&output, "archive/team/2: ")[..] else { panic!("{output}") };
    assert!(line.contains("it holds other bytes than those that were graded"), "{output}");
    // The report itself is right, and stays unchanged.
    let output = verify(&sandbox, &["--repair"], 1);
    assert!(output.ends_with(": 2 disagreements\n"), "{output}");
    assert_eq!(sandbox.text(TEAM), before);

    // A rebuild, by the command or by the service, leaves out the rows that cannot be produced.
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
    sandbox.wait_for_text(TEAM, &rest);
    assert_eq!(sandbox.service().metrics().of("gridmark_rebuild_errors_total"), 2.0);
    sandbox.stop();
    assert_eq!(sandbox.text(TEAM), rest);
    let output = verify(&sandbox, &NOTHING, 1);
    assert_eq!(lines_with(&output, "its rows are missing from ").len(), 2, "{output}");

    // With the original files back, a rebuild gives the original report.
    sandbox.write("archive/team/1", first);
    sandbox.write("archive/team/2", killer(2, false));
    verify(&sandbox, &NOTHING, 1);
    verify(&sandbox, &["--rebuild", TEAM], 0);
    assert_eq!(sandbox.text(TEAM), before);
    sandbox.verifies();
}

#[test]
fn files_that_do_not_belong_where_they_lie_are_found() {
    let sandbox = with_two();
    sandbox.write("archive/team/stray", "somebody's");
    sandbox.write("quarantine/stray", "somebody's");
    sandbox.write("reports/folders/none.csv", "somebody's");
    sandbox.write("reports/loose.csv.aside-3", "somebody's");
    // A row of an open claim is what a crash leaves; anything else was not written by gridmark.
    sandbox.claim("team/crashed", "team/crashed", 98, 7);
    let mut report = File::options().append(true).open(sandbox.path(TEAM)).unwrap();
    report.write_all(b"team/cra").unwrap();
    sandbox.write("archive/open", hexudoku(1));
    sandbox.claim("open", "open", 99, hexudoku(1).len());
    sandbox.claim("lost", "lost", 99, 7);
    let output = verify(&sandbox, &NOTHING, 1);
    for (path, words) in [
        ("archive/team/stray", "the ledger has no submission there"),
        ("quarantine/stray", "the ledger has no failed submission there"),
        ("reports/folders/none.csv", "it is not a report that the ledger knows"),
        ("reports/loose.csv.aside-3", "it was kept when its report was rebuilt"),
        (TEAM, "its end is not committed: 8 bytes; nothing to do: the next start cuts it off"),
        (
            "archive/open",
            "open, attempt 1, was taken and is not finished; nothing to do: the next start grades it",
        ),
        ("archive/lost", "the next start drops it"),
    ] {
        let [line] = lines_with(&output, path)[..] else { panic!("{path}: {output}") };
        assert!(line.contains(words), "{line}");
        assert_eq!(line.starts_with("note: "), !path.contains("stray"), "{line}");
    }
    assert!(output.ends_with(": 2 disagreements\n"), "{output}");
}

#[test]
fn a_ledger_whose_marks_are_not_those_of_the_files_is_found() {
    let sandbox = with_two();
    let change = "UPDATE submissions SET wrong = 0, correct = 1 WHERE name = 'team/2'";
    sandbox.ledger().execute(change, []).unwrap();
    let output = verify(&sandbox, &NOTHING, 1);
    let [line] = lines_with(&output, "archive/team/2")[..] else { panic!("{output}") };
    assert!(
        line.contains("killer (1 correct, 0 filled), but grading it again gives killer (1 wrong")
    );
    assert_eq!(lines_with(&output, "submissions.csv").len(), 1, "{output}");
    sandbox
        .ledger()
        .execute("UPDATE submissions SET blake3 = NULL WHERE name = 'team/1'", [])
        .unwrap();
    let output = verify(&sandbox, &NOTHING, 1);
    assert_eq!(
        lines_with(&output, "it has 1 submissions that are graded and have no").len(),
        1,
        "{output}"
    );
}

#[test]
fn while_the_service_works_everything_agrees_and_nothing_is_written() {
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
        let output = verify(&sandbox, flags, 2);
        assert!(output.contains("another gridmark works here already"), "{output}");
    }
    let output = verify(&sandbox, &NOTHING, 0);
    assert!(output.contains("submissions: 168, "), "{output}");
    sandbox.stop();
    sandbox.agrees();
}

#[test]
fn a_report_is_named_by_its_folder_its_name_or_any_path() {
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("team 7/p", hexudoku(1));
    sandbox.rename_in("p", hexudoku(2));
    grade(&mut sandbox);
    let whole = sandbox.path("reports/folders/team 7.csv").display().to_string();
    let below = sandbox.path("reports/../reports/folders/team 7").display().to_string();
    let link = sandbox.path("link");
    std::os::unix::fs::symlink(sandbox.path("reports"), &link).unwrap();
    for typed in [
        "team 7",
        "team 7/",
        "team 7.csv",
        "folders/team 7",
        "./folders/team 7.csv",
        "reports/folders/team 7.csv",
        "link/folders/team 7.csv",
        &whole,
        &below,
    ] {
        let output = verify(&sandbox, &["--rebuild", typed], 0);
        assert!(output.contains("reports: 1, submissions: 1, "), "{typed}: {output}");
    }
    for typed in ["inbox/team 7", "reports", "folders", "p", "team"] {
        let output = verify(&sandbox, &["--rebuild", typed], 2);
        assert!(output.contains("there is no such report"), "{typed}: {output}");
    }
}

#[test]
fn a_check_that_cannot_be_made_says_why() {
    let sandbox = Sandbox::new();
    for args in [&NOTHING[..], &["--repair"]] {
        let output = verify(&sandbox, args, 2);
        assert!(output.contains("no service has run here"), "{output}");
        assert!(!sandbox.has("state"));
    }
    let mut sandbox = with_two();
    sandbox.rename_in("loose/p", hexudoku(2));
    sandbox.rename_in("p", hexudoku(2));
    grade(&mut sandbox);
    let output = verify(&sandbox, &["nobody"], 2);
    assert!(output.contains("nobody: there is no such report in "), "{output}");
    let output = verify(&sandbox, &["loose"], 2);
    assert!(output.contains("name one of them: folders/loose.csv, loose.csv"), "{output}");
    let output = verify(&sandbox, &["loose.csv", "folders/loose.csv", TEAM], 0);
    assert!(output.starts_with("reports: 3, submissions: 4, "), "{output}");
    sandbox.ledger().pragma_update(None, "user_version", 99).unwrap();
    let output = verify(&sandbox, &NOTHING, 2);
    assert!(output.contains("put back the backup from before the upgrade"), "{output}");
}

#[test]
fn a_submission_keeps_the_rules_in_force_when_its_grading_began() {
    let mut sandbox = killed_half_way("=p");
    // It ends inside a block, so that solutions are missing.
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

/// The start of each row of the large file.
const LARGE_ROW: &str = "'=p,1,";

/// A sandbox whose service was killed when it had graded a part of this large file.
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
    assert_eq!(open, 1, "the file was finished before the kill");
    sandbox
}

#[test]
fn a_large_file_that_is_changed_between_a_crash_and_the_next_start_is_failed() {
    let mut sandbox = killed_half_way("p");
    let output = verify(&sandbox, &NOTHING, 0);
    assert_eq!(lines_with(&output, "the next start continues after case").len(), 1, "{output}");
    // The change keeps the size, and lies in the part that was graded already.
    let text = sandbox.text("archive/p");
    sandbox.write("archive/p", text.replacen('1', "2", 1));
    sandbox.start();
    let rows = sandbox.wait_for(1);
    assert_eq!(rows[0].columns(&["status", "blake3"]), "failed|");
    sandbox.wait_until("it is kept", |sandbox| sandbox.has("quarantine/p"));
    assert!(
        sandbox.service().log().contains("bytes are not those that they were"),
        "{}",
        sandbox.service().log()
    );
    sandbox.stop();
    let cases = sandbox.rows("loose.csv").len() as u64;
    assert_eq!(rows[0].number("cases"), cases);
    let output = verify(&sandbox, &NOTHING, 0);
    assert_eq!(lines_with(&output, "note: ").len(), 1, "{output}");
    assert!(output.contains("it holds other bytes than those that were graded"), "{output}");
}

#[test]
fn rows_of_a_submission_that_failed_half_way_are_rebuilt_from_quarantine() {
    let mut sandbox = killed_half_way("p");
    // The crash was its only try.
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

/// Promise P2.
#[test]
fn rows_of_a_submission_that_failed_half_way_are_rebuilt_from_a_later_attempt() {
    let mut sandbox = killed_half_way("p");
    sandbox.set("grade.tries_max", 1);
    sandbox.ledger().execute("UPDATE submissions SET tries = 1", []).unwrap();
    sandbox.once();
    assert!(sandbox.has("quarantine/p"));
    // Another file of that name comes before the one that failed is handed in again.
    sandbox.rename_in("p", classic(7, "Y"));
    grade(&mut sandbox);
    assert_eq!(sandbox.run("retry", &["--all"]).code, Some(0));
    grade(&mut sandbox);
    let attempts = sandbox.submissions().into_iter().map(|row| row.columns(&["attempt", "status"]));
    assert_eq!(attempts.collect::<Vec<_>>(), ["1|failed", "2|graded", "3|graded"]);
    let before = sandbox.report_bytes();
    sandbox.verifies();
    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    verify(&sandbox, &["--repair"], 0);
    assert_eq!(sandbox.report_bytes(), before);
    // Without that file the rows are left out, and it is said whose they are.
    fs::remove_file(sandbox.path("archive/p~3")).unwrap();
    let output = verify(&sandbox, &NOTHING, 1);
    assert_eq!(lines_with(&output, "its file is gone").len(), 2, "{output}");
}

#[test]
fn reports_begin_with_a_byte_order_mark_if_they_are_to_and_the_setting_may_change() {
    const BOM: &str = "\u{feff}";
    let mut sandbox = Sandbox::new();
    let begins = |sandbox: &Sandbox, report: &str| {
        sandbox.text(Path::new("reports").join(report)).starts_with(&format!("{BOM}submission,"))
    };
    sandbox.rename_in("old/Müller", classic(1, "YN"));
    grade(&mut sandbox);
    sandbox.set("publish.csv_bom", true);
    for folder in ["old", "new"] {
        sandbox.rename_in(format!("{folder}/Müller 2"), classic(2, "YN"));
    }
    grade(&mut sandbox);
    let of = |sandbox: &Sandbox| {
        ["submissions.csv", "folders/old.csv", "folders/new.csv"].map(|it| begins(sandbox, it))
    };
    // What was begun without stays without.
    assert_eq!(of(&sandbox), [false, false, true]);
    assert_eq!(sandbox.rows("folders/new.csv")[0].get("submission"), "new/Müller 2");
    sandbox.verifies();
    let before = sandbox.report_bytes();
    for setting in [true, false] {
        sandbox.set("publish.csv_bom", setting);
        fs::remove_dir_all(sandbox.path("reports")).unwrap();
        sandbox.rename_in("new/unreadable", "x");
        if setting {
            verify(&sandbox, &["--repair"], 0);
            assert_eq!(sandbox.report_bytes(), before);
            fs::remove_file(sandbox.path("inbox/new/unreadable")).unwrap();
        }
        grade(&mut sandbox);
        sandbox.verifies();
        assert_eq!(of(&sandbox), [false, false, true]);
    }
    // A lost ledger is noticed all the same.
    sandbox.set("publish.csv_bom", true);
    verify(&sandbox, &["--rebuild", "submissions", "old"], 0);
    assert_eq!(of(&sandbox), [true, true, true]);
    sandbox.verifies();
    let report = sandbox.path("reports/folders/old.csv");
    let text = fs::read_to_string(&report).unwrap();
    fs::write(&report, text.trim_start_matches(BOM)).unwrap();
    let output = verify(&sandbox, &["old"], 1);
    assert!(output.contains("old.csv: it has"), "{output}");
    fs::write(&report, text.trim_start_matches(BOM).to_owned() + "xyz").unwrap();
    let output = verify(&sandbox, &["old"], 1);
    assert!(output.contains("it should begin with a byte-order mark"), "{output}");
    verify(&sandbox, &["--repair", "old"], 0);
    assert_eq!(fs::read_to_string(&report).unwrap(), text);
    sandbox.set("publish.csv_bom", false);
    verify(&sandbox, &["--rebuild", "old"], 0);
    assert_eq!(of(&sandbox), [true, false, true]);
    sandbox.verifies();
    fs::remove_file(sandbox.path("state/ledger.db")).unwrap();
    let ended = sandbox.once();
    assert!(String::from_utf8_lossy(&ended.stderr).contains("it was lost"), "{ended:?}");
}

#[test]
fn a_crash_before_the_first_commit_leaves_a_byte_order_mark_that_is_recognised() {
    let mut sandbox = Sandbox::new();
    sandbox.set("publish.csv_bom", true);
    sandbox.write("archive/p", hexudoku(1));
    sandbox.once();
    let report = "INSERT INTO reports (path, length, bom) VALUES ('loose.csv', 0, 1)";
    for torn in ["\u{feff}submission,att", "\u{feff}"] {
        sandbox.claim("p", "p", 1, hexudoku(1).len());
        sandbox.ledger().execute(report, []).unwrap();
        sandbox.write("reports/loose.csv", torn);
        grade(&mut sandbox);
        assert_eq!(sandbox.rows("loose.csv").len(), 1);
        assert!(!sandbox.has("reports/loose.csv.aside-1"));
        sandbox.ledger().execute_batch("DELETE FROM submissions; DELETE FROM reports;").unwrap();
        fs::remove_file(sandbox.path("reports/submissions.csv")).unwrap();
    }
}

#[test]
fn a_large_file_that_is_gone_between_a_crash_and_the_next_start_is_failed_and_not_forgotten() {
    let mut sandbox = killed_half_way("p");
    fs::remove_file(sandbox.path("archive/p")).unwrap();
    let output = verify(&sandbox, &NOTHING, 1);
    assert_eq!(lines_with(&output, "the next start marks it as failed").len(), 1, "{output}");
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
fn a_lost_ledger_is_not_mistaken_for_a_new_one() {
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
        // The commands report the same.
        for args in [
            &["verify"][..],
            &["verify", "--repair"],
            &["why", "team/1"],
            &["backup", "copy"],
            &["retry", "team/1"],
        ] {
            let output = sandbox.run(args[0], &args[1..]);
            assert_eq!((output.code, output.stderr), (Some(2), stderr.clone()), "{args:?}");
        }
    }
    // Without the reports the service starts with a new ledger, and overwrites nothing.
    fs::rename(sandbox.path("reports"), sandbox.path("old reports")).unwrap();
    sandbox.rename_in("team/1", hexudoku(1));
    grade(&mut sandbox);
    assert_eq!(sandbox.submissions()[0].columns(&["attempt", "archived_as"]), "1|team/1~1~1");
    let output = verify(&sandbox, &NOTHING, 1);
    assert_eq!(lines_with(&output, "move it into the inbox").len(), 2, "{output}");
    // With ledger and reports put back, everything agrees again except for what was taken meanwhile.
    for file in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _ = fs::remove_file(sandbox.path(Path::new("state").join(file)));
    }
    fs::rename(&lost, &ledger).unwrap();
    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    fs::rename(sandbox.path("old reports"), sandbox.path("reports")).unwrap();
    let output = verify(&sandbox, &NOTHING, 1);
    let lines = lines_with(&output, "archive/team/1~1~1");
    assert_eq!(lines.len(), 1, "{output}");
    let to_do =
        "move it into the inbox as team/1, after earlier files of that name have been taken";
    assert!(lines[0].contains(to_do), "{output}");
    assert!(output.ends_with(": 1 disagreement\n"), "{output}");
}
