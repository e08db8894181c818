//! Checks that an existing ledger is sound.

use super::finding::Finding;
use super::folders::as_service;
use crate::config::Paths;
use crate::model::escape::{self, with_causes};
use crate::model::words::counted;
use crate::store::ledger::{self, Ledger, check_not_lost};

/// Checks the existing ledger, if there is one. Also returns the latest time in it, in milliseconds since
/// 1970 UTC.
pub(super) fn examine(paths: &Paths) -> (Option<Finding>, Option<i64>) {
    let path = paths.ledger();
    let examined = check_not_lost(&path, &paths.reports()).and_then(|()| Ledger::contents(&path));
    match examined {
        Ok(None) => (None, None),
        Ok(Some(found)) => {
            let (submissions, open) = (found.submissions, found.open);
            let what = format!(
                "{} is sound: {}, {open} of them unfinished",
                escape::path(&path),
                counted(submissions, "submission")
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
