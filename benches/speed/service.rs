//! The whole program, `serve --once`, over real folders, compared with only reading and writing in
//! the same run and on the same file system.

use crate::Plan;
use crate::page::{Goal, Page};
use crate::program::{Root, Run};
use crate::work::{Answers, Work};
use gridmark_core::Kind;
use gridmark_core::generate::{Generator, Options};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// The share of faulty cases.
const FAULTY: f64 = 0.05;

/// The most time that the service may take for a large file, in multiples of the floor of bytes.
const TIMES_OF_BYTES_MAX: f64 = 1.4;

/// The most time that it may take for small files, in multiples of the floor of files.
const TIMES_OF_FILES_MAX: f64 = 1.0;

/// The most memory that it may take for any size of the input, in MiB.
const MEMORY_MIB_MAX: f64 = 96.0;

/// After how many small files the floor makes durable what it has done.
const FILES_A_SYNC: usize = 512;

/// How often the service and the floor are measured, alternating; the shortest times count.
const ROUNDS: usize = 5;

/// Where a large file is read from.
#[derive(Clone, Copy, PartialEq)]
pub enum From {
    Disk,
    /// The page cache, which holds what was written recently.
    Cache,
}

/// The shortest times of several rounds, and the most memory, in bytes.
pub struct Shortest {
    pub service: Duration,
    pub floor: Duration,
    pub peak_bytes: u64,
}

impl Shortest {
    /// The time of the service in multiples of that of the floor.
    pub fn ratio(&self) -> f64 {
        self.service.as_secs_f64() / self.floor.as_secs_f64()
    }
}

impl Display for Shortest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [service, floor] = [self.service, self.floor].map(|took| took.as_secs_f64() * 1e3);
        let (ratio, peak) = (self.ratio(), self.peak_bytes >> 20);
        write!(f, "{service:.1} ms, floor {floor:.1} ms, ratio {ratio:.2}, {peak} MiB of memory")
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
        let (times, rounds) = (plan.either(8, 1), plan.either(ROUNDS, 1));
        let [disk, cache] =
            [From::Disk, From::Cache].map(|from| large(&block, times, rounds, from));
        peak_bytes = peak_bytes.max(disk.peak_bytes).max(cache.peak_bytes);
        page.note(format!("{name}, from the page cache: {cache}"));
        page.note(format!("{name}, from disk: {disk}"));
        let what = format!("serve --once, {} MiB of {kind} on disk / floor of bytes", times << 6);
        page.add(what, disk.ratio(), "", Goal::AtMost(TIMES_OF_BYTES_MAX));
    }
    if plan.wants("service/small") {
        let (files, folders) = plan.either((50_000, 100), (60, 6));
        let shortest = small(files, folders, plan.either(ROUNDS, 1));
        peak_bytes = peak_bytes.max(shortest.peak_bytes);
        page.note(format!("service/small: {shortest}"));
        let what = format!("serve --once, {files} files in {folders} folders / floor of files");
        page.add(what, shortest.ratio(), "", Goal::AtMost(TIMES_OF_FILES_MAX));
    }
    if peak_bytes > 0 {
        let mib = peak_bytes as f64 / f64::from(1 << 20);
        page.add("memory, the most of all of these", mib, " MiB", Goal::AtMost(MEMORY_MIB_MAX));
    }
}

/// Measures one large file: `block`, `times` times.
pub fn large(block: &Work, times: usize, rounds: usize, from: From) -> Shortest {
    let root = Root::new();
    let name = format!("{}.txt", block.kind);
    root.drop_file(&name, &block.text, times);
    let work = Submissions { count: 1, expected: block.expected.times(times as u64) };
    let path = root.folder("inbox").join(&name);
    let prepare = || match from {
        From::Disk => drop_from_cache(&path),
        From::Cache => read_all(&path),
    };
    shortest(&root, rounds, work, prepare, |report_bytes| {
        floor_of_bytes(&root, &path, report_bytes)
    })
}

/// What is in the inbox.
struct Submissions {
    count: u64,
    expected: Answers,
}

/// Measures many files of one killer diagram each, spread over folders, that were just written: nothing has made
/// them durable yet.
pub fn small(files: usize, folders: usize, rounds: usize) -> Shortest {
    let root = Root::new();
    let options = Options { faulty: FAULTY, seed: 11, ..Options::default() };
    let mut generator = Generator::new(Kind::Killer, options);
    let mut expected = Answers::default();
    let mut texts = BTreeMap::new();
    for number in 0..files {
        let mut work = Work { kind: Kind::Killer, text: Vec::new(), expected: Answers::default() };
        work.generate(&mut generator, 1);
        expected.cases += work.expected.cases;
        expected.correct += work.expected.correct;
        let name = format!("team-{:03}/p{number}.txt", number % folders);
        root.drop_file(&name, &work.text, 1);
        texts.insert(name, work.text);
    }
    let work = Submissions { count: files as u64, expected };
    let inbox = root.folder("inbox");
    let prepare = || {
        texts.iter().for_each(|(name, text)| fs::write(inbox.join(name), text).expect("written"))
    };
    shortest(&root, rounds, work, prepare, |_| floor_of_files(&root, texts.keys()))
}

fn shortest(
    root: &Root,
    rounds: usize,
    work: Submissions,
    prepare: impl Fn(),
    floor: impl Fn(u64) -> Duration,
) -> Shortest {
    root.sync();
    let most = Duration::MAX;
    let mut shortest = Shortest { service: most, floor: most, peak_bytes: 0 };
    for _ in 0..rounds {
        prepare();
        let Run { took, report_bytes, peak_bytes } = root.grade(work.count, work.expected);
        root.restore();
        prepare();
        shortest.service = shortest.service.min(took);
        shortest.floor = shortest.floor.min(floor(report_bytes));
        shortest.peak_bytes = shortest.peak_bytes.max(peak_bytes.unwrap_or(0));
    }
    shortest
}

/// Drops a file from the page cache.
fn drop_from_cache(path: &Path) {
    let file = File::open(path).expect("a submission");
    file.sync_all().expect("synced");
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)
        .expect("dropped from the page cache");
}

fn read_all(path: &Path) {
    let mut file = File::open(path).expect("a submission");
    std::io::copy(&mut file, &mut std::io::sink()).expect("read");
}

/// The least that a large file costs: reading it once through a buffer of 1 MiB, and writing and
/// syncing `report_bytes` bytes.
fn floor_of_bytes(root: &Root, submission: &Path, report_bytes: u64) -> Duration {
    let mut buffer = vec![0; 1 << 20];
    let path = root.folder("report.csv");
    let start = Instant::now();
    let mut file = File::open(submission).expect("a submission");
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

/// The least that many small files cost: open, read, close and rename each, one after the other, and make that
/// durable after every 512.
fn floor_of_files<'a>(root: &Root, names: impl Iterator<Item = &'a String>) -> Duration {
    let (inbox, archive) = (root.folder("inbox"), root.folder("archive"));
    for folder in fs::read_dir(&inbox).expect("the inbox") {
        let folder = folder.expect("a folder").file_name();
        fs::create_dir_all(archive.join(folder)).expect("a folder");
    }
    let mut text = Vec::new();
    let start = Instant::now();
    for (number, name) in names.enumerate() {
        let path = inbox.join(name);
        text.clear();
        File::open(&path).and_then(|mut file| file.read_to_end(&mut text)).expect("read");
        fs::rename(&path, archive.join(name)).expect("renamed");
        if (number + 1) % FILES_A_SYNC == 0 {
            root.sync();
        }
    }
    root.sync();
    let took = start.elapsed();
    root.restore();
    took
}
