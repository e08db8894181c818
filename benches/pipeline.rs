//! How fast the whole service is: the real one, over a real folder, until it has graded all that is
//! there and ends (`serve --once`). Beside it, in the same run and on the same file system, what
//! reading and writing alone cost.
//!
//! `cargo bench --bench pipeline`. The ratios that it prints last are what is worth comparing:
//! times of different machines, or of one machine at different times, are not.

use criterion::{Criterion, SamplingMode, Throughput};
use gridmark::board::Kind;
use gridmark::config::Settings;
use gridmark::generate::{Generator, Options};
use gridmark::service::{self, Mode};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Bytes of the one large file of each kind.
const LARGE_BYTES: usize = 64 << 20;
/// Small files of one case each, and the folders in which they lie.
const SMALL_FILES: usize = 4_000;
const SMALL_FOLDERS: usize = 40;

/// Some submissions: their names, their texts, and how many cases of them are right.
struct Work {
    name: String,
    files: Vec<(String, Vec<u8>)>,
    cases: u64,
    correct: u64,
    filled: u64,
}

impl Work {
    fn new(name: impl Into<String>) -> Work {
        Work { name: name.into(), files: Vec::new(), cases: 0, correct: 0, filled: 0 }
    }

    /// One file of at least so many bytes.
    fn large(kind: Kind, bytes: usize) -> Work {
        let mut work = Work::new(format!("large-{kind}"));
        let mut generator = generator(kind);
        let mut text = Vec::with_capacity(bytes + (1 << 20));
        while text.len() < bytes {
            work.generate(kind, &mut generator, 100, &mut text);
        }
        work.files.push((format!("{kind}.txt"), text));
        work
    }

    /// Many files of one case each.
    fn small(kind: Kind) -> Work {
        let mut work = Work::new(format!("small-{kind}"));
        let mut generator = generator(kind);
        for number in 0..SMALL_FILES {
            let mut text = Vec::new();
            work.generate(kind, &mut generator, 1, &mut text);
            work.files.push((format!("team-{:02}/p{number}.txt", number % SMALL_FOLDERS), text));
        }
        work
    }

    fn generate(&mut self, kind: Kind, from: &mut Generator, cases: u64, text: &mut Vec<u8>) {
        let mut answers = Vec::new();
        from.append(cases, text, &mut answers);
        self.cases += cases;
        let answers = String::from_utf8(answers).expect("answers are ASCII");
        match kind {
            Kind::Killer => {
                self.correct += answers.lines().filter(|word| *word == "OK").count() as u64
            }
            Kind::Classic => self.correct += answers.matches('Y').count() as u64,
            Kind::Hexudoku => {
                let counts = answers.lines().map(|count| count.parse::<u64>());
                self.filled += counts.map(|count| count.expect("a count")).sum::<u64>();
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.files.iter().map(|(_, text)| text.len() as u64).sum()
    }

    /// Puts the files into a new inbox, durably, so that nothing of it is left to be done later.
    fn drop_into_new_root(&self) -> TempDir {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        for (name, text) in &self.files {
            let path = root.path().join("inbox").join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("a submission");
        }
        rustix::fs::syncfs(File::open(root.path()).expect("the root")).expect("a sync");
        root
    }
}

fn generator(kind: Kind) -> Generator {
    Generator::new(kind, Options { faulty: 0.05, seed: 11, ..Options::default() })
}

/// The service over a new root; how long it took, and how many bytes of reports it wrote.
fn grade(work: &Work) -> (Duration, u64) {
    let root = work.drop_into_new_root();
    let mut settings = Settings::default();
    settings.paths.root = root.path().to_owned();
    // The files have been written this moment, and nobody writes to them any more.
    settings.intake.settle_ms = 0;
    let start = Instant::now();
    let outcome = service::run(&settings, Mode { once: true, on_progress: None });
    let took = start.elapsed();
    let outcome = outcome.expect("the service runs");
    assert_eq!((outcome.submissions, outcome.cases), (work.files.len() as u64, work.cases));
    assert!(outcome.committed && outcome.failed == 0 && outcome.left == 0);
    assert_reports(root.path(), work);
    (took, report_bytes(&root.path().join("reports")))
}

fn assert_reports(root: &Path, work: &Work) {
    let mut reader =
        csv::Reader::from_path(root.join("reports/submissions.csv")).expect("a report");
    let mut sums = BTreeMap::new();
    for row in reader.deserialize::<BTreeMap<String, String>>() {
        let row = row.expect("a row");
        for column in ["cases", "correct", "filled"] {
            *sums.entry(column).or_insert(0) += row[column].parse::<u64>().expect("a number");
        }
    }
    let expected = [("cases", work.cases), ("correct", work.correct), ("filled", work.filled)];
    assert_eq!(sums, expected.into_iter().collect(), "{}", work.name);
}

fn report_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| match entry.metadata().expect("metadata") {
            found if found.is_dir() => report_bytes(&entry.path()),
            found => found.len(),
        })
        .sum()
}

/// What one large file costs at least: reading it once through a buffer of 1 MiB, and writing and
/// syncing so many bytes of reports.
fn floor_of_bytes(work: &Work, report_bytes: u64) -> Duration {
    let root = work.drop_into_new_root();
    let mut buffer = vec![0; 1 << 20];
    let start = Instant::now();
    for (name, _) in &work.files {
        let mut file = File::open(root.path().join("inbox").join(name)).expect("a submission");
        while file.read(&mut buffer).expect("bytes") > 0 {}
    }
    let mut report = File::create(root.path().join("report.csv")).expect("a report");
    let mut left = report_bytes as usize;
    while left > 0 {
        let most = left.min(buffer.len());
        report.write_all(&buffer[..most]).expect("written");
        left -= most;
    }
    report.sync_data().expect("synced");
    start.elapsed()
}

/// What many small files cost at least: open, read, close, rename, one after the other.
fn floor_of_files(work: &Work) -> Duration {
    let root = work.drop_into_new_root();
    let archive = root.path().join("archive");
    for folder in fs::read_dir(root.path().join("inbox")).expect("the inbox") {
        let folder = folder.expect("a folder").file_name();
        fs::create_dir_all(archive.join(folder)).expect("a folder");
    }
    let mut text = Vec::new();
    let start = Instant::now();
    for (name, _) in &work.files {
        let path = root.path().join("inbox").join(name);
        text.clear();
        File::open(&path).and_then(|mut file| file.read_to_end(&mut text)).expect("read");
        fs::rename(&path, archive.join(name)).expect("renamed");
    }
    start.elapsed()
}

/// Shortest times of the service and of the floor, by work: the least disturbed of them.
type Shortest = RefCell<BTreeMap<String, (Duration, Duration)>>;

fn bench(c: &mut Criterion, work: &Work, shortest: &Shortest, floor: impl Fn(u64) -> Duration) {
    let note = |service: Duration, floor: Duration| {
        let mut shortest = shortest.borrow_mut();
        let least = shortest.entry(work.name.clone()).or_insert((Duration::MAX, Duration::MAX));
        *least = (least.0.min(service), least.1.min(floor));
    };
    let mut group = c.benchmark_group(&work.name);
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::ElementsAndBytes { elements: work.cases, bytes: work.bytes() });
    let (_, report_bytes) = grade(work);
    group.bench_function("floor", |b| {
        b.iter_custom(|times| {
            (0..times)
                .map(|_| {
                    let took = floor(report_bytes);
                    note(Duration::MAX, took);
                    took
                })
                .sum()
        })
    });
    group.bench_function("service", |b| {
        b.iter_custom(|times| {
            (0..times)
                .map(|_| {
                    let (took, _) = grade(work);
                    note(took, Duration::MAX);
                    took
                })
                .sum()
        })
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let shortest = Shortest::default();
    for kind in Kind::ALL {
        let work = Work::large(kind, LARGE_BYTES);
        bench(&mut criterion, &work, &shortest, |bytes| floor_of_bytes(&work, bytes));
    }
    let work = Work::small(Kind::Killer);
    bench(&mut criterion, &work, &shortest, |_| floor_of_files(&work));
    criterion.final_summary();
    let mut out = std::io::stdout().lock();
    for (name, (service, floor)) in shortest.into_inner() {
        let ratio = service.as_secs_f64() / floor.as_secs_f64();
        writeln!(out, "{name}: the service takes {ratio:.2} times the floor").expect("stdout");
    }
}
