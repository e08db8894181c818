//! Event folders are taken over whole or not at all, and entries are judged by the one that held when they were
//! taken.

use super::kit::{Folder, LINE, SOLVED, judgements, relabelled, wait_for_judgements};
use crate::kit::Sandbox;

/// Promise P9.
#[test]
fn entries_are_judged_against_the_registered_puzzle_and_others_are_held() {
    let mut sandbox = Sandbox::new();
    Folder::new().write(&sandbox);
    sandbox.start();
    for (name, text) in [
        ("r1/p1/101.txt", format!("{SOLVED}\n")),
        ("r1/p1/102.txt", format!("{}\n", relabelled())),
        ("r1/p1/103.classic", classic(&".".repeat(81), &relabelled())),
        ("r1/p1/104.txt", SOLVED.into()),
        ("r1/p1/0101.txt", format!("{SOLVED}\n{SOLVED}\n")),
        ("notes.txt", "hello\n".into()),
        ("r1/p1/0103.txt", "x".repeat(70_000)),
    ] {
        sandbox.rename_in(name, text);
    }
    let expected = [
        "notes.txt~1: - held: its name fits no pattern of event.toml",
        "r1/p1/0101.txt~1: 101 r1/p1 held: it holds 2 grids, and an entry is one",
        "r1/p1/0103.txt~1: 103 r1/p1 held: it has more than 64 KiB",
        "r1/p1/101.txt~1: 101 r1/p1 correct",
        "r1/p1/102.txt~1: 102 r1/p1 wrong",
        "r1/p1/103.classic~1: 103 r1/p1 foreign",
        "r1/p1/104.txt~1: - held: there is no entrant `104`",
    ];
    wait_for_judgements(&mut sandbox, &expected);
    let rows = sandbox.rows("folders/r1.csv");
    let marked = |name: &str| {
        let row = rows.iter().find(|row| row.get("submission") == name).expect(name);
        row.columns(&["kind", "verdict", "fault", "at"])
    };
    assert_eq!(marked("r1/p1/101.txt"), "classic|correct||");
    assert_eq!(marked("r1/p1/102.txt"), "classic|wrong|given-changed|r2c4");
    assert_eq!(marked("r1/p1/103.classic"), "classic|wrong|foreign-puzzle|r1c1");
    // What is nobody's is marked as without an event.
    assert_eq!(marked("r1/p1/104.txt"), "|unreadable|bare-grid|");
    // Reports are rebuilt by the definitions of each submission.
    sandbox.stop();
    let before = sandbox.text("reports/folders/r1.csv");
    std::fs::remove_dir_all(sandbox.path("event")).unwrap();
    std::fs::remove_file(sandbox.path("reports/folders/r1.csv")).unwrap();
    let rebuilt = sandbox.run("verify", &["--repair"]);
    assert_eq!(sandbox.text("reports/folders/r1.csv"), before, "{rebuilt:?}");
    assert_eq!(sandbox.run("verify", &["--"; 0]).code, Some(0));
}

/// A classic block of this puzzle with one solution.
fn classic(givens: &str, solution: &str) -> String {
    let rows = |grid: &str| -> String {
        grid.as_bytes().chunks(9).map(|row| format!("{}\n", String::from_utf8_lossy(row))).collect()
    };
    format!("1\n{}{}", rows(givens), rows(solution))
}

#[test]
fn a_wrong_folder_is_refused_whole_and_grading_goes_on_by_the_last_good_one() {
    let mut sandbox = Sandbox::new();
    let folder = Folder::new();
    folder.write(&sandbox);
    sandbox.start();
    let mut wrong = folder.clone();
    wrong.rounds[0].1 = wrong.rounds[0].1.replace("plain", "plane").replace("p1.sdm", "p2.sdm");
    wrong.write(&sandbox);
    let outcome = sandbox.run("reload", &["--"; 0]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(
        outcome.stderr.contains("rounds/r1/round.toml:4: there is no policy `plane`"),
        "{outcome:?}"
    );
    assert!(outcome.stderr.contains("there is no file rounds/r1/p2.sdm"), "{outcome:?}");
    assert_eq!(outcome.stderr.lines().count(), 3, "a line each: {outcome:?}");
    sandbox.wait_until("not ready", |sandbox| {
        sandbox.service().get("/readyz").contains("event folder")
    });
    sandbox.rename_in("r1/p1/101.txt", SOLVED);
    wait_for_judgements(&mut sandbox, &["r1/p1/101.txt~1: 101 r1/p1 correct"]);
    // A start with it is refused in the same way.
    sandbox.stop();
    sandbox.start_unready();
    sandbox.rename_in("r1/p1/102.txt", SOLVED);
    let both = ["r1/p1/101.txt~1: 101 r1/p1 correct", "r1/p1/102.txt~1: 102 r1/p1 correct"];
    wait_for_judgements(&mut sandbox, &both);
    folder.write(&sandbox);
    let outcome = sandbox.run("reload", &["--"; 0]);
    assert_eq!(
        (outcome.code, outcome.stdout.as_str()),
        (Some(0), "no setting has changed\nevent: unchanged\n")
    );
    sandbox.wait_until("ready", |sandbox| sandbox.service().get("/readyz").contains(" 200 "));
}

#[test]
fn held_submissions_are_matched_again_and_what_changes_judgements_waits() {
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    folder.write(&sandbox);
    sandbox.start();
    sandbox.rename_in("r1/p1/101.txt", SOLVED);
    sandbox.rename_in("r1/p1/110.txt", SOLVED);
    let held = "r1/p1/110.txt~1: - held: there is no entrant `110`";
    wait_for_judgements(&mut sandbox, &["r1/p1/101.txt~1: 101 r1/p1 correct", held]);
    // Somebody who was not on the roster.
    folder.entrants.push_str("110,Ten\n");
    folder.write(&sandbox);
    let outcome = sandbox.run("reload", &["--"; 0]);
    assert_eq!(outcome.stdout, "no setting has changed\nevent: Open is in force\n", "{outcome:?}");
    let expected = ["r1/p1/101.txt~1: 101 r1/p1 correct", "r1/p1/110.txt~1: 110 r1/p1 correct"];
    assert_eq!(judgements(&sandbox), expected);
    // Another puzzle would make both wrong.
    let other: String = LINE
        .chars()
        .map(|c| match c {
            '5' => '3',
            '3' => '5',
            c => c,
        })
        .collect();
    folder.files[0].1 = other;
    folder.write(&sandbox);
    let outcome = sandbox.run("reload", &["--"; 0]);
    assert!(outcome.stdout.contains("event: staged, since it changes 2 judgements"), "{outcome:?}");
    assert_eq!(judgements(&sandbox), expected);
    sandbox.rename_in("r1/p1/102.txt", SOLVED);
    let three = [expected[0], "r1/p1/102.txt~1: 102 r1/p1 correct", expected[1]];
    wait_for_judgements(&mut sandbox, &three);
}

#[test]
fn what_was_handed_in_before_there_was_an_event_is_judged_with_the_first_folder() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("r1/p1/101.txt", SOLVED);
    sandbox.wait_for(1);
    assert_eq!(judgements(&sandbox), [""; 0]);
    Folder::new().write(&sandbox);
    let outcome = sandbox.run("reload", &["--"; 0]);
    assert_eq!(outcome.stdout, "no setting has changed\nevent: Open is in force\n", "{outcome:?}");
    assert_eq!(judgements(&sandbox), ["r1/p1/101.txt~1: 101 r1/p1 correct"]);
}

#[test]
fn why_says_whose_entry_a_file_is_and_what_is_wrong_with_it_there() {
    let mut sandbox = Sandbox::new();
    Folder::new().write(&sandbox);
    sandbox.start();
    sandbox.rename_in("r1/p1/101.txt", relabelled());
    sandbox.rename_in("r1/p1/102.txt", SOLVED);
    sandbox.rename_in("misnamed.txt", SOLVED);
    sandbox.wait_for(3);
    for (name, expected) in [
        ("r1/p1/101.txt", ["given-changed", "the entry of 101 for r1/p1: wrong"]),
        ("r1/p1/102.txt", ["1 correct", "the entry of 102 for r1/p1: correct"]),
        ("misnamed.txt", ["bare-grid", "nobody's entry; held for staff: its name fits no pattern"]),
    ] {
        // Rows are there before the ledger has the marks.
        sandbox.wait_until("it is graded", |sandbox| sandbox.run("why", &[name]).code == Some(0));
        let why = sandbox.run("why", &[name]);
        assert!(expected.iter().all(|words| why.stdout.contains(words)), "{why:?}");
    }
}

#[test]
fn an_entry_for_another_puzzle_of_the_event_says_which() {
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    let swapped = |digit| match digit {
        '1' => '2',
        '2' => '1',
        other => other,
    };
    let other: String = LINE.chars().map(swapped).collect();
    let second = "[[puzzle]]\nid = \"p2\"\npoints = 7\ngivens = \"p2.sdm\"\nunique = true\n";
    folder.rounds[0].1.push_str(second);
    folder.files.push(("rounds/r1/p2.sdm".into(), other.clone()));
    folder.write(&sandbox);
    sandbox.start();
    sandbox.rename_in("r1/p1/101.classic", classic(&other, &relabelled()));
    wait_for_judgements(&mut sandbox, &["r1/p1/101.classic~1: 101 r1/p1 foreign"]);
    sandbox.stop();
    let row = &sandbox.rows("rounds/r1-entries.csv")[0];
    let detail =
        "this is another puzzle: given at r2c4 is 2, the puzzle has 1; it is puzzle p2 of round r1";
    assert_eq!(row.get("detail"), detail);
}
