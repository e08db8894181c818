//! What the ledger says when it is asked.

use super::{Error, Finished, Ledger, OpenClaim, Prefix, Record, Report, Rules};
use crate::model::submission::{Claimed, Name, Progress, Status, Tally};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Params, Row};
use std::time::Instant;

impl Ledger {
    /// The claims that have no marks yet, oldest first.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn open_claims(&self) -> Result<Vec<OpenClaim>, Error> {
        let read = |row: &Row<'_>| {
            Ok(OpenClaim { inode: row.get::<_, i64>("inode")? as u64, claimed: claimed(row)? })
        };
        self.read(|connection| {
            connection
                .prepare(&all_where("state = 'claimed' ORDER BY id"))?
                .query_map([], read)?
                .collect::<rusqlite::Result<_>>()
        })
    }

    /// The failed submissions, oldest first; without those whose place in the archive is a later
    /// submission's by now.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn failed(&self) -> Result<Vec<Record>, Error> {
        let condition = "submissions.state = 'failed'
             AND NOT EXISTS (SELECT 1 FROM submissions AS later
                 WHERE later.archived_as = submissions.archived_as AND later.id > submissions.id)
             ORDER BY id";
        self.records(condition, [])
    }

    /// All submissions of this name, oldest first.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn of_name(&self, name: &Name) -> Result<Vec<Record>, Error> {
        self.records("name = ? ORDER BY attempt", [name])
    }

    /// All submissions that lie, or lay, under this name in the archive or in quarantine, oldest
    /// first.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn of_archived(&self, archived_as: &Name) -> Result<Vec<Record>, Error> {
        self.records("archived_as = ? ORDER BY id", [archived_as])
    }

    fn records(&self, condition: &str, values: impl Params) -> Result<Vec<Record>, Error> {
        self.read(|connection| {
            connection
                .prepare(&all_where(condition))?
                .query_map(values, record)?
                .collect::<rusqlite::Result<_>>()
        })
    }

    /// The committed length of a report in bytes, if the ledger knows that report.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn report_length(&self, report: &Name) -> Result<Option<u64>, Error> {
        self.connection()
            .prepare_cached("SELECT length FROM reports WHERE path = ?")
            .and_then(|mut query| query.query_row([report], |row| row.get::<_, i64>(0)).optional())
            .map(|length| length.map(|length| length as u64))
            .map_err(|error| self.sqlite(error))
    }

    /// All reports.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn reports(&self) -> Result<Vec<Report>, Error> {
        let read = |row: &Row<'_>| {
            let (path, whole) = (row.get("path")?, row.get("whole")?);
            Ok(Report { path, length: row.get::<_, i64>("length")? as u64, whole })
        };
        self.read(|connection| {
            connection
                .prepare("SELECT * FROM reports ORDER BY path")?
                .query_map([], read)?
                .collect::<rusqlite::Result<_>>()
        })
    }

    /// Shows every submission that is done, in the order in which they were, to `each`.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read, or whatever `each` fails with.
    pub fn for_each_finished<E: From<Error>>(
        &self,
        mut each: impl FnMut(Record, &Finished) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each("step IS NOT NULL ORDER BY step", |mut record| match record.finished.take() {
            Some(done) => each(record, &done),
            None => Ok(()),
        })
    }

    /// Shows every submission, oldest first, to `each`.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read, or whatever `each` fails with.
    pub fn for_each_record<E: From<Error>>(
        &self,
        each: impl FnMut(Record) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each("true ORDER BY id", each)
    }

    fn for_each<E: From<Error>>(
        &self,
        condition: &str,
        each: impl FnMut(Record) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_row(&all_where(condition), record, each)
    }

    /// Shows what `read` makes of each row that is asked for to `each`.
    pub(super) fn for_each_row<T, E: From<Error>>(
        &self,
        query: &str,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
        mut each: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let connection = self.connection();
        let failed = |error| E::from(self.sqlite(error));
        let mut query = connection.prepare(query).map_err(failed)?;
        let mut rows = query.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            each(read(row).map_err(failed)?)?;
        }
        Ok(())
    }
}

/// A query for all that is known of submissions.
pub(super) fn all_where(condition: &str) -> String {
    format!(
        "SELECT * FROM submissions LEFT JOIN rules ON rules.number = submissions.rules
         WHERE {condition}"
    )
}

pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let is_open = row.get::<_, String>("state")? == "claimed";
    let finished = if is_open { None } else { Some(finished(row)?) };
    Ok(Record { claimed: claimed(row)?, finished, rules: rules(row)?, graded: graded(row)? })
}

fn rules(row: &Row<'_>) -> rusqlite::Result<Option<Rules>> {
    let Some(case_bytes_max) = row.get::<_, Option<i64>>("case_bytes_max")? else {
        return Ok(None);
    };
    Ok(Some(Rules {
        case_bytes_max: usize::try_from(case_bytes_max).unwrap_or(usize::MAX),
        missing_cases_max: row.get::<_, i64>("missing_cases_max")? as u64,
        neutralise_formulas: row.get("neutralise_formulas")?,
    }))
}

fn graded(row: &Row<'_>) -> rusqlite::Result<Option<Prefix>> {
    let (bytes, blake3) = (row.get::<_, Option<i64>>("graded_bytes")?, row.get("graded_blake3")?);
    Ok(bytes.zip(blake3).map(|(bytes, blake3)| Prefix { bytes: bytes as u64, blake3 }))
}

impl Record {
    /// What is written beside the file of a submission that lies in quarantine.
    pub fn note(&self) -> String {
        let Claimed { name, attempt, tries, .. } = &self.claimed;
        let finished = self.finished.as_ref();
        quarantine_note(name, *attempt, finished.and_then(|done| done.reason.as_deref()), *tries)
    }
}

/// What is written beside the file of a submission that lies in quarantine.
pub fn quarantine_note(name: &Name, attempt: u32, reason: Option<&str>, tries: u32) -> String {
    let reason = reason.unwrap_or("it is not known");
    format!(
        "gridmark failed to grade this submission. That is gridmark's failure, not the \
         contestant's.\n\nsubmission: {name}\nattempt: {attempt}\nreason: {reason}\n\
         tries: {tries}\n\n`gridmark retry` hands it in again.\n"
    )
}

fn claimed(row: &Row<'_>) -> rusqlite::Result<Claimed> {
    let checkpoint: Option<String> = row.get("checkpoint")?;
    let progress = match checkpoint {
        Some(checkpoint) => {
            let (graded, rules) = (graded(row)?, rules(row)?);
            Some(Progress { checkpoint, tally: tally(row)?, graded, rules })
        }
        None => None,
    };
    // Of tries, the ledger counts those over which the process died, until all is over.
    let crashes = row.get("tries")?;
    Ok(Claimed {
        id: row.get("id")?,
        name: row.get("name")?,
        attempt: row.get("attempt")?,
        archived_as: row.get("archived_as")?,
        received_at_ms: row.get("received_at")?,
        bytes: row.get::<_, i64>("bytes")? as u64,
        ready: Instant::now(),
        seen: None,
        though_open: false,
        tries: crashes,
        crashes,
        progress,
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
