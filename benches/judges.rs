//! How fast the judges are, beside the speed at which the same bytes are added up as `u64`. Each run
//! asserts the right answers.
//!
//! `cargo bench --bench judges`, or with a word such as `killer` for a part of it. The ratios that
//! it prints last are what is worth comparing: times of different machines, or of one machine at
//! different times, are not.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use gridmark::board::{Grid, Kind, Mark};
use gridmark::format::{Found, Limits, Reader, classic};
use gridmark::generate::{Generator, Options};
use gridmark::judge::{Judge, Tier, kernel};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

/// Bytes of text that one run goes through: more than caches hold, as it is with large files.
const TEXT_BYTES: usize = 128 << 20;

/// What is enough to see that the answers are right.
const TEXT_BYTES_TO_TEST: usize = 2 << 20;

/// Bytes that a reader is shown at a time.
const WINDOW_BYTES: usize = 1 << 20;

/// Cases that are marked at a time, as the service does it.
const CASES_A_TASK: usize = 512;

/// The share of cases that are wrong where nothing else is said.
const FAULTY: f64 = 0.05;

/// What the best tier has to reach: the bench, and its speed as a part of that of adding up.
const GOALS: [(&str, f64); 3] =
    [("classic/memory", 0.7), ("hexudoku/text", 0.12), ("killer/text", 0.06)];

/// The text of some cases, and how many of them get which mark.
struct Work {
    kind: Kind,
    text: Vec<u8>,
    expected: Answers,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Answers {
    cases: usize,
    correct: usize,
    filled: usize,
}

impl Work {
    fn new(kind: Kind, faulty: f64) -> Work {
        let mut generator = Generator::new(kind, Options { faulty, seed: 3, ..Options::default() });
        let bytes = if is_measuring() { TEXT_BYTES } else { TEXT_BYTES_TO_TEST };
        let (mut text, mut answers) = (Vec::with_capacity(bytes + (1 << 20)), Vec::new());
        let mut cases = 0;
        while text.len() < bytes {
            generator.append(100, &mut text, &mut answers);
            cases += 100;
        }
        let answers = String::from_utf8(answers).expect("answers are ASCII");
        let (correct, filled) = match kind {
            Kind::Killer => (answers.lines().filter(|answer| *answer == "OK").count(), 0),
            Kind::Classic => (answers.matches('Y').count(), 0),
            Kind::Hexudoku => {
                let filled = answers.lines().map(|answer| answer.parse::<usize>());
                (0, filled.map(|filled| filled.expect("a count")).sum())
            }
        };
        Work { kind, text, expected: Answers { cases, correct, filled } }
    }

    fn with_crlf(mut self) -> Work {
        let lines = self.text.split_inclusive(|byte| *byte == b'\n');
        self.text = lines.flat_map(|line| [&line[..line.len() - 1], b"\r\n"].concat()).collect();
        self
    }

    /// Reads the whole text, and marks its cases if there is a judge.
    fn grade(&self, judge: Option<Judge>, found: &mut Found, marks: &mut Vec<Mark>) -> Answers {
        let mut reader = Reader::new(Some(self.kind), Limits::default());
        let mut answers = Answers::default();
        let mut start = 0;
        while start < self.text.len() {
            let end = self.text.len().min(start + WINDOW_BYTES);
            let window = &self.text[start..end];
            found.clear();
            start += reader.read(window, end == self.text.len(), found);
            answers.cases += found.cases.len();
            let Some(judge) = judge else { continue };
            for cases in found.cases.chunks(CASES_A_TASK) {
                marks.clear();
                judge.mark(window, cases, &found.puzzles, marks);
                marks.iter().for_each(|mark| answers.add(mark));
            }
        }
        answers
    }
}

impl Answers {
    fn add(&mut self, mark: &Mark) {
        match mark {
            Mark::Correct => self.correct += 1,
            Mark::Counted(counted) => self.filled += usize::from(counted.filled),
            Mark::Wrong(_) | Mark::Unreadable(_) => {}
        }
    }
}

/// The yardstick: all bytes once, added up.
fn sum(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

/// Measures, and keeps the shortest time of each bench: the least disturbed one.
struct Bench<'a> {
    group: BenchmarkGroup<'a, WallTime>,
    name: &'static str,
    shortest: &'a mut BTreeMap<String, Duration>,
}

impl Bench<'_> {
    fn run(&mut self, name: &str, mut work: impl FnMut()) {
        let least = self.shortest.entry(format!("{}/{name}", self.name)).or_insert(Duration::MAX);
        self.group.bench_function(name, |b| {
            b.iter_custom(|times| {
                let mut all = Duration::ZERO;
                for _ in 0..times {
                    let start = Instant::now();
                    work();
                    let took = start.elapsed();
                    *least = took.min(*least);
                    all += took;
                }
                all
            })
        });
    }

    /// From text: the yardstick, finding the cases alone, all of it in each tier, and in the best
    /// one with other line ends and other shares of wrong cases.
    fn text(&mut self, kind: Kind) {
        let work = Work::new(kind, FAULTY);
        let (cases, bytes) = (work.expected.cases as u64, work.text.len() as u64);
        self.group.throughput(Throughput::ElementsAndBytes { elements: cases, bytes });
        self.run("text/sum", || {
            black_box(sum(black_box(&work.text)));
        });
        let (mut found, mut marks) = (Found::default(), Vec::new());
        self.run("text/find", || {
            assert_eq!(work.grade(None, &mut found, &mut marks).cases, work.expected.cases)
        });
        let mut grade = |work: &Work, tier: Tier| {
            assert_eq!(work.grade(Some(Judge::new(tier)), &mut found, &mut marks), work.expected)
        };
        for tier in Tier::available() {
            self.run(&format!("text/{tier}"), || grade(&work, tier));
        }
        let crlf = work.with_crlf();
        self.run("text/crlf", || grade(&crlf, Tier::best()));
        for faulty in [0.0, 0.5, 1.0] {
            let work = Work::new(kind, faulty);
            self.run(&format!("text/faulty-{faulty}"), || grade(&work, Tier::best()));
        }
    }

    /// Grids in memory, one behind the other.
    fn memory(&mut self) {
        let work = Work::new(Kind::Classic, FAULTY);
        let mut found = Found::default();
        Reader::new(Some(work.kind), Limits::default()).read(&work.text, true, &mut found);
        let cells = |text: &[u8]| classic::solution(text).cells;
        let cases = found.cases.iter().map(|case| cells(&work.text[case.start..case.end]));
        let grids = cases.collect::<Vec<Grid>>();
        // Some wrong solutions change nothing but a given.
        let right = |tier, grids: &[Grid]| {
            let mut right = Vec::new();
            kernel::classic_batches(tier, grids, &mut right);
            right.into_iter().map(u32::count_ones).sum::<u32>()
        };
        let expected = right(Tier::Portable, &grids);
        let (cases, bytes) = (grids.len() as u64, grids.as_flattened().len() as u64);
        self.group.throughput(Throughput::ElementsAndBytes { elements: cases, bytes });
        self.run("memory/sum", || {
            black_box(sum(black_box(grids.as_flattened())));
        });
        for tier in Tier::available() {
            self.run(&format!("memory/{tier}"), || assert_eq!(right(tier, &grids), expected));
        }
    }
}

/// Whether times are wanted: `cargo bench` says so, unless it is told to test.
fn is_measuring() -> bool {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    has("--bench") && !has("--test")
}

fn main() {
    let mut criterion = Criterion::default().nresamples(2000).configure_from_args();
    let mut shortest = BTreeMap::new();
    for kind in Kind::ALL {
        let mut group = criterion.benchmark_group(kind.word());
        group.sampling_mode(SamplingMode::Flat).sample_size(20);
        group.warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_millis(1500));
        let mut bench = Bench { group, name: kind.word(), shortest: &mut shortest };
        if kind == Kind::Classic {
            bench.memory();
        }
        bench.text(kind);
    }
    criterion.final_summary();
    tell_ratios(&shortest);
}

/// Tells each speed as a part of the yardstick's, and whether the goals are met.
fn tell_ratios(shortest: &BTreeMap<String, Duration>) {
    let mut out = std::io::stdout().lock();
    for (name, took) in shortest {
        // `kind/from/what`
        let Some((from, what)) = name.rsplit_once('/') else { continue };
        let yardstick = shortest.get(&format!("{from}/sum"));
        let Some(yardstick) = yardstick.filter(|_| *took < Duration::MAX && what != "sum") else {
            continue;
        };
        let ratio = yardstick.as_secs_f64() / took.as_secs_f64();
        let goal = GOALS.iter().find(|(of, _)| *of == from && what == Tier::best().name());
        let met = goal.map_or(String::new(), |(_, goal)| {
            format!("  goal {goal}: {}", if ratio >= *goal { "met" } else { "not met" })
        });
        writeln!(out, "{name:24} {ratio:.3} of the speed of adding up{met}").expect("stdout");
    }
}
