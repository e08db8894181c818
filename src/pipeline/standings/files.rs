//! The files of the event, for staff and for the public: written whole, beside their place, and renamed into it.

use crate::event::{Standings, outputs};
use crate::store::durable::sync_folder;
use crate::store::ledger::{self, Ledger};
use crate::store::owner::{give, make_folders};
use crate::store::path::beside;
use rustix::fs::stat;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Entrants whose entries are read from the ledger at a time.
const ENTRANTS_AT_A_TIME: usize = 256;

/// Why a file of the event is not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be written.
    #[error("cannot write {}", crate::model::escape::path(path))]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
}

/// Writes the files of an event.
pub struct Files {
    /// The folder for staff, and the one for the public.
    reports: PathBuf,
    public: PathBuf,
    /// The hash of what was written last, by path: what has not changed is not written again.
    written: HashMap<PathBuf, blake3::Hash>,
}

impl Files {
    /// Files in these folders, which are created once there is something to write.
    pub fn new(reports: PathBuf, public: PathBuf) -> Files {
        Files { reports, public, written: HashMap::new() }
    }

    /// Writes all files that are to be other ones now. The entries of rounds are written for those in `rounds`.
    ///
    /// # Errors
    ///
    /// One cannot be written; the others are, as far as possible.
    pub fn write(
        &mut self,
        standings: &Standings,
        ledger: &Ledger,
        rounds: impl IntoIterator<Item = usize>,
        now_ms: i64,
    ) -> Result<(), Error> {
        let mut first_error = None;
        let mut note = |result: Result<(), Error>| {
            if let Err(error) = result {
                first_error.get_or_insert(error);
            }
        };
        let event = standings.event();
        for (path, content) in self.contents(standings, now_ms) {
            note(match content {
                Some(bytes) => self.put(&path, &bytes),
                None => self.remove(&path),
            });
        }
        for round in rounds {
            let name = format!("rounds/{}-entries.csv", event.rounds[round].id);
            note(self.put_entries(&self.reports.join(name), standings, ledger, round));
        }
        first_error.map_or(Ok(()), Err)
    }

    /// All files but those with entries, and what is in them at a moment; nothing of one that may not be there.
    pub fn contents(&self, standings: &Standings, now_ms: i64) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let (reports, public) = (&self.reports, &self.public);
        let overall = outputs::standings(standings, &standings.overall(now_ms));
        let public_overall = outputs::standings(standings, &standings.public_overall(now_ms));
        let mut contents = vec![
            (reports.join("standings.csv"), Some(overall)),
            (public.join("standings.csv"), Some(public_overall)),
            (reports.join("held.csv"), Some(outputs::held(standings))),
            (reports.join("missing.csv"), Some(outputs::missing(standings, now_ms))),
            (reports.join("identical.csv"), Some(outputs::identical(standings))),
            (reports.join("rulings.csv"), Some(outputs::rulings(standings.rulings()))),
        ];
        for (round, definition) in standings.event().rounds.iter().enumerate() {
            let name = format!("rounds/{}.csv", definition.id);
            let table = standings.round(round, now_ms);
            let for_staff = outputs::round(standings, round, &table);
            let for_public = standings.public_round(round, now_ms);
            let for_public = for_public.map(|table| outputs::round(standings, round, &table));
            contents.push((reports.join(&name), Some(for_staff)));
            contents.push((public.join(&name), for_public));
        }
        contents
    }

    /// Writes a file, unless it holds these bytes.
    fn put(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let hash = blake3::hash(bytes);
        if self.written.get(path) == Some(&hash) && path.exists() {
            return Ok(());
        }
        write(path, |mut file| file.write_all(bytes).map_err(failed(path)))?;
        self.written.insert(path.to_owned(), hash);
        Ok(())
    }

    /// Writes the tries of a round. Their words are read from the ledger piece by piece, so that they are never
    /// all in memory.
    fn put_entries(
        &mut self,
        path: &Path,
        standings: &Standings,
        ledger: &Ledger,
        round: usize,
    ) -> Result<(), Error> {
        let entrants = standings.event().entrants.len();
        write(path, |file| {
            let mut file = BufWriter::new(file);
            file.write_all(&outputs::entries_header()).map_err(failed(path))?;
            for start in (0..entrants).step_by(ENTRANTS_AT_A_TIME) {
                let some: Range<usize> = start..entrants.min(start + ENTRANTS_AT_A_TIME);
                let ids = standings.submissions_of(round, some.clone());
                let marks = ledger.changes().marks_of(&ids)?;
                let rows = outputs::entries(standings, round, some, &marks);
                file.write_all(&rows).map_err(failed(path))?;
            }
            file.flush().map_err(failed(path))
        })
    }

    /// Removes a file that the public may not see any more.
    fn remove(&mut self, path: &Path) -> Result<(), Error> {
        self.written.remove(path);
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(path)(error)),
            _ => Ok(()),
        }
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { path: path.clone(), source }
}

/// Writes a file beside its place, makes it durable, and renames it into its place.
fn write(path: &Path, fill: impl FnOnce(&File) -> Result<(), Error>) -> Result<(), Error> {
    let failed = failed(path);
    let folder = path.parent().unwrap_or(Path::new("."));
    let part = beside(path, ".part");
    let file = (|| {
        make_folders(folder)?;
        let _ = std::fs::remove_file(&part);
        let file = File::create_new(&part)?;
        // As the folder's owner may read them.
        give(&file, &stat(folder)?)?;
        Ok(file)
    })()
    .map_err(&failed)?;
    let filled = fill(&file).and_then(|()| {
        file.sync_all().map_err(&failed)?;
        std::fs::rename(&part, path).map_err(&failed)?;
        sync_folder(folder).map_err(&failed)
    });
    if filled.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    filled
}
