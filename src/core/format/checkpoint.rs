//! A reader's state as a line of text.

use super::classic::{self, Stage as Classic};
use super::hexudoku::{self, Before};
use super::reader::{Reader, Stage};
use super::{Limits, killer};
use crate::Kind;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// The first word of a checkpoint, which changes with its format.
const VERSION: &str = "reader1";

/// The text is not a checkpoint of a reader, or belongs to a file of another kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCheckpoint {
    checkpoint: String,
}

impl fmt::Display for BadCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot resume reading: `{}` is not a checkpoint of this file; read it from its start",
            self.checkpoint.escape_debug()
        )
    }
}

impl core::error::Error for BadCheckpoint {}

impl Reader {
    /// The whole state of this reader as one line of printable text, without a line end.
    ///
    /// ```
    /// use gridmark_core::format::{Found, Limits, Reader};
    /// let mut reader = Reader::new(None, Limits::default());
    /// reader.read(b"\n\n+", false, &mut Found::default());
    /// let again = Reader::resume(None, Limits::default(), &reader.checkpoint())?;
    /// assert_eq!((again.offset(), again), (2, reader));
    /// # Ok::<(), gridmark_core::format::BadCheckpoint>(())
    /// ```
    pub fn checkpoint(&self) -> String {
        let stage = match &self.stage {
            Stage::Start => "start".into(),
            Stage::Unknown => "unknown".into(),
            Stage::Empty => "empty".into(),
            Stage::Killer(at) => {
                format!("killer {} {}", u8::from(at.skip), u8::from(at.inside_line))
            }
            Stage::Hexudoku(at) => {
                let before = match at.before {
                    Before::Start => "start",
                    Before::BlankLine => "blank",
                    Before::Row => "row",
                };
                format!("hexudoku {before} {} {}", at.skip_rows, u8::from(at.inside_line))
            }
            Stage::Classic(at) => classic_words(at),
        };
        format!("{VERSION} {} {} {stage}", self.offset, self.line)
    }

    /// A reader that continues where [`checkpoint`](Reader::checkpoint) was called on one with the
    /// same forced kind and limits: the next window starts at byte [`offset`](Reader::offset).
    ///
    /// # Errors
    ///
    /// `checkpoint` is not a checkpoint, or the kind in it is not the forced one.
    pub fn resume(
        forced: Option<Kind>,
        limits: Limits,
        checkpoint: &str,
    ) -> Result<Reader, BadCheckpoint> {
        let mut reader = Reader::new(forced, limits);
        match parse(checkpoint) {
            Some((offset, line, stage)) => {
                (reader.offset, reader.line, reader.stage) = (offset, line, stage);
            }
            None => return Err(BadCheckpoint { checkpoint: checkpoint.into() }),
        }
        match (forced, &reader.stage) {
            (None, _) | (Some(_), Stage::Start | Stage::Unknown | Stage::Empty) => Ok(reader),
            _ if reader.kind() == forced => Ok(reader),
            _ => Err(BadCheckpoint { checkpoint: checkpoint.into() }),
        }
    }
}

fn classic_words(at: &classic::Boundaries) -> String {
    let stage = match at.stage {
        Classic::Count => "count",
        Classic::Solution => "solution",
        Classic::SkipRows => "skip-rows",
        Classic::SkipToCount => "skip-to-count",
    };
    let givens = String::from_utf8_lossy(&at.givens);
    format!(
        "classic {stage} {} {} {} {} {givens}",
        u8::from(at.after_block),
        u8::from(at.inside_line),
        at.left,
        at.rows
    )
}

fn parse(checkpoint: &str) -> Option<(u64, u64, Stage)> {
    let mut words = Words(checkpoint);
    if words.word()? != VERSION {
        return None;
    }
    let (offset, line) = (words.number()?, words.number()?);
    let stage = match words.word()? {
        "start" => Stage::Start,
        "unknown" => Stage::Unknown,
        "empty" => Stage::Empty,
        "killer" => {
            Stage::Killer(killer::Boundaries { skip: words.flag()?, inside_line: words.flag()? })
        }
        "hexudoku" => Stage::Hexudoku(hexudoku::Boundaries {
            before: match words.word()? {
                "start" => Before::Start,
                "blank" => Before::BlankLine,
                "row" => Before::Row,
                _ => return None,
            },
            skip_rows: u8::try_from(words.number()?).ok().filter(|rows| *rows <= 16)?,
            inside_line: words.flag()?,
        }),
        "classic" => Stage::Classic(parse_classic(&mut words)?),
        _ => return None,
    };
    // Counting continues from both, and must not overflow.
    let countable = |number| number <= u64::MAX / 2;
    (words.0.is_empty() && line > 0 && countable(offset) && countable(line))
        .then_some((offset, line, stage))
}

fn parse_classic(words: &mut Words) -> Option<classic::Boundaries> {
    let stage = match words.word()? {
        "count" => Classic::Count,
        "solution" => Classic::Solution,
        "skip-rows" => Classic::SkipRows,
        "skip-to-count" => Classic::SkipToCount,
        _ => return None,
    };
    let at = classic::Boundaries {
        stage,
        after_block: words.flag()?,
        inside_line: words.flag()?,
        left: u32::try_from(words.number()?).ok()?,
        rows: u8::try_from(words.number()?).ok()?,
        givens: words.word()?.as_bytes().try_into().ok()?,
    };
    let counts_fit = match stage {
        Classic::Count | Classic::SkipToCount => true,
        Classic::Solution => at.left > 0,
        Classic::SkipRows => at.left > 0 && (1..=9).contains(&at.rows),
    };
    let givens_fit = at.givens.iter().all(|given| matches!(given, b'1'..=b'9' | b'.'));
    (counts_fit && givens_fit).then_some(at)
}

/// The words of a checkpoint, from left to right.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn word(&mut self) -> Option<&'a str> {
        let (word, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    fn number(&mut self) -> Option<u64> {
        self.word()?.parse().ok()
    }

    fn flag(&mut self) -> Option<bool> {
        match self.word()? {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }
}
