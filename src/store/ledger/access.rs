//! Who may what: judges, entrants' cards and the director's passphrase. Each row names the ruling by which it came,
//! and of each secret there is a hash alone.

use super::{Error, Ledger};
use rusqlite::{OptionalExtension, Row, Transaction, params};

/// Who may what, as a ledger knows it.
#[derive(Clone, Copy)]
pub struct AccessRows<'a>(pub(super) &'a Ledger);

/// The hash of a code or token.
type Hash = [u8; 32];

/// Somebody who may judge, or might.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judge {
    /// The number of the ruling that added them.
    pub ruling: i64,
    /// By which name their decisions are recorded.
    pub name: String,
    /// The hash of the code that is valid once.
    pub code: Hash,
    /// Until when, in milliseconds since 1970.
    pub code_until_ms: i64,
    /// The hash of the token for which the code was exchanged.
    pub token: Option<Hash>,
    /// Until when they may judge, in milliseconds since 1970.
    pub until_ms: i64,
    /// The number of the ruling that revoked them.
    pub revoked: Option<i64>,
}

/// Whether somebody may judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgeState {
    /// They have a code, and have not used it yet.
    Invited,
    /// They may judge.
    Active,
    /// They have not used their code in time.
    Lapsed,
    /// Their time is over.
    Expired,
    /// Somebody has revoked them.
    Revoked,
}

/// The director's passphrase, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passphrase {
    /// What makes its hash another one than that of the same passphrase elsewhere.
    pub salt: Vec<u8>,
    /// Its hash.
    pub hash: Hash,
    /// How much memory the hash takes, in KiB.
    pub memory_kib: u32,
    /// How often it goes through that.
    pub passes: u32,
}

/// What a ruling changes about who may what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Adds a judge.
    Judge {
        /// Their name.
        name: String,
        /// The hash of their code.
        code: Hash,
        /// Until when the code is valid, in milliseconds since 1970.
        code_until_ms: i64,
        /// Until when they may judge, in milliseconds since 1970.
        until_ms: i64,
    },
    /// Revokes the judge whom the ruling with this number added.
    Revoke(i64),
    /// Replaces the cards of these entrants: ids, and hashes of codes.
    Cards(Vec<(String, Hash)>),
    /// Replaces the director's passphrase.
    Passphrase(Passphrase),
}

impl JudgeState {
    /// The word, as it stands in lists.
    pub const fn word(self) -> &'static str {
        match self {
            JudgeState::Invited => "invited",
            JudgeState::Active => "active",
            JudgeState::Lapsed => "lapsed",
            JudgeState::Expired => "expired",
            JudgeState::Revoked => "revoked",
        }
    }
}

impl Judge {
    /// Whether they may judge at a moment, in milliseconds since 1970.
    pub fn state(&self, now_ms: i64) -> JudgeState {
        if self.revoked.is_some() {
            JudgeState::Revoked
        } else if now_ms >= self.until_ms {
            JudgeState::Expired
        } else if self.token.is_some() {
            JudgeState::Active
        } else if now_ms < self.code_until_ms {
            JudgeState::Invited
        } else {
            JudgeState::Lapsed
        }
    }
}

impl AccessRows<'_> {
    /// All judges, in the order in which they were added.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn judges(&self) -> Result<Vec<Judge>, Error> {
        self.0.read(|connection| {
            connection
                .prepare_cached("SELECT * FROM judges ORDER BY ruling")?
                .query_map([], judge_of)?
                .collect::<rusqlite::Result<_>>()
        })
    }

    /// The entrants who have a card, and the hashes of their codes.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn cards(&self) -> Result<Vec<(String, Hash)>, Error> {
        self.0.read(|connection| {
            connection
                .prepare_cached("SELECT entrant, code FROM cards ORDER BY entrant")?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()
        })
    }

    /// The director's passphrase, if it is set.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn passphrase(&self) -> Result<Option<Passphrase>, Error> {
        let passphrase = "SELECT salt, hash, memory_kib, passes FROM passphrase";
        self.0.read(|connection| {
            let read = |row: &Row<'_>| {
                Ok(Passphrase {
                    salt: row.get(0)?,
                    hash: row.get(1)?,
                    memory_kib: row.get(2)?,
                    passes: row.get(3)?,
                })
            };
            connection.query_row(passphrase, [], read).optional()
        })
    }

    /// Exchanges the code of the judge whom this ruling added for a token, unless that was done before.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then the code stays as it was.
    pub fn exchange(&self, ruling: i64, token: &Hash) -> Result<bool, Error> {
        let exchange = "UPDATE judges SET token = ?2
             WHERE ruling = ?1 AND token IS NULL AND revoked IS NULL";
        self.0.transaction(|transaction| {
            Ok(transaction.execute(exchange, params![ruling, token])? == 1)
        })
    }
}

fn judge_of(row: &Row<'_>) -> rusqlite::Result<Judge> {
    Ok(Judge {
        ruling: row.get("ruling")?,
        name: row.get("name")?,
        code: row.get("code")?,
        code_until_ms: row.get("code_until")?,
        token: row.get("token")?,
        until_ms: row.get("until")?,
        revoked: row.get("revoked")?,
    })
}

/// Puts in force what the ruling with this number changes.
pub(super) fn put_in_force(
    transaction: &Transaction<'_>,
    grant: &Grant,
    ruling: i64,
) -> rusqlite::Result<()> {
    match grant {
        Grant::Judge { name, code, code_until_ms, until_ms } => {
            let add = "INSERT INTO judges VALUES (?, ?, ?, ?, NULL, ?, NULL)";
            transaction.execute(add, params![ruling, name, code, code_until_ms, until_ms])?;
        }
        Grant::Revoke(judge) => {
            let revoke = "UPDATE judges SET revoked = ? WHERE ruling = ? AND revoked IS NULL";
            transaction.execute(revoke, [ruling, *judge])?;
        }
        Grant::Cards(cards) => {
            let mut replace =
                transaction.prepare_cached("INSERT OR REPLACE INTO cards VALUES (?, ?, ?)")?;
            for (entrant, code) in cards {
                replace.execute(params![entrant, code, ruling])?;
            }
        }
        Grant::Passphrase(Passphrase { salt, hash, memory_kib, passes }) => {
            transaction.execute("DELETE FROM passphrase", [])?;
            let set = "INSERT INTO passphrase VALUES (?, ?, ?, ?, ?)";
            transaction.execute(set, params![salt, hash, memory_kib, passes, ruling])?;
        }
    }
    Ok(())
}
