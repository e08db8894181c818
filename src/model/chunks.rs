//! An input in chunks of whole cases, so that memory stays bounded for inputs of any size.
//!
//! A chunk is the window that the reader was given, with the cases that it found there. What the reader did not
//! consume is the beginning of the next chunk.

use gridmark_core::Kind;
use gridmark_core::format::{Found, Reader};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// How many unused buffers are kept for later chunks.
const SPARES_MAX: usize = 8;

/// An input that is read chunk by chunk.
///
/// ```
/// use gridmark_core::format::{Limits, Reader};
/// use gridmark::model::chunks::Chunks;
///
/// let boards = "0---------------\n".repeat(48);
/// let mut chunks = Chunks::new(boards.as_bytes(), Reader::new(None, Limits::default()), 0, 2);
/// let first = chunks.next_chunk()?.expect("there is something to read");
/// assert_eq!(first.found().cases.len(), 2);
/// chunks.reuse(first);
/// assert_eq!(chunks.next_chunk()?.map(|chunk| chunk.found().cases.len()), Some(1));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Chunks<R> {
    input: R,
    reader: Reader,
    bytes_max: usize,
    cases_max: usize,
    buffer: Arc<Vec<u8>>,
    /// The part of the buffer that was read and is not consumed.
    rest: Range<usize>,
    /// Whether the input is at its end.
    ended: bool,
    /// Whether the last chunk was cut short at `cases_max`, so that the rest may hold more cases.
    capped: bool,
    spare_buffers: Vec<Vec<u8>>,
    spare_found: Vec<Found>,
}

/// A part of an input with the whole cases in it.
///
/// It shares the buffer that it refers to, so it can go to another thread; [`Chunks::reuse`] takes its
/// memory back.
pub struct Chunk {
    buffer: Arc<Vec<u8>>,
    range: Range<usize>,
    consumed: usize,
    found: Found,
    kind: Option<Kind>,
    is_last: bool,
}

impl<R: Read> Chunks<R> {
    /// The chunks of `input`, whose next byte is the one at `reader`'s offset. A chunk has at most
    /// `bytes_max` bytes, or twice what the reader needs if that is more, and about `cases_max` cases
    /// at most.
    pub fn new(input: R, reader: Reader, bytes_max: usize, cases_max: usize) -> Chunks<R> {
        // Of this much the reader always consumes a part, so a full buffer gets space again.
        let bytes_max = bytes_max.max(2 * reader.window_bytes_min());
        Chunks {
            input,
            reader,
            bytes_max,
            cases_max,
            buffer: Arc::default(),
            rest: 0..0,
            ended: false,
            capped: false,
            spare_buffers: Vec::new(),
            spare_found: Vec::new(),
        }
    }

    /// The next chunk, perhaps without cases; `None` after the end of the input.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    pub fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        if !self.capped {
            if self.ended {
                return Ok(None);
            }
            self.refill()?;
        }
        let mut found = self.spare_found.pop().unwrap_or_default();
        found.clear();
        found.cases_max = self.cases_max;
        let range = self.rest.clone();
        let consumed = self.reader.read(&self.buffer[range.clone()], self.ended, &mut found);
        self.rest.start += consumed;
        self.capped = found.capped;
        let is_last = self.ended && !found.capped;
        let (buffer, kind) = (Arc::clone(&self.buffer), self.reader.kind());
        Ok(Some(Chunk { buffer, range, consumed, found, kind, is_last }))
    }

    /// Takes back the memory of a chunk that is no longer needed.
    pub fn reuse(&mut self, chunk: Chunk) {
        let Chunk { buffer, found, .. } = chunk;
        if self.spare_found.len() < SPARES_MAX {
            self.spare_found.push(found);
        }
        self.keep(buffer);
    }

    fn keep(&mut self, buffer: Arc<Vec<u8>>) {
        if let Some(buffer) = Arc::into_inner(buffer)
            && self.spare_buffers.len() < SPARES_MAX
        {
            self.spare_buffers.push(buffer);
        }
    }

    /// Keeps what was not consumed and reads more behind it, once.
    fn refill(&mut self) -> io::Result<()> {
        let mut buffer = self.spare_buffers.pop().unwrap_or_default();
        buffer.resize(self.bytes_max, 0);
        let rest = self.rest.len();
        buffer[..rest].copy_from_slice(&self.buffer[self.rest.clone()]);
        let read = read_some(&mut self.input, &mut buffer[rest..])?;
        self.ended = read == 0;
        self.rest = 0..rest + read;
        let before = std::mem::replace(&mut self.buffer, Arc::new(buffer));
        self.keep(before);
        Ok(())
    }
}

impl<R> Chunks<R> {
    /// The state of the reader after the last chunk.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// The input.
    pub fn input(&self) -> &R {
        &self.input
    }
}

/// Reads a small input, which should have `bytes` bytes, into the beginning of `buffer`, which grows if it must.
/// Returns whether the input has exactly that many.
///
/// # Errors
///
/// The input cannot be read.
pub fn read_whole(input: &mut impl Read, bytes: usize, buffer: &mut Vec<u8>) -> io::Result<bool> {
    // Room for one more byte shows an input that is longer, mostly without another call.
    if buffer.len() <= bytes {
        buffer.resize(bytes + 1, 0);
    }
    let mut read = 0;
    while read < bytes {
        match read_some(input, &mut buffer[read..=bytes])? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read == bytes)
}

fn read_some(input: &mut impl Read, space: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(space) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl Chunk {
    /// The bytes into which the cases index.
    pub fn text(&self) -> &[u8] {
        &self.buffer[self.range.clone()]
    }

    /// The bytes that no later chunk holds again: those of all chunks, one after the other, are the
    /// input.
    pub fn consumed(&self) -> &[u8] {
        &self.text()[..self.consumed]
    }

    /// The cases.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// The kind of the input, if it is known by now.
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// Whether the input ends with this chunk.
    pub fn is_last(&self) -> bool {
        self.is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridmark_core::format::Limits;

    /// An input that gives few bytes at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
            let few = space.len().min(700);
            self.0.read(&mut space[..few])
        }
    }

    /// The bytes of all chunks, and the lines of all their cases.
    fn read_all(input: impl Read, cases_max: usize) -> (Vec<u8>, Vec<u64>) {
        let reader = Reader::new(None, Limits { case_bytes_max: 1024, missing_cases_max: 1 });
        let mut chunks = Chunks::new(input, reader, 4096, cases_max);
        let (mut bytes, mut lines) = (Vec::new(), Vec::new());
        // Several are kept, so that their memory is not reused at once.
        let mut kept = std::collections::VecDeque::new();
        let mut was_last = false;
        while let Some(chunk) = chunks.next_chunk().expect("memory can be read") {
            assert!(!was_last);
            was_last = chunk.is_last();
            kept.push_back(chunk);
            if kept.len() > 3 || was_last {
                for chunk in kept.drain(..) {
                    bytes.extend_from_slice(chunk.consumed());
                    lines.extend(chunk.found().cases.iter().map(|case| case.line));
                    chunks.reuse(chunk);
                }
            }
        }
        assert!(was_last);
        (bytes, lines)
    }

    #[test]
    fn an_input_is_whole_only_if_it_has_as_many_bytes_as_it_should() {
        let text = vec![b'7'; 2_000];
        let mut buffer = Vec::new();
        for (bytes, is_whole) in [(2_000, true), (1_999, false), (2_001, false)] {
            let read = read_whole(&mut text.as_slice(), bytes, &mut buffer);
            assert_eq!(read.expect("memory can be read"), is_whole, "{bytes}");
        }
        assert!(read_whole(&mut Trickle(&text), 2_000, &mut buffer).expect("memory can be read"));
        assert_eq!(buffer[..2_000], text);
    }

    #[test]
    fn all_bytes_and_cases_are_in_some_window() {
        let text = "----------------\n".repeat(16 * 50).into_bytes();
        let expected = (0..50).map(|board| board * 16 + 1).collect::<Vec<u64>>();
        for cases_max in [0, 1, 2, 7] {
            assert_eq!(read_all(text.as_slice(), cases_max), (text.clone(), expected.clone()));
            assert_eq!(read_all(Trickle(&text), cases_max), (text.clone(), expected.clone()));
        }
        assert_eq!(read_all(&b""[..], 1), (Vec::new(), vec![1]));
    }
}
