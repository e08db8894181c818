//! The table of marks on the terminal, with an explanation below each case that is not right.

use super::Error;
use super::chunks::Chunk;
use super::draw::{self, Ink};
use crate::model::submission::Tally;
use crate::model::words::counted;
use gridmark_core::Kind;
use gridmark_core::board::{Fault, Mark, Verdict, in_words};
use gridmark_core::format::{Case, CaseText, classic, killer};
use gridmark_core::judge::{Against, Compared, Entry};

/// A file with more cases than this gets one line for all correct cases.
const CASES_LISTED_MAX: u64 = 20;
/// How many cases are explained in a file with more cases than that, without `--all`.
const CASES_EXPLAINED_MAX: u64 = 20;
/// Width of the name column at most; a longer name makes its line longer.
const NAME_WIDTH_MAX: usize = 48;

/// Where the table goes.
pub(super) trait Output {
    /// Shows `text`.
    fn show(&mut self, text: &str) -> Result<(), Error>;
}

/// How marks are listed.
#[derive(Clone, Copy)]
pub(super) struct Style {
    ink: Ink,
    name_width: usize,
    /// Whether every case that is not right is explained (`--all`).
    all: bool,
}

/// A tally in words, without its zeros: `12 cases: 10 correct, 2 wrong`.
pub(super) fn summary(tally: &Tally) -> String {
    let cases = tally.cases();
    let mut words = counted(cases, "case");
    let mut between = ": ";
    for verdict in Verdict::ALL.into_iter().filter(|verdict| tally.of(*verdict) > 0) {
        words.push_str(&format!("{between}{} {verdict}", tally.of(verdict)));
        between = ", ";
    }
    if tally.of(Verdict::Counted) > 0 {
        words.push_str(&format!(" ({} filled)", counted(tally.filled, "cell")));
    }
    words
}

/// The columns of a line, as text.
struct Line<'a> {
    name: &'a str,
    case: &'a str,
    kind: Option<Kind>,
    verdict: Option<Verdict>,
    answer: &'a str,
    faults: &'a str,
    note: &'a str,
}

impl Style {
    /// A style for submissions with these names.
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>, all: bool, ink: Ink) -> Style {
        let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
        Style { ink, name_width: longest.clamp("submission".len(), NAME_WIDTH_MAX), all }
    }

    /// The header of the table.
    pub(super) fn head(&self) -> String {
        let width = self.name_width;
        format!("{:<width$}  {:>7}  kind      verdict     answer  faults\n", "submission", "case")
    }

    fn line(&self, line: &Line<'_>) -> String {
        let width = self.name_width;
        let kind = line.kind.map_or("-", Kind::word);
        let verdict = line.verdict.map_or(String::new(), |verdict| {
            self.ink.verdict(verdict, &format!("{:<10}", verdict.word()))
        });
        let Line { name, case, answer, faults, note, .. } = line;
        let text = match line.verdict {
            None => format!("{name:<width$}  {case:>7}  {kind:<8}  {note}"),
            Some(_) => format!(
                "{name:<width$}  {case:>7}  {kind:<8}  {verdict}  {answer:<6}  {faults:>6}  {note}"
            ),
        };
        text.trim_end().to_owned() + "\n"
    }
}

/// The part of the table for one submission, as it grows.
pub(super) struct Listing<'a> {
    style: Style,
    name: &'a str,
    kind: Option<Kind>,
    tally: Tally,
    /// The first cases, until it is known whether there are too many to list: whether each is right,
    /// and its text.
    first: Vec<(bool, String)>,
    explained: u64,
    unexplained: u64,
}

impl<'a> Listing<'a> {
    pub(super) fn new(style: Style, name: &'a str) -> Listing<'a> {
        Listing {
            style,
            name,
            kind: None,
            tally: Tally::default(),
            first: Vec::new(),
            explained: 0,
            unexplained: 0,
        }
    }

    /// How many cases there were so far.
    pub(super) fn cases(&self) -> u64 {
        self.tally.cases()
    }

    /// Adds the next case.
    pub(super) fn case(
        &mut self,
        chunk: &Chunk<'_>,
        case: &Case,
        mark: &Mark,
        output: &mut impl Output,
    ) -> Result<(), Error> {
        self.add(chunk.kind, mark, output, |ink| match mark {
            Mark::Correct | Mark::Counted(_) => String::new(),
            Mark::Wrong(faults) => draw(chunk, case, faults, ink) + &sentences(faults),
            Mark::Unreadable(why) => {
                let (text, first_line) = chunk.text_from(case, why.line);
                let line = draw::offending_line(text, first_line, why);
                format!("{why}\n{}", line.unwrap_or_default())
            }
        })
    }

    /// Adds the next entry for a registered puzzle.
    pub(super) fn entry(
        &mut self,
        against: &Against,
        entry: &Entry,
        output: &mut impl Output,
    ) -> Result<(), Error> {
        let puzzle = against.puzzle();
        self.add(Some(puzzle.kind()), &entry.mark, output, |ink| {
            match (&entry.mark, &entry.digits) {
                (Mark::Correct | Mark::Counted(_), _) => String::new(),
                (Mark::Unreadable(why), _) => format!("{why}\n"),
                (Mark::Wrong(faults), None) => sentences(faults),
                (Mark::Wrong(faults), Some(digits)) => {
                    let Compared { blank_cells, wrong_cells, .. } = against.compare(digits);
                    let wrong = wrong_cells.filter(|wrong| *wrong > 0);
                    let wrong = wrong.map(|wrong| {
                        format!("not as in the solution: {}\n", counted(wrong, "cell"))
                    });
                    let blank = (blank_cells > 0)
                        .then(|| format!("to be filled still: {}\n", counted(blank_cells, "cell")));
                    let drawn = draw::entry(puzzle, digits, faults, ink);
                    drawn
                        + &sentences(faults)
                        + &blank.unwrap_or_default()
                        + &wrong.unwrap_or_default()
                }
            }
        })
    }

    /// Adds a case; `explain` says what is wrong with it.
    fn add(
        &mut self,
        kind: Option<Kind>,
        mark: &Mark,
        output: &mut impl Output,
        explain: impl Fn(Ink) -> String,
    ) -> Result<(), Error> {
        self.kind = kind;
        self.tally.count(mark);
        let right = matches!(mark.verdict(), Verdict::Correct | Verdict::Counted);
        if self.tally.cases() <= CASES_LISTED_MAX {
            self.first.push((right, self.describe(mark, &explain)));
            return Ok(());
        }
        for (right, text) in self.first.drain(..) {
            if !right {
                self.explained += 1;
                output.show(&text)?;
            }
        }
        if right {
            return Ok(());
        }
        if self.style.all || self.explained < CASES_EXPLAINED_MAX {
            self.explained += 1;
            output.show(&self.describe(mark, &explain))
        } else {
            self.unexplained += 1;
            Ok(())
        }
    }

    /// Shows what is still pending and returns the tally.
    pub(super) fn end(self, output: &mut impl Output) -> Result<Tally, Error> {
        for (_, text) in &self.first {
            output.show(text)?;
        }
        if self.unexplained > 0 {
            let more = self.unexplained;
            output
                .show(&format!("    and {more} more that are not right; --all shows them\n\n"))?;
        }
        if self.tally.cases() > CASES_LISTED_MAX {
            output.show(&self.style.line(&Line {
                name: self.name,
                case: "all",
                kind: self.kind,
                verdict: None,
                answer: "",
                faults: "",
                note: &summary(&self.tally),
            }))?;
        }
        Ok(self.tally)
    }

    /// The line of one case and its explanation.
    fn describe(&self, mark: &Mark, explain: &impl Fn(Ink) -> String) -> String {
        let answer = match (mark, self.kind) {
            (Mark::Unreadable(_), _) | (_, None) => "-".into(),
            (_, Some(kind)) => mark.answer(kind),
        };
        let faults = match mark {
            Mark::Wrong(faults) => faults.len().to_string(),
            Mark::Correct => "0".into(),
            Mark::Counted(_) | Mark::Unreadable(_) => "-".into(),
        };
        let note = if let Mark::Counted(_) = mark { mark.detail() } else { String::new() };
        let mut text = self.style.line(&Line {
            name: self.name,
            case: &self.tally.cases().to_string(),
            kind: self.kind,
            verdict: Some(mark.verdict()),
            answer: &answer,
            faults: &faults,
            note: &note,
        });
        if let Mark::Correct | Mark::Counted(_) = mark {
            return text;
        }
        let explained = explain(self.style.ink);
        text.push('\n');
        for line in explained.lines() {
            text.push_str("    ");
            text.push_str(line);
            text.push('\n');
        }
        text.push('\n');
        text
    }
}

/// The grid of a case with the wrong cells marked.
fn draw(chunk: &Chunk<'_>, case: &Case, faults: &[Fault], ink: Ink) -> String {
    match &case.text {
        CaseText::Classic { .. } => {
            let solution = classic::solution(chunk.text(case));
            let bad = draw::bad_cells(faults, &solution.cells, None);
            draw::classic(&solution, &bad, ink)
        }
        CaseText::Killer => match killer::diagram(chunk.text(case), case.line) {
            Ok(diagram) => {
                let cages = Some(&diagram.cage_of);
                draw::killer(&diagram, &draw::bad_cells(faults, &diagram.cells, cages), ink)
            }
            Err(why) => why.to_string() + "\n",
        },
        CaseText::Hexudoku | CaseText::Unreadable(_) => String::new(),
    }
}

/// Every fault in words, a line each.
fn sentences(faults: &[Fault]) -> String {
    in_words(faults).map(|sentence| format!("{sentence}\n")).collect()
}
