//! The whole program, `serve --once`, over real folders. Beside it, in the same run and on the same
//! file system, what reading and writing alone cost.

use crate::Plan;
use crate::page::{Goal, Page};
use crate::program::{Root, Run};
use crate::work::{Answers, Work};
use gridmark::board::Kind;
use gridmark::generate::{Generator, Options};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// The share of cases that are wrong.
const FAULTY: f64 = 0.05;

/// What the service may take, in times of the floor.
const TIMES_OF_FLOOR_MAX: f64 = 2.0;

/// The memory that it may take, whatever the input's size, in MiB.
const MEMORY_MIB_MAX: f64 = 192.0;

/// How often the service and the floor are timed, one after the other; the shortest times count.
const ROUNDS: usize = 5;

/// The shortest times of several rounds, and the most memory.
pub struct Shortest {
    pub service: Duration,
    pub floor: Duration,
    pub peak_bytes: u64,
}

impl Shortest {
    /// The service's time in times of the floor's.
    pub fn ratio(&self) -> f64 {
        self.service.as_secs_f64() / self.floor.as_secs_f64()
    }
}

pub fn run(plan: &Plan, page: &mut Page) {
    let mut peak_bytes = 0;
    for kind in Kind::ALL {
        let name = format!("service/large/{kind}");
        if !plan.wants(&name) {
            continue;
        }
        let block = Work::new(kind, FAULTY, plan.either(64 << 20, 3 << 20));
        let times = plan.either(8, 1);
        let shortest = large(&block, times, plan.either(ROUNDS, 1));
        peak_bytes = peak_bytes.max(shortest.peak_bytes);
        let what = format!("serve --once, {} MiB of {kind} / floor of bytes", times << 6);
        page.add(what, shortest.ratio(), "", Goal::AtMost(TIMES_OF_FLOOR_MAX));
    }
    if plan.wants("service/small") {
        let (files, folders) = plan.either((50_000, 100), (60, 6));
        let shortest = small(files, folders, plan.either(ROUNDS, 1));
        peak_bytes = peak_bytes.max(shortest.peak_bytes);
        let what = format!("serve --once, {files} files in {folders} folders / floor of files");
        page.add(what, shortest.ratio(), "", Goal::AtMost(TIMES_OF_FLOOR_MAX));
    }
    if peak_bytes > 0 {
        let mib = peak_bytes as f64 / f64::from(1 << 20);
        page.add("memory, the most of all of these", mib, " MiB", Goal::AtMost(MEMORY_MIB_MAX));
    }
}

/// One large file: the block so many times.
pub fn large(block: &Work, times: usize, rounds: usize) -> Shortest {
    let root = Root::new();
    let name = format!("{}.txt", block.kind);
    root.drop_file(&name, &block.text, times);
    let expected = block.expected.times(times as u64);
    shortest(&root, rounds, 1, expected, |report_bytes| floor_of_bytes(&root, &name, report_bytes))
}

/// Many files of one killer diagram each, in some folders.
pub fn small(files: usize, folders: usize, rounds: usize) -> Shortest {
    let root = Root::new();
    let options = Options { faulty: FAULTY, seed: 11, ..Options::default() };
    let mut generator = Generator::new(Kind::Killer, options);
    let mut expected = Answers::default();
    let mut names = Vec::with_capacity(files);
    for number in 0..files {
        let mut work = Work { kind: Kind::Killer, text: Vec::new(), expected: Answers::default() };
        work.generate(&mut generator, 1);
        expected.cases += work.expected.cases;
        expected.correct += work.expected.correct;
        names.push(format!("team-{:03}/p{number}.txt", number % folders));
        root.drop_file(&names[number], &work.text, 1);
    }
    names.sort();
    shortest(&root, rounds, files as u64, expected, |_| floor_of_files(&root, &names))
}

fn shortest(
    root: &Root,
    rounds: usize,
    submissions: u64,
    expected: Answers,
    floor: impl Fn(u64) -> Duration,
) -> Shortest {
    root.sync();
    let most = Duration::MAX;
    let mut shortest = Shortest { service: most, floor: most, peak_bytes: 0 };
    for _ in 0..rounds {
        let Run { took, report_bytes, peak_bytes } = root.grade(submissions, expected);
        root.restore();
        shortest.service = shortest.service.min(took);
        shortest.floor = shortest.floor.min(floor(report_bytes));
        shortest.peak_bytes = shortest.peak_bytes.max(peak_bytes.unwrap_or(0));
    }
    shortest
}

/// What a large file costs at least: reading it once through a buffer of 1 MiB, and writing and
/// syncing so many bytes of reports.
fn floor_of_bytes(root: &Root, name: &str, report_bytes: u64) -> Duration {
    let mut buffer = vec![0; 1 << 20];
    let path = root.folder("report.csv");
    let start = Instant::now();
    let mut file = File::open(root.folder("inbox").join(name)).expect("a submission");
    while file.read(&mut buffer).expect("bytes") > 0 {}
    let mut report = File::create_new(&path).expect("a report");
    let mut left = report_bytes as usize;
    while left > 0 {
        let most = left.min(buffer.len());
        report.write_all(&buffer[..most]).expect("written");
        left -= most;
    }
    report.sync_data().expect("synced");
    let took = start.elapsed();
    fs::remove_file(path).expect("removed");
    took
}

/// What many small files cost at least: open, read, close, rename, one after the other.
fn floor_of_files(root: &Root, names: &[String]) -> Duration {
    let (inbox, archive) = (root.folder("inbox"), root.folder("archive"));
    for folder in fs::read_dir(&inbox).expect("the inbox") {
        let folder = folder.expect("a folder").file_name();
        fs::create_dir_all(archive.join(folder)).expect("a folder");
    }
    let mut text = Vec::new();
    let start = Instant::now();
    for name in names {
        let path = inbox.join(name);
        text.clear();
        File::open(&path).and_then(|mut file| file.read_to_end(&mut text)).expect("read");
        fs::rename(&path, archive.join(name)).expect("renamed");
    }
    let took = start.elapsed();
    root.restore();
    took
}
