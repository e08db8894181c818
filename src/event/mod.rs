//! The tournament: what an event folder defines.
//!
//! A folder holds everything that is decided before the day: who takes part, in which rounds, for which puzzles,
//! and by which rules. It is read whole and checked whole: one that is wrong is refused with everything that is
//! wrong in it, and the one before stays in force. Its files have one hash together, by which judgements say what
//! they were made with.

mod definition;
mod feedback;
mod folder;
mod judging;
mod names;
pub mod outputs;
mod problem;
mod proof;
mod read;
mod ruling;
mod section;
mod source;
mod standings;
mod template;

pub use definition::{Entrant, Event, Round, RoundPuzzle, See, Status, Times, Timing, When};
pub use feedback::{Faults, Feedback, feedback, may_see, warnings};
pub use folder::{Error, Folder};
pub use judging::{Definitions, ENTRY_BYTES_MAX, Judging};
pub use names::{Names, Owner, Unmatched};
pub use problem::Problem;
pub use proof::prove;
pub use read::{delimiter_of, later_moment, read};
pub use ruling::{
    Action, CARDS, JUDGE_ADD, JUDGE_REVOKE, PASSPHRASE, Place, REASON_CHARS_MAX, REGRADE, TAKEOVER,
    TEXT_CHARS_MAX, check_signature,
};
pub use source::{Key, Source};
pub use standings::{Held, Identical, Listed, Row, Shown, Standings, State, Table, TryWords};
