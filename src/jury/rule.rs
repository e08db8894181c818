//! Rulings of staff: checked against what is known, and recorded with what they cause.
//!
//! Several may come together. Each is checked as if those before it were in force, and either all are recorded or
//! none.

use super::rejudge::Assigned;
use super::{Assignments, Jury, Refused};
use crate::event::{Action, Definitions, Event, Key, Place, Source, Standings, State};
use crate::model::ruling::{Draft, Ruling, in_force};
use crate::model::submission::{Judgement, Name};
use crate::store::ledger::{Decision, Record};
use std::collections::HashSet;
use std::sync::Arc;

/// What is in force while rulings are checked one after the other.
struct Trial {
    number: i64,
    definitions: Arc<Definitions>,
    source: Source,
    /// All rulings, with those that are to be recorded.
    rulings: Vec<Ruling>,
}

impl Jury {
    /// Records rulings, all or none.
    ///
    /// # Errors
    ///
    /// One of them is not possible: a message says which, why, and what to do.
    pub fn rule(&self, drafts: Vec<Draft>, now_ms: i64) -> Result<Vec<Ruling>, Refused> {
        let _deciding = self.deciding();
        let ledger = self.ledger();
        let stored = ledger.definitions();
        let number = stored.in_force()?.ok_or(Refused::NoEvent)?;
        let source = stored.get(number)?.ok_or(Refused::NoEvent)?;
        let definitions = self.definitions(number)?;
        let rulings = ledger.changes().rulings()?;
        let mut trial = Trial { number, definitions, source, rulings };
        let several = drafts.len() > 1;
        let mut decisions = Vec::new();
        for (place, draft) in (1..).zip(drafts) {
            let decided = self.decide(draft, &mut trial, now_ms);
            decisions.push(decided.map_err(|refused| match refused {
                Refused::Ruling(why) if several => {
                    Refused::Ruling(format!("ruling {place} of the list: {why}"))
                }
                other => other,
            })?);
        }
        let recorded = ledger.changes().record(&decisions, now_ms)?;
        Ok(recorded)
    }

    /// Checks one ruling, and finds out what it causes.
    fn decide(
        &self,
        mut draft: Draft,
        trial: &mut Trial,
        now_ms: i64,
    ) -> Result<Decision, Refused> {
        let record = self.complete(&mut draft)?;
        let event = Arc::clone(trial.definitions.event());
        let action = Action::of(&draft, &event).map_err(Refused::Ruling)?;
        if matches!(action, Action::Takeover | Action::Regrade | Action::Access) {
            return Err(Refused::Ruling(format!(
                "`{}` is recorded by the service alone",
                draft.action
            )));
        }
        if let (Action::Assign { submission, owner, .. }, None) = (&action, draft.case) {
            let record = match &record {
                Some(record) => record,
                None => &self.record_of(submission)?,
            };
            if self.rejudge.assigned(record, &trial.definitions, *owner, 2).is_ok() {
                return Err(Refused::Ruling(format!(
                    "{}, attempt {}, holds several grids: say which one it is, as in `--case 2`",
                    submission.0, submission.1
                )));
            }
        }
        let checked =
            self.live.read(|standings| check(standings, &event, &trial.rulings, &action, now_ms));
        if let Some(Err(why)) = checked? {
            return Err(Refused::Ruling(why));
        }
        let number = trial.rulings.last().map_or(0, |last| last.number) + 1;
        let undone = match &action {
            Action::Undo { number } => {
                let undone = trial.rulings.iter().find(|ruling| ruling.number == *number);
                undone.and_then(|ruling| Action::of(&ruling.draft, &event).ok())
            }
            _ => None,
        };
        // It stands at its place while its effect is found out.
        trial.rulings.push(Ruling {
            number,
            change: i64::MAX,
            at_ms: now_ms,
            draft: draft.clone(),
            hash: [0; 32],
        });
        let mut decision = Decision { draft, ..Decision::default() };
        match undone.as_ref().unwrap_or(&action) {
            Action::Assign { submission, .. } | Action::Dismiss { submission } => {
                let record = match record {
                    Some(record) => record,
                    None => self.record_of(submission)?,
                };
                let assignments = assignments(&trial.rulings, &event);
                let judged = self.rejudge.one(&record, &trial.definitions, &assignments)?;
                decision.judgements.extend(judged.map(|judgement| (record.claimed.id, judgement)));
            }
            Action::Accept { .. } => {
                let (source, judgements) = self.accept(trial)?;
                decision.judgements = judgements;
                decision.source = Some(source);
            }
            _ => {}
        }
        Ok(decision)
    }

    /// The definitions with all accepted keys of the rulings in force, and the judgements that they change.
    fn accept(&self, trial: &mut Trial) -> Result<(Source, Vec<(i64, Judgement)>), Refused> {
        let event = Arc::clone(trial.definitions.event());
        let mut keys: Vec<Key> =
            trial.source.keys.iter().filter(|key| !key.accepted).cloned().collect();
        for ruling in in_force(&trial.rulings) {
            if let Ok(Action::Accept { round, puzzle, digits }) = Action::of(&ruling.draft, &event)
            {
                let round = &event.rounds[round];
                keys.push(Key {
                    round: round.id.clone(),
                    puzzle: round.puzzles[puzzle].id.clone(),
                    digits,
                    accepted: true,
                });
            }
        }
        keys.sort_unstable();
        keys.dedup();
        let source = Source { folder: trial.source.folder.clone(), keys };
        let number = self.rejudge.ledger.definitions().number_of(&source)?;
        let definitions = Definitions::new(number, &source).map_err(Refused::Folder)?;
        let effect =
            self.effect_with(trial.number, &definitions, &assignments(&trial.rulings, &event))?;
        (trial.number, trial.definitions) = (number, Arc::new(definitions));
        trial.source = source.clone();
        Ok((source, effect.after))
    }

    /// Finds the submission that a ruling names; without an attempt the newest one is meant.
    fn complete(&self, draft: &mut Draft) -> Result<Option<Record>, Refused> {
        let Some(name) = draft.submission.clone() else { return Ok(None) };
        let mut attempts = self.rejudge.ledger.records().of_name(&name)?;
        attempts.retain(|record| record.finished.is_some());
        let found = match draft.attempt {
            Some(attempt) => attempts.into_iter().find(|record| record.claimed.attempt == attempt),
            None => attempts.pop(),
        };
        let record = found.ok_or_else(|| unknown(&name, draft.attempt))?;
        draft.attempt = Some(record.claimed.attempt);
        Ok(Some(record))
    }

    fn record_of(&self, (name, attempt): &Place) -> Result<Record, Refused> {
        let attempts = self.rejudge.ledger.records().of_name(name)?;
        let found = attempts.into_iter().find(|record| record.claimed.attempt == *attempt);
        found.ok_or_else(|| unknown(name, Some(*attempt)))
    }
}

fn unknown(name: &Name, attempt: Option<u32>) -> Refused {
    let attempt = attempt.map_or_else(String::new, |attempt| format!(", attempt {attempt}"));
    Refused::Ruling(format!(
        "there is no graded submission {name}{attempt}; `gridmark why` finds the name"
    ))
}

/// What rulings in force say about whose entries submissions are.
pub(super) fn assignments(rulings: &[Ruling], event: &Event) -> Assignments {
    let mut assignments = Assignments::new();
    for ruling in in_force(rulings) {
        match Action::of(&ruling.draft, event) {
            Ok(Action::Assign { submission, owner, case }) => {
                assignments.insert(submission, Assigned::To(owner, case));
            }
            Ok(Action::Dismiss { submission }) => {
                assignments.insert(submission, Assigned::Nobody);
            }
            _ => {}
        }
    }
    assignments
}

/// Whether a ruling is possible, as things stand with these rulings.
fn check(
    standings: &Standings,
    event: &Event,
    rulings: &[Ruling],
    action: &Action,
    now_ms: i64,
) -> Result<(), String> {
    let actions: Vec<(i64, Action)> = in_force(rulings)
        .into_iter()
        .filter_map(|ruling| Some((ruling.number, Action::of(&ruling.draft, event).ok()?)))
        .collect();
    let official = |round: usize| {
        actions.iter().find_map(|(number, action)| match action {
            Action::Official { round: None } => Some(*number),
            Action::Official { round: Some(of) } if *of == round => Some(*number),
            _ => None,
        })
    };
    let rounds = rounds_of(standings, event, &actions, action);
    if let Some((round, by)) = rounds.iter().find_map(|round| Some((*round, official(*round)?))) {
        return Err(format!(
            "the results of round {} are official by ruling {by}: undo that one first, with `undo --number {by}`",
            event.rounds[round].id
        ));
    }
    match action {
        Action::Assign { submission, owner, case } => {
            let other = actions.iter().find_map(|(number, action)| match action {
                Action::Assign { submission: known, owner: of, case: grid }
                    if known == submission && (of, grid) != (owner, case) =>
                {
                    Some(*number)
                }
                _ => None,
            });
            match other {
                Some(number) => Err(format!(
                    "{}, attempt {}, is assigned by ruling {number}, and can be one entry: undo that one first, \
                     with `undo --number {number}`, or hand the other grid in as a file of its own",
                    submission.0, submission.1
                )),
                None => Ok(()),
            }
        }
        Action::Undo { number } | Action::Close { number } => {
            let Some((_, undone)) = actions.iter().find(|(known, _)| known == number) else {
                return Err(format!("there is no ruling {number} in force"));
            };
            match (action, undone) {
                (Action::Undo { .. }, Action::Takeover | Action::Regrade) => Err(format!(
                    "ruling {number} put an event folder in force: put the earlier folder back, and reload"
                )),
                (Action::Undo { .. }, Action::Access) => Err(format!(
                    "ruling {number} is about who may what: see `gridmark judges`, and `gridmark event cards`"
                )),
                (Action::Close { .. }, Action::Protest { .. }) => {
                    let is_closed = actions.iter().any(|(_, other)| {
                        matches!(other, Action::Close { number: closed } if closed == number)
                    });
                    if is_closed { Err(format!("protest {number} is closed")) } else { Ok(()) }
                }
                (Action::Close { .. }, _) => Err(format!("ruling {number} is no protest")),
                _ => Ok(()),
            }
        }
        Action::Official { round } => {
            let already = actions.iter().find_map(|(number, action)| match action {
                Action::Official { round: known } if known.is_none() || known == round => {
                    Some(*number)
                }
                _ => None,
            });
            if let Some(number) = already {
                return Err(format!("that is official by ruling {number} already"));
            }
            let mut concerned =
                (0..event.rounds.len()).filter(|of| round.is_none_or(|round| round == *of));
            if let Some(running) =
                concerned.find(|round| standings.state(*round, now_ms) == State::Running)
            {
                return Err(format!(
                    "round {} is running: somebody may still hand in, or finish later by the sheet of times",
                    event.rounds[running].id
                ));
            }
            let closed: HashSet<i64> = actions
                .iter()
                .filter_map(|(_, action)| match action {
                    Action::Close { number } => Some(*number),
                    _ => None,
                })
                .collect();
            let concerns = |of: &Option<usize>| of.is_none() || round.is_none() || of == round;
            let open = actions.iter().find(|(number, action)| {
                matches!(action, Action::Protest { round, .. } if concerns(round))
                    && !closed.contains(number)
            });
            if let Some((number, _)) = open {
                return Err(format!(
                    "protest {number} is open: close it with `protest --number {number}`"
                ));
            }
            let settled: HashSet<&Place> = actions
                .iter()
                .filter(|(_, action)| {
                    matches!(action, Action::Assign { .. } | Action::Dismiss { .. })
                })
                .filter_map(|(_, action)| action.submission())
                .collect();
            let held = standings.held();
            let waiting =
                held.values().find(|held| !settled.contains(&(held.name.clone(), held.attempt)));
            match waiting {
                Some(held) => Err(format!(
                    "{}, attempt {}, is held ({}): assign or dismiss it first",
                    held.name, held.attempt, held.why
                )),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// The rounds whose results a ruling may change.
fn rounds_of(
    standings: &Standings,
    event: &Event,
    actions: &[(i64, Action)],
    action: &Action,
) -> Vec<usize> {
    let all = || (0..event.rounds.len()).collect();
    let of_submission = |place: &Place| standings.round_of(place).into_iter().collect::<Vec<_>>();
    match action {
        Action::Points { round, .. }
        | Action::Void { round, .. }
        | Action::Accept { round, .. }
        | Action::Exclude { round, .. } => vec![*round],
        Action::Verdict { submission, .. }
        | Action::Time { submission, .. }
        | Action::Late { submission, .. }
        | Action::Dismiss { submission } => of_submission(submission),
        Action::Assign { submission, owner, .. } => {
            let mut rounds = of_submission(submission);
            rounds.push(owner.round);
            rounds
        }
        Action::Status { .. } => all(),
        Action::Protest { round: Some(round), .. } => vec![*round],
        Action::Undo { number } => {
            match actions.iter().find(|(known, _)| known == number) {
                // That is how an official result is opened again.
                Some((_, Action::Official { .. })) | None => Vec::new(),
                // Then it is held again, and nobody knows for which round.
                Some((_, Action::Dismiss { .. })) => all(),
                Some((_, undone)) => rounds_of(standings, event, &[], undone),
            }
        }
        Action::Protest { round: None, .. }
        | Action::Close { .. }
        | Action::Publish { .. }
        | Action::Official { .. }
        | Action::Takeover
        | Action::Regrade
        | Action::Access => Vec::new(),
    }
}
