//! Event folders: what they define, whose entry a name is, and everything that is wrong with them.

use gridmark::event::{Event, Folder, Names, Owner, Problem, Status, Timing, read};
use gridmark::model::submission::Name;
use gridmark_core::Kind;
use gridmark_core::scoring::{InTime, LateRule, Points};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const LINE: &str =
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79\n";
const SOLVED: &str =
    "534678912672195348198342567859761423426853791713924856961537284287419635345286179";

const EVENT: &str = r#"
format = 1
id = "open-2026"
name = "Open 2026"
time_zone = "Europe/Prague"

[[submissions.pattern]]
path = '^(?<round>[^/]+)/(?<puzzle>[^/]+)/(?<entrant>[^/.]+)\.\w+$'
[[submissions.pattern]]
path = '^(?<entrant>[^/]+)/(?<round>r\d+)-(?<puzzle>p\d+)\.\w+$'

[ranking]
break_by = ["points", "last-gain", "best-round"]

[publish]
freeze_before_end = "10m"
protest = "30m"
"#;

const POLICIES: &str = r#"
[gp]
credit = "all-or-nothing"
which = "last"
bonus = { per_full_minute = 10, needs = "all-correct" }

[lmg]
which = "best"
wrong_penalty = 5
round_to = 0.5
late = { grace = "5m", penalty = 2.5, per = "started-minute" }
"#;

const ROUND: &str = r#"
name = "Classics"
start = 2026-11-30T11:00:00
duration = "60m"
timing = "sheet"
policy = "lmg"
late = "grace"

[[puzzle]]
id = "p1"
kind = "classic"
points = 35
givens = "p1.sdm#2"
unique = true

[[puzzle]]
id = "p2"
kind = "killer"
points = 62.5
givens = "p2.killer"
marked = ["row 3", "column 7", "r1c1"]
unique = true
"#;

const ROSTER: &str = "\u{feff}Name;ID;group;status\nEntrant One;007;open;\n\"Entrant; Two\";102;u18;in\n=SUM(A1);B-1;;unofficial\n";

const TIMES: &str = "entrant,start,extra,finished\n102,11:05,15m,\n7,,,11:48:30\n";

/// A killer whose cages are the pairs of cells of each row, with the ninth by itself.
fn killer() -> String {
    let digits = SOLVED.as_bytes();
    let mut text = String::from("3x3::k:");
    let mut cage = 0;
    for row in 0..9 {
        for column in 0..9 {
            let start = column - column % 2;
            let cells = if start == 8 { start..=start } else { start..=start + 1 };
            let sum: u32 = cells.map(|cell| u32::from(digits[row * 9 + cell] - b'0')).sum();
            text += &format!("{}:", sum * 256 + cage);
            cage += u32::from(column == 8 || column % 2 == 1);
        }
    }
    text + "\n"
}

fn folder(change: impl Fn(&str, String) -> String) -> Folder {
    let files = [
        ("event.toml", EVENT.to_owned()),
        ("policies.toml", POLICIES.to_owned()),
        ("entrants.csv", ROSTER.to_owned()),
        ("rounds/r1/round.toml", ROUND.to_owned()),
        ("rounds/r1/times.csv", TIMES.to_owned()),
        ("rounds/r1/p1.sdm", LINE.repeat(2)),
        ("rounds/r1/p2.killer", killer()),
    ];
    Folder::of(files.map(|(name, text)| (name.to_owned(), change(name, text).into_bytes())))
}

fn good() -> Event {
    read(&folder(|_, text| text)).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// The problems of a folder in which `from` is replaced by `to` in a file.
fn problems_with(file: &str, from: &str, to: &str) -> Vec<String> {
    let changed = folder(|name, text| {
        assert!(name != file || text.contains(from), "{file} does not hold {from}");
        if name == file { text.replacen(from, to, 1) } else { text }
    });
    let problems = read(&changed).err().unwrap_or_default();
    problems.iter().map(Problem::to_string).collect()
}

#[test]
fn a_folder_defines_entrants_rounds_puzzles_and_rules() {
    let event = good();
    let entrants: Vec<_> =
        event.entrants.iter().map(|one| (&*one.id, &*one.name, &*one.group, one.status)).collect();
    let expected = [
        ("007", "Entrant One", "open", Status::In),
        ("102", "Entrant; Two", "u18", Status::In),
        ("B-1", "=SUM(A1)", "", Status::Unofficial),
    ];
    assert_eq!(entrants, expected);
    assert_eq!(event.freeze_before_end_ms, Some(600_000));
    let [round] = &event.rounds[..] else { panic!("one round") };
    // Eleven in Prague is ten in UTC.
    assert_eq!(
        round.start_ms,
        "2026-11-30T10:00:00Z".parse::<jiff::Timestamp>().unwrap().as_millisecond()
    );
    assert_eq!((round.timing, round.duration_ms), (Timing::Sheet, 3_600_000));
    let LateRule::Grace(grace) = round.late else { panic!("a time of grace") };
    assert_eq!(grace.penalty_per_started_minute, Points::milli(2_500));
    let [classic, killer] = &round.puzzles[..] else { panic!("two puzzles") };
    assert_eq!((classic.puzzle.kind(), classic.points), (Kind::Classic, Points::whole(35)));
    assert_eq!(classic.source, ("rounds/r1/p1.sdm".to_owned(), 2));
    assert_eq!((killer.puzzle.kind(), killer.points), (Kind::Killer, Points::milli(62_500)));
    assert_eq!(killer.puzzle.cages().len(), 45);
    let marked: Vec<String> = killer.puzzle.marked().iter().map(ToString::to_string).collect();
    assert_eq!(
        (marked.len(), &*marked[0], &*marked[9], &*marked[18]),
        (19, "r3c1", "r1c7", "r1c1")
    );
}

#[test]
fn a_sheet_of_times_moves_starts_and_adds_time() {
    let event = good();
    let round = &event.rounds[0];
    assert_eq!(round.times[&0].finished_ms, Some(round.start_ms + (48 * 60 + 30) * 1000));
    let clock = round.clock(1, &[]);
    assert_eq!((clock.start_ms, clock.duration_ms), (round.start_ms + 300_000, 75 * 60_000));
    assert_eq!(clock.in_time(round.start_ms + 80 * 60_000), InTime::Yes);
    assert_eq!(clock.in_time(round.start_ms + 80 * 60_000 + 1), InTime::Grace);
    assert_eq!(round.clock(2, &[]).start_ms, round.start_ms);
}

#[test]
fn a_name_is_an_entry_whatever_its_case_its_form_and_its_zeros() {
    let names = good().names;
    let owner = |name: &str| names.owner(&Name::from_bytes(name.as_bytes().to_vec()));
    let of = |entrant, puzzle| Ok(Owner { entrant, round: 0, puzzle });
    assert_eq!(owner("r1/p1/007.txt"), of(0, 0));
    assert_eq!(owner("R1/P2/7.TXT"), of(0, 1));
    assert_eq!(owner("r1/p1/０００７.txt"), of(0, 0));
    assert_eq!(owner("b-1/r1-p2.killer"), of(2, 1));
    let why = |name: &str| {
        let why = owner(name).expect_err(name);
        (why.to_string(), names.nearest(&why))
    };
    let nobody =
        |message: &str, nearest: Option<&str>| (message.to_owned(), nearest.map(str::to_owned));
    assert_eq!(why("notes.txt"), nobody("its name fits no pattern of event.toml", None));
    assert_eq!(why("r1/p1/120.txt"), nobody("there is no entrant `120`", Some("entrant 102")));
    assert_eq!(why("r1/p9/102.txt"), nobody("there is no puzzle `p9`", Some("puzzle p1")));
    assert_eq!(why("r2/p1/102.txt"), nobody("there is no round `r2`", Some("round r1")));
    assert!(names.owner(&Name::from_bytes(b"r1/p1/\xff.txt".to_vec())).is_err());
}

#[test]
fn every_owner_has_a_path_from_which_the_patterns_lead_back() {
    let path = |names: &Names, [entrant, round, puzzle]: [&str; 3]| {
        let owner = names.owner_with(entrant, round, puzzle).unwrap();
        let path = names.path_of(owner)?;
        assert_eq!(names.owner(&path), Ok(owner), "{path}");
        Some(path.to_string())
    };
    let first = r"(?<round>[^/]+)/(?<puzzle>[^/]+)/(?<entrant>[^/.]+)\.\w+";
    let names = good().names;
    assert_eq!(path(&names, ["007", "r1", "p1"]).as_deref(), Some("r1/p1/007.txt"));
    // By the second pattern, where the first fits nothing.
    let with = |from: &str, to: &str| {
        read(&folder(|name, text| match name {
            "event.toml" => text.replace(from, to),
            _ => text,
        }))
    };
    let other = with(first, "x(?<round>y)(?<puzzle>y)(?<entrant>y)").unwrap().names;
    assert_eq!(path(&other, ["007", "r1", "p1"]).as_deref(), Some("007/r1-p1.txt"));
    // By a template, which has to lead back; else by none.
    let said = "[submissions]\ntemplate = \"{round}/{puzzle}/{entrant}.scan\"\n\n[ranking]";
    let template = with("[ranking]", said).unwrap().names;
    assert_eq!(path(&template, ["007", "r1", "p1"]).as_deref(), Some("r1/p1/007.scan"));
    let neither = read(&folder(|name, text| match name {
        "event.toml" => text.replace("[^/]+)", "z)").replace("[^/.]+)", "z)"),
        _ => text,
    }));
    let neither = neither.unwrap().names;
    assert_eq!(path(&neither, ["007", "r1", "p1"]), None);
    let why = |names: &Names, id: &str| names.path_for(id, "r1", "p1").unwrap_err();
    assert!(why(&neither, "007").contains("event.toml needs a `template`"));
    assert_eq!(why(&names, "nobody"), "there is no entrant `nobody`");
}

#[test]
fn a_template_that_leads_somewhere_else_is_a_problem_at_its_line() {
    let problem = |template: &str| {
        let said = format!("[submissions]\ntemplate = \"{template}\"\n\n[ranking]");
        problems_with("event.toml", "[ranking]", &said).join("\n")
    };
    let line = EVENT.lines().position(|line| line == "[ranking]").unwrap() + 2;
    for (template, why) in [
        (
            "{entrant}/{puzzle}/{round}.txt",
            "would hand in `007/p1/r1.txt`, from which the patterns do not lead back to them",
        ),
        ("{round}/{puzzle}.txt", "the template does not say the entrant"),
        ("../{round}/{puzzle}/{entrant}.txt", "the template has to be a path below the inbox"),
    ] {
        let problem = problem(template);
        assert!(problem.starts_with(&format!("event.toml:{line}: ")), "{problem}");
        assert!(problem.contains(why), "{problem}");
    }
}

#[test]
fn ids_may_be_case_sensitive() {
    let exact = folder(|name, text| match name {
        "event.toml" => format!("{text}\n[submissions]\ncase = \"exact\"\n"),
        "entrants.csv" => format!("{text}x;b-1;;\n"),
        _ => text,
    });
    let names = read(&exact).expect("it is good").names;
    assert_eq!((names.entrant("B-1"), names.entrant("b-1")), (Some(2), Some(3)));
}

#[test]
fn the_hash_of_a_folder_changes_with_every_byte_and_name() {
    let hash = |change: &dyn Fn(&str, String) -> String| folder(change).hash();
    let plain = hash(&|_, text| text);
    assert_eq!(plain, hash(&|_, text| text));
    assert_ne!(plain, hash(&|name, text| if name == "entrants.csv" { text + "\n" } else { text }));
}

#[test]
fn each_mistake_is_reported_with_its_file_and_line() {
    for (file, from, to, expected) in [
        ("event.toml", "format = 1", "format = 2", "event.toml:2: this is format 2"),
        ("event.toml", "id = \"open-2026\"", "", "event.toml:1: `id` is missing"),
        ("event.toml", "open-2026", "open 2026", "event.toml:3: this is no id"),
        (
            "event.toml",
            "Europe/Prague",
            "Europe/Brno",
            "event.toml:5: `Europe/Brno` is no time zone",
        ),
        (
            "event.toml",
            "(?<round>[^/]+)",
            "([^/]+)",
            "event.toml:8: the pattern has no group `(?<round>...)`",
        ),
        ("event.toml", "[^/.]+)", "[^/.]+", "event.toml:8: this is no regular expression"),
        ("event.toml", "\"best-round\"", "\"luck\"", "event.toml:13: `break_by` has to be a list"),
        (
            "event.toml",
            "freeze_before_end",
            "freeze_befor_end",
            "event.toml:16: `freeze_befor_end` is not known here; did you mean `freeze_before_end`?",
        ),
        (
            "event.toml",
            "\"10m\"",
            "\"ten\"",
            "event.toml:16: `freeze_before_end` is \"ten\"; expected a duration",
        ),
        (
            "policies.toml",
            "\"last\"",
            "\"lucky\"",
            "policies.toml:4: `which` is \"lucky\"; expected one of",
        ),
        (
            "policies.toml",
            "wrong_penalty = 5",
            "wrong_penalty = -5",
            "policies.toml:9: `wrong_penalty` is below zero",
        ),
        (
            "policies.toml",
            "penalty = 2.5",
            "penalty = 2.5005",
            "policies.toml:11: `penalty` is 2.5005; expected points",
        ),
        ("policies.toml", "[gp]", "[gp", "policies.toml:2: "),
        (
            "rounds/r1/round.toml",
            "points = 62.5",
            "points = 62.4",
            "rounds/r1/round.toml:19: nobody could earn 62.4 points",
        ),
        (
            "entrants.csv",
            "group;status",
            "group;statsu",
            "entrants.csv:1: no column is called `status`, but one is called `statsu`",
        ),
        (
            "entrants.csv",
            "007;open;",
            "007;open;in;x",
            "entrants.csv:2: this row has 5 cells, and the header 4",
        ),
        (
            "policies.toml",
            "\"all-or-nothing\"",
            "\"ladder\"",
            "policies.toml:2: `percent` is missing",
        ),
        (
            "rounds/r1/round.toml",
            "2026-11-30T11:00:00",
            "\"noon\"",
            "rounds/r1/round.toml:3: `start` is \"noon\"; expected a date and time",
        ),
        (
            "rounds/r1/round.toml",
            "duration = \"60m\"",
            "",
            "rounds/r1/round.toml:1: `duration` is missing",
        ),
        (
            "rounds/r1/round.toml",
            "policy = \"lmg\"",
            "policy = \"lgm\"",
            "rounds/r1/round.toml:6: there is no policy `lgm` in policies.toml; known are `gp` and `lmg`",
        ),
        (
            "rounds/r1/round.toml",
            "policy = \"lmg\"",
            "policy = \"gp\"",
            "rounds/r1/round.toml:7: the policy of this round has no `late`",
        ),
        (
            "rounds/r1/round.toml",
            "id = \"p2\"",
            "id = \"P1\"",
            "rounds/r1/round.toml:16: there is a puzzle `P1` already",
        ),
        (
            "rounds/r1/round.toml",
            "p1.sdm#2",
            "p1.sdm",
            "rounds/r1/round.toml:13: rounds/r1/p1.sdm holds 2 puzzles; say which",
        ),
        (
            "rounds/r1/round.toml",
            "p1.sdm#2",
            "p1.sdm#3",
            "rounds/r1/round.toml:13: rounds/r1/p1.sdm has no puzzle 3; it holds 2",
        ),
        (
            "rounds/r1/round.toml",
            "p2.killer",
            "p3.killer",
            "rounds/r1/round.toml:20: there is no file rounds/r1/p3.killer",
        ),
        (
            "rounds/r1/round.toml",
            "kind = \"classic\"",
            "kind = \"killer\"",
            "rounds/r1/round.toml:11: the puzzle in rounds/r1/p1.sdm is of kind classic",
        ),
        (
            "rounds/r1/round.toml",
            "\"row 3\"",
            "\"row 10\"",
            "rounds/r1/round.toml:21: expected rows, columns, boxes and cells",
        ),
        (
            "rounds/r1/round.toml",
            "\"r1c1\"]\nunique = true",
            "\"r1c1\"]",
            "rounds/r1/round.toml:16: an entry of marked cells needs a solution",
        ),
        ("rounds/r1/p1.sdm", "53", "5", "rounds/r1/p1.sdm:1: line 1, column 1: expected"),
        ("rounds/r1/times.csv", "102", "103", "rounds/r1/times.csv:2: there is no entrant `103`"),
        ("rounds/r1/times.csv", "15m", "15", "rounds/r1/times.csv:2: `15` is no extra time"),
        (
            "rounds/r1/times.csv",
            "11:48:30",
            "lunch",
            "rounds/r1/times.csv:3: `lunch` is no finished",
        ),
        ("entrants.csv", "102", "1 2", "entrants.csv:3: `1 2` is no id"),
        ("entrants.csv", "B-1", "007", "entrants.csv:4: `007` is in line 2 already"),
        ("entrants.csv", "unofficial", "vip", "entrants.csv:4: `vip` is no status; use one of"),
        ("entrants.csv", "ID", "Nr", "entrants.csv:1: no column is called `id`"),
    ] {
        let problems = problems_with(file, from, to);
        assert!(
            problems.iter().any(|problem| problem.starts_with(expected)),
            "{from} -> {to} in {file}: {problems:#?}"
        );
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let bad = folder(|name, text| match name {
        "event.toml" => text.replace("Europe/Prague", "Moon/Base").replace("\"10m\"", "10"),
        "policies.toml" => text.replace("\"last\"", "\"lucky\""),
        "rounds/r1/round.toml" => {
            text.replace("p1.sdm#2", "p1.sdm#9").replace("\"60m\"", "\"-5m\"")
        }
        "entrants.csv" => text.replace("unofficial", "vip"),
        _ => text,
    });
    let problems = read(&bad).expect_err("it is bad");
    let files: Vec<&str> = problems.iter().map(|problem| &*problem.file).collect();
    let round = "rounds/r1/round.toml";
    let expected = ["entrants.csv", "event.toml", "event.toml", "policies.toml", round, round];
    assert_eq!(files, expected, "{problems:#?}");
}

#[test]
fn an_empty_folder_says_what_is_missing() {
    let problems = read(&Folder::default()).expect_err("it is empty");
    let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
    assert_eq!(
        lines,
        [
            "event.toml: there is no such file; create it",
            "policies.toml: there is no such file; create it",
        ]
    );
}

/// Runs `gridmark event` in a folder: exit code, standard output and standard error.
fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    let output = command.arg("event").args(args).current_dir(folder).env_clear().output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_example_is_good_and_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let (code, output, errors) = run(folder.path(), &["init", "open"]);
    assert_eq!((code, &*errors), (Some(0), ""), "{output}");
    let mode = folder.path().join("open").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o7, 0, "others can read it: {mode:o}");
    let (code, output, errors) = run(folder.path(), &["check", "open"]);
    assert_eq!((code, &*errors), (Some(0), ""), "{output}");
    assert!(output.starts_with("open: good: "), "{output}");
    let (code, _, errors) = run(folder.path(), &["init", "open"]);
    assert_eq!(code, Some(2));
    assert_eq!(errors, "gridmark: open is not empty; name a new folder\n");
}

#[test]
fn what_lets_entrants_find_solutions_by_trying_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["init", "open"]);
    let path = folder.path().join("open/event.toml");
    let event = std::fs::read_to_string(&path).unwrap();
    let instant = event.replace("when = \"official\"", "when = \"at-once\"");
    assert_ne!(instant, event);
    // A round in which an entry is one number, which a verdict alone gives away; then all rounds.
    for (sees, rounds) in [("verdict", &["r2"][..]), ("faults", &["r1", "r2"])] {
        let text = instant.replace("sees = \"verdict\"", &format!("sees = \"{sees}\""));
        std::fs::write(&path, text).unwrap();
        let (code, output, errors) = run(folder.path(), &["check", "open"]);
        assert_eq!((code, &*errors), (Some(0), ""), "{output}");
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines.len(), rounds.len() + 1, "{output}");
        for (line, round) in lines.iter().zip(rounds) {
            assert!(line.starts_with("warning: event.toml: entrants see "), "{line}");
            assert!(
                line.contains(&format!("in round {round} a wrong try costs nothing")),
                "{line}"
            );
        }
    }
}

#[test]
fn a_promise_that_a_puzzle_does_not_keep_is_reported_where_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["init", "open"]);
    let file = folder.path().join("open/rounds/r1/classics.sdm");
    let set = std::fs::read_to_string(&file).unwrap();
    let first = set.lines().next().unwrap();
    // Without a given it has many solutions; with a given twice in a row it is invalid.
    let given = first.find(|digit: char| digit.is_ascii_digit()).unwrap();
    let mut without = first.to_owned();
    without.replace_range(given..given + 1, ".");
    let digit = &first[given..given + 1];
    let mut twice = first.to_owned();
    let open = (0..9).find(|at| &first[*at..at + 1] == ".").unwrap();
    twice.replace_range(open..open + 1, digit);
    for (line, expected) in [(without, "has many solutions"), (twice, "is invalid: ")] {
        std::fs::write(&file, set.replacen(first, &line, 1)).unwrap();
        let (code, output, _) = run(folder.path(), &["check", "open"]);
        assert_eq!(code, Some(1), "{output}");
        let start =
            format!("rounds/r1/round.toml:15: puzzle 1 of rounds/r1/classics.sdm {expected}");
        assert!(output.starts_with(&start), "{output}");
    }
}

#[test]
fn names_are_looked_up_and_cannot_deceive_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["init", "open"]);
    let names = b"./r1/p1/101.txt\r\n\nr1/p1/\x1b[31m.txt\nr1/p1/\xff.txt\n";
    std::fs::write(folder.path().join("names"), names).unwrap();
    let (code, output, errors) = run(folder.path(), &["check", "open", "--names", "names"]);
    assert_eq!((code, &*errors), (Some(1), ""));
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "r1/p1/101.txt: entrant 101, round r1, puzzle p1");
    assert!(lines[1].starts_with(r"r1/p1/\x1B[31m.txt: held: there is no entrant `"), "{output}");
    assert!(lines[2].starts_with(r"r1/p1/\xFF.txt: held: "), "{output}");
    assert!(!output.contains('\x1b'));
    let (code, _, errors) = run(folder.path(), &["check", "open", "--names", "none"]);
    assert_eq!(code, Some(2));
    assert!(errors.starts_with("gridmark: cannot read none: "), "{errors}");
    let (code, _, errors) = run(folder.path(), &["check", "nowhere"]);
    assert_eq!(code, Some(2));
    assert!(errors.starts_with("gridmark: cannot read nowhere: "), "{errors}");
}
