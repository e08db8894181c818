//! Alphabets: how the digits of a puzzle are written.

use super::size::Size;
use core::fmt;
use core::str::FromStr;

/// How the digits of a puzzle are written.
///
/// A digit is a number from 1 to 9 or 16, its place in the alphabet. What people read and write is its
/// [name](Alphabet::name).
///
/// ```
/// use gridmark_core::board::Alphabet;
/// assert_eq!("1-G".parse(), Ok(Alphabet::OneToG));
/// let names = Alphabet::ALL.map(|alphabet| alphabet.name(9));
/// assert_eq!(names, ["9", "8", "9", "I", "9"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Alphabet {
    /// `1` to `9`: that of every 9x9 puzzle.
    OneToNine,
    /// `0` to `9` and `A` to `F`: 16x16, and that of the kind `hexudoku`.
    ZeroToF,
    /// `1` to `9` and `A` to `G`: 16x16.
    OneToG,
    /// `A` to `P`: 16x16.
    AToP,
    /// The numbers from 1 to 16: 16x16, one or two characters a digit.
    OneToSixteen,
}

impl Alphabet {
    /// All alphabets; the first is that of 9x9, the others are those of 16x16.
    pub const ALL: [Alphabet; 5] = [
        Alphabet::OneToNine,
        Alphabet::ZeroToF,
        Alphabet::OneToG,
        Alphabet::AToP,
        Alphabet::OneToSixteen,
    ];

    /// The alphabets of 16x16.
    pub const SIXTEEN: [Alphabet; 4] =
        [Alphabet::ZeroToF, Alphabet::OneToG, Alphabet::AToP, Alphabet::OneToSixteen];

    /// The word for this alphabet: its first and last digit.
    pub const fn word(self) -> &'static str {
        match self {
            Alphabet::OneToNine => "1-9",
            Alphabet::ZeroToF => "0-F",
            Alphabet::OneToG => "1-G",
            Alphabet::AToP => "A-P",
            Alphabet::OneToSixteen => "1-16",
        }
    }

    /// The size of the boards that are written with this alphabet.
    pub const fn size(self) -> Size {
        match self {
            Alphabet::OneToNine => Size::Nine,
            _ => Size::Sixteen,
        }
    }

    /// The names of all digits, in their order.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Alphabet::OneToNine => &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
            Alphabet::ZeroToF => {
                &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "A", "B", "C", "D", "E", "F"]
            }
            Alphabet::OneToG => {
                &["1", "2", "3", "4", "5", "6", "7", "8", "9", "A", "B", "C", "D", "E", "F", "G"]
            }
            Alphabet::AToP => {
                &["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P"]
            }
            Alphabet::OneToSixteen => &[
                "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
                "16",
            ],
        }
    }

    /// How `digit` is written: one character, or two for [`OneToSixteen`](Alphabet::OneToSixteen)
    /// from 10 on. A number that is no digit of this alphabet is written `?`.
    pub fn name(self, digit: u8) -> &'static str {
        let place = usize::from(digit).checked_sub(1);
        place.and_then(|place| self.names().get(place)).copied().unwrap_or("?")
    }

    /// The digit that `name` stands for, in upper or lower case, if it is one of this alphabet.
    /// Numbers may have a leading zero.
    ///
    /// ```
    /// use gridmark_core::board::Alphabet;
    /// assert_eq!(Alphabet::AToP.digit(b"p"), Some(16));
    /// assert_eq!(Alphabet::OneToSixteen.digit(b"07"), Some(7));
    /// assert_eq!(Alphabet::OneToG.digit(b"0"), None);
    /// ```
    pub fn digit(self, name: &[u8]) -> Option<u8> {
        let name = match (self, name) {
            (Alphabet::OneToSixteen, [b'0', unit @ b'1'..=b'9']) => core::slice::from_ref(unit),
            _ => name,
        };
        let is_it = |known: &&str| known.as_bytes().eq_ignore_ascii_case(name);
        self.names().iter().position(is_it).map(|place| place as u8 + 1)
    }
}

impl fmt::Display for Alphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The word is not that of an [`Alphabet`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlphabet;

impl fmt::Display for UnknownAlphabet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of 1-9, 0-F, 1-G, A-P and 1-16")
    }
}

impl core::error::Error for UnknownAlphabet {}

impl FromStr for Alphabet {
    type Err = UnknownAlphabet;

    fn from_str(word: &str) -> Result<Self, UnknownAlphabet> {
        let is_it = |alphabet: &Alphabet| alphabet.word().eq_ignore_ascii_case(word);
        Alphabet::ALL.into_iter().find(is_it).ok_or(UnknownAlphabet)
    }
}
