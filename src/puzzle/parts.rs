//! What the documents of f-puzzles and SudokuPad have in common.

use super::document::{At, Problem};
use gridmark_core::board::Size;
use gridmark_core::puzzle::Alphabet;
use gridmark_core::puzzle::text::Listed;

/// What metadata may have.
pub(super) const KNOWN_METADATA: &[&str] =
    &["title", "author", "rules", "solution", "source", "video", "videos", "msgcorrect", "id"];

/// The size of boards with so many rows.
pub(super) fn size_of(side: usize) -> Option<Size> {
    [Size::Nine, Size::Sixteen].into_iter().find(|size| size.side() == side)
}

/// How the digits of a document are written, which has numbers from 1 on.
pub(super) fn alphabet_of(
    size: Size,
    declared: Option<Alphabet>,
    root: &At,
) -> Result<Alphabet, Problem> {
    match (size, declared) {
        (_, Some(alphabet)) if alphabet.size() == size => Ok(alphabet),
        (Size::Nine, None) => Ok(Alphabet::OneToNine),
        (Size::Sixteen, None) => Ok(Alphabet::OneToSixteen),
        (_, Some(alphabet)) => {
            let side = size.side();
            let message =
                format!("the alphabet {alphabet} is declared, but this board is {side}x{side}");
            Err(root.problem(message))
        }
    }
}

/// Reads a cage that is none, but `name: text`, such as `solution: 123...`.
pub(super) fn read_metadata(cage: &At, listed: &mut Listed) -> Result<(), Problem> {
    let value = cage.field("value").and_then(|value| value.text()).unwrap_or_default();
    let Some((name, text)) = value.split_once(':') else {
        let message =
            "this cage is drawn without being a killer cage: it may be a rule, and is not known";
        return Err(cage.problem(message));
    };
    let text = text.trim().to_owned();
    match name.trim() {
        "title" => listed.title = Some(text),
        "author" => listed.author = Some(text),
        "rules" => listed.rules = Some(text),
        "solution" => read_solution(cage, &text, listed)?,
        name if KNOWN_METADATA.contains(&name) => {}
        _ => return Err(cage.expected("a title, an author, rules or a solution")),
    }
    Ok(())
}

/// Reads a solution of one character a cell, or of two digits a cell of 16x16.
pub(super) fn read_solution(at: &At, text: &str, listed: &mut Listed) -> Result<(), Problem> {
    let size = listed.puzzle.size();
    let characters = text.char_indices().map(|(start, c)| &text[start..start + c.len_utf8()]);
    let words: Vec<&str> = match size {
        Size::Sixteen if text.is_ascii() && text.len() == 2 * size.cells() => {
            (0..size.cells()).map(|cell| &text[2 * cell..][..2]).collect()
        }
        _ => characters.collect(),
    };
    let key = digits(at, &words, size)?;
    add_key(listed, at, key)
}

/// The digits that words are; `None` if one is unknown.
pub(super) fn digits(at: &At, words: &[&str], size: Size) -> Result<Option<Vec<u8>>, Problem> {
    if words.len() != size.cells() {
        return Err(at.problem(format!(
            "expected a solution of {} digits, found {}",
            size.cells(),
            words.len()
        )));
    }
    let mut digits = Vec::with_capacity(words.len());
    for word in words {
        digits.push(match *word {
            "?" | "." | "0" | "00" | " " | "_" | "-" | "" => None,
            word => {
                let digit = word.parse::<u8>().ok();
                let digit = digit.filter(|digit| (1..=size.side()).contains(&usize::from(*digit)));
                let expected =
                    format!("expected a digit from 1 to {} in the solution", size.side());
                Some(digit.ok_or_else(|| at.problem(format!("{expected}, found `{word}`")))?)
            }
        });
    }
    Ok(digits.into_iter().collect())
}

/// Adds a solution to the keys, unless it is one of them.
pub(super) fn add_key(listed: &mut Listed, at: &At, key: Option<Vec<u8>>) -> Result<(), Problem> {
    if let Some(key) = key.filter(|key| !listed.puzzle.keys().contains(key)) {
        listed.puzzle = listed.puzzle.clone().with_key(&key).map_err(|why| at.invalid(&why))?;
    }
    Ok(())
}
