//! `times.csv` of a round: other starts, extra time, and when entrants finished.

use super::super::definition::Times;
use super::super::folder::Folder;
use super::super::problem::Problems;
use super::super::section::duration_ms;
use super::{Zone, table};
use std::collections::HashMap;

/// What a sheet of times says of an entrant.
const COLUMNS: [&str; 4] = ["entrant", "start", "extra", "finished"];

/// Reads the sheet of a round, if it has one. Times of day are those of the day on which the round starts.
pub(super) fn read(
    folder: &Folder,
    file: &str,
    (zone, start_ms): (&Zone, i64),
    entrant_of: impl Fn(&str) -> Option<usize>,
    problems: &Problems,
) -> HashMap<usize, Times> {
    let mut times = HashMap::new();
    if folder.get(file).is_none() && folder.odd(file).is_none() {
        return times;
    }
    let Some(text) = folder.text(file, problems) else {
        return times;
    };
    for row in table::read((file, text), &COLUMNS, &HashMap::new(), problems) {
        let problem = |message: String| problems.add(file, Some(row.line), message);
        let Some(entrant) = entrant_of(row.cell("entrant")) else {
            problem(format!("there is no entrant `{}`", row.cell("entrant")));
            continue;
        };
        let moment = |column: &str| match row.cell(column) {
            "" => None,
            text => {
                let moment = zone.moment_of_day(text, start_ms);
                if moment.is_none() {
                    problem(format!(
                        "`{text}` is no {column}; write a time like 11:05 or 11:05:30, or a date and time"
                    ));
                }
                moment
            }
        };
        let extra = match row.cell("extra") {
            "" => Some(0),
            text => duration_ms(text),
        };
        if extra.is_none() {
            problem(format!("`{}` is no extra time; write a duration like 15m", row.cell("extra")));
        }
        let row_times = Times {
            start_ms: moment("start"),
            extra_ms: extra.unwrap_or(0),
            finished_ms: moment("finished"),
        };
        if times.insert(entrant, row_times).is_some() {
            problem(format!("entrant `{}` has two rows", row.cell("entrant")));
        }
    }
    times
}
