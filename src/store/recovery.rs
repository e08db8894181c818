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

use crate::model::rows::{SUBMISSIONS, report_of};
use crate::model::submission::{Claimed, Name, Signature};
use crate::store::archive::{Archive, Taken};
use crate::store::fail_point::Point;
use crate::store::ledger::{self, Ledger, OpenClaim};
use crate::store::reports::files::{self, ReportFiles};
use crate::telemetry::emit;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};

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
}

/// Where the file of a claim is found.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// In the archive: it is graded again.
    InArchive,
    /// In the inbox: it was not taken.
    InInbox,
    /// Nowhere.
    Gone,
}

/// Identifies the run of the system; empty where the system does not say.
pub fn boot_id() -> String {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    boot_id.trim().to_owned()
}

/// Recovers, and returns the claims that are to be graded again, oldest first. `in_flight` are the
/// submissions that were being graded when an earlier process crashed.
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
) -> Result<Vec<Claimed>, Error> {
    let claims = ledger.claims().open()?;
    let mut cut: BTreeSet<Name> =
        claims.iter().map(|claim| report_of(&claim.claimed.name)).collect();
    cut.insert(Name::from_bytes(SUBMISSIONS));
    cut.iter().try_for_each(|report| reports.check(report))?;
    quarantine_failed(ledger, archive)?;
    ledger.claims().count_crashes(in_flight)?;
    let boot_id = boot_id();
    let mut again = Vec::new();
    let mut released = Vec::new();
    for claim in ledger.claims().open()? {
        let found = find(archive, &claim);
        Point::ClaimFound.pass();
        let rebooted = claim.boot_id.is_empty() || claim.boot_id != boot_id;
        match found {
            Ok(Found::InArchive) => again.push(damaged(archive, claim, rebooted)),
            Ok(Found::InInbox) if rebooted => match take_damaged(archive, claim) {
                Ok(damaged) => again.push(damaged),
                Err(id) => released.push(id),
            },
            // Some of its rows are in the reports, so it has to end as a submission: as a failed one.
            Ok(Found::Gone) if rebooted || claim.claimed.progress.is_some() => {
                let reason = "its file was gone when the service started again, as after a loss of \
                              power; hand it in again";
                again.push(Claimed { damage: Some(reason.to_owned()), ..claim.claimed });
            }
            Ok(Found::InInbox | Found::Gone) => released.push(claim.claimed.id),
            // The claim stands, and the next start tries again.
            Err(error) => emit::claim_failed(&claim.claimed.name, &error),
        }
    }
    sync(archive, &again)?;
    ledger.claims().release(&released)?;
    Point::Recovered.pass();
    emit::recovered(again.len(), released.len());
    let suspects = again.iter().filter(|claimed| in_flight.contains(&claimed.id));
    emit::crashes_counted(suspects.map(|claimed| &claimed.name));
    emit::quarantine_holds(archive.quarantined_files());
    Ok(again)
}

/// Makes durable what an earlier process has moved.
fn sync(archive: &Archive, moved: &[Claimed]) -> Result<(), Error> {
    archive.sync_found(moved).or_else(|_| {
        moved.iter().try_for_each(|claimed| archive.rewrite(claimed)).map_err(Error::Sync)?;
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

fn find(archive: &Archive, claim: &OpenClaim) -> io::Result<Found> {
    let OpenClaim { claimed, inode, .. } = claim;
    if archive.is_hidden(claimed.id) {
        return match archive.complete(claimed.id, &claimed.archived_as, true)? {
            Taken::Yes => Ok(Found::InArchive),
            Taken::Gone => Ok(Found::Gone),
            Taken::Occupied => Err(io::Error::other(
                "another file has its place in the archive; move that one away",
            )),
        };
    }
    let in_archive = archive.signature(&claimed.archived_as);
    let in_inbox = archive.signature_in_inbox(&claimed.name);
    match (in_archive, in_inbox) {
        (Some(archived), Some(there)) if archived.identity == there.identity => {
            archive.drop_second_name(&claimed.name)?;
            Ok(Found::InArchive)
        }
        // A file on another file system was copied, and a newer one may have its inode by now.
        (Some(archived), Some(there)) if archived.identity.0 != there.identity.0 => {
            Ok(Found::InArchive)
        }
        (_, Some(there)) if there.identity.1 == *inode => Ok(Found::InInbox),
        (Some(_), _) => Ok(Found::InArchive),
        (None, _) => Ok(Found::Gone),
    }
}

/// A claim whose file is in the archive, with the damage that a loss of power has done to it.
fn damaged(archive: &Archive, claim: OpenClaim, rebooted: bool) -> Claimed {
    let damage = if rebooted {
        let found = archive.signature(&claim.claimed.archived_as);
        found.and_then(|found| damage(&claim, found, archive.read(&claim.claimed.archived_as)))
    } else {
        None
    };
    Claimed { damage, ..claim.claimed }
}

/// Takes a file that is still in the inbox if a loss of power has damaged it: it must not be taken for what
/// was handed in. If it is intact, returns the number of its claim.
fn take_damaged(archive: &Archive, claim: OpenClaim) -> Result<Claimed, i64> {
    let id = claim.claimed.id;
    let found = archive.signature_in_inbox(&claim.claimed.name).ok_or(id)?;
    let path = archive.inbox().join(claim.claimed.name.as_path());
    let damage = damage(&claim, found, File::open(path)).ok_or(id)?;
    match archive.taker().take(&claim.claimed) {
        Ok(Taken::Yes) => Ok(Claimed { damage: Some(damage), ..claim.claimed }),
        Ok(Taken::Gone | Taken::Occupied) | Err(_) => Err(id),
    }
}

/// How a file differs from what was claimed before the system was started again, if it does. Blocks that
/// were not written before a loss of power are missing, or read as NULs.
fn damage(claim: &OpenClaim, found: Signature, file: io::Result<File>) -> Option<String> {
    let bytes = claim.claimed.bytes;
    let what = if found.bytes != bytes {
        format!("it has {} bytes, and had {bytes}", found.bytes)
    } else if found.modified != claim.modified {
        "it was changed".to_owned()
    } else if file.and_then(has_nul).unwrap_or(false) {
        "it holds NUL bytes".to_owned()
    } else {
        return None;
    };
    Some(format!(
        "the system was started again before its file was durable, as after a loss of power: {what}; \
         hand it in again"
    ))
}

fn has_nul(mut file: File) -> io::Result<bool> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(false),
            Ok(read) if buffer[..read].contains(&0) => return Ok(true),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
