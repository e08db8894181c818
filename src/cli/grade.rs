//! `gridmark grade`: marks files without the service and explains the marks on the terminal.

use super::chunks::Chunks;
use super::draw::Ink;
use super::listing::{Listing, Output, Style, summary};
use super::puzzle::Reading;
use super::screen::Screen;
use super::table::Table;
use super::target::ServiceArgs;
use super::walk::{self, Found, Submission};
use super::{Error, print_error};
use crate::model::marking::limits;
use crate::model::rows::CaseRows;
use crate::model::submission::Tally;
use crate::model::{escape, named};
use crate::puzzle::certify::{Certificate, certify};
use gridmark_core::board::{Mark, Verdict};
use gridmark_core::format::kind_by_name;
use gridmark_core::judge::{Against, Judge, Tier};
use gridmark_core::puzzle::{Solutions, Task};
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The arguments of `gridmark grade`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Files are graded by the settings of the service, whether it runs or not. A file in its archive or its
quarantine has the name and the attempt in the rows that it has in the service's reports; any other
file has its path for a name, and is attempt 1.

Exit code: 0 if all is right, 1 if something is wrong or unreadable, 2 if something could not be graded.")]
pub struct Args {
    /// Files, or folders of files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write a row per case to this new file, as in the service's reports; - is standard output, which
    /// then holds nothing else
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Explain every case that is not right, however many there are in a file
    #[arg(long)]
    all: bool,
    /// Judge entries for this puzzle: FILE#3 is the third of a file. A file may hold many entries
    #[arg(long, value_name = "FILE")]
    puzzle: Option<PathBuf>,
    /// An entry for the puzzle is one number: how many cells Lazy Larry fills
    #[arg(long, requires = "puzzle")]
    larry: bool,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    service: ServiceArgs,
}

/// How long the only solution of the puzzle is looked for, so that wrong cells can be counted.
const PROOF_TIME_MAX: Duration = Duration::from_secs(2);

/// How many files that are left alone are named.
const IGNORED_NAMED_MAX: usize = 3;

/// The largest file of entries for a puzzle, in bytes: it is held in memory.
const ENTRY_BYTES_MAX: u64 = 64 << 20;

/// The exit code if something is wrong or unreadable.
const NOT_RIGHT: u8 = 1;
/// The exit code if something could not be graded.
const NOT_GRADED: u8 = 2;

/// Shows the mark of each case and explains those that are not right.
///
/// The exit code is 0 if all are right, 1 if some are not, and 2 if a file could not be graded,
/// there was none, or the marks could not be written; standard error says which.
///
/// # Errors
///
/// The reader of standard output is gone.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    match grade_all(&args) {
        Err(error) if !error.is_closed_pipe() => {
            print_error(&error.with_causes());
            Ok(ExitCode::from(NOT_GRADED))
        }
        result => result,
    }
}

impl Args {
    /// The puzzle that entries are judged by, if there is one, with its solution if that is the only one.
    fn against(&self) -> Result<Option<Against>, Error> {
        let Some(file) = &self.puzzle else { return Ok(None) };
        let mut puzzle = self.reading.one(file)?;
        let usage = |why: gridmark_core::puzzle::Invalid| {
            Error::Usage(format!("{}: {why}", escape::path(file)))
        };
        if self.larry {
            puzzle = puzzle.with_task(Task::Larry).map_err(usage)?;
        } else if puzzle.keys().is_empty()
            && let Ok(Certificate { solutions: Some(Solutions::One(only)), .. }) =
                certify(&puzzle, PROOF_TIME_MAX)
        {
            puzzle = puzzle.with_key(&only).map_err(usage)?;
        }
        Ok(Some(Against::new(puzzle)))
    }
}

fn grade_all(args: &Args) -> Result<ExitCode, Error> {
    let settings = args.service.settings()?;
    let Found { files: submissions, ignored, errors } = walk::submissions(&args.paths, &settings)?;
    let mut trouble = !errors.is_empty();
    errors.iter().for_each(|error| print_error(&error.with_causes()));
    print_ignored(&ignored);
    if submissions.is_empty() {
        if !trouble {
            print_error("there is no file to grade");
        }
        return Ok(ExitCode::from(NOT_GRADED));
    }

    let names = submissions.iter().map(|submission| escape::path(&submission.path).to_string());
    let names = names.collect::<Vec<_>>();
    let style = Style::new(names.iter().map(String::as_str), args.all, Ink::of_stdout());
    let bom = settings.publish.csv_bom;
    let table = args.csv.as_deref().map(|path| Table::create(path, bom)).transpose()?;
    let shows = !table.as_ref().is_some_and(Table::is_on_stdout);
    let bytes = submissions.iter().map(|submission| submission.bytes).sum();
    let screen = Screen::new(bytes, shows);
    let tier = Tier::from_setting(&settings.grade.tier).map_err(crate::service::Error::from)?;
    let against = args.against()?;
    let mut grading =
        Grading { judge: Judge::new(tier), against, marks: Vec::new(), screen, table };
    grading.screen.show(&style.head())?;
    let mut total = Tally::default();
    for (submission, name) in submissions.iter().zip(&names) {
        match grading.grade(submission, Listing::new(style, name)) {
            Ok(tally) => total.add(&tally),
            // An error in one file does not keep the others from being graded.
            Err(error) if error.concerns(&submission.path) => {
                trouble = true;
                grading.screen.suspend(|| print_error(&error.with_causes()))?;
            }
            Err(error) => return Err(error),
        }
    }
    if submissions.len() > 1 {
        let total = summary(&total);
        grading.screen.show(&format!("\n{} files, {total}\n", submissions.len()))?;
    }
    grading.end()?;
    let not_right = total.of(Verdict::Wrong) + total.of(Verdict::Unreadable) > 0;
    Ok(match (trouble, not_right) {
        (true, _) => ExitCode::from(NOT_GRADED),
        (false, true) => ExitCode::from(NOT_RIGHT),
        (false, false) => ExitCode::SUCCESS,
    })
}

/// Names files that were left alone, since one of them may be meant.
fn print_ignored(ignored: &[PathBuf]) {
    if ignored.is_empty() {
        return;
    }
    let named = ignored.iter().take(IGNORED_NAMED_MAX).map(|path| escape::path(path).to_string());
    let named = named.collect::<Vec<_>>().join(", ");
    let more = match ignored.len().saturating_sub(IGNORED_NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    print_error(&format!("left alone, by intake.ignored: {named}{more}"));
}

/// The state of a run: how files are graded and where their marks go.
struct Grading {
    judge: Judge,
    /// The puzzle that entries are judged by, if there is one.
    against: Option<Against>,
    marks: Vec<Mark>,
    screen: Screen,
    table: Option<Table>,
}

impl Grading {
    fn grade(&mut self, submission: &Submission, listing: Listing<'_>) -> Result<Tally, Error> {
        match self.against.take() {
            None => self.grade_cases(submission, listing),
            Some(against) => {
                let tally = self.grade_entries(&against, submission, listing);
                self.against = Some(against);
                tally
            }
        }
    }

    /// Judges the entries of a file.
    fn grade_entries(
        &mut self,
        against: &Against,
        submission: &Submission,
        mut listing: Listing<'_>,
    ) -> Result<Tally, Error> {
        let Submission { path, name, attempt, rules, bytes } = submission;
        if *bytes > ENTRY_BYTES_MAX {
            let message =
                format!("it has {bytes} bytes; a file of entries has at most {ENTRY_BYTES_MAX}");
            return Err(Error::io("read", path)(io::Error::other(message)));
        }
        let mut text = Vec::new();
        let file = named::open_regular(path).map_err(Error::io("read", path))?;
        file.take(ENTRY_BYTES_MAX).read_to_end(&mut text).map_err(Error::io("read", path))?;
        let rows = CaseRows::new(name, *attempt, rules.neutralise_formulas);
        let kind = against.puzzle().kind();
        for entry in against.entries(&text, limits(rules)) {
            listing.entry(against, &entry, &mut self.screen)?;
            if let Some(table) = &mut self.table {
                table.append(&rows, listing.cases(), Some(kind), &entry.mark)?;
            }
        }
        self.screen.advance(*bytes);
        listing.end(&mut self.screen)
    }

    /// Judges a file by what it says itself.
    fn grade_cases(
        &mut self,
        submission: &Submission,
        mut listing: Listing<'_>,
    ) -> Result<Tally, Error> {
        let path = &submission.path;
        let file = named::open_regular(path).map_err(Error::io("read", path))?;
        let Submission { name, attempt, rules, .. } = submission;
        let forced = kind_by_name(name.as_bytes());
        let rows = CaseRows::new(name, *attempt, rules.neutralise_formulas);
        let mut chunks = Chunks::new(path, file, forced, limits(rules));
        let mut offset = 0;
        while let Some(chunk) = chunks.next()? {
            chunk.mark(self.judge, &mut self.marks);
            for (case, mark) in chunk.cases().iter().zip(&self.marks) {
                listing.case(&chunk, case, mark, &mut self.screen)?;
                if let Some(table) = &mut self.table {
                    table.append(&rows, listing.cases(), chunk.kind, mark)?;
                }
            }
            self.screen.advance(chunk.offset - offset);
            offset = chunk.offset;
        }
        listing.end(&mut self.screen)
    }

    /// Writes what is still buffered.
    fn end(mut self) -> Result<(), Error> {
        if let Some(table) = &mut self.table {
            table.flush()?;
        }
        self.screen.end()
    }
}
