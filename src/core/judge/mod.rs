//! What is right: from cases to marks.
//!
//! A [`Judge`] marks the cases that a [`Reader`](crate::format::Reader) found.
//!
//! # Mark first, explain later
//!
//! Most cases are correct, and all that must be known of those is that they are. So a
//! [kernel] first marks a batch of regular cases at once, and answers with one bit a case:
//! correct, or not known to be. Only the others are read by themselves and explained
//! ([`explain_classic`], [`explain_killer`]): which rules are broken, and where. An explanation
//! without faults is the mark *correct*, so a kernel may leave any case to it; a kernel must only
//! never call a wrong case correct.
//!
//! Both ways, and every [`Tier`] of the kernels, must agree to the last byte of a report. The tests
//! compare all of them with each other and with a slow oracle.

mod against;
mod explain;
pub mod hexudoku;
pub mod kernel;

pub use against::{Against, Compared, Digits, Entry};
use alloc::boxed::Box;
use alloc::vec::Vec;
pub use explain::{explain_classic, explain_killer};
pub use kernel::{Tier, UnsupportedTier};

use crate::board::{Counted, Fault, Grid, Mark};
use crate::format::{Case, CaseText, Puzzle, Rows, classic, hexudoku as boards, killer};

/// How many cases are judged at a time.
const BATCH: usize = kernel::LANES;

/// How many hexudoku boards are judged at a time: their kernel takes any number, and clears much
/// memory in each call.
const BOARDS: usize = 16 * kernel::LANES;

/// Marks cases; the same cases get the same marks in every tier.
///
/// ```
/// use gridmark_core::{board::Mark, format::{Found, Limits, Reader}, judge::{Judge, Tier}};
///
/// let text = format!("1\n{}{}", "*********\n".repeat(9), "123456789\n".repeat(9));
/// let mut found = Found::default();
/// Reader::new(None, Limits::default()).read(text.as_bytes(), true, &mut found);
/// let mut marks = Vec::new();
/// Judge::new(Tier::best()).mark(text.as_bytes(), &found.cases, &found.puzzles, &mut marks);
/// let Mark::Wrong(faults) = &marks[0] else { panic!("nine equal rows are right?") };
/// assert_eq!(faults[0].to_string(), "column 1 has 1 nine times");
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
    /// `window` is the one in which the cases were found, and `puzzles` those found with them;
    /// `cases` may be a part of those found. A solution of nine bytes can have more than a hundred
    /// faults, so a caller that must bound its memory marks some hundreds of cases at a time.
    ///
    /// # Panics
    ///
    /// If a case is outside `window` or refers to a puzzle that is not there, since then they were
    /// not found together.
    pub fn mark(&self, window: &[u8], cases: &[Case], puzzles: &[Puzzle], marks: &mut Vec<Mark>) {
        marks.reserve(cases.len());
        let work = Work { tier: self.tier, window, puzzles };
        let mut scratch = Scratch::default();
        for run in cases.chunk_by(are_alike) {
            let batch = if run[0].text == CaseText::Hexudoku { BOARDS } else { BATCH };
            for batch in run.chunks(batch) {
                match (&batch[0].text, batch[0].rows) {
                    (CaseText::Classic { .. }, _) => work.solutions(batch, &mut scratch, marks),
                    (CaseText::Killer, _) => work.diagrams(batch, &mut scratch.diagram, marks),
                    (CaseText::Hexudoku, Rows::Lf) => {
                        work.regular_boards::<272>(batch, &mut scratch.counts, marks);
                    }
                    (CaseText::Hexudoku, Rows::CrLf) => {
                        work.regular_boards::<288>(batch, &mut scratch.counts, marks);
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

/// What all batches of a call share.
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
            _ => unreachable!("a batch holds cases of one kind of text"),
        }
    }

    /// The texts of cases that all have `BYTES` bytes, in place, if nothing is between them.
    fn texts_in_place<const BYTES: usize>(&self, batch: &[Case]) -> Option<&'a [[u8; BYTES]]> {
        let text = &self.window[batch[0].start..batch[batch.len() - 1].end];
        (text.len() == batch.len() * BYTES).then_some(text.as_chunks().0)
    }

    /// Solutions of any layouts: the first regular one decides the layout that the batch is marked
    /// in.
    fn solutions(&self, batch: &[Case], scratch: &mut Scratch, marks: &mut Vec<Mark>) {
        match batch.iter().map(|case| case.rows).find(|rows| *rows != Rows::Any) {
            Some(rows @ Rows::CrLf) => {
                self.regular_solutions(batch, rows, &mut scratch.crlf, marks);
            }
            rows => self.regular_solutions(batch, rows.unwrap_or(Rows::Lf), &mut scratch.lf, marks),
        }
    }

    /// Solutions of which those with the layout `regular` have rows `BYTES` / 9 bytes apart and are
    /// marked together; the others are explained one by one.
    fn regular_solutions<const BYTES: usize>(
        &self,
        batch: &[Case],
        regular: Rows,
        scratch: &mut RegularSolutions<BYTES>,
        marks: &mut Vec<Mark>,
    ) {
        let in_place = batch.iter().all(|case| case.rows == regular);
        let texts = in_place.then(|| self.texts_in_place(batch)).flatten();
        let texts = texts.unwrap_or_else(|| {
            for (copy, case) in scratch.texts.iter_mut().zip(batch) {
                let text = (case.rows == regular).then(|| self.text(case).first_chunk()).flatten();
                *copy = *text.unwrap_or(&[0; BYTES]);
            }
            &scratch.texts[..batch.len()]
        });
        let mut right = kernel::classic(self.tier, texts);
        let mut puzzle = usize::MAX;
        for (i, (case, text)) in batch.iter().zip(texts).enumerate() {
            let (of, givens) = self.givens(case);
            if of != puzzle {
                puzzle = of;
                scratch.givens.set(givens);
            }
            right &= !(u32::from(!scratch.givens.are_kept_by(text)) << i);
        }
        let first = marks.len();
        marks.resize_with(first + batch.len(), || Mark::Correct);
        for (i, (case, mark)) in batch.iter().zip(&mut marks[first..]).enumerate() {
            if right >> i & 1 == 0 {
                *mark = self.solution(case, self.givens(case).1);
            }
        }
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

    /// Boards with rows `BYTES` / 16 bytes apart.
    fn regular_boards<const BYTES: usize>(
        &self,
        batch: &[Case],
        counts: &mut Vec<Option<Counted>>,
        marks: &mut Vec<Mark>,
    ) {
        counts.clear();
        let mut copies = Vec::new();
        let boards = self.texts_in_place::<BYTES>(batch).unwrap_or_else(|| {
            copies.extend(batch.iter().filter_map(|case| self.text(case).first_chunk()));
            &copies
        });
        kernel::hexudoku(self.tier, boards, counts);
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

/// Memory that is reused from batch to batch.
#[derive(Default)]
struct Scratch {
    lf: RegularSolutions<90>,
    crlf: RegularSolutions<99>,
    diagram: killer::Diagram,
    counts: Vec<Option<Counted>>,
}

/// Memory for regular solutions, with rows `BYTES` / 9 bytes apart.
struct RegularSolutions<const BYTES: usize> {
    texts: [[u8; BYTES]; BATCH],
    givens: Givens<BYTES>,
}

/// The givens of a puzzle, laid out as the text of a solution.
#[derive(Default)]
struct Givens<const BYTES: usize> {
    /// As many pieces of 16 bytes as are complete.
    pieces: [Piece; 6],
    /// The last 16 bytes, which overlap the piece before.
    last: Piece,
}

/// Bytes of a text, and a mask with all bits set where a given is.
#[derive(Clone, Copy, Default)]
struct Piece {
    text: [u8; 16],
    mask: [u8; 16],
}

impl<const BYTES: usize> Default for RegularSolutions<BYTES> {
    fn default() -> Self {
        RegularSolutions { texts: [[0; BYTES]; BATCH], givens: Givens::default() }
    }
}

impl<const BYTES: usize> Givens<BYTES> {
    fn set(&mut self, givens: &Grid) {
        let mut text = [b'.'; BYTES];
        let rows = text.chunks_exact_mut(BYTES / 9).zip(givens.as_chunks::<9>().0);
        rows.for_each(|(text, givens)| text[..9].copy_from_slice(givens));
        for (piece, text) in self.pieces.iter_mut().zip(text.as_chunks().0) {
            *piece = Piece::of(text);
        }
        self.last = text.last_chunk().map_or(Piece::default(), Piece::of);
    }

    #[inline]
    fn are_kept_by(&self, solution: &[u8; BYTES]) -> bool {
        let mut changed = [0; 16];
        for (found, piece) in solution.as_chunks().0.iter().zip(&self.pieces) {
            piece.add_changes(found, &mut changed);
        }
        if let Some(found) = solution.last_chunk() {
            self.last.add_changes(found, &mut changed);
        }
        u128::from_ne_bytes(changed) == 0
    }
}

impl Piece {
    fn of(text: &[u8; 16]) -> Piece {
        let mask = text.map(|given| if given.wrapping_sub(b'1') < 9 { u8::MAX } else { 0 });
        Piece { text: *text, mask }
    }

    /// Sets bits of `changed` where `found` differs from a given.
    #[inline(always)]
    fn add_changes(&self, found: &[u8; 16], changed: &mut [u8; 16]) {
        for i in 0..16 {
            changed[i] |= (found[i] ^ self.text[i]) & self.mask[i];
        }
    }
}

/// Whether two cases can be in one batch.
fn are_alike(a: &Case, b: &Case) -> bool {
    let is_solution = |case: &Case| matches!(case.text, CaseText::Classic { .. });
    core::mem::discriminant(&a.text) == core::mem::discriminant(&b.text)
        && (a.rows == b.rows || is_solution(a))
}

/// The mark of a case that was found unreadable.
fn unreadable(case: &Case) -> Mark {
    match &case.text {
        CaseText::Unreadable(why) => Mark::Unreadable(why.clone()),
        _ => unreachable!("a batch holds cases of one kind of text"),
    }
}
