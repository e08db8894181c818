//! Puzzles as files and links: the text formats of the core, and the links and JSON of f-puzzles and
//! SudokuPad.
//!
//! Such a link is a compressed JSON document that may hold any number of rules that gridmark does
//! not judge. So every part of a document has to be known: what is not is refused by its name, and
//! no puzzle is registered without one of its rules.
//!
//! Everything here is bounded by [`Limits`], whatever a file says.

pub mod certify;
mod document;
mod fpuzzles;
mod link;
mod loose;
mod lz;
mod parts;
mod sudokupad;

use document::{At, Problem};
use gridmark_core::puzzle::Alphabet;
use gridmark_core::puzzle::text::{self, Listed, Place, ReadError, WriteError};
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// Limits against hostile files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest file, in bytes.
    pub file_bytes_max: usize,
    /// The largest JSON document, decompressed, in bytes. Its values nest at most
    /// [`DEPTH_MAX`](Limits::DEPTH_MAX) deep.
    pub document_bytes_max: usize,
}

impl Limits {
    /// How deep values of a document nest at most.
    pub const DEPTH_MAX: usize = 64;
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { file_bytes_max: 4 << 20, document_bytes_max: 1 << 20 }
    }
}

/// The formats that puzzles are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A text format.
    Text(text::Format),
    /// A link to f-puzzles a line, which SudokuPad opens, too.
    FPuzzles,
}

impl Format {
    /// All formats.
    pub fn all() -> impl Iterator<Item = Format> {
        text::Format::ALL.into_iter().map(Format::Text).chain([Format::FPuzzles])
    }

    /// The word for this format on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Format::Text(format) => format.word(),
            Format::FPuzzles => "f-puzzles",
        }
    }
}

/// The word is not that of a [`Format`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat;

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = Format::all().map(Format::word).collect::<Vec<_>>();
        write!(f, "expected one of {}", words.join(", "))
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        Format::all().find(|format| format.word() == word).ok_or(UnknownFormat)
    }
}

/// Reads all puzzles of a file, at least one. `alphabet` is how the digits of 16x16 puzzles are
/// written; without it that has to follow from the file.
///
/// ```
/// use gridmark::puzzle::{Format, Limits, read, write};
/// let line = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79\n";
/// let listed = read(line.as_bytes(), None, Limits::default())?;
/// let link = write(Format::FPuzzles, &listed)?;
/// assert!(link.starts_with("https://f-puzzles.com/?load=N4Ig"));
/// assert_eq!(read(link.as_bytes(), None, Limits::default())?, listed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The first place at which the file is not understood, exceeds a limit, has a rule that gridmark
/// does not judge, or says something that no puzzle can be.
pub fn read(
    bytes: &[u8],
    alphabet: Option<Alphabet>,
    limits: Limits,
) -> Result<Vec<Listed>, ReadError> {
    if bytes.len() > limits.file_bytes_max {
        let message = format!(
            "expected a file of at most {} bytes, found a larger one",
            limits.file_bytes_max
        );
        return Err(ReadError::at(1, 1, 1, message));
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let start = bytes.trim_ascii_start();
    if start.starts_with(b"{") {
        let line = 1 + line_ends(&bytes[..bytes.len() - start.len()]);
        let problem = |problem: Problem| problem.at(1, line);
        let document = document::parse(start, limits).map_err(problem)?;
        return Ok(vec![of_document(&document, alphabet).map_err(problem)?]);
    }
    let first = start.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    if !link::is_link(first) {
        return text::read(bytes, alphabet);
    }
    let mut listed = Vec::new();
    for (line, content) in text::lines(bytes) {
        let content = content.trim_ascii();
        if !content.is_empty() {
            let read = link::document(content, limits)
                .and_then(|text| of_document(&document::parse(text.as_bytes(), limits)?, alphabet));
            listed.push(read.map_err(|problem| problem.at(listed.len() + 1, line))?);
        }
    }
    Ok(listed)
}

/// How many lines end in `text`.
fn line_ends(text: &[u8]) -> u64 {
    text.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// The puzzle of a document of either kind.
fn of_document(document: &Value, alphabet: Option<Alphabet>) -> Result<Listed, Problem> {
    let root = At::root(document);
    if root.has("grid") {
        fpuzzles::read(&root, alphabet)
    } else if root.has("cells") {
        sudokupad::read(&root, alphabet)
    } else {
        Err(root.problem("expected `grid` (f-puzzles) or `cells` (SudokuPad), found neither"))
    }
}

/// Writes puzzles. What is read back asks for the same, if the alphabet of 16x16 is declared.
///
/// # Errors
///
/// The format has no place for a part of a puzzle.
pub fn write(format: Format, listed: &[Listed]) -> Result<String, WriteError> {
    match format {
        Format::Text(format) => text::write(format, listed),
        Format::FPuzzles => Ok(listed.iter().map(fpuzzles::link).collect()),
    }
}

impl Problem {
    /// The error for puzzle `number` of a file, whose document begins in line `line`.
    fn at(self, number: usize, line: u64) -> ReadError {
        let Problem { path, message, is_invalid } = self;
        ReadError { number, place: Place::Json { line, path }, message, is_invalid }
    }
}
