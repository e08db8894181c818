//! The rows of a report: the files of its submissions, checked against the ledger and marked again.

use super::{Error, Gap, Rebuild, Sink};
use crate::event::{ENTRY_BYTES_MAX, Judging};
use crate::model::chunks::{Chunk, Chunks, read_whole};
use crate::model::marking::{Marker, Whole, limits};
use crate::model::rows::CaseRows;
use crate::model::submission::{Rules, Signature, Status, Tally};
use crate::model::words::counted;
use crate::store::archive::hash_up_to;
use crate::store::ledger::{Piece, Record};
use crate::store::path::is_missing;
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::format::{Reader, kind_by_name};
use rayon::prelude::*;
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Seek};

/// A file of up to so many bytes is read at once, if it has up to so many cases.
const SMALL_BYTES_MAX: u64 = 256 << 10;
const SMALL_CASES_MAX: u64 = 4_096;

/// At most this many pieces are marked together, with at most this many bytes and cases.
const TOGETHER_PIECES_MAX: usize = 256;
const TOGETHER_BYTES_MAX: u64 = 8 << 20;
const TOGETHER_CASES_MAX: u64 = 32_768;

/// Why rows cannot be rebuilt.
#[derive(Debug)]
pub enum GapReason {
    /// The file is gone.
    Gone,
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is not what was graded.
    Changed(String),
}

impl fmt::Display for GapReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GapReason::Gone => f.write_str("its file is gone"),
            GapReason::Unreadable(error) => write!(f, "its file cannot be read: {error}"),
            GapReason::Changed(how) => write!(f, "its file was changed: {how}"),
        }
    }
}

/// Why rows are not rebuilt.
enum Trouble {
    /// They cannot be.
    Gap(GapReason),
    /// The system lacks something for now.
    Retry(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        let lacking = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::INTR, Errno::STALE];
        if is_missing(&error) {
            Trouble::Gap(GapReason::Gone)
        } else if lacking.iter().any(|code| error.raw_os_error() == Some(code.raw_os_error())) {
            Trouble::Retry(error)
        } else {
            Trouble::Gap(GapReason::Unreadable(error))
        }
    }
}

/// A gap because the file is not what was graded.
fn changed(how: impl Into<String>) -> Trouble {
    Trouble::Gap(GapReason::Changed(how.into()))
}

/// The rows and marks of a small submission.
struct Made {
    rows: Vec<u8>,
    kind: Option<Kind>,
    tally: Tally,
}

/// A large submission that is read piece by piece.
struct Stream {
    windows: Chunks<File>,
    before: Signature,
    case_rows: CaseRows,
    /// The window whose cases are next, and which of them is.
    window: Option<(Chunk, usize)>,
    tally: Tally,
    marks: Vec<Mark>,
    rows: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<(Vec<u8>, Whole)> = RefCell::default();
}

impl Rebuild {
    /// Gives the rows of these pieces to `sink`.
    pub(super) fn case_rows(
        &self,
        pieces: &[Piece],
        streams: &mut Streams,
        sink: &mut impl Sink,
        failed: &impl Fn(io::Error) -> Error,
    ) -> Result<(), Error> {
        for pieces in pieces.chunks(TOGETHER_PIECES_MAX) {
            let ids: Vec<i64> = pieces.iter().map(|piece| piece.submission).collect();
            let records = self.ledger.records().with_ids(&ids)?;
            let mut rest: Vec<(&Piece, &Record)> = pieces.iter().zip(&records).collect();
            while !rest.is_empty() {
                (self.on_part)();
                let together: Vec<_> = rest.drain(..few(&rest)).collect();
                for ((piece, record), made) in together.iter().zip(self.make_small(&together)) {
                    match made {
                        Some(made) => give_small(rules_of(record), record, piece, made, sink),
                        None => streams.give_next(self, record, piece, sink),
                    }
                    .map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// The rows of small submissions; none of large ones.
    fn make_small(&self, together: &[(&Piece, &Record)]) -> Vec<Option<Result<Made, Trouble>>> {
        let make = |(piece, record): &(&Piece, &Record)| {
            if is_small(piece, record) { self.small(record).transpose() } else { None }
        };
        if self.is_parallel {
            together.par_iter().map(make).collect()
        } else {
            together.iter().map(make).collect()
        }
    }

    /// The rows of a submission that is read whole; none if there are too many of them.
    fn small(&self, record: &Record) -> Result<Option<Made>, Trouble> {
        let claimed = &record.claimed;
        let (mut file, before) = self.open(record)?;
        let (mut buffer, mut whole) = SCRATCH.take();
        let bytes = before.bytes.min(SMALL_BYTES_MAX + 1) as usize;
        let is_whole = read_whole(&mut file, bytes, &mut buffer)?;
        let text = &buffer[..bytes];
        let done = record.finished.as_ref();
        if !is_whole
            || bytes as u64 != before.bytes
            || done.and_then(|done| done.blake3) != Some(*blake3::hash(text).as_bytes())
        {
            return Err(changed("it holds other bytes than those that were graded"));
        }
        let rules = rules_of(record);
        let failed = |error| Trouble::Retry(io::Error::other(error));
        if let Some(definitions) = self.definitions.of(rules.definitions).map_err(failed)? {
            let case_rows =
                CaseRows::new(&claimed.name, claimed.attempt, rules.neutralise_formulas);
            whole.rows.clear();
            let judged = definitions.judge(&claimed.name, text, &rules, |number, kind, mark| {
                case_rows.append(number, Some(kind), mark, &mut whole.rows);
            });
            if let Some(Judging { kind, tally, .. }) = judged {
                let made = Made { rows: whole.rows.clone(), kind: Some(kind), tally };
                SCRATCH.replace((buffer, whole));
                return Ok(Some(made));
            }
        }
        let submission = (&claimed.name, claimed.attempt, text);
        let rows_max = SMALL_BYTES_MAX as usize * 16;
        let marked = whole.mark(submission, (self.judge, &rules), self.chunk_cases_max, rows_max);
        let made = marked.map(|(kind, tally)| Made { rows: whole.rows.clone(), kind, tally });
        SCRATCH.replace((buffer, whole));
        Ok(made)
    }

    /// Opens the file of a submission, wherever it lies, if it is as long as it should be.
    fn open(&self, record: &Record) -> Result<(File, Signature), Trouble> {
        let claimed = &record.claimed;
        let done = record.finished.as_ref();
        let has_failed = done.is_some_and(|done| done.status == Status::Failed);
        // It may have failed, and been moved, since the record was read.
        let file = match self.archive.read(&claimed.archived_as) {
            Err(error) if has_failed || is_missing(&error) => {
                self.archive.read_quarantined(&claimed.archived_as)?
            }
            opened => opened?,
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(changed("it is no longer a regular file"));
        }
        let found = Signature::of(&metadata);
        // Of one that is not done, the part that was graded is known by its hash.
        if let Some(bytes) = done.map(|done| done.bytes)
            && found.bytes != bytes
            && !has_failed
        {
            let found = counted(found.bytes, "byte");
            return Err(changed(format!("it has {found}, and had {bytes}")));
        }
        Ok((file, found))
    }

    /// Opens a large submission, if what was graded of it is what it holds. One that failed half-way may have
    /// been handed in again: then the file of a later attempt holds it.
    fn stream(&self, record: &Record) -> Result<Stream, Trouble> {
        let has_failed = record.finished.as_ref().is_some_and(|done| done.status == Status::Failed);
        match self.stream_from(record, record) {
            Err(Trouble::Gap(why)) if has_failed => {
                let attempts = self.ledger.records().of_name(&record.claimed.name);
                let attempts = attempts.map_err(|error| Trouble::Retry(io::Error::other(error)))?;
                let is_later = |other: &&Record| other.claimed.attempt > record.claimed.attempt;
                for later in attempts.iter().filter(is_later) {
                    match self.stream_from(record, later) {
                        Err(Trouble::Gap(_)) => {}
                        found => return found,
                    }
                }
                Err(Trouble::Gap(why))
            }
            found => found,
        }
    }

    /// The same from the file of this attempt.
    fn stream_from(&self, record: &Record, holder: &Record) -> Result<Stream, Trouble> {
        let (mut file, before) = self.open(holder)?;
        let finished = record.finished.as_ref();
        let whole = finished.and_then(|done| done.blake3.map(|blake3| (done.bytes, blake3)));
        let graded = whole.or(record.graded.map(|graded| (graded.bytes, graded.blake3)));
        match graded {
            Some((bytes, blake3)) => {
                let mut hasher = blake3::Hasher::new();
                let on_part = || {
                    (self.on_part)();
                    Ok::<(), Trouble>(())
                };
                let is_long_enough = hash_up_to(bytes, &file, &mut hasher, on_part)?;
                if !is_long_enough || *hasher.finalize().as_bytes() != blake3 {
                    return Err(changed("it holds other bytes than those that were graded"));
                }
                file.rewind()?;
            }
            None => {
                return Err(changed("the ledger does not know what was graded of it"));
            }
        }
        let (claimed, rules) = (&record.claimed, rules_of(record));
        let reader = Reader::new(kind_by_name(claimed.name.as_bytes()), limits(&rules));
        Ok(Stream {
            windows: Chunks::new(file, reader, self.chunk_bytes_max, self.chunk_cases_max),
            before,
            case_rows: CaseRows::new(&claimed.name, claimed.attempt, rules.neutralise_formulas),
            window: None,
            tally: Tally::default(),
            marks: Vec::new(),
            rows: Vec::new(),
        })
    }
}

/// How many of these are marked together.
fn few(pieces: &[(&Piece, &Record)]) -> usize {
    let (mut bytes, mut cases) = (0, 0);
    let fits = |(piece, record): &&(&Piece, &Record)| {
        bytes += record.claimed.bytes.min(TOGETHER_BYTES_MAX);
        cases += piece.cases.min(TOGETHER_CASES_MAX);
        bytes <= TOGETHER_BYTES_MAX && cases <= TOGETHER_CASES_MAX
    };
    pieces.iter().take_while(fits).count().max(1)
}

/// The rules by which a submission was graded. One that has rows has rules.
fn rules_of(record: &Record) -> Rules {
    const NONE: Rules = Rules {
        case_bytes_max: 0,
        missing_cases_max: 0,
        neutralise_formulas: true,
        definitions: None,
    };
    record.rules().unwrap_or(NONE)
}

/// Whether a piece is all of a submission that is read whole. An entry always is.
fn is_small(piece: &Piece, record: &Record) -> bool {
    record.finished.as_ref().is_some_and(|done| {
        done.blake3.is_some()
            && done.tally.cases() == piece.cases
            && (done.bytes <= SMALL_BYTES_MAX && piece.cases <= SMALL_CASES_MAX
                || done.rules.definitions.is_some() && done.bytes <= ENTRY_BYTES_MAX)
    })
}

/// Gives the rows of a small submission to the sink.
fn give_small(
    rules: Rules,
    record: &Record,
    piece: &Piece,
    made: Result<Made, Trouble>,
    sink: &mut impl Sink,
) -> io::Result<()> {
    match made {
        Ok(made) => {
            sink.rows(&made.rows)?;
            sink.marked(record, made.kind, &made.tally);
            Ok(())
        }
        Err(Trouble::Retry(error)) => Err(error),
        Err(Trouble::Gap(why)) => {
            let (first_case, cases) = (1, piece.cases);
            sink.gap(&Gap { record, rules, first_case, cases, why: &why, is_first: true })
        }
    }
}

/// The large submissions of which some cases have their rows and others have not.
#[derive(Default)]
pub(super) struct Streams {
    open: HashMap<i64, Stream>,
    /// Those that cannot be read, with the number of cases that are left out so far.
    broken: HashMap<i64, u64>,
}

impl Streams {
    /// Gives the rows of the next cases of a large submission to the sink.
    fn give_next(
        &mut self,
        rebuild: &Rebuild,
        record: &Record,
        piece: &Piece,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let (id, cases) = (piece.submission, piece.cases);
        let rules = rules_of(record);
        if let Some(passed) = self.broken.get_mut(&id) {
            let first_case = *passed + 1;
            *passed += cases;
            let why = &GapReason::Gone;
            return sink.gap(&Gap { record, rules, first_case, cases, why, is_first: false });
        }
        let mut stream = match self.open.remove(&id) {
            Some(stream) => stream,
            None => match rebuild.stream(record) {
                Ok(stream) => stream,
                Err(Trouble::Retry(error)) => return Err(error),
                Err(Trouble::Gap(why)) => {
                    self.broken.insert(id, cases);
                    let (first_case, is_first, why) = (1, true, &why);
                    return sink.gap(&Gap { record, rules, first_case, cases, why, is_first });
                }
            },
        };
        let kind = stream.next(rebuild, cases, sink)?;
        let done = record.finished.as_ref();
        let all =
            done.map(|done| done.tally).or(record.claimed.progress.as_ref().map(|it| it.tally));
        let has_all = all.is_some_and(|all| stream.tally.cases() >= all.cases());
        if has_all {
            sink.marked(record, kind, &stream.tally);
        }
        // More cases may be committed while it is still being graded.
        if !has_all || done.is_none() {
            self.open.insert(id, stream);
        }
        Ok(())
    }
}

impl Stream {
    /// Gives the rows of the next so many cases to `sink`.
    fn next(
        &mut self,
        rebuild: &Rebuild,
        cases: u64,
        sink: &mut impl Sink,
    ) -> io::Result<Option<Kind>> {
        let mut left = cases;
        let mut kind = None;
        while left > 0 {
            let (window, at) = match self.window.take() {
                Some(window) => window,
                None => match self.next_window()? {
                    Some(window) => (window, 0),
                    None => {
                        return Err(io::Error::other("a file has fewer cases than were graded"));
                    }
                },
            };
            (rebuild.on_part)();
            kind = window.kind();
            let found = window.found();
            let end = found.cases.len().min(at + usize::try_from(left).unwrap_or(usize::MAX - at));
            let marker = Marker { judge: rebuild.judge, rows: &self.case_rows, kind };
            let (first, marks, rows) = (self.tally.cases() + 1, &mut self.marks, &mut self.rows);
            let tally = marker.mark(window.text(), found, at..end, first, marks, rows);
            self.tally.add(&tally);
            left -= tally.cases();
            sink.rows(rows)?;
            rows.clear();
            if end < found.cases.len() {
                self.window = Some((window, end));
            } else {
                self.windows.reuse(window);
            }
        }
        Ok(kind)
    }

    fn next_window(&mut self) -> io::Result<Option<Chunk>> {
        let window = self.windows.next_chunk()?;
        if Signature::of(&self.windows.input().metadata()?) != self.before {
            return Err(io::Error::other("a file in the archive changed while it was read"));
        }
        Ok(window)
    }
}
