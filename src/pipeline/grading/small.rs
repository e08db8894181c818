//! Batches of small files: each file is read whole and graded in one step. Threads reuse their memory from
//! file to file, and results are passed on once per batch, so that a file of one case does not pay for either.

use super::HAS_NULS;
use super::{Claimed, Graded, Grading, Signature, Slot, Step, Tally, Trouble, emit, guarded};
use crate::event::Judging;
use crate::model::chunks::read_whole;
use crate::model::marking::Whole;
use crate::model::submission::Judgement;
use crate::store::archive;
use crate::store::fail_point::Point;
use crate::store::recovery::lost;
use gridmark_core::Kind;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Results of a batch with more bytes of rows than this are passed on early, and a single file with more
/// is streamed.
const ROWS_BYTES_MAX: usize = 4 << 20;

/// What came out of a small file.
struct Small {
    kind: Option<Kind>,
    tally: Tally,
    judgement: Option<Judgement>,
    step: Step,
}

/// The memory of one thread, reused from file to file.
#[derive(Default)]
struct Scratch {
    /// As long as the largest file so far; the text of a smaller one is its beginning.
    buffer: Vec<u8>,
    whole: Whole,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Grading {
    /// Grades a batch of small files and passes the results on.
    pub(super) fn grade_batch(&self, batch: Vec<Claimed>) {
        let mut scratch = SCRATCH.take();
        let mut results = Vec::with_capacity(batch.len());
        let mut files = self.dependencies.archive.reader();
        let slot = self.begin(&batch);
        let (mut rows_bytes, mut bytes_read) = (0, 0);
        let mut spent = Spent::default();
        for claimed in batch {
            let start = Instant::now();
            slot.progress();
            match guarded(|| self.grade_small(&claimed, &mut files, &mut scratch)) {
                Ok(Small { kind, tally, judgement, step }) => {
                    if let Step::Finished { bytes, .. } = step {
                        bytes_read += bytes;
                    }
                    spent.add(kind, tally.cases(), start.elapsed());
                    rows_bytes += scratch.whole.rows.len();
                    let rows = vec![scratch.whole.rows.clone()];
                    let rules = self.rules_for(&claimed);
                    results.push(Graded { claimed, rows, tally, kind, rules, judgement, step });
                }
                Err(trouble) => {
                    results.extend(self.deal_with(trouble, claimed, Tally::default()));
                }
            }
            if rows_bytes > ROWS_BYTES_MAX {
                rows_bytes = 0;
                self.hand_on_batch(std::mem::take(&mut results), Some(&slot));
            }
        }
        drop(slot);
        self.hand_on_batch(results, None);
        spent.emit();
        emit::bytes_read(bytes_read);
        SCRATCH.replace(scratch);
    }

    fn hand_on_batch(&self, results: Vec<Graded>, slot: Option<&Slot<'_>>) {
        // Counted before they are passed on, so that publishing never waits for more when these are the last.
        Point::Graded.pass();
        self.dependencies.queue.graded(results.len());
        self.hand_on(results, slot);
        Point::HandedOn.pass();
    }

    /// Grades one file; its rows are in `scratch` then.
    fn grade_small(
        &self,
        claimed: &Claimed,
        files: &mut archive::Reader<'_>,
        scratch: &mut Scratch,
    ) -> Result<Small, Trouble> {
        self.check_gradable(claimed)?;
        let Scratch { buffer, whole } = scratch;
        let bytes = self.read_whole(claimed, files, buffer)?;
        let text = &buffer[..bytes];
        if claimed.check_nuls && text.contains(&0) {
            return Err(Trouble::FailedForGood(lost(HAS_NULS)));
        }
        #[cfg(debug_assertions)]
        super::hooks::run(&claimed.name)?;
        let (rules, definitions) = (self.rules_for(claimed), self.definitions_of(claimed)?);
        let done = |tally| Step::Finished {
            bytes: text.len() as u64,
            blake3: *blake3::hash(text).as_bytes(),
            total: tally,
        };
        if let Some(definitions) = &definitions {
            let case_rows = self.case_rows(claimed, &rules);
            whole.rows.clear();
            let judged = definitions.judge(&claimed.name, text, &rules, |number, kind, mark| {
                case_rows.append(number, Some(kind), mark, &mut whole.rows);
            });
            if let Some(Judging { kind, tally, judgement }) = judged {
                let (kind, judgement) = (Some(kind), Some(judgement));
                return Ok(Small { kind, tally, judgement, step: done(tally) });
            }
        }
        let submission = (&claimed.name, claimed.attempt, text);
        let cases_max = self.dependencies.settings.get().chunk_cases_max;
        let judge = self.dependencies.judge;
        let marked = whole.mark(submission, (judge, &rules), cases_max, ROWS_BYTES_MAX);
        let (kind, tally) = marked.ok_or(Trouble::Large)?;
        let judgement = definitions.and_then(|it| it.unjudged(&claimed.name, false));
        Ok(Small { kind, tally, judgement, step: done(tally) })
    }

    /// Reads the whole file into the beginning of `buffer` and makes sure that it did not change
    /// meanwhile; returns its size in bytes.
    fn read_whole(
        &self,
        claimed: &Claimed,
        files: &mut archive::Reader<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<usize, Trouble> {
        let opened = files.open(&claimed.archived_as);
        let (mut file, before) = self.check_unchanged(opened, claimed)?;
        let bytes_max = self.dependencies.settings.get().chunk_bytes_max as u64;
        if before.bytes > bytes_max && !self.is_entry(claimed)? {
            return Err(Trouble::Large);
        }
        let bytes = before.bytes as usize;
        if !read_whole(&mut file, bytes, buffer)? || Signature::of(&file.metadata()?) != before {
            return Err(Trouble::Changed("it changed while it was read".into()));
        }
        Ok(bytes)
    }
}

/// The cases of a batch and the time that they took, by kind.
#[derive(Default)]
struct Spent {
    kinds: [(u64, Duration); Kind::ALL.len()],
    of_no_kind: u64,
}

impl Spent {
    fn add(&mut self, kind: Option<Kind>, cases: u64, took: Duration) {
        match kind {
            Some(kind) => {
                let (all_cases, all_took) = &mut self.kinds[kind as usize];
                *all_cases += cases;
                *all_took += took;
            }
            None => self.of_no_kind += cases,
        }
    }

    fn emit(&self) {
        for (kind, (cases, took)) in Kind::ALL.into_iter().zip(self.kinds) {
            if cases > 0 {
                emit::batch_graded(Some(kind), cases, took);
            }
        }
        if self.of_no_kind > 0 {
            emit::batch_graded(None, self.of_no_kind, Duration::ZERO);
        }
    }
}
