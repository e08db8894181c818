//! Names, paths and messages made safe for terminals, logs and tables: on one line, without characters that move
//! the cursor or change the direction of text.
//!
//! Contestants choose the names of their files, so a name may hold any byte except `/` and NUL.

use super::words::explained;
use std::error::Error;
use std::fmt::{self, Display};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes as people read them. Bytes that are not UTF-8, control characters, line separators and characters
/// that change the direction of text are written as `\xNN`, a backslash as `\\`, so that different bytes
/// look different.
///
/// ```
/// use gridmark::model::escape::Printable;
/// assert_eq!(Printable(b"team 7/p\xff\n.txt").to_string(), r"team 7/p\xFF\x0A.txt");
/// assert_eq!(Printable("p\u{202e}txt.3".as_bytes()).to_string(), r"p\xE2\x80\xAEtxt.3");
/// assert_eq!(Printable(br"a\x0A").to_string(), r"a\\x0A");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a>(pub &'a [u8]);

impl Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\\' => f.write_str("\\\\")?,
                    _ => write_character(f, character)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02X}")?;
            }
        }
        Ok(())
    }
}

/// An error and its causes, joined with colons.
///
/// ```
/// use gridmark::model::escape::with_causes;
/// let error = gridmark::cli::Error::Output(std::io::Error::other("no room"));
/// assert!(with_causes(&error).ends_with(": no room"));
/// ```
pub fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message.push_str(": ");
        message.push_str(&error.to_string());
        cause = error.source();
    }
    message
}

/// The bytes that [`Printable`] writes as `text`; `None` if there are none.
///
/// ```
/// use gridmark::model::escape::bytes_of;
/// assert_eq!(bytes_of(r"team 7/p\xFF\x0A\\.txt"), Some(b"team 7/p\xff\n\\.txt".to_vec()));
/// assert_eq!(bytes_of(r"team\7"), None);
/// ```
pub fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        bytes.extend_from_slice(plain.as_bytes());
        rest = match escaped.strip_prefix('\\') {
            Some(behind) => {
                bytes.push(b'\\');
                behind
            }
            None => {
                let hex = escaped.strip_prefix('x')?.get(..2)?;
                bytes.push(u8::from_str_radix(hex, 16).ok()?);
                &escaped[3..]
            }
        };
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

/// A path as people read it.
pub fn path(path: &Path) -> Printable<'_> {
    Printable(path.as_os_str().as_bytes())
}

/// A message on one line, in which errors of the system are [explained]. Paths in it are escaped already, so
/// backslashes stay as they are.
///
/// ```
/// let message = r"cannot read p\x1B.txt: `a` is no setting".replace('a', "a\nb");
/// assert_eq!(gridmark::model::escape::line(&message).matches('\n').count(), 0);
/// ```
pub fn line(message: &dyn Display) -> String {
    let mut line = String::new();
    for character in explained(&message.to_string()).chars() {
        // Writing to memory cannot fail.
        let _ = write_character(&mut line, character);
    }
    line
}

fn write_character(to: &mut dyn fmt::Write, character: char) -> fmt::Result {
    if !is_deceptive(character) {
        return to.write_char(character);
    }
    let mut utf8 = [0; 4];
    for byte in character.encode_utf8(&mut utf8).bytes() {
        write!(to, "\\x{byte:02X}")?;
    }
    Ok(())
}

/// Whether a character breaks the line, controls the terminal or changes the direction of text.
fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61C}'
                | '\u{200E}'
                | '\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_deceives_is_escaped() {
        let deceptive = [
            '\0', '\t', '\n', '\r', '\u{1B}', '\u{7F}', '\u{85}', '\u{9B}', '\u{61C}', '\u{200E}',
            '\u{200F}', '\u{2028}', '\u{2029}', '\u{202A}', '\u{202E}', '\u{2066}', '\u{2069}',
        ];
        for character in deceptive {
            let mut utf8 = [0; 4];
            let bytes = character.encode_utf8(&mut utf8).bytes();
            let escaped = bytes.map(|byte| format!("\\x{byte:02X}")).collect::<String>();
            assert_eq!(Printable(character.to_string().as_bytes()).to_string(), escaped);
            assert_eq!(line(&character), escaped);
        }
        for harmless in
            ["a b", "한글", "Привет", "שלום", "a\u{308}", "क्\u{200D}ष", "\u{2027}\u{202F}\u{206A}"]
        {
            assert_eq!(Printable(harmless.as_bytes()).to_string(), harmless);
            assert_eq!(line(&harmless), harmless);
        }
    }
}
