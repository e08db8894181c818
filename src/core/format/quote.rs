//! Input quoted in a message.

use crate::board::{Shown, name_of};
use core::fmt;

/// How many bytes are quoted at most.
const QUOTED_BYTES_MAX: usize = 40;

/// Text between backticks: printable characters unchanged, the rest escaped, cut off if long. A
/// character that is easily taken for another one is called by its name behind it.
pub(crate) struct Quoted<'a>(pub &'a [u8]);

impl<'a> Quoted<'a> {
    /// The character of which byte `at` of `text` is a part, or that byte if it is a part of none.
    pub fn character(text: &'a [u8], at: usize) -> Quoted<'a> {
        for start in at.saturating_sub(3)..=at {
            let chunk = text[start..].utf8_chunks().next();
            let first = chunk.and_then(|chunk| chunk.valid().chars().next());
            let end = start + first.map_or(0, char::len_utf8);
            if end > at {
                return Quoted(&text[start..end]);
            }
        }
        Quoted(&text[at..=at])
    }
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut bytes, mut characters, mut name) = (0, 0, None);
        f.write_str("`")?;
        'text: for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                bytes += character.len_utf8();
                if bytes > QUOTED_BYTES_MAX {
                    break 'text;
                }
                characters += 1;
                name = name.or(name_of(character));
                match character {
                    '\t' => f.write_str("\\t")?,
                    '\0'..='\u{1F}' | '\u{7F}' => write!(f, "\\x{:02X}", u32::from(character))?,
                    _ => Shown(character).fmt(f)?,
                }
            }
            for byte in chunk.invalid() {
                bytes += 1;
                if bytes > QUOTED_BYTES_MAX {
                    break 'text;
                }
                characters += 1;
                write!(f, "\\x{byte:02X}")?;
            }
        }
        f.write_str(if bytes > QUOTED_BYTES_MAX { "...`" } else { "`" })?;
        match (name, characters) {
            (None, _) => Ok(()),
            (Some(name), 1) => write!(f, " ({name})"),
            (Some(name), _) => write!(f, " (with {name})"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_character_of_any_of_its_bytes_is_quoted() {
        let text = "a–１b\u{200b}".as_bytes();
        for (at, expected) in [
            (0, "`a`"),
            (1, "`–` (an en dash)"),
            (3, "`–` (an en dash)"),
            (4, "`１` (a full-width digit)"),
            (6, "`１` (a full-width digit)"),
            (7, "`b`"),
            (9, r"`\u{200b}` (a zero-width character)"),
        ] {
            assert_eq!(Quoted::character(text, at).to_string(), expected, "{at}");
        }
        for (text, at, expected) in [
            (b"\xE2\x80\x93".as_slice(), 2, "`–` (an en dash)"),
            (b"\x80\x93", 1, r"`\x93`"),
            (b"\xE2\x80x", 1, r"`\x80`"),
            (b"\xE9", 0, r"`\xE9`"),
            (b"x\xA0", 1, r"`\xA0`"),
        ] {
            assert_eq!(Quoted::character(text, at).to_string(), expected);
        }
    }

    #[test]
    fn text_is_quoted_up_to_a_limit_and_in_print() {
        for (text, expected) in [
            (b"1 1 5".as_slice(), "`1 1 5`"),
            (b"a\\b\tc\r\x1A'\"", r#"`a\\b\tc\x0D\x1A'"`"#),
            ("12–5".as_bytes(), "`12–5` (with an en dash)"),
            ("é\u{202e}".as_bytes(), r"`é\u{202e}` (with a mark that turns the direction of text)"),
            (&[b'x'; 40], "`xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`"),
            (&[b'x'; 41], "`xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...`"),
            ("ééééééééééééééééééééé".as_bytes(), "`éééééééééééééééééééé...`"),
        ] {
            assert_eq!(Quoted(text).to_string(), expected);
        }
    }
}
