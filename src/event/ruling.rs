//! Rulings as actions: what the columns of one mean for an event, or why they mean nothing.
//!
//! A ruling is recorded as staff gave it, in words. What it does is read from that here, by the event in force;
//! a ruling about somebody or something that the event does not have any more does nothing.

use super::definition::{Event, Status};
use super::names::{Owner, Unmatched};
use super::read::Zone;
use super::section::points;
use crate::model::ruling::{Draft, UNDO};
use crate::model::submission::Name;
use crate::puzzle::{self, Limits};
use gridmark_core::scoring::{Adjustment, Interval, LateRuling, Points, Void};

/// The longest reason, in characters.
pub const REASON_CHARS_MAX: usize = 2_000;

/// The longest other text of a ruling, in characters.
pub const TEXT_CHARS_MAX: usize = 1_000;

/// A submission: its name, and which attempt of that name.
pub type Place = (Name, u32);

/// What a ruling does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Changes points of an entrant for a puzzle, or for a whole round.
    Points {
        /// The entrant.
        entrant: usize,
        /// The round.
        round: usize,
        /// The puzzle.
        puzzle: Option<usize>,
        /// What is changed.
        change: Adjustment,
    },
    /// Calls an entry correct or wrong.
    Verdict {
        /// The entry.
        submission: Place,
        /// Whether it is correct.
        correct: bool,
    },
    /// Says when something was handed in.
    Time {
        /// The entry.
        submission: Place,
        /// The time, in milliseconds since 1970.
        at_ms: i64,
    },
    /// Accepts an entry as in time, or refuses it.
    Late {
        /// The entry.
        submission: Place,
        /// Which of both.
        ruling: LateRuling,
    },
    /// Withdraws a puzzle.
    Void {
        /// The round.
        round: usize,
        /// The puzzle.
        puzzle: usize,
        /// What everybody gets for it.
        void: Void,
    },
    /// Accepts one more solution of a puzzle.
    Accept {
        /// The round.
        round: usize,
        /// The puzzle.
        puzzle: usize,
        /// All digits in reading order, from 1.
        digits: Vec<u8>,
    },
    /// Says whose entry a submission is.
    Assign {
        /// The submission.
        submission: Place,
        /// Whose.
        owner: Owner,
        /// Which grid of the file, from 1.
        case: u64,
    },
    /// Says that a submission is nobody's entry.
    Dismiss {
        /// The submission.
        submission: Place,
    },
    /// Says whether an entrant takes part.
    Status {
        /// The entrant.
        entrant: usize,
        /// Whether they do.
        status: Status,
    },
    /// Leaves a time of a round out for everybody.
    Exclude {
        /// The round.
        round: usize,
        /// The time.
        interval: Interval,
    },
    /// Opens a protest; its words are the reason.
    Protest {
        /// The entrant, if it concerns one.
        entrant: Option<usize>,
        /// The round, if it concerns one.
        round: Option<usize>,
        /// The puzzle of that round, if it concerns one.
        puzzle: Option<usize>,
    },
    /// Closes a protest.
    Close {
        /// The number of the ruling that opened it.
        number: i64,
    },
    /// Takes a ruling back.
    Undo {
        /// Its number.
        number: i64,
    },
    /// Ends the freeze of a round, or of all rounds.
    Publish {
        /// The round.
        round: Option<usize>,
    },
    /// Makes the results of a round official, or those of all rounds and of the event.
    Official {
        /// The round.
        round: Option<usize>,
    },
    /// The service records that an event folder was put in force.
    Takeover,
    /// The service records that submissions were judged again.
    Regrade,
    /// It is recorded who may what: that changes no result.
    Access,
}

/// The action by which the service records that an event folder was put in force.
pub const TAKEOVER: &str = "takeover";

/// The action by which the service records that submissions were judged again.
pub const REGRADE: &str = "regrade";

/// The actions by which it is recorded who may what: a judge is added or revoked, cards of entrants are printed, the
/// director's passphrase is set.
pub const JUDGE_ADD: &str = "judge-add";
/// See [`JUDGE_ADD`].
pub const JUDGE_REVOKE: &str = "judge-revoke";
/// See [`JUDGE_ADD`].
pub const CARDS: &str = "cards";
/// See [`JUDGE_ADD`].
pub const PASSPHRASE: &str = "passphrase";

/// The actions that staff may give, and what each needs: a `?` stands behind what it may have.
const ACTIONS: [(&str, &[&str]); 14] = [
    ("points", &["entrant", "round", "puzzle?", "value"]),
    ("verdict", &["submission", "attempt?", "value"]),
    ("time", &["submission", "attempt?", "value"]),
    ("late", &["submission", "attempt?", "value"]),
    ("void", &["round", "puzzle", "value"]),
    ("accept", &["round", "puzzle", "value"]),
    ("assign", &["submission", "attempt?", "case?", "entrant", "round", "puzzle"]),
    ("dismiss", &["submission", "attempt?"]),
    ("status", &["entrant", "value"]),
    ("exclude", &["round", "value"]),
    ("protest", &["entrant?", "round?", "puzzle?", "number?"]),
    (UNDO, &["number"]),
    ("publish", &["round?"]),
    ("official", &["round?"]),
];

impl Action {
    /// The actions that staff may give.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ACTIONS.iter().map(|(name, _)| *name)
    }

    /// What a ruling does at this event.
    ///
    /// # Errors
    ///
    /// It does nothing, since something is missing, too much or unknown; a message says what, and what to do.
    pub fn of(draft: &Draft, event: &Event) -> Result<Action, String> {
        match draft.action.as_str() {
            TAKEOVER => return Ok(Action::Takeover),
            REGRADE => return Ok(Action::Regrade),
            JUDGE_ADD | JUDGE_REVOKE | CARDS | PASSPHRASE => return Ok(Action::Access),
            _ => {}
        }
        check_fields(draft)?;
        let value = draft.value.as_deref().unwrap_or_default().trim();
        let submission = || {
            let name = draft.submission.clone().unwrap_or_else(|| Name::from_bytes(*b""));
            (name, draft.attempt.unwrap_or(1))
        };
        let number = draft.undoes.unwrap_or_default();
        let names = &event.names;
        let place = || {
            let round = draft
                .round
                .as_deref()
                .map(|id| names.round(id).ok_or_else(|| unknown(event, "round", id, None)))
                .transpose()?;
            let puzzle = match (round, draft.puzzle.as_deref()) {
                (Some(round), Some(id)) => {
                    let known = names.puzzle(round, id);
                    Some(known.ok_or_else(|| unknown(event, "puzzle", id, Some(round)))?)
                }
                (None, Some(_)) => return Err("a puzzle needs its round: add --round".to_owned()),
                _ => None,
            };
            let entrant = draft
                .entrant
                .as_deref()
                .map(|id| names.entrant(id).ok_or_else(|| unknown(event, "entrant", id, None)))
                .transpose()?;
            Ok((entrant.unwrap_or_default(), round.unwrap_or_default(), puzzle, round, entrant))
        };
        let word = |expected: &str| {
            format!("the value `{}` is not known here; give {expected}", short(value))
        };
        Ok(match draft.action.as_str() {
            "points" => {
                let (entrant, round, puzzle, ..) = place()?;
                let change =
                    adjustment(value).ok_or_else(|| word("`add 10`, `add -2.5` or `set 62`"))?;
                Action::Points { entrant, round, puzzle, change }
            }
            "verdict" => {
                let correct = match value {
                    "correct" => true,
                    "wrong" => false,
                    _ => return Err(word("`correct` or `wrong`")),
                };
                Action::Verdict { submission: submission(), correct }
            }
            "time" => {
                let at_ms = Zone(event.time_zone.clone()).moment(value);
                let at_ms = at_ms.ok_or_else(|| {
                    word("a date and time like 2026-11-30T11:05:30, with an offset or in the zone of the event")
                })?;
                Action::Time { submission: submission(), at_ms }
            }
            "late" => {
                let ruling = match value {
                    "accept" => LateRuling::Accept,
                    "refuse" => LateRuling::Refuse,
                    _ => return Err(word("`accept` or `refuse`")),
                };
                Action::Late { submission: submission(), ruling }
            }
            "void" => {
                let (_, round, puzzle, ..) = place()?;
                let void = match value {
                    "zero" => Void::Zero,
                    "full" => Void::Full,
                    _ => return Err(word("`zero` or `full`")),
                };
                Action::Void { round, puzzle: puzzle.unwrap_or_default(), void }
            }
            "accept" => {
                let (_, round, puzzle, ..) = place()?;
                let puzzle = puzzle.unwrap_or_default();
                Action::Accept { round, puzzle, digits: key(event, round, puzzle, value)? }
            }
            "assign" => {
                let (entrant, round, puzzle, ..) = place()?;
                let owner = Owner { entrant, round, puzzle: puzzle.unwrap_or_default() };
                let case = draft.case.unwrap_or(1);
                if case == 0 {
                    return Err("grids are numbered from 1: give --case 1 or more".into());
                }
                Action::Assign { submission: submission(), owner, case }
            }
            "dismiss" => Action::Dismiss { submission: submission() },
            "status" => {
                let (entrant, ..) = place()?;
                let status = Status::ALL.into_iter().find(|status| status.word() == value);
                let status =
                    status.ok_or_else(|| word("`in`, `unofficial`, `dns`, `dq` or `withdrawn`"))?;
                Action::Status { entrant, status }
            }
            "exclude" => {
                let (_, round, ..) = place()?;
                let zone = Zone(event.time_zone.clone());
                let interval = value.split_once('/').and_then(|(from, to)| {
                    let (from_ms, to_ms) = (zone.moment(from.trim())?, zone.moment(to.trim())?);
                    (from_ms < to_ms).then_some(Interval { from_ms, to_ms })
                });
                let interval = interval.ok_or_else(|| {
                    word(
                        "FROM/TO, two dates and times like 2026-11-30T11:20:00/2026-11-30T11:32:00",
                    )
                })?;
                Action::Exclude { round, interval }
            }
            "protest" if draft.undoes.is_some() => Action::Close { number },
            "protest" => {
                let (.., puzzle, round, entrant) = place()?;
                Action::Protest { entrant, round, puzzle }
            }
            UNDO => Action::Undo { number },
            "publish" => Action::Publish { round: place()?.3 },
            "official" => Action::Official { round: place()?.3 },
            other => {
                let nearest = crate::config::nearest(other, Action::names());
                let known: Vec<&str> = Action::names().collect();
                return Err(match nearest {
                    Some(nearest) => {
                        format!("`{}` is no action; did you mean `{nearest}`?", short(other))
                    }
                    None => {
                        format!("`{}` is no action; known are {}", short(other), known.join(", "))
                    }
                });
            }
        })
    }

    /// The submission that it concerns.
    pub fn submission(&self) -> Option<&Place> {
        match self {
            Action::Verdict { submission, .. }
            | Action::Time { submission, .. }
            | Action::Late { submission, .. }
            | Action::Assign { submission, .. }
            | Action::Dismiss { submission } => Some(submission),
            _ => None,
        }
    }
}

/// Whether a ruling says who decides and why, in texts that are not too long.
///
/// # Errors
///
/// It does not; a message says what is missing or too long.
pub fn check_signature(draft: &Draft) -> Result<(), String> {
    let long = |what: &str, most: usize| format!("{what} is longer than {most} characters");
    let too_long = |text: &str, most| text.chars().nth(most).is_some();
    for (what, text) in [("--by", &draft.by), ("--reason", &draft.reason)] {
        if text.trim().is_empty() {
            return Err(format!("{what} is missing: a ruling says who decides, and why"));
        }
    }
    if too_long(&draft.reason, REASON_CHARS_MAX) {
        return Err(long("the reason", REASON_CHARS_MAX));
    }
    let texts = [Some(&draft.by), Some(&draft.role), draft.value.as_ref()];
    if texts.into_iter().flatten().any(|text| too_long(text, TEXT_CHARS_MAX)) {
        return Err(long("a text", TEXT_CHARS_MAX));
    }
    Ok(())
}

/// Whether a ruling has what its action needs and nothing else.
fn check_fields(draft: &Draft) -> Result<(), String> {
    check_signature(draft)?;
    let Some((action, needed)) = ACTIONS.iter().find(|(name, _)| *name == draft.action) else {
        return Ok(());
    };
    let given = [
        ("entrant", draft.entrant.is_some()),
        ("round", draft.round.is_some()),
        ("puzzle", draft.puzzle.is_some()),
        ("submission", draft.submission.is_some()),
        ("attempt", draft.attempt.is_some()),
        ("case", draft.case.is_some()),
        ("number", draft.undoes.is_some()),
        ("value", draft.value.is_some()),
    ];
    for (field, is_given) in given {
        let may = needed.iter().any(|needed| needed.trim_end_matches('?') == field);
        let must = needed.contains(&field);
        if must && !is_given {
            return Err(format!("`{action}` needs --{field}"));
        }
        if is_given && !may {
            return Err(format!("`{action}` takes no --{field}"));
        }
    }
    Ok(())
}

/// The beginning of a text, for a message.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Says that there is no such thing, and which is the nearest.
fn unknown(event: &Event, what: &'static str, id: &str, round: Option<usize>) -> String {
    let why = Unmatched::Unknown { what, found: short(id), round };
    match event.names.nearest(&why) {
        Some(nearest) => format!("{why} (nearest: {nearest})"),
        None => why.to_string(),
    }
}

/// `add 10`, `add -2.5` or `set 62`.
fn adjustment(value: &str) -> Option<Adjustment> {
    let (word, number) = value.split_once(char::is_whitespace)?;
    let number: Points = points(number.trim())?;
    match word {
        "add" => Some(Adjustment::Add(number)),
        "set" => Some(Adjustment::Set(number)),
        _ => None,
    }
}

/// A completed grid of a puzzle, in any layout.
fn key(event: &Event, round: usize, puzzle: usize, value: &str) -> Result<Vec<u8>, String> {
    let known = &event.rounds[round].puzzles[puzzle].puzzle;
    let read = puzzle::read(value.as_bytes(), Some(known.alphabet()), Limits::default())
        .or_else(|_| puzzle::read(value.as_bytes(), None, Limits::default()));
    let listed = read.map_err(|error| format!("the value is no grid: {error}"))?;
    let [only] = &listed[..] else {
        return Err("the value has to be one grid".into());
    };
    let digits = only.puzzle.givens().to_vec();
    known.clone().accepting(&digits).map_err(|why| format!("the value is no key: {why}"))?;
    Ok(digits)
}
