//! The documents of SudokuPad.

use super::document::{At, Problem, are_boxes, cell};
use super::parts::{KNOWN_METADATA, alphabet_of, read_metadata, read_solution, size_of};
use gridmark_core::board::{House, Size};
use gridmark_core::puzzle::text::Listed;
use gridmark_core::puzzle::{Alphabet, Cage, Puzzle};
use serde_json::Value;
use std::collections::BTreeSet;

/// What a document may have: what is read, and settings of the page.
const KNOWN: &[&str] = &[
    "id", "cellSize", "metadata", "cells", "regions", "cages", "settings", "title", "author",
    "rules",
];

/// What a cage may have: what is read, and colours.
const KNOWN_OF_CAGE: &[&str] = &[
    "cells",
    "value",
    "sum",
    "unique",
    "hidden",
    "type",
    "style",
    "outlineC",
    "fontC",
    "borderColor",
];

/// Reads a document.
pub(super) fn read(root: &At, alphabet: Option<Alphabet>) -> Result<Listed, Problem> {
    root.refuse_others(KNOWN)?;
    let rows = root.items_of("cells")?;
    let side = rows.len();
    let board = root.field("cells").unwrap_or_else(|| root.clone());
    let size = size_of(side)
        .ok_or_else(|| board.problem(format!("expected 9 or 16 rows, found {side}")))?;
    let mut givens = Vec::with_capacity(size.cells());
    for row in rows {
        let cells = row.items()?.collect::<Vec<_>>();
        if cells.len() != side {
            return Err(row.problem(format!("expected {side} cells, found {}", cells.len())));
        }
        for cell in cells {
            if cell.value.is_null() {
                givens.push(0);
                continue;
            }
            cell.refuse_others(&["value"])?;
            givens.push(cell.field("value").map_or(Ok(0), |value| value.digit(size))?);
        }
    }
    let mut regions = Vec::new();
    for region in root.items_of("regions")? {
        regions.push(read_cells(&region, size)?.into_iter().collect::<BTreeSet<_>>());
    }
    if !are_boxes(size, regions.into_iter()) {
        let regions = root.field("regions").unwrap_or_else(|| root.clone());
        let message = "expected the boxes as regions, found others, which are not judged";
        return Err(regions.problem(message));
    }
    let (mut cages, mut metadata) = (Vec::new(), Vec::new());
    for item in root.items_of("cages")? {
        if item.field("cells").is_none() {
            metadata.push(item);
        } else if let Some(cage) = read_cage(&item, size)? {
            cages.push(cage);
        }
    }
    let alphabet = alphabet_of(size, alphabet, root)?;
    let puzzle = Puzzle::new(alphabet, &givens).map_err(|why| board.invalid(&why))?;
    let list = root.field("cages").unwrap_or_else(|| root.clone());
    let mut listed = Listed::from(puzzle.with_cages(cages).map_err(|why| list.invalid(&why))?);
    read_texts(root, &mut listed);
    if let Some(fields) = root.field("metadata") {
        fields.refuse_others(KNOWN_METADATA)?;
        read_texts(&fields, &mut listed);
        if let Some(solution) = fields.field("solution") {
            read_solution(&solution, &solution.text().unwrap_or_default(), &mut listed)?;
        }
    }
    for item in metadata {
        read_metadata(&item, &mut listed)?;
    }
    Ok(listed)
}

fn read_texts(fields: &At, listed: &mut Listed) {
    let text = |key| fields.field(key).and_then(|field| field.text());
    listed.title = text("title").or_else(|| listed.title.take());
    listed.author = text("author").or_else(|| listed.author.take());
    listed.rules = text("rules").or_else(|| listed.rules.take());
}

/// The cells of a list of `[row, column]`, from 0.
fn read_cells(list: &At, size: Size) -> Result<Vec<usize>, Problem> {
    let mut cells = Vec::new();
    for item in list.items()? {
        let place = match item.value.as_array().map(Vec::as_slice) {
            Some([row, column]) => {
                row.as_u64().zip(column.as_u64()).and_then(|(row, column)| cell(size, row, column))
            }
            _ => None,
        };
        let expected = "a cell `[row, column]`, counted from 0";
        cells.push(place.ok_or_else(|| item.expected(expected))?);
    }
    Ok(cells)
}

/// Reads a cage; `None` if it is hidden and says only that a house has its digits once.
fn read_cage(cage: &At, size: Size) -> Result<Option<Cage>, Problem> {
    cage.refuse_others(KNOWN_OF_CAGE)?;
    let list = cage.field("cells").unwrap_or_else(|| cage.clone());
    let cells = read_cells(&list, size)?;
    if cage.field("hidden").is_some() {
        let set = cells.iter().copied().collect::<BTreeSet<_>>();
        let is_house =
            House::all(size).any(|house| house.cells(size).collect::<BTreeSet<_>>() == set);
        if is_house {
            return Ok(None);
        }
        return Err(cage.problem("this cage is hidden and no house: a rule that is not judged"));
    }
    if cage.value.get("unique") == Some(&Value::Bool(false)) {
        return Err(cage.problem("digits may repeat in this cage, which is not judged"));
    }
    if let Some(style) = cage.field("style").filter(|style| style.value != "killer") {
        return Err(style.expected("`killer`"));
    }
    if size != Size::Nine {
        return Err(cage.invalid(&gridmark_core::puzzle::Invalid::CagesOnSixteen));
    }
    let mut total = None;
    for field in ["value", "sum"].into_iter().filter_map(|key| cage.field(key)) {
        let number = field.number("the total of a killer cage")?;
        if total.replace(number).is_some_and(|other| other != number) {
            return Err(field.expected("the same total as in `value`"));
        }
    }
    let cells = cells.into_iter().map(|cell| cell as u8);
    Cage::new(cells, total).map(Some).map_err(|why| cage.invalid(&why))
}
