//! `gridmark event init`: an event folder to begin with.

use super::super::Error;
use crate::model::escape;
use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `gridmark event init`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The folder is a working example with comments, puzzles included: change it, and check it with
  gridmark event check DIR

Others than its owner and group cannot read it, since it holds puzzles and solutions.")]
pub struct Args {
    /// The folder to create, with those above it that are missing; it must not exist, or be empty
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// The example, by paths.
macro_rules! example {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../config/event/", $path)))),*]
    };
}

/// The files of the example.
const FILES: &[(&str, &str)] = example![
    "event.toml",
    "policies.toml",
    "entrants.csv",
    "rounds/r1/round.toml",
    "rounds/r1/classics.sdm",
    "rounds/r1/p3.killer",
    "rounds/r2/round.toml",
    "rounds/r2/times.csv",
    "rounds/r2/p1.hexudoku",
    "rounds/r2/p2.hexudoku",
];

/// Creates the folder.
///
/// # Errors
///
/// It holds something already, or cannot be written.
pub(super) fn run(args: &Args) -> Result<ExitCode, Error> {
    let folder = &args.folder;
    match std::fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                let folder = escape::path(folder);
                return Err(Error::Usage(format!("{folder} is not empty; name a new folder")));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("read", folder)(error)),
    }
    for (path, text) in FILES {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        create_folders(parent).map_err(Error::io("create", parent))?;
        let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(Error::io("write", &path))?;
    }
    let shown = escape::path(folder);
    writeln!(io::stdout(), "{shown}: created; check it with: gridmark event check {shown}")
        .map_err(Error::Output)?;
    Ok(ExitCode::SUCCESS)
}

fn create_folders(folder: &Path) -> io::Result<()> {
    /// For the owner, and for the group to read.
    const MODE: u32 = 0o750;
    DirBuilder::new().recursive(true).mode(MODE).create(folder)
}
