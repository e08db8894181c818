//! When a submission was handed in.

/// When the file of a submission arrived in the inbox, as far as that can be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedIn {
    /// The time, in milliseconds since 1970 UTC.
    pub at_ms: i64,
    /// Why the time is in doubt, if it is.
    pub doubt: Option<Doubt>,
}

/// Why a time of arrival is in doubt. A person has to decide what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// A folder on its path may have been moved into the inbox later, while nothing watched.
    Move,
    /// The file may have arrived earlier: its time is that of a later change, or the first one was kept though
    /// it has changed since.
    Change,
    /// The clock was set, or the times of its file system do not come from this machine's clock.
    Clock,
}

impl Doubt {
    /// All of them, as metrics list them.
    pub const ALL: [Doubt; 3] = [Doubt::Move, Doubt::Change, Doubt::Clock];

    /// The word, as it stands in the ledger and in metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Doubt::Move => "move",
            Doubt::Change => "change",
            Doubt::Clock => "clock",
        }
    }

    /// The doubt with this word.
    pub fn of_word(word: &str) -> Option<Doubt> {
        Doubt::ALL.into_iter().find(|doubt| doubt.word() == word)
    }

    /// The reason, for people.
    pub const fn reason(self) -> &'static str {
        match self {
            Doubt::Move => "its folder may have been moved into the inbox later",
            Doubt::Change => {
                "its content, mode, owner or links may have changed after it had arrived"
            }
            Doubt::Clock => "the clock was set, or is not the one of the inbox's file system",
        }
    }
}
