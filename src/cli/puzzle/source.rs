//! Files of puzzles, as commands name them.

use super::super::Error;
use crate::model::{escape, named};
use crate::puzzle::{Limits, read};
use gridmark_core::Kind;
use gridmark_core::format::kind_by_name;
use gridmark_core::puzzle::text::Listed;
use gridmark_core::puzzle::{Alphabet, Puzzle, UnknownAlphabet};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// How files of puzzles are read.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(in crate::cli) struct Reading {
    /// How the digits of 16x16 puzzles are written: 0-F, 1-G, A-P or 1-16 [default: 0-F in files
    /// named .hexudoku, else as it follows from the digits]
    #[arg(long, value_name = "ALPHABET", value_parser = alphabet)]
    alphabet: Option<Alphabet>,
    /// Refuse files larger than this
    #[arg(long, value_name = "N", default_value_t = Limits::default().file_bytes_max)]
    file_bytes_max: usize,
}

fn alphabet(word: &str) -> Result<Alphabet, UnknownAlphabet> {
    word.parse()
}

/// A puzzle of a file.
pub(in crate::cli) struct Source {
    /// The file.
    pub path: PathBuf,
    /// Which puzzle of the file it is, from 1.
    pub number: usize,
    /// The puzzle.
    pub listed: Listed,
}

impl Source {
    /// The file and the number of the puzzle in it, as people may name it: `set.sdm#3`.
    pub(in crate::cli) fn name(&self) -> String {
        format!("{}#{}", escape::path(&self.path), self.number)
    }
}

impl Reading {
    /// The puzzles of `file`, or one of them: `set.sdm#3` is the third of `set.sdm`, unless a file
    /// has that name. `-` is standard input.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not understood, or has no puzzle of that number.
    pub(in crate::cli) fn open(self, file: &Path) -> Result<Vec<Source>, Error> {
        let (path, number) = numbered(file);
        let named = kind_by_name(path.as_os_str().as_bytes()) == Some(Kind::Hexudoku);
        let alphabet = self.alphabet.or(named.then_some(Alphabet::ZeroToF));
        let limits = Limits { file_bytes_max: self.file_bytes_max, ..Limits::default() };
        let bytes = self.bytes(&path).map_err(Error::io("read", &path))?;
        let listed = read(&bytes, alphabet, limits)
            .map_err(|source| Error::Puzzle { path: path.clone(), source })?;
        let found = listed.len();
        let mut sources =
            (1..).zip(listed).map(|(number, listed)| Source { path: path.clone(), number, listed });
        match number {
            None => Ok(sources.collect()),
            Some(number) => match sources.nth(number - 1) {
                Some(source) => Ok(vec![source]),
                None => Err(Error::Usage(format!(
                    "{}: no puzzle {number}, there are {found}",
                    escape::path(&path)
                ))),
            },
        }
    }

    /// The only puzzle of `file`, or the one that it names.
    ///
    /// # Errors
    ///
    /// As [`open`](Reading::open), or the file holds several.
    pub(in crate::cli) fn one(self, file: &Path) -> Result<Puzzle, Error> {
        let mut sources = self.open(file)?;
        if sources.len() != 1 {
            let (shown, count) = (escape::path(file), sources.len());
            return Err(Error::Usage(format!(
                "{shown} holds {count} puzzles: say which, as in {shown}#1"
            )));
        }
        Ok(sources.remove(0).listed.puzzle)
    }

    /// The bytes of a file, or of standard input; one more than the limit at most.
    fn bytes(self, path: &Path) -> io::Result<Vec<u8>> {
        let most = (self.file_bytes_max as u64).saturating_add(1);
        let mut bytes = Vec::new();
        if path == Path::new("-") {
            io::stdin().lock().take(most).read_to_end(&mut bytes)?;
        } else {
            named::open(path)?.take(most).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }
}

/// The path of a file, and the number behind `#` if there is no file of the whole name.
fn numbered(file: &Path) -> (PathBuf, Option<usize>) {
    let split = || {
        let name = file.as_os_str().as_bytes();
        let hash = name.iter().rposition(|byte| *byte == b'#')?;
        let number = std::str::from_utf8(&name[hash + 1..]).ok()?.parse().ok()?;
        (number > 0 && !file.exists()).then(|| (OsStr::from_bytes(&name[..hash]).into(), number))
    };
    match split() {
        Some((path, number)) => (path, Some(number)),
        None => (file.to_owned(), None),
    }
}
