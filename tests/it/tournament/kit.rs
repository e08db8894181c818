//! A small tournament: an event folder that tests change, and what the ledger knows of judgements.

use crate::kit::Sandbox;
use jiff::{SignedDuration, Timestamp};

/// A puzzle with one solution, and the solution.
pub const LINE: &str =
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
pub const SOLVED: &str =
    "534678912672195348198342567859761423426853791713924856961537284287419635345286179";

/// The same with two digits exchanged: a grid that keeps the rules of its houses, of another puzzle.
pub fn relabelled() -> String {
    SOLVED
        .chars()
        .map(|digit| match digit {
            '1' => '2',
            '2' => '1',
            other => other,
        })
        .collect()
}

/// The time so many hours ago, as rounds have it.
pub fn hours_ago(hours: i64) -> String {
    let moment = Timestamp::now() - SignedDuration::from_hours(hours);
    format!("{moment:.0}")
}

/// An event folder.
#[derive(Clone)]
pub struct Folder {
    pub event: String,
    pub policies: String,
    pub entrants: String,
    pub rounds: Vec<(String, String)>,
    pub files: Vec<(String, String)>,
}

impl Folder {
    /// Three entrants, and a round `r1` that started an hour ago and takes nearly a year, with the puzzle `p1`.
    pub fn new() -> Folder {
        let event = r#"
format = 1
id = "open"
name = "Open"
time_zone = "UTC"

[[submissions.pattern]]
path = '^(?<round>[^/]+)/(?<puzzle>[^/]+)/(?<entrant>[^/.]+)\.\w+$'
"#;
        let policies = "[plain]\ncredit = \"all-or-nothing\"\nwhich = \"last\"\nround_to = 0.5\n";
        let round = r#"
start = START
duration = "8000h"
policy = "plain"

[[puzzle]]
id = "p1"
points = 10
givens = "p1.sdm"
unique = true
"#;
        Folder {
            event: event.into(),
            policies: policies.into(),
            entrants: "id,name\n101,One\n102,Two\n103,Three\n".into(),
            rounds: vec![("r1".into(), round.replace("START", &hours_ago(1)))],
            files: vec![("rounds/r1/p1.sdm".into(), format!("{LINE}\n"))],
        }
    }

    /// Writes it into the root.
    pub fn write(&self, sandbox: &Sandbox) {
        sandbox.write("event/event.toml", &self.event);
        sandbox.write("event/policies.toml", &self.policies);
        sandbox.write("event/entrants.csv", &self.entrants);
        for (id, round) in &self.rounds {
            sandbox.write(format!("event/rounds/{id}/round.toml"), round);
        }
        for (path, text) in &self.files {
            sandbox.write(format!("event/{path}"), text);
        }
    }
}

/// The newest judgement of each submission, by name: `101 r1/p1 correct`, `held: why`.
pub fn judgements(sandbox: &Sandbox) -> Vec<String> {
    let ledger = sandbox.ledger();
    let newest =
        "SELECT CAST(name AS TEXT), attempt, entrant, round, puzzle, outcome, held, foreign_puzzle
         FROM judgements JOIN submissions ON id = submission
         WHERE change = (SELECT max(change) FROM judgements AS j WHERE j.submission = id)
         ORDER BY name, attempt";
    let mut query = ledger.prepare(newest).unwrap();
    let rows = query.query_map([], |row| {
        let text = |column| row.get::<_, Option<String>>(column).map(Option::unwrap_or_default);
        let (name, attempt): (String, u32) = (row.get(0)?, row.get(1)?);
        let (entrant, round, puzzle) = (text(2)?, text(3)?, text(4)?);
        let outcome = match (text(5)?.as_str(), row.get::<_, bool>(7)?) {
            ("held", _) => format!("held: {}", text(6)?),
            (_, true) => "foreign".into(),
            (word, false) => word.to_owned(),
        };
        let whose =
            if entrant.is_empty() { "-".into() } else { format!("{entrant} {round}/{puzzle}") };
        Ok(format!("{name}~{attempt}: {whose} {outcome}"))
    });
    rows.unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

/// Waits until the newest judgements are these.
#[track_caller]
pub fn wait_for_judgements(sandbox: &mut Sandbox, expected: &[&str]) {
    let count = expected.len();
    sandbox.wait_until("the judgements", |sandbox| judgements(sandbox).len() >= count);
    assert_eq!(judgements(sandbox), expected);
}
