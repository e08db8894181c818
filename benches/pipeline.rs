//! How fast the whole service is: the real one, over a real folder, until it has graded all that is
//! there and ends (`serve --once`). Beside it, in the same run and on the same file system, what
//! reading and writing alone cost.
//!
//! `cargo bench --bench pipeline`. The ratios that it prints last are what is worth comparing:
//! times of different machines, or of one machine at different times, are not. `cargo test
//! --benches` runs all of it once, with little work, and prints no ratios.

use criterion::{Criterion, SamplingMode, Throughput};
use gridmark::board::Kind;
use gridmark::config::Settings;
use gridmark::generate::{Generator, Options};
use gridmark::service::{self, Mode};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How much work there is.
struct Scale {
    /// Bytes of the one large file of each kind, more than are graded at once.
    large_bytes: usize,
    /// Small files of one case each.
    small_files: usize,
    /// The folders in which they lie.
    small_folders: usize,
}

/// What is measured.
const FULL: Scale = Scale { large_bytes: 64 << 20, small_files: 4_000, small_folders: 40 };
/// What is enough to see that the answers are right.
const TINY: Scale = Scale { large_bytes: 5 << 20, small_files: 60, small_folders: 6 };

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
    fn small(kind: Kind, files: usize, folders: usize) -> Work {
        let mut work = Work::new(format!("small-{kind}"));
        let mut generator = generator(kind);
        for number in 0..files {
            let mut text = Vec::new();
            work.generate(kind, &mut generator, 1, &mut text);
            work.files.push((format!("team-{:02}/p{number}.txt", number % folders), text));
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
}

/// The folders over which the service works, with all of a work in the inbox.
struct Root(TempDir);

impl Root {
    /// New folders. All is durable, so that nothing of it is left to be done later.
    fn new(work: &Work) -> Root {
        let root = Root(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder"));
        for (name, text) in &work.files {
            let path = root.folder("inbox").join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            fs::write(path, text).expect("a submission");
        }
        rustix::fs::syncfs(File::open(root.path()).expect("the root")).expect("a sync");
        root
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Makes all as it was: what was taken lies in the inbox, and nothing is known of it.
    fn restore(&self) {
        for folder in ["inbox", "quarantine", "reports", "state"] {
            fs::remove_dir_all(self.folder(folder)).or_else(unless_missing).expect("removed");
        }
        fs::rename(self.folder("archive"), self.folder("inbox")).expect("moved back");
        File::open(self.path()).and_then(|root| root.sync_all()).expect("a sync");
    }
}

fn unless_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

fn generator(kind: Kind) -> Generator {
    Generator::new(kind, Options { faulty: 0.05, seed: 11, ..Options::default() })
}

/// One run of the service; how long it took, and how many bytes of reports it wrote.
fn grade(work: &Work, root: &Root) -> (Duration, u64) {
    let mut settings = Settings::default();
    settings.paths.root = root.path().to_owned();
    // Nobody writes to the files any more.
    settings.intake.settle_ms = 0;
    let start = Instant::now();
    let outcome = service::run(&settings, Mode { once: true, on_progress: None });
    let took = start.elapsed();
    let outcome = outcome.expect("the service runs");
    assert_eq!((outcome.submissions, outcome.cases), (work.files.len() as u64, work.cases));
    assert!(outcome.committed && outcome.failed == 0 && outcome.left == 0);
    assert_reports(root.path(), work);
    let report_bytes = report_bytes(&root.folder("reports"));
    root.restore();
    (took, report_bytes)
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
fn floor_of_bytes(work: &Work, root: &Root, report_bytes: u64) -> Duration {
    let mut buffer = vec![0; 1 << 20];
    let path = root.folder("report.csv");
    let start = Instant::now();
    for (name, _) in &work.files {
        let mut file = File::open(root.folder("inbox").join(name)).expect("a submission");
        while file.read(&mut buffer).expect("bytes") > 0 {}
    }
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
fn floor_of_files(work: &Work, root: &Root) -> Duration {
    let (inbox, archive) = (root.folder("inbox"), root.folder("archive"));
    for folder in fs::read_dir(&inbox).expect("the inbox") {
        let folder = folder.expect("a folder").file_name();
        fs::create_dir_all(archive.join(folder)).expect("a folder");
    }
    let mut text = Vec::new();
    let start = Instant::now();
    for (name, _) in &work.files {
        let path = inbox.join(name);
        text.clear();
        File::open(&path).and_then(|mut file| file.read_to_end(&mut text)).expect("read");
        fs::rename(&path, archive.join(name)).expect("renamed");
    }
    let took = start.elapsed();
    root.restore();
    took
}

/// Shortest times of the service and of the floor, by work: the least disturbed of them.
type Shortest = RefCell<BTreeMap<String, (Duration, Duration)>>;

fn bench(
    c: &mut Criterion,
    work: &Work,
    shortest: &Shortest,
    floor: impl Fn(&Root, u64) -> Duration,
) {
    let note = |service: Duration, floor: Duration| {
        let mut shortest = shortest.borrow_mut();
        let least = shortest.entry(work.name.clone()).or_insert((Duration::MAX, Duration::MAX));
        *least = (least.0.min(service), least.1.min(floor));
    };
    let root = Root::new(work);
    let mut group = c.benchmark_group(&work.name);
    group
        .sampling_mode(SamplingMode::Flat)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_secs(2));
    group.throughput(Throughput::ElementsAndBytes { elements: work.cases, bytes: work.bytes() });
    let (_, report_bytes) = grade(work, &root);
    group.bench_function("floor", |b| {
        let run = |_| {
            let took = floor(&root, report_bytes);
            note(Duration::MAX, took);
            took
        };
        b.iter_custom(|times| (0..times).map(run).sum())
    });
    group.bench_function("service", |b| {
        let run = |_| {
            let (took, _) = grade(work, &root);
            note(took, Duration::MAX);
            took
        };
        b.iter_custom(|times| (0..times).map(run).sum())
    });
    group.finish();
}

/// Whether times are wanted: `cargo bench` says so, unless it is told to test.
fn is_measuring() -> bool {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    has("--bench") && !has("--test")
}

fn main() {
    let Scale { large_bytes, small_files, small_folders } =
        if is_measuring() { FULL } else { TINY };
    let mut criterion = Criterion::default().configure_from_args();
    let shortest = Shortest::default();
    for kind in Kind::ALL {
        let work = Work::large(kind, large_bytes);
        bench(&mut criterion, &work, &shortest, |root, report_bytes| {
            floor_of_bytes(&work, root, report_bytes)
        });
    }
    let work = Work::small(Kind::Killer, small_files, small_folders);
    bench(&mut criterion, &work, &shortest, |root, _| floor_of_files(&work, root));
    criterion.final_summary();
    if is_measuring() {
        tell(shortest.into_inner());
    }
}

fn tell(shortest: BTreeMap<String, (Duration, Duration)>) {
    let mut out = io::stdout().lock();
    // Of what was filtered out there is nothing to tell.
    let measured = |(_, (service, floor)): &(_, (Duration, Duration))| {
        *service < Duration::MAX && *floor < Duration::MAX
    };
    for (name, (service, floor)) in shortest.into_iter().filter(measured) {
        let ratio = service.as_secs_f64() / floor.as_secs_f64();
        writeln!(out, "{name}: the service takes {ratio:.2} times the floor").expect("stdout");
    }
}
