//! The documents of f-puzzles.

use super::document::{At, Problem, are_boxes, cell, object};
use super::parts;
use gridmark_core::board::{Cell, Size};
use gridmark_core::puzzle::text::Listed;
use gridmark_core::puzzle::{Alphabet, Cage, Puzzle};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What a document may have: what is read, and settings of the editor.
const KNOWN: &[&str] = &[
    "size",
    "title",
    "author",
    "ruleset",
    "grid",
    "killercage",
    "cage",
    "solution",
    "disabledlogic",
    "truecandidatesoptions",
];

/// What a cell may have: the given, and what a player has entered.
const KNOWN_OF_CELL: &[&str] = &[
    "value",
    "given",
    "region",
    "centerPencilMarks",
    "cornerPencilMarks",
    "highlight",
    "highlightArray",
];

/// What a cage may have: what is read, and colours.
const KNOWN_OF_CAGE: &[&str] = &["cells", "value", "outlineC", "fontC"];

/// Reads a document.
pub(super) fn read(root: &At, alphabet: Option<Alphabet>) -> Result<Listed, Problem> {
    root.refuse_others(KNOWN)?;
    let rows = root.items_of("grid")?;
    let side = match root.field("size") {
        Some(size) => size.number("9 or 16")? as usize,
        None => rows.len(),
    };
    let size = parts::size_of(side).ok_or_else(|| {
        root.problem(format!("expected a board of 9x9 or 16x16, found {side}x{side}"))
    })?;
    let grid = root.field("grid").unwrap_or_else(|| root.clone());
    if rows.len() != side {
        return Err(grid.problem(format!("expected {side} rows, found {}", rows.len())));
    }
    let mut givens = Vec::with_capacity(size.cells());
    let mut regions = BTreeMap::<u32, BTreeSet<usize>>::new();
    for row in rows {
        let cells = row.items()?.collect::<Vec<_>>();
        if cells.len() != side {
            return Err(row.problem(format!("expected {side} cells, found {}", cells.len())));
        }
        for cell in cells {
            cell.refuse_others(KNOWN_OF_CELL)?;
            let place = Cell::of(size, givens.len());
            let own = u32::from(place.row) / size.box_side() as u32 * size.box_side() as u32
                + u32::from(place.column) / size.box_side() as u32;
            let region = match cell.field("region") {
                Some(region) => region.number("the number of a region")?,
                None if cell.has("region") => {
                    return Err(cell.problem("this cell is in no region, which is not judged"));
                }
                None => own,
            };
            regions.entry(region).or_default().insert(givens.len());
            givens.push(match (cell.field("given"), cell.field("value")) {
                (Some(_), Some(value)) => value.digit(size)?,
                (Some(_), None) => return Err(cell.expected("the value of a given")),
                // What a player has entered.
                (None, _) => 0,
            });
        }
    }
    if !are_boxes(size, regions.into_values()) {
        return Err(grid.problem("this puzzle has regions other than boxes, which are not judged"));
    }
    let mut cages = Vec::new();
    for cage in root.items_of("killercage")? {
        cages.push(read_cage(&cage, size)?);
    }
    let alphabet = parts::alphabet_of(size, alphabet, root)?;
    let mut puzzle = Puzzle::new(alphabet, &givens).map_err(|why| grid.invalid(&why))?;
    let list = root.field("killercage").unwrap_or_else(|| root.clone());
    puzzle = puzzle.with_cages(cages).map_err(|why| list.invalid(&why))?;
    let mut listed = Listed::from(puzzle);
    if let Some(solution) = root.field("solution") {
        parts::add_key(&mut listed, &solution, read_solution(&solution, size)?)?;
    }
    listed.title = root.field("title").and_then(|title| title.text());
    listed.author = root.field("author").and_then(|author| author.text());
    listed.rules = root.field("ruleset").and_then(|rules| rules.text());
    for cage in root.items_of("cage")? {
        parts::read_metadata(&cage, &mut listed)?;
    }
    Ok(listed)
}

fn read_cage(cage: &At, size: Size) -> Result<Cage, Problem> {
    if size != Size::Nine {
        return Err(cage.invalid(&gridmark_core::puzzle::Invalid::CagesOnSixteen));
    }
    cage.refuse_others(KNOWN_OF_CAGE)?;
    let mut cells = Vec::new();
    for item in cage.items_of("cells")? {
        let place = item.value.as_str().and_then(|text| {
            let (row, column) = text.strip_prefix(['R', 'r'])?.split_once(['C', 'c'])?;
            cell(
                size,
                row.parse::<u64>().ok()?.checked_sub(1)?,
                column.parse::<u64>().ok()?.checked_sub(1)?,
            )
        });
        cells.push(place.ok_or_else(|| item.expected("a cell such as R1C9"))? as u8);
    }
    let total = match cage.field("value") {
        Some(value) => Some(value.number("the total of a killer cage")?),
        None => None,
    };
    Cage::new(cells, total).map_err(|why| cage.invalid(&why))
}

/// A solution, a list of digits or a text; `None` if a digit is unknown.
fn read_solution(solution: &At, size: Size) -> Result<Option<Vec<u8>>, Problem> {
    if let Value::String(text) = solution.value {
        let words: Vec<&str> = match text.contains(',') {
            true => text.split(',').map(str::trim).collect(),
            false => text.split("").filter(|word| !word.is_empty()).collect(),
        };
        return parts::digits(solution, &words, size);
    }
    let mut digits = Vec::new();
    for item in solution.items()? {
        let is_unknown = match item.value {
            Value::Null => true,
            Value::Number(number) => number.as_u64() == Some(0),
            Value::String(text) => matches!(text.trim(), "" | "0" | "." | "?"),
            _ => false,
        };
        digits.push(if is_unknown { None } else { Some(item.digit(size)?) });
    }
    if digits.len() != size.cells() {
        let message = format!("expected {} digits, found {}", size.cells(), digits.len());
        return Err(solution.problem(message));
    }
    Ok(digits.into_iter().collect())
}

/// The link to a puzzle, and a line end.
pub(super) fn link(listed: &Listed) -> String {
    let puzzle = &listed.puzzle;
    let size = puzzle.size();
    let cell = |given: &u8| match given {
        0 => json!({}),
        _ => json!({ "value": given, "given": true }),
    };
    let row = |row: &[u8]| row.iter().map(cell).collect::<Value>();
    let grid = puzzle.givens().chunks(size.side()).map(row).collect::<Value>();
    let mut document = object([("size", json!(size.side())), ("grid", grid)]);
    let texts = [("title", &listed.title), ("author", &listed.author), ("ruleset", &listed.rules)];
    for (key, text) in texts {
        if let Some(text) = text {
            document[key] = json!(text);
        }
    }
    if !puzzle.cages().is_empty() {
        document["killercage"] = puzzle.cages().iter().map(cage).collect();
    }
    if let Some(key) = puzzle.keys().first() {
        document["solution"] = json!(key);
    }
    let compressed = lz_str::compress_to_base64(&document.to_string());
    format!("https://f-puzzles.com/?load={compressed}\n")
}

fn cage(cage: &Cage) -> Value {
    let name = |cell: &u8| {
        let cell = Cell::of_9(usize::from(*cell));
        json!(format!("R{}C{}", cell.row + 1, cell.column + 1))
    };
    let mut value = object([("cells", cage.cells().iter().map(name).collect())]);
    if let Some(total) = cage.total() {
        value["value"] = json!(total.to_string());
    }
    value
}
