//! Rulings: what staff decide, as they are recorded. Each is chained to the one before by its hash, so that none
//! can be changed or left out later without notice.

use crate::model::submission::Name;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// A ruling as staff give it: who decides what, and why. What the fields mean depends on the action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Draft {
    /// Who decides.
    pub by: String,
    /// As what: `director`, `judge` ...
    pub role: String,
    /// How it came: `command`, `page` ...
    pub via: String,
    /// What is decided: `points`, `verdict`, `time` ...
    pub action: String,
    /// The entrant whom it concerns.
    pub entrant: Option<String>,
    /// The round that it concerns.
    pub round: Option<String>,
    /// The puzzle of that round.
    pub puzzle: Option<String>,
    /// The submission that it concerns.
    pub submission: Option<Name>,
    /// Which attempt of that name.
    pub attempt: Option<u32>,
    /// Which grid of the file.
    pub case: Option<u64>,
    /// The value: `add 10`, `correct`, a time ...
    pub value: Option<String>,
    /// Why.
    pub reason: String,
    /// The ruling that it undoes or closes.
    pub undoes: Option<i64>,
}

/// A ruling that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// Its number, from 1 without gaps.
    pub number: i64,
    /// Its place in the order of changes, which it shares with judgements.
    pub change: i64,
    /// When it was recorded, in milliseconds since 1970.
    pub at_ms: i64,
    /// What was decided.
    pub draft: Draft,
    /// The hash of the ruling before it and of its own row.
    pub hash: [u8; 32],
}

/// The hash before the first ruling.
pub const CHAIN_START: [u8; 32] = [0; 32];

/// The action that takes a ruling back.
pub const UNDO: &str = "undo";

/// The rulings that are in force: those that no other one in force undoes. They are given oldest first.
pub fn in_force(rulings: &[Ruling]) -> Vec<&Ruling> {
    let mut undone = HashSet::new();
    let mut standing: Vec<&Ruling> = Vec::new();
    for ruling in rulings.iter().rev() {
        if undone.contains(&ruling.number) {
            continue;
        }
        if ruling.draft.action == UNDO {
            undone.extend(ruling.draft.undoes);
        }
        standing.push(ruling);
    }
    standing.reverse();
    standing
}

/// The number of the first ruling that is not chained to the one before, or has another number than it should.
pub fn broken_at(rulings: &[Ruling]) -> Option<i64> {
    let mut previous = CHAIN_START;
    for (number, ruling) in (1..).zip(rulings) {
        let hash = ruling.draft.hash(number, ruling.at_ms, &previous);
        if ruling.number != number || ruling.hash != hash {
            return Some(number);
        }
        previous = hash;
    }
    None
}

impl Draft {
    /// The hash of a ruling with this number and time, behind one with the hash `previous`: each column in its
    /// order, with its length before it, so that no two rows have the same bytes.
    pub fn hash(&self, number: i64, at_ms: i64, previous: &[u8; 32]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        let mut column = |bytes: Option<&[u8]>| match bytes {
            Some(bytes) => {
                hasher.update(&(bytes.len() as u64 + 1).to_le_bytes());
                hasher.update(bytes);
            }
            None => {
                hasher.update(&0u64.to_le_bytes());
            }
        };
        let Draft { by, role, via, action, entrant, round, puzzle, .. } = self;
        let Draft { submission, attempt, case, value, reason, undoes, .. } = self;
        column(Some(previous));
        column(Some(&number.to_le_bytes()));
        column(Some(&at_ms.to_le_bytes()));
        for text in [by, role, via, action] {
            column(Some(text.as_bytes()));
        }
        for text in [entrant, round, puzzle] {
            column(text.as_ref().map(String::as_bytes));
        }
        column(submission.as_ref().map(Name::as_bytes));
        column(attempt.map(u32::to_le_bytes).as_ref().map(|bytes| &bytes[..]));
        column(case.map(u64::to_le_bytes).as_ref().map(|bytes| &bytes[..]));
        column(value.as_ref().map(String::as_bytes));
        column(Some(reason.as_bytes()));
        column(undoes.map(i64::to_le_bytes).as_ref().map(|bytes| &bytes[..]));
        *hasher.finalize().as_bytes()
    }
}
