//! Tables of people: CSV with any delimiter, any order of columns and any header.

use super::super::folder::line_at;
use super::super::problem::Problems;
use std::collections::HashMap;

/// How many rows a table may have.
const ROWS_MAX: usize = 100_000;

/// A row: its cells by the names of columns, and its line.
pub(super) struct Row {
    pub(super) line: usize,
    cells: HashMap<&'static str, String>,
}

impl Row {
    /// The cell of a column, without blanks around it; empty if it is missing.
    pub(super) fn cell(&self, column: &str) -> &str {
        self.cells.get(column).map_or("", |cell| cell.trim())
    }
}

/// What stands between the cells of a table: what its header has more of, `;`, `,` or a tab.
pub fn delimiter_of(text: &str) -> u8 {
    let header = text.lines().next().unwrap_or_default();
    let count = |delimiter: &u8| header.bytes().filter(|byte| byte == delimiter).count();
    [b',', b';', b'\t'].into_iter().rev().max_by_key(count).unwrap_or(b',')
}

/// Reads a table with these `columns`, of which the first must be there. A header names a column as it is or as
/// `called` says, in any case; other columns are ignored. The delimiter is what the header has more of, `;` or `,`
/// or a tab.
pub(super) fn read(
    (file, text): (&str, &str),
    columns: &[&'static str],
    called: &HashMap<String, String>,
    problems: &Problems,
) -> Vec<Row> {
    let mut builder = csv::ReaderBuilder::new();
    let builder = builder.delimiter(delimiter_of(text)).flexible(true);
    let mut reader = builder.from_reader(text.as_bytes());
    let names = match reader.headers() {
        Ok(names) => names.clone(),
        Err(error) => {
            problems.add(file, Some(1), format!("the header cannot be read: {error}"));
            return Vec::new();
        }
    };
    let mut places = Vec::new();
    for column in columns {
        let header = called.get(*column).map_or(*column, String::as_str);
        let is_it = |name: &str| name.trim().to_lowercase() == header.to_lowercase();
        let mut found = names.iter().enumerate().filter(|(_, name)| is_it(name));
        match (found.next(), found.next()) {
            (Some((place, _)), None) => places.push((*column, place)),
            (Some(_), Some(_)) => {
                problems.add(file, Some(1), format!("two columns are called `{header}`"));
            }
            (None, _) if *column == columns[0] || called.contains_key(*column) => {
                problems.add(file, Some(1), format!("no column is called `{header}`"));
            }
            (None, _) => {
                let is_like = |name: &&str| {
                    let name = name.trim().to_lowercase();
                    !columns.contains(&&*name) && strsim::damerau_levenshtein(&name, column) == 1
                };
                if let Some(like) = names.iter().find(is_like) {
                    let message = format!(
                        "no column is called `{column}`, but one is called `{}`: call it `{column}` if it is \
                         that, or else something that is not so much like it",
                        like.trim()
                    );
                    problems.add(file, Some(1), message);
                }
            }
        }
    }
    let mut rows = Vec::new();
    // Counted on from record to record.
    let (mut at, mut line) = (0, 1);
    let mut line_of = |position: Option<&csv::Position>| {
        let next = position.map_or(at, |position| at.max(position.byte() as usize));
        line += line_at(&text.as_bytes()[at..], next - at) - 1;
        at = next;
        line
    };
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let line = line_of(error.position());
                problems.add(file, Some(line), format!("this row cannot be read: {error}"));
                continue;
            }
        };
        let line = line_of(record.position());
        if record.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        if rows.len() == ROWS_MAX {
            problems.add(file, Some(line), format!("there are more than {ROWS_MAX} rows"));
            break;
        }
        if record.len() > names.len()
            && record.iter().skip(names.len()).any(|cell| !cell.trim().is_empty())
        {
            let message = format!(
                "this row has {} cells, and the header {}: put text that holds the delimiter into quotes",
                record.len(),
                names.len()
            );
            problems.add(file, Some(line), message);
            continue;
        }
        let cell = |(column, place): &(&'static str, usize)| {
            Some((*column, record.get(*place)?.to_owned()))
        };
        rows.push(Row { line, cells: places.iter().filter_map(cell).collect() });
    }
    rows
}
