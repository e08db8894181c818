//! What an event folder defines: who takes part, in which rounds, for which puzzles, and by which rules.

use super::names::Names;
use gridmark_core::puzzle::Puzzle;
use gridmark_core::scoring::{Clock, Interval, LateRule, Overall, Points, Policy, TieBreak};
use jiff::tz::TimeZone;
use std::collections::HashMap;
use std::fmt;

/// A tournament, as its folder defines it.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its id.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// The zone of local times in it, and of times that people read.
    pub time_zone: TimeZone,
    /// Who takes part, in the order of the roster.
    pub entrants: Vec<Entrant>,
    /// Its rounds, by their start.
    pub rounds: Vec<Round>,
    /// What decides between entrants.
    pub break_by: Vec<TieBreak>,
    /// How rounds make up the result.
    pub overall: Overall,
    /// How long before the end of a round its public standings freeze, in milliseconds; `None` if they do not.
    pub freeze_before_end_ms: Option<u64>,
    /// How long after the end of a round protests are taken, in milliseconds.
    pub protest_ms: u64,
    /// What entrants see of their own entries.
    pub entrants_see: See,
    /// When they do.
    pub entrants_see_when: When,
    /// Whose entry a submission is, by its name.
    pub names: Names,
}

/// Somebody who takes part: a person or a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entrant {
    /// The id: what entries are named by.
    pub id: String,
    /// The name, for people.
    pub name: String,
    /// The country, if the roster says so.
    pub country: String,
    /// The category, if the roster says so.
    pub group: String,
    /// The team, if the roster says so.
    pub team: String,
    /// The seat, if the roster says so.
    pub seat: String,
    /// Whether they take part.
    pub status: Status,
    /// A note for staff.
    pub note: String,
}

/// Whether an entrant takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// They do.
    In,
    /// Out of competition: they have points, and no rank.
    Unofficial,
    /// They did not start.
    Dns,
    /// They were disqualified.
    Dq,
    /// They withdrew.
    Withdrawn,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 5] =
        [Status::In, Status::Unofficial, Status::Dns, Status::Dq, Status::Withdrawn];

    /// The word, as it stands in rosters and standings.
    pub const fn word(self) -> &'static str {
        match self {
            Status::In => "in",
            Status::Unofficial => "unofficial",
            Status::Dns => "dns",
            Status::Dq => "dq",
            Status::Withdrawn => "withdrawn",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A round.
#[derive(Clone, Debug)]
pub struct Round {
    /// Its id: the name of its folder.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// When it starts, in milliseconds since 1970.
    pub start_ms: i64,
    /// How long it takes, in milliseconds.
    pub duration_ms: u64,
    /// What decides when something was handed in.
    pub timing: Timing,
    /// How it is scored.
    pub policy: Policy,
    /// What follows from a hand-in after the end.
    pub late: LateRule,
    /// Its puzzles.
    pub puzzles: Vec<RoundPuzzle>,
    /// What its sheet of times says, by entrant as an index.
    pub times: HashMap<usize, Times>,
}

/// What decides when something was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// The arrival of the file.
    File,
    /// The sheet of times, since paper is scanned later.
    Sheet,
}

/// What the sheet of times says of an entrant in a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Another start than that of the round, in milliseconds since 1970.
    pub start_ms: Option<i64>,
    /// Extra time, in milliseconds.
    pub extra_ms: u64,
    /// When the entrant finished, in milliseconds since 1970.
    pub finished_ms: Option<i64>,
}

/// A puzzle of a round.
#[derive(Clone, Debug)]
pub struct RoundPuzzle {
    /// Its id.
    pub id: String,
    /// What it is worth.
    pub points: Points,
    /// The puzzle itself, with marked cells.
    pub puzzle: Puzzle,
    /// The file that it was read from, from the event folder, and its number there from 1.
    pub source: (String, usize),
    /// The line of the definition that promises that it has exactly one solution, if one does.
    pub unique: Option<(String, usize)>,
}

/// What an entrant sees of their own entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum See {
    /// That they arrived.
    Receipt,
    /// Whether they are correct, too.
    Verdict,
    /// What is wrong, too.
    Faults,
}

/// When an entrant sees that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// As soon as it is known.
    AtOnce,
    /// When the round is over.
    RoundEnd,
    /// When its result is official.
    Official,
}

impl Round {
    /// The clock of an entrant, with what rulings exclude.
    pub fn clock(&self, entrant: usize, excluded: &[Interval]) -> Clock {
        let times = self.times.get(&entrant).copied().unwrap_or_default();
        Clock {
            start_ms: times.start_ms.unwrap_or(self.start_ms),
            duration_ms: self.duration_ms.saturating_add(times.extra_ms),
            excluded: excluded.to_vec(),
            late: self.late,
        }
    }

    /// When it ends for those who start with it and have no extra time, in milliseconds since 1970.
    pub fn end_ms(&self) -> i64 {
        self.start_ms.saturating_add_unsigned(self.duration_ms)
    }
}
