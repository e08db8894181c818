//! How long it takes to bring standings up to date, and to compute them from scratch.
//!
//! The ledger is filled directly with what commits of a large event would have written. Every entrant has solved as
//! many puzzles as their number says, so that all totals and ranks are known.

use crate::Plan;
use crate::page::{Goal, Page};
use gridmark::event::{Folder, Source};
use gridmark::pipeline::standings::LiveStandings;
use gridmark::store::ledger::{Decision, Ledger};
use gridmark_core::scoring::Points;
use rusqlite::{Connection, params};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The longest times, in milliseconds and seconds.
const COMMIT_MS_MAX: f64 = 5.0;
const SCRATCH_SECONDS_MAX: f64 = 2.0;

/// Rounds, and puzzles of each.
const ROUNDS: usize = 4;
const PUZZLES: usize = 10;

/// Tries of an entrant for each puzzle; five for every second puzzle make two and a half of them.
const TRIES: [usize; 2] = [2, 3];

/// Entries of a commit at most.
const COMMIT_ENTRIES: usize = 512;

const PUZZLE: &str =
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79\n";

pub fn run(plan: &Plan, page: &mut Page) {
    if !plan.wants("standings") {
        return;
    }
    let entrants = plan.either(10_000, 100);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.db");
    let ledger = Arc::new(Ledger::open(&path).expect("a ledger"));
    let source = Source { folder: event(entrants), keys: Vec::new() };
    let decision = Decision { source: Some(source), ..Decision::default() };
    ledger.changes().record(&[decision], 1).expect("in force");
    let entries = fill(&path, entrants);
    let live = LiveStandings::new(Arc::clone(&ledger));
    live.definitions().get(1).expect("the definitions");
    let now_ms = 2_000_000_000_000;
    let read = || {
        let start = Instant::now();
        let table = live.read(|standings| {
            let last = standings.event().rounds.len() - 1;
            let _ = standings.round(last, now_ms);
            standings.overall(now_ms)
        });
        (start.elapsed(), table.expect("the ledger").expect("an event"))
    };
    let (scratch, table) = read();
    for (place, row) in table.rows.iter().enumerate() {
        let solved = ROUNDS * (PUZZLES - place * PUZZLES / entrants);
        assert_eq!(row.total, Points::whole(10 * solved as i64), "place {place}");
    }
    let mut worst = 0.0f64;
    let mut times = Vec::new();
    let mut connection = Connection::open(&path).expect("the ledger");
    for count in plan.either([1, 1, 1, COMMIT_ENTRIES, COMMIT_ENTRIES], [1, 1, 1, 5, 5]) {
        add(&mut connection, entrants, count);
        let start = Instant::now();
        live.read(|_| ()).expect("the ledger").expect("an event");
        let ms = start.elapsed().as_secs_f64() * 1_000.0;
        assert_eq!(read().1, table, "wrong entries change no total");
        times.push(format!("{ms:.1}"));
        worst = worst.max(ms);
    }
    let mib = memory_bytes() as f64 / f64::from(1 << 20);
    page.note(format!(
        "standings: commits of 1 and {COMMIT_ENTRIES} entries take {} ms; {mib:.0} MiB of memory",
        times.join(" ")
    ));
    let what = format!("standings of {entries} entries from scratch");
    page.add(what, scratch.as_secs_f64(), " s", Goal::AtMost(SCRATCH_SECONDS_MAX));
    let what = format!("standings of {entrants} entrants after a commit");
    page.add(what, worst, " ms", Goal::AtMost(COMMIT_MS_MAX));
}

/// An event with so many entrants.
fn event(entrants: usize) -> Folder {
    let mut files = vec![
        (
            "event.toml".to_owned(),
            "format = 1\nid = \"open\"\nname = \"Open\"\ntime_zone = \"UTC\"\n\n[[submissions.pattern]]\n\
             path = '^(?<round>[^/]+)/(?<puzzle>[^/]+)/(?<entrant>[^/.]+)\\.txt$'\n"
                .to_owned(),
        ),
        (
            "policies.toml".to_owned(),
            "[plain]\ncredit = \"all-or-nothing\"\nwhich = \"best\"\n".to_owned(),
        ),
    ];
    let mut roster = "id,name\n".to_owned();
    (0..entrants).for_each(|entrant| roster.push_str(&format!("{entrant},Entrant {entrant}\n")));
    files.push(("entrants.csv".to_owned(), roster));
    for round in 0..ROUNDS {
        let mut text =
            "start = 2026-01-01T00:00:00Z\nduration = \"8000h\"\npolicy = \"plain\"\n".to_owned();
        for puzzle in 0..PUZZLES {
            text.push_str(&format!(
                "[[puzzle]]\nid = \"p{puzzle}\"\npoints = 10\ngivens = \"p.sdm\"\n"
            ));
        }
        files.push((format!("rounds/r{round}/round.toml"), text));
        files.push((format!("rounds/r{round}/p.sdm"), PUZZLE.to_owned()));
    }
    Folder::of(files.into_iter().map(|(path, text)| (path, text.into_bytes())))
}

const SUBMISSION: &str = "INSERT INTO submissions (name, attempt, archived_as, report, handed_in_at,
     received_at, graded_at, bytes, blake3, state, kind, correct, wrong, unreadable, counted, filled, step,
     rules, inode, modified_s, modified_ns)
     VALUES (?1, ?2, ?1 || ?2, 'x', ?3, ?3, ?3, 10, ?4, 'graded', 'classic', 1, 0, 0, 0, 0, ?5, 1, 1, 1, 1)";

const JUDGEMENT: &str =
    "INSERT INTO judgements (change, submission, definitions, entrant, round, puzzle,
     outcome, case_number, cells, blank_cells, side, fault, at, faults, detail)
     VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, 1, 51, 0, 9, ?7, '', ?8, ?9)";

/// Writes the entries of an event; returns how many there are.
fn fill(path: &Path, entrants: usize) -> usize {
    let mut ledger = Connection::open(path).expect("the ledger");
    let transaction = ledger.transaction().expect("a transaction");
    let mut submissions = transaction.prepare(SUBMISSION).expect("a statement");
    let mut judgements = transaction.prepare(JUDGEMENT).expect("a statement");
    let mut count = 0;
    for round in 0..ROUNDS {
        for puzzle in 0..PUZZLES {
            for attempt in 1..=TRIES[puzzle % TRIES.len()] {
                for entrant in 0..entrants {
                    count += 1;
                    // The first ones solve all puzzles, the last ones one of each round.
                    let solved = PUZZLES - entrant * PUZZLES / entrants;
                    let correct = attempt == TRIES[puzzle % TRIES.len()] && puzzle < solved;
                    let name = format!("r{round}/p{puzzle}/{entrant}.txt");
                    let hash = *blake3::hash(&(count as u64).to_le_bytes()).as_bytes();
                    let at_ms = 1_770_000_000_000i64 + count as i64;
                    let values = params![name, attempt as i64, at_ms, hash, count as i64];
                    submissions.execute(values).expect("a submission");
                    let (outcome, fault) =
                        if correct { ("correct", "") } else { ("wrong", "row-repeat") };
                    let detail = if correct { "" } else { "row 1 holds 3 twice" };
                    let values = params![
                        count as i64 + 1,
                        count as i64,
                        entrant.to_string(),
                        format!("r{round}"),
                        format!("p{puzzle}"),
                        outcome,
                        fault,
                        i64::from(!correct),
                        detail
                    ];
                    judgements.execute(values).expect("a judgement");
                }
            }
        }
    }
    drop((submissions, judgements));
    transaction.commit().expect("committed");
    count
}

/// Adds wrong entries of the first entrants, which change no total.
fn add(ledger: &mut Connection, entrants: usize, count: usize) {
    let transaction = ledger.transaction().expect("a transaction");
    let last = "SELECT max(id) FROM submissions";
    let last: i64 = transaction.query_row(last, [], |row| row.get(0)).expect("the last one");
    for i in 1..=count as i64 {
        let (id, entrant) = (last + i, (i as usize * 7) % entrants);
        let hash = *blake3::hash(&id.to_le_bytes()).as_bytes();
        let name = format!("r{}/p0/{entrant}.txt", ROUNDS - 1);
        let values = params![name, id, 1_790_000_000_000i64 + id, hash, id];
        transaction.execute(SUBMISSION, values).expect("a submission");
        let round = format!("r{}", ROUNDS - 1);
        let values = params![
            id + 1,
            id,
            entrant.to_string(),
            round,
            "p0",
            "wrong",
            "row-repeat",
            1,
            "words"
        ];
        transaction.execute(JUDGEMENT, values).expect("a judgement");
    }
    transaction.commit().expect("committed");
}

/// The memory of this process now.
fn memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
