//! How fast the judges are, from memory and from text, beside the speed at which the same bytes are
//! added up as `u64`. Each run asserts the right answers.
//!
//! `cargo bench --bench judges`, or with a word such as `killer` for a part of it.

#[path = "../tests/it/core_kit.rs"]
#[allow(dead_code)]
mod core_kit;
#[path = "../tests/it/oracle.rs"]
#[allow(dead_code)]
mod oracle;

use core_kit::{Chance, any_board, block, right_diagram, right_grid};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use gridmark::board::{CELLS_16, Counted, Grid, Kind, Mark};
use gridmark::format::{Found, Limits, Reader, hexudoku, killer};
use gridmark::judge::{Judge, Tier, kernel};
use std::hint::black_box;
use std::time::Duration;

/// Bytes of text that one run goes through.
const TEXT_BYTES: usize = 4 << 20;

/// Bytes that a reader is shown at a time.
const WINDOW_BYTES: usize = 1 << 20;

/// Of so many cases one is wrong.
const WRONG_ONE_IN: usize = 20;

/// The text of some cases, and how many of them get which mark.
struct Work {
    kind: Kind,
    text: Vec<u8>,
    cases: usize,
    correct: usize,
    filled: usize,
}

impl Work {
    fn killer(chance: &mut Chance) -> Work {
        let pool = (0..200).map(|_| right_diagram(chance).into_bytes()).collect::<Vec<_>>();
        let mut work = Work::new(Kind::Killer);
        while work.text.len() < TEXT_BYTES {
            let start = work.text.len();
            work.text.extend(&pool[chance.below(pool.len())]);
            work.count(chance, |text, chance| {
                let cell = chance.below(81);
                // The middle of a cell: two lines for each row, four columns for each cell.
                text[start + (cell / 9 * 2 + 1) * 38 + cell % 9 * 4 + 2] = b'x';
            });
        }
        work
    }

    fn classic(chance: &mut Chance) -> Work {
        let mut work = Work::new(Kind::Classic);
        while work.text.len() < TEXT_BYTES {
            let mut solutions = Vec::new();
            for _ in 0..10 {
                let mut grid = right_grid(chance);
                work.count(chance, |_, chance| {
                    let cell = &mut grid[chance.below(81)];
                    *cell = if *cell == b'9' { b'1' } else { *cell + 1 };
                });
                solutions.push(grid);
            }
            work.text.extend(block(&[b'*'; 81], &solutions));
        }
        work
    }

    fn hexudoku(chance: &mut Chance) -> Work {
        let pool = (0..200).map(|_| {
            let board = any_board(chance, 5);
            (board.join("\n") + "\n", oracle::hexudoku(&board).1)
        });
        let pool = pool.collect::<Vec<_>>();
        let mut work = Work::new(Kind::Hexudoku);
        while work.text.len() < TEXT_BYTES {
            let (board, filled) = &pool[chance.below(pool.len())];
            work.text.extend(board.bytes());
            work.cases += 1;
            work.filled += filled;
        }
        work
    }

    fn new(kind: Kind) -> Work {
        Work { kind, text: Vec::new(), cases: 0, correct: 0, filled: 0 }
    }

    /// Counts a case, after making it wrong now and then.
    fn count(&mut self, chance: &mut Chance, break_it: impl FnOnce(&mut [u8], &mut Chance)) {
        self.cases += 1;
        if chance.one_in(WRONG_ONE_IN) {
            break_it(&mut self.text, chance);
        } else {
            self.correct += 1;
        }
    }

    fn throughput(&self) -> Throughput {
        Throughput::ElementsAndBytes { elements: self.cases as u64, bytes: self.text.len() as u64 }
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
            if let Some(judge) = judge {
                marks.clear();
                judge.mark(window, &found.cases, &found.puzzles, marks);
                marks.iter().for_each(|mark| answers.add(mark));
            }
        }
        answers
    }
}

#[derive(Debug, Default, PartialEq)]
struct Answers {
    cases: usize,
    correct: usize,
    filled: usize,
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

/// From text: the yardstick, finding the cases alone, and all of it in each tier.
fn from_text(group: &mut BenchmarkGroup<WallTime>, work: &Work) {
    group.throughput(work.throughput());
    group.bench_function("text/sum", |b| b.iter(|| sum(black_box(&work.text))));
    let (mut found, mut marks) = (Found::default(), Vec::new());
    group.bench_function("text/find", |b| {
        b.iter(|| assert_eq!(work.grade(None, &mut found, &mut marks).cases, work.cases))
    });
    let expected = Answers { cases: work.cases, correct: work.correct, filled: work.filled };
    for tier in Tier::available() {
        let judge = Some(Judge::new(tier));
        group.bench_function(format!("text/{tier}"), |b| {
            b.iter(|| assert_eq!(work.grade(judge, &mut found, &mut marks), expected))
        });
    }
}

fn group<'a>(c: &'a mut Criterion, kind: Kind) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(kind.word());
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(2));
    group.sample_size(20);
    group
}

/// The text of each case of `work`.
fn texts(work: &Work) -> Vec<&[u8]> {
    let mut found = Found::default();
    Reader::new(Some(work.kind), Limits::default()).read(&work.text, true, &mut found);
    found.cases.iter().map(|case| &work.text[case.start..case.end]).collect()
}

fn bench_classic(c: &mut Criterion) {
    let work = Work::classic(&mut Chance(1));
    let cells = |text: &&[u8]| gridmark::format::classic::solution(text).cells;
    let grids = texts(&work).iter().map(cells).collect::<Vec<Grid>>();
    let mut group = group(c, work.kind);
    let bytes = grids.as_flattened();
    group.throughput(Throughput::ElementsAndBytes {
        elements: grids.len() as u64,
        bytes: bytes.len() as u64,
    });
    group.bench_function("memory/sum", |b| b.iter(|| sum(black_box(bytes))));
    for tier in Tier::available() {
        group.bench_function(format!("memory/{tier}"), |b| {
            b.iter(|| {
                let right = grids
                    .chunks(kernel::LANES)
                    .map(|grids| kernel::classic(tier, grids, &[b'.'; 81]).count_ones() as usize);
                assert_eq!(right.sum::<usize>(), work.correct)
            })
        });
    }
    from_text(&mut group, &work);
    group.finish();
}

fn bench_killer(c: &mut Criterion) {
    let work = Work::killer(&mut Chance(2));
    let mut group = group(c, work.kind);
    let texts = texts(&work);
    let diagram = |text: &&[u8]| killer::diagram(text, 1).expect("bench data can be read");
    let diagrams = texts.iter().map(diagram).collect::<Vec<_>>();
    group.throughput(work.throughput());
    group.bench_function("memory/parse", |b| {
        let mut diagram = killer::Diagram::default();
        b.iter(|| {
            let read = texts.iter().filter(|text| killer::read(text, 1, &mut diagram).is_ok());
            assert_eq!(read.count(), work.cases)
        })
    });
    for tier in Tier::available() {
        group.bench_function(format!("memory/{tier}"), |b| {
            b.iter(|| {
                let right = diagrams.iter().filter(|diagram| kernel::killer(tier, diagram));
                assert_eq!(right.count(), work.correct)
            })
        });
    }
    from_text(&mut group, &work);
    group.finish();
}

fn bench_hexudoku(c: &mut Criterion) {
    let work = Work::hexudoku(&mut Chance(3));
    let mut group = group(c, work.kind);
    let texts = texts(&work);
    let board = |text: &&[u8]| hexudoku::board(text, 1).expect("bench data can be read");
    let boards = texts.iter().map(board).collect::<Vec<_>>();
    group.throughput(work.throughput());
    group.bench_function("memory/parse", |b| {
        let mut board = [hexudoku::BLANK; CELLS_16];
        b.iter(|| {
            let read = texts.iter().filter(|text| hexudoku::read(text, 1, &mut board).is_ok());
            assert_eq!(read.count(), work.cases)
        })
    });
    for tier in Tier::available() {
        let mut counts = Vec::new();
        group.bench_function(format!("memory/{tier}"), |b| {
            b.iter(|| {
                counts.clear();
                kernel::hexudoku(tier, &boards, &mut counts);
                let filled = counts.iter().map(|counted: &Counted| usize::from(counted.filled));
                assert_eq!(filled.sum::<usize>(), work.filled)
            })
        });
    }
    from_text(&mut group, &work);
    group.finish();
}

criterion_group!(benches, bench_classic, bench_killer, bench_hexudoku);
criterion_main!(benches);
