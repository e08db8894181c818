//! Checks that SQLite can keep a ledger in the state folder, and that an existing ledger is sound.

use super::finding::Finding;
use super::folders::{Folders, as_service};
use crate::config::Paths;
use crate::model::escape::{self, with_causes};
use crate::store::ledger::{self, Ledger, check_not_lost};

/// Creates and uses a ledger in a scratch folder.
pub(super) fn new(folders: &Folders) -> Option<Finding> {
    let folder = folders.state.scratch.as_ref()?.folder("ledger");
    let state = escape::path(&folders.state.path);
    let folder = match folder {
        Ok(folder) => folder,
        Err(error) => {
            let what = format!("cannot create a folder in {state}: {error}");
            return Some(Finding::fail("ledger", what, "see the findings about state above"));
        }
    };
    Some(match Ledger::probe(&folder) {
        Ok(()) => Finding::ok("ledger", format!("SQLite can keep a ledger and its log in {state}")),
        Err(error) => {
            let what = format!("SQLite cannot keep a ledger in {state}: {}", with_causes(&error));
            Finding::fail("ledger", what, "set paths.state to a folder on a local disk")
        }
    })
}

/// Checks the existing ledger, if there is one. Also returns the latest time in it, in milliseconds since
/// 1970 UTC.
pub(super) fn existing(paths: &Paths) -> (Option<Finding>, Option<i64>) {
    let path = paths.ledger();
    let examined = check_not_lost(&path, &paths.reports()).and_then(|()| Ledger::contents(&path));
    match examined {
        Ok(None) => (None, None),
        Ok(Some(found)) => {
            let (submissions, open) = (found.submissions, found.open);
            let what = format!(
                "{} is sound: {submissions} submissions, {open} of them unfinished",
                escape::path(&path)
            );
            (Some(Finding::ok("ledger", what)), found.latest_ms)
        }
        Err(ledger::Error::Older { found, known, .. }) => {
            let what = format!(
                "{} has format {found}; the next start of the service upgrades it to format {known}, \
                 which older versions of gridmark refuse",
                escape::path(&path)
            );
            let remedy = "make a backup before that, with the version in use now: gridmark backup";
            (Some(Finding::warn("ledger", what, remedy)), None)
        }
        Err(error) => {
            let remedy = match &error {
                ledger::Error::Denied(denied) => {
                    return (
                        Some(Finding::fail("ledger", denied.to_string(), as_service(denied))),
                        None,
                    );
                }
                ledger::Error::Newer { .. } => "use the newest gridmark that ever ran here",
                ledger::Error::Lost { .. } => {
                    "stop the service and restore the ledger from a backup"
                }
                error if error.is_loss() => {
                    "stop the service, move the state folder away as it is, and restore it from a \
                     backup"
                }
                _ => {
                    "correct what the message says and run doctor again; the ledger itself may be sound"
                }
            };
            (Some(Finding::fail("ledger", with_causes(&error), remedy)), None)
        }
    }
}
