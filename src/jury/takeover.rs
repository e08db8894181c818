//! Taking an event folder over: whole or not at all.
//!
//! What would change judgements that somebody may have seen waits, staged, until a person has looked at what it
//! changes and puts it in force ([`Jury::regrade`](super::Jury::regrade)). Held files are matched again at once:
//! nobody has seen a mark of theirs.

use super::rejudge::{Effect, outdated};
use super::{Assignments, Jury, PAGE, Refused};
use crate::event::{Definitions, Folder, Source, TAKEOVER};
use crate::model::ruling::Draft;
use crate::model::submission::{Judged, Judgement};
use crate::store::ledger::Decision;
use std::collections::BTreeMap;

/// What became of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenOver {
    /// It is the one in force.
    Unchanged,
    /// It is in force now.
    InForce {
        /// The name of the event.
        name: String,
        /// How many held submissions were matched by it.
        matched: usize,
    },
    /// It would change judgements, so it waits to be put in force.
    Staged {
        /// How many judgements.
        judgements: usize,
    },
}

impl Jury {
    /// Takes a folder over; `via` says on which occasion.
    ///
    /// # Errors
    ///
    /// It is wrong, or would change an official result; or what it changes cannot be found out.
    pub fn take_over(&self, folder: Folder, via: &str, now_ms: i64) -> Result<TakenOver, Refused> {
        let _deciding = self.deciding();
        let stored = self.ledger().definitions();
        let in_force = stored.in_force()?;
        let current = in_force.map(|number| stored.get(number)).transpose()?.flatten();
        if let Some(current) = &current
            && current.folder == folder
        {
            stored.unstage()?;
            return Ok(TakenOver::Unchanged);
        }
        let accepted = current.iter().flat_map(Source::accepted).cloned().collect();
        let (source, event) =
            Source::prove(folder, accepted, self.prove_time_max).map_err(Refused::Folder)?;
        let number = stored.number_of(&source)?;
        let definitions = Definitions::of(number, event);
        let effect = match in_force {
            Some(before) => self.effect(before, &definitions)?,
            None => Effect { before: Vec::new(), after: self.unjudged(i64::MAX, &definitions)? },
        };
        let changes_entries = effect.before.iter().any(|judged| judged.judgement.entry.is_some());
        if changes_entries {
            stored.stage(&source)?;
            return Ok(TakenOver::Staged { judgements: effect.after.len() });
        }
        if let Some(before) = in_force {
            self.keeps_official(before, &definitions, &effect.after, now_ms)?;
        }
        let matched = effect.after.len();
        let draft = draft_of_takeover(&source, via);
        let decision =
            Decision { draft, judgements: effect.after, source: Some(source), grant: None };
        self.ledger().changes().record(&[decision], now_ms)?;
        if in_force.is_none() {
            *self.unjudged_up_to() = self.ledger().records().last()?;
        }
        Ok(TakenOver::InForce { name: definitions.event().name.clone(), matched })
    }

    /// The judgements of all submissions up to this one that are done and have none.
    fn unjudged(
        &self,
        last: i64,
        definitions: &Definitions,
    ) -> Result<Vec<(i64, Judgement)>, Refused> {
        let ledger = self.ledger();
        let assignments = self.assignments(definitions.event())?;
        let (mut judgements, mut after) = (Vec::new(), 0);
        loop {
            let ids = ledger.changes().unjudged(after, last, PAGE)?;
            let Some(end) = ids.last() else { return Ok(judgements) };
            after = *end;
            for record in ledger.records().with_ids(&ids)? {
                let judgement = self.rejudge.one(&record, definitions, &assignments)?;
                judgements.extend(judgement.map(|judgement| (record.claimed.id, judgement)));
            }
        }
    }

    /// What these definitions change, compared with those of this number.
    pub(super) fn effect(&self, before: i64, after: &Definitions) -> Result<Effect, Refused> {
        self.effect_with(before, after, &self.assignments(after.event())?)
    }

    /// The same, where submissions are assigned in this way.
    pub(super) fn effect_with(
        &self,
        before: i64,
        after: &Definitions,
        assignments: &Assignments,
    ) -> Result<Effect, Refused> {
        let before = self.definitions(before)?;
        let mut effect = Effect::default();
        self.for_each_page(|page| {
            let outdated = outdated(page, &before, after, assignments);
            effect.extend(self.rejudge.changed(outdated, after, assignments)?);
            Ok(())
        })?;
        Ok(effect)
    }

    /// Judges submissions again that were judged behind the change `after`, by definitions that were not in force
    /// any more: they had been taken before. Returns the last change that was looked at, and how many judgements
    /// are others now.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or the ledger cannot be used.
    pub fn settle(&self, after: i64) -> Result<(i64, usize), Refused> {
        let _deciding = self.deciding();
        let ledger = self.ledger();
        let Some((in_force, cause, since)) = ledger.definitions().in_force_by()? else {
            return Ok((after, 0));
        };
        let mut last_change = after.max(since);
        let mut late: BTreeMap<i64, Vec<Judged>> = BTreeMap::new();
        for judged in ledger.changes().first_by_others(last_change, in_force)? {
            last_change = judged.change;
            late.entry(judged.judgement.definitions).or_default().push(judged);
        }
        let definitions = self.definitions(in_force)?;
        let assignments = self.assignments(definitions.event())?;
        let mut settled = 0;
        let last = *self.unjudged_up_to();
        if let Some(last) = last {
            let judgements = self.unjudged(last, &definitions)?;
            settled += judgements.len();
            ledger.changes().judge_again(cause, &judgements)?;
            // As long as some of them are being graded, there may be more.
            if !ledger.claims().are_open_up_to(last)? {
                *self.unjudged_up_to() = None;
            }
        }
        for (number, judged) in late {
            let before = self.definitions(number)?;
            let outdated = outdated(judged, &before, &definitions, &assignments);
            let changed = self.rejudge.changed(outdated, &definitions, &assignments)?.after;
            settled += changed.len();
            ledger.changes().judge_again(cause, &changed)?;
        }
        Ok((last_change, settled))
    }
}

/// The ruling by which the service records that these definitions are put in force.
pub(super) fn draft_of_takeover(source: &Source, via: &str) -> Draft {
    Draft {
        by: "gridmark".into(),
        role: "service".into(),
        via: via.to_owned(),
        action: TAKEOVER.into(),
        value: Some(source.hash().to_hex().to_string()),
        reason: "the event folder was changed".into(),
        ..Draft::default()
    }
}
