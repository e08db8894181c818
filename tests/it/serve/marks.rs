//! What stands in the reports.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku, killer};
use crate::kit::reports::Row;

const CASE: [&str; 11] = [
    "submission",
    "attempt",
    "case",
    "kind",
    "verdict",
    "answer",
    "filled",
    "blank",
    "fault",
    "at",
    "faults",
];

/// What stands in the columns of each row up to `faults`.
fn outcome(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| row.columns(&CASE)).collect()
}

#[test]
fn a_case_of_each_kind_gets_its_mark_its_answer_its_fault_and_its_place() {
    let mut sandbox = Sandbox::started();
    sandbox.write("inbox/team/k.txt", killer(1, true) + &killer(2, false));
    sandbox.write("inbox/team/deep/c.txt", classic(3, "YN"));
    sandbox.write("inbox/h.txt", hexudoku(5) + "\n" + &hexudoku(0));
    sandbox.wait_for(3);

    let mut team = sandbox.rows("folders/team.csv");
    team.sort_by_key(|row| row.get("submission").to_owned() + row.get("case"));
    assert_eq!(
        outcome(&team),
        [
            "team/deep/c.txt|1|1|classic|correct|Y|||||0",
            "team/deep/c.txt|1|2|classic|wrong|N|||given-changed|r1c1|4",
            "team/k.txt|1|1|killer|correct|OK|||||0",
            "team/k.txt|1|2|killer|wrong|NotOK|||cage-sum|r3c1|1",
        ]
    );
    assert_eq!(team[3].get("detail"), "cage at r3c1 adds up to 45, not 44");
    let detail = team[1].get("detail");
    assert!(detail.starts_with("r1c1 holds ") && detail.matches("; ").count() == 3, "{detail}");
    let loose = sandbox.rows("loose.csv");
    assert_eq!(
        outcome(&loose),
        ["h.txt|1|1|hexudoku|counted|5|5|0|||0", "h.txt|1|2|hexudoku|counted|0|0|0|||0"]
    );
}

#[test]
fn each_report_has_the_documented_header() {
    let mut sandbox = Sandbox::started();
    sandbox.write("inbox/team/p", hexudoku(1));
    sandbox.write("inbox/p", hexudoku(1));
    sandbox.wait_for(2);
    let header =
        |report: &str| sandbox.text(format!("reports/{report}")).lines().next().map(String::from);
    let case = "submission,attempt,case,kind,verdict,answer,filled,blank,fault,at,faults,detail";
    let submission = "submission,attempt,handed_in_at,received_at,graded_at,bytes,blake3,kind,cases,\
                      correct,wrong,unreadable,counted,filled,status,archived_as";
    assert_eq!(header("folders/team.csv").as_deref(), Some(case));
    assert_eq!(header("loose.csv").as_deref(), Some(case));
    assert_eq!(header("submissions.csv").as_deref(), Some(submission));
    let all = ["submissions.csv", "loose.csv", "folders/team.csv"]
        .map(|report| sandbox.text(format!("reports/{report}")));
    assert!(all.iter().all(|text| text.ends_with('\n') && !text.contains('\r')));
}

/// Promise P2.
#[test]
fn every_submission_has_a_row_with_its_hash_its_counts_and_its_place() {
    let mut sandbox = Sandbox::started();
    let text = classic(7, "YNY") + "2\nnothing\n";
    sandbox.write("inbox/team/c.txt", &text);
    sandbox.write("inbox/h", hexudoku(9).repeat(2));
    let mut rows = sandbox.wait_for(2);
    rows.sort();
    let (h, c) = (&rows[0], &rows[1]);
    let counts = ["cases", "correct", "wrong", "unreadable", "counted", "filled"];
    assert_eq!(c.columns(&["submission", "attempt", "kind"]), "team/c.txt|1|classic");
    assert_eq!(c.columns(&counts[..3]), format!("{}|2|1", 3 + c.number("unreadable")));
    assert!(c.number("unreadable") > 0);
    assert_eq!(c.columns(&["status", "archived_as"]), "graded|team/c.txt");
    assert_eq!(c.number("bytes"), text.len() as u64);
    assert_eq!(c.get("blake3"), blake3::hash(text.as_bytes()).to_hex().as_str());
    assert_eq!(sandbox.text("archive/team/c.txt"), text);
    assert_eq!(h.columns(&["submission", "attempt", "kind"]), "h|1|hexudoku");
    assert_eq!(h.columns(&counts), "2|0|0|0|2|18");
    for row in &rows {
        let times = ["handed_in_at", "received_at", "graded_at"].map(|column| row.get(column));
        let form = |time: &str| {
            time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>()
        };
        assert_eq!(times.map(form), ["0000-00-00T00:00:00.000Z"; 3]);
        assert!(times.is_sorted(), "{times:?}");
        let [.., graded] = times;
        let age = jiff::Timestamp::now().as_second()
            - graded.parse::<jiff::Timestamp>().unwrap().as_second();
        assert!((0..600).contains(&age), "{graded}");
    }
}

#[test]
fn an_unreadable_file_is_one_case_with_its_place() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.open_settle_ms", 100).start();
    sandbox.write("inbox/empty", "");
    sandbox.write("inbox/prose", "\n  Dear jury,\n");
    sandbox.write("inbox/blank", "\r\n\n \n");
    sandbox.wait_for(3);
    let mut rows = sandbox.rows("loose.csv");
    rows.sort_by_key(|row| row.get("submission").to_owned());
    assert_eq!(
        outcome(&rows),
        ["blank", "empty", "prose"]
            .map(|name| format!("{name}|1|1||unreadable||||unknown-format||0"))
    );
    assert!(rows[1].get("detail").contains("empty"), "{:?}", rows[1]);
    assert!(rows[2].get("detail").starts_with("line 2"), "{:?}", rows[2]);
    for row in sandbox.submissions() {
        assert_eq!(row.columns(&["status", "cases", "unreadable", "kind"]), "unreadable|1|1|");
    }
}

#[test]
fn the_extension_forces_the_kind() {
    let mut sandbox = Sandbox::started();
    sandbox.write("inbox/k.killer", hexudoku(3));
    sandbox.write("inbox/h.hexudoku", hexudoku(3));
    let rows = sandbox.wait_for(2);
    let row = |name: &str| rows.iter().find(|row| row.get("submission") == name).unwrap();
    assert_eq!(row("k.killer").columns(&["kind", "status"]), "killer|unreadable");
    assert_eq!(row("h.hexudoku").columns(&["kind", "status", "filled"]), "hexudoku|graded|3");
}

#[test]
fn line_ends_make_no_difference() {
    let mut sandbox = Sandbox::started();
    let text = classic(5, "YN");
    sandbox.write("inbox/lf", &text);
    sandbox.write("inbox/crlf", text.replace('\n', "\r\n"));
    sandbox.write("inbox/cr", text.replace('\n', "\r"));
    sandbox.write("inbox/bom", format!("\u{feff}{text}"));
    sandbox.write("inbox/none", text.trim_end());
    for row in sandbox.wait_for(5) {
        assert_eq!(row.columns(&["kind", "cases", "correct", "wrong"]), "classic|2|1|1", "{row:?}");
    }
}
