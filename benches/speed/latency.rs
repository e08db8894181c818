//! How long a file that is renamed into the inbox takes from ready to durable, by the service's own
//! `gridmark_latency_seconds`.

use crate::Plan;
use crate::page::{Goal, Page};
use crate::program::{Root, Service};
use crate::work::{Answers, Work};
use gridmark::board::Kind;
use gridmark::generate::{Generator, Options};
use std::fs;
use std::time::{Duration, Instant};

/// The share of files, in percent, that have to be durable within 20 ms.
const PERCENT_MIN: f64 = 99.0;

pub fn run(plan: &Plan, page: &mut Page) {
    if plan.wants("latency/idle") {
        let percent = percent_in_20_ms(plan.either(500, 10), Duration::from_millis(12));
        let what = "latency, one file at a time: durable within 20 ms";
        page.add(what, percent, " %", Goal::AtLeast(PERCENT_MIN));
    }
    if plan.wants("latency/loaded") {
        let percent = percent_in_20_ms(plan.either(10_000, 20), Duration::from_millis(2));
        let what = "latency, 500 files a second: durable within 20 ms";
        page.add(what, percent, " %", Goal::AtLeast(PERCENT_MIN));
    }
}

/// Renames so many files into the inbox, one every so often. How many of 100 are durable within 20
/// ms of being ready.
fn percent_in_20_ms(files: u32, every: Duration) -> f64 {
    let root = Root::new();
    let staged = root.folder("staged");
    fs::create_dir(&staged).expect("a folder");
    let mut generator = Generator::new(Kind::Killer, Options { seed: 5, ..Options::default() });
    for number in 0..files {
        let mut work = Work { kind: Kind::Killer, text: Vec::new(), expected: Answers::default() };
        work.generate(&mut generator, 1);
        fs::write(staged.join(format!("{number}.txt")), work.text).expect("written");
    }
    for team in 0..10 {
        fs::create_dir(root.folder(&format!("inbox/team-{team}"))).expect("a folder");
    }
    root.sync();
    let service = Service::start(&root);
    let start = Instant::now();
    for number in 0..files {
        let due = every * number;
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        let name = format!("{number}.txt");
        let to = root.folder(&format!("inbox/team-{}", number % 10)).join(&name);
        fs::rename(staged.join(name), to).expect("renamed");
    }
    let patience = Instant::now() + Duration::from_secs(60);
    let count = || service.metric("gridmark_latency_seconds_count");
    while count() < f64::from(files) {
        assert!(Instant::now() < patience, "{} of {files} files are durable", count());
        std::thread::sleep(Duration::from_millis(20));
    }
    let soon = service.metric("gridmark_latency_seconds_bucket{le=\"0.02\"}");
    100.0 * soon / f64::from(files)
}
