//! A tournament day on which the service is killed again and again: in the end everything is as if it had not been.

use super::kit::{Folder, SOLVED, relabelled};
use crate::kit::Sandbox;
use crate::kit::random::{Random, is_long};
use rustix::process::Signal;
use std::time::Duration;

/// How often the service is killed.
const KILLS: [u64; 2] = [8, 30];

/// What is decided on that day, with `_` for a blank; each is right after any of the others.
const RULINGS: [&str; 5] = [
    "points --entrant 101 --round r1 --value add_5",
    "status --entrant 103 --value unofficial",
    "exclude --round r1 --value 2026-01-01T00:00:00Z/2026-01-01T00:10:00Z",
    "void --round r1 --puzzle p2 --value full",
    "protest --entrant 102 --round r1",
];

/// The event, with another entrant once `is_late`.
fn folder(is_late: bool) -> Folder {
    let mut folder = Folder::new();
    let second = "[[puzzle]]\nid = \"p2\"\npoints = 7\ngivens = \"p1.sdm\"\nunique = true\n";
    folder.rounds[0].1.push_str(second);
    if is_late {
        folder.entrants.push_str("104,Four\n");
    }
    folder
}

/// Promise P10.
#[test]
fn kills_at_random_moments_of_a_tournament_change_nothing() {
    let mut random = Random::new();
    let mut sandbox = Sandbox::new();
    folder(false).write(&sandbox);
    sandbox.set("event.write_every_ms", 1).start();
    let kills = KILLS[usize::from(is_long())];
    let mut handed_in = Vec::new();
    let mut rulings = RULINGS.iter();
    for kill in 0..kills {
        for number in 0..20 {
            let entrant = 101 + random.below(4);
            let puzzle = 1 + random.below(2);
            let name = format!("r1/p{puzzle}/{entrant}.txt");
            let text = random.pick(&[SOLVED.to_owned(), relabelled(), "x".into()]).clone();
            sandbox
                .rename_in(&name, format!("{text}\n{}", "\n".repeat(kill as usize * 20 + number)));
            handed_in.push(name.clone());
            // The next one of that name has to find its place free.
            sandbox.wait_until("it is taken", |sandbox| !sandbox.has(format!("inbox/{name}")));
        }
        if kill % 2 == 0
            && let Some(ruling) = rulings.next()
        {
            let mut args: Vec<String> =
                ruling.split(' ').map(|word| word.replace('_', " ")).collect();
            args.extend(["--by", "Ada", "--reason", "so"].map(str::to_owned));
            let outcome = sandbox.run("event rule", &args);
            assert_eq!(outcome.code, Some(0), "{outcome:?}");
        }
        if kill == kills / 2 {
            folder(true).write(&sandbox);
        }
        std::thread::sleep(Duration::from_millis(random.below(40)));
        sandbox.service().send(Signal::KILL);
        sandbox.wait_for_end();
        sandbox.start();
    }
    let count = handed_in.len();
    sandbox.wait_for(count);
    sandbox.stop();
    // Everything is judged exactly once more than it was handed in, or as often as it was matched again.
    let judged = "SELECT count(DISTINCT submission) FROM judgements";
    let judged: i64 = sandbox.ledger().query_row(judged, [], |row| row.get(0)).unwrap();
    assert_eq!(judged as usize, count);
    let ruled = sandbox.rows("rulings.csv");
    let actions: Vec<&str> = ruled.iter().map(|row| row.get("action")).collect();
    let by_staff = actions.iter().filter(|action| **action != "takeover").count();
    assert_eq!(by_staff, RULINGS.len().min(kills.div_ceil(2) as usize), "{actions:?}");
    assert_eq!(actions.len() - by_staff, 2, "{actions:?}");
    // The files are those that follow from the ledger, and all judgements and rulings are sound.
    let verified = sandbox.run("verify", &["--"; 0]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    for (round, file) in [(None, "standings.csv"), (Some("r1"), "rounds/r1.csv")] {
        let mut args = vec!["--csv"];
        args.extend(round.iter().flat_map(|round| ["--round", round]));
        let scratch = sandbox.run("event standings", &args);
        assert_eq!(scratch.stdout, sandbox.text(format!("reports/{file}")));
    }
    // A file that was in the inbox of a run that took the late entrant over is theirs; none is held.
    assert_eq!(sandbox.rows("held.csv").len(), 0);
}
