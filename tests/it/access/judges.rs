//! `gridmark judges`.

use super::kit::{access, asking, assert_nowhere, exchanged, rulings, run_with_input};
use crate::kit::Sandbox;
use crate::tournament::Folder;
use gridmark::access::Denied;
use gridmark::store::ledger::Ledger;

const NO_ARGS: [&str; 0] = [];

#[test]
fn judges_are_added_with_the_service_running_and_stopped_and_codes_are_good_once() {
    let mut sandbox = Sandbox::started();
    let ada = sandbox.run("judges add", &["Ada", "--until", "8h", "--by", "Chair"]);
    assert_eq!(ada.code, Some(0), "{ada:?}");
    assert!(ada.stdout.contains("Ada may use this code once, until "), "{ada:?}");
    assert!(ada.stdout.ends_with("ruling 1 is recorded\n"), "{ada:?}");
    let zoe = sandbox.run("judges add", &["Zoë", "--until", "2h", "--reason", "hall 2"]);
    sandbox.stop();
    let bob = sandbox.run("judges add", &["Bob", "--until", "2h"]);
    assert!(bob.stdout.ends_with("ruling 3 is recorded\n"), "{bob:?}");
    let list = |sandbox: &Sandbox| -> Vec<String> {
        let listed = sandbox.run("judges list", &NO_ARGS);
        assert_eq!(listed.code, Some(0), "{listed:?}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let short = |line| {
            let words = words(line);
            [&words[0], &words[2], &words[3]].map(String::as_str).join(" ")
        };
        listed.stdout.lines().skip(1).map(short).collect()
    };
    assert_eq!(list(&sandbox), ["invited 1 Ada", "invited 2 Zoë", "invited 3 Bob"]);
    for (outcome, name) in [(&ada, "Ada"), (&zoe, "Zoë"), (&bob, "Bob")] {
        assert_eq!(exchanged(&sandbox, outcome.first()).unwrap(), name);
        let again = exchanged(&sandbox, outcome.first()).expect_err("it was used");
        assert!(matches!(again, Denied::Wrong(_)), "{again}");
    }
    assert_nowhere(&sandbox, &[ada.first(), &ada.first().replace('-', "")]);
    sandbox.start();
    assert_eq!(list(&sandbox), ["active 1 Ada", "active 2 Zoë", "active 3 Bob"]);
    let revoked = sandbox.run("judges revoke", &["ada", "--by", "Chair", "--reason", "went home"]);
    assert_eq!(revoked.stdout, "ruling 4 is recorded\n", "{revoked:?}");
    assert_eq!(list(&sandbox), ["revoked 1 Ada", "active 2 Zoë", "active 3 Bob"]);
    // Somebody of that name may be added again.
    assert_eq!(sandbox.run("judges add", &["Ada", "--until", "8h"]).code, Some(0));
    sandbox.stop();
    let recorded = rulings(&sandbox);
    assert!(
        recorded[0].starts_with("judge-add|Chair|director|command|Ada until 2"),
        "{recorded:?}"
    );
    assert!(recorded[0].ends_with("|a judge was added"), "{recorded:?}");
    assert!(recorded[1].ends_with("|hall 2") && !recorded[1].contains("||"), "{recorded:?}");
    assert_eq!(recorded[3], "judge-revoke|Chair|director|command|Ada|went home");
    assert_eq!(sandbox.run("event audit", &NO_ARGS).code, Some(0));
    assert_eq!(sandbox.run("verify", &NO_ARGS).code, Some(0));
}

#[test]
fn what_is_not_possible_is_refused_and_says_what_to_do() {
    let mut sandbox = Sandbox::started();
    assert_eq!(sandbox.run("judges add", &["Ada", "--until", "8h"]).code, Some(0));
    let long = "x".repeat(10_000);
    for (command, args, why) in [
        ("judges add", &["ADA ", "--until", "8h"][..], "there is a judge Ada already"),
        ("judges add", &["", "--until", "8h"], "the name of the judge is missing"),
        ("judges add", &[&long, "--until", "8h"], "longer than 60 characters"),
        ("judges add", &["B\u{202e}ob", "--until", "8h"], "characters that nobody sees"),
        ("judges add", &["B\nob", "--until", "8h"], "characters that nobody sees"),
        ("judges add", &["Bob", "--until", "soon"], "`soon` is no time"),
        ("judges add", &["Bob", "--until", "2020-01-01T10:00"], "2020-01-01T10:00:00Z is over"),
        ("judges add", &["Bob", "--until", "8h", "--reason", &long], "the reason is longer than"),
        ("judges revoke", &["Bob"], "there is no judge Bob who might still judge"),
        ("judges revoke", &[&long], "there is no judge xxx"),
    ] {
        let refused = sandbox.run(command, args);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(why), "{why}: {refused:?}");
        assert!(refused.stderr.len() < 500, "{refused:?}");
    }
    sandbox.stop();
    assert_eq!(rulings(&sandbox).len(), 1);
}

#[test]
fn the_passphrase_is_read_from_standard_input_and_stored_nowhere() {
    let mut sandbox = Sandbox::started();
    let set =
        |sandbox: &Sandbox, text: &str| run_with_input(sandbox, &["judges", "passphrase"], text);
    let none = set(&sandbox, "");
    assert!(none.stderr.contains("less than 12 characters"), "{none:?}");
    let long = set(&sandbox, &"x".repeat(5_000));
    assert_eq!(long.code, Some(1), "{long:?}");
    assert!(long.stderr.contains("more than 1024 bytes"), "{long:?}");
    let first = set(&sandbox, "first quiet otter\n");
    assert_eq!((first.code, first.stdout.as_str()), (Some(0), "ruling 1 is recorded\n"));
    sandbox.stop();
    access(&sandbox).director("first quiet otter", &asking()).unwrap();
    let second = set(&sandbox, "second quiet otter");
    assert_eq!(second.stdout, "ruling 2 is recorded\n", "{second:?}");
    let both = access(&sandbox);
    both.director("first quiet otter", &asking()).expect_err("it was replaced");
    both.director("second quiet otter", &asking()).unwrap();
    assert_nowhere(&sandbox, &["quiet otter"]);
    assert!(rulings(&sandbox)[1].starts_with("passphrase|"));
}

#[test]
fn who_may_what_changes_no_result_and_is_no_ruling_of_staff() {
    let mut sandbox = Sandbox::new();
    Folder::new().write(&sandbox);
    sandbox.start();
    let before = sandbox.run("event standings", &["--csv"]).stdout;
    // In the zone of the event, which is UTC here.
    let added = sandbox.run("judges add", &["Ada", "--until", "2199-12-31T18:00"]);
    assert!(added.stdout.contains("until 2199-12-31T18:00:00Z\n"), "{added:?}");
    assert!(added.stdout.ends_with("ruling 2 is recorded\n"), "{added:?}");
    assert_eq!(sandbox.run("event standings", &["--csv"]).stdout, before);
    let signed = ["--by", "x", "--reason", "y"];
    let undo = [&["undo", "--number", "2"][..], &signed].concat();
    let undone = sandbox.run("event rule", &undo);
    assert_eq!(undone.code, Some(1), "{undone:?}");
    assert!(undone.stderr.contains("ruling 2 is about who may what: see `gridmark judges`"));
    let unknown = sandbox.run("event rule", &[&["judge-add"][..], &signed].concat());
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    sandbox.wait_until("the rulings are written", |sandbox| {
        sandbox.rows("rulings.csv").iter().any(|row| row.get("action") == "judge-add")
    });
    sandbox.stop();
    // A backup has it all.
    let copied = sandbox.run("backup", &["backup"]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    let copy = Ledger::open_to_read(&sandbox.path("backup/state/ledger.db")).unwrap().unwrap();
    let judges = copy.access().judges().unwrap();
    assert_eq!(judges.iter().map(|judge| judge.name.as_str()).collect::<Vec<_>>(), ["Ada"]);
}
