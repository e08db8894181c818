//! Results that wait for their commit.

use crate::model::rows::report_of;
use crate::model::submission::{
    Claimed, Finished, Graded, Judgement, Name, Prefix, Progress, Rules, Status, Step, Tally,
};
use crate::store::ledger::Outcome;
use gridmark_core::Kind;
use std::collections::BTreeMap;
use std::time::Instant;

/// Blocks of rows are put together up to this size.
const SMALL_BLOCK_BYTES: usize = 64 << 10;

/// What waits for the next commit.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) rows: BTreeMap<Name, Vec<Vec<u8>>>,
    pub(super) results: Vec<Result>,
    pub(super) bytes: usize,
    pub(super) since: Option<Instant>,
}

/// A result whose rows are in [`Pending::rows`].
pub(super) struct Result {
    pub(super) claimed: Claimed,
    pub(super) kind: Option<Kind>,
    pub(super) tally: Tally,
    pub(super) rules: Rules,
    pub(super) judgement: Option<Judgement>,
    pub(super) step: Step,
    pub(super) rows_bytes: usize,
}

impl Pending {
    /// Adds a result and its rows.
    pub(super) fn add(&mut self, graded: Graded) {
        let rows_bytes = graded.rows_bytes();
        let Graded { claimed, rows, tally, kind, rules, judgement, step } = graded;
        self.since.get_or_insert_with(Instant::now);
        self.bytes += rows_bytes;
        if rows_bytes > 0 {
            let blocks = self.rows.entry(report_of(&claimed.name)).or_default();
            rows.into_iter().for_each(|block| add_block(blocks, block));
        }
        self.results.push(Result { claimed, kind, tally, rules, judgement, step, rows_bytes });
    }
}

/// Adds a block of rows; small ones are put together, so that each is worth a write.
fn add_block(blocks: &mut Vec<Vec<u8>>, block: Vec<u8>) {
    match blocks.last_mut() {
        Some(last) if last.len() + block.len() <= SMALL_BLOCK_BYTES => {
            last.extend_from_slice(&block);
        }
        _ => blocks.push(block),
    }
}

impl Result {
    /// What the ledger is to know when this is committed.
    pub(super) fn outcome(&self, graded_at_ms: i64) -> Outcome {
        match &self.step {
            Step::Chunk { checkpoint, graded } => self.progressed(checkpoint, *graded),
            Step::Finished { bytes, blake3, total } => {
                let done = self.done(graded_at_ms, Status::of(total), *total);
                Outcome::Finished(Finished { bytes: *bytes, blake3: Some(*blake3), ..done })
            }
            Step::Failed { reason, total } => {
                let done = self.done(graded_at_ms, Status::Failed, *total);
                Outcome::Finished(Finished { reason: Some(reason.clone()), ..done })
            }
        }
    }

    /// How far a large submission has come with this chunk.
    fn progressed(&self, checkpoint: &str, graded: Prefix) -> Outcome {
        let before = self.claimed.progress.as_ref();
        let mut tally = before.map_or(Tally::default(), |before| before.tally);
        tally.add(&self.tally);
        let progress =
            Progress { checkpoint: checkpoint.to_owned(), tally, graded, rules: self.rules };
        let Claimed { id, name, .. } = &self.claimed;
        let (kind, cases) = (self.kind, self.tally.cases());
        Outcome::Progressed { id: *id, name: name.clone(), kind, cases, progress }
    }

    fn done(&self, graded_at_ms: i64, status: Status, tally: Tally) -> Finished {
        Finished {
            id: self.claimed.id,
            status,
            graded_at_ms,
            bytes: self.claimed.bytes,
            blake3: None,
            kind: self.kind,
            tally,
            tries: self.claimed.tries,
            reason: None,
            rules: self.rules,
        }
    }
}
