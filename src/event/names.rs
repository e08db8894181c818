//! Whose entry a submission is: patterns with groups map its name to an entrant, a round and a puzzle.

use super::definition::{Entrant, Round};
use super::template::Template;
use crate::model::submission::Name;
use regex::bytes::{Captures, Regex, RegexBuilder};
use std::collections::HashMap;
use std::fmt;
use unicode_normalization::UnicodeNormalization;

/// The groups that every pattern has.
const GROUPS: [&str; 3] = ["entrant", "round", "puzzle"];

/// How many bytes a compiled pattern may take.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// How much of an unknown id is kept.
const FOUND_CHARS_MAX: usize = 100;

/// The least similarity (from 0 to 1) at which a known id is named as the nearest.
const SIMILARITY_MIN: f64 = 0.5;

/// Whose entry it is: indices into the entrants and rounds of the event, and the puzzles of the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// The entrant.
    pub entrant: usize,
    /// The round.
    pub round: usize,
    /// The puzzle of that round.
    pub puzzle: usize,
}

/// Why a submission is nobody's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmatched {
    /// Its name fits no pattern.
    NoPattern,
    /// Its name fits a pattern, and there is no such entrant, round or puzzle.
    Unknown {
        /// Which of the three.
        what: &'static str,
        /// What the name says.
        found: String,
        /// The round whose puzzles were looked through, if it is a puzzle.
        round: Option<usize>,
    },
}

impl fmt::Display for Unmatched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmatched::NoPattern => f.write_str("its name fits no pattern of event.toml"),
            Unmatched::Unknown { what, found, .. } => write!(f, "there is no {what} `{found}`"),
        }
    }
}

/// The patterns of an event, and its ids.
#[derive(Clone, Debug, Default)]
pub struct Names {
    patterns: Vec<Regex>,
    /// How files are named that are handed in on a page; the first that the patterns lead back from.
    templates: Vec<Template>,
    folds: bool,
    entrants: Ids,
    rounds: Ids,
    puzzles: Vec<Ids>,
}

/// Ids of one kind, by how they are looked up.
#[derive(Clone, Debug, Default)]
struct Ids {
    shown: Vec<String>,
    /// As they are compared.
    keys: Vec<String>,
    places: HashMap<String, usize>,
    /// Without leading zeros; `None` for what two ids share.
    numbers: HashMap<String, Option<usize>>,
}

/// A pattern as a regular expression.
///
/// # Errors
///
/// It is none, it is too large, or it lacks a group; a message says which.
pub(super) fn pattern(text: &str, folds: bool) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(text);
    let compiled = builder.case_insensitive(folds).size_limit(PATTERN_BYTES_MAX).build();
    let compiled = compiled.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "this pattern is too large; write a simpler one".into(),
        error => format!("this is no regular expression: {}", last_line(&error.to_string())),
    })?;
    let has = |group: &str| compiled.capture_names().flatten().any(|name| name == group);
    match GROUPS.iter().find(|group| !has(group)) {
        Some(group) => Err(format!("the pattern has no group `(?<{group}>...)`; add it")),
        None => Ok(compiled),
    }
}

/// What a parser of regular expressions says last is what is wrong.
fn last_line(message: &str) -> &str {
    message.lines().last().unwrap_or_default().trim_start_matches("error: ")
}

/// A text in the one form in which ids are compared: Unicode forms that look the same are, full-width digits
/// are digits, and case does not matter if `folds`.
pub(super) fn folded(text: &str, folds: bool) -> String {
    let normal: String = text.nfkc().collect();
    if folds { normal.to_lowercase() } else { normal }
}

impl Ids {
    fn new<'a>(ids: impl Iterator<Item = &'a str>, folds: bool) -> Ids {
        let mut known = Ids::default();
        for (place, id) in ids.enumerate() {
            let key = folded(id, folds);
            let number = known.numbers.entry(without_zeros(&key).to_owned());
            number.and_modify(|shared| *shared = None).or_insert(Some(place));
            known.keys.push(key.clone());
            known.places.insert(key, place);
            known.shown.push(id.to_owned());
        }
        known
    }

    /// The place of an id: as it is, or else as a number that may have other leading zeros.
    fn find(&self, text: &str, folds: bool) -> Option<usize> {
        let key = folded(text, folds);
        let as_number = || *self.numbers.get(without_zeros(&key)).unwrap_or(&None);
        self.places.get(&key).copied().or_else(as_number)
    }

    fn nearest(&self, text: &str, folds: bool) -> Option<&str> {
        let text = folded(text, folds);
        let like = |id: &String| strsim::jaro_winkler(&text, id);
        // Of equals the first.
        let nearest = self.keys.iter().enumerate().rev().map(|(place, id)| (like(id), place));
        let nearest = nearest.max_by(|(a, _), (b, _)| a.total_cmp(b));
        nearest.filter(|(like, _)| *like >= SIMILARITY_MIN).map(|(_, id)| self.shown[id].as_str())
    }
}

/// A number without leading zeros; anything else as it is.
fn without_zeros(text: &str) -> &str {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text;
    }
    let rest = text.trim_start_matches('0');
    if rest.is_empty() { "0" } else { rest }
}

impl Names {
    /// The names of these entrants, rounds and puzzles by these patterns, of which the first that fits counts. How
    /// files are named that are handed in on a page says `template`, or else the patterns.
    pub(super) fn new(
        patterns: Vec<Regex>,
        template: Option<Template>,
        folds: bool,
        entrants: &[Entrant],
        rounds: &[Round],
    ) -> Names {
        let puzzles = rounds
            .iter()
            .map(|round| Ids::new(round.puzzles.iter().map(|puzzle| puzzle.id.as_str()), folds));
        let derived =
            || patterns.iter().filter_map(|one| Template::derived(one.as_str())).collect();
        Names {
            templates: template.map_or_else(derived, |template| vec![template]),
            patterns,
            folds,
            entrants: Ids::new(entrants.iter().map(|entrant| entrant.id.as_str()), folds),
            rounds: Ids::new(rounds.iter().map(|round| round.id.as_str()), folds),
            puzzles: puzzles.collect(),
        }
    }

    /// Whose entry the submission of this name is.
    ///
    /// # Errors
    ///
    /// It is nobody's, and why.
    pub fn owner(&self, name: &Name) -> Result<Owner, Unmatched> {
        let mut unmatched = Unmatched::NoPattern;
        for groups in self.patterns.iter().filter_map(|one| one.captures(name.as_bytes())) {
            match self.owner_of(&groups) {
                Ok(owner) => return Ok(owner),
                // Of several patterns that fit, the first says what is wrong.
                Err(why) if unmatched == Unmatched::NoPattern => unmatched = why,
                Err(_) => {}
            }
        }
        Err(unmatched)
    }

    /// The path by which an entry of this owner is handed in on a page. The patterns lead back from it; if none
    /// does, nothing.
    pub fn path_of(&self, owner: Owner) -> Option<Name> {
        let ids = [
            self.entrants.shown.get(owner.entrant)?,
            self.rounds.shown.get(owner.round)?,
            self.puzzles.get(owner.round)?.shown.get(owner.puzzle)?,
        ];
        let ids = ids.map(String::as_str);
        let paths = self.templates.iter().map(|one| Name::from_bytes(one.path(ids)));
        paths.into_iter().find(|path| self.owner(path) == Ok(owner))
    }

    /// The same for the owner with these ids.
    ///
    /// # Errors
    ///
    /// There is no such entrant, round or puzzle, or no path; a message says which.
    pub fn path_for(&self, entrant: &str, round: &str, puzzle: &str) -> Result<Name, String> {
        let owner = self.owner_with(entrant, round, puzzle).map_err(|why| why.to_string())?;
        self.path_of(owner).ok_or_else(|| {
            "nothing can be handed in here: event.toml needs a `template` in its table `[submissions]`".into()
        })
    }

    /// The first owner to whom no path leads back, if there is one. Each entrant and each puzzle is looked at once;
    /// what somebody hands in is looked at again.
    pub(super) fn first_without_path(&self) -> Option<Owner> {
        let entrants =
            (0..self.entrants.shown.len()).map(|entrant| Owner { entrant, round: 0, puzzle: 0 });
        let puzzles = self.puzzles.iter().enumerate().flat_map(|(round, puzzles)| {
            (0..puzzles.shown.len()).map(move |puzzle| Owner { entrant: 0, round, puzzle })
        });
        let exists = |owner: &Owner| {
            owner.entrant < self.entrants.shown.len()
                && self.puzzles.get(owner.round).is_some_and(|it| owner.puzzle < it.shown.len())
        };
        let mut owners = entrants.chain(puzzles).filter(exists);
        owners.find(|owner| self.path_of(*owner).is_none())
    }

    fn owner_of(&self, groups: &Captures<'_>) -> Result<Owner, Unmatched> {
        let text = |group: &str| {
            let found = groups.name(group).map_or(&b""[..], |found| found.as_bytes());
            String::from_utf8_lossy(found).into_owned()
        };
        let [entrant, round, puzzle] = GROUPS.map(text);
        self.owner_with(&entrant, &round, &puzzle)
    }

    /// The owner with these ids.
    ///
    /// # Errors
    ///
    /// There is no such round, puzzle or entrant.
    pub fn owner_with(&self, entrant: &str, round: &str, puzzle: &str) -> Result<Owner, Unmatched> {
        let unknown = |what, found: &str, round| {
            let found = found.chars().take(FOUND_CHARS_MAX).collect();
            Unmatched::Unknown { what, found, round }
        };
        let round = self.round(round).ok_or_else(|| unknown("round", round, None))?;
        let puzzle =
            self.puzzle(round, puzzle).ok_or_else(|| unknown("puzzle", puzzle, Some(round)))?;
        let entrant = self.entrant(entrant).ok_or_else(|| unknown("entrant", entrant, None))?;
        Ok(Owner { entrant, round, puzzle })
    }

    /// The nearest match of what is unknown, if there is one: `entrant 102`.
    pub fn nearest(&self, unmatched: &Unmatched) -> Option<String> {
        let Unmatched::Unknown { what, found, round } = unmatched else { return None };
        let ids = match (*what, round) {
            ("round", _) => &self.rounds,
            ("puzzle", Some(round)) => self.puzzles.get(*round)?,
            _ => &self.entrants,
        };
        Some(format!("{what} {}", ids.nearest(found, self.folds)?))
    }

    /// The entrant with this id.
    pub fn entrant(&self, id: &str) -> Option<usize> {
        self.entrants.find(id, self.folds)
    }

    /// The round with this id.
    pub fn round(&self, id: &str) -> Option<usize> {
        self.rounds.find(id, self.folds)
    }

    /// The puzzle with this id of a round.
    pub fn puzzle(&self, round: usize, id: &str) -> Option<usize> {
        self.puzzles.get(round)?.find(id, self.folds)
    }
}
