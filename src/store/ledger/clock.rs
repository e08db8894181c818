//! A reading of the clocks, by which the next start notices that the clock was set while nothing ran.

use super::{Error, Ledger};
use rusqlite::{OptionalExtension, params};
use rustix::time::{ClockId, clock_gettime};

/// What two clocks showed at the same moment, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The time since 1970 UTC, by the clock that people and time servers set.
    pub wall_ms: i64,
    /// The time since the system started, by a clock that nobody sets.
    pub steady_ms: i64,
}

impl Reading {
    /// What they show now; `None` if this thread was paused while it read them.
    pub fn now() -> Option<Reading> {
        const PAUSE_MS_MAX: i64 = 50;
        let read = |id| {
            let time = clock_gettime(id);
            time.tv_sec.saturating_mul(1_000).saturating_add(time.tv_nsec / 1_000_000)
        };
        let steady_ms = read(ClockId::Boottime);
        let wall_ms = read(ClockId::Realtime);
        let was_paused = read(ClockId::Boottime) - steady_ms > PAUSE_MS_MAX;
        (!was_paused).then_some(Reading { wall_ms, steady_ms })
    }
}

impl Ledger {
    /// Keeps a reading, and returns the one that was kept before, if that was in the same run of the system.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then the earlier one stands.
    pub fn keep_reading(&self, now: Reading, boot_id: &str) -> Result<Option<Reading>, Error> {
        self.transaction(|transaction| {
            let earlier = transaction
                .query_row(
                    "DELETE FROM clock RETURNING boot_id = ?, wall, steady",
                    [boot_id],
                    |row| {
                        let reading = Reading { wall_ms: row.get(1)?, steady_ms: row.get(2)? };
                        Ok(row.get::<_, bool>(0)?.then_some(reading))
                    },
                )
                .optional()?;
            let keep = "INSERT INTO clock (boot_id, wall, steady) VALUES (?, ?, ?)";
            transaction.execute(keep, params![boot_id, now.wall_ms, now.steady_ms])?;
            Ok(earlier.flatten())
        })
    }

    /// When the last submission was taken, in milliseconds since 1970 UTC, if there is one.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn last_received_ms(&self) -> Result<Option<i64>, Error> {
        let last = "SELECT received_at FROM submissions ORDER BY id DESC LIMIT 1";
        self.read(|connection| connection.query_row(last, [], |row| row.get(0)).optional())
    }
}
