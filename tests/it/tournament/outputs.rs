//! The files of an event, for staff and for the public.

use super::kit::{Folder, SOLVED, relabelled};
use crate::kit::Sandbox;

#[test]
fn staff_see_who_stands_where_what_is_held_and_what_is_missing() {
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    folder.entrants = "id,name,group,status\n101,=One,open,in\n102,\"Two, T\",u18,in\n\
                       103,Three,open,in\n104,Guest,,unofficial\n105,Five,,dns\n"
        .into();
    folder.rounds[0].1.push_str(&format!(
        "[[puzzle]]\nid = \"p2\"\npoints = 7.5\ngivens = \"p1.sdm\"\n{}",
        "unique = true\n"
    ));
    folder.write(&sandbox);
    sandbox.start();
    for (name, text) in [
        ("r1/p1/101.txt", SOLVED.to_owned()),
        ("r1/p2/101.txt", relabelled()),
        ("r1/p1/102.txt", SOLVED.to_owned()),
        ("r1/p2/102.txt", SOLVED.to_owned()),
        ("r1/p1/104.txt", format!("{SOLVED}\n")),
        ("r1/p1/109.txt", SOLVED.to_owned()),
    ] {
        sandbox.rename_in(name, text);
    }
    sandbox.wait_for(6);
    // All is written once the service has ended.
    sandbox.stop();
    let rows = |path: &str, columns: &[&str]| -> Vec<String> {
        sandbox.rows(path).iter().map(|row| row.columns(columns)).collect()
    };
    let standings = rows(
        "standings.csv",
        &["rank", "group_rank", "entrant", "name", "group", "status", "total", "state", "round:r1"],
    );
    assert_eq!(
        standings,
        [
            "1|1|102|Two, T|u18|in|17.5|running|17.5",
            "2|1|101|'=One|open|in|10|running|10",
            "||104|Guest||unofficial|10|running|10",
            "3|2|103|Three|open|in|0|running|",
            "||105|Five||dns|0|running|",
        ]
    );
    let round = rows("rounds/r1.csv", &["entrant", "total", "puzzle:p1", "puzzle:p2"]);
    assert_eq!(round, ["102|17.5|10|7.5", "101|10|10|0", "104|10|10|", "103|0||", "105|0||"]);
    let entries = rows(
        "rounds/r1-entries.csv",
        &[
            "entrant",
            "puzzle",
            "try",
            "submission",
            "in_time",
            "verdict",
            "fault",
            "counts",
            "points",
            "why",
        ],
    );
    assert_eq!(
        entries,
        [
            "101|p1|1|r1/p1/101.txt|yes|correct||yes|10|it counts, as the last that stands",
            "101|p2|1|r1/p2/101.txt|yes|wrong|given-changed|yes|0|it counts, as the last that stands; it is a wrong try",
            "102|p1|1|r1/p1/102.txt|yes|correct||yes|10|it counts, as the last that stands",
            "102|p2|1|r1/p2/102.txt|yes|correct||yes|7.5|it counts, as the last that stands",
            "104|p1|1|r1/p1/104.txt|yes|correct||yes|10|it counts, as the last that stands",
        ]
    );
    let held = rows("held.csv", &["submission", "attempt", "why", "nearest"]);
    assert_eq!(held, ["r1/p1/109.txt|1|there is no entrant `109`|entrant 101"]);
    let missing = rows("missing.csv", &["round", "puzzle", "entrant", "name", "status"]);
    assert_eq!(
        missing,
        [
            "r1|p1|103|Three|in",
            "r1|p1|105|Five|dns",
            "r1|p2|103|Three|in",
            "r1|p2|104|Guest|unofficial",
            "r1|p2|105|Five|dns",
        ]
    );
    let identical = rows("identical.csv", &["puzzle", "entrant"]);
    assert_eq!(identical, ["p1|101", "p1|102"]);
    assert_eq!(rows("rulings.csv", &["number", "by", "action"]), ["1|gridmark|takeover"]);
    assert_eq!(sandbox.text("public/standings.csv"), sandbox.text("reports/standings.csv"));
    // A start makes them again.
    let before = sandbox.text("reports/rounds/r1-entries.csv");
    std::fs::remove_file(sandbox.path("reports/rounds/r1-entries.csv")).unwrap();
    sandbox.start();
    sandbox.wait_for_text("reports/rounds/r1-entries.csv", &before);
}
