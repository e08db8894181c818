//! Files of puzzles.

use gridmark::puzzle::certify::prove;
use gridmark::puzzle::{Format, Limits, read, write};
use gridmark_core::puzzle::text::{Listed, Place};
use gridmark_core::puzzle::{Alphabet, Puzzle, Solutions, lint};
use std::cell::Cell;

/// After how many steps a proof is stopped.
const PROOF_STEPS_MAX: u32 = 300;

/// A file of any bytes is refused with a place inside it, or gives puzzles that are the same when they
/// are written in any format and read back.
///
/// The first byte says which alphabet is declared, if any; the others are the file.
pub fn puzzles(bytes: &[u8]) {
    let Some((alphabet, text)) = bytes.split_first() else { return };
    let alphabet = usize::from(alphabet % 6).checked_sub(1).map(|i| Alphabet::ALL[i]);
    let limits = Limits { file_bytes_max: 1 << 14, document_bytes_max: 1 << 14 };
    match read(text, alphabet, limits) {
        Ok(listed) => {
            assert!(!listed.is_empty());
            for format in Format::all() {
                written(format, &listed);
            }
            proved(&listed[0].puzzle);
        }
        Err(error) => {
            assert!(error.number > 0 && !error.message.is_empty());
            let (Place::Text { line, .. } | Place::Json { line, .. }) = error.place;
            let ends = text.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() as u64;
            assert!((1..=ends + 1).contains(&line), "{error}");
        }
    }
}

/// A proof contradicts neither the judges nor the lint, whether it ends by itself or is stopped.
fn proved(puzzle: &Puzzle) {
    let steps = Cell::new(0);
    let stop = || steps.replace(steps.get() + 1) >= PROOF_STEPS_MAX;
    let solutions = prove(puzzle, stop).expect("the judges agree");
    let has_error = lint(puzzle).iter().any(|finding| finding.flaw.is_error());
    assert!(!has_error || matches!(solutions, Solutions::None | Solutions::Unproven(None)));
}

/// What is written is read back. A format may refuse a puzzle, but not its own.
fn written(format: Format, listed: &[Listed]) {
    for item in listed {
        let one = std::slice::from_ref(item);
        let Ok(text) = write(format, one) else {
            assert_ne!(format, Format::FPuzzles);
            continue;
        };
        let back = read(text.as_bytes(), Some(item.puzzle.alphabet()), Limits::default());
        let back = back.unwrap_or_else(|error| panic!("{}: {error}\n{text}", format.word()));
        let [back] = &back[..] else { panic!("{} puzzles\n{text}", back.len()) };
        let asked = |puzzle: &Puzzle| {
            (puzzle.alphabet(), puzzle.givens().to_vec(), puzzle.cages().to_vec(), puzzle.task())
        };
        assert_eq!(asked(&back.puzzle), asked(&item.puzzle), "{text}");
        if format == Format::FPuzzles {
            assert_eq!(back.puzzle.keys().first(), item.puzzle.keys().first());
        }
    }
}
