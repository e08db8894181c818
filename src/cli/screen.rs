//! Standard output, with a progress bar on standard error for long runs.

use super::Error;
use super::listing::Output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Text is written in parts of this many bytes.
const TEXT_BYTES: usize = 16 << 10;
/// A shorter run shows no progress bar.
const BAR_DELAY: Duration = Duration::from_secs(1);

/// Buffered standard output, and a bar on standard error if that is a terminal.
pub(super) struct Screen {
    text: String,
    /// Whether text goes to standard output.
    shows: bool,
    bar: ProgressBar,
    started: Instant,
}

impl Screen {
    /// A screen for an input of `bytes` bytes; unless `shows`, it shows nothing but the bar.
    pub(super) fn new(bytes: u64, shows: bool) -> Screen {
        let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {eta} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Screen { text: String::new(), shows, bar, started: Instant::now() }
    }

    /// Advances the bar.
    pub(super) fn advance(&mut self, bytes: u64) {
        if self.bar.is_hidden() && self.started.elapsed() > BAR_DELAY {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(bytes);
    }

    /// Runs `print`, which writes to standard error, after everything shown before.
    pub(super) fn suspend(&mut self, print: impl FnOnce()) -> Result<(), Error> {
        self.flush()?;
        self.bar.suspend(print);
        Ok(())
    }

    /// Writes what is buffered and removes the bar.
    pub(super) fn end(mut self) -> Result<(), Error> {
        self.flush()?;
        self.bar.finish_and_clear();
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        let written = self.bar.suspend(|| {
            let mut stdout = io::stdout().lock();
            stdout.write_all(self.text.as_bytes()).and_then(|()| stdout.flush())
        });
        self.text.clear();
        written.map_err(Error::Output)
    }
}

impl Output for Screen {
    fn show(&mut self, text: &str) -> Result<(), Error> {
        if !self.shows {
            return Ok(());
        }
        self.text.push_str(text);
        if self.text.len() >= TEXT_BYTES { self.flush() } else { Ok(()) }
    }
}
