//! `policies.toml`: a table a policy.

use super::super::section::Section;
use gridmark_core::scoring::{Bonus, Credit, Grace, HouseWeights, NearMiss, Points, Policy, Which};
use std::collections::BTreeMap;

/// The most that a percentage may be.
const PERCENT_MAX: u32 = 1_000;

/// A policy, and the overtime that rounds may allow by it.
pub(super) struct Defined {
    pub(super) policy: Policy,
    pub(super) grace: Option<Grace>,
}

/// What policies need beside a mark.
impl Defined {
    /// Whether it compares cells or houses with the solution.
    pub(super) fn needs_solution(&self) -> Option<&'static str> {
        let Policy { credit, bonus, .. } = &self.policy;
        match credit {
            Credit::PerCell => Some("credit per cell"),
            Credit::PerHouse(_) => Some("credit per house"),
            _ if bonus.as_ref().is_some_and(|bonus| bonus.near_miss.is_some()) => {
                Some("a near miss")
            }
            _ => None,
        }
    }
}

/// All policies, by their names.
pub(super) fn read(root: Section<'_>) -> BTreeMap<String, Defined> {
    root.into_named().into_iter().map(|(name, section)| (name.value, policy(section))).collect()
}

fn policy(mut section: Section<'_>) -> Defined {
    let credit = credit(&mut section);
    let which = [
        ("first", Which::First),
        ("last", Which::Last),
        ("best", Which::Best),
        ("first-correct", Which::FirstCorrect),
    ];
    let which = match section.word("which", &which) {
        Some(which) => which.value,
        None => Which::Last,
    };
    let document = section.document();
    let not_negative = |section: &mut Section<'_>, key, otherwise| match section.points(key) {
        Some(points) if points.value < Points::ZERO => {
            document.add(points.at, format!("`{key}` is below zero; give what it costs or earns"));
            otherwise
        }
        Some(points) => points.value,
        None => otherwise,
    };
    let wrong_penalty = not_negative(&mut section, "wrong_penalty", Points::ZERO);
    let round_to = not_negative(&mut section, "round_to", Points::whole(1));
    let mut bonus = section.section("bonus").map(|mut section| {
        let per_full_minute = not_negative(&mut section, "per_full_minute", Points::ZERO);
        let needs = section.word("needs", &[("all-correct", true), ("nothing", false)]);
        section.finish();
        let needs_all_correct = needs.is_none_or(|needs| needs.value);
        Bonus { per_full_minute, needs_all_correct, near_miss: None }
    });
    if let Some(mut section) = section.section("near_miss") {
        let at = section.at();
        let near_miss = near_miss(&mut section);
        section.finish();
        match &mut bonus {
            Some(bonus) if bonus.needs_all_correct => bonus.near_miss = Some(near_miss),
            _ => document.add(
                at,
                "`near_miss` leaves a part of a bonus that needs all puzzles correct; add \
                 `bonus = { per_full_minute = 10, needs = \"all-correct\" }`",
            ),
        }
    }
    let grace = section.section("late").map(|mut section| {
        let grace = Grace {
            ms: section.duration_ms("grace").map_or(0, |grace| grace.value),
            penalty_per_started_minute: not_negative(&mut section, "penalty", Points::ZERO),
        };
        section.word("per", &[("started-minute", ())]);
        section.finish();
        grace
    });
    section.finish();
    Defined { policy: Policy { credit, which, wrong_penalty, bonus, round_to }, grace }
}

fn credit(section: &mut Section<'_>) -> Credit {
    #[derive(Clone)]
    enum Word {
        AllOrNothing,
        Ladder,
        PerCell,
        PerHouse,
    }
    let words = [
        ("all-or-nothing", Word::AllOrNothing),
        ("ladder", Word::Ladder),
        ("per-cell", Word::PerCell),
        ("per-house", Word::PerHouse),
    ];
    let document = section.document();
    let word = section.word("credit", &words).map(|word| word.value);
    match word.unwrap_or(Word::AllOrNothing) {
        Word::AllOrNothing => Credit::AllOrNothing,
        Word::PerCell => Credit::PerCell,
        Word::Ladder => {
            let expected = "percentages, such as [100, 90, 70, 40, 0]";
            let percent = section.require::<Vec<u32>>("percent", expected);
            if let Some(list) = &percent
                && (list.value.is_empty() || list.value.iter().any(|one| *one > PERCENT_MAX))
            {
                document.add(list.at, format!("`percent` has to be {expected}"));
            }
            Credit::Ladder(percent.map_or_else(Vec::new, |percent| percent.value))
        }
        Word::PerHouse => {
            let Some(mut houses) = section.section("houses") else {
                let at = section.at();
                document.add(at, "`houses` is missing; give weights, such as { row = 5, column = 5, box = 10, full = 20 }");
                return Credit::AllOrNothing;
            };
            let weight = |houses: &mut Section<'_>, key| {
                houses.take::<u32>(key, "a weight, a whole number").map_or(0, |weight| weight.value)
            };
            let weights = HouseWeights {
                row: weight(&mut houses, "row"),
                column: weight(&mut houses, "column"),
                in_box: weight(&mut houses, "box"),
                full: weight(&mut houses, "full"),
            };
            let at = houses.at();
            houses.finish();
            if weights == (HouseWeights { row: 0, column: 0, in_box: 0, full: 0 }) {
                document.add(at, "all weights are 0, so nothing would be worth anything");
            }
            Credit::PerHouse(weights)
        }
    }
}

fn near_miss(section: &mut Section<'_>) -> NearMiss {
    let mut number = |key, most| {
        let found = section.require::<u32>(key, "a whole number");
        match found {
            Some(found) if found.value > most => {
                section.document().add(found.at, format!("`{key}` is more than {most}"));
                0
            }
            Some(found) => found.value,
            None => 0,
        }
    };
    NearMiss {
        puzzles_max: number("puzzles_max", 1_000),
        wrong_cells_max: number("wrong_cells_max", 256),
        bonus_percent: number("bonus_percent", PERCENT_MAX),
    }
}
