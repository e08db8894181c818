//! What is right: from cases to marks.
//!
//! Part of the pure core. A [`Judge`] marks the cases that a [`Reader`](crate::format::Reader)
//! found. Its kernels answer only right or wrong, many boards at a time and in a [`Tier`] for what
//! the processor can do; which rules are broken, and where, is found out for the wrong cases alone.

mod explain;
pub mod hexudoku;
pub mod kernel;

pub use explain::{explain_classic, explain_killer};
pub use kernel::{Tier, UnsupportedTier};

use crate::board::{Counted, Fault, Grid, Mark};
use crate::format::{Case, CaseText, Puzzle, Rows, classic, hexudoku as boards, killer};

/// Cases that are judged at a time.
const BATCH: usize = kernel::LANES;

/// Hexudoku boards that are judged at a time: their kernel takes any number, and much memory.
const BOARDS: usize = 8 * kernel::LANES;

/// Marks cases; the same cases get the same marks in every tier.
///
/// ```
/// use gridmark::{board::Mark, format::{Found, Limits, Reader}, judge::{Judge, Tier}};
///
/// let text = format!("1\n{}{}", "*********\n".repeat(9), "123456789\n".repeat(9));
/// let mut found = Found::default();
/// Reader::new(None, Limits::default()).read(text.as_bytes(), true, &mut found);
/// let mut marks = Vec::new();
/// Judge::new(Tier::best()).mark(text.as_bytes(), &found.cases, &found.puzzles, &mut marks);
/// let Mark::Wrong(faults) = &marks[0] else { panic!("nine equal rows are right?") };
/// assert_eq!(faults[0].to_string(), "column 1 has 1 9 times");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judge {
    tier: Tier,
}

impl Judge {
    /// A judge that uses the kernels of `tier`.
    pub const fn new(tier: Tier) -> Judge {
        Judge { tier }
    }

    /// The tier whose kernels this judge uses.
    pub const fn tier(&self) -> Tier {
        self.tier
    }

    /// Marks `cases` and appends one mark a case to `marks`, in the same order.
    ///
    /// `window` is the one in which the cases were found, `puzzles` those found with them; `cases`
    /// may be a part of them. A solution of nine bytes can have more than a hundred faults, so
    /// whoever is to keep within his memory marks some hundreds of cases at a time.
    ///
    /// # Panics
    ///
    /// If a case lies outside `window` or refers to a puzzle that is not there: then they were not
    /// found together.
    pub fn mark(&self, window: &[u8], cases: &[Case], puzzles: &[Puzzle], marks: &mut Vec<Mark>) {
        marks.reserve(cases.len());
        let work = Work { tier: self.tier, window, puzzles };
        let mut scratch = Scratch::default();
        for run in cases.chunk_by(are_alike) {
            let batch = if run[0].text == CaseText::Hexudoku { BOARDS } else { BATCH };
            for batch in run.chunks(batch) {
                match (&batch[0].text, batch[0].rows) {
                    (CaseText::Classic { .. }, Rows::Lf) => {
                        work.plain_solutions(batch, &mut scratch.lf, marks);
                    }
                    (CaseText::Classic { .. }, Rows::CrLf) => {
                        work.plain_solutions(batch, &mut scratch.crlf, marks);
                    }
                    (CaseText::Classic { .. }, Rows::Any) => work.solutions(batch, marks),
                    (CaseText::Killer, _) => work.diagrams(batch, &mut scratch.diagram, marks),
                    (CaseText::Hexudoku, Rows::Lf) => {
                        work.plain_boards::<272>(batch, &mut scratch.counts, marks);
                    }
                    (CaseText::Hexudoku, Rows::CrLf) => {
                        work.plain_boards::<288>(batch, &mut scratch.counts, marks);
                    }
                    (CaseText::Hexudoku, Rows::Any) => {
                        marks.extend(batch.iter().map(|case| work.board(case)));
                    }
                    (CaseText::Unreadable(_), _) => marks.extend(batch.iter().map(unreadable)),
                }
            }
        }
    }
}

/// What cases are marked with.
struct Work<'a> {
    tier: Tier,
    window: &'a [u8],
    puzzles: &'a [Puzzle],
}

impl<'a> Work<'a> {
    fn text(&self, case: &Case) -> &'a [u8] {
        &self.window[case.start..case.end]
    }

    fn givens(&self, case: &Case) -> (usize, &'a Grid) {
        match case.text {
            CaseText::Classic { puzzle } => (puzzle, &self.puzzles[puzzle].givens),
            _ => unreachable!("a batch holds cases of one sort"),
        }
    }

    /// The texts of cases that all have `BYTES` bytes: as they lie if nothing is between them, else
    /// copied to `copies`.
    fn texts<'t, const BYTES: usize>(
        &self,
        batch: &[Case],
        copies: &'t mut Vec<[u8; BYTES]>,
    ) -> &'t [[u8; BYTES]]
    where
        'a: 't,
    {
        let (first, last) = (&batch[0], &batch[batch.len() - 1]);
        if last.end - first.start == batch.len() * BYTES {
            return self.window[first.start..last.end].as_chunks().0;
        }
        copies.clear();
        copies.extend(batch.iter().filter_map(|case| self.text(case).first_chunk()));
        copies
    }

    /// Solutions whose rows lie `BYTES` / 9 bytes apart.
    fn plain_solutions<const BYTES: usize>(
        &self,
        batch: &[Case],
        scratch: &mut PlainSolutions<BYTES>,
        marks: &mut Vec<Mark>,
    ) {
        let texts = self.texts(batch, &mut scratch.texts);
        let right = kernel::classic(self.tier, texts);
        let mut puzzle = usize::MAX;
        for (i, (case, text)) in batch.iter().zip(texts).enumerate() {
            let (of, givens) = self.givens(case);
            if of != puzzle {
                puzzle = of;
                scratch.givens.set(givens);
            }
            let is_right = right >> i & 1 == 1 && scratch.givens.stand_in(text);
            marks.push(if is_right { Mark::Correct } else { self.solution(case, givens) });
        }
    }

    /// Solutions however they lie.
    fn solutions(&self, batch: &[Case], marks: &mut Vec<Mark>) {
        marks.extend(batch.iter().map(|case| self.solution(case, self.givens(case).1)));
    }

    fn solution(&self, case: &Case, givens: &Grid) -> Mark {
        wrong_or_correct(explain_classic(&classic::solution(self.text(case)), givens))
    }

    fn diagrams(&self, batch: &[Case], diagram: &mut killer::Diagram, marks: &mut Vec<Mark>) {
        let right = kernel::killer(self.tier, self.window, batch);
        marks.extend(batch.iter().enumerate().map(|(i, case)| match right >> i & 1 {
            1 => Mark::Correct,
            _ => self.diagram(case, diagram),
        }));
    }

    fn diagram(&self, case: &Case, diagram: &mut killer::Diagram) -> Mark {
        match killer::read(self.text(case), case.line, diagram) {
            Err(why) => Mark::Unreadable(Box::new(why)),
            Ok(()) => wrong_or_correct(explain_killer(diagram)),
        }
    }

    /// Boards whose rows lie `BYTES` / 16 bytes apart.
    fn plain_boards<const BYTES: usize>(
        &self,
        batch: &[Case],
        counts: &mut Vec<Option<Counted>>,
        marks: &mut Vec<Mark>,
    ) {
        counts.clear();
        kernel::hexudoku(self.tier, self.texts::<BYTES>(batch, &mut Vec::new()), counts);
        marks.extend(batch.iter().zip(counts).map(|(case, counted)| match counted {
            Some(counted) => Mark::Counted(*counted),
            None => self.board(case),
        }));
    }

    fn board(&self, case: &Case) -> Mark {
        match boards::board(self.text(case), case.line) {
            Ok(mut board) => Mark::Counted(hexudoku::fill(&mut board)),
            Err(why) => Mark::Unreadable(Box::new(why)),
        }
    }
}

/// The mark for these faults, if there are any.
fn wrong_or_correct(faults: Vec<Fault>) -> Mark {
    if faults.is_empty() { Mark::Correct } else { Mark::Wrong(faults) }
}

/// Memory that is used again from batch to batch.
#[derive(Default)]
struct Scratch {
    lf: PlainSolutions<90>,
    crlf: PlainSolutions<99>,
    diagram: killer::Diagram,
    counts: Vec<Option<Counted>>,
}

/// Solutions whose rows lie `BYTES` / 9 bytes apart.
struct PlainSolutions<const BYTES: usize> {
    texts: Vec<[u8; BYTES]>,
    givens: Givens<BYTES>,
}

/// The givens of a puzzle as they must stand in the text of a solution.
struct Givens<const BYTES: usize> {
    text: [u8; BYTES],
    /// All bits of the bytes that are given.
    mask: [u8; BYTES],
}

impl<const BYTES: usize> Default for PlainSolutions<BYTES> {
    fn default() -> Self {
        let givens = Givens { text: [0; BYTES], mask: [0; BYTES] };
        PlainSolutions { texts: Vec::new(), givens }
    }
}

impl<const BYTES: usize> Givens<BYTES> {
    fn set(&mut self, givens: &Grid) {
        let rows = self.text.chunks_exact_mut(BYTES / 9).zip(self.mask.chunks_exact_mut(BYTES / 9));
        for ((text, mask), givens) in rows.zip(givens.chunks_exact(9)) {
            text[..9].copy_from_slice(givens);
            for (mask, given) in mask.iter_mut().zip(givens) {
                *mask = if *given == b'.' { 0 } else { u8::MAX };
            }
        }
    }

    fn stand_in(&self, solution: &[u8; BYTES]) -> bool {
        let cells = solution.iter().zip(&self.text).zip(&self.mask);
        cells.fold(0, |changed, ((cell, given), mask)| changed | ((cell ^ given) & mask)) == 0
    }
}

/// Whether two cases can be in one batch.
fn are_alike(a: &Case, b: &Case) -> bool {
    std::mem::discriminant(&a.text) == std::mem::discriminant(&b.text) && a.rows == b.rows
}

/// The mark of a case that is unreadable already.
fn unreadable(case: &Case) -> Mark {
    match &case.text {
        CaseText::Unreadable(why) => Mark::Unreadable(why.clone()),
        _ => unreachable!("a batch holds cases of one sort"),
    }
}
