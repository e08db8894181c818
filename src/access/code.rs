//! Codes that people type, and tokens that browsers keep. Both come from the system's random numbers; what is stored
//! is a hash, made for one purpose, so that a card is never taken for a judge's code.

use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::fmt::{self, Write};
use std::io;

/// What codes consist of: no two of these look alike, in any type or hand. So 0, 1, 2, 5, 8, B, I, L, O, S, U and Z
/// are in no code.
const LETTERS: &[u8; 24] = b"34679ACDEFGHJKMNPQRTVWXY";

/// How many letters a code has: 45 bits.
const CODE_LETTERS: usize = 10;

/// How many bytes a token has: 128 bits.
const TOKEN_BYTES: usize = 16;

/// How long a text may be that is looked at as a code, in bytes: with a separator behind each letter.
const TEXT_BYTES_MAX: usize = 64;

/// What a code or token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A judge's code, valid once.
    Invitation,
    /// What a judge's code is exchanged for.
    Token,
    /// An entrant's card.
    Card,
}

impl Purpose {
    /// What the hashes of this purpose differ by from others.
    const fn context(self) -> &'static str {
        match self {
            Purpose::Invitation => "gridmark 1 invitation of a judge",
            Purpose::Token => "gridmark 1 token of a judge",
            Purpose::Card => "gridmark 1 card of an entrant",
        }
    }
}

/// A code that people type. It is shown in two groups: `34679-ACDEF`.
#[derive(Clone, PartialEq, Eq)]
pub struct Code([u8; CODE_LETTERS]);

/// What a browser keeps, as 32 hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; TOKEN_BYTES]);

/// Bytes that nobody can foresee.
///
/// # Errors
///
/// The system has none.
pub(super) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut done = 0;
    while done < N {
        match getrandom(&mut bytes[done..], GetRandomFlags::empty()) {
            Ok(more) => done += more,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

impl Code {
    /// A new one.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn random() -> io::Result<Code> {
        // Of the values of a byte, the last few would make some letters more likely than others.
        let fair_max = 256 / LETTERS.len() * LETTERS.len();
        let (mut code, mut done) = ([0; CODE_LETTERS], 0);
        while done < CODE_LETTERS {
            for byte in random::<CODE_LETTERS>()? {
                if usize::from(byte) < fair_max && done < CODE_LETTERS {
                    code[done] = LETTERS[usize::from(byte) % LETTERS.len()];
                    done += 1;
                }
            }
        }
        Ok(Code(code))
    }

    /// The code that somebody has typed: in any case, with blanks and dashes anywhere. `None` if it is none.
    ///
    /// ```
    /// use gridmark::access::Code;
    /// let code = Code::read(" 34679 acd-ef").expect("a code");
    /// assert_eq!(code.to_string(), "34679-ACDEF");
    /// assert!(Code::read("34679-ACDE0").is_none(), "0 is in no code");
    /// ```
    pub fn read(text: &str) -> Option<Code> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let is_separator = |letter: &char| letter.is_whitespace() || matches!(letter, '-' | '–');
        let (mut code, mut done) = ([0; CODE_LETTERS], 0);
        for letter in text.chars().filter(|letter| !is_separator(letter)) {
            let letter = u8::try_from(letter).ok()?.to_ascii_uppercase();
            if !LETTERS.contains(&letter) {
                return None;
            }
            *code.get_mut(done)? = letter;
            done += 1;
        }
        (done == CODE_LETTERS).then_some(Code(code))
    }

    /// What is stored of it. Two hashes are compared in constant time.
    pub fn hash(&self, purpose: Purpose) -> blake3::Hash {
        blake3::derive_key(purpose.context(), &self.0).into()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, letter) in self.0.iter().enumerate() {
            if place == CODE_LETTERS / 2 {
                f.write_char('-')?;
            }
            f.write_char(char::from(*letter))?;
        }
        Ok(())
    }
}

impl Token {
    /// A new one.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn random() -> io::Result<Token> {
        random().map(Token)
    }

    /// A token as a browser sends it. `None` if it is none.
    pub fn read(text: &str) -> Option<Token> {
        let digits = text.as_bytes();
        if digits.len() != 2 * TOKEN_BYTES {
            return None;
        }
        let mut token = [0; TOKEN_BYTES];
        for (byte, pair) in token.iter_mut().zip(digits.chunks(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Some(Token(token))
    }

    /// What is stored of it. Two hashes are compared in constant time.
    pub fn hash(&self) -> blake3::Hash {
        blake3::derive_key(Purpose::Token.context(), &self.0).into()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// It does not show what is secret.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(..)")
    }
}

/// It does not show what is secret.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn codes_are_read_as_they_are_shown_and_as_people_type_them() {
        let mut letters: HashMap<char, usize> = HashMap::new();
        let mut shown = HashSet::new();
        for _ in 0..2_400 {
            let code = Code::random().expect("a code");
            let text = code.to_string();
            assert_eq!(text.len(), 11, "{text}");
            for typed in [
                text.clone(),
                text.to_lowercase(),
                text.replace('-', ""),
                format!(" {} ", text.replace('-', " ")),
                text.replace('-', "–"),
            ] {
                assert!(Code::read(&typed) == Some(code.clone()), "{typed}");
            }
            text.chars().filter(|c| *c != '-').for_each(|c| *letters.entry(c).or_default() += 1);
            assert!(shown.insert(text));
        }
        // Each of 24 letters a thousand times, give or take six standard deviations.
        assert_eq!(letters.len(), LETTERS.len());
        assert!(letters.values().all(|count| (810..=1190).contains(count)), "{letters:?}");
        assert!("0O1IL2Z5S8BU".chars().all(|letter| !letters.contains_key(&letter)));
    }

    #[test]
    fn what_is_no_code_or_token_is_refused() {
        let long = "3".repeat(10_000);
        for text in ["", "34679-ACDE", "34679-ACDEFG", "34679-ACDE1", "34679-ACDEß", "\0", &long] {
            assert!(Code::read(text).is_none(), "{text}");
        }
        let token = Token::random().expect("a token");
        assert!(Token::read(&token.to_string()) == Some(token.clone()));
        assert!(Token::read(&token.to_string().to_uppercase()) == Some(token.clone()));
        for text in ["", "00", &token.to_string()[1..], &"g".repeat(32), &"é".repeat(16), &long] {
            assert!(Token::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_hash_is_good_for_one_purpose_and_nothing_shows_the_secret() {
        let code = Code::random().expect("a code");
        assert_ne!(code.hash(Purpose::Card), code.hash(Purpose::Invitation));
        assert_eq!(code.hash(Purpose::Card), code.clone().hash(Purpose::Card));
        assert_eq!(format!("{code:?}"), "Code(..)");
        assert_eq!(format!("{:?}", Token::random().expect("a token")), "Token(..)");
    }
}
