//! Where submissions lie once they are taken, and that nothing is ever overwritten.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku};
use crate::kit::needs::second_file_system;
use crate::kit::reports::Row;
use std::fs;
use std::path::Path;

fn archived(row: &Row) -> String {
    row.columns(&["submission", "attempt", "filled", "archived_as"])
}

#[test]
fn files_in_the_archive_are_graded_by_hand_with_the_rows_of_the_reports() {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.missing_cases_max", 1);
    for (attempt, cases) in ["YN", "NYY", "Y"].into_iter().enumerate() {
        let text = classic(attempt, cases);
        // The last one ends inside a block.
        let lines = text.lines().take(if attempt == 2 { 15 } else { 99 });
        sandbox.rename_in(
            "team/=p.classic",
            lines.map(|line| format!("{line}\n")).collect::<String>(),
        );
        assert!(sandbox.once().status.success());
    }
    sandbox.unset("grade.missing_cases_max");
    let report = sandbox.text("reports/folders/team.csv");
    for path in ["archive", "archive/team", "./archive/../archive/team"] {
        let graded = sandbox.run("grade", &[path, "--csv", "-"]);
        let rows = |text: &str| {
            let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
            rows.sort();
            rows
        };
        assert_eq!(graded.code, Some(1), "{graded:?}");
        assert_eq!(rows(&graded.stdout), rows(&report), "{path}");
    }
    // Elsewhere the path is the name.
    sandbox.write("elsewhere/p~2.classic", classic(1, "Y"));
    let graded = sandbox.run("grade", &["elsewhere", "--csv", "-"]);
    assert!(graded.stdout.contains("\nelsewhere/p~2.classic,1,1,classic,correct,Y,"), "{graded:?}");
}

/// Promise P1.
#[test]
fn a_resubmission_is_the_next_attempt_and_both_are_kept() {
    let mut sandbox = Sandbox::started();
    for attempt in 1..=3 {
        sandbox.rename_in("team/p3.txt", hexudoku(attempt));
        sandbox.wait_for(attempt);
    }
    let rows: Vec<String> = sandbox.submissions().iter().map(archived).collect();
    assert_eq!(
        rows,
        [
            "team/p3.txt|1|1|team/p3.txt",
            "team/p3.txt|2|2|team/p3~2.txt",
            "team/p3.txt|3|3|team/p3~3.txt",
        ]
    );
    for (attempt, name) in [(1, "p3.txt"), (2, "p3~2.txt"), (3, "p3~3.txt")] {
        assert_eq!(sandbox.text(Path::new("archive/team").join(name)), hexudoku(attempt));
    }
    let cases: Vec<String> = sandbox
        .rows("folders/team.csv")
        .iter()
        .map(|row| row.columns(&["attempt", "case", "filled"]))
        .collect();
    assert_eq!(cases, ["1|1|1", "2|1|2", "3|1|3"]);
}

#[test]
fn attempts_go_on_counting_after_a_restart() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("p", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.stop();
    sandbox.write("inbox/p", hexudoku(2));
    sandbox.start();
    let rows = sandbox.wait_for(2);
    assert_eq!(archived(&rows[1]), "p|2|2|p~2");
}

/// Promise P1.
#[test]
fn a_file_in_the_archive_is_never_overwritten() {
    let mut sandbox = Sandbox::new();
    sandbox.write("archive/p.txt", "theirs");
    sandbox.write("archive/q~2.txt", "theirs");
    sandbox.write("archive/folder/inner", "theirs");
    sandbox.start();
    sandbox.rename_in("p.txt", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.rename_in("q.txt", hexudoku(2));
    sandbox.wait_for(2);
    sandbox.rename_in("q.txt", hexudoku(3));
    sandbox.wait_for(3);
    sandbox.rename_in("folder", hexudoku(4));
    let rows: Vec<String> = sandbox.wait_for(4).iter().map(archived).collect();
    assert_eq!(
        rows,
        ["p.txt|1|1|p~1~1.txt", "q.txt|1|2|q.txt", "q.txt|2|3|q~2~1.txt", "folder|1|4|folder~1~1",]
    );
    for name in ["p.txt", "q~2.txt", "folder/inner"] {
        assert_eq!(sandbox.text(Path::new("archive").join(name)), "theirs");
    }
}

#[test]
fn a_file_where_the_archive_needs_a_folder_is_avoided() {
    let mut sandbox = Sandbox::started();
    let long = "l".repeat(255);
    for (name, folder) in [("team", "team~"), (&long, &("l".repeat(254) + "~"))] {
        let before = sandbox.submissions().len();
        sandbox.rename_in(name, hexudoku(1));
        sandbox.wait_for(before + 1);
        sandbox.rename_in(Path::new(name).join("deep/p"), hexudoku(2));
        let rows = sandbox.wait_for(before + 2);
        let wanted = format!("{name}/deep/p|1|2|{folder}/deep/p");
        assert_eq!(archived(&rows[before + 1]), wanted);
        assert_eq!(sandbox.text(Path::new("archive").join(name)), hexudoku(1));
        let report = Path::new("archive").join(folder).join("deep/p");
        assert_eq!(sandbox.text(report), hexudoku(2));
    }
}

/// Promise P1.
#[test]
fn no_link_in_the_archive_leads_out_of_it() {
    let mut sandbox = Sandbox::new();
    sandbox.write("elsewhere/kept", "");
    fs::create_dir_all(sandbox.path("archive")).unwrap();
    let link = |name: &str| {
        let to = sandbox.path("elsewhere");
        std::os::unix::fs::symlink(to, sandbox.path("archive").join(name)).unwrap();
    };
    link("team");
    link("p");
    sandbox.start();
    sandbox.rename_in("team/p", hexudoku(1));
    sandbox.rename_in("p", hexudoku(2));
    let mut rows: Vec<String> = sandbox.wait_for(2).iter().map(archived).collect();
    rows.sort();
    assert_eq!(rows, ["p|1|2|p~1~1", "team/p|1|1|team~/p"]);
    assert_eq!(fs::read_dir(sandbox.path("elsewhere")).unwrap().count(), 1);
}

#[test]
fn an_archive_on_another_file_system_works_as_well() {
    let mut sandbox = Sandbox::new();
    let Some(far) = second_file_system(&sandbox.path("")) else { return };
    sandbox.set("paths.archive", far.path().join("archive").display());
    sandbox.start();
    for attempt in 1..=2 {
        for i in 0..20 {
            sandbox.rename_in(format!("team {}/p{i}", i % 3), hexudoku((i + attempt) % 17));
        }
        sandbox.wait_for(20 * attempt);
    }
    for row in sandbox.submissions() {
        let text = fs::read(far.path().join("archive").join(row.get("archived_as"))).unwrap();
        assert_eq!(row.get("blake3"), blake3::hash(&text).to_hex().as_str());
    }
    sandbox.stop();
    let left = sandbox.names("inbox");
    assert!(left.iter().all(|name| sandbox.path("inbox").join(name).is_dir()));
}
