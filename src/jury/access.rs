//! Who may what: judges are added and revoked, entrants' cards printed, the director's passphrase set.
//!
//! Each is a ruling, so that it can be found out later who let whom in: a judge's name stands in every ruling of theirs.
//! The codes themselves are given out once, and stored nowhere.

use super::{Jury, Refused};
use crate::access::{Card, Code, INVITATION_MS, Purpose, Typed};
use crate::event::{CARDS, Entrant, JUDGE_ADD, JUDGE_REVOKE, PASSPHRASE, check_signature};
use crate::event::{Definitions, later_moment};
use crate::model::ruling::{Draft, Ruling};
use crate::model::words::counted;
use crate::store::ledger::{Decision, Grant, Judge, JudgeState};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The longest name of a judge, in characters.
const NAME_CHARS_MAX: usize = 60;

/// Up to so many entrants are named in the ruling about their cards.
const NAMED_MAX: usize = 10;

/// A judge who was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invited {
    /// The number of the ruling.
    pub ruling: i64,
    /// The name.
    pub name: String,
    /// The code, as it is shown.
    pub code: String,
    /// Until when the code is valid, as people of the event read it.
    pub code_until: String,
    /// Until when the judge may judge, as people of the event read it.
    pub until: String,
}

/// Cards that are in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cards {
    /// The number of the ruling.
    pub ruling: i64,
    /// The name of the event.
    pub event: String,
    /// The cards, in the order of the roster.
    pub cards: Vec<Card>,
}

impl Jury {
    /// Lets somebody judge until a time as people write it: `18:00`, `8h`, or a date and time. The draft says who
    /// decides it and why.
    ///
    /// # Errors
    ///
    /// It is not possible; a message says why, and what to do.
    pub fn add_judge(
        &self,
        name: &str,
        until: &str,
        draft: Draft,
        now_ms: i64,
    ) -> Result<Invited, Refused> {
        let _deciding = self.deciding();
        let name = name_of_judge(name).map_err(Refused::Ruling)?;
        if let Some(judge) = self.judge_in_force(name, now_ms)? {
            return Err(Refused::Ruling(format!(
                "there is a judge {} already: revoke that one first, or choose another name",
                judge.name
            )));
        }
        let zone = match self.definitions_in_force()? {
            Some(definitions) => definitions.event().time_zone.clone(),
            None => TimeZone::UTC,
        };
        let Some(until_ms) = later_moment(until, &zone, now_ms) else {
            let until: String = until.chars().take(60).collect();
            return Err(Refused::Ruling(format!(
                "`{until}` is no time; give one like 18:00, 8h or 2026-11-30T18:00"
            )));
        };
        let shown = |ms| in_zone(ms, &zone);
        if until_ms <= now_ms {
            let until = shown(until_ms);
            return Err(Refused::Ruling(format!(
                "{until} is over: give a later time, with its date"
            )));
        }
        let code = Code::random()?;
        let code_until_ms = now_ms.saturating_add(INVITATION_MS).min(until_ms);
        let grant = Grant::Judge {
            name: name.to_owned(),
            code: *code.hash(Purpose::Invitation).as_bytes(),
            code_until_ms,
            until_ms,
        };
        let value = format!("{name} until {}", in_zone(until_ms, &TimeZone::UTC));
        let ruling = self.grant(JUDGE_ADD, Some(value), draft, grant, now_ms)?;
        Ok(Invited {
            ruling: ruling.number,
            name: name.to_owned(),
            code: code.to_string(),
            code_until: shown(code_until_ms),
            until: shown(until_ms),
        })
    }

    /// Ends the time of a judge: neither their token nor their code is good any more.
    ///
    /// # Errors
    ///
    /// There is no such judge; a message says which there are.
    pub fn revoke_judge(&self, name: &str, draft: Draft, now_ms: i64) -> Result<Ruling, Refused> {
        let _deciding = self.deciding();
        let Some(judge) = self.judge_in_force(name, now_ms)? else {
            let name: String = name.chars().take(NAME_CHARS_MAX).collect();
            return Err(Refused::Ruling(format!(
                "there is no judge {name} who might still judge; `gridmark judges list` shows all"
            )));
        };
        self.grant(JUDGE_REVOKE, Some(judge.name), draft, Grant::Revoke(judge.ruling), now_ms)
    }

    /// Replaces the director's passphrase.
    ///
    /// # Errors
    ///
    /// It is too short or too long, or cannot be recorded.
    pub fn set_passphrase(
        &self,
        passphrase: &Typed,
        draft: Draft,
        now_ms: i64,
    ) -> Result<Ruling, Refused> {
        let stored = passphrase.stored()?.map_err(Refused::Ruling)?;
        let _deciding = self.deciding();
        self.grant(PASSPHRASE, None, draft, Grant::Passphrase(stored), now_ms)
    }

    /// Replaces the cards of these entrants, or of all if none is named.
    ///
    /// # Errors
    ///
    /// There is no event or no such entrant, or it cannot be recorded.
    pub fn print_cards(
        &self,
        entrants: &[String],
        draft: Draft,
        now_ms: i64,
    ) -> Result<Cards, Refused> {
        let _deciding = self.deciding();
        let definitions = self.definitions_in_force()?.ok_or(Refused::NoEvent)?;
        let event = definitions.event();
        let mut places = Vec::new();
        for id in entrants {
            places.push(event.names.entrant(id).ok_or_else(|| {
                let id: String = id.chars().take(NAME_CHARS_MAX).collect();
                Refused::Ruling(format!("there is no entrant `{id}`"))
            })?);
        }
        if places.is_empty() {
            places = (0..event.entrants.len()).collect();
        }
        places.sort_unstable();
        places.dedup();
        let (mut cards, mut hashes) = (Vec::new(), Vec::new());
        for entrant in places.iter().map(|place| &event.entrants[*place]) {
            let code = Code::random()?;
            hashes.push((entrant.id.clone(), *code.hash(Purpose::Card).as_bytes()));
            cards.push(card_of(entrant, &code));
        }
        let value = if cards.len() <= NAMED_MAX {
            cards.iter().map(|card| card.entrant.as_str()).collect::<Vec<_>>().join(", ")
        } else {
            counted(cards.len(), "entrant")
        };
        let ruling = self.grant(CARDS, Some(value), draft, Grant::Cards(hashes), now_ms)?;
        Ok(Cards { ruling: ruling.number, event: event.name.clone(), cards })
    }

    /// The judge of this name who may judge, or might with their code.
    fn judge_in_force(&self, name: &str, now_ms: i64) -> Result<Option<Judge>, Refused> {
        let is_in_force = |judge: &Judge| {
            matches!(judge.state(now_ms), JudgeState::Invited | JudgeState::Active)
                && judge.name.to_lowercase() == name.trim().to_lowercase()
        };
        Ok(self.access().judges()?.into_iter().find(is_in_force))
    }

    fn definitions_in_force(&self) -> Result<Option<Arc<Definitions>>, Refused> {
        Ok(self.live.definitions().of(self.ledger().definitions().in_force()?)?)
    }

    fn grant(
        &self,
        action: &str,
        value: Option<String>,
        draft: Draft,
        grant: Grant,
        now_ms: i64,
    ) -> Result<Ruling, Refused> {
        let Draft { by, role, via, reason, .. } = draft;
        let (action, by) = (action.to_owned(), by.trim().to_owned());
        let draft = Draft { by, role, via, reason, action, value, ..Draft::default() };
        check_signature(&draft).map_err(Refused::Ruling)?;
        let decision = Decision { draft, grant: Some(grant), ..Decision::default() };
        let recorded = self.ledger().changes().record(&[decision], now_ms);
        // Whether it failed or not, the ledger says what is so.
        self.access().forget();
        Ok(recorded?.swap_remove(0))
    }
}

/// A name by which a judge's decisions can be recorded.
fn name_of_judge(name: &str) -> Result<&str, String> {
    let name = name.trim();
    if name.is_empty() {
        return Err("the name of the judge is missing".into());
    }
    if name.chars().nth(NAME_CHARS_MAX).is_some() {
        return Err(format!("the name of the judge is longer than {NAME_CHARS_MAX} characters"));
    }
    // Of these a reader sees nothing, or something else than there is.
    let is_odd = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    if name.chars().any(is_odd) {
        return Err(
            "the name of the judge holds characters that nobody sees: leave them out".into()
        );
    }
    Ok(name)
}

fn card_of(entrant: &Entrant, code: &Code) -> Card {
    Card {
        entrant: entrant.id.clone(),
        name: entrant.name.clone(),
        team: entrant.team.clone(),
        seat: entrant.seat.clone(),
        code: code.to_string(),
    }
}

/// A moment in milliseconds since 1970, with its offset in this zone.
fn in_zone(ms: i64, zone: &TimeZone) -> String {
    let moment = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
    match zone == &TimeZone::UTC {
        true => format!("{moment:.0}"),
        false => {
            moment.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
        }
    }
}
