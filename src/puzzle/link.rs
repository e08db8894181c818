//! Links to f-puzzles and SudokuPad, which hold their puzzle.

use super::Limits;
use super::document::Problem;
use super::lz::{self, Broken};

/// Sites of SudokuPad: the puzzle follows the host.
const SUDOKUPAD: [&str; 4] = [
    "sudokupad.app/sudoku/",
    "sudokupad.app/",
    "app.crackingthecryptic.com/sudoku/",
    "app.crackingthecryptic.com/",
];

/// Prefixes of puzzles of SudokuPad that are compressed documents.
const DOCUMENTS: [&str; 5] = ["scl", "ctc", "fpuzzles", "fpuz", "sudokupad://puzzle/"];

/// How links begin; hosts may stand without `https://`.
const STARTS: [&str; 6] =
    ["https://", "http://", "f-puzzles.com/", "www.f-puzzles.com/", "sudokupad.app/", "scf"];

/// Whether a line is a link to a puzzle, or the part of one that holds the puzzle.
pub(super) fn is_link(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    STARTS.iter().chain(&DOCUMENTS).any(|start| line.starts_with(start.as_bytes()))
}

/// What follows the host in a link to SudokuPad, and the same without a host.
fn id(link: &str) -> Option<&str> {
    let of_site = |site: &&str| {
        let (_, id) = link.split_once(*site)?;
        Some(id.strip_prefix("?puzzleid=").unwrap_or(id))
    };
    let is_alone = !link.starts_with("http");
    SUDOKUPAD.iter().find_map(of_site).or(is_alone.then_some(link))
}

/// The document in a link.
pub(super) fn document(link: &[u8], limits: Limits) -> Result<String, Problem> {
    let problem = |message: &str| Problem::new("link", message);
    let Ok(link) = std::str::from_utf8(link) else {
        return Err(problem("expected a link, found bytes that are not UTF-8"));
    };
    let compressed = if link.contains("f-puzzles.com/") {
        let Some((_, load)) = link.split_once("?load=") else {
            let message = "expected `?load=` with the puzzle; puzzles are not fetched";
            return Err(problem(message));
        };
        load
    } else {
        let Some(id) = id(link) else {
            return Err(problem("expected a link to f-puzzles or SudokuPad, found another one"));
        };
        let prefix = DOCUMENTS.iter().find(|prefix| id.starts_with(**prefix));
        let Some(prefix) = prefix else {
            return Err(problem(if id.starts_with("scf") {
                "`scf` is a compact form that is not read: export the puzzle to f-puzzles"
            } else {
                "expected `scl`, `ctc` or `fpuzzles` with the puzzle; puzzles are not fetched"
            }));
        };
        &id[prefix.len()..]
    };
    let end = compressed.find(['?', '&', '#']).unwrap_or(compressed.len());
    let decoded = percent_decoded(&compressed[..end]);
    lz::decompress(&decoded, limits.document_bytes_max).map_err(|broken| match broken {
        Broken::Character(at) => {
            let found = char::from(decoded[at]).escape_default();
            problem(&format!("expected base64, found `{found}` as its character {}", at + 1))
        }
        Broken::Truncated => problem("expected more of the puzzle: the link is cut off"),
        Broken::Code => problem("expected a compressed puzzle, found something else"),
        Broken::NotText => problem("expected text in the compressed puzzle, found something else"),
        Broken::TooLong => problem(&format!(
            "expected a document of at most {} bytes, found a larger one",
            limits.document_bytes_max
        )),
    })
}

/// `text` with its `%XX` decoded.
fn percent_decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3).filter(|_| byte == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}
