//! Judging again: what a staged folder, or this program, would change, and putting it in force.

use super::rejudge::Effect;
use super::{Jury, Refused};
use crate::event::{Definitions, REGRADE, Row, Source, Standings, Table, check_signature};
use crate::model::ruling::{Draft, Ruling};
use crate::model::submission::{Judged, Judgement, Marked, Outcome};
use crate::store::ledger::Decision;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// What is judged again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct What {
    /// The round; all without one.
    pub round: Option<String>,
    /// The puzzle of that round; all without one.
    pub puzzle: Option<String>,
}

/// What judging again changes, in words, a line each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    /// Whether a staged folder is put in force with it.
    pub staged: bool,
    /// Judgements that change.
    pub judgements: Vec<String>,
    /// Points and ranks that change.
    pub standings: Vec<String>,
}

/// What is put in force, and what it changes.
struct Plan {
    source: Source,
    is_staged: bool,
    effect: Effect,
    preview: Preview,
}

impl Jury {
    /// What judging again would change.
    ///
    /// # Errors
    ///
    /// It would change an official result or something that was not named, or cannot be found out.
    pub fn preview(&self, what: &What, now_ms: i64) -> Result<Preview, Refused> {
        let _deciding = self.deciding();
        Ok(self.plan(what, now_ms)?.preview)
    }

    /// Judges again, and puts a staged folder in force; `by`, `role`, `via` and `reason` of the draft say who
    /// decides it and why.
    ///
    /// # Errors
    ///
    /// As [`preview`](Jury::preview), or it cannot be recorded.
    pub fn regrade(
        &self,
        what: &What,
        draft: Draft,
        now_ms: i64,
    ) -> Result<(Ruling, Preview), Refused> {
        let _deciding = self.deciding();
        let Plan { source, is_staged, effect, preview } = self.plan(what, now_ms)?;
        check_signature(&draft).map_err(Refused::Ruling)?;
        let action = REGRADE.into();
        let value = Some(source.hash().to_hex().to_string());
        let (round, puzzle) = (what.round.clone(), what.puzzle.clone());
        let draft = Draft { action, value, round, puzzle, ..draft };
        let source = is_staged.then_some(source);
        let decision = Decision { draft, judgements: effect.after, source, grant: None };
        let mut rulings = self.ledger().changes().record(&[decision], now_ms)?;
        Ok((rulings.swap_remove(0), preview))
    }

    /// The judgements that are not what the archive gives by the definitions in force, a line each.
    ///
    /// # Errors
    ///
    /// It cannot be found out.
    pub fn differing(&self) -> Result<Vec<String>, Refused> {
        let number = self.ledger().definitions().in_force()?.ok_or(Refused::NoEvent)?;
        let definitions = self.definitions(number)?;
        let effect = self.effect_of_judging_again(&definitions, &What::default())?;
        Ok(judgement_lines(&effect))
    }

    fn plan(&self, what: &What, now_ms: i64) -> Result<Plan, Refused> {
        let stored = self.ledger().definitions();
        let in_force = stored.in_force()?.ok_or(Refused::NoEvent)?;
        let staged = stored.staged()?;
        let number = staged.unwrap_or(in_force);
        let source = stored.get(number)?.ok_or(Refused::NoEvent)?;
        let definitions = self.definitions(number)?;
        if let Some(round) = &what.round {
            let known = definitions.event().names.round(round);
            let known = known.and_then(|known| match &what.puzzle {
                Some(puzzle) => definitions.event().names.puzzle(known, puzzle),
                None => Some(0),
            });
            if known.is_none() {
                let puzzle = what.puzzle.as_deref().map_or_else(String::new, |id| format!("/{id}"));
                return Err(Refused::Ruling(format!("the event has no {round}{puzzle}")));
            }
        }
        let effect = match staged {
            Some(_) => self.effect(in_force, &definitions)?,
            None => self.effect_of_judging_again(&definitions, what)?,
        };
        check_named(&effect, what)?;
        let before = self.standings_with(in_force, &HashMap::new())?;
        let after = self.standings_of(&definitions, &by_submission(&effect.after))?;
        check_official(&before, &after, now_ms)?;
        let preview = Preview {
            staged: staged.is_some(),
            judgements: judgement_lines(&effect),
            standings: standings_lines(&before, &after, now_ms),
        };
        Ok(Plan { source, is_staged: staged.is_some(), effect, preview })
    }

    /// The judgements of entries that are others if they are judged once more by the same definitions: this
    /// program may judge otherwise than the one that judged first.
    fn effect_of_judging_again(
        &self,
        definitions: &Definitions,
        what: &What,
    ) -> Result<Effect, Refused> {
        let assignments = self.assignments(definitions.event())?;
        let mut effect = Effect::default();
        self.for_each_page(|mut page| {
            page.retain(|judged| is_named(judged, what));
            effect.extend(self.rejudge.changed(page, definitions, &assignments)?);
            Ok(())
        })?;
        Ok(effect)
    }

    /// Whether definitions and judgements leave all official results as they are.
    pub(super) fn keeps_official(
        &self,
        in_force: i64,
        definitions: &Definitions,
        after: &[(i64, Judgement)],
        now_ms: i64,
    ) -> Result<(), Refused> {
        let rulings = self.ledger().changes().rulings()?;
        if !rulings.iter().any(|ruling| ruling.draft.action == "official") {
            return Ok(());
        }
        let before = self.standings_with(in_force, &HashMap::new())?;
        let after = self.standings_of(definitions, &by_submission(after))?;
        check_official(&before, &after, now_ms)
    }

    fn standings_with(
        &self,
        number: i64,
        new: &HashMap<i64, &Judgement>,
    ) -> Result<Standings, Refused> {
        let definitions = self.definitions(number)?;
        self.standings_of(&definitions, new)
    }

    /// The standings by these definitions, with new judgements of some submissions.
    fn standings_of(
        &self,
        definitions: &Definitions,
        new: &HashMap<i64, &Judgement>,
    ) -> Result<Standings, Refused> {
        let mut standings = Standings::new(Arc::clone(definitions.event()));
        for ruling in self.ledger().changes().rulings()? {
            standings.ruled(ruling);
        }
        self.for_each_page(|page| {
            for mut judged in page {
                if let Some(judgement) = new.get(&judged.submission) {
                    judged.judgement = (*judgement).clone();
                }
                standings.judged(&judged);
            }
            Ok(())
        })?;
        standings.refresh();
        Ok(standings)
    }
}

fn is_named(judged: &Judged, what: &What) -> bool {
    let Some(entry) = &judged.judgement.entry else { return what.round.is_none() };
    let is = |named: &Option<String>, id: &str| {
        named.as_ref().is_none_or(|named| named.eq_ignore_ascii_case(id))
    };
    is(&what.round, &entry.round) && is(&what.puzzle, &entry.puzzle)
}

/// Whether nothing changes that was not named.
fn check_named(effect: &Effect, what: &What) -> Result<(), Refused> {
    let other = effect.before.iter().find(|judged| !is_named(judged, what));
    match other.and_then(|judged| judged.judgement.entry.as_ref()) {
        Some(entry) => Err(Refused::Ruling(format!(
            "the staged folder changes judgements of {}/{}, too: name neither round nor puzzle, so that \
             all of it is judged again",
            entry.round, entry.puzzle
        ))),
        None => Ok(()),
    }
}

/// Whether official results stay as they are.
fn check_official(before: &Standings, after: &Standings, now_ms: i64) -> Result<(), Refused> {
    for (round, definition) in before.event().rounds.iter().enumerate() {
        if !before.is_official(round) {
            continue;
        }
        let rows = |standings: &Standings, round: usize| -> Vec<(String, Row)> {
            let table = standings.round(round, now_ms);
            let name = |row: Row| (standings.event().entrants[row.entrant].id.clone(), row);
            table
                .rows
                .into_iter()
                .map(name)
                .map(|(id, row)| (id, Row { entrant: 0, ..row }))
                .collect()
        };
        let same = after.event().names.round(&definition.id).map(|round| rows(after, round));
        if same.as_ref() != Some(&rows(before, round)) {
            return Err(Refused::Official { round: definition.id.clone() });
        }
    }
    Ok(())
}

fn judgement_lines(effect: &Effect) -> Vec<String> {
    let changes = effect.before.iter().zip(&effect.after);
    changes
        .map(|(judged, (_, after))| {
            let (before, after) = (words(&judged.judgement), words(after));
            format!("{}, attempt {}: {before} -> {after}", judged.name, judged.attempt)
        })
        .collect()
}

fn by_submission(judgements: &[(i64, Judgement)]) -> HashMap<i64, &Judgement> {
    judgements.iter().map(|(id, judgement)| (*id, judgement)).collect()
}

/// A judgement in words: whose entry it is, and what it got.
fn words(judgement: &Judgement) -> String {
    let whose = match &judgement.entry {
        Some(entry) => format!("{} {}/{} ", entry.entrant, entry.round, entry.puzzle),
        None => String::new(),
    };
    let what = match &judgement.outcome {
        Outcome::Held { why, .. } => format!("held ({why})"),
        Outcome::Dismissed => "dismissed".into(),
        Outcome::Marked(marked @ Marked { fault, .. }) if fault.is_empty() => {
            marked.verdict().into()
        }
        Outcome::Marked(marked) => format!("{} ({})", marked.verdict(), marked.fault),
    };
    format!("{whose}{what}")
}

fn standings_lines(before: &Standings, after: &Standings, now_ms: i64) -> Vec<String> {
    let mut lines = Vec::new();
    for (round, definition) in after.event().rounds.iter().enumerate() {
        let was = before.event().names.round(&definition.id);
        let was = was.map(|round| before.round(round, now_ms));
        let what = format!("round {}", definition.id);
        add_lines(&what, (before, was.as_ref()), (after, &after.round(round, now_ms)), &mut lines);
    }
    let (was, is) = (before.overall(now_ms), after.overall(now_ms));
    add_lines("event", (before, Some(&was)), (after, &is), &mut lines);
    lines
}

fn add_lines(
    what: &str,
    (before, was): (&Standings, Option<&Table>),
    (after, is): (&Standings, &Table),
    lines: &mut Vec<String>,
) {
    let by_id: HashMap<&str, &Row> = was
        .into_iter()
        .flat_map(|table| &table.rows)
        .map(|row| (before.event().entrants[row.entrant].id.as_str(), row))
        .collect();
    let rank = |rank: Option<u32>| rank.map_or_else(|| "none".into(), |rank| rank.to_string());
    for row in &is.rows {
        let id = &after.event().entrants[row.entrant].id;
        let old = by_id.get(id.as_str());
        let (points, place) =
            (old.map_or_else(Default::default, |row| row.total), old.and_then(|row| row.rank));
        if (points, place) != (row.total, row.rank) {
            lines.push(format!(
                "{what}: {id}: {points} points -> {}, rank {} -> {}",
                row.total,
                rank(place),
                rank(row.rank)
            ));
        }
    }
}
