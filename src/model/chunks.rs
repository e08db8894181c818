//! An input read window by window, with the cases that lie in each; memory stays bounded.

use gridmark_core::Kind;
use gridmark_core::format::{Found, Reader};
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// How many buffers that nobody needs are kept for later windows.
const SPARES_MAX: usize = 8;

/// An input that is read window by window.
///
/// ```
/// use gridmark_core::format::{Limits, Reader};
/// use gridmark::model::chunks::Windows;
///
/// let boards = "----------------\n".repeat(48);
/// let mut windows = Windows::new(boards.as_bytes(), Reader::new(None, Limits::default()), 0, 2);
/// let first = windows.next_window()?.expect("there is something to read");
/// assert_eq!(first.found().cases.len(), 2);
/// windows.reuse(first);
/// assert_eq!(windows.next_window()?.map(|window| window.found().cases.len()), Some(1));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Windows<R> {
    input: R,
    reader: Reader,
    bytes_max: usize,
    cases_max: usize,
    buffer: Arc<Vec<u8>>,
    /// Where in the buffer lies what was read and is not done with.
    rest: Range<usize>,
    /// The input is at its end.
    ended: bool,
    /// The rest as it is holds more cases.
    capped: bool,
    spare_buffers: Vec<Vec<u8>>,
    spare_found: Vec<Found>,
}

/// A part of an input with the whole cases in it.
///
/// It keeps what it refers to, so it can go to another thread; [`Windows::reuse`] takes its memory
/// back.
pub struct Window {
    buffer: Arc<Vec<u8>>,
    shown: Range<usize>,
    consumed: usize,
    found: Found,
    kind: Option<Kind>,
    is_last: bool,
}

impl<R: Read> Windows<R> {
    /// The windows of `input`, which stands where `reader` is: of at most `bytes_max` bytes, or twice
    /// what the reader needs if that is more, and of about `cases_max` cases at most.
    pub fn new(input: R, reader: Reader, bytes_max: usize, cases_max: usize) -> Windows<R> {
        // Twice what is sure to be consumed in part: a full buffer always gets space again.
        let bytes_max = bytes_max.max(2 * reader.window_bytes_min());
        Windows {
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

    /// The next window, perhaps without cases; none behind the end of the input.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    pub fn next_window(&mut self) -> io::Result<Option<Window>> {
        if !self.capped {
            if self.ended {
                return Ok(None);
            }
            self.refill()?;
        }
        let mut found = self.spare_found.pop().unwrap_or_default();
        found.clear();
        found.cases_max = self.cases_max;
        let shown = self.rest.clone();
        let consumed = self.reader.read(&self.buffer[shown.clone()], self.ended, &mut found);
        self.rest.start += consumed;
        self.capped = found.capped;
        let is_last = self.ended && !found.capped;
        let (buffer, kind) = (Arc::clone(&self.buffer), self.reader.kind());
        Ok(Some(Window { buffer, shown, consumed, found, kind, is_last }))
    }

    /// Takes back the memory of a window that is done with.
    pub fn reuse(&mut self, window: Window) {
        let Window { buffer, found, .. } = window;
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

    /// Reads more behind what is left, once.
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

impl<R> Windows<R> {
    /// What is known behind the last window.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Where the bytes come from.
    pub fn input(&self) -> &R {
        &self.input
    }
}

fn read_some(input: &mut impl Read, space: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(space) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl Window {
    /// The bytes into which the cases index.
    pub fn text(&self) -> &[u8] {
        &self.buffer[self.shown.clone()]
    }

    /// The bytes that are done with behind this window: those of all windows, one behind the other,
    /// are the input.
    pub fn consumed(&self) -> &[u8] {
        &self.text()[..self.consumed]
    }

    /// The cases.
    pub fn found(&self) -> &Found {
        &self.found
    }

    /// The kind of the input, if it could be told.
    pub fn kind(&self) -> Option<Kind> {
        self.kind
    }

    /// Whether the input ends with this window.
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

    /// All bytes and the lines of all cases, as windows give them.
    fn read_all(input: impl Read, cases_max: usize) -> (Vec<u8>, Vec<u64>) {
        let reader = Reader::new(None, Limits { case_bytes_max: 1024, missing_cases_max: 1 });
        let mut windows = Windows::new(input, reader, 4096, cases_max);
        let (mut bytes, mut lines) = (Vec::new(), Vec::new());
        // Several are kept, so that their memory is not the next one's.
        let mut kept = std::collections::VecDeque::new();
        let mut was_last = false;
        while let Some(window) = windows.next_window().expect("memory can be read") {
            assert!(!was_last);
            was_last = window.is_last();
            kept.push_back(window);
            if kept.len() > 3 || was_last {
                for window in kept.drain(..) {
                    bytes.extend_from_slice(window.consumed());
                    lines.extend(window.found().cases.iter().map(|case| case.line));
                    windows.reuse(window);
                }
            }
        }
        assert!(was_last);
        (bytes, lines)
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
