//! Keeps each event on one line: a line break in a value (a panic's message, what SQLite says) would begin a
//! line of its own, which nobody could tell from an event.

use std::io::{self, Write};
use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

/// Writers in whose lines line breaks are escaped.
pub(super) struct OneLine<W>(pub(super) W);

/// One of them. Each event comes in one write, with its line end.
pub(super) struct Line<W>(W);

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for OneLine<W> {
    type Writer = Line<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Line(self.0.make_writer())
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Self::Writer {
        Line(self.0.make_writer_for(metadata))
    }
}

impl<W: Write> Write for Line<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = event.strip_suffix(b"\n").unwrap_or(event);
        if !text.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            return self.0.write(event);
        }
        let mut line = Vec::with_capacity(event.len() + 8);
        for byte in text {
            match byte {
                b'\n' => line.extend_from_slice(b"\\n"),
                b'\r' => line.extend_from_slice(b"\\r"),
                byte => line.push(*byte),
            }
        }
        line.extend_from_slice(&event[text.len()..]);
        self.0.write_all(&line).map(|()| event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
