//! `entrants.csv`: who takes part.

use super::super::definition::{Entrant, Status};
use super::super::folder::Folder;
use super::super::names::folded;
use super::super::problem::Problems;
use super::super::section::list_of;
use super::{is_id, table};
use std::collections::HashMap;

/// The file.
pub(super) const FILE: &str = "entrants.csv";

/// What a roster says of an entrant; the id has to be there.
pub(super) const COLUMNS: [&str; 8] =
    ["id", "name", "country", "group", "team", "seat", "status", "note"];

/// How long a cell may be, in characters.
const CELL_CHARACTERS_MAX: usize = 200;

pub(super) fn read(
    folder: &Folder,
    called: &HashMap<String, String>,
    folds: bool,
    problems: &Problems,
) -> Vec<Entrant> {
    let Some(text) = folder.text(FILE, problems) else {
        return Vec::new();
    };
    let mut entrants = Vec::new();
    let mut lines: HashMap<String, usize> = HashMap::new();
    for row in table::read((FILE, text), &COLUMNS, called, problems) {
        let problem = |message: String| problems.add(FILE, Some(row.line), message);
        let id = row.cell("id").to_owned();
        if !is_id(&id) {
            problem(format!(
                "`{id}` is no id; use 1 to 32 of the letters A to Z, digits, `_` and `-`"
            ));
        } else if let Some(line) = lines.insert(folded(&id, folds), row.line) {
            problem(format!(
                "`{id}` is in line {line} already; give each entrant an id of their own"
            ));
        }
        if let Some(column) =
            COLUMNS.iter().find(|column| row.cell(column).chars().count() > CELL_CHARACTERS_MAX)
        {
            problem(format!("the {column} has more than {CELL_CHARACTERS_MAX} characters"));
        }
        let word = row.cell("status").to_lowercase();
        let status = Status::ALL.into_iter().find(|status| status.word() == word);
        if status.is_none() && !word.is_empty() {
            let known = list_of(Status::ALL.iter().map(|status| status.word()));
            problem(format!("`{word}` is no status; use one of {known}"));
        }
        let name = if row.cell("name").is_empty() { &id } else { row.cell("name") }.to_owned();
        let cell = |column| row.cell(column).to_owned();
        entrants.push(Entrant {
            name,
            country: cell("country"),
            group: cell("group"),
            team: cell("team"),
            seat: cell("seat"),
            status: status.unwrap_or(Status::In),
            note: cell("note"),
            id,
        });
    }
    if entrants.is_empty() {
        problems.add(FILE, None, "there is no entrant in it");
    }
    entrants
}
