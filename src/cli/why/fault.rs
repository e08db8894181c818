//! The first case of a submission that is not right. The ledger holds counts only, and a report may be
//! long, or changed by somebody; so the file is marked again.

use crate::cli::chunks::Chunks;
use crate::config::{Paths, Settings};
use crate::event::Definitions;
use crate::model::escape;
use crate::model::marking::limits;
use crate::model::submission::Finished;
use crate::store::archive::Archive;
use crate::store::ledger::{Ledger, Record};
use gridmark_core::board::{Mark, Verdict};
use gridmark_core::format::kind_by_name;
use gridmark_core::judge::{Judge, Tier};
use std::io::{self, Read};

/// A larger file is not marked again: that would take long.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// What is wrong with the first case that is not right, and which case that is unless there is only one.
/// `None` if all are right, or the file that was graded is not there any more, or may not be read.
pub(super) fn first_fault(
    settings: &Settings,
    ledger: &Ledger,
    record: &Record,
    done: &Finished,
) -> Option<String> {
    let is_wrong = done.tally.of(Verdict::Wrong) + done.tally.of(Verdict::Unreadable) > 0;
    if !is_wrong || done.bytes > FILE_BYTES_MAX {
        return None;
    }
    let bytes = graded_bytes(&settings.paths, record, done).ok().flatten()?;
    let name = &record.claimed.name;
    let is_right = |mark: &Mark| matches!(mark, Mark::Correct | Mark::Counted(_));
    let said = |case: u64, mark: &Mark| {
        let what = escape::line(&in_words(mark));
        if done.tally.cases() == 1 { what } else { format!("case {case}: {what}") }
    };
    // An entry was judged against its puzzle.
    if let Some(number) = done.rules.definitions
        && let Ok(Some(source)) = ledger.definitions().get(number)
        && let Ok(definitions) = Definitions::new(number, &source)
    {
        let mut first = None;
        let judged = definitions.judge(name, &bytes, &done.rules, |case, _, mark| {
            if first.is_none() && !is_right(mark) {
                first = Some(said(case, mark));
            }
        });
        if judged.is_some() {
            return first;
        }
    }
    let judge = Judge::new(Tier::from_setting(&settings.grade.tier).ok()?);
    let forced = kind_by_name(name.as_bytes());
    let mut chunks = Chunks::new(name.as_path(), &bytes[..], forced, limits(&done.rules));
    let (mut marks, mut before) = (Vec::new(), 0);
    while let Some(chunk) = chunks.next().ok()? {
        chunk.mark(judge, &mut marks);
        if let Some(at) = marks.iter().position(|mark| !is_right(mark)) {
            return Some(said(before + at as u64 + 1, &marks[at]));
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
