//! Characters of input for people to read.

use core::fmt;

/// What people call a character that looks like another one or like nothing: such characters come of
/// pasted text, of automatic correction and of input methods.
pub(crate) fn name_of(character: char) -> Option<&'static str> {
    Some(match character {
        '\u{AD}' => "a soft hyphen",
        '\u{A0}' | '\u{2007}' | '\u{202F}' => "a no-break space",
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            "a mark that turns the direction of text"
        }
        '\u{660}'..='\u{669}' | '\u{6F0}'..='\u{6F9}' | '\u{966}'..='\u{96F}' => {
            "a digit of another script"
        }
        '\u{2000}'..='\u{200A}' | '\u{205F}' | '\u{3000}' => "a special blank",
        '\u{200B}'..='\u{200D}' | '\u{2060}' => "a zero-width character",
        '\u{2010}' | '\u{2011}' => "a typographic hyphen",
        '\u{2012}' | '\u{2013}' => "an en dash",
        '\u{2014}' | '\u{2015}' => "an em dash",
        '\u{2018}'..='\u{201F}' => "a typographic quote",
        '\u{2026}' => "an ellipsis",
        '\u{2028}' | '\u{2029}' => "a line separator",
        '\u{2212}' => "a minus sign",
        '\u{2500}'..='\u{257F}' => "a box-drawing character",
        '\u{FEFF}' => "a byte-order mark",
        '\u{FF10}'..='\u{FF19}' => "a full-width digit",
        '\u{FF01}'..='\u{FF5E}' => "a full-width character",
        '\u{FFFD}' => "a replacement for a character that was lost",
        _ => return None,
    })
}

/// A character as it is shown: unchanged if it is printable, else by its number.
pub(crate) struct Shown(pub char);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            // Not quoted as in source text.
            '\'' | '"' => fmt::Write::write_char(f, self.0),
            character => character.escape_debug().fmt(f),
        }
    }
}
