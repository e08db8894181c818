//! Standard output, with a progress bar beside it where that helps.

use super::Error;
use super::listing::Output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Text is written when there is so much of it, in bytes.
const TEXT_BYTES: usize = 16 << 10;
/// What takes less gets no progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Standard output, written in large parts, and a bar on standard error if that is a terminal and
/// it takes long.
pub(super) struct Screen {
    text: String,
    /// Whether standard output is ours.
    shows: bool,
    bar: ProgressBar,
    started: Instant,
}

impl Screen {
    /// A screen for work on so many bytes, which shows nothing but the bar unless it `shows`.
    pub(super) fn new(bytes: u64, shows: bool) -> Screen {
        let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {eta} left");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Screen { text: String::new(), shows, bar, started: Instant::now() }
    }

    /// So many more bytes are done.
    pub(super) fn advance(&mut self, bytes: u64) {
        if self.bar.is_hidden() && self.started.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(bytes);
    }

    /// Does something that writes to standard error, behind all that was shown before.
    pub(super) fn aside(&mut self, tell: impl FnOnce()) -> Result<(), Error> {
        self.flush()?;
        self.bar.suspend(tell);
        Ok(())
    }

    /// Writes what was shown and takes the bar away.
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
