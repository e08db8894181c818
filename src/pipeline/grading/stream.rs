//! A large file: read, marked and passed on chunk by chunk, in bounded memory.
//!
//! Three things happen at the same time. The stream's own thread reads ahead and finds cases; the pool marks
//! them, one chunk per thread; and one more thread hashes the bytes and passes the rows on in the order of the
//! file. Each chunk carries a checkpoint, so that after a crash or a turn of other large files grading resumes
//! there; the hash of the graded part shows whether it is still the same file.

use super::HAS_NULS;
use super::{
    Claimed, Graded, Grading, Marker, Signature, Slot, Step, Tally, Trouble, emit, guarded, limits,
};
use crate::model::chunks::{Chunk, Chunks};
use crate::model::rows::CaseRows;
use crate::model::submission::{Prefix, Progress};
use crate::pipeline::queue::Requeue;
use crate::store::archive;
use crate::store::fail_point::Point;
use crate::store::recovery::lost;
use gridmark_core::format::{Reader, kind_by_name};
use gridmark_core::judge::Judge;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A large file that is being read.
struct Stream {
    chunks: Chunks<Metered>,
    /// The file's signature when it was opened.
    before: Signature,
    marking: Marking,
    /// The number of its next case, from 1.
    next_case: u64,
}

/// What the pool needs to mark the chunks of a stream.
#[derive(Clone)]
struct Marking {
    judge: Judge,
    rows: Arc<CaseRows>,
}

/// A file that counts the bytes read from it in a metric.
struct Metered(File);

/// A chunk that was sent to the pool.
struct SentChunk {
    chunk: Arc<Chunk>,
    /// Receives its marks.
    marked: Receiver<Result<Marked, Trouble>>,
    /// The state of the reader after it; `None` after the last chunk.
    checkpoint: Option<String>,
}

/// The result of the pool for a chunk.
struct Marked {
    rows: Vec<u8>,
    tally: Tally,
    took: Duration,
}

/// What is kept of a large file that waits for its next turn, so that the graded part need not be hashed
/// again.
pub(super) struct HalfWay {
    /// The file's signature when it was opened.
    before: Signature,
    /// The hash state after the graded part.
    hasher: blake3::Hasher,
}

/// How far a file has been passed on.
struct HandedOn {
    hasher: blake3::Hasher,
    total: Tally,
    /// What the file looked like before.
    before: Signature,
    /// When it is the turn of others.
    turn_ends: Instant,
    /// The sync of the file, until it is finished: no chunk may be committed before.
    sync: Option<JoinHandle<io::Result<()>>>,
}

impl Grading {
    /// Grades one large file and passes its rows on chunk by chunk.
    pub(super) fn grade_stream(&self, mut claimed: Claimed) {
        if claimed.progress.is_none() && self.is_entry(&claimed).unwrap_or(false) {
            return self.grade_batch(vec![claimed]);
        }
        let slot = self.begin(std::slice::from_ref(&claimed));
        let graded = guarded(|| self.stream(&mut claimed, &slot));
        drop(slot);
        if let Err(trouble) = graded {
            let progress = claimed.progress.as_ref();
            let total = progress.map_or(Tally::default(), |progress| progress.tally);
            let trouble = match trouble {
                // Committed rows cannot be taken back, so it cannot start again.
                Trouble::Changed(why) if progress.is_some() => {
                    claimed.tries += 1;
                    Trouble::FailedForGood(format!("{why}, after a part of it had been graded"))
                }
                other => other,
            };
            if let Some(failed) = self.deal_with(trouble, claimed, total) {
                self.dependencies.queue.graded(1);
                self.hand_on(vec![failed], None);
            }
        }
    }

    fn stream(&self, claimed: &mut Claimed, slot: &Slot<'_>) -> Result<(), Trouble> {
        let (stream, handed_on) = self.open_stream(claimed, slot)?;
        let (send, chunks) = sync_channel(self.dependencies.settings.get().chunks_ahead_max);
        let (give_back, spare) = channel();
        thread::scope(|scope| {
            let hand_on =
                move || self.hand_on_chunks((claimed, slot), handed_on, &chunks, &give_back);
            let handing_on =
                thread::Builder::new().name("hand-on".into()).spawn_scoped(scope, hand_on)?;
            let read = self.read_chunks(stream, send, &spare);
            match handing_on.join() {
                Ok(Ok(false)) => read,
                Ok(handed_on) => handed_on.map(drop),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    fn open_stream(
        &self,
        claimed: &Claimed,
        slot: &Slot<'_>,
    ) -> Result<(Stream, HandedOn), Trouble> {
        let (file, before) = self.open(claimed)?;
        let settings = self.dependencies.settings.get();
        let kind = kind_by_name(claimed.name.as_bytes());
        #[cfg(debug_assertions)]
        super::hooks::run(&claimed.name)?;
        let mut hasher = blake3::Hasher::new();
        let rules = self.rules_for(claimed);
        if claimed.check_nuls && self.has_nuls(&file, slot)? {
            return Err(Trouble::FailedForGood(lost(HAS_NULS)));
        }
        let (reader, total) = match &claimed.progress {
            None => (Reader::new(kind, limits(&rules)), Tally::default()),
            Some(progress) => {
                let reader = Reader::resume(kind, limits(&rules), &progress.checkpoint)
                    .map_err(|error| Trouble::Failed(format!("its checkpoint: {error}")))?;
                let half_way = self.half_way().remove(&claimed.id).filter(|half_way| {
                    half_way.before == before && half_way.hasher.count() == reader.offset()
                });
                match half_way {
                    Some(half_way) => {
                        hasher = half_way.hasher;
                        (&file).seek(SeekFrom::Start(reader.offset()))?;
                    }
                    None => {
                        self.hash_up_to(reader.offset(), &file, &mut hasher, slot)?;
                        is_as_it_was(progress, &hasher)?;
                    }
                }
                (reader, progress.tally)
            }
        };
        let (bytes_max, cases_max) = (settings.chunk_bytes_max, settings.chunk_cases_max);
        let rows = Arc::new(self.case_rows(claimed, &rules));
        let turn_ends = Instant::now() + Duration::from_millis(settings.turn_ms_max);
        let to_sync = file.try_clone()?;
        let sync = thread::Builder::new().name("sync".into()).spawn(move || to_sync.sync_all())?;
        let handed_on = HandedOn { hasher, total, before, turn_ends, sync: Some(sync) };
        let stream = Stream {
            chunks: Chunks::new(Metered(file), reader, bytes_max, cases_max),
            before,
            marking: Marking { judge: self.dependencies.judge, rows },
            next_case: total.cases() + 1,
        };
        Ok((stream, handed_on))
    }

    /// Whether a file holds NULs, which is read to its end and then from its beginning again.
    fn has_nuls(&self, file: &File, slot: &Slot<'_>) -> Result<bool, Trouble> {
        let mut buffer = vec![0; 1 << 20];
        let mut at = 0;
        loop {
            slot.progress();
            match file.read_at(&mut buffer, at)? {
                0 => return Ok(false),
                read if buffer[..read].contains(&0) => return Ok(true),
                read => at += read as u64,
            }
        }
    }

    fn half_way(&self) -> MutexGuard<'_, HashMap<i64, HalfWay>> {
        self.half_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hashes the part of a file that is already graded, to compare it and to continue the hash.
    fn hash_up_to(
        &self,
        offset: u64,
        file: &File,
        hasher: &mut blake3::Hasher,
        slot: &Slot<'_>,
    ) -> Result<(), Trouble> {
        let on_part = || {
            slot.progress();
            if self.dependencies.queue.leaves_large() { Err(Trouble::Left) } else { Ok(()) }
        };
        if archive::hash_up_to(offset, file, hasher, on_part)? {
            Ok(())
        } else {
            Err(Trouble::Changed("it is shorter than before".into()))
        }
    }

    /// Reads to the end of the file, or until the receiver of `chunks` is gone. `spare` receives chunks
    /// whose memory can be reused.
    fn read_chunks(
        &self,
        mut stream: Stream,
        chunks: SyncSender<SentChunk>,
        spare: &Receiver<Chunk>,
    ) -> Result<(), Trouble> {
        while let Some(chunk) = stream.chunks.next_chunk()? {
            if Signature::of(&stream.chunks.input().0.metadata()?) != stream.before {
                return Err(Trouble::Changed("it changed while it was read".into()));
            }
            let checkpoint = (!chunk.is_last()).then(|| stream.chunks.reader().checkpoint());
            let chunk = Arc::new(chunk);
            let (reply, marked) = sync_channel(1);
            let (marking, first) = (stream.marking.clone(), stream.next_case);
            stream.next_case += chunk.found().cases.len() as u64;
            let to_mark = Arc::clone(&chunk);
            self.dependencies.pool.spawn(move || {
                let marked = guarded(move || Ok(marking.mark(&to_mark, first)));
                // If the stream ended early, nothing receives it.
                let _ = reply.send(marked);
            });
            if chunks.send(SentChunk { chunk, marked, checkpoint }).is_err() {
                return Ok(());
            }
            spare.try_iter().for_each(|chunk| stream.chunks.reuse(chunk));
        }
        Ok(())
    }

    /// Hands chunks on until there are no more. Returns whether that settles the file: all of it was handed
    /// on, or the rest is left to its next turn or to the next start.
    fn hand_on_chunks(
        &self,
        (claimed, slot): (&mut Claimed, &Slot<'_>),
        mut handed_on: HandedOn,
        chunks: &Receiver<SentChunk>,
        give_back: &Sender<Chunk>,
    ) -> Result<bool, Trouble> {
        for SentChunk { chunk, marked, checkpoint } in chunks {
            slot.progress();
            handed_on.hasher.update(chunk.consumed());
            let lost = |_| Err(Trouble::Failed("the thread that marked it is gone".into()));
            let Marked { rows, tally, took } = marked.recv().unwrap_or_else(lost)?;
            slot.pause(|| handed_on.wait_for_sync())?;
            let kind = chunk.kind();
            emit::batch_graded(kind, tally.cases(), took);
            handed_on.total.add(&tally);
            let step = handed_on.step(checkpoint);
            let next = self.next_after(&step, claimed, handed_on.turn_ends);
            let before = claimed.clone();
            let rules = self.rules_for(claimed);
            if let Step::Chunk { checkpoint, graded } = &step {
                let (checkpoint, graded) = (checkpoint.clone(), *graded);
                let tally = handed_on.total;
                claimed.progress = Some(Progress { checkpoint, tally, graded, rules });
            }
            if matches!(next, Next::Done) {
                self.dependencies.queue.graded(1);
            }
            let is_done = matches!(step, Step::Finished { .. });
            let definitions = if is_done { self.definitions_of(claimed)? } else { None };
            let judgement = definitions.and_then(|it| it.unjudged(&claimed.name, false));
            let rows = vec![rows];
            let graded = Graded { claimed: before, rows, tally, kind, rules, judgement, step };
            Point::ChunkMarked.pass();
            self.hand_on(vec![graded], Some(slot));
            Point::ChunkHandedOn.pass();
            match next {
                Next::Chunk => {}
                Next::Done => return Ok(true),
                Next::Start => {
                    self.dependencies.queue.requeue(claimed.clone(), Requeue::NextStart);
                    return Ok(true);
                }
                Next::Turn => {
                    let hasher = handed_on.hasher.clone();
                    let half_way = HalfWay { before: handed_on.before, hasher };
                    self.half_way().insert(claimed.id, half_way);
                    emit::turn_over(&claimed.name);
                    self.dependencies.queue.requeue(claimed.clone(), Requeue::Large);
                    return Ok(true);
                }
            }
            if let Some(chunk) = Arc::into_inner(chunk) {
                let _ = give_back.send(chunk);
            }
        }
        Ok(false)
    }

    /// Where the file goes on after this step.
    fn next_after(&self, step: &Step, claimed: &Claimed, turn_ends: Instant) -> Next {
        let queue = &self.dependencies.queue;
        if matches!(step, Step::Finished { .. }) {
            Next::Done
        } else if queue.leaves_large() {
            Next::Start
        } else if queue.is_abandoned() {
            // Results are not committed any more, so the next start goes on where the ledger is.
            Next::Done
        } else if claimed.crashes == 0 && turn_ends <= Instant::now() && queue.has_large() {
            Next::Turn
        } else {
            Next::Chunk
        }
    }
}

/// Where a large file goes on after a chunk.
enum Next {
    /// With its next chunk.
    Chunk,
    /// It does not: this was the last chunk, or nothing is committed any more.
    Done,
    /// At its next turn: other large files wait.
    Turn,
    /// At the next start.
    Start,
}

impl HandedOn {
    /// Waits until the file's bytes are durable. If they cannot be written, the system may have dropped them, and
    /// a further sync would not report that again.
    fn wait_for_sync(&mut self) -> Result<(), Trouble> {
        let Some(sync) = self.sync.take() else {
            return Ok(());
        };
        match sync.join() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                Err(Trouble::FailedForGood(format!("cannot make its file durable: {error}")))
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// How far the file has come with this checkpoint, or without one at its end.
    fn step(&self, checkpoint: Option<String>) -> Step {
        match checkpoint {
            Some(checkpoint) => Step::Chunk { checkpoint, graded: prefix(&self.hasher) },
            None => {
                let blake3 = *self.hasher.finalize().as_bytes();
                Step::Finished { bytes: self.before.bytes, blake3, total: self.total }
            }
        }
    }
}

/// Makes sure that what an earlier run has graded is still the same.
fn is_as_it_was(progress: &Progress, hasher: &blake3::Hasher) -> Result<(), Trouble> {
    let found = prefix(hasher);
    if progress.graded != found {
        let why = format!("its first {} bytes are not those that they were", found.bytes);
        return Err(Trouble::Changed(why));
    }
    Ok(())
}

/// The part of a file that is hashed so far.
fn prefix(hasher: &blake3::Hasher) -> Prefix {
    Prefix { bytes: hasher.count(), blake3: *hasher.finalize().as_bytes() }
}

impl Marking {
    /// Marks all cases of a chunk, the first of which has number `first_case`.
    fn mark(&self, chunk: &Chunk, first_case: u64) -> Marked {
        let start = Instant::now();
        let marker = Marker { judge: self.judge, rows: &self.rows, kind: chunk.kind() };
        let (found, mut marks) = (chunk.found(), Vec::new());
        let mut rows = Vec::with_capacity(self.rows.bytes_of(found.cases.len()));
        let cases = 0..found.cases.len();
        let tally = marker.mark(chunk.text(), found, cases, first_case, &mut marks, &mut rows);
        Marked { rows, tally, took: start.elapsed() }
    }
}

impl Read for Metered {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(space)?;
        emit::bytes_read(read as u64);
        Ok(read)
    }
}
