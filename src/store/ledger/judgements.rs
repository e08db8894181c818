//! Judgements and rulings: what an event adds to the marks. Both only ever grow, and one sequence of changes
//! orders them, so that scoring follows the ledger from any change on.

use super::access::{self, Grant};
use super::definitions::put_in_force;
use super::{Error, Ledger};
use crate::event::Source;
use crate::model::ruling::{CHAIN_START, Draft, Ruling};
use crate::model::submission::{
    Doubt, Entry, HandedIn, Judged, Judgement, Marked, Outcome, Status,
};
use gridmark_core::scoring::{self, TryMark};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use std::collections::HashMap;

/// The judgements and rulings of a ledger.
#[derive(Clone, Copy)]
pub struct Changes<'a>(pub(super) &'a Ledger);

/// A change of what scoring looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A submission was judged, or judged again.
    Judged(Judged),
    /// Staff have decided something.
    Ruled(Ruling),
}

/// A ruling, and what it causes: recorded together or not at all.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// The ruling.
    pub draft: Draft,
    /// New judgements of submissions, by their numbers.
    pub judgements: Vec<(i64, Judgement)>,
    /// Definitions that it puts in force.
    pub source: Option<Source>,
    /// What it changes about who may what.
    pub grant: Option<Grant>,
}

const HELD: &str = "held";
const DISMISSED: &str = "dismissed";

impl Change {
    /// Its place in the order.
    pub fn number(&self) -> i64 {
        match self {
            Change::Judged(judged) => judged.change,
            Change::Ruled(ruling) => ruling.change,
        }
    }
}

impl Changes<'_> {
    /// Records decisions in their order, at this time.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn record(&self, decisions: &[Decision], at_ms: i64) -> Result<Vec<Ruling>, Error> {
        self.0.transaction(|transaction| {
            decisions.iter().map(|decision| record(transaction, decision, at_ms)).collect()
        })
    }

    /// The changes behind the change `after`, in their order, at most `changes_max`.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn after(&self, after: i64, changes_max: usize) -> Result<Vec<Change>, Error> {
        let limit = changes_max as i64;
        self.0.read(|connection| {
            // Scoring needs no words.
            let (needed, _) = JUDGED.split_once(", fault").unwrap_or_default();
            let (_, from) = JUDGED.split_once("FROM").unwrap_or_default();
            let judged = format!(
                "{needed}, NULL, NULL, faults, NULL FROM {from}
                 WHERE change > ?1 ORDER BY change LIMIT ?2"
            );
            let mut changes: Vec<Change> = connection
                .prepare_cached(&judged)?
                .query_map([after, limit], |row| judged_of(row).map(Change::Judged))?
                .collect::<rusqlite::Result<_>>()?;
            let ruled = "SELECT * FROM rulings WHERE change > ?1 ORDER BY change LIMIT ?2";
            let ruled = connection
                .prepare_cached(ruled)?
                .query_map([after, limit], |row| ruling_of(row).map(Change::Ruled))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            changes.extend(ruled);
            changes.sort_unstable_by_key(Change::number);
            changes.truncate(changes_max);
            Ok(changes)
        })
    }

    /// All rulings, oldest first.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn rulings(&self) -> Result<Vec<Ruling>, Error> {
        self.0.read(|connection| {
            connection
                .prepare("SELECT * FROM rulings ORDER BY number")?
                .query_map([], ruling_of)?
                .collect::<rusqlite::Result<_>>()
        })
    }

    /// All judgements of a submission, oldest first.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn of_submission(&self, submission: i64) -> Result<Vec<Judged>, Error> {
        self.judged("judgements.submission = ? ORDER BY change", submission)
    }

    /// The marks of these submissions by their newest judgements, as far as they have some.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn marks_of(&self, submissions: &[i64]) -> Result<HashMap<i64, Marked>, Error> {
        self.0.read(|connection| {
            let newest = format!("{JUDGED} WHERE submission = ? ORDER BY change DESC LIMIT 1");
            let mut query = connection.prepare_cached(&newest)?;
            let mut marks = HashMap::new();
            for id in submissions {
                let judged = query.query_row([id], judged_of).optional()?;
                if let Some(Outcome::Marked(marked)) = judged.map(|judged| judged.judgement.outcome)
                {
                    marks.insert(*id, marked);
                }
            }
            Ok(marks)
        })
    }

    /// The newest judgements of the submissions behind this one, in their order, at most `submissions_max`.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn newest_after(
        &self,
        submission: i64,
        submissions_max: usize,
    ) -> Result<Vec<Judged>, Error> {
        let newest = format!(
            "judgements.change IN
             (SELECT max(change) FROM judgements WHERE submission > ? GROUP BY submission
              ORDER BY submission LIMIT {submissions_max})
             ORDER BY judgements.submission"
        );
        self.judged(&newest, submission)
    }

    /// The first judgements behind the change `after` that are the newest ones of their submissions, and were made
    /// by other definitions than these.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn first_by_others(&self, after: i64, definitions: i64) -> Result<Vec<Judged>, Error> {
        let late = format!(
            "change > ? AND cause IS NULL AND judgements.definitions <> {definitions} AND NOT EXISTS
             (SELECT 1 FROM judgements AS other WHERE other.submission = judgements.submission
              AND other.change > judgements.change)
             ORDER BY change"
        );
        self.judged(&late, after)
    }

    /// The submissions that are done and have no judgement: behind the one with the number `after` and up to
    /// `last`, at most `submissions_max`.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn unjudged(
        &self,
        after: i64,
        last: i64,
        submissions_max: usize,
    ) -> Result<Vec<i64>, Error> {
        let unjudged = "SELECT id FROM submissions WHERE id > ? AND id <= ? AND state <> 'claimed'
             AND NOT EXISTS (SELECT 1 FROM judgements WHERE submission = id) ORDER BY id LIMIT ?";
        self.0.read(|connection| {
            let mut query = connection.prepare_cached(unjudged)?;
            let ids =
                query.query_map(params![after, last, submissions_max as i64], |row| row.get(0))?;
            ids.collect::<rusqlite::Result<_>>()
        })
    }

    /// Records judgements that a ruling has caused later, of submissions that were being graded meanwhile.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn judge_again(&self, cause: i64, judgements: &[(i64, Judgement)]) -> Result<(), Error> {
        if judgements.is_empty() {
            return Ok(());
        }
        self.0.transaction(|transaction| {
            judgements.iter().try_for_each(|(submission, judgement)| {
                judge(transaction, *submission, Some(cause), judgement)
            })
        })
    }

    fn judged(&self, condition: &str, value: impl rusqlite::ToSql) -> Result<Vec<Judged>, Error> {
        self.0.read(|connection| {
            connection
                .prepare_cached(&format!("{JUDGED} WHERE {condition}"))?
                .query_map([value], judged_of)?
                .collect::<rusqlite::Result<_>>()
        })
    }
}

/// What is known of judgements, in the order in which it is read. Words of faults come last.
const JUDGED: &str =
    "SELECT change, judgements.submission, cause, judgements.definitions, entrant, round, puzzle,
     outcome, held, nearest, case_number, foreign_puzzle, cells, blank_cells, wrong_cells,
     right_rows, right_columns, right_boxes, side,
     name, attempt, handed_in_at, doubt, received_at, blake3, fault, at, faults, detail
     FROM judgements JOIN submissions ON submissions.id = judgements.submission";

/// The number of the next change.
fn next_change(transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
    let last = "SELECT max(coalesce((SELECT max(change) FROM judgements), 0),
                           coalesce((SELECT max(change) FROM rulings), 0))";
    let last: i64 = transaction.prepare_cached(last)?.query_row([], |row| row.get(0))?;
    Ok(last + 1)
}

fn record(
    transaction: &Transaction<'_>,
    Decision { draft, judgements, source, grant }: &Decision,
    at_ms: i64,
) -> rusqlite::Result<Ruling> {
    let last = "SELECT number, hash FROM rulings ORDER BY number DESC LIMIT 1";
    let last = transaction.query_row(last, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (before, previous): (i64, [u8; 32]) = last.unwrap_or((0, CHAIN_START));
    let (number, change) = (before + 1, next_change(transaction)?);
    let hash = draft.hash(number, at_ms, &previous);
    let insert = "INSERT INTO rulings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    transaction.prepare_cached(insert)?.execute(params![
        number,
        change,
        at_ms,
        draft.by,
        draft.role,
        draft.via,
        draft.action,
        draft.entrant,
        draft.round,
        draft.puzzle,
        draft.submission,
        draft.attempt,
        draft.case.map(|case| case as i64),
        draft.value,
        draft.reason,
        draft.undoes,
        hash
    ])?;
    if let Some(source) = source {
        put_in_force(transaction, source, number)?;
    }
    if let Some(grant) = grant {
        access::put_in_force(transaction, grant, number)?;
    }
    for (submission, judgement) in judgements {
        judge(transaction, *submission, Some(number), judgement)?;
    }
    Ok(Ruling { number, change, at_ms, draft: draft.clone(), hash })
}

/// Records a judgement of a submission.
pub(super) fn judge(
    transaction: &Transaction<'_>,
    submission: i64,
    cause: Option<i64>,
    Judgement { definitions, entry, outcome }: &Judgement,
) -> rusqlite::Result<()> {
    let (word, held, nearest, marked) = match outcome {
        Outcome::Held { why, nearest } => (HELD, Some(why), nearest.as_ref(), None),
        Outcome::Dismissed => (DISMISSED, None, None, None),
        Outcome::Marked(marked) => (marked.verdict(), None, None, Some(marked)),
    };
    let judged = marked.and_then(|marked| match marked.mark {
        TryMark::Judged(judged) => Some(judged),
        _ => None,
    });
    let right = judged.and_then(|judged| judged.right_houses);
    let of_entry = |part: fn(&Entry) -> &String| entry.as_ref().map(part);
    let insert = "INSERT INTO judgements
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    transaction.prepare_cached(insert)?.execute(params![
        next_change(transaction)?,
        submission,
        cause,
        definitions,
        of_entry(|entry| &entry.entrant),
        of_entry(|entry| &entry.round),
        of_entry(|entry| &entry.puzzle),
        word,
        held,
        nearest,
        marked.map(|marked| marked.case as i64),
        marked.is_some_and(|marked| marked.mark == TryMark::Foreign),
        judged.map(|judged| judged.cells),
        judged.map(|judged| judged.blank_cells),
        judged.and_then(|judged| judged.wrong_cells),
        right.map(|[rows, _, _]| rows),
        right.map(|[_, columns, _]| columns),
        right.map(|[_, _, boxes]| boxes),
        judged.map(|judged| judged.side),
        marked.map(|marked| &marked.fault),
        marked.map(|marked| &marked.at),
        marked.map(|marked| marked.faults as i64),
        marked.map(|marked| &marked.detail),
    ])?;
    Ok(())
}

/// A judgement as [`JUDGED`] gives it. Columns are read by their place: looking names up takes longer than the rest.
fn judged_of(row: &Row<'_>) -> rusqlite::Result<Judged> {
    let doubt: Option<String> = row.get(22)?;
    Ok(Judged {
        change: row.get(0)?,
        submission: row.get(1)?,
        name: row.get(19)?,
        attempt: row.get(20)?,
        handed_in: HandedIn {
            at_ms: row.get(21)?,
            doubt: doubt.and_then(|word| Doubt::of_word(&word)),
        },
        received_at_ms: row.get(23)?,
        blake3: row.get(24)?,
        cause: row.get(2)?,
        judgement: judgement_of(row)?,
    })
}

fn judgement_of(row: &Row<'_>) -> rusqlite::Result<Judgement> {
    let entry = match (row.get(4)?, row.get(5)?, row.get(6)?) {
        (Some(entrant), Some(round), Some(puzzle)) => Some(Entry { entrant, round, puzzle }),
        _ => None,
    };
    let text = |column| row.get::<_, Option<String>>(column).map(Option::unwrap_or_default);
    let outcome = match row.get_ref(7)?.as_str()? {
        HELD => Outcome::Held { why: text(8)?, nearest: row.get(9)? },
        DISMISSED => Outcome::Dismissed,
        verdict => Outcome::Marked(Marked {
            case: row.get::<_, Option<i64>>(10)?.unwrap_or(1) as u64,
            mark: mark_of(row, verdict)?,
            fault: text(25)?,
            at: text(26)?,
            faults: row.get::<_, Option<i64>>(27)?.unwrap_or(0) as u64,
            detail: text(28)?,
        }),
    };
    Ok(Judgement { definitions: row.get(3)?, entry, outcome })
}

fn mark_of(row: &Row<'_>, verdict: &str) -> rusqlite::Result<TryMark> {
    if row.get(11)? {
        return Ok(TryMark::Foreign);
    }
    let count = |column| row.get::<_, Option<u32>>(column).map(Option::unwrap_or_default);
    Ok(match verdict {
        "correct" | "wrong" => TryMark::Judged(scoring::Judged {
            correct: verdict == "correct",
            cells: count(12)?,
            blank_cells: count(13)?,
            wrong_cells: row.get(14)?,
            right_houses: match (row.get(15)?, row.get(16)?, row.get(17)?) {
                (Some(rows), Some(columns), Some(boxes)) => Some([rows, columns, boxes]),
                _ => None,
            },
            side: count(18)?,
        }),
        "unreadable" => TryMark::Unreadable,
        verdict if verdict == Status::Failed.word() => TryMark::Failed,
        _ => TryMark::Pending,
    })
}

fn ruling_of(row: &Row<'_>) -> rusqlite::Result<Ruling> {
    Ok(Ruling {
        number: row.get("number")?,
        change: row.get("change")?,
        at_ms: row.get("at")?,
        draft: Draft {
            by: row.get("decided_by")?,
            role: row.get("role")?,
            via: row.get("via")?,
            action: row.get("action")?,
            entrant: row.get("entrant")?,
            round: row.get("round")?,
            puzzle: row.get("puzzle")?,
            submission: row.get("submission")?,
            attempt: row.get("attempt")?,
            case: row.get::<_, Option<i64>>("case_number")?.map(|case| case as u64),
            value: row.get("value")?,
            reason: row.get("reason")?,
            undoes: row.get("undoes")?,
        },
        hash: row.get("hash")?,
    })
}
