//! What a ledger holds, and whether it is sound, for `gridmark doctor`.

use super::{Error, Ledger, file, schema};
use std::path::Path;

/// What a ledger holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// How many submissions it knows.
    pub submissions: u64,
    /// How many of them are taken and not done.
    pub open: u64,
    /// The latest time in it, in milliseconds since 1970 UTC.
    pub latest_ms: Option<i64>,
}

impl Ledger {
    /// Reads all pages of the ledger at `path`, also while the service runs. `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is damaged, or another version of gridmark wrote it.
    pub fn contents(path: &Path) -> Result<Option<Contents>, Error> {
        file::has_one_name(path)?;
        schema::ends_with_a_page(path)?;
        let Some(ledger) = Ledger::open_to_read(path)? else {
            return Ok(None);
        };
        let faults = ledger.faults()?;
        if !faults.is_empty() {
            return Err(Error::Damaged { path: path.to_owned(), found: faults.join("; ") });
        }
        let connection = ledger.connection();
        let contents = connection.query_row(
            "SELECT count(*), count(*) FILTER (WHERE state = 'claimed'),
             max(max(received_at), coalesce(max(graded_at), 0)) FROM submissions",
            [],
            |row| {
                let [submissions, open] = [row.get::<_, i64>(0)?, row.get(1)?].map(|n| n as u64);
                Ok(Contents { submissions, open, latest_ms: row.get(2)? })
            },
        );
        contents.map(Some).map_err(|error| ledger.sqlite(error))
    }
}
