//! The input of a command, chunk by chunk.

use super::Error;
use crate::model::chunks;
use crate::model::escape;
use gridmark_core::Kind;
use gridmark_core::board::{Mark, Unreadable};
use gridmark_core::format::{Case, Found, Limits, Reader};
use gridmark_core::judge::Judge;
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The bytes of a chunk, unless the longest case needs more.
const CHUNK_BYTES: usize = 1 << 20;
/// The cases of a chunk: the faults of very small ones may take much memory.
const CASES_PER_CHUNK: usize = 8_192;
/// How many cases a thread marks at once.
const CASES_PER_TASK: usize = 256;

/// An input that is read chunk by chunk.
pub(super) struct Chunks<R> {
    path: PathBuf,
    chunks: chunks::Chunks<R>,
    /// The chunk that was returned last.
    last: Option<chunks::Chunk>,
}

/// A part of an input with the whole cases in it.
pub(super) struct Chunk<'a> {
    /// Where the input comes from.
    pub(super) path: &'a Path,
    /// The kind of the input, if it is known by now.
    pub(super) kind: Option<Kind>,
    /// How many bytes of the input are consumed after this chunk.
    pub(super) offset: u64,
    /// Whether the input was blank from start to end, which is its only case.
    pub(super) is_empty_input: bool,
    bytes: &'a [u8],
    found: &'a Found,
}

/// The chunks of a file, or of standard input.
pub(super) fn open(file: Option<&Path>, kind: Kind) -> Result<Chunks<Box<dyn Read>>, Error> {
    let (path, input): (&Path, Box<dyn Read>) = match file {
        Some(path) => (path, Box::new(File::open(path).map_err(Error::io("read", path))?)),
        None => (Path::new("stdin"), Box::new(io::stdin().lock())),
    };
    Ok(Chunks::new(path, input, Some(kind), Limits::default()))
}

impl<R: Read> Chunks<R> {
    /// The chunks of `input`, whose kind may be forced.
    pub(super) fn new(path: &Path, input: R, forced: Option<Kind>, limits: Limits) -> Chunks<R> {
        let reader = Reader::new(forced, limits);
        let chunks = chunks::Chunks::new(input, reader, CHUNK_BYTES, CASES_PER_CHUNK);
        Chunks { path: path.to_owned(), chunks, last: None }
    }

    /// The next chunk, perhaps without cases; `None` after the end of the input.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    pub(super) fn next(&mut self) -> Result<Option<Chunk<'_>>, Error> {
        if let Some(last) = self.last.take() {
            self.chunks.reuse(last);
        }
        self.last = self.chunks.next_chunk().map_err(Error::io("read", &self.path))?;
        Ok(self.last.as_ref().map(|chunk| Chunk {
            path: &self.path,
            kind: chunk.kind(),
            offset: self.chunks.reader().offset(),
            is_empty_input: self.chunks.reader().is_empty(),
            bytes: chunk.text(),
            found: chunk.found(),
        }))
    }
}

impl Chunk<'_> {
    /// The cases, in the order of the input.
    pub(super) fn cases(&self) -> &[Case] {
        &self.found.cases
    }

    /// The text of one of them.
    pub(super) fn text(&self, case: &Case) -> &[u8] {
        &self.bytes[case.start..case.end]
    }

    /// The text from line `line` of the input on, or from an earlier line, and that line's number;
    /// `case` says where in the chunk its own first line is.
    pub(super) fn text_from(&self, case: &Case, line: u64) -> (&[u8], u64) {
        if line >= case.line {
            return (&self.bytes[case.start..], case.line);
        }
        let before = &self.bytes[..case.start];
        let ends = before.iter().enumerate().filter(|&(i, byte)| match byte {
            b'\n' => true,
            // A part of CRLF or CR CR LF.
            b'\r' => !matches!(before[i..], [_, b'\n', ..] | [_, b'\r', b'\n', ..]),
            _ => false,
        });
        (self.bytes, case.line.saturating_sub(ends.count() as u64))
    }

    /// Marks all cases, on all cores if there are many; `marks` holds one mark a case then.
    pub(super) fn mark(&self, judge: Judge, marks: &mut Vec<Mark>) {
        marks.clear();
        let Found { cases, puzzles, .. } = self.found;
        if cases.len() <= CASES_PER_TASK {
            judge.mark(self.bytes, cases, puzzles, marks);
            return;
        }
        let parts = cases.par_chunks(CASES_PER_TASK).map(|cases| {
            let mut marks = Vec::with_capacity(cases.len());
            judge.mark(self.bytes, cases, puzzles, &mut marks);
            marks
        });
        marks.extend(parts.collect::<Vec<_>>().into_iter().flatten());
    }
}

/// Says on standard error why cases could not be read. What is the same for several cases in a row is
/// said once.
#[derive(Default)]
pub(super) struct Complaints {
    last: String,
    /// For how many more cases the last line holds.
    more: u64,
}

impl Complaints {
    /// Prints why a case of `chunk` could not be read, as `file:line:column: message`.
    pub(super) fn add(&mut self, chunk: &Chunk<'_>, why: &Unreadable) {
        let Unreadable { line, column, message, .. } = why;
        let complaint = format!("{}:{line}:{column}: {message}", escape::path(chunk.path));
        if complaint == self.last {
            self.more += 1;
            return;
        }
        self.say_more();
        // If standard error is closed, the exit code still says it.
        let _ = writeln!(io::stderr(), "{complaint}");
        self.last = complaint;
    }

    fn say_more(&mut self) {
        let text = match std::mem::take(&mut self.more) {
            0 => return,
            1 => "the same for one more case".into(),
            more => format!("the same for {more} more cases"),
        };
        let _ = writeln!(io::stderr(), "{text}");
    }
}

impl Drop for Complaints {
    fn drop(&mut self) {
        self.say_more();
    }
}
