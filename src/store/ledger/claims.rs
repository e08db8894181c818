//! Claims: files that intake takes, from before they are moved until they have marks.

use super::names::free_archive_name;
use super::records::{all_where, claimed, handed_in};
use super::{Error, Ledger, definitions};
use crate::model::rows::report_of;
use crate::model::submission::{Claimed, Doubt, HandedIn, Name, Place, Signature};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use std::collections::HashSet;
use std::time::Instant;

/// The claims of a ledger.
#[derive(Clone, Copy)]
pub struct Claims<'a>(pub(super) &'a Ledger);

/// A file that is about to be taken.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub name: Name,
    /// Its state in the inbox. By its inode a start finds out whether it was moved.
    pub signature: Signature,
    /// When its inode changed last, seconds and nanoseconds since 1970.
    pub changed: (i64, i64),
    /// When it arrived.
    pub handed_in: HandedIn,
    /// When it was ready.
    pub ready: Instant,
    /// Whether it is taken though a process has it open for writing.
    pub though_open: bool,
}

/// A claim that an earlier run left without marks.
#[derive(Debug)]
pub struct OpenClaim {
    /// The submission.
    pub claimed: Claimed,
    /// The inode that the file had in the inbox.
    pub inode: u64,
    /// Its last modification when it was claimed, seconds and nanoseconds since 1970.
    pub modified: (i64, i64),
    /// During which run of the system it was claimed: empty if that was not known, `None` if its file is known
    /// to be durable.
    pub boot_id: Option<String>,
}

/// A file that was put back into the inbox.
#[derive(Clone, Debug)]
pub struct Returned {
    /// The number of its claim.
    pub id: i64,
    /// Its name.
    pub name: Name,
    /// Its inode there.
    pub inode: u64,
    /// When that had changed last, seconds and nanoseconds since 1970.
    pub changed: (i64, i64),
}

impl Claims<'_> {
    /// Records, in one transaction, that these files are about to be taken, and under which names they
    /// are going to be in the archive. `place` says whether a name there is free; `boot_id` names this run
    /// of the system. `is_gone` says whether neither archive nor quarantine has a file under the name that it
    /// had there.
    ///
    /// Each is judged by the definitions of the event that are in force now.
    ///
    /// A file that was put back, or handed in again after a failure, keeps its first time of arrival, which is in
    /// doubt if it has changed since. None is later than `received_at_ms`.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn record(
        &self,
        candidates: &[Candidate],
        received_at_ms: i64,
        boot_id: &str,
        mut place: impl FnMut(&Name) -> Place,
        is_gone: impl Fn(&Name) -> bool,
    ) -> Result<Vec<Claimed>, Error> {
        let mut promised = HashSet::new();
        let claims: Vec<Claimed> = self.0.transaction(|transaction| {
            let mut attempts = transaction.prepare_cached(
                "SELECT coalesce(max(attempt), 0) FROM submissions WHERE name = ?",
            )?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO submissions (name, attempt, archived_as, report, handed_in_at, doubt,
                 received_at, bytes, state, inode, modified_s, modified_ns, boot_id, definitions)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'claimed', ?, ?, ?, ?, ?)",
            )?;
            let definitions = definitions::in_force(transaction)?;
            let mut supersede = transaction.prepare_cached(
                "UPDATE submissions SET superseded = 1 WHERE state = 'failed' AND archived_as = ?",
            )?;
            candidates
                .iter()
                .map(|file| {
                    let earlier: u32 = attempts.query_row([&file.name], |row| row.get(0))?;
                    let attempt = earlier.saturating_add(1);
                    let first = first_handed_in(transaction, file, earlier, &is_gone)?;
                    let HandedIn { at_ms, doubt } = first.unwrap_or(file.handed_in);
                    let handed_in = HandedIn { at_ms: at_ms.min(received_at_ms), doubt };
                    let archived_as = free_archive_name(&file.name, attempt, |name| {
                        if promised.contains(name) { Place::Taken } else { place(name) }
                    });
                    promised.insert(archived_as.clone());
                    supersede.execute([&archived_as])?;
                    let Signature { identity, bytes, modified } = file.signature;
                    insert.execute(params![
                        file.name,
                        attempt,
                        archived_as,
                        report_of(&file.name),
                        handed_in.at_ms,
                        doubt.map(Doubt::word),
                        received_at_ms,
                        bytes as i64,
                        identity.1 as i64,
                        modified.0,
                        modified.1,
                        boot_id,
                        definitions
                    ])?;
                    Ok(Claimed {
                        id: transaction.last_insert_rowid(),
                        name: file.name.clone(),
                        attempt,
                        archived_as,
                        handed_in,
                        received_at_ms,
                        bytes,
                        ready: file.ready,
                        seen: Some(file.signature),
                        though_open: file.though_open,
                        tries: 0,
                        crashes: 0,
                        damage: None,
                        check_nuls: false,
                        progress: None,
                        definitions,
                    })
                })
                .collect::<rusqlite::Result<_>>()
        })?;
        if let (Some(marker), Some(last)) = (&self.0.marker, claims.last()) {
            marker.claimed(last.id);
        }
        Ok(claims)
    }

    /// Releases claims of files that could not be taken.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then all of them stand.
    pub fn release(&self, ids: &[i64]) -> Result<(), Error> {
        if ids.is_empty() {
            return Ok(());
        }
        self.0.transaction(|transaction| release(transaction, ids.iter().copied()))
    }

    /// Releases claims of files that were put back into the inbox, and keeps their times of arrival.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then all of them stand.
    pub fn release_returned(&self, files: &[Returned]) -> Result<(), Error> {
        if files.is_empty() {
            return Ok(());
        }
        self.0.transaction(|transaction| {
            let mut keep = transaction.prepare_cached(
                "INSERT OR REPLACE INTO returned
                 SELECT name, ?2, handed_in_at, doubt, bytes, modified_s, modified_ns, ?3, ?4
                 FROM submissions WHERE id = ?1",
            )?;
            for file in files {
                let (s, ns) = file.changed;
                keep.execute(params![file.id, file.inode as i64, s, ns])?;
            }
            release(transaction, files.iter().map(|file| file.id))
        })
    }

    /// Records that the files of these claims are durable.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn set_durable(&self, ids: &[i64]) -> Result<(), Error> {
        self.update(ids, "UPDATE submissions SET boot_id = NULL WHERE id = ? AND state = 'claimed'")
    }

    /// Counts a crash of the process for each of these submissions that is still claimed.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn count_crashes(&self, ids: &[i64]) -> Result<(), Error> {
        self.update(
            ids,
            "UPDATE submissions SET tries = tries + 1 WHERE id = ? AND state = 'claimed'",
        )
    }

    /// Executes `sql` for each of these numbers, in one transaction.
    fn update(&self, ids: &[i64], sql: &str) -> Result<(), Error> {
        if ids.is_empty() {
            return Ok(());
        }
        self.0.transaction(|transaction| {
            let mut update = transaction.prepare_cached(sql)?;
            ids.iter().try_for_each(|id| update.execute([id]).map(drop))
        })
    }

    /// Whether some claims up to this number have no marks yet.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn are_open_up_to(&self, last: i64) -> Result<bool, Error> {
        let open = "SELECT EXISTS (SELECT 1 FROM submissions WHERE state = 'claimed' AND id <= ?)";
        self.0.read(|connection| connection.query_row(open, [last], |row| row.get(0)))
    }

    /// The claims that have no marks yet, oldest first.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn open(&self) -> Result<Vec<OpenClaim>, Error> {
        let read = |row: &Row<'_>| {
            Ok(OpenClaim {
                inode: row.get::<_, i64>("inode")? as u64,
                modified: (row.get("modified_s")?, row.get("modified_ns")?),
                boot_id: row.get("boot_id")?,
                claimed: claimed(row)?,
            })
        };
        self.0.read(|connection| {
            connection
                .prepare(&all_where("state = 'claimed' ORDER BY id"))?
                .query_map([], read)?
                .collect::<rusqlite::Result<_>>()
        })
    }
}

fn release(
    transaction: &Transaction<'_>,
    mut ids: impl Iterator<Item = i64>,
) -> rusqlite::Result<()> {
    let mut delete =
        transaction.prepare_cached("DELETE FROM submissions WHERE id = ? AND state = 'claimed'")?;
    ids.try_for_each(|id| delete.execute([id]).map(drop))
}

/// When this file was handed in first, if it was put back or is handed in again after an earlier attempt failed.
fn first_handed_in(
    transaction: &Transaction<'_>,
    file: &Candidate,
    earlier: u32,
    is_gone: impl Fn(&Name) -> bool,
) -> rusqlite::Result<Option<HandedIn>> {
    let returned = transaction
        .prepare_cached("DELETE FROM returned WHERE name = ? RETURNING *")?
        .query_row([&file.name], |row| {
            // Size and time may be those that it had, though its content is another.
            let changed = (row.get("changed_s")?, row.get("changed_ns")?);
            let is_unchanged = changed == file.changed && is_unchanged(file, row)?;
            Ok((is_inode(file, row)?, is_unchanged, handed_in(row)?))
        })
        .optional()?;
    if let Some((true, is_unchanged, first)) = returned {
        return Ok(Some(kept(first, is_unchanged)));
    }
    if earlier == 0 {
        return Ok(None);
    }
    let failed = "SELECT * FROM submissions WHERE name = ? AND state = 'failed' AND NOT superseded
         ORDER BY attempt DESC";
    let mut failed = transaction.prepare_cached(failed)?;
    let mut rows = failed.query([&file.name])?;
    // Where it was copied, or replaced in quarantine, it has another inode. Then it is the one whose content it has,
    // or the newest.
    let mut best: Option<((bool, bool), i64, HandedIn)> = None;
    while let Some(row) = rows.next()? {
        if is_gone(&row.get("archived_as")?) {
            let likeness = (is_inode(file, row)?, is_unchanged(file, row)?);
            if best.is_none_or(|(before, ..)| likeness > before) {
                best = Some((likeness, row.get("id")?, handed_in(row)?));
            }
        }
    }
    let Some(((_, is_unchanged), id, first)) = best else { return Ok(None) };
    // The next file of that name is another one.
    transaction
        .prepare_cached("UPDATE submissions SET superseded = 1 WHERE id = ?")?
        .execute([id])?;
    Ok(Some(kept(first, is_unchanged)))
}

/// The first time of a file, which is in doubt if it has changed since.
fn kept(first: HandedIn, is_unchanged: bool) -> HandedIn {
    let changed = (!is_unchanged).then_some(Doubt::Change);
    HandedIn { doubt: first.doubt.or(changed), ..first }
}

/// Whether a file has the inode of a row.
fn is_inode(file: &Candidate, row: &Row<'_>) -> rusqlite::Result<bool> {
    Ok(row.get::<_, i64>("inode")? as u64 == file.signature.identity.1)
}

/// Whether a file has the size and time of a row, or the time that a copy of it gets.
fn is_unchanged(file: &Candidate, row: &Row<'_>) -> rusqlite::Result<bool> {
    let bytes = row.get::<_, i64>("bytes")? as u64;
    let modified = (row.get("modified_s")?, row.get("modified_ns")?);
    Ok(file.signature.is_like(bytes, modified))
}
