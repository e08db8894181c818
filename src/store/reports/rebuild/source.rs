//! Rows had again: the files of submissions, made sure of and marked once more.

use super::{Error, Gap, Rebuild, Sink};
use crate::model::chunks::{Chunk, Chunks, read_whole};
use crate::model::marking::{Marker, Whole, limits};
use crate::model::rows::CaseRows;
use crate::model::submission::{Rules, Signature, Status, Tally};
use crate::store::archive::hash_up_to;
use crate::store::ledger::{Piece, Record};
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::format::{Reader, kind_by_name};
use gridmark_core::judge::Judge;
use rayon::prelude::*;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Seek};

/// A file of up to so many bytes is read at once, if it has up to so many cases.
const SMALL_BYTES_MAX: u64 = 256 << 10;
const SMALL_CASES_MAX: u64 = 4_096;

/// So many pieces are looked at together, unless they are large.
const TOGETHER_PIECES_MAX: usize = 256;
const TOGETHER_BYTES_MAX: u64 = 8 << 20;
const TOGETHER_CASES_MAX: u64 = 32_768;

/// Why rows cannot be had again.
#[derive(Debug)]
pub enum Why {
    /// The file is gone.
    Gone,
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is not what was graded.
    Changed(String),
    /// It is not known what was graded.
    Unknown,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Gone => f.write_str("its file is gone"),
            Why::Unreadable(error) => write!(f, "its file cannot be read: {error}"),
            Why::Changed(how) => write!(f, "its file was changed: {how}"),
            Why::Unknown => f.write_str("it failed, and it was not noted what had been graded"),
        }
    }
}

impl From<io::Error> for Why {
    fn from(error: io::Error) -> Why {
        match error.kind() {
            io::ErrorKind::NotFound => Why::Gone,
            _ => Why::Unreadable(error),
        }
    }
}

/// What is made of a small submission.
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
        sink: &mut impl Sink,
        failed: &impl Fn(io::Error) -> Error,
    ) -> Result<(), Error> {
        let mut streams = Streams::default();
        for pieces in pieces.chunks(TOGETHER_PIECES_MAX) {
            let ids: Vec<i64> = pieces.iter().map(|piece| piece.submission).collect();
            let records = self.ledger.records_of(&ids)?;
            let mut rest: Vec<(&Piece, &Record)> = pieces.iter().zip(&records).collect();
            while !rest.is_empty() {
                let together: Vec<_> = rest.drain(..few(&rest)).collect();
                for ((piece, record), made) in together.iter().zip(self.make_small(&together)) {
                    match made {
                        Some(made) => hand_on(self.rules_of(record), record, piece, made, sink),
                        None => streams.hand_on(self, record, piece, sink),
                    }
                    .map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    fn rules_of(&self, record: &Record) -> Rules {
        record.rules.unwrap_or(self.rules)
    }

    /// The rows of small submissions; none of large ones.
    fn make_small(&self, together: &[(&Piece, &Record)]) -> Vec<Option<Result<Made, Why>>> {
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
    fn small(&self, record: &Record) -> Result<Option<Made>, Why> {
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
            return Err(Why::Changed("it holds other bytes than those that were graded".into()));
        }
        let rules = self.rules_of(record);
        let submission = (&claimed.name, claimed.attempt, text);
        let rows_max = SMALL_BYTES_MAX as usize * 16;
        let marked = whole.mark(submission, (self.judge, &rules), self.chunk_cases_max, rows_max);
        let made = marked.map(|(kind, tally)| Made { rows: whole.rows.clone(), kind, tally });
        SCRATCH.replace((buffer, whole));
        Ok(made)
    }

    /// Opens the file of a submission, wherever it lies, if it is as long as it should be.
    fn open(&self, record: &Record) -> Result<(File, Signature), Why> {
        let claimed = &record.claimed;
        let done = record.finished.as_ref();
        let has_failed = done.is_some_and(|done| done.status == Status::Failed);
        let file = match self.archive.read(&claimed.archived_as) {
            Err(_) if has_failed => self.archive.read_quarantined(&claimed.archived_as)?,
            opened => opened?,
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(Why::Changed("it is not a regular file any more".into()));
        }
        let found = Signature::of(&metadata);
        let bytes = done.map_or(claimed.bytes, |done| done.bytes);
        if found.bytes != bytes && !has_failed {
            let found = found.bytes;
            return Err(Why::Changed(format!("it has {found} bytes, and had {bytes}")));
        }
        Ok((file, found))
    }

    /// Opens a large submission, if what was graded of it is what it holds.
    fn stream(&self, record: &Record) -> Result<Stream, Why> {
        let (mut file, before) = self.open(record)?;
        let finished = record.finished.as_ref();
        let whole = finished.and_then(|done| done.blake3.map(|blake3| (done.bytes, blake3)));
        let graded = whole.or(record.graded.map(|graded| (graded.bytes, graded.blake3)));
        match graded {
            Some((bytes, blake3)) => {
                let mut hasher = blake3::Hasher::new();
                let on_part = || {
                    (self.on_part)();
                    Ok::<(), Why>(())
                };
                let is_long_enough = hash_up_to(bytes, &file, &mut hasher, on_part)?;
                if !is_long_enough || *hasher.finalize().as_bytes() != blake3 {
                    let other = "it holds other bytes than those that were graded";
                    return Err(Why::Changed(other.into()));
                }
                file.rewind()?;
            }
            None if finished.is_some() => return Err(Why::Unknown),
            // An older gridmark has begun it and did not note what it had read.
            None => {}
        }
        let (claimed, rules) = (&record.claimed, self.rules_of(record));
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

/// How many of these are looked at together.
fn few(pieces: &[(&Piece, &Record)]) -> usize {
    let (mut bytes, mut cases) = (0, 0);
    let fits = |(piece, record): &&(&Piece, &Record)| {
        bytes += record.claimed.bytes.min(TOGETHER_BYTES_MAX);
        cases += piece.cases.min(TOGETHER_CASES_MAX);
        bytes <= TOGETHER_BYTES_MAX && cases <= TOGETHER_CASES_MAX
    };
    pieces.iter().take_while(fits).count().max(1)
}

/// Whether a piece is all of a submission that is read whole.
fn is_small(piece: &Piece, record: &Record) -> bool {
    record.finished.as_ref().is_some_and(|done| {
        done.blake3.is_some()
            && done.tally.cases() == piece.cases
            && done.bytes <= SMALL_BYTES_MAX
            && piece.cases <= SMALL_CASES_MAX
    })
}

/// Hands the rows of a small submission on.
fn hand_on(
    rules: Rules,
    record: &Record,
    piece: &Piece,
    made: Result<Made, Why>,
    sink: &mut impl Sink,
) -> io::Result<()> {
    match made {
        Ok(made) => {
            sink.rows(&made.rows)?;
            sink.marked(record, made.kind, &made.tally);
            Ok(())
        }
        Err(why) => {
            let (first_case, cases) = (1, piece.cases);
            sink.gap(&Gap { record, rules, first_case, cases, why: &why, is_first: true })
        }
    }
}

/// The large submissions of which some cases have their rows and others have not.
#[derive(Default)]
struct Streams {
    open: HashMap<i64, Stream>,
    /// How many cases of those that cannot be had again have been passed over.
    broken: HashMap<i64, u64>,
}

impl Streams {
    /// Hands the rows of the next cases of a large submission on.
    fn hand_on(
        &mut self,
        rebuild: &Rebuild,
        record: &Record,
        piece: &Piece,
        sink: &mut impl Sink,
    ) -> io::Result<()> {
        let (id, cases) = (piece.submission, piece.cases);
        let rules = rebuild.rules_of(record);
        if let Some(passed) = self.broken.get_mut(&id) {
            let first_case = *passed + 1;
            *passed += cases;
            let why = &Why::Unknown;
            return sink.gap(&Gap { record, rules, first_case, cases, why, is_first: false });
        }
        let mut stream = match self.open.remove(&id) {
            Some(stream) => stream,
            None => match rebuild.stream(record) {
                Ok(stream) => stream,
                Err(why) => {
                    self.broken.insert(id, cases);
                    let (first_case, is_first, why) = (1, true, &why);
                    return sink.gap(&Gap { record, rules, first_case, cases, why, is_first });
                }
            },
        };
        let kind = stream.next(rebuild.judge, cases, sink)?;
        let done = record.finished.as_ref();
        let all =
            done.map(|done| done.tally).or(record.claimed.progress.as_ref().map(|it| it.tally));
        if all.is_none_or(|all| stream.tally.cases() < all.cases()) {
            self.open.insert(id, stream);
        } else {
            sink.marked(record, kind, &stream.tally);
        }
        Ok(())
    }
}

impl Stream {
    /// Gives the rows of the next so many cases to `sink`, or of fewer if there are no more.
    fn next(&mut self, judge: Judge, cases: u64, sink: &mut impl Sink) -> io::Result<Option<Kind>> {
        let mut left = cases;
        let mut kind = None;
        while left > 0 {
            let (window, at) = match self.window.take() {
                Some(window) => window,
                None => match self.next_window()? {
                    Some(window) => (window, 0),
                    None => break,
                },
            };
            kind = window.kind();
            let found = window.found();
            let end = found.cases.len().min(at + usize::try_from(left).unwrap_or(usize::MAX - at));
            let marker = Marker { judge, rows: &self.case_rows, kind };
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
