//! Writes log lines on a thread of its own.
//!
//! The reader of standard error may stop reading: a terminal that is stopped by Ctrl-S, a full pipe, a journal or a
//! network mount that hangs. Then a write blocks, and so would every thread that has something to report. Therefore
//! lines wait in a bounded queue for a thread that does nothing but write them. Lines that do not fit are dropped and
//! counted, and a line in their place says how many they were.
//!
//! `O_NONBLOCK` is no way out: it belongs to the open file, which a terminal shares with the shell and every program
//! in it. Nor is the non-blocking writer of `tracing-appender`: its queue has a limit of lines instead of bytes, it
//! can be flushed once only, and if its queue is full at the end it prints to standard output, which may be blocked
//! too.

use crate::telemetry::emit;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};
use tracing_subscriber::fmt::MakeWriter;

/// How long the end of the process waits for lines to be written.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(1);
/// The pause before the next try where another program has made standard error non-blocking.
const FULL_PAUSE: Duration = Duration::from_millis(10);

/// The queue of lines, for those that write to it and for its thread.
#[derive(Clone)]
pub(super) struct Lines(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    bytes_max: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    /// How many bytes wait.
    bytes: usize,
    /// How many lines were dropped since the last report of that.
    dropped: u64,
    /// Since when the thread has been writing a line, if it is.
    writing_since: Option<Instant>,
}

impl Lines {
    /// A queue that holds `bytes_max` bytes, or one line if that is longer.
    pub(super) fn new(bytes_max: usize) -> Lines {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Lines(Arc::new(Shared { state, changed, bytes_max }))
    }

    /// Starts the thread that writes the lines to `out`.
    pub(super) fn start(&self, out: impl Write + Send + 'static) -> io::Result<()> {
        let lines = self.clone();
        Builder::new().name("log".into()).spawn(move || lines.write_to(out)).map(drop)
    }

    /// Adds a line, with its end. It never waits.
    pub(super) fn push(&self, line: &[u8]) {
        let mut state = self.state();
        // A gap lasts until it is reported, so that the report stands in its place. Where nothing waits, a line is
        // tried: the last one may have been dropped for an error that is over.
        let is_idle = state.waiting.is_empty() && state.writing_since.is_none();
        let fits = state.waiting.is_empty() || state.bytes + line.len() <= self.0.bytes_max;
        if is_idle || (fits && state.dropped == 0) {
            state.bytes += line.len();
            state.waiting.push_back(line.to_vec());
            self.0.changed.notify_all();
        } else {
            state.dropped += 1;
            emit::log_line_dropped();
        }
    }

    /// Waits until all lines are written, for at most a second, and no longer than until the reader has taken
    /// nothing for a second.
    pub(super) fn flush(&self) {
        let end = Instant::now() + FLUSH_TIME_MAX;
        let mut state = self.state();
        while !state.waiting.is_empty() || state.writing_since.is_some() {
            let stuck = state.writing_since.map_or(end, |since| since + FLUSH_TIME_MAX);
            let left = end.min(stuck).saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_to(&self, out: impl Write) -> ! {
        let mut out = Output { out, is_torn: false };
        loop {
            let is_written = out.write_line(&self.next()).is_ok();
            let dropped = self.written(is_written);
            if dropped > 0 {
                emit::log_lines_were_dropped(dropped);
            }
        }
    }

    /// Waits for the next line.
    fn next(&self) -> Vec<u8> {
        let mut state = self.state();
        loop {
            if let Some(line) = state.waiting.pop_front() {
                state.bytes -= line.len();
                state.writing_since = Some(Instant::now());
                return line;
            }
            state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A line is written, or dropped. Returns how many dropped lines are to be reported: once there is room again.
    fn written(&self, is_written: bool) -> u64 {
        let mut state = self.state();
        state.writing_since = None;
        self.0.changed.notify_all();
        if !is_written {
            state.dropped += 1;
            emit::log_line_dropped();
            return 0;
        }
        let has_room = state.bytes <= self.0.bytes_max / 2;
        if has_room { std::mem::take(&mut state.dropped) } else { 0 }
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Lines;

    fn make_writer(&'a self) -> Lines {
        self.clone()
    }
}

struct Output<W> {
    out: W,
    /// Whether the last line was written in part.
    is_torn: bool,
}

impl<W: Write> Output<W> {
    fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        if std::mem::take(&mut self.is_torn)
            && let Err(error) = self.write_all(b"\n")
        {
            self.is_torn = true;
            return Err(error);
        }
        self.write_all(line)
    }

    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        let mut left = text;
        while !left.is_empty() {
            match self.out.write(left) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => left = &left[bytes..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(FULL_PAUSE);
                }
                Err(error) => {
                    self.is_torn |= left.len() < text.len();
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A reader that takes what is written when the test says so.
    struct Slow {
        begun: Sender<()>,
        goes: Receiver<io::Result<usize>>,
        text: Arc<Mutex<String>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.begun.send(()).expect("the test");
            let taken = self.goes.recv().expect("the test")?.min(bytes.len());
            let text = std::str::from_utf8(&bytes[..taken]).expect("text");
            self.text.lock().expect("the text").push_str(text);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Reader {
        begun: Receiver<()>,
        go: Sender<io::Result<usize>>,
        text: Arc<Mutex<String>>,
    }

    impl Reader {
        /// Waits until the thread writes, and lets it write so many bytes, or fail.
        fn take(&self, result: io::Result<usize>) {
            self.begun.recv().expect("a write");
            self.go.send(result).expect("the thread");
        }
    }

    fn lines(bytes_max: usize) -> (Lines, Reader) {
        let (begun, writes) = channel();
        let (go, goes) = channel();
        let text = Arc::<Mutex<String>>::default();
        let lines = Lines::new(bytes_max);
        lines.start(Slow { begun, goes, text: Arc::clone(&text) }).expect("a thread");
        (lines, Reader { begun: writes, go, text })
    }

    fn wait_until(lines: &Lines, holds: impl Fn(&State) -> bool) {
        while !holds(&lines.state()) {
            std::thread::yield_now();
        }
    }

    fn is_idle(state: &State) -> bool {
        state.waiting.is_empty() && state.writing_since.is_none()
    }

    #[test]
    fn what_does_not_fit_is_dropped_as_one_gap_until_there_is_room() {
        let (lines, reader) = lines(4);
        lines.push(b"a\n");
        wait_until(&lines, |state| state.writing_since.is_some());
        for line in [&b"b\n"[..], b"c\n", b"d\n", b"e\n"] {
            lines.push(line);
        }
        assert_eq!(lines.state().dropped, 2);
        reader.take(Ok(2));
        wait_until(&lines, |state| state.waiting.len() == 1);
        // This one would fit, but the gap is not over: less than half of the queue is empty.
        lines.push(b"f\n");
        assert_eq!(lines.state().dropped, 3);
        reader.take(Ok(2));
        wait_until(&lines, |state| state.dropped == 0);
        lines.push(b"g\n");
        (0..2).for_each(|_| reader.take(Ok(2)));
        wait_until(&lines, is_idle);
        assert_eq!(*reader.text.lock().expect("the text"), "a\nb\nc\ng\n");
    }

    #[test]
    fn a_line_longer_than_the_queue_is_written_where_nothing_waits() {
        let (lines, reader) = lines(1);
        lines.push(b"long\n");
        reader.take(Ok(2));
        reader.take(Ok(3));
        wait_until(&lines, is_idle);
        assert_eq!(*reader.text.lock().expect("the text"), "long\n");
    }

    #[test]
    fn after_an_error_the_next_line_is_tried_and_begins_on_a_line_of_its_own() {
        let (lines, reader) = lines(100);
        lines.push(b"one\n");
        reader.take(Ok(2));
        reader.take(Err(ErrorKind::StorageFull.into()));
        wait_until(&lines, |state| state.writing_since.is_none() && state.dropped == 1);
        lines.push(b"two\n");
        reader.take(Ok(1));
        reader.take(Ok(4));
        wait_until(&lines, |state| state.dropped == 0);
        assert_eq!(*reader.text.lock().expect("the text"), "on\ntwo\n");
    }

    #[test]
    fn a_flush_gives_up_where_nothing_is_read() {
        let (lines, reader) = lines(100);
        lines.push(b"one\n");
        reader.begun.recv().expect("a write");
        lines.flush();
        // A second one does not wait again.
        let since = lines.state().writing_since.expect("a write that blocks");
        assert!(since.elapsed() >= FLUSH_TIME_MAX);
        lines.flush();
        assert_eq!(lines.state().writing_since, Some(since));
        reader.go.send(Ok(4)).expect("the thread");
        wait_until(&lines, is_idle);
        assert_eq!(*reader.text.lock().expect("the text"), "one\n");
    }
}
