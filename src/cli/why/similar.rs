//! Names that may be meant by one that was never seen.

use crate::config::Paths;
use crate::model::submission::Name;
use crate::store::ledger::{self, Ledger};

/// How many names are suggested.
const NAMES_MAX: usize = 3;
/// The least likeness, from 0 to 1, of a suggested name.
const LIKENESS_MIN: f64 = 0.75;
/// How many entries of a folder of the inbox are looked at.
const ENTRIES_MAX: usize = 10_000;
/// How many pairs of characters are compared in all, so that many long names take no longer than seconds.
const PAIRS_MAX: usize = 1 << 30;

/// The names in the ledger, and in the same folder of the inbox, that are most like `name`, the most similar
/// first.
///
/// # Errors
///
/// If the ledger cannot be read.
pub(super) fn similar(
    paths: &Paths,
    ledger: Option<&Ledger>,
    name: &Name,
) -> Result<Vec<String>, ledger::Error> {
    let mut best = Best { wanted: name.to_string().to_lowercase(), pairs: 0, found: Vec::new() };
    let folder = name.split().0;
    let entries = paths.inbox().join(folder).read_dir();
    for entry in entries.into_iter().flatten().flatten().take(ENTRIES_MAX) {
        best.add(&Name::from_bytes(folder.as_encoded_bytes()).join(&entry.file_name()));
    }
    if let Some(ledger) = ledger {
        ledger.records().for_each_name(|known| best.add(known))?;
    }
    Ok(best.found.into_iter().map(|(_, known)| known).collect())
}

/// The best names so far, by their likeness.
struct Best {
    wanted: String,
    pairs: usize,
    found: Vec<(f64, String)>,
}

impl Best {
    fn add(&mut self, known: &Name) {
        let known = known.to_string();
        let likeness = self.likeness(&known.to_lowercase());
        if likeness < LIKENESS_MIN || self.found.iter().any(|(_, found)| *found == known) {
            return;
        }
        self.found.push((likeness, known));
        self.found.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.cmp(other)));
        self.found.truncate(NAMES_MAX);
    }

    /// From 0 to 1; of names in small letters.
    fn likeness(&mut self, known: &str) -> f64 {
        let wanted = self.wanted.as_str();
        if known == wanted {
            return 1.0;
        }
        let file = |name: &str| name.rsplit('/').next().map(str::to_owned);
        let lacks_extension = |short: &str, long: &str| {
            long.strip_prefix(short).is_some_and(|rest| rest.starts_with('.'))
        };
        let is_same_but_for_a_part = file(known) == file(wanted)
            || lacks_extension(known, wanted)
            || lacks_extension(wanted, known);
        let (long, short) = (known.len().max(wanted.len()), known.len().min(wanted.len()));
        let pairs = self.pairs.saturating_add(long * short);
        // Each byte that is too many costs as much as one that differs.
        let is_far = (short as f64) < LIKENESS_MIN * long as f64 && !is_same_but_for_a_part;
        if is_far || pairs > PAIRS_MAX {
            return 0.0;
        }
        self.pairs = pairs;
        let likeness = strsim::normalized_levenshtein(known, wanted);
        if is_same_but_for_a_part {
            LIKENESS_MIN + (1.0 - LIKENESS_MIN) * likeness
        } else {
            likeness
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(wanted: &str, known: &[&str]) -> Vec<String> {
        let mut best = Best { wanted: wanted.to_lowercase(), pairs: 0, found: Vec::new() };
        known.iter().for_each(|known| best.add(&Name::from_bytes(known.as_bytes())));
        best.found.into_iter().map(|(_, known)| known).collect()
    }

    #[test]
    fn the_most_similar_names_come_first_and_others_not_at_all() {
        let known = ["team-08/p2.txt", "team-07/p1.txt", "Team-7/P1.TXT", "team-07/p3.txt", "x"];
        assert_eq!(best("team-7/p1.txt", &known)[..2], ["Team-7/P1.TXT", "team-07/p1.txt"]);
        assert_eq!(best("team-7/p1.txt", &known).len(), NAMES_MAX);
        assert_eq!(best("p1.txt", &known), ["Team-7/P1.TXT", "team-07/p1.txt"]);
        assert_eq!(best("team-07/p3", &known)[0], "team-07/p3.txt");
        let folders = ["team-01/p1.txt", "team-07/p1.txt", "team-70/p1.txt", "team-99/p2.txt"];
        assert_eq!(best("team-79/p1.txt", &folders)[..2], ["team-70/p1.txt", "team-01/p1.txt"]);
        assert_eq!(best("nothing like it", &known), [""; 0]);
    }

    #[test]
    fn a_flood_of_long_names_ends_the_comparison() {
        let mut best = Best { wanted: "a".repeat(1 << 12), pairs: 0, found: Vec::new() };
        let known = "b".repeat(1 << 12);
        for _ in 0..PAIRS_MAX >> 24 {
            best.likeness(&known);
        }
        let pairs = best.pairs;
        best.likeness(&known);
        assert_eq!((best.pairs, best.likeness(&"a".repeat(1 << 12))), (pairs, 1.0));
    }
}
