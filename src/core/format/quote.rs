//! Input quoted in a message.

use core::fmt;

/// How many bytes are quoted at most.
const QUOTED_BYTES_MAX: usize = 40;

/// Bytes between backticks: printable ASCII unchanged, the rest escaped, cut off if long.
pub(crate) struct Quoted<'a>(pub &'a [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`")?;
        for byte in self.0.iter().take(QUOTED_BYTES_MAX) {
            match byte {
                b'\\' => f.write_str("\\\\")?,
                b'\t' => f.write_str("\\t")?,
                0x20..=0x7e => write!(f, "{}", char::from(*byte))?,
                _ => write!(f, "\\x{byte:02X}")?,
            }
        }
        f.write_str(if self.0.len() > QUOTED_BYTES_MAX { "...`" } else { "`" })
    }
}

/// A line as [`Quoted`], or the words "a blank line".
pub(crate) struct QuotedLine<'a>(pub &'a [u8]);

impl fmt::Display for QuotedLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if super::lines::is_blank(self.0) {
            f.write_str("a blank line")
        } else {
            Quoted(self.0).fmt(f)
        }
    }
}
