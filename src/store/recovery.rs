//! What an earlier run left behind is put right before anything new is taken.
//!
//! Reports are cut back to what is committed; claims without marks are graded again, or released
//! if their files never left the inbox.

use crate::model::rows::{SUBMISSION_HEADER, SUBMISSIONS};
use crate::model::submission::Claimed;
use crate::store::archive::{Archive, Taken};
use crate::store::fail_point::Point;
use crate::store::ledger::{Ledger, OpenClaim, Report};
use crate::telemetry::emit;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Where the file of a claim is found.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// In the archive: it is graded again.
    InArchive,
    /// In the inbox, or nowhere: the claim is released.
    NotTaken,
}

/// Makes sure that a ledger that is to be made, or filled, was not there before: if there are marks in
/// `reports`, it was.
///
/// # Errors
///
/// If the ledger is lost.
pub fn look_for_loss(ledger: &Path, reports: &Path) -> Result<(), crate::store::ledger::Error> {
    use io::ErrorKind::{NotADirectory, NotFound};
    let what = match ledger.metadata() {
        Ok(found) if found.len() > 0 => return Ok(()),
        Ok(_) => "empty",
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => "missing",
        // Whoever may not look there is told so when it is opened.
        Err(_) => return Ok(()),
    };
    let reports = reports.join(OsStr::from_bytes(SUBMISSIONS));
    if !reports.is_file() {
        return Ok(());
    }
    let header = SUBMISSION_HEADER.as_bytes();
    let mut start = Vec::new();
    let read = File::open(&reports)
        .and_then(|file| file.take(header.len() as u64 + 1).read_to_end(&mut start));
    if read.is_ok() && start.len() > header.len() && start.starts_with(header) {
        return Err(crate::store::ledger::Error::Lost { path: ledger.to_owned(), what, reports });
    }
    Ok(())
}

/// Puts everything right, `under_way` being what was graded when an earlier process died, and returns
/// the claims that are to be graded again, oldest first.
///
/// # Errors
///
/// If the ledger cannot be read or written.
pub fn recover(
    ledger: &Ledger,
    archive: &Archive,
    reports: &Path,
    under_way: &[i64],
) -> Result<Vec<Claimed>, crate::store::ledger::Error> {
    for Report { path, length, .. } in ledger.reports()? {
        // What cannot be cut now is cut before anything is appended to it.
        if let Ok(bytes @ 1..) = cut(&reports.join(path.as_path()), length) {
            emit::report_cut(&path, bytes);
            Point::ReportCut.pass();
        }
    }
    for failed in ledger.failed()? {
        let archived_as = &failed.claimed.archived_as;
        if archive.signature(archived_as).is_none() {
            archive.note_quarantined(archived_as, &failed.note());
        } else if let Err(error) =
            archive.quarantine(failed.claimed.id, archived_as, &failed.note())
        {
            emit::quarantine_failed(archived_as, &error);
        }
    }
    ledger.count_deaths(under_way)?;
    let mut again = Vec::new();
    let mut released = Vec::new();
    for claim in ledger.open_claims()? {
        let found = find(archive, &claim);
        Point::ClaimFound.pass();
        match found {
            Ok(Found::InArchive) => again.push(claim.claimed),
            // Some of its rows are in the reports, so it has to end as a submission: as a failed one.
            Ok(Found::NotTaken) if claim.claimed.progress.is_some() => again.push(claim.claimed),
            Ok(Found::NotTaken) => released.push(claim.claimed.id),
            // The claim stands, and the next start tries again.
            Err(error) => emit::claim_failed(&claim.claimed.name, &error),
        }
    }
    ledger.release(&released)?;
    Point::Recovered.pass();
    emit::recovered(again.len(), released.len());
    let suspects = again.iter().filter(|claimed| under_way.contains(&claimed.id));
    emit::crashes_counted(suspects.map(|claimed| &claimed.name));
    emit::quarantine_holds(archive.quarantined_files());
    Ok(again)
}

/// Cuts a report to this length; how many bytes that took off.
fn cut(path: &Path, committed: u64) -> io::Result<u64> {
    let file = File::options().write(true).open(path)?;
    let length = file.metadata()?.len();
    if length <= committed {
        return Ok(0);
    }
    file.set_len(committed)?;
    file.sync_all()?;
    Ok(length - committed)
}

fn find(archive: &Archive, claim: &OpenClaim) -> io::Result<Found> {
    let OpenClaim { claimed, inode } = claim;
    if archive.is_hidden(claimed.id) {
        return match archive.complete(claimed.id, &claimed.archived_as, true)? {
            Taken::Yes => Ok(Found::InArchive),
            Taken::Gone => Ok(Found::NotTaken),
            Taken::Occupied => Err(io::Error::other(
                "its place in the archive is taken by something else; move that away",
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
        (_, Some(there)) if there.identity.1 == *inode => Ok(Found::NotTaken),
        (Some(_), _) => Ok(Found::InArchive),
        (None, _) => Ok(Found::NotTaken),
    }
}
