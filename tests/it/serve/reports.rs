//! The report files, and what others do to them: nothing of theirs is overwritten.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

const REPORT: &str = "reports/folders/team.csv";

/// A sandbox with two graded files in `team`; a third is to follow.
fn with_two() -> Sandbox {
    let mut sandbox = Sandbox::started();
    for i in 1..=2 {
        sandbox.rename_in(format!("team/{i}"), classic(i, "YN"));
        sandbox.wait_for(i);
    }
    sandbox
}

fn third(sandbox: &mut Sandbox) {
    third_after(sandbox, 2);
}

fn third_after(sandbox: &mut Sandbox, submissions: usize) {
    sandbox.rename_in("team/3", classic(3, "Y"));
    sandbox.wait_for(submissions + 1);
    sandbox.wait_until_rebuilt();
}

fn names(sandbox: &Sandbox) -> Vec<String> {
    let rows = sandbox.rows("folders/team.csv");
    rows.iter().map(|row| row.columns(&["submission", "case"])).collect()
}

const ALL: [&str; 5] = ["team/1|1", "team/1|2", "team/2|1", "team/2|2", "team/3|1"];

#[test]
fn rows_that_were_not_committed_are_cut_off_at_the_start() {
    let mut sandbox = with_two();
    sandbox.stop();
    let reports = [REPORT, "reports/submissions.csv"];
    let before = reports.map(|report| sandbox.text(report));
    let torn = ["", "tea", "team/9,1", "team/9,1,2,classic,wr", "team/9,1,2,cl\0\0\0", "\0\0"];
    for torn in torn {
        sandbox.claim("team/9", "team/9", 1, 1);
        for report in reports {
            let mut file = File::options().append(true).open(sandbox.path(report)).unwrap();
            write!(file, "team/9,1,1,classic,correct,Y,,,,,0,\n{torn}").unwrap();
        }
        sandbox.start();
        assert_eq!(reports.map(|report| sandbox.text(report)), before);
        assert_eq!(sandbox.service().metrics().of("gridmark_report_cuts_total"), 2.0, "{torn:?}");
        sandbox.stop();
    }
    sandbox.start();
    third(&mut sandbox);
    assert_eq!(names(&sandbox), ALL);
}

/// A report is not as we left it, though it has all the bytes that it should have.
#[test]
fn a_report_that_became_longer_while_nothing_ran_is_set_aside_and_rebuilt() {
    let mut sandbox = with_two();
    let edits: [fn(&str) -> String; 6] = [
        |text| text.to_owned() + "my note\n",
        |text| text.to_owned() + "team/1",
        |text| text.to_owned() + "\n",
        |text| text.replace('\n', "\r\n"),
        |text| text.replace("team/1", "team/1111"),
        |text| text.to_owned() + text.lines().last().unwrap_or_default() + "\n",
    ];
    for (edit, n) in edits.into_iter().zip(1..) {
        sandbox.stop();
        for report in [REPORT, "reports/submissions.csv"] {
            let before = sandbox.text(report);
            let edited = edit(&before);
            fs::write(sandbox.path(report), &edited).unwrap();
            sandbox.start();
            sandbox.wait_for_text(report, &before);
            assert_eq!(sandbox.text(format!("{report}.aside-{n}")), edited);
            sandbox.stop();
        }
        sandbox.start();
    }
    third(&mut sandbox);
    assert_eq!(names(&sandbox), ALL);
}

#[test]
fn rows_unknown_to_a_restored_ledger_are_set_aside() {
    let mut sandbox = with_two();
    sandbox.stop();
    let (state, kept) = (sandbox.path("state"), sandbox.path("kept"));
    let reports = [REPORT, "reports/submissions.csv"];
    let before = reports.map(|report| sandbox.text(report));
    copy_folder(&state, &kept);
    sandbox.start();
    third(&mut sandbox);
    sandbox.stop();
    let all = reports.map(|report| sandbox.text(report));
    fs::remove_dir_all(&state).unwrap();
    copy_folder(&kept, &state);
    sandbox.start();
    for (report, before) in reports.iter().zip(&before) {
        sandbox.wait_for_text(report, before);
    }
    assert_eq!(reports.map(|report| sandbox.text(format!("{report}.aside-1"))), all);
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Promise P1.
#[test]
fn a_report_that_is_replaced_while_it_runs_is_restored_and_the_other_one_is_kept() {
    let mut sandbox = with_two();
    // As a spreadsheet saves: another file, renamed to here.
    sandbox.write("reports/folders/new", "edited\n");
    fs::rename(sandbox.path("reports/folders/new"), sandbox.path(REPORT)).unwrap();
    third(&mut sandbox);
    assert_eq!(names(&sandbox), ALL);
    assert_eq!(sandbox.text(format!("{REPORT}.aside-1")), "edited\n");
    assert_eq!(sandbox.service().metrics().of("gridmark_reports_set_aside_total"), 1.0);
    assert_eq!(sandbox.service().metrics().of("gridmark_reports_restored_total"), 1.0);
}

#[test]
fn a_report_that_is_removed_while_it_runs_is_restored() {
    let mut sandbox = with_two();
    fs::remove_dir_all(sandbox.path("reports/folders")).unwrap();
    third(&mut sandbox);
    assert_eq!(names(&sandbox), ALL);
    assert_eq!(sandbox.service().metrics().of("gridmark_reports_restored_total"), 1.0);
}

#[test]
fn a_report_that_is_written_to_in_place_while_it_runs_is_set_aside_and_rebuilt() {
    let mut sandbox = with_two();
    let edits: [fn(&str) -> String; 4] = [
        |text| text.to_owned() + "my note\n",
        |text| text.replace('\n', "\r\n"),
        |text| text.replace("team/1", "TEAM/1"),
        |text| text.lines().next().unwrap_or_default().to_owned(),
    ];
    let mut wanted = ALL[..4].iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (edit, n) in edits.into_iter().zip(3..) {
        let edited = edit(&sandbox.text(REPORT));
        fs::write(sandbox.path(REPORT), &edited).unwrap();
        sandbox.rename_in(format!("team/{n}"), classic(n, "Y"));
        sandbox.wait_for(n);
        sandbox.wait_until_rebuilt();
        wanted.push(format!("team/{n}|1"));
        assert_eq!(names(&sandbox), wanted);
        assert_eq!(sandbox.text(format!("{REPORT}.aside-{}", n - 2)), edited);
    }
    assert_eq!(sandbox.service().metrics().of("gridmark_commit_errors_total"), 0.0);
    assert_eq!(sandbox.service().metrics().of("gridmark_reports_restored_total"), 4.0);
}

#[test]
fn the_report_of_submissions_is_rebuilt_as_it_was() {
    let mut sandbox = with_two();
    let before = sandbox.text("reports/submissions.csv");
    let doubled = before.replace("team", "teamteam");
    fs::write(sandbox.path("reports/submissions.csv"), doubled).unwrap();
    third(&mut sandbox);
    assert!(sandbox.text("reports/submissions.csv").starts_with(&before));
}

#[test]
fn all_reports_are_rebuilt_from_ledger_and_archive() {
    let mut sandbox = with_two();
    sandbox.rename_in("loose", hexudoku(7));
    sandbox.wait_for(3);
    sandbox.stop();
    let reports = ["folders/team.csv", "loose.csv", "submissions.csv"];
    let before = reports.map(|report| sandbox.text(format!("reports/{report}")));
    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    sandbox.start();
    for (report, before) in reports.iter().zip(&before) {
        sandbox.wait_for_text(format!("reports/{report}"), before);
    }
    sandbox.wait_until_rebuilt();
    assert_eq!(sandbox.service().metrics().of("gridmark_reports_restored_total"), 3.0);
    // And they go on from there.
    third_after(&mut sandbox, 3);
    assert_eq!(names(&sandbox), ALL);
    assert_eq!(sandbox.submissions().len(), 4);
}

#[test]
fn a_report_that_was_cut_while_nothing_ran_is_set_aside_and_rebuilt() {
    let mut sandbox = with_two();
    sandbox.stop();
    let short = sandbox.text(REPORT).lines().take(2).collect::<Vec<_>>().join("\n");
    fs::write(sandbox.path(REPORT), &short).unwrap();
    sandbox.start();
    third(&mut sandbox);
    assert_eq!(names(&sandbox), ALL);
    assert!(sandbox.text(REPORT).starts_with("submission,attempt,case,"));
    assert_eq!(sandbox.text(format!("{REPORT}.aside-1")), short);
    assert_eq!(sandbox.submissions().len(), 3);
}

#[test]
fn a_report_that_was_removed_while_nothing_ran_is_rebuilt() {
    let mut sandbox = with_two();
    sandbox.stop();
    fs::remove_file(sandbox.path(REPORT)).unwrap();
    sandbox.start();
    third(&mut sandbox);
    assert_eq!(names(&sandbox), ALL);
    assert_eq!(sandbox.submissions().len(), 3);
    assert_eq!(sandbox.service().metrics().of("gridmark_reports_restored_total"), 1.0);
}

#[test]
fn anything_in_the_place_of_a_report_is_set_aside() {
    let mut sandbox = Sandbox::new();
    sandbox.write("reports/loose.csv", "theirs\n");
    sandbox.write("reports/folders/a.csv/inner", "theirs\n");
    sandbox.write("elsewhere", "theirs\n");
    let link = sandbox.path("reports/folders/b.csv");
    std::os::unix::fs::symlink(sandbox.path("elsewhere"), link).unwrap();
    sandbox.start();
    for name in ["p", "a/p", "b/p"] {
        sandbox.rename_in(name, hexudoku(1));
    }
    sandbox.wait_for(3);
    for (report, theirs) in [
        ("loose.csv", "loose.csv.aside-1"),
        ("folders/a.csv", "folders/a.csv.aside-1/inner"),
        ("folders/b.csv", "folders/b.csv.aside-1"),
    ] {
        assert_eq!(sandbox.rows(report).len(), 1, "{report}");
        assert_eq!(sandbox.text(format!("reports/{theirs}")), "theirs\n");
    }
    assert_eq!(sandbox.text("elsewhere"), "theirs\n");
}

#[test]
fn a_folder_that_takes_the_place_of_a_known_report_stops_nothing() {
    let mut sandbox = with_two();
    sandbox.stop();
    fs::rename(sandbox.path(REPORT), sandbox.path("reports/mine")).unwrap();
    sandbox.write(format!("{REPORT}/inner"), "theirs\n");
    sandbox.start();
    third(&mut sandbox);
    assert_eq!(names(&sandbox), ALL);
    assert_eq!(sandbox.text(format!("{REPORT}.aside-1/inner")), "theirs\n");
}

#[test]
fn a_changed_report_is_repaired_even_if_no_row_is_appended() {
    let mut sandbox = with_two();
    let whole = sandbox.text(REPORT);
    let is_whole = |sandbox: &Sandbox| {
        fs::read_to_string(sandbox.path(REPORT)).is_ok_and(|text| text == whole)
    };
    // As spreadsheets save, each in its way: another file with the old name, or in place.
    sandbox.write("reports/folders/new", whole.replace('\n', "\r\n") + "my note\r\n");
    fs::rename(sandbox.path("reports/folders/new"), sandbox.path(REPORT)).unwrap();
    sandbox.wait_until("it is put right", is_whole);
    fs::write(sandbox.path(REPORT), whole.replace("team", "TEAM") + "and another\n").unwrap();
    sandbox.wait_until("it is put right again", |sandbox| {
        sandbox.has(format!("{REPORT}.aside-2")) && is_whole(sandbox)
    });
    fs::remove_file(sandbox.path(REPORT)).unwrap();
    sandbox.wait_until("it is there again", is_whole);
    assert!(sandbox.text(format!("{REPORT}.aside-1")).ends_with("my note\r\n"));
    assert!(sandbox.text(format!("{REPORT}.aside-2")).ends_with("and another\n"));
    // Nor is a change lost in the moment of the end.
    fs::write(sandbox.path(REPORT), whole.clone() + "at the end\n").unwrap();
    sandbox.stop();
    assert_eq!(sandbox.text(REPORT), whole);
    assert!(sandbox.text(format!("{REPORT}.aside-3")).ends_with("at the end\n"));
    sandbox.start();
    third(&mut sandbox);
    assert_eq!(names(&sandbox), ALL);
}

/// Promise P1.
#[test]
fn reports_that_are_replaced_again_and_again_under_load_hold_every_row_once() {
    let mut sandbox = Sandbox::started();
    let mut saved = Vec::new();
    for i in 0..150 {
        sandbox.rename_in(format!("team/{i}"), classic(i, "YN"));
        if i % 10 == 9 {
            let what = "a report that is not the one of the last time";
            sandbox.wait_until(what, |sandbox| {
                fs::read(sandbox.path(REPORT)).is_ok_and(|text| text.starts_with(b"submission"))
            });
            let edited = format!("edit {i}\n");
            sandbox.write("reports/folders/new", &edited);
            fs::rename(sandbox.path("reports/folders/new"), sandbox.path(REPORT)).unwrap();
            saved.push(edited);
        }
    }
    sandbox.wait_for(150);
    sandbox.wait_until_rebuilt();
    sandbox.stop();
    let mut rows = names(&sandbox);
    rows.sort();
    let mut wanted: Vec<String> =
        (0..150).flat_map(|i| [1, 2].map(|case| format!("team/{i}|{case}"))).collect();
    wanted.sort();
    assert_eq!(rows, wanted);
    for (edited, n) in saved.into_iter().zip(1..) {
        assert_eq!(sandbox.text(format!("{REPORT}.aside-{n}")), edited);
    }
}

#[test]
fn changes_of_a_report_that_is_not_kept_open_are_noticed() {
    let mut sandbox = Sandbox::new();
    // So few descriptors that not all of the reports are kept open.
    sandbox.set("grade.threads_max", 2).bound_descriptors(80).start();
    for round in 1..=2 {
        for i in 0..40 {
            sandbox.write(format!("outside/{round}/{i}/{round}"), classic(i, "YN"));
        }
        for i in 0..40 {
            let file = sandbox.path(format!("outside/{round}/{i}/{round}"));
            fs::create_dir_all(sandbox.path(format!("inbox/{i}"))).unwrap();
            fs::rename(file, sandbox.path(format!("inbox/{i}/{round}"))).unwrap();
        }
        sandbox.wait_for(round * 40);
        sandbox.wait_until_rebuilt();
        for i in 0..40 {
            let report = sandbox.path(format!("reports/folders/{i}.csv"));
            let mut edited = fs::read_to_string(&report).unwrap();
            edited.push_str("note\n");
            if round == 1 {
                fs::write(&report, edited).unwrap();
            }
        }
    }
    for i in 0..40 {
        assert_eq!(sandbox.rows(format!("folders/{i}.csv")).len(), 4, "{i}");
        let aside = sandbox.text(format!("reports/folders/{i}.csv.aside-1"));
        assert!(aside.ends_with("note\n"), "{i}: {aside}");
    }
}
