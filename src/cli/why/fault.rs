//! The first case of a submission that is not right. The ledger holds counts only, and a report may be
//! long, or changed by somebody; so the file is marked again.

use crate::cli::chunks::Chunks;
use crate::config::{Paths, Settings};
use crate::model::escape;
use crate::model::marking::limits;
use crate::model::submission::Finished;
use crate::store::archive::Archive;
use crate::store::ledger::Record;
use gridmark_core::board::{Mark, Verdict};
use gridmark_core::format::kind_by_name;
use gridmark_core::judge::{Judge, Tier};
use std::io::{self, Read};

/// A larger file is not marked again: that would take long.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What is wrong with the first case that is not right, and which case that is unless there is only one.
/// `None` if all are right, or the file that was graded is not there any more, or may not be read.
pub(super) fn first_fault(settings: &Settings, record: &Record, done: &Finished) -> Option<String> {
    let is_wrong = done.tally.of(Verdict::Wrong) + done.tally.of(Verdict::Unreadable) > 0;
    if !is_wrong || done.bytes > FILE_BYTES_MAX {
        return None;
    }
    let bytes = graded_bytes(&settings.paths, record, done).ok().flatten()?;
    let judge = Judge::new(Tier::from_setting(&settings.grade.tier).ok()?);
    let name = &record.claimed.name;
    let forced = kind_by_name(name.as_bytes());
    let mut chunks = Chunks::new(name.as_path(), &bytes[..], forced, limits(&done.rules));
    let (mut marks, mut before) = (Vec::new(), 0);
    while let Some(chunk) = chunks.next().ok()? {
        chunk.mark(judge, &mut marks);
        let is_right = |mark: &Mark| matches!(mark, Mark::Correct | Mark::Counted(_));
        if let Some(at) = marks.iter().position(|mark| !is_right(mark)) {
            let what = escape::line(&in_words(&marks[at]));
            let case = before + at as u64 + 1;
            let is_only = done.tally.cases() == 1;
            return Some(if is_only { what } else { format!("case {case}: {what}") });
        }
        before += marks.len() as u64;
    }
    None
}

/// The bytes of a submission's file in the archive, if they are those that were graded.
fn graded_bytes(paths: &Paths, record: &Record, done: &Finished) -> io::Result<Option<Vec<u8>>> {
    let archive = Archive::of(paths.inbox(), paths.archive(), paths.quarantine());
    let mut bytes = Vec::new();
    let file = archive.read(&record.claimed.archived_as)?;
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let is_graded = done.blake3 == Some(*blake3::hash(&bytes).as_bytes());
    Ok(is_graded.then_some(bytes))
}

/// The first fault of a case: `r3c4 row-repeat, row 3 has 5 twice, and 2 more`.
fn in_words(mark: &Mark) -> String {
    match mark {
        Mark::Wrong(faults) => {
            let Some(first) = faults.first() else { return String::new() };
            let more = match faults.len() - 1 {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let at = first.at().map_or_else(String::new, |cell| format!("{cell} "));
            format!("{at}{}, {first}{more}", first.code())
        }
        Mark::Unreadable(why) => format!("{}, {why}", why.code.code()),
        Mark::Correct | Mark::Counted(_) => String::new(),
    }
}
