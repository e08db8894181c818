//! From an event folder to what it defines, or to everything that is wrong with it.

mod policies;
mod roster;
mod rounds;
mod table;
mod times;

pub use table::delimiter_of;

use super::definition::{Event, See, When};
use super::folder::{Folder, line_at};
use super::names::{self, Names};
use super::problem::{Problem, Problems};
use super::section::{Document, Placed, Section, duration_ms, list_of};
use super::template::Template;
use gridmark_core::scoring::{Overall, Points, TieBreak};
use jiff::civil::{DateTime, Time};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use regex::bytes::Regex;
use std::collections::HashMap;

/// The version of event folders.
const FORMAT: u32 = 1;

/// The files beside the rounds.
const EVENT: &str = "event.toml";
const POLICIES: &str = "policies.toml";

/// How many patterns an event may have.
const PATTERNS_MAX: usize = 50;

/// Times before 1970-01-01T00:00:00Z or after the year 9000 are mistakes.
const MOMENT_MS_MAX: i64 = 221_845_392_000_000;

/// Reads what a folder defines.
///
/// # Errors
///
/// Everything that is wrong with it, by file and line.
pub fn read(folder: &Folder) -> Result<Event, Vec<Problem>> {
    let problems = Problems::default();
    let event = event(folder, &problems);
    let found = problems.into_sorted();
    match event {
        Some(event) if found.is_empty() => Ok(event),
        _ => Err(found),
    }
}

/// What event.toml says.
struct Header {
    id: String,
    name: String,
    zone: Zone,
    folds: bool,
    patterns: Vec<Regex>,
    template: Option<Placed<Template>>,
    called: HashMap<String, String>,
    break_by: Vec<TieBreak>,
    overall: Overall,
    freeze_before_end_ms: Option<u64>,
    protest_ms: u64,
    see: See,
    when: When,
}

fn event(folder: &Folder, problems: &Problems) -> Option<Event> {
    let root = |file| {
        let text = folder.text(file, problems)?;
        Document { file, text, problems }.root()
    };
    let header = root(EVENT).map(header);
    let policies = root(POLICIES).map(policies::read).unwrap_or_default();
    // What is wrong elsewhere is reported, too, where event.toml cannot be read.
    let Header { zone, folds, called, .. } = header.as_ref()?;
    let entrants = roster::read(folder, called, *folds, problems);
    let reader = rounds::Reader { folder, policies: &policies, zone, folds: *folds, problems };
    let mut rounds = reader.rounds();
    let header = header?;
    let template = header.template.as_ref().map(|template| template.value.clone());
    let names = Names::new(header.patterns, template, header.folds, &entrants, &rounds);
    if let Some(template) = &header.template
        && let Some(owner) = names.first_without_path()
    {
        let round = &rounds[owner.round];
        let ids = [&entrants[owner.entrant].id, &round.id, &round.puzzles[owner.puzzle].id];
        let ids = ids.map(String::as_str);
        let message = format!(
            "entrant {}, round {}, puzzle {} would hand in `{}`, from which the patterns do not lead back to them; \
             change the template or the patterns",
            ids[0],
            ids[1],
            ids[2],
            template.value.path(ids)
        );
        let at =
            folder.text(EVENT, problems).map_or(1, |text| line_at(text.as_bytes(), template.at));
        problems.add(EVENT, Some(at), message);
    }
    for round in &mut rounds {
        let file = format!("rounds/{}/times.csv", round.id);
        let of = |id: &str| names.entrant(id);
        round.times = times::read(folder, &file, (&header.zone, round.start_ms), of, problems);
    }
    Some(Event {
        id: header.id,
        name: header.name,
        time_zone: header.zone.0,
        entrants,
        rounds,
        break_by: header.break_by,
        overall: header.overall,
        freeze_before_end_ms: header.freeze_before_end_ms,
        protest_ms: header.protest_ms,
        entrants_see: header.see,
        entrants_see_when: header.when,
        names,
    })
}

fn header(mut root: Section<'_>) -> Header {
    let document = root.document();
    if let Some(format) = root.require::<u32>("format", "the number 1")
        && format.value != FORMAT
    {
        let message = format!(
            "this is format {}, and this gridmark reads format {FORMAT}: use one that fits",
            format.value
        );
        document.add(format.at, message);
    }
    let id = root.require::<String>("id", "an id");
    if let Some(id) = id.as_ref().filter(|id| !is_id(&id.value)) {
        document
            .add(id.at, "this is no id; use 1 to 32 of the letters A to Z, digits, `_` and `-`");
    }
    let id = id.map_or_else(String::new, |id| id.value);
    let name = root.take::<String>("name", "a name").map_or_else(|| id.clone(), |name| name.value);
    let mut zone = TimeZone::UTC;
    if let Some(named) = root.require::<String>("time_zone", "a zone like \"Europe/Prague\"") {
        match TimeZoneDatabase::bundled().get(&named.value) {
            Ok(known) => zone = known,
            Err(_) => document.add(
                named.at,
                format!(
                    "`{}` is no time zone; write one like \"Europe/Prague\" or \"UTC\"",
                    named.value
                ),
            ),
        }
    }
    let (mut folds, mut patterns, mut template) = (true, Vec::new(), None);
    match root.section("submissions") {
        Some(mut submissions) => {
            if let Some(case) = submissions.word("case", &[("fold", true), ("exact", false)]) {
                folds = case.value;
            }
            patterns = patterns_of(&mut submissions, folds);
            let expected = "a path like \"{round}/{puzzle}/{entrant}.txt\"";
            if let Some(text) = submissions.take::<String>("template", expected) {
                match Template::read(&text.value) {
                    Ok(value) => template = Some(Placed { value, at: text.at }),
                    Err(why) => document.add(text.at, why),
                }
            }
            submissions.finish();
        }
        None => document.add(
            root.at(),
            "there is no table `[[submissions.pattern]]`: it says which path in the inbox is whose entry",
        ),
    }
    let mut called = HashMap::new();
    if let Some(mut section) = root.section("roster") {
        for column in roster::COLUMNS {
            if let Some(header) = section.take::<String>(column, "the header of a column") {
                called.insert(column.to_owned(), header.value);
            }
        }
        section.finish();
    }
    let (break_by, overall) = ranking(&mut root);
    let (mut freeze_before_end_ms, mut protest_ms) = (None, 0);
    if let Some(mut publish) = root.section("publish") {
        freeze_before_end_ms = publish.duration_ms("freeze_before_end").map(|freeze| freeze.value);
        protest_ms = publish.duration_ms("protest").map_or(0, |protest| protest.value);
        publish.finish();
    }
    let (mut see, mut when) = (See::Receipt, When::Official);
    if let Some(mut entrant) = root.section("entrant") {
        let sees = [("receipt", See::Receipt), ("verdict", See::Verdict), ("faults", See::Faults)];
        see = entrant.word("sees", &sees).map_or(see, |sees| sees.value);
        let times = [
            ("at-once", When::AtOnce),
            ("round-end", When::RoundEnd),
            ("official", When::Official),
        ];
        when = entrant.word("when", &times).map_or(when, |when| when.value);
        entrant.finish();
    }
    root.finish();
    Header {
        id,
        name,
        zone: Zone(zone),
        folds,
        patterns,
        template,
        called,
        break_by,
        overall,
        freeze_before_end_ms,
        protest_ms,
        see,
        when,
    }
}

fn patterns_of(submissions: &mut Section<'_>, folds: bool) -> Vec<Regex> {
    let document = submissions.document();
    let sections = submissions.sections("pattern");
    if sections.is_empty() || sections.len() > PATTERNS_MAX {
        let message =
            format!("there have to be 1 to {PATTERNS_MAX} tables `[[submissions.pattern]]`");
        document.add(submissions.at(), message);
    }
    let mut patterns = Vec::new();
    for mut section in sections.into_iter().take(PATTERNS_MAX) {
        if let Some(path) = section.require::<String>("path", "a regular expression") {
            match names::pattern(&path.value, folds) {
                Ok(pattern) => patterns.push(pattern),
                Err(why) => document.add(path.at, why),
            }
        }
        section.finish();
    }
    patterns
}

fn ranking(root: &mut Section<'_>) -> (Vec<TieBreak>, Overall) {
    let (mut break_by, mut overall) = (vec![TieBreak::Points, TieBreak::LastGain], Overall::Sum);
    let Some(mut ranking) = root.section("ranking") else {
        return (break_by, overall);
    };
    let document = ranking.document();
    let expected = list_of(TieBreak::ALL.iter().map(|by| by.word()));
    if let Some(words) = ranking.take::<Vec<String>>("break_by", &format!("a list of {expected}")) {
        let known = words.value.iter().map(|word| word.parse::<TieBreak>());
        match known.collect::<Result<Vec<_>, _>>() {
            Ok(known) if !known.is_empty() => break_by = known,
            _ => document.add(words.at, format!("`break_by` has to be a list of {expected}")),
        }
    }
    if let Some(mut season) = ranking.section("season") {
        let number = |season: &mut Section<'_>, key| {
            season.take::<u32>(key, "a whole number").map(|number| number.value)
        };
        let first = season.points("first").map_or(Points::whole(200), |first| first.value);
        let step = season.points("step").map_or(Points::whole(1), |step| step.value);
        if first < Points::ZERO || step < Points::ZERO {
            document.add(season.at(), "`first` and `step` must not be below zero");
        }
        let take_best = number(&mut season, "take_best").map(|best| best as usize);
        overall = Overall::Season { first, step, take_best };
        season.finish();
    }
    ranking.finish();
    (break_by, overall)
}

/// Whether a text may be an id.
fn is_id(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// A later moment as people write it, in milliseconds since 1970: a duration from `now_ms` on (`8h`), a time of day
/// (`18:00`, in this zone), or a date and time.
pub fn later_moment(text: &str, zone: &TimeZone, now_ms: i64) -> Option<i64> {
    match duration_ms(text) {
        Some(ms) => Some(now_ms.saturating_add_unsigned(ms)),
        None => Zone(zone.clone()).moment_of_day(text.trim(), now_ms),
    }
}

/// The time zone of an event.
pub(super) struct Zone(pub(super) TimeZone);

impl Zone {
    /// A date and time with its offset, or a local one, in milliseconds since 1970.
    pub(super) fn moment(&self, text: &str) -> Option<i64> {
        let timestamp = match text.parse::<Timestamp>() {
            Ok(timestamp) => timestamp,
            Err(_) => self.at(text.parse().ok()?)?,
        };
        let ms = timestamp.as_millisecond();
        (0..=MOMENT_MS_MAX).contains(&ms).then_some(ms)
    }

    /// As [`moment`](Zone::moment), or a time of day on the day of another moment; one that is more than
    /// twelve hours before it is meant for the next day.
    fn moment_of_day(&self, text: &str, near_ms: i64) -> Option<i64> {
        // A date and time first: its date would be dropped in reading it as a time.
        if let Some(moment) = self.moment(text) {
            return Some(moment);
        }
        let time = text.parse::<Time>().ok()?;
        let near = Timestamp::from_millisecond(near_ms).ok()?;
        let date = self.0.to_datetime(near).date();
        let moment = self.at(date.to_datetime(time))?;
        let half_a_day = SignedDuration::from_hours(12);
        let moment = match near.duration_since(moment) > half_a_day {
            true => self.at(date.tomorrow().ok()?.to_datetime(time))?,
            false => moment,
        };
        Some(moment.as_millisecond())
    }

    fn at(&self, local: DateTime) -> Option<Timestamp> {
        self.0.to_ambiguous_timestamp(local).compatible().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_near_and_a_date_and_time_is_what_it_says() {
        let zone = Zone(TimeZoneDatabase::bundled().get("Europe/Prague").expect("a zone"));
        let near: Timestamp = "2026-11-30T22:30:00+01:00".parse().expect("a moment");
        let moment = |text: &str| {
            let moment = zone.moment_of_day(text, near.as_millisecond())?;
            Some(Timestamp::from_millisecond(moment).expect("a moment").to_string())
        };
        for (text, expected) in [
            ("22:45", "2026-11-30T21:45:00Z"),
            ("22:45:07", "2026-11-30T21:45:07Z"),
            ("11:05", "2026-11-30T10:05:00Z"),
            ("02:00", "2026-12-01T01:00:00Z"),
            ("2026-12-24T18:00", "2026-12-24T17:00:00Z"),
            ("2026-12-24 18:00:01", "2026-12-24T17:00:01Z"),
            ("2026-12-24T18:00:00Z", "2026-12-24T18:00:00Z"),
        ] {
            assert_eq!(moment(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "soon", "25:00", "2026-12-32T18:00"] {
            assert_eq!(moment(text), None, "{text}");
        }
        let later = |text| later_moment(text, &TimeZone::UTC, 1_000);
        assert_eq!(
            (later("8h"), later("90m"), later("soon")),
            (Some(28_801_000), Some(5_401_000), None)
        );
    }
}
