//! The files of an event, for staff and for the public.

use super::kit::{Folder, SOLVED, relabelled};
use crate::kit::Sandbox;
use calamine::{Data, Reader};

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

#[test]
fn a_workbook_has_numbers_times_of_the_zone_and_text_that_stays_text() {
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    folder.event = folder.event.replace("\"UTC\"", "\"Asia/Tokyo\"");
    folder.event.push_str("[publish]\nfreeze_before_end = \"7999h\"\n");
    folder.entrants = "id,name\n007,=SUM(A1)\n008,1/2\n".into();
    folder.write(&sandbox);
    sandbox.start();
    sandbox.rename_in("r1/p1/007.txt", SOLVED);
    sandbox.wait_for(1);
    sandbox.stop();
    let path = sandbox.path("book.xlsx");
    let cells = |args: &[&str], sheet: &str| -> Vec<Vec<Data>> {
        let outcome = sandbox.run("event export", args);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
        let mut book = calamine::open_workbook_auto(&path).unwrap();
        let range = book.worksheet_range(sheet).unwrap();
        range.rows().map(<[Data]>::to_vec).collect()
    };
    let text = |text: &str| Data::String(text.into());
    let xlsx = ["--xlsx", path.to_str().unwrap(), "--all"];
    let rows = cells(&xlsx, "Standings");
    assert_eq!(rows[0][..4], ["rank", "group_rank", "entrant", "name"].map(text));
    assert_eq!(rows[1][..4], [Data::Float(1.0), Data::Empty, text("007"), text("=SUM(A1)")]);
    assert_eq!(rows[1][6..8], [Data::Float(10.0), Data::Float(0.0)]);
    assert_eq!(rows[2][3], text("1/2"));
    let entries = cells(&xlsx, "Entries");
    let row = sandbox.rows("rounds/r1-entries.csv").remove(0);
    let utc: jiff::Timestamp = row.get("handed_in_at").parse().unwrap();
    // Days since 1899-12-30, nine hours ahead of UTC.
    let expected = (utc.as_second() + 9 * 3_600) as f64 / 86_400.0 + 25_569.0;
    let Data::DateTime(shown) = &entries[1][6] else { panic!("{:?}", entries[1][6]) };
    assert!((shown.as_f64() - expected).abs() * 86_400.0 < 1.0, "{shown:?} {expected}");
    assert_eq!(cells(&xlsx, "Rulings")[1][5], text("takeover"));
    // Without --all nothing is in it that the public may not see: the round is frozen since before the entry.
    let rows = cells(&xlsx[..2], "Standings");
    assert_eq!((&rows[1][3], &rows[1][6]), (&text("=SUM(A1)"), &Data::Float(0.0)));
    let book = calamine::open_workbook_auto(&path).unwrap();
    assert_eq!(book.sheet_names(), ["Standings", "r1"]);
}

#[test]
fn hostile_names_and_reasons_are_harmless_in_every_output() {
    let mut sandbox = Sandbox::new();
    let mut folder = Folder::new();
    folder.entrants =
        "id,name\n101,@SUM(1)\n102,<b>x</b>\n103,\u{202e}evil\n104,\"a\tb\"\n105,-1+1\n".into();
    folder.write(&sandbox);
    sandbox.start();
    let names = |sandbox: &Sandbox| {
        sandbox
            .rows("standings.csv")
            .iter()
            .map(|row| row.get("name").to_owned())
            .collect::<Vec<_>>()
    };
    sandbox.rename_in("r1/p1/=cmd|x.txt", SOLVED);
    sandbox.wait_for(1);
    let reason = "=HYPERLINK(\u{202e})\n\u{7}";
    let args = [
        "points",
        "--entrant",
        "103",
        "--round",
        "r1",
        "--value",
        "add 1",
        "--by",
        "@x",
        "--reason",
    ];
    let outcome = sandbox.run("event rule", &[&args[..], &[reason]].concat());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    sandbox.stop();
    let expected =
        [r"\xE2\x80\xAEevil", "'@SUM(1)", "<b>x</b>", r"a\x09b", "'-1+1"].map(str::to_owned);
    assert_eq!(names(&sandbox), expected);
    let ruling = &sandbox.rows("rulings.csv")[1];
    assert_eq!(ruling.get("by"), "'@x");
    assert_eq!(ruling.get("reason"), r"'=HYPERLINK(\xE2\x80\xAE)\x0A\x07");
    let files =
        ["standings.csv", "held.csv", "rulings.csv", "rounds/r1.csv", "rounds/r1-entries.csv"];
    for file in files {
        let text = sandbox.text(format!("reports/{file}"));
        let bad = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(bad), "{file}: {text:?}");
    }
    let show = sandbox.run("event show", &["103"]).stdout;
    assert!(show.contains(r"\xE2\x80\xAEevil") && !show.contains('\u{202e}'), "{show}");
}
