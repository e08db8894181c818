//! The judges, compared with the speed of adding up the same bytes as `u64`.

use crate::Plan;
use crate::page::{Goal, Page};
use crate::work::{Answers, Work};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use gridmark_core::Kind;
use gridmark_core::board::{Grid, Mark};
use gridmark_core::format::{Found, Limits, Reader, classic};
use gridmark_core::generate::Layout;
use gridmark_core::judge::{Against, Judge, Tier, kernel};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Bytes of text that one run grades: more than caches hold, as with large files.
const TEXT_BYTES: usize = 128 << 20;

/// Bytes that suffice to check the answers.
const TEXT_BYTES_TO_TEST: usize = 1 << 20;

/// Bytes of the windows that a reader gets.
const WINDOW_BYTES: usize = 1 << 20;

/// Cases that are marked at a time, as in the service.
const CASES_A_TASK: usize = 512;

/// The share of faulty cases, where nothing else is stated.
const FAULTY: f64 = 0.05;

/// What the best tier must reach: the benchmark, and its speed as a part of the speed of adding up.
const GOALS: [(&str, f64); 3] =
    [("classic/memory", 0.7), ("hexudoku/text", 0.12), ("killer/text", 0.06)];

/// What judging entries against their puzzle must reach, as a part of the speed of judging them by themselves.
const ENTRIES_GOAL: f64 = 1.0;

/// Reads the whole text, and marks its cases if there is a judge.
fn grade(work: &Work, judge: Option<Judge>, found: &mut Found, marks: &mut Vec<Mark>) -> Answers {
    let mut reader = Reader::new(Some(work.kind), Limits::default());
    let mut answers = Answers::default();
    let mut start = 0;
    while start < work.text.len() {
        let end = work.text.len().min(start + WINDOW_BYTES);
        let window = &work.text[start..end];
        found.clear();
        start += reader.read(window, end == work.text.len(), found);
        answers.cases += found.cases.len() as u64;
        let Some(judge) = judge else { continue };
        for cases in found.cases.chunks(CASES_A_TASK) {
            marks.clear();
            judge.mark(window, cases, &found.puzzles, marks);
            marks.iter().for_each(|mark| add(&mut answers, mark));
        }
    }
    answers
}

fn add(answers: &mut Answers, mark: &Mark) {
    match mark {
        Mark::Correct => answers.correct += 1,
        Mark::Counted(counted) => answers.filled += u64::from(counted.filled),
        Mark::Wrong(_) | Mark::Unreadable(_) => {}
    }
}

/// The yardstick: adds up all bytes once.
fn sum(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

/// Measures, and keeps the shortest time of each benchmark, which was disturbed least.
struct Bench<'a> {
    group: BenchmarkGroup<'a, WallTime>,
    name: &'static str,
    text_bytes: usize,
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

    /// From text: the yardstick, only finding the cases, grading in each tier, and grading in the
    /// best tier with other line ends and other shares of faulty cases.
    fn text(&mut self, kind: Kind) {
        let work = Work::new(kind, FAULTY, self.text_bytes);
        let (cases, bytes) = (work.expected.cases, work.text.len() as u64);
        self.group.throughput(Throughput::ElementsAndBytes { elements: cases, bytes });
        self.run("text/sum", || {
            black_box(sum(black_box(&work.text)));
        });
        let (mut found, mut marks) = (Found::default(), Vec::new());
        self.run("text/find", || {
            assert_eq!(grade(&work, None, &mut found, &mut marks).cases, work.expected.cases)
        });
        let mut grade_all = |work: &Work, tier: Tier| {
            let judge = Some(Judge::new(tier));
            assert_eq!(grade(work, judge, &mut found, &mut marks), work.expected)
        };
        for tier in Tier::available() {
            self.run(&format!("text/{tier}"), || grade_all(&work, tier));
        }
        let crlf = work.with_crlf();
        self.run("text/crlf", || grade_all(&crlf, Tier::best()));
        for faulty in [0.0, 0.5, 1.0] {
            let work = Work::new(kind, faulty, self.text_bytes);
            self.run(&format!("text/faulty-{faulty}"), || grade_all(&work, Tier::best()));
        }
    }

    /// Entries for a registered puzzle: judged against it, and by what they bring along; and as grids by themselves.
    fn entries(&mut self, kind: Kind) {
        let count = |against: &Against, text: &[u8]| {
            let mut answers = Answers::default();
            against.each_entry(text, Limits::default(), |entry| {
                answers.cases += 1;
                add(&mut answers, &entry.mark);
            });
            answers
        };
        let (puzzle, work, foreign) = Work::entries(kind, Layout::Own, FAULTY, self.text_bytes);
        let against = Against::new(puzzle);
        let (mut found, mut marks) = (Found::default(), Vec::new());
        // A block with another given is right by itself; a cage with another total is not.
        let kept = if kind == Kind::Classic { foreign } else { 0 };
        let by_itself = Answers { correct: work.expected.correct + kept, ..work.expected };
        self.group.throughput(Throughput::ElementsAndBytes {
            elements: work.expected.cases,
            bytes: work.text.len() as u64,
        });
        let judge = Some(Judge::new(Tier::best()));
        self.run("entries/by-themselves", || {
            assert_eq!(grade(&work, judge, &mut found, &mut marks), by_itself);
        });
        self.run("entries/against", || assert_eq!(count(&against, &work.text), work.expected));
        for layout in [Layout::Rows, Layout::Line] {
            let (_, work, _) = Work::entries(kind, layout, FAULTY, self.text_bytes);
            self.run(&format!("{}/sum", layout.word()), || {
                black_box(sum(black_box(&work.text)));
            });
            let name = format!("{}/against", layout.word());
            self.run(&name, || assert_eq!(count(&against, &work.text), work.expected));
        }
    }

    /// From grids in memory, without text between them.
    fn memory(&mut self) {
        let work = Work::new(Kind::Classic, FAULTY, self.text_bytes);
        let mut found = Found::default();
        Reader::new(Some(work.kind), Limits::default()).read(&work.text, true, &mut found);
        let cells = |text: &[u8]| classic::solution(text).cells;
        let cases = found.cases.iter().map(|case| cells(&work.text[case.start..case.end]));
        let grids = cases.collect::<Vec<Grid>>();
        // Expected from the portable tier: some faulty solutions only change a given, which grids
        // do not show.
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

pub fn run(plan: &Plan, page: &mut Page) {
    let mut criterion = Criterion::default().nresamples(2000).configure_from_args();
    let mut shortest = BTreeMap::new();
    for kind in Kind::ALL {
        let mut group = criterion.benchmark_group(kind.word());
        group.sampling_mode(SamplingMode::Flat).sample_size(10);
        group.warm_up_time(Duration::from_millis(100));
        group.measurement_time(Duration::from_millis(1500));
        let text_bytes = plan.either(TEXT_BYTES, TEXT_BYTES_TO_TEST);
        let mut bench = Bench { group, name: kind.word(), text_bytes, shortest: &mut shortest };
        if kind == Kind::Classic && plan.wants("classic/memory") {
            bench.memory();
        }
        if plan.wants(&format!("{kind}/text")) {
            bench.text(kind);
        }
        if kind != Kind::Hexudoku && plan.wants(&format!("{kind}/entries")) {
            bench.entries(kind);
        }
    }
    criterion.final_summary();
    report(&shortest, page);
}

/// Adds each speed to the page, as a part of the yardstick's.
fn report(shortest: &BTreeMap<String, Duration>, page: &mut Page) {
    for (name, took) in shortest {
        // `kind/from/what`
        let Some((from, what)) = name.rsplit_once('/') else { continue };
        if let (Some(by_themselves), "against") =
            (shortest.get(&format!("{from}/by-themselves")), what)
            && by_themselves < &Duration::MAX
        {
            let ratio = by_themselves.as_secs_f64() / took.as_secs_f64();
            let what = format!("{name} the puzzle / by what they bring along, speed");
            page.add(what, ratio, "", Goal::AtLeast(ENTRIES_GOAL));
            continue;
        }
        let yardstick = shortest.get(&format!("{from}/sum"));
        let Some(yardstick) = yardstick.filter(|_| *took < Duration::MAX && what != "sum") else {
            continue;
        };
        let ratio = yardstick.as_secs_f64() / took.as_secs_f64();
        let goal = GOALS.iter().find(|(of, _)| *of == from && what == Tier::best().name());
        match goal {
            Some((_, goal)) => {
                page.add(format!("{name}, speed / sum"), ratio, "", Goal::AtLeast(*goal));
            }
            None => page.note(format!("{name:<24} {ratio:.3} of the speed of the sum")),
        }
    }
}
