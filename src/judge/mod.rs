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

use crate::board::{CELLS_9, CELLS_16, Counted, Grid, Mark, Unreadable};
use crate::format::{Case, CaseText, Puzzle, classic, killer};

/// Boards that are judged at a time.
const BATCH: usize = kernel::LANES;

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
        let mut scratch = Scratch::default();
        for run in cases.chunk_by(|a, b| same_text(&a.text, &b.text)) {
            for batch in run.chunks(BATCH) {
                match &batch[0].text {
                    CaseText::Classic { puzzle } => {
                        let givens = &puzzles[*puzzle].givens;
                        self.mark_solutions(window, batch, givens, &mut scratch, marks);
                    }
                    CaseText::Killer => self.mark_diagrams(window, batch, &mut scratch, marks),
                    CaseText::Hexudoku => self.mark_boards(window, batch, &mut scratch, marks),
                    CaseText::Unreadable(_) => marks.extend(batch.iter().map(unreadable)),
                }
            }
        }
    }

    fn mark_solutions(
        &self,
        window: &[u8],
        batch: &[Case],
        givens: &Grid,
        scratch: &mut Scratch,
        marks: &mut Vec<Mark>,
    ) {
        let grids = &mut scratch.grids;
        grids.resize(batch.len(), [b' '; CELLS_9]);
        let mut long_rows = 0u32;
        for (i, (case, cells)) in batch.iter().zip(grids.iter_mut()).enumerate() {
            let text = &window[case.start..case.end];
            if !classic::read_plain(text, cells) {
                let solution = classic::solution(text);
                *cells = solution.cells;
                long_rows |= u32::from(solution.long_rows != [0; 9]) << i;
            }
        }
        let right = kernel::classic(self.tier, grids, givens) & !long_rows;
        marks.extend(batch.iter().enumerate().map(|(i, case)| {
            if right >> i & 1 == 1 {
                return Mark::Correct;
            }
            let solution = classic::solution(&window[case.start..case.end]);
            Mark::Wrong(explain_classic(&solution, givens))
        }));
    }

    fn mark_diagrams(
        &self,
        window: &[u8],
        batch: &[Case],
        scratch: &mut Scratch,
        marks: &mut Vec<Mark>,
    ) {
        let diagram = &mut scratch.diagram;
        for case in batch {
            let text = &window[case.start..case.end];
            marks.push(match killer::read(text, case.line, diagram) {
                Err(why) => Mark::Unreadable(Box::new(why)),
                Ok(()) if kernel::killer(self.tier, diagram) => Mark::Correct,
                Ok(()) => Mark::Wrong(explain_killer(diagram)),
            });
        }
    }

    fn mark_boards(
        &self,
        window: &[u8],
        batch: &[Case],
        scratch: &mut Scratch,
        marks: &mut Vec<Mark>,
    ) {
        use crate::format::hexudoku::{BLANK, read};
        let Scratch { boards, counts, bad_boards, .. } = scratch;
        boards.resize(batch.len(), [BLANK; CELLS_16]);
        counts.clear();
        for (i, (case, board)) in batch.iter().zip(boards.iter_mut()).enumerate() {
            if let Err(why) = read(&window[case.start..case.end], case.line, board) {
                *board = [BLANK; CELLS_16];
                bad_boards.push((i, why));
            }
        }
        kernel::hexudoku(self.tier, boards, counts);
        let first = marks.len();
        marks.extend(counts.iter().copied().map(Mark::Counted));
        for (i, why) in bad_boards.drain(..) {
            marks[first + i] = Mark::Unreadable(Box::new(why));
        }
    }
}

/// Memory that is used again from batch to batch.
#[derive(Default)]
struct Scratch {
    grids: Vec<Grid>,
    diagram: killer::Diagram,
    boards: Vec<crate::format::hexudoku::Board>,
    counts: Vec<Counted>,
    bad_boards: Vec<(usize, Unreadable)>,
}

/// Whether two cases can be in one batch.
fn same_text(a: &CaseText, b: &CaseText) -> bool {
    match (a, b) {
        (CaseText::Classic { puzzle: a }, CaseText::Classic { puzzle: b }) => a == b,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

/// The mark of a case that is unreadable already.
fn unreadable(case: &Case) -> Mark {
    match &case.text {
        CaseText::Unreadable(why) => Mark::Unreadable(why.clone()),
        _ => unreachable!("a batch holds cases of one sort"),
    }
}
