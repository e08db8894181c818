//! Decompresses the links of f-puzzles and SudokuPad (lz-string in base64) within a limit.
//!
//! The package that compresses them here would decompress them as well, but not within a limit: of
//! 12 KB it makes hundreds of megabytes if they are chosen so. Here a code of the dictionary is a
//! range of the output: the one before it, and one character more.

use std::ops::Range;

/// Why something is not decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// A character that base64 does not have; its place in bytes, from 0.
    Character(usize),
    /// The end comes too early.
    Truncated,
    /// A code that nothing defines.
    Code,
    /// What comes out is longer than the limit.
    TooLong,
    /// What comes out is not text.
    NotText,
}

/// Decompresses `text` to at most `bytes_max` UTF-16 units.
pub(super) fn decompress(text: &[u8], bytes_max: usize) -> Result<String, Broken> {
    let text = text.trim_ascii_end();
    let padding = text.iter().rev().take_while(|byte| matches!(byte, b'=' | b'$')).count();
    let mut bits = Bits { text: &text[..text.len() - padding], at: 0, bit: 0 };
    // Where each code is in the output; the first three have meanings of their own.
    let mut codes = vec![0..0; 3];
    let mut output = Vec::<u16>::new();
    let mut width = 2;
    let mut before = 0..0;
    loop {
        let code = bits.take(width)?;
        let start = output.len();
        match code {
            0 | 1 => {
                output.push(bits.take(8 * (code + 1))? as u16);
                codes.push(start..start + 1);
                widen(&mut width, &codes);
            }
            2 => return String::from_utf16(&output).map_err(|_| Broken::NotText),
            _ => {
                let range = match codes.get(code as usize) {
                    Some(range) => range.clone(),
                    // The code that is being defined: the one before and its first character.
                    None if code as usize == codes.len() && !before.is_empty() => {
                        before.start..before.end + 1
                    }
                    None => return Err(Broken::Code),
                };
                if output.len() + range.len() > bytes_max {
                    return Err(Broken::TooLong);
                }
                // A range may reach into what it appends.
                for at in range {
                    output.push(output[at]);
                }
            }
        }
        if output.len() > bytes_max {
            return Err(Broken::TooLong);
        }
        if !before.is_empty() {
            codes.push(before.start..before.end + 1);
            widen(&mut width, &codes);
        }
        before = start..output.len();
    }
}

/// Codes get wider as soon as there are so many that the next one needs it.
fn widen(width: &mut u32, codes: &[Range<usize>]) {
    *width += u32::from(codes.len() == 1 << *width);
}

/// Bits of base64, the highest bit of each character first.
struct Bits<'a> {
    text: &'a [u8],
    at: usize,
    bit: u32,
}

impl Bits<'_> {
    /// The next `count` bits, the lowest first.
    fn take(&mut self, count: u32) -> Result<u32, Broken> {
        let mut value = 0;
        for place in 0..count {
            let byte = *self.text.get(self.at).ok_or(Broken::Truncated)?;
            let sextet = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                // A `+` becomes a blank in links.
                b'+' | b' ' => 62,
                b'/' | b'-' => 63,
                _ => return Err(Broken::Character(self.at)),
            };
            value |= u32::from(sextet >> (5 - self.bit) & 1) << place;
            self.bit += 1;
            if self.bit == 6 {
                (self.bit, self.at) = (0, self.at + 1);
            }
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_link_cannot_expand_without_end() {
        let bomb = lz_str::compress_to_base64(&"a".repeat(1 << 22));
        assert!(bomb.len() < 10_000, "{}", bomb.len());
        assert_eq!(decompress(bomb.as_bytes(), 1 << 20), Err(Broken::TooLong));
    }

    #[test]
    fn what_is_cut_or_changed_is_an_error() {
        let text = lz_str::compress_to_base64("{\"size\":9}");
        assert_eq!(decompress(text.as_bytes(), 100).as_deref(), Ok("{\"size\":9}"));
        assert_eq!(decompress(&text.as_bytes()[..6], 100), Err(Broken::Truncated));
        assert_eq!(decompress(b"", 100), Err(Broken::Truncated));
        assert_eq!(decompress(b"N4%Ig", 100), Err(Broken::Character(2)));
        assert_eq!(decompress(b"////", 100), Err(Broken::Code));
    }

    proptest! {
        #[test]
        fn decompresses_what_the_package_compresses(text in "[a-c\u{e9}\u{20ac}\u{1f600}]{0,300}|.{0,60}") {
            let compressed = lz_str::compress_to_base64(&text);
            prop_assert_eq!(decompress(compressed.as_bytes(), 1 << 12), Ok(text));
        }

        #[test]
        fn agrees_with_the_package_on_anything(text in "[A-Za-z0-9+/]{1,60}") {
            // It refuses some of what ends with the last bit of a character.
            if let Some(units) = lz_str::decompress_from_base64(&text) {
                let expected = String::from_utf16(&units).map_err(|_| Broken::NotText);
                prop_assert_eq!(decompress(text.as_bytes(), 1 << 16), expected);
            }
        }
    }
}
