//! `gridmark generate`: cases whose right answers are known.

use super::Error;
use super::puzzle::Reading;
use crate::model::escape;
use crate::puzzle::certify::{Certificate, certify, prove};
use gridmark_core::Kind;
use gridmark_core::generate::{Entries, Generator, Layout, Options, Puzzles};
use gridmark_core::puzzle::text::{self, Format};
use gridmark_core::puzzle::{Puzzle, Solutions};
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// About how many cases are generated per write.
const CASES_PER_WRITE: u64 = 512;
/// How many solutions a classic block has by default.
const SOLUTIONS_PER_BLOCK: u32 = 10;
/// How many steps the proof of a puzzle may take; then one more cell is given. Counted, not timed, so
/// that a seed gives the same puzzles on a slower machine. Most proofs take some hundred.
const PROOF_STEPS_MAX: u32 = 20_000;
/// How long the proof of a puzzle may take for which entries are made.
const PROOF_TIME_MAX: Duration = Duration::from_secs(10);

/// The arguments of `gridmark generate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For example, 600 killer diagrams, a tenth of them wrong, as 60 files in 6 folders, with the right
answers in a folder of their own:
  gridmark generate killer --cases 600 --faulty 0.1 --files 60 --folders 6 --into work --answers answers

With --puzzle it makes puzzles with exactly one solution: a line each (classic), drawings with blank
cells (killer), or boards of 16 rows (hexudoku). Their answers are the solutions.

With --for it makes entries for a puzzle with exactly one solution, in a layout of your choice. Their
answers are correct, wrong or foreign-puzzle; `gridmark grade --puzzle` judges them:
  gridmark generate classic --for puzzle.sdk --cases 20 --faulty 0.5 --layout framed

Existing files are never overwritten.")]
pub struct Args {
    /// The kind of puzzle
    #[arg(value_parser = super::kinds())]
    kind: Kind,
    /// How many cases: diagrams, solutions or boards; with --puzzle, puzzles
    #[arg(long, value_name = "N")]
    cases: u64,
    /// The share of wrong cases, from 0 to 1; for hexudoku without --for, of boards that start with conflicts
    #[arg(long, value_name = "RATIO", default_value_t = 0.0, value_parser = ratio)]
    faulty: f64,
    /// The same seed gives the same bytes
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Make puzzles with exactly one solution, not work to grade
    #[arg(long, conflicts_with_all = ["faulty", "solutions_per_block"])]
    puzzle: bool,
    /// Make entries for this puzzle: FILE#3 is the third of a file
    #[arg(long = "for", value_name = "FILE", conflicts_with_all = ["puzzle", "solutions_per_block"])]
    of: Option<PathBuf>,
    /// How entries are written: own (as files of the kind), line, rows, spaced or framed
    #[arg(long, value_name = "LAYOUT", default_value = "own", requires = "of",
          value_parser = clap::value_parser!(Layout))]
    layout: Layout,
    #[command(flatten)]
    reading: Reading,
    /// How many solutions a classic block has [default: 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    solutions_per_block: Option<u32>,
    /// Spread the cases over this many files in the folder of --into
    #[arg(long, value_name = "N", requires = "into",
          value_parser = clap::value_parser!(u64).range(1..))]
    files: Option<u64>,
    /// Write files into this folder instead of one stream to standard output
    #[arg(long, value_name = "DIR", requires = "files")]
    into: Option<PathBuf>,
    /// Spread the files over this many folders in it
    #[arg(long, value_name = "N", requires = "into",
          value_parser = clap::value_parser!(u64).range(1..))]
    folders: Option<u64>,
    /// Write the right answers to this file; with --into, one file per input file into this folder
    #[arg(long, value_name = "PATH")]
    answers: Option<PathBuf>,
}

fn ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    ratio.ok_or_else(|| "expected a number from 0 to 1, such as 0.25".into())
}

/// Generates the cases.
///
/// # Errors
///
/// The arguments contradict each other, a file exists already, or something cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    check(&args)?;
    let solutions_per_block = args.solutions_per_block.unwrap_or(SOLUTIONS_PER_BLOCK);
    let options = Options { faulty: args.faulty, seed: args.seed, solutions_per_block };
    let writes = (CASES_PER_WRITE / u64::from(solutions_per_block)).max(1);
    let (source, cases_per_write) = match &args.of {
        Some(file) => (Source::Entries(entries(&args, file, &options)?), CASES_PER_WRITE),
        None if args.puzzle => (Source::Puzzles(Puzzles::new(args.kind, args.seed)), 1),
        None => (
            Source::Cases(Generator::new(args.kind, options)),
            writes * u64::from(solutions_per_block),
        ),
    };
    let mut work = Work { source, cases_per_write, text: Vec::new(), answers: Vec::new() };
    match (&args.into, args.files) {
        (Some(into), Some(files)) => write_files(&args, into, files, &mut work)?,
        _ => {
            let mut answers = args.answers.as_deref().map(NewFile::create).transpose()?;
            let mut stdout = io::stdout().lock();
            work.write(args.cases, answers.as_mut(), |text| {
                stdout.write_all(text).map_err(Error::Output)
            })?;
            stdout.flush().map_err(Error::Output)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Entries for a puzzle, whose only solution is found first.
fn entries(args: &Args, file: &Path, options: &Options) -> Result<Entries, Error> {
    let shown = escape::path(file);
    let usage = |message: String| Error::Usage(format!("{shown}: {message}"));
    let puzzle = args.reading.one(file)?;
    if puzzle.kind() != args.kind {
        return Err(usage(format!(
            "it is a puzzle of the kind {}, not {}",
            puzzle.kind(),
            args.kind
        )));
    }
    let Ok(Certificate { solutions: Some(Solutions::One(only)), .. }) =
        certify(&puzzle, PROOF_TIME_MAX)
    else {
        return Err(usage(
            "it has no one solution that can be proved; see `gridmark puzzle certify`".into(),
        ));
    };
    let puzzle = puzzle.with_key(&only).map_err(|why| usage(why.to_string()))?;
    Entries::new(puzzle, args.layout, options).map_err(|why| usage(why.to_string()))
}

/// Where the text comes from.
enum Source {
    Cases(Generator),
    Entries(Entries),
    Puzzles(Puzzles),
}

impl Source {
    /// Appends `cases` cases and their answers; `is_first` if nothing stands before them.
    fn append(&mut self, cases: u64, is_first: bool, text: &mut Vec<u8>, answers: &mut Vec<u8>) {
        match self {
            Source::Cases(generator) => generator.append(cases, text, answers),
            Source::Entries(entries) => entries.append(cases, text, answers),
            Source::Puzzles(puzzles) => {
                for number in 0..cases {
                    let is_first = is_first && number == 0;
                    append_puzzle(&puzzles.next(&mut prove_briefly), is_first, text, answers);
                }
            }
        }
    }
}

/// Counts solutions in a limited number of steps. Where the judges do not agree nothing is proved.
fn prove_briefly(puzzle: &Puzzle) -> Solutions {
    let steps = Cell::new(0);
    let stop = || steps.replace(steps.get() + 1) >= PROOF_STEPS_MAX;
    prove(puzzle, stop).unwrap_or(Solutions::Unproven(None))
}

/// Appends a puzzle as entrants get it, and its solution as a bare grid.
fn append_puzzle(puzzle: &Puzzle, is_first: bool, text: &mut Vec<u8>, answers: &mut Vec<u8>) {
    let append = |format, puzzle: Puzzle, to: &mut Vec<u8>| {
        if format != Format::Line && !is_first {
            to.push(b'\n');
        }
        let written = text::write(format, &[puzzle.into()]);
        to.extend(written.expect("the format is one for its kind").bytes());
    };
    let (format, bare) = match puzzle.kind() {
        Kind::Classic => (Format::Line, Format::Line),
        Kind::Killer => (Format::Killer, Format::Line),
        Kind::Hexudoku => (Format::Block, Format::Block),
    };
    append(format, puzzle.clone(), text);
    for key in puzzle.keys() {
        let solution = Puzzle::new(puzzle.alphabet(), key);
        append(bare, solution.expect("a key is a completed board"), answers);
    }
}

/// The source with its reused buffers.
struct Work {
    source: Source,
    cases_per_write: u64,
    text: Vec<u8>,
    answers: Vec<u8>,
}

impl Work {
    /// Writes `cases` cases, and their answers if `answers` is given.
    fn write(
        &mut self,
        cases: u64,
        mut answers: Option<&mut NewFile>,
        mut write_text: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut left = cases;
        while left > 0 {
            let now = left.min(self.cases_per_write);
            self.text.clear();
            self.answers.clear();
            self.source.append(now, left == cases, &mut self.text, &mut self.answers);
            write_text(&self.text)?;
            if let Some(file) = &mut answers {
                file.write(&self.answers)?;
            }
            left -= now;
        }
        Ok(())
    }
}

/// Refuses arguments that contradict each other, before anything is written.
fn check(args: &Args) -> Result<(), Error> {
    let usage = |message| Err(Error::Usage(message));
    if args.kind != Kind::Classic && args.solutions_per_block.is_some() {
        return usage(format!("--solutions-per-block is for classic, not for {}", args.kind));
    }
    // No file or folder may stay empty.
    if let Some(files) = args.files {
        if files > args.cases {
            return usage(format!("--files {files} is more than --cases {}", args.cases));
        }
        if let Some(folders) = args.folders.filter(|&folders| folders > files) {
            return usage(format!("--folders {folders} is more than --files {files}"));
        }
    }
    if let (Some(answers), Some(into)) = (&args.answers, &args.into)
        && answers.starts_with(into)
    {
        return usage(format!(
            "--answers {} lies in --into {}: answers must not be among submissions",
            escape::path(answers),
            escape::path(into)
        ));
    }
    Ok(())
}

fn write_files(args: &Args, into: &Path, files: u64, work: &mut Work) -> Result<(), Error> {
    let answers = args.answers.as_deref();
    for i in 0..files {
        let name = name_of(i, files, args.folders);
        let mut file = NewFile::create_below(into, &name)?;
        let mut answers = answers
            .map(|folder| NewFile::create_below(folder, &format!("{name}.out")))
            .transpose()?;
        let cases = args.cases / files + u64::from(i < args.cases % files);
        work.write(cases, answers.as_mut(), |text| file.write(text))?;
    }
    Ok(())
}

/// The path of file number `i`, counted from 0.
fn name_of(i: u64, files: u64, folders: Option<u64>) -> String {
    let Some(folders) = folders else {
        return format!("p{:0width$}.txt", i + 1, width = digits(files));
    };
    let (folder, place) = (i % folders, i / folders);
    format!(
        "team-{:0folder_width$}/p{:0width$}.txt",
        folder + 1,
        place + 1,
        folder_width = digits(folders),
        width = digits(files.div_ceil(folders)),
    )
}

/// How many digits numbers up to `most` are padded to.
fn digits(most: u64) -> usize {
    most.to_string().len().max(4)
}

/// A file that did not exist before.
struct NewFile {
    path: PathBuf,
    file: File,
}

impl NewFile {
    fn create(path: &Path) -> Result<NewFile, Error> {
        let file = File::create_new(path).map_err(Error::io("create", path))?;
        Ok(NewFile { path: path.to_owned(), file })
    }

    /// Creates a file below `folder`, with the folders that it needs.
    fn create_below(folder: &Path, name: &str) -> Result<NewFile, Error> {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        NewFile::create(&path)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(Error::io("write to", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn files_are_dealt_to_folders_round_robin() {
        assert_eq!(name_of(0, 3, None), "p0001.txt");
        assert_eq!(name_of(12_345, 50_000, None), "p12346.txt");
        let names = (0..5).map(|i| name_of(i, 5, Some(2))).collect::<Vec<_>>();
        assert_eq!(
            names,
            [
                "team-0001/p0001.txt",
                "team-0002/p0001.txt",
                "team-0001/p0002.txt",
                "team-0002/p0002.txt",
                "team-0001/p0003.txt"
            ]
        );
    }
}
