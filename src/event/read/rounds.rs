//! `round.toml` of each round: when it is, how it is scored, and its puzzles.

use super::super::definition::{Round, RoundPuzzle, Timing};
use super::super::folder::{Folder, line_at};
use super::super::names::folded;
use super::super::problem::Problems;
use super::super::section::{Document, Placed, Section, list_of};
use super::policies::Defined;
use super::{Zone, is_id};
use crate::puzzle::{self, Limits};
use gridmark_core::Kind;
use gridmark_core::board::{Cell, House, Size};
use gridmark_core::puzzle::text::{Listed, Place};
use gridmark_core::puzzle::{Alphabet, Invalid, Puzzle, Task};
use gridmark_core::scoring::{LateRule, Points};
use std::collections::{BTreeMap, HashMap};

/// The folder of all rounds.
const FOLDER: &str = "rounds/";

/// How many rounds an event may have, and how many puzzles a round.
const ROUNDS_MAX: usize = 200;
const PUZZLES_MAX: usize = 200;

/// What a round is read with.
pub(super) struct Reader<'a> {
    pub(super) folder: &'a Folder,
    pub(super) policies: &'a BTreeMap<String, Defined>,
    pub(super) zone: &'a Zone,
    pub(super) folds: bool,
    pub(super) problems: &'a Problems,
}

impl<'a> Reader<'a> {
    /// All rounds, by their start, then by their id.
    pub(super) fn rounds(&self) -> Vec<Round> {
        let mut ids: HashMap<String, &str> = HashMap::new();
        let mut rounds = Vec::new();
        let folders = self.folder.folders_in(FOLDER);
        if folders.is_empty() {
            let message = "there is no round: create a folder with a round.toml in it";
            self.problems.add("rounds", None, message);
        }
        if folders.len() > ROUNDS_MAX {
            let message = format!("there are more than {ROUNDS_MAX} rounds");
            self.problems.add("rounds", None, message);
        }
        for id in folders {
            let file = format!("{FOLDER}{id}/round.toml");
            if !is_id(id) {
                self.problems.add(
                    &format!("{FOLDER}{id}"),
                    None,
                    "the name of this folder is no id of a round; use 1 to 32 of the letters A to Z, digits, `_` and `-`",
                );
            } else if let Some(other) = ids.insert(folded(id, self.folds), id) {
                let message =
                    format!("rounds `{other}` and `{id}` differ in case only; rename one");
                self.problems.add(&file, None, message);
            }
            let Some(text) = self.folder.text(&file, self.problems) else { continue };
            let document = Document { file: &file, text, problems: self.problems };
            rounds.extend(document.root().and_then(|root| self.round(id, root)));
        }
        rounds.sort_by(|a, b| (a.start_ms, &a.id).cmp(&(b.start_ms, &b.id)));
        rounds
    }

    fn round(&self, id: &str, mut root: Section<'_>) -> Option<Round> {
        let name = root.take::<String>("name", "a name").map(|name| name.value);
        let start = root.moment("start", |text| self.zone.moment(text));
        let duration = root.duration_ms("duration");
        let timing = root.word("timing", &[("file", Timing::File), ("sheet", Timing::Sheet)]);
        let policy = root.require::<String>("policy", "the name of a policy of policies.toml");
        #[derive(Clone)]
        enum Late {
            Refuse,
            Accept,
            Grace,
        }
        let words = [("refuse", Late::Refuse), ("accept", Late::Accept), ("grace", Late::Grace)];
        let late = root.word("late", &words);
        let document = root.document();
        for (missing, key, example) in [
            (start.is_none(), "start", "2026-11-30T10:00:00"),
            (duration.is_none(), "duration", "\"60m\""),
        ] {
            // One that is wrong was reported where it stands.
            if missing && !root.has_taken(key) {
                document.add(root.at(), format!("`{key}` is missing; give one, such as {example}"));
            }
        }
        let defined = policy.as_ref().and_then(|policy| {
            let defined = self.policies.get(&policy.value);
            if defined.is_none() {
                let known = list_of(self.policies.keys().map(String::as_str));
                let message = format!(
                    "there is no policy `{}` in policies.toml; known are {known}",
                    policy.value
                );
                document.add(policy.at, message);
            }
            defined
        });
        let late = match late {
            None => LateRule::Refuse,
            Some(Placed { value: Late::Refuse, .. }) => LateRule::Refuse,
            Some(Placed { value: Late::Accept, .. }) => LateRule::Accept,
            Some(Placed { value: Late::Grace, at }) => match defined.map(|defined| defined.grace) {
                Some(Some(grace)) => LateRule::Grace(grace),
                Some(None) => {
                    document.add(
                        at,
                        "the policy of this round has no `late`, so there is no time of grace",
                    );
                    LateRule::Refuse
                }
                None => LateRule::Refuse,
            },
        };
        let needs = defined.and_then(Defined::needs_solution);
        let mut puzzles: Vec<RoundPuzzle> = Vec::new();
        let mut ids = HashMap::new();
        let sections = root.sections("puzzle");
        if sections.is_empty() {
            document.add(root.at(), "there is no puzzle: add a table `[[puzzle]]`");
        }
        if sections.len() > PUZZLES_MAX {
            document.add(root.at(), format!("there are more than {PUZZLES_MAX} puzzles"));
        }
        for section in sections.into_iter().take(PUZZLES_MAX) {
            let at = section.at();
            let round_to = defined.map_or(Points::ZERO, |defined| defined.policy.round_to);
            let Some(puzzle) = self.puzzle(id, section, needs, round_to) else { continue };
            if ids.insert(folded(&puzzle.id, self.folds), ()).is_some() {
                document.add(at, format!("there is a puzzle `{}` already", puzzle.id));
            }
            puzzles.push(puzzle);
        }
        root.finish();
        Some(Round {
            id: id.to_owned(),
            name: name.unwrap_or_else(|| id.to_owned()),
            start_ms: start?.value,
            duration_ms: duration?.value,
            timing: timing.map_or(Timing::File, |timing| timing.value),
            policy: defined?.policy.clone(),
            late,
            puzzles,
            times: HashMap::new(),
        })
    }

    fn puzzle(
        &self,
        round: &str,
        mut section: Section<'_>,
        needs: Option<&'static str>,
        round_to: Points,
    ) -> Option<RoundPuzzle> {
        let document = section.document();
        let at = section.at();
        let id = section.require::<String>("id", "an id");
        let kinds = Kind::ALL.map(|kind| (kind.word(), kind));
        let kind = section.word("kind", &kinds);
        let points = section.points("points");
        let givens =
            section.require::<String>("givens", "the file with the puzzle, beside this one");
        let unique = section.take::<bool>("unique", "true or false");
        let marked =
            section.take::<Vec<String>>("marked", "a list such as [\"row 3\", \"column 7\"]");
        let alphabets = Alphabet::SIXTEEN.map(|alphabet| (alphabet.word(), alphabet));
        let alphabet = section.word("alphabet", &alphabets).map(|alphabet| alphabet.value);
        let task = section.word("task", &[("solve", Task::Solve), ("larry", Task::Larry)]);
        let keys = section.take::<String>("keys", "a file with solutions, beside this one");
        section.finish();
        if let Some(id) = id.as_ref().filter(|id| !is_id(&id.value)) {
            let message = format!(
                "`{}` is no id; use 1 to 32 of the letters A to Z, digits, `_` and `-`",
                id.value
            );
            document.add(id.at, message);
        }
        if let Some(points) = &points {
            if points.value < Points::ZERO {
                document.add(points.at, "`points` is below zero");
            } else if points.value.rounded_down(round_to) != points.value {
                let message = format!(
                    "nobody could earn {} points, since the policy rounds them down to a multiple of {round_to}: \
                     give the policy another `round_to`, or the puzzle other points",
                    points.value
                );
                document.add(points.at, message);
            }
        }
        let givens = givens?;
        let (mut puzzle, source) = self.one_of(document, round, &givens, alphabet)?;
        if let Some(kind) = kind.as_ref().filter(|kind| kind.value != puzzle.kind()) {
            let message = format!("the puzzle in {} is of kind {}", source.0, puzzle.kind());
            document.add(kind.at, message);
        }
        if let Some(keys) = &keys {
            for key in self.listed(document, round, keys, alphabet)?.0 {
                puzzle = changed(document, keys.at, puzzle, |it| it.with_key(key.puzzle.givens()));
            }
        }
        if let Some(task) = task {
            puzzle = changed(document, task.at, puzzle, |it| it.with_task(task.value));
        }
        if let Some(marked) = marked {
            let cells = marked.value.iter().map(|text| marked_cells(text, puzzle.size()));
            match cells.collect::<Option<Vec<_>>>() {
                Some(cells) if !cells.is_empty() => {
                    puzzle = changed(document, marked.at, puzzle, |it| it.with_marked(cells.concat()));
                }
                _ => document.add(
                    marked.at,
                    "expected rows, columns, boxes and cells, such as [\"row 3\", \"column 7\", \"r1c1\"]",
                ),
            }
        }
        let is_unique = unique.as_ref().is_some_and(|unique| unique.value);
        let needs = needs.or((!puzzle.marked().is_empty()).then_some("an entry of marked cells"));
        let has_solution = is_unique || !puzzle.keys().is_empty();
        if let Some(needs) = needs.filter(|_| puzzle.task() == Task::Solve && !has_solution) {
            let message = format!(
                "{needs} needs a solution to compare with: add `unique = true`, or `keys` with a file of solutions"
            );
            document.add(at, message);
        }
        let line = line_at(document.text.as_bytes(), unique.map_or(at, |unique| unique.at));
        Some(RoundPuzzle {
            id: id?.value,
            points: points.map_or(Points::ZERO, |points| points.value),
            puzzle,
            source,
            unique: is_unique.then(|| (document.file.to_owned(), line)),
        })
    }

    /// The puzzle of a reference like `p1.sdm`, or `set.sdm#3` for the third of a file, and where it is.
    fn one_of(
        &self,
        document: Document<'_>,
        round: &str,
        reference: &Placed<String>,
        alphabet: Option<Alphabet>,
    ) -> Option<(Puzzle, (String, usize))> {
        let (listed, file, number) = self.listed(document, round, reference, alphabet)?;
        let count = listed.len();
        match (number, listed.into_iter().nth(number.unwrap_or(1).wrapping_sub(1))) {
            (None, Some(only)) if count == 1 => Some((only.puzzle, (file, 1))),
            (Some(number), Some(found)) => Some((found.puzzle, (file, number))),
            (None, _) => {
                let message = format!(
                    "{file} holds {count} puzzles; say which, as in `{}#1`",
                    reference.value
                );
                document.add(reference.at, message);
                None
            }
            (Some(number), None) => {
                document
                    .add(reference.at, format!("{file} has no puzzle {number}; it holds {count}"));
                None
            }
        }
    }

    /// The puzzles of the file that a reference names, the file, and the number in the reference.
    fn listed(
        &self,
        document: Document<'_>,
        round: &str,
        reference: &Placed<String>,
        alphabet: Option<Alphabet>,
    ) -> Option<(Vec<Listed>, String, Option<usize>)> {
        let (name, number) = match reference.value.rsplit_once('#') {
            Some((name, number)) => match number.parse::<usize>() {
                Ok(number) if number > 0 => (name, Some(number)),
                _ => {
                    let message =
                        format!("`{}` does not end in a number from 1 on", reference.value);
                    document.add(reference.at, message);
                    return None;
                }
            },
            None => (reference.value.as_str(), None),
        };
        let file = format!("{FOLDER}{round}/{name}");
        let Some(bytes) = self.folder.get(&file) else {
            let message = match self.folder.odd(&file) {
                Some(what) => {
                    format!("{file} is {what}, not a regular file; put the file itself there")
                }
                None => format!("there is no file {file}"),
            };
            document.add(reference.at, message);
            return None;
        };
        match puzzle::read(bytes, alphabet, Limits::default()) {
            Ok(listed) => Some((listed, file, number)),
            Err(error) => {
                let line = match &error.place {
                    Place::Text { line, .. } | Place::Json { line, .. } => *line as usize,
                };
                self.problems.add(&file, Some(line), error.to_string());
                None
            }
        }
    }
}

/// The changed puzzle, or the same one and a problem.
fn changed(
    document: Document<'_>,
    at: usize,
    puzzle: Puzzle,
    change: impl FnOnce(Puzzle) -> Result<Puzzle, Invalid>,
) -> Puzzle {
    change(puzzle.clone()).unwrap_or_else(|why| {
        document.add(at, why.to_string());
        puzzle
    })
}

/// The cells of `row 3`, `column 7`, `box 5` or `r1c1`, in reading order.
fn marked_cells(text: &str, size: Size) -> Option<Vec<Cell>> {
    let number = |text: &str| {
        let number = text.trim().parse::<usize>().ok()?;
        (1..=size.side()).contains(&number).then(|| number as u8 - 1)
    };
    let text = text.trim().to_lowercase();
    let house = match text.split_once(' ') {
        Some(("row", rest)) => House::Row(number(rest)?),
        Some(("column", rest)) => House::Column(number(rest)?),
        Some(("box", rest)) => House::Box(number(rest)?),
        _ => {
            let (row, column) = text.strip_prefix('r')?.split_once('c')?;
            return Some(vec![Cell { row: number(row)?, column: number(column)? }]);
        }
    };
    Some(house.cells(size).map(|index| Cell::of(size, index)).collect())
}
