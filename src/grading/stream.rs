//! A large file: read chunk by chunk, in bounded memory, and handed on chunk by chunk.
//!
//! While the pool marks the cases of one chunk, the stream's own thread reads and hashes the next.

use super::{
    CASES_A_TASK, Claimed, Found, Graded, Grading, Marker, Signature, Step, Tally, Trouble, event,
    guarded,
};
use crate::board::Mark;
use crate::format::{Reader, kind_by_name};
use crate::rows::CaseRows;
use crate::submission::Progress;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Read};
use std::time::Instant;

/// Cases whose rows are one block.
const CASES_A_BLOCK: usize = 4 * CASES_A_TASK;

/// A large file on its way through grading.
struct Stream {
    source: Source,
    before: Signature,
    reader: Reader,
    rows: CaseRows,
    /// What has been read and not been done with, in the first so many bytes.
    window: Vec<u8>,
    filled: usize,
    /// What becomes the window next.
    next_window: Vec<u8>,
    found: Found,
    total: Tally,
}

/// Where the bytes come from.
struct Source {
    file: File,
    hasher: blake3::Hasher,
    chunk_bytes: usize,
    at_end: bool,
}

impl Grading {
    /// Grades one large file, and hands on a chunk at a time.
    pub(super) fn grade_stream(&self, mut claimed: Claimed) {
        let graded = guarded(|| self.stream(&mut claimed));
        if let Err(trouble) = graded {
            let progress = claimed.progress.as_ref();
            let total = progress.map_or(Tally::default(), |progress| progress.tally);
            let trouble = match trouble {
                // Rows that were handed on cannot be taken back, so it cannot start afresh.
                Trouble::Changed(why) if progress.is_some() => {
                    claimed.tries = self.parts.settings.tries_max;
                    Trouble::Failed(format!("{why}, after a part of it had been graded"))
                }
                other => other,
            };
            if let Some(failed) = self.deal_with(trouble, claimed, total) {
                self.parts.queue.graded(1);
                self.hand_on(vec![failed]);
            }
        }
    }

    fn stream(&self, claimed: &mut Claimed) -> Result<(), Trouble> {
        let mut stream = self.open_stream(claimed)?;
        stream.filled = stream.source.fill(&mut stream.window, 0)?;
        loop {
            let start = Instant::now();
            let (graded, over) = self.grade_chunk(&mut stream, claimed)?;
            event::batch_graded(graded.kind, graded.tally.cases(), start.elapsed());
            if Signature::of(&stream.source.file.metadata()?) != stream.before {
                return Err(Trouble::Changed("it changed while it was read".into()));
            }
            if let Step::Chunk { checkpoint } = &graded.step {
                claimed.progress =
                    Some(Progress { checkpoint: checkpoint.clone(), tally: stream.total });
            }
            if over {
                self.parts.queue.graded(1);
            }
            self.hand_on(vec![graded]);
            if over {
                return Ok(());
            }
            if self.parts.queue.is_abandoned() {
                // What could not be committed is left to the next start, and so is the rest.
                self.parts.queue.graded(1);
                return Ok(());
            }
        }
    }

    fn open_stream(&self, claimed: &Claimed) -> Result<Stream, Trouble> {
        let (mut file, before) = self.open(claimed)?;
        let kind = kind_by_name(claimed.name.as_bytes());
        let mut hasher = blake3::Hasher::new();
        let (reader, total) = match &claimed.progress {
            None => (Reader::new(kind, self.limits()), Tally::default()),
            Some(progress) => {
                let reader = Reader::resume(kind, self.limits(), &progress.checkpoint)
                    .map_err(|error| Trouble::Failed(format!("its checkpoint: {error}")))?;
                // Of what is graded already only the hash is not known.
                let done = io::copy(&mut (&mut file).take(reader.offset()), &mut hasher)?;
                if done != reader.offset() {
                    return Err(Trouble::Changed("it is shorter than before".into()));
                }
                (reader, progress.tally)
            }
        };
        let window_min = Reader::window_bytes_min(self.limits());
        let chunk_bytes = self.parts.settings.chunk_bytes_max.max(window_min);
        let window = vec![0; chunk_bytes];
        let found = Found { cases_max: self.parts.settings.chunk_cases_max, ..Found::default() };
        Ok(Stream {
            source: Source { file, hasher, chunk_bytes, at_end: false },
            before,
            reader,
            rows: self.case_rows(claimed),
            next_window: window.clone(),
            window,
            filled: 0,
            found,
            total,
        })
    }

    /// Grades what the window holds, as far as it is whole, and reads on meanwhile. Whether that
    /// was the last of it.
    fn grade_chunk(
        &self,
        stream: &mut Stream,
        claimed: &Claimed,
    ) -> Result<(Graded, bool), Trouble> {
        let Stream { source, reader, found, rows, window, filled, next_window, total, .. } = stream;
        found.clear();
        let text = &window[..*filled];
        let consumed = reader.read(text, source.at_end, found);
        let over = source.at_end && !found.capped;
        let rest = &text[consumed..];
        next_window[..rest.len()].copy_from_slice(rest);
        let kind = reader.kind();
        let marker = Marker { judge: self.parts.judge, rows, kind };
        let (mut blocks, mut read) = (Vec::new(), Ok(0));
        let first_number = total.cases() + 1;
        self.parts.pool.in_place_scope(|scope| {
            scope.spawn(|_| blocks = mark_blocks(&marker, text, found, first_number));
            read = source.fill(next_window, rest.len());
        });
        let mut tally = Tally::default();
        let mut all_rows = Vec::with_capacity(blocks.len());
        for (rows, part) in blocks {
            tally.add(&part);
            all_rows.push(rows);
        }
        total.add(&tally);
        let step = if over {
            let (bytes, blake3) = (stream.before.bytes, *source.hasher.finalize().as_bytes());
            Step::Finished { bytes, blake3, total: *total }
        } else {
            Step::Chunk { checkpoint: reader.checkpoint() }
        };
        *filled = read?;
        std::mem::swap(window, next_window);
        Ok((Graded { claimed: claimed.clone(), rows: all_rows, tally, kind, step }, over))
    }
}

/// Marks all cases that were found, the first of which has this number, in blocks and in order.
fn mark_blocks(
    marker: &Marker<'_>,
    text: &[u8],
    found: &Found,
    first_number: u64,
) -> Vec<(Vec<u8>, Tally)> {
    let blocks = (0..found.cases.len()).step_by(CASES_A_BLOCK).collect::<Vec<_>>();
    blocks
        .par_iter()
        .map_init(Vec::<Mark>::new, |marks, &start| {
            let cases = start..(start + CASES_A_BLOCK).min(found.cases.len());
            let mut rows = Vec::new();
            let number = first_number + start as u64;
            let tally = marker.mark(text, found, cases, number, marks, &mut rows);
            (rows, tally)
        })
        .collect()
}

impl Source {
    /// Reads on behind the first `filled` bytes of `window` until it holds a chunk, or the file
    /// ends. How many bytes it holds then.
    fn fill(&mut self, window: &mut [u8], mut filled: usize) -> io::Result<usize> {
        while filled < self.chunk_bytes && !self.at_end {
            let read = match self.file.read(&mut window[filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            self.at_end = read == 0;
            self.hasher.update(&window[filled..filled + read]);
            filled += read;
            event::bytes_read(read as u64);
        }
        Ok(filled)
    }
}
