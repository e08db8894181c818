//! How long a start takes on a root that a large event has left: the reports, the ledger, and the emptied folders
//! of the inbox.
//!
//! The ledger is filled directly, since a million submissions would take longer to grade than everything else
//! here. It holds what commits would have written.

use crate::Plan;
use crate::page::{Goal, Page};
use crate::program::{Root, Service};
use gridmark::model::rows::{CASE_HEADER, SUBMISSION_HEADER};
use gridmark::store::ledger::Ledger;
use gridmark_core::Kind;
use gridmark_core::generate::{Generator, Options};
use rusqlite::{Connection, params};
use std::fs;
use std::time::{Duration, Instant};

/// The longest time until files are taken, in seconds.
const SECONDS_MAX: f64 = 2.0;

/// How often it is measured; the shortest time counts.
const ROUNDS: usize = 3;

/// What a root holds.
struct Size {
    submissions: usize,
    /// Reports, and as many emptied folders in the inbox.
    folders: usize,
}

pub fn run(plan: &Plan, page: &mut Page) {
    if !plan.wants("start") {
        return;
    }
    let size = plan.either(
        Size { submissions: 1_000_000, folders: 100_000 },
        Size { submissions: 1_000, folders: 100 },
    );
    let root = Root::new();
    fill(&root, &size);
    root.sync();
    let mut shortest = Duration::MAX;
    let mut marked = Vec::new();
    for round in 0..plan.either(ROUNDS, 1) {
        let start = Instant::now();
        let service = Service::start(&root);
        shortest = shortest.min(start.elapsed());
        marked.push(time_to_mark(&root, &service, round));
        let damaged = service.metric("gridmark_damaged_reports");
        assert_eq!(damaged, 0.0, "reports are not as the ledger says");
    }
    let marked: Vec<_> = marked.iter().map(|took| format!("{:.1}", took.as_secs_f64())).collect();
    page.note(format!("start: a file dropped then is durable after {} s", marked.join(" ")));
    let Size { submissions, folders } = size;
    let what = format!("start with {folders} reports and folders, {submissions} submissions");
    page.add(what, shortest.as_secs_f64(), " s", Goal::AtMost(SECONDS_MAX));
}

/// Drops a file into one of the folders, and returns after which time its mark is durable.
fn time_to_mark(root: &Root, service: &Service, round: usize) -> Duration {
    let mut generator = Generator::new(Kind::Hexudoku, Options::default());
    let (mut text, mut answers) = (Vec::new(), Vec::new());
    generator.append(1, &mut text, &mut answers);
    let answer = String::from_utf8(answers).expect("answers are ASCII");
    let part = root.folder("late.txt");
    fs::write(&part, text).expect("written");
    let start = Instant::now();
    let name = format!("folder-7/late-{round}.txt");
    fs::rename(part, root.folder("inbox").join(&name)).expect("renamed");
    let marks = "gridmark_submissions_total{status=\"graded\"}";
    while service.metric(marks) < 1.0 {
        assert!(start.elapsed() < Duration::from_secs(120), "the file is not marked");
        std::thread::sleep(Duration::from_millis(5));
    }
    let took = start.elapsed();
    let report = fs::read_to_string(root.folder("reports/folders/folder-7.csv")).expect("a report");
    let row = format!("{name},1,1,hexudoku,counted,{},", answer.trim());
    assert!(report.lines().last().is_some_and(|last| last.starts_with(&row)), "{row}");
    took
}

/// Fills a root as commits would: every submission is one correct case.
fn fill(root: &Root, size: &Size) {
    fs::create_dir(root.folder("state")).expect("a folder");
    fs::create_dir_all(root.folder("reports/folders")).expect("a folder");
    let path = root.folder("state/ledger.db");
    drop(Ledger::open(&path).expect("a ledger"));
    let mut ledger = Connection::open(&path).expect("the ledger");
    let transaction = ledger.transaction().expect("a transaction");
    let rules = "INSERT INTO rules VALUES (1, 1, 1048576, 1000, 1, NULL)";
    transaction.execute(rules, []).expect("rules");
    let mut summary = SUBMISSION_HEADER.to_owned();
    let mut add_submission = transaction
        .prepare(
            "INSERT INTO submissions (name, attempt, archived_as, report, handed_in_at, received_at,
                 graded_at, bytes, blake3, state, kind, correct, wrong, unreadable, counted, filled,
                 step, rules, inode, modified_s, modified_ns)
             VALUES (?1, 1, ?1, ?2, 1, 1, 2, 10, zeroblob(32), 'graded', 'classic', 1, 0, 0, 0, 0,
                 ?3, 1, ?3, 1, 1)",
        )
        .expect("a statement");
    let mut add_report = transaction
        .prepare("INSERT INTO reports (path, length) VALUES (?, ?)")
        .expect("a statement");
    let mut write = |report: &str, text: &str| {
        fs::write(root.folder("reports").join(report), text).expect("a report");
        add_report.execute(params![report, text.len() as i64]).expect("a report");
    };
    let each = size.submissions / size.folders;
    for folder in 0..size.folders {
        fs::create_dir(root.folder("inbox").join(format!("folder-{folder}"))).expect("a folder");
        let report = format!("folders/folder-{folder}.csv");
        let mut rows = CASE_HEADER.to_owned();
        for number in 0..each {
            let name = format!("folder-{folder}/p{number}.txt");
            let step = (folder * each + number + 1) as i64;
            add_submission.execute(params![name, report, step]).expect("a submission");
            rows.push_str(&format!("{name},1,1,classic,correct,Y,,,,,0,\n"));
            summary.push_str(&format!("{name},1,,,,10,,classic,1,1,0,0,0,0,graded,{name}\n"));
        }
        write(&report, &rows);
    }
    write("submissions.csv", &summary);
    drop((add_submission, add_report));
    transaction.commit().expect("committed");
}
