//! Rulings: over the socket of a running service and with it stopped, what they change, and what is refused.

use super::kit::{Folder, LINE, SOLVED, judgements, relabelled, wait_for_judgements};
use crate::kit::{Outcome, Sandbox};

/// Runs `gridmark event rule` with these words, of which `_` is a blank, by somebody for a reason.
fn rule(sandbox: &Sandbox, line: &str) -> Outcome {
    let mut args: Vec<String> = line.split(' ').map(|word| word.replace('_', " ")).collect();
    args.extend(["--by", "Ada", "--reason", "it was so"].map(str::to_owned));
    sandbox.run("event rule", &args)
}

#[track_caller]
fn ruled(sandbox: &Sandbox, line: &str, number: i64) {
    let outcome = rule(sandbox, line);
    let expected = (Some(0), format!("ruling {number} is recorded\n"));
    assert_eq!((outcome.code, outcome.stdout.clone()), expected, "{line}: {outcome:?}");
}

#[track_caller]
fn refused(sandbox: &Sandbox, line: &str, why: &str) {
    let outcome = rule(sandbox, line);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{line}: {outcome:?}");
    assert!(outcome.stderr.contains(why), "{line}: {outcome:?}");
}

/// The standings of the round in short: `101 10`.
fn standings(sandbox: &Sandbox) -> Vec<String> {
    let outcome = sandbox.run("event standings", &["--round", "r1"]);
    let lines = outcome.stdout.lines().skip(1);
    let short = lines.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        format!("{} {}", words[2], words[1])
    });
    short.collect()
}

/// Promise P10.
#[test]
fn what_staff_decide_changes_points_at_once_and_can_be_undone() {
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    folder.policies = folder.policies.replace("last", "best");
    folder.write(&sandbox);
    sandbox.start();
    sandbox.rename_in("r1/p1/101.txt", SOLVED);
    sandbox.rename_in("r1/p1/102.txt", relabelled());
    sandbox.rename_in("misnamed.txt", format!("{SOLVED}\n{SOLVED}\n"));
    let before = [
        "misnamed.txt~1: - held: its name fits no pattern of event.toml",
        "r1/p1/101.txt~1: 101 r1/p1 correct",
        "r1/p1/102.txt~1: 102 r1/p1 wrong",
    ];
    wait_for_judgements(&mut sandbox, &before);
    assert_eq!(standings(&sandbox), ["101 10", "102 0", "103 0"]);
    refused(&sandbox, "official --round r1", "round r1 is running");
    let audit = sandbox.run("event audit", &["--"; 0]);
    assert!(audit.stdout.starts_with("1 ruling, 1 of them in force"), "{audit:?}");
    // Half of it with the service running, half of it without.
    let mut number = 1;
    for is_running in [true, false] {
        if !is_running {
            sandbox.stop();
        }
        let mut next = |line: &str, expected: [&str; 3]| {
            number += 1;
            ruled(&sandbox, line, number);
            assert_eq!(standings(&sandbox), expected, "{line}");
            number
        };
        next(
            "points --entrant 103 --round r1 --puzzle p1 --value set_2.5",
            ["101 10", "103 2.5", "102 0"],
        );
        next("points --entrant 103 --round r1 --value add_-1", ["101 10", "103 1.5", "102 0"]);
        let wrong =
            next("verdict --submission r1/p1/101.txt --value wrong", ["103 1.5", "101 0", "102 0"]);
        next(&format!("undo --number {wrong}"), ["101 10", "103 1.5", "102 0"]);
        let void =
            next("void --round r1 --puzzle p1 --value full", ["101 10", "102 10", "103 1.5"]);
        next(&format!("undo --number {void}"), ["101 10", "103 1.5", "102 0"]);
        let late =
            next("late --submission r1/p1/101.txt --value refuse", ["103 1.5", "101 0", "102 0"]);
        next(&format!("undo --number {late}"), ["101 10", "103 1.5", "102 0"]);
        let unclear = "assign --submission misnamed.txt --entrant 102 --round r1 --puzzle p1";
        refused(&sandbox, unclear, "misnamed.txt, attempt 1, holds several grids");
        let assigned = next(
            "assign --submission misnamed.txt --case 2 --entrant 102 --round r1 --puzzle p1",
            ["101 10", "102 10", "103 1.5"],
        );
        assert_eq!(judgements(&sandbox)[0], "misnamed.txt~1: 102 r1/p1 correct");
        let other =
            "assign --submission misnamed.txt --case 1 --entrant 103 --round r1 --puzzle p1";
        refused(
            &sandbox,
            other,
            &format!("is assigned by ruling {assigned}, and can be one entry"),
        );
        next(&format!("undo --number {assigned}"), ["101 10", "103 1.5", "102 0"]);
        assert_eq!(judgements(&sandbox), before);
        let status = next("status --entrant 101 --value dq", ["103 1.5", "102 0", "101 10"]);
        next(&format!("undo --number {status}"), ["101 10", "103 1.5", "102 0"]);
        next("points --entrant 103 --round r1 --value add_1", ["101 10", "103 2.5", "102 0"]);
        next(
            "points --entrant 103 --round r1 --puzzle p1 --value set_0",
            ["101 10", "102 0", "103 0"],
        );
    }
    let audit = sandbox.run("event audit", &["--"; 0]);
    assert!(audit.stdout.starts_with(&format!("{number} rulings, ")), "{audit:?}");
    // The files are those of the last ruling, though the service is stopped.
    let files = sandbox.text("reports/rounds/r1.csv");
    assert_eq!(sandbox.run("event standings", &["--round", "r1", "--csv"]).stdout, files);
    // A row that somebody changes breaks the chain.
    sandbox.ledger().execute("UPDATE rulings SET reason = 'another' WHERE number = 3", []).unwrap();
    let audit = sandbox.run("event audit", &["--"; 0]);
    assert_eq!(audit.code, Some(1));
    assert!(audit.stderr.contains("the chain is broken at ruling 3"), "{audit:?}");
}

#[test]
fn what_means_nothing_or_would_change_an_official_result_is_refused_with_what_to_do() {
    let mut sandbox = Sandbox::new();
    // It is over, and takes entries all the same.
    let over = || {
        let mut folder = Folder::new();
        folder.rounds[0].1 = folder.rounds[0].1.replace("8000h\"", "30m\"\nlate = \"accept\"");
        folder
    };
    over().write(&sandbox);
    sandbox.start();
    sandbox.rename_in("r1/p1/101.txt", SOLVED);
    sandbox.rename_in("r1/p1/110.txt", SOLVED);
    wait_for_judgements(
        &mut sandbox,
        &[
            "r1/p1/101.txt~1: 101 r1/p1 correct",
            "r1/p1/110.txt~1: - held: there is no entrant `110`",
        ],
    );
    for (line, why) in [
        (
            "points --entrant 108 --round r1 --value add_1",
            "there is no entrant `108` (nearest: entrant 101)",
        ),
        ("points --entrant 101 --value add_1", "`points` needs --round"),
        (
            "points --entrant 101 --round r1 --value ten",
            "the value `ten` is not known here; give `add 10`",
        ),
        ("void --entrant 101 --round r1 --puzzle p1 --value zero", "`void` takes no --entrant"),
        (
            "verdict --submission nothing.txt --value correct",
            "there is no graded submission nothing.txt",
        ),
        ("verdict --submission r1/p1/101.txt --attempt 2 --value correct", "attempt 2"),
        (
            "assign --submission r1/p1/110.txt --case 3 --entrant 102 --round r1 --puzzle p1",
            "has no grid 3",
        ),
        ("accept --round r1 --puzzle p1 --value 123", "the value is no grid"),
        ("exclude --round r1 --value now/then", "give FROM/TO"),
        ("undo --number 7", "there is no ruling 7 in force"),
        ("undo --number 1", "put an event folder in force"),
        ("official --round r1", "r1/p1/110.txt, attempt 1, is held"),
    ] {
        refused(&sandbox, line, why);
    }
    assert_eq!(rule(&sandbox, "promote --entrant 101").code, Some(2));
    ruled(&sandbox, "dismiss --submission r1/p1/110.txt", 2);
    ruled(&sandbox, "protest --entrant 101 --round r1", 3);
    refused(
        &sandbox,
        "official --round r1",
        "protest 3 is open: close it with `protest --number 3`",
    );
    ruled(&sandbox, "protest --number 3", 4);
    refused(&sandbox, "protest --number 3", "is closed");
    ruled(&sandbox, "official --round r1", 5);
    refused(&sandbox, "official --round r1", "that is official by ruling 5 already");
    for line in [
        "points --entrant 101 --round r1 --value add_1",
        "verdict --submission r1/p1/101.txt --value wrong",
        "status --entrant 101 --value dq",
        "undo --number 2",
    ] {
        refused(&sandbox, line, "are official by ruling 5: undo that one first");
    }
    // A folder that would change it is refused, too; one that does not is taken over.
    let mut folder = over();
    folder.rounds[0].1 = folder.rounds[0].1.replace("points = 10", "points = 20");
    folder.write(&sandbox);
    let outcome = sandbox.run("reload", &["--"; 0]);
    assert!(outcome.stderr.contains("the results of round r1 are official"), "{outcome:?}");
    folder = over();
    folder.event = folder.event.replace("\"Open\"", "\"Other\"");
    folder.write(&sandbox);
    let outcome = sandbox.run("reload", &["--"; 0]);
    assert!(outcome.stdout.contains("event: Other is in force"), "{outcome:?}");
    // What comes now changes nothing, until somebody decides.
    let before = standings(&sandbox);
    sandbox.rename_in("r1/p1/103.txt", SOLVED);
    sandbox.wait_for(3);
    sandbox.wait_until("it is held", |sandbox| {
        sandbox.service().metrics().of("gridmark_event_held") == 1.0
    });
    assert_eq!(standings(&sandbox), before);
    ruled(&sandbox, "undo --number 5", 7);
    assert!(standings(&sandbox).contains(&"103 10".into()));
    ruled(&sandbox, "points --entrant 101 --round r1 --value add_1", 8);
    let show = sandbox.run("event show", &["101"]).stdout;
    assert!(show.contains("try 1: r1/p1/101.txt, attempt 1: "), "{show}");
    assert!(show.contains("ruling 8: points add 1, by Ada, "), "{show}");
}

#[test]
fn many_rulings_of_a_list_are_recorded_all_or_none() {
    let mut sandbox = Sandbox::new();
    Folder::new().write(&sandbox);
    sandbox.start();
    let list = |text: &str| {
        sandbox.write("list.csv", text);
        let path = sandbox.path("list.csv");
        let args = ["--by", "Ada", "--from", path.to_str().unwrap()];
        sandbox.run("event rule", &args)
    };
    let bad =
        list("action,entrant,round,value,reason\npoints,101,r1,add 1,a\npoints,109,r1,add 1,b\n");
    assert_eq!(bad.code, Some(1), "{bad:?}");
    assert!(bad.stderr.contains("ruling 2 of the list: there is no entrant `109`"), "{bad:?}");
    assert_eq!(standings(&sandbox), ["101 0", "102 0", "103 0"]);
    // As a spreadsheet may have it.
    let good = list(
        "action;entrant;round;value;reason\npoints;101;r1;add 1;a\npoints;102;r1;add 2;\"=b\"\n",
    );
    assert_eq!(good.stdout, "ruling 2 is recorded\nruling 3 is recorded\n", "{good:?}");
    assert_eq!(standings(&sandbox), ["102 2", "101 1", "103 0"]);
    sandbox.stop();
    let rows = sandbox.rows("rulings.csv");
    assert_eq!(
        rows[2].columns(&["number", "by", "entrant", "value", "reason"]),
        "3|Ada|102|add 2|'=b"
    );
}

#[test]
fn a_changed_key_is_previewed_and_applied_and_a_further_key_is_accepted() {
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    folder.write(&sandbox);
    sandbox.start();
    sandbox.rename_in("r1/p1/101.txt", SOLVED);
    sandbox.rename_in("r1/p1/102.txt", relabelled());
    let before = ["r1/p1/101.txt~1: 101 r1/p1 correct", "r1/p1/102.txt~1: 102 r1/p1 wrong"];
    wait_for_judgements(&mut sandbox, &before);
    // The grid of the second one becomes the solution.
    let swapped = |digit| match digit {
        '1' => '2',
        '2' => '1',
        other => other,
    };
    folder.files[0].1 = LINE.chars().map(swapped).collect();
    folder.write(&sandbox);
    let outcome = sandbox.run("reload", &["--"; 0]);
    assert!(outcome.stdout.contains("staged, since it changes 2 judgements"), "{outcome:?}");
    let preview = sandbox.run("event regrade", &["--preview"]).stdout;
    for line in [
        "r1/p1/101.txt, attempt 1: 101 r1/p1 correct -> 101 r1/p1 wrong (given-changed)\n",
        "r1/p1/102.txt, attempt 1: 102 r1/p1 wrong (given-changed) -> 102 r1/p1 correct\n",
        "round r1: 102: 0 points -> 10, rank 2 -> 1\n",
        "event: 101: 10 points -> 0, rank 1 -> 2\n",
        "the staged event folder changes 2 judgements and 4 lines of the standings\n",
    ] {
        assert!(preview.contains(line), "{line} in {preview}");
    }
    assert_eq!(judgements(&sandbox), before);
    let apply =
        ["--round", "r1", "--puzzle", "p1", "--apply", "--by", "Ada", "--reason", "a wrong key"];
    let outcome = sandbox.run("event regrade", &apply);
    assert!(outcome.stdout.ends_with("ruling 2 is recorded\n"), "{outcome:?}");
    let after = ["r1/p1/101.txt~1: 101 r1/p1 wrong", "r1/p1/102.txt~1: 102 r1/p1 correct"];
    assert_eq!(judgements(&sandbox), after);
    assert_eq!(standings(&sandbox), ["102 10", "101 0", "103 0"]);
    // Reports say what was judged first.
    sandbox.stop();
    let rows = sandbox.rows("folders/r1.csv");
    let first = rows.iter().find(|row| row.get("submission") == "r1/p1/101.txt").unwrap();
    assert_eq!(first.get("verdict"), "correct");
    sandbox.start();
    ruled(&sandbox, &format!("accept --round r1 --puzzle p1 --value {SOLVED}"), 3);
    assert_eq!(judgements(&sandbox)[0], "r1/p1/101.txt~1: 101 r1/p1 correct");
    assert_eq!(standings(&sandbox), ["101 10", "102 10", "103 0"]);
    sandbox.rename_in("r1/p1/103.txt", SOLVED);
    wait_for_judgements(
        &mut sandbox,
        &[
            "r1/p1/101.txt~1: 101 r1/p1 correct",
            "r1/p1/102.txt~1: 102 r1/p1 correct",
            "r1/p1/103.txt~1: 103 r1/p1 correct",
        ],
    );
    ruled(&sandbox, "undo --number 3", 4);
    assert_eq!(standings(&sandbox), ["102 10", "101 0", "103 0"]);
    // Nothing is left of it in what is judged, and the folder is still the one in force.
    let outcome = sandbox.run("reload", &["--"; 0]);
    assert!(outcome.stdout.ends_with("event: unchanged\n"), "{outcome:?}");
    let again = sandbox.run("event regrade", &["--preview"]).stdout;
    assert_eq!(again, "judging again changes 0 judgements and 0 lines of the standings\n");
}
