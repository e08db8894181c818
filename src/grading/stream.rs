//! A large file: read chunk by chunk, in bounded memory, and handed on chunk by chunk.

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

/// A large file on its way through grading.
struct Stream {
    file: File,
    before: Signature,
    reader: Reader,
    hasher: blake3::Hasher,
    rows: CaseRows,
    /// What has been read and not been done with, followed by room for more.
    window: Vec<u8>,
    filled: usize,
    at_end: bool,
    found: Found,
    total: Tally,
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
        let settings = &self.parts.settings;
        loop {
            stream.fill(settings.chunk_bytes_max)?;
            let start = Instant::now();
            let (graded, over) = self.grade_chunk(&mut stream, claimed);
            event::batch_graded(graded.kind, graded.tally.cases(), start.elapsed());
            if Signature::of(&stream.file.metadata()?) != stream.before {
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
        let window = vec![0; self.parts.settings.chunk_bytes_max.max(window_min) + window_min];
        let found = Found { cases_max: self.parts.settings.chunk_cases_max, ..Found::default() };
        let rows = self.case_rows(claimed);
        Ok(Stream {
            file,
            before,
            reader,
            hasher,
            rows,
            window,
            filled: 0,
            at_end: false,
            found,
            total,
        })
    }

    /// Grades what the window holds, as far as it is whole. Whether that was the last of it.
    fn grade_chunk(&self, stream: &mut Stream, claimed: &Claimed) -> (Graded, bool) {
        let Stream { reader, found, rows, window, filled, at_end, total, .. } = stream;
        found.clear();
        let text = &window[..*filled];
        let consumed = reader.read(text, *at_end, found);
        let kind = reader.kind();
        let marker = Marker { judge: self.parts.judge, rows, kind };
        let first_number = total.cases() + 1;
        let tasks = (0..found.cases.len()).step_by(CASES_A_TASK).collect::<Vec<_>>();
        let done: Vec<(Vec<u8>, Tally)> = self.parts.pool.install(|| {
            tasks
                .par_iter()
                .map_init(Vec::<Mark>::new, |marks, &start| {
                    let cases = start..(start + CASES_A_TASK).min(found.cases.len());
                    let number = first_number + start as u64;
                    let mut rows = Vec::new();
                    let tally = marker.mark(text, found, cases, number, marks, &mut rows);
                    (rows, tally)
                })
                .collect()
        });
        let mut tally = Tally::default();
        let mut all_rows = Vec::with_capacity(done.iter().map(|(rows, _)| rows.len()).sum());
        for (rows, part) in &done {
            all_rows.extend_from_slice(rows);
            tally.add(part);
        }
        total.add(&tally);
        let over = *at_end && !found.capped;
        let step = if over {
            let (bytes, blake3) = (stream.before.bytes, *stream.hasher.finalize().as_bytes());
            Step::Finished { bytes, blake3, total: *total }
        } else {
            Step::Chunk { checkpoint: reader.checkpoint() }
        };
        window.copy_within(consumed..*filled, 0);
        *filled -= consumed;
        (Graded { claimed: claimed.clone(), rows: all_rows, tally, kind, step }, over)
    }
}

impl Stream {
    /// Reads on until the window holds so many bytes, or the file ends.
    fn fill(&mut self, chunk_bytes: usize) -> io::Result<()> {
        let wanted = chunk_bytes.min(self.window.len());
        while self.filled < wanted && !self.at_end {
            let read = match self.file.read(&mut self.window[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            self.at_end = read == 0;
            self.hasher.update(&self.window[self.filled..self.filled + read]);
            self.filled += read;
            event::bytes_read(read as u64);
        }
        Ok(())
    }
}
