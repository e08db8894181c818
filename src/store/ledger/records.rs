//! Submissions: what is known of each, from its claim to its marks.

use super::{Error, Ledger};
use crate::model::escape;
use crate::model::submission::{
    Claimed, Doubt, Finished, HandedIn, Name, Prefix, Progress, Rules, Status, Tally,
};
use rusqlite::types::Value;
use rusqlite::{Params, Row};
use std::time::Instant;

/// The submissions of a ledger.
#[derive(Clone, Copy)]
pub struct Records<'a>(pub(super) &'a Ledger);

/// Everything that the ledger knows of a submission.
#[derive(Debug)]
pub struct Record {
    /// What is known since it was taken.
    pub claimed: Claimed,
    /// How it ended, if it has.
    pub finished: Option<Finished>,
    /// The bytes that were graded chunk by chunk, if it is a large one.
    pub graded: Option<Prefix>,
}

impl Records<'_> {
    /// The failed submissions, oldest first; without those whose file, or its place in the archive, belongs to a
    /// later submission by now.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn failed(&self) -> Result<Vec<Record>, Error> {
        self.all("state = 'failed' AND NOT superseded ORDER BY +id", [])
    }

    /// All submissions of this name, oldest first.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn of_name(&self, name: &Name) -> Result<Vec<Record>, Error> {
        self.all("name = ? ORDER BY attempt", [name])
    }

    /// How many submissions of this name there are.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn attempts_of(&self, name: &Name) -> Result<u32, Error> {
        let count = "SELECT count(*) FROM submissions WHERE name = ?";
        self.0.read(|connection| {
            connection.prepare_cached(count)?.query_row([name], |row| row.get(0))
        })
    }

    /// All submissions that are, or were, under this name in the archive or in quarantine, oldest first.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn of_archived(&self, archived_as: &Name) -> Result<Vec<Record>, Error> {
        self.all("archived_as = ? ORDER BY id", [archived_as])
    }

    /// The submissions with these numbers, in this order.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read, or one of them is not in it.
    pub fn with_ids(&self, ids: &[i64]) -> Result<Vec<Record>, Error> {
        self.0.read(|connection| {
            let mut query = connection.prepare_cached(&all_where("submissions.id = ?"))?;
            ids.iter().map(|id| query.query_row([id], record)).collect::<rusqlite::Result<_>>()
        })
    }

    /// The submissions that were done next behind the step `after`, in that order, at most `records_max`;
    /// each with its step.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn finished_after(
        &self,
        after: i64,
        records_max: usize,
    ) -> Result<Vec<(i64, Record)>, Error> {
        let condition = "step > ?1 ORDER BY step LIMIT ?2";
        self.0.read(|connection| {
            connection
                .prepare_cached(&all_where(condition))?
                .query_map([after, records_max as i64], |row| Ok((row.get("step")?, record(row)?)))?
                .collect::<rusqlite::Result<_>>()
        })
    }

    pub(super) fn all(&self, condition: &str, values: impl Params) -> Result<Vec<Record>, Error> {
        self.0.read(|connection| {
            connection
                .prepare(&all_where(condition))?
                .query_map(values, record)?
                .collect::<rusqlite::Result<_>>()
        })
    }

    /// Calls `each` with the name of every submission, once for all attempts.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn for_each_name(&self, mut each: impl FnMut(&Name)) -> Result<(), Error> {
        self.0.read(|connection| {
            let mut query = connection.prepare("SELECT DISTINCT name FROM submissions")?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                each(&row.get(0)?);
            }
            Ok(())
        })
    }

    /// The number of the last submission, if there is one.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn last(&self) -> Result<Option<i64>, Error> {
        let last = "SELECT max(id) FROM submissions";
        self.0.read(|connection| connection.query_row(last, [], |row| row.get(0)))
    }

    /// How many submissions there are.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn count(&self) -> Result<u64, Error> {
        let count = "SELECT count(*) FROM submissions";
        let count = self.0.read(|connection| connection.query_row(count, [], |row| row.get(0)));
        count.map(|count: i64| count as u64)
    }

    /// Calls `each` with the number of every submission, its place in archive or quarantine, and whether it
    /// failed, oldest first.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read, or `each` fails.
    pub fn for_each_place<E: From<Error>>(
        &self,
        mut each: impl FnMut(i64, &Name, bool) -> Result<(), E>,
    ) -> Result<(), E> {
        let connection = self.0.connection();
        let failed = |error| E::from(self.0.sqlite(error));
        let places = "SELECT id, archived_as, state = 'failed' FROM submissions ORDER BY id";
        let mut query = connection.prepare(places).map_err(failed)?;
        let mut rows = query.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let (id, place) = (row.get(0).map_err(failed)?, row.get(1).map_err(failed)?);
            each(id, &place, row.get(2).map_err(failed)?)?;
        }
        Ok(())
    }
}

impl Record {
    /// The text of the note beside a file in quarantine.
    pub fn note(&self) -> String {
        let Claimed { name, attempt, tries, .. } = &self.claimed;
        let finished = self.finished.as_ref();
        quarantine_note(name, *attempt, finished.and_then(|done| done.reason.as_deref()), *tries)
    }

    /// The rules by which it was graded, as far as it was.
    pub fn rules(&self) -> Option<Rules> {
        let progress = self.claimed.progress.as_ref();
        self.finished.as_ref().map(|done| done.rules).or(progress.map(|progress| progress.rules))
    }
}

/// The text of the note beside a file in quarantine.
pub fn quarantine_note(name: &Name, attempt: u32, reason: Option<&str>, tries: u32) -> String {
    let reason = escape::line(&reason.unwrap_or("it is not known"));
    format!(
        "gridmark failed to grade this submission. That is gridmark's failure, not the \
         entrant's.\n\nsubmission: {name}\nattempt: {attempt}\nreason: {reason}\n\
         tries: {tries}\n\n`gridmark retry` hands it in again.\n"
    )
}

/// A query for everything that is known of submissions.
pub(super) fn all_where(condition: &str) -> String {
    format!(
        "SELECT submissions.*, rows_version, case_bytes_max, missing_cases_max, neutralise_formulas,
         rules.definitions AS rules_definitions
         FROM submissions LEFT JOIN rules ON rules.number = submissions.rules WHERE {condition}"
    )
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let is_open = row.get::<_, String>("state")? == "claimed";
    let finished = if is_open { None } else { Some(finished(row)?) };
    Ok(Record { claimed: claimed(row)?, finished, graded: graded(row)? })
}

fn rules(row: &Row<'_>) -> rusqlite::Result<Rules> {
    Ok(Rules {
        case_bytes_max: usize::try_from(row.get::<_, i64>("case_bytes_max")?).unwrap_or(usize::MAX),
        missing_cases_max: row.get::<_, i64>("missing_cases_max")? as u64,
        neutralise_formulas: row.get("neutralise_formulas")?,
        definitions: row.get("rules_definitions")?,
    })
}

fn graded(row: &Row<'_>) -> rusqlite::Result<Option<Prefix>> {
    let (bytes, blake3) = (row.get::<_, Option<i64>>("graded_bytes")?, row.get("graded_blake3")?);
    Ok(bytes.zip(blake3).map(|(bytes, blake3)| Prefix { bytes: bytes as u64, blake3 }))
}

pub(super) fn claimed(row: &Row<'_>) -> rusqlite::Result<Claimed> {
    let checkpoint: Option<String> = row.get("checkpoint")?;
    let progress = match (checkpoint, graded(row)?) {
        (Some(checkpoint), Some(graded)) => {
            Some(Progress { checkpoint, tally: tally(row)?, graded, rules: rules(row)? })
        }
        _ => None,
    };
    // While a submission is claimed, the column counts crashes only.
    let crashes = row.get("tries")?;
    Ok(Claimed {
        id: row.get("id")?,
        name: row.get("name")?,
        attempt: row.get("attempt")?,
        archived_as: row.get("archived_as")?,
        handed_in: handed_in(row)?,
        received_at_ms: row.get("received_at")?,
        bytes: row.get::<_, i64>("bytes")? as u64,
        ready: Instant::now(),
        seen: None,
        though_open: false,
        tries: crashes,
        crashes,
        damage: None,
        check_nuls: false,
        progress,
        definitions: row.get("definitions")?,
    })
}

pub(super) fn handed_in(row: &Row<'_>) -> rusqlite::Result<HandedIn> {
    let doubt: Option<String> = row.get("doubt")?;
    Ok(HandedIn {
        at_ms: row.get("handed_in_at")?,
        doubt: doubt.and_then(|word| Doubt::of_word(&word)),
    })
}

fn finished(row: &Row<'_>) -> rusqlite::Result<Finished> {
    let (state, kind) = (row.get::<_, String>("state")?, row.get::<_, Option<String>>("kind")?);
    let status = Status::ALL.into_iter().find(|status| status.word() == state);
    Ok(Finished {
        id: row.get("id")?,
        status: status.unwrap_or(Status::Failed),
        graded_at_ms: row.get("graded_at")?,
        bytes: row.get::<_, i64>("bytes")? as u64,
        blake3: row.get("blake3")?,
        kind: kind.and_then(|kind| kind.parse().ok()),
        tally: tally(row)?,
        tries: row.get("tries")?,
        reason: row.get("reason")?,
        rules: rules(row)?,
    })
}

fn tally(row: &Row<'_>) -> rusqlite::Result<Tally> {
    let count = |column| {
        row.get::<_, Value>(column).map(|value| match value {
            Value::Integer(count) => count as u64,
            _ => 0,
        })
    };
    Ok(Tally::from_counts(
        [count("correct")?, count("wrong")?, count("unreadable")?, count("counted")?],
        count("filled")?,
    ))
}
