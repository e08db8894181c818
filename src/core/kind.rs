//! The kinds of puzzle. What a further kind needs is listed in the [crate's documentation](crate).

use core::fmt;
use core::str::FromStr;

/// A kind of puzzle that gridmark grades.
///
/// ```
/// use gridmark_core::Kind;
/// assert_eq!("classic".parse(), Ok(Kind::Classic));
/// assert_eq!(Kind::ALL.map(Kind::word), ["killer", "classic", "hexudoku"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Killer sudoku: a drawing of a completed grid with cages, and a total for each cage.
    Killer,
    /// Classic sudoku: a puzzle, and solutions that are checked against it.
    Classic,
    /// Hexudoku: a 16 by 16 board on which Lazy Larry fills what he can.
    Hexudoku,
}

impl Kind {
    /// All kinds, in the order in which they are listed to people.
    pub const ALL: [Kind; 3] = [Kind::Killer, Kind::Classic, Kind::Hexudoku];

    /// The word for this kind, as it stands in reports, on the command line and in file extensions.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Killer => "killer",
            Kind::Classic => "classic",
            Kind::Hexudoku => "hexudoku",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The word is not that of a [`Kind`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKind;

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of ")?;
        for (i, kind) in Kind::ALL.into_iter().enumerate() {
            let before = match i {
                0 => "",
                _ if i + 1 == Kind::ALL.len() => " and ",
                _ => ", ",
            };
            write!(f, "{before}{kind}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownKind {}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, UnknownKind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word).ok_or(UnknownKind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    #[test]
    fn all_kinds_are_listed() {
        // A kind that is missing here does not compile.
        let next = |kind: &Kind| match kind {
            Kind::Killer => Some(Kind::Classic),
            Kind::Classic => Some(Kind::Hexudoku),
            Kind::Hexudoku => None,
        };
        let kinds = core::iter::successors(Some(Kind::Killer), next).collect::<Vec<_>>();
        assert_eq!(kinds, Kind::ALL);
    }

    #[test]
    fn an_unknown_word_names_the_known_ones() {
        let error = "sudoku".parse::<Kind>().unwrap_err();
        assert_eq!(error.to_string(), "expected one of killer, classic and hexudoku");
    }
}
