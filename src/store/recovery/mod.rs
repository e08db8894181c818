//! Recovers from the end of an earlier run: an orderly stop, a crash, or a loss of power.
//!
//! The order is what matters, so it stands in one function. Reports are cut to their committed length while
//! the claims still stand whose rows were not committed: those rows are known by their claims. Then the file
//! of each claim is found, what an earlier process has moved is made durable, and only then claims are
//! released whose files never left the inbox.
//!
//! After a loss of power a claimed file may have lost its bytes. That is our failure and never a mark of a
//! entrant: the claim stored size and time of the file, so it is noticed, and the submission fails with
//! the reason.

#[cfg(test)]
mod tests;

use crate::model::rows::{SUBMISSIONS, report_of};
use crate::model::submission::{Claimed, Name, Signature};
use crate::model::words::counted;
use crate::store::archive::{Archive, Taken};
use crate::store::fail_point::Point;
use crate::store::ledger::{self, Ledger, OpenClaim, Returned};
use crate::store::reports::files::{self, ReportFiles};
use crate::telemetry::emit;
use std::collections::BTreeSet;
use std::io;

/// Why a start cannot recover.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// A report cannot be read or cut.
    #[error(transparent)]
    Reports(#[from] files::Error),
    /// What an earlier run has moved cannot be made durable.
    #[error("cannot make durable what an earlier run has moved into the archive: {0}")]
    Sync(io::Error),
    /// A file that an earlier run has claimed cannot be moved into the archive.
    #[error("cannot move {name} into the archive, which an earlier run has claimed: {why}")]
    Take {
        /// The submission.
        name: Name,
        /// Why.
        why: String,
    },
}

/// Where the file of an open claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// In the archive.
    Archive,
    /// In the archive, and its name in the inbox was not removed.
    Both,
    /// In its folder of the inbox under a hidden name, to be copied into the archive.
    Hidden,
    /// In the inbox: it was not taken.
    Inbox,
    /// Nowhere.
    Nowhere,
}

/// What was found of a claim.
enum Found {
    /// Its file is in the archive: it is graded again. What it was found to be, and whether a loss of power may
    /// have damaged it.
    InArchive(Option<Signature>, bool),
    /// Its file is in the inbox: it was not taken.
    InInbox,
    /// Its file is nowhere.
    Gone,
}

/// What a start goes on with.
#[derive(Debug, Default)]
pub struct Recovered {
    /// The claims that are to be graded again, oldest first.
    pub again: Vec<Claimed>,
    /// Claims whose files are still to be copied into the archive, and why that is not possible now.
    pub hidden: Vec<(Claimed, String)>,
}

/// Identifies the run of the system; empty where the system does not say.
pub fn boot_id() -> String {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot_id.trim().to_owned()
}

/// Recovers. `in_flight` are the submissions that were being graded when an earlier process crashed.
///
/// # Errors
///
/// If the ledger or a report cannot be used, or the system cannot make files durable. The next start tries
/// again.
pub fn recover(
    ledger: &Ledger,
    archive: &Archive,
    reports: &mut ReportFiles,
    in_flight: &[i64],
) -> Result<Recovered, Error> {
    let claims = ledger.claims().open()?;
    let mut cut: BTreeSet<Name> =
        claims.iter().map(|claim| report_of(&claim.claimed.name)).collect();
    cut.insert(Name::from_bytes(SUBMISSIONS));
    cut.iter().try_for_each(|report| reports.check(report))?;
    quarantine_failed(ledger, archive)?;
    ledger.claims().count_crashes(in_flight)?;
    let boot_id = boot_id();
    let (mut again, mut hidden) = (Vec::new(), Vec::new());
    let (mut put_back, mut released) = (Vec::new(), Vec::new());
    for claim in ledger.claims().open()? {
        // Without a boot id it is not known; then the file is checked.
        let may_be_lost = claim.boot_id.as_ref().is_some_and(|id| id.is_empty() || *id != boot_id);
        // A large file whose chunks are committed is durable, and known by its hash.
        let may_be_lost = may_be_lost && claim.claimed.progress.is_none();
        let has_rows = claim.claimed.progress.is_some();
        let found = find(archive, &claim, may_be_lost);
        Point::ClaimFound.pass();
        match found {
            Ok(Found::InArchive(found, may_be_lost)) => {
                again.push(checked(claim, found, may_be_lost));
            }
            // What was lost must not be taken for what was handed in, and rows that are committed belong to
            // this claim.
            Ok(Found::InInbox) if may_be_lost || has_rows => {
                let found = archive.signature_in_inbox(&claim.claimed.name);
                take(archive, &claim.claimed)?;
                again.push(checked(claim, found, may_be_lost));
            }
            // Some of its rows are in the reports, so it has to end as a submission: as a failed one.
            Ok(Found::Gone) if may_be_lost || has_rows => {
                let reason = "its file was gone when the service started again, as after a loss of \
                              power; hand it in again";
                again.push(Claimed { damage: Some(reason.to_owned()), ..claim.claimed });
            }
            Ok(Found::InInbox) => put_back.push(claim),
            Ok(Found::Gone) => released.push(claim.claimed.id),
            Err(error) => {
                emit::claim_failed(&claim.claimed.name, &error);
                // What a loss of power may have damaged is left to the next start, and so is the rest.
                if !may_be_lost && archive.is_hidden(&claim.claimed) {
                    let identity = (0, claim.inode);
                    let (bytes, modified) = (claim.claimed.bytes, claim.modified);
                    let seen = Some(Signature { identity, bytes, modified });
                    hidden.push((Claimed { seen, ..claim.claimed }, error.to_string()));
                }
            }
        }
    }
    sync(archive, again.iter().chain(put_back.iter().map(|claim| &claim.claimed)))?;
    let returned: Vec<Returned> = put_back
        .into_iter()
        .map(|OpenClaim { claimed, .. }| {
            // A copy has another inode than the file that was claimed.
            let (inode, changed) = archive.inode_in_inbox(&claimed.name);
            Returned { id: claimed.id, name: claimed.name, inode, changed }
        })
        .collect();
    ledger.claims().release_returned(&returned)?;
    ledger.claims().release(&released)?;
    Point::Recovered.pass();
    emit::recovered(again.len(), returned.len() + released.len());
    let suspects = again.iter().filter(|claimed| in_flight.contains(&claimed.id));
    emit::crashes_counted(suspects.map(|claimed| &claimed.name));
    emit::quarantine_holds(archive.quarantined_files());
    Ok(Recovered { again, hidden })
}

/// Takes a file that is still in the inbox.
fn take(archive: &Archive, claimed: &Claimed) -> Result<(), Error> {
    let why = match archive.taker().take(claimed) {
        Ok(Taken::Moved | Taken::Copied(_) | Taken::Gone) => return Ok(()),
        Ok(Taken::Occupied) => {
            "another file has its place in the archive; move that away".to_owned()
        }
        Err(error) => error.to_string(),
    };
    Err(Error::Take { name: claimed.name.clone(), why })
}

/// Makes durable what an earlier process has moved.
fn sync<'a>(
    archive: &Archive,
    moved: impl Iterator<Item = &'a Claimed> + Clone,
) -> Result<(), Error> {
    archive.sync_found(moved.clone()).or_else(|_| {
        moved.clone().try_for_each(|claimed| archive.rewrite(claimed)).map_err(Error::Sync)?;
        archive.sync_found(moved).map_err(Error::Sync)
    })
}

/// Moves failed submissions into quarantine that an earlier process had no time to move.
fn quarantine_failed(ledger: &Ledger, archive: &Archive) -> Result<(), Error> {
    for failed in ledger.records().failed()? {
        let archived_as = &failed.claimed.archived_as;
        if archive.signature(archived_as).is_none() {
            archive.note_quarantined(archived_as, &failed.note());
        } else if let Err(error) =
            archive.quarantine(failed.claimed.id, archived_as, &failed.note())
        {
            emit::quarantine_failed(archived_as, &error);
        }
    }
    Ok(())
}

/// Where the file of an open claim is, as an end at any step leaves it.
///
/// It is known by its inode if it was renamed. A copy has another one, and the original's may be that of a newer
/// file by now; so where both places hold a file, sizes and times decide too.
pub fn place_of(archive: &Archive, claim: &OpenClaim) -> FilePlace {
    let OpenClaim { claimed, inode, modified, .. } = claim;
    if archive.is_hidden(claimed) {
        return FilePlace::Hidden;
    }
    let is_it = |found: &Signature| found.identity.1 == *inode;
    let is_like = |found: &Signature| found.is_like(claimed.bytes, *modified);
    let in_archive = archive.signature(&claimed.archived_as);
    let in_inbox = archive.signature_in_inbox(&claimed.name);
    match (in_archive, in_inbox) {
        (Some(archived), Some(there)) if archived.identity == there.identity => FilePlace::Both,
        (Some(archived), _) if is_it(&archived) => FilePlace::Archive,
        (Some(archived), Some(there)) if is_like(&archived) && !is_like(&there) => {
            FilePlace::Archive
        }
        (_, Some(there)) if is_it(&there) => FilePlace::Inbox,
        (Some(_), _) => FilePlace::Archive,
        // It was put back by a copy, or its file system gives a file another inode after a mount.
        (None, Some(there)) if is_like(&there) => FilePlace::Inbox,
        (None, _) => FilePlace::Nowhere,
    }
}

/// Finds the file of a claim, and completes its move into the archive if that had begun. What a loss of power
/// may have done to it is looked for if it `may_be_lost`.
fn find(archive: &Archive, claim: &OpenClaim, mut may_be_lost: bool) -> io::Result<Found> {
    let claimed = &claim.claimed;
    let is_like = |found: &Signature| found.is_like(claimed.bytes, claim.modified);
    let mut found = archive.signature(&claimed.archived_as);
    match place_of(archive, claim) {
        FilePlace::Hidden => {
            // A copy is durable before it has its name.
            let is_copied = found.as_ref().is_some_and(is_like);
            may_be_lost &= !is_copied;
            found = archive.hidden_signature(claimed);
            match archive.complete(claimed, claim.modified, true)? {
                Taken::Moved | Taken::Copied(_) => {}
                Taken::Gone => return Ok(Found::Gone),
                Taken::Occupied if archive.is_hidden(claimed) => {
                    let what = "another file has its place in the archive, and one its name in the \
                                inbox: move one of them away";
                    return Err(io::Error::other(what));
                }
                Taken::Occupied => return Ok(Found::InInbox),
            }
        }
        FilePlace::Both => archive.drop_second_name(&claimed.name)?,
        FilePlace::Archive => {}
        FilePlace::Inbox => return Ok(Found::InInbox),
        FilePlace::Nowhere => return Ok(Found::Gone),
    }
    Ok(Found::InArchive(found, may_be_lost))
}

/// A claim whose file was `found` to be so, with the damage that a loss of power has done to it. Blocks that
/// were not written are missing, or read as NULs; grading looks for those when it reads the file.
fn checked(claim: OpenClaim, found: Option<Signature>, may_be_lost: bool) -> Claimed {
    let damage = found.filter(|_| may_be_lost).and_then(|found| damage(&claim, found));
    Claimed { damage, check_nuls: may_be_lost, ..claim.claimed }
}

/// How a file differs from what was claimed, if it does.
fn damage(claim: &OpenClaim, found: Signature) -> Option<String> {
    let bytes = claim.claimed.bytes;
    let what = if found.bytes != bytes {
        format!("it has {}, and had {bytes}", counted(found.bytes, "byte"))
    } else if !found.is_like(bytes, claim.modified) {
        "it was changed".to_owned()
    } else {
        return None;
    };
    Some(lost(&what))
}

/// The reason for which a file fails that has lost bytes, with what was found.
pub fn lost(what: &str) -> String {
    format!(
        "the system was started again before its file was durable, as after a loss of power: {what}; \
         hand it in again"
    )
}

/// Records that the files of all open claims are durable, after an orderly end.
///
/// # Errors
///
/// If they cannot be made durable, or the ledger cannot be written; then the next start checks them.
pub fn leave_durable(ledger: &Ledger, archive: &Archive) -> Result<(), Error> {
    let claims: Vec<Claimed> =
        ledger.claims().open()?.into_iter().map(|claim| claim.claimed).collect();
    if claims.is_empty() {
        return Ok(());
    }
    archive.sync_found(&claims).map_err(Error::Sync)?;
    let ids: Vec<i64> = claims.iter().map(|claimed| claimed.id).collect();
    Ok(ledger.claims().set_durable(&ids)?)
}
