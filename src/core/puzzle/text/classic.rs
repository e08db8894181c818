//! Classic blocks: a number of solutions, the puzzle, and the solutions.

use super::cells::{self, Cell};
use super::{Listed, Place, ReadError, count, lines, trim};
use crate::board::Size;
use crate::format::lines::{integer, is_blank};
use crate::format::quote::QuotedLine;
use crate::puzzle::{Alphabet, Puzzle};
use alloc::format;
use alloc::vec::Vec;

/// Reads all blocks. The solutions of a block are keys, and have to be right.
pub(super) fn blocks(text: &[u8]) -> Result<Vec<Listed>, ReadError> {
    let mut lines = lines(text);
    let mut listed = Vec::new();
    while let Some((line, content)) = lines.by_ref().find(|(_, content)| !is_blank(content)) {
        let number = listed.len() + 1;
        let Some(solutions) = integer(trim(content)).filter(|_| trim(content).len() <= 8) else {
            let found = QuotedLine(trim(content));
            let message =
                format!("expected the number of solutions of a classic block, found {found}");
            return Err(ReadError::at(number, line, 1, message));
        };
        let (_, givens) = grid(&mut lines, line, number, "puzzle")?;
        let mut puzzle = Puzzle::new(Alphabet::OneToNine, &givens)
            .map_err(|why| ReadError::invalid(number, Place::Text { line, column: 1 }, &why))?;
        for _ in 0..solutions {
            let (line, key) = grid(&mut lines, line, number, "solution")?;
            puzzle = puzzle
                .with_key(&key)
                .map_err(|why| ReadError::invalid(number, Place::Text { line, column: 1 }, &why))?;
        }
        listed.push(puzzle.into());
    }
    Ok(listed)
}

/// Nine rows: the number of the first one, and the digits.
fn grid<'a>(
    lines: &mut impl Iterator<Item = (u64, &'a [u8])>,
    block: u64,
    number: usize,
    what: &str,
) -> Result<(u64, Vec<u8>), ReadError> {
    let mut all = Vec::<Cell>::new();
    for row in 1..=9 {
        let Some((line, content)) = lines.next() else {
            let message = format!(
                "expected row {row} of a {what} of the block in line {block}, found the end of the file"
            );
            return Err(ReadError::at(number, block, 1, message));
        };
        let cells = cells::split(content, line, number)?;
        if cells.len() != 9 {
            let found = count(cells.len(), "cell");
            let message = format!("expected row {row} of a {what}, 9 cells, found {found}");
            return Err(ReadError::at(number, line, 1, message));
        }
        all.extend(cells);
    }
    let line = all.first().map_or(block, |cell| cell.line);
    Ok((line, cells::givens(&all, Size::Nine, None, number)?.1))
}
