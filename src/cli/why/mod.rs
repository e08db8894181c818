//! `gridmark why`: why a file has not been graded, or how it was graded.

mod fault;
mod inbox;
mod service;
mod similar;
mod words;

use super::target::{ServiceArgs, Target, open_ledger};
use super::{Error, print_error};
use crate::config::Settings;
use crate::model::escape;
use crate::model::submission::{Name, Status};
use crate::service::http::Question;
use crate::store::ledger::{Ledger, Record};
use inbox::Found;
use service::Service;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use words::Words;

/// The exit code if it has not been graded, or not yet.
const NOT_GRADED: u8 = 1;
/// The exit code if that cannot be found out.
const UNKNOWN: u8 = 2;

/// The arguments of `gridmark why`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The first line is the answer; the lines below it give the evidence. It works whether the service
runs or not, for every user who may read its folders.

Exit code: 0 if it has been graded, 1 if not or not yet, 2 if that cannot be found out.")]
pub struct Args {
    /// A path in the inbox, the archive or quarantine, or a submission's name as reports show it, in the
    /// column `submission` or `archived_as`
    #[arg(value_name = "PATH")]
    path: PathBuf,
    #[command(flatten)]
    service: ServiceArgs,
}

/// The answer: its exit code and its lines.
struct Answer {
    code: u8,
    lines: Vec<String>,
}

impl Answer {
    fn not_graded(first: String) -> Answer {
        Answer { code: NOT_GRADED, lines: vec![first] }
    }

    fn add(&mut self, line: String) {
        self.lines.push(format!("  {line}"));
    }
}

/// Prints the answer.
///
/// # Errors
///
/// The settings are wrong, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let settings = args.service.settings()?;
    let answered = open_ledger(&settings.paths)
        .and_then(|ledger| Query { settings: &settings, ledger }.answer(&args.path));
    match answered {
        Ok(Answer { code, lines }) => {
            let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            io::stdout().write_all(text.as_bytes()).map_err(Error::Output)?;
            Ok(ExitCode::from(code))
        }
        Err(error) => {
            print_error(&error.with_causes());
            Ok(ExitCode::from(UNKNOWN))
        }
    }
}

/// The sources of the answer.
struct Query<'a> {
    settings: &'a Settings,
    ledger: Option<Ledger>,
}

impl Query<'_> {
    fn answer(&self, typed: &Path) -> Result<Answer, Error> {
        let shown = escape::path(typed);
        match Target::resolve(&self.settings.paths, typed) {
            Target::Inbox(name) => self.about(&name),
            Target::Named(names) => {
                // The name of one file may look like the escaped name of another, or like the name of a
                // later attempt in the archive.
                let mut answers = Vec::new();
                for name in &names {
                    let is_there = !matches!(self.find(name), Ok(Found::Nothing));
                    if is_there || !self.attempts(name)?.is_empty() {
                        answers.push(self.about(name)?);
                    }
                    if let Some(record) = self.archived_under_other_name(name)? {
                        let attempts = self.attempts(&record.claimed.name)?;
                        answers.push(self.about_attempt(&record, &attempts)?);
                    }
                }
                let all = answers.into_iter().reduce(|mut all, other| {
                    all.code = all.code.max(other.code);
                    all.lines.extend(other.lines);
                    all
                });
                all.map_or_else(|| self.about(&names[0]), Ok)
            }
            Target::Archive(place) => self.about_place(&place, "the archive", false),
            Target::Quarantine(place) => self.about_place(&place, "quarantine", true),
            Target::WholeFolder => {
                Err(Error::Usage(format!("{shown} is the whole folder; name a file in it")))
            }
            Target::Elsewhere => {
                let paths = &self.settings.paths;
                let folders = [paths.inbox(), paths.archive(), paths.quarantine()];
                let folders = folders.map(|folder| escape::path(&folder).to_string());
                Err(Error::Usage(format!(
                    "{shown} is neither in {}; say with --root or --config where the service works",
                    folders.join(" nor in ")
                )))
            }
        }
    }

    fn find(&self, name: &Name) -> io::Result<Found> {
        inbox::find(&self.settings.paths, &self.settings.intake, name)
    }

    fn attempts(&self, name: &Name) -> Result<Vec<Record>, Error> {
        self.records(|ledger| ledger.records().of_name(name))
    }

    fn records(
        &self,
        read: impl FnOnce(&Ledger) -> Result<Vec<Record>, crate::store::ledger::Error>,
    ) -> Result<Vec<Record>, Error> {
        let records = self.ledger.as_ref().map(read).transpose();
        Ok(records.map_err(crate::service::Error::from)?.unwrap_or_default())
    }

    /// The last submission that is called so in the archive or in quarantine, and is not called so itself.
    fn archived_under_other_name(&self, place: &Name) -> Result<Option<Record>, Error> {
        // Only such names differ from those of submissions.
        if !place.as_bytes().contains(&b'~') {
            return Ok(None);
        }
        let records = self.records(|ledger| ledger.records().of_archived(place))?;
        Ok(records.into_iter().rev().find(|record| record.claimed.name != *place))
    }

    /// The answer about the file at this path in the archive or in quarantine.
    fn about_place(&self, place: &Name, folder: &str, failed: bool) -> Result<Answer, Error> {
        let records = self.records(|ledger| ledger.records().of_archived(place))?;
        let is_failed = |record: &Record| {
            record.finished.as_ref().is_some_and(|done| done.status == Status::Failed)
        };
        match records.into_iter().rev().find(|record| is_failed(record) == failed) {
            Some(record) => {
                let attempts = self.attempts(&record.claimed.name)?;
                self.about_attempt(&record, &attempts)
            }
            None => {
                let first = format!("{place}: not known");
                let mut answer = Answer::not_graded(first);
                answer.add(format!("no submission was stored under that name in {folder}"));
                self.add_similar(&mut answer, place)?;
                Ok(answer)
            }
        }
    }

    /// The answer about a submission by its name: about its file in the inbox, if there is one, or
    /// else about its last attempt.
    fn about(&self, name: &Name) -> Result<Answer, Error> {
        // In this order, a file that is taken in between is found in the ledger.
        let found = self
            .find(name)
            .map_err(Error::io("look at", &self.settings.paths.inbox().join(name.as_path())))?;
        let attempts = self.attempts(name)?;
        let answer = match found {
            Found::Nothing => match attempts.last() {
                Some(last) => return self.about_attempt(last, &attempts),
                None => self.never_seen(name)?,
            },
            Found::Folder => {
                let first = format!("{name}: is a folder; the files in it are submissions");
                Answer::not_graded(first)
            }
            Found::Ignored(why) => {
                let mut answer = Answer::not_graded(format!("{name}: left alone, because {why}"));
                answer.add("it stays in the inbox".to_owned());
                answer
            }
            Found::Forbidden(why) => {
                Answer::not_graded(format!("{name}: not taken, because {why}"))
            }
            Found::File { bytes, unchanged_for } => {
                let question = Question { name: name.as_bytes().to_vec(), ids: Vec::new() };
                let service = Service::ask(&self.settings.paths, &question);
                self.words().waiting(name, bytes, unchanged_for, &service)
            }
        };
        Ok(self.with_attempts(answer, &attempts))
    }

    fn never_seen(&self, name: &Name) -> Result<Answer, Error> {
        let mut answer = Answer::not_graded(format!("{name}: never seen"));
        let inbox = self.settings.paths.inbox();
        answer.add(format!("no such file is in the inbox {}", escape::path(&inbox)));
        let state = self.settings.paths.state();
        answer.add(match self.ledger {
            Some(_) => "no submission of that name is in the ledger".to_owned(),
            None => {
                format!("no service has run here: there is no ledger in {}", escape::path(&state))
            }
        });
        self.add_similar(&mut answer, name)?;
        Ok(answer)
    }

    /// Adds names that may have been meant.
    fn add_similar(&self, answer: &mut Answer, name: &Name) -> Result<(), Error> {
        let similar = similar::similar(&self.settings.paths, self.ledger.as_ref(), name);
        let similar = similar.map_err(crate::service::Error::from)?;
        if !similar.is_empty() {
            answer.add(format!("similar names: {}", similar.join(", ")));
        }
        Ok(())
    }

    /// The answer about one attempt, and the others of that name.
    fn about_attempt(&self, record: &Record, attempts: &[Record]) -> Result<Answer, Error> {
        let words = self.words();
        if let Some(done) = &record.finished {
            let answer = words.finished(record, done);
            return Ok(self.with_attempts(answer, attempts));
        }
        let name = &record.claimed.name;
        let question = Question { name: name.as_bytes().to_vec(), ids: vec![record.claimed.id] };
        let service = Service::ask(&self.settings.paths, &question);
        // It may have been committed in the meantime.
        let attempts = self.attempts(name)?;
        let now = attempts.iter().find(|now| now.claimed.id == record.claimed.id);
        let answer = match now.and_then(|now| Some((now, now.finished.as_ref()?))) {
            Some((now, done)) => words.finished(now, done),
            None if now.is_some() => words.taken(record, &service),
            // Its claim was released: it is back in the inbox, or gone.
            None => return self.about(name),
        };
        Ok(self.with_attempts(answer, &attempts))
    }

    /// Adds all attempts, in their order.
    fn with_attempts(&self, mut answer: Answer, attempts: &[Record]) -> Answer {
        for attempt in attempts {
            answer.add(self.words().attempt(attempt));
        }
        answer
    }

    fn words(&self) -> Words<'_> {
        Words { settings: self.settings, ledger: self.ledger.as_ref() }
    }
}
