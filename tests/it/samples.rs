//! Whole files with known answers.

use gridmark::board::{Kind, Mark};
use gridmark::format::{Found, Limits, Reader};
use gridmark::judge::{Judge, Tier};
use std::fs;
use std::path::{Path, PathBuf};

/// The cases of a file, as they lie in one window, and their marks.
pub fn graded(kind: Option<Kind>, text: &[u8]) -> (Found, Vec<Mark>) {
    let mut found = Found::default();
    let consumed = Reader::new(kind, Limits::default()).read(text, true, &mut found);
    assert_eq!(consumed, text.len());
    let mut marks = Vec::new();
    Judge::new(Tier::best()).mark(text, &found.cases, &found.puzzles, &mut marks);
    assert_eq!(marks.len(), found.cases.len());
    (found, marks)
}

/// The answers of the source problem to a file.
pub fn answers(kind: Kind, text: &[u8]) -> String {
    let (found, marks) = graded(None, text);
    let mut answers = String::new();
    for (case, mark) in found.cases.iter().zip(&marks) {
        answers.push_str(&mark.answer(kind));
        if case.block_end {
            answers.push('\n');
        }
    }
    answers
}

fn inputs(folder: &Path, inputs_found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            inputs(&path, inputs_found);
        } else if path.extension().is_some_and(|extension| extension == "in") {
            inputs_found.push(path);
        }
    }
}

#[test]
fn files_with_known_answers_get_them() {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap();
    let shared = Path::new(&package).join("../shared/data");
    let mut files = Vec::new();
    if shared.is_dir() {
        inputs(&shared, &mut files);
    }
    for input in files {
        let kind =
            Kind::ALL.into_iter().find(|k| input.to_str().unwrap().contains(k.word())).unwrap();
        let expected = fs::read_to_string(input.with_extension("out")).unwrap();
        assert_eq!(answers(kind, &fs::read(&input).unwrap()), expected, "{}", input.display());
    }
}
