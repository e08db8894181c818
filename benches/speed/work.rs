//! Cases to grade, with their correct answers.

use gridmark::puzzle::certify::prove;
use gridmark_core::Kind;
use gridmark_core::generate::{Entries, Generator, Layout, Options, Puzzles};
use gridmark_core::puzzle::{Puzzle, Solutions};

/// Bytes that are generated at most; longer texts repeat them.
const BLOCK_BYTES: usize = 64 << 20;

/// The text of some cases, and their answers in total.
pub struct Work {
    pub kind: Kind,
    pub text: Vec<u8>,
    pub expected: Answers,
}

/// How many cases there are, how many of them are correct, and how many cells Larry fills.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answers {
    pub cases: u64,
    pub correct: u64,
    pub filled: u64,
}

impl Work {
    /// At least `bytes` bytes of text, with the share `faulty` of faulty cases.
    pub fn new(kind: Kind, faulty: f64, bytes: usize) -> Work {
        let mut generator = Generator::new(kind, Options { faulty, seed: 3, ..Options::default() });
        let mut block = Work { kind, text: Vec::new(), expected: Answers::default() };
        while block.text.len() < bytes.min(BLOCK_BYTES) {
            block.generate(&mut generator, 100);
        }
        let times = bytes.div_ceil(block.text.len());
        Work { kind, text: block.text.repeat(times), expected: block.expected.times(times as u64) }
    }

    /// A puzzle, and at least `bytes` bytes of entries for it in this layout, with the share `faulty` of wrong ones;
    /// and how many of them are for another puzzle.
    pub fn entries(kind: Kind, layout: Layout, faulty: f64, bytes: usize) -> (Puzzle, Work, u64) {
        let mut proved =
            |puzzle: &Puzzle| prove(puzzle, || false).unwrap_or(Solutions::Unproven(None));
        let puzzle = Puzzles::new(kind, 3).next(&mut proved);
        let options = Options { faulty, seed: 3, ..Options::default() };
        let mut entries = Entries::new(puzzle.clone(), layout, &options).expect("a layout for it");
        let (mut block, mut answers) = (Vec::new(), Vec::new());
        while block.len() < bytes.min(BLOCK_BYTES) {
            entries.append(100, &mut block, &mut answers);
        }
        let answers = String::from_utf8(answers).expect("answers are ASCII");
        let count = |word| answers.lines().filter(|answer| *answer == word).count() as u64;
        let cases = answers.lines().count() as u64;
        let expected = Answers { cases, correct: count("correct"), filled: 0 };
        let times = bytes.div_ceil(block.len());
        let foreign = count("foreign-puzzle") * times as u64;
        let work = Work { kind, text: block.repeat(times), expected: expected.times(times as u64) };
        (puzzle, work, foreign)
    }

    /// Appends `cases` cases.
    pub fn generate(&mut self, generator: &mut Generator, cases: u64) {
        let mut answers = Vec::new();
        generator.append(cases, &mut self.text, &mut answers);
        let answers = String::from_utf8(answers).expect("answers are ASCII");
        self.expected.cases += cases;
        match self.kind {
            Kind::Killer => {
                self.expected.correct +=
                    answers.lines().filter(|word| *word == "OK").count() as u64;
            }
            Kind::Classic => self.expected.correct += answers.matches('Y').count() as u64,
            Kind::Hexudoku => {
                let counts = answers.lines().map(|count| count.parse::<u64>());
                self.expected.filled += counts.map(|count| count.expect("a count")).sum::<u64>();
            }
        }
    }

    /// The same text with CRLF line ends.
    pub fn with_crlf(mut self) -> Work {
        let lines = self.text.split_inclusive(|byte| *byte == b'\n');
        self.text = lines.flat_map(|line| [&line[..line.len() - 1], b"\r\n"].concat()).collect();
        self
    }
}

impl Answers {
    /// The answers to the same text, repeated.
    pub fn times(self, times: u64) -> Answers {
        let Answers { cases, correct, filled } = self;
        Answers { cases: cases * times, correct: correct * times, filled: filled * times }
    }
}
