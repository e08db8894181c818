//! What pages look at: the newest submissions, and how many have arrived.

use super::{Error, Record, Records};

/// How many of the newest submissions are looked at to count arrivals.
const ARRIVALS_MAX: i64 = 20_000;

/// Which submissions are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    /// All that were taken.
    #[default]
    All,
    /// Those that are not done.
    Open,
    /// Those whose cases are all right.
    Correct,
    /// Those with a case that is wrong.
    Wrong,
    /// Those with a case that could not be read.
    Unreadable,
    /// Those that could not be graded.
    Failed,
}

impl Which {
    /// All of them, each with its word in addresses.
    pub const ALL: [(Which, &'static str); 6] = [
        (Which::All, "all"),
        (Which::Open, "open"),
        (Which::Correct, "correct"),
        (Which::Wrong, "wrong"),
        (Which::Unreadable, "unreadable"),
        (Which::Failed, "failed"),
    ];

    const fn condition(self) -> &'static str {
        match self {
            Which::All => "true",
            Which::Open => "state = 'claimed'",
            Which::Correct => "state = 'graded' AND wrong = 0 AND unreadable = 0 AND correct > 0",
            Which::Wrong => "wrong > 0",
            Which::Unreadable => "unreadable > 0",
            Which::Failed => "state = 'failed'",
        }
    }
}

impl Records<'_> {
    /// The newest submissions before the one with this number, newest first, at most `records_max`. Where `part` is not
    /// empty, only those are meant whose names hold it.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn newest(
        &self,
        which: Which,
        part: &[u8],
        before: i64,
        records_max: usize,
    ) -> Result<Vec<Record>, Error> {
        let condition = format!(
            "id < ?1 AND {} AND (?2 = x'' OR instr(CAST(name AS BLOB), ?2) > 0)
             ORDER BY id DESC LIMIT ?3",
            which.condition()
        );
        self.all(&condition, (before, part, records_max as i64))
    }

    /// How many submissions were handed in in each minute since a moment, by the number of the minute since 1970;
    /// without minutes in which there were none.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn arrivals(&self, since_ms: i64) -> Result<Vec<(i64, u64)>, Error> {
        let counted = "SELECT handed_in_at / 60000 AS minute, count(*) FROM
             (SELECT handed_in_at FROM submissions ORDER BY id DESC LIMIT ?1)
             WHERE handed_in_at >= ?2 GROUP BY minute ORDER BY minute";
        self.0.read(|connection| {
            connection
                .prepare_cached(counted)?
                .query_map([ARRIVALS_MAX, since_ms], |row| {
                    Ok((row.get(0)?, row.get::<_, i64>(1)? as u64))
                })?
                .collect::<rusqlite::Result<_>>()
        })
    }

    /// The last step of a commit, and the number of the last submission: they grow with everything that happens to
    /// submissions.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn reached(&self) -> Result<(i64, i64), Error> {
        let reached =
            "SELECT coalesce((SELECT max(step) FROM submissions WHERE step IS NOT NULL), 0),
             coalesce((SELECT max(id) FROM submissions), 0)";
        self.0.read(|connection| {
            connection.prepare_cached(reached)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        })
    }
}
