//! Whole files with known answers: those in tests/data and, where it exists beside the repository, in the
//! folder of shared cases.

use super::core_kit::answers;
use gridmark_core::Kind;
use std::fs;
use std::path::{Path, PathBuf};

fn inputs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            inputs(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "in") {
            found.push(path);
        }
    }
}

/// Judges each `*.in` of a folder, whose path names the kind, and compares with its `*.out`; returns how many
/// there are.
fn check_folder(folder: &Path) -> usize {
    let mut files = Vec::new();
    inputs(folder, &mut files);
    for input in &files {
        let path = input.strip_prefix(folder).unwrap().to_str().unwrap();
        let kind = Kind::ALL.into_iter().find(|kind| path.contains(kind.word())).unwrap();
        let expected = fs::read_to_string(input.with_extension("out")).unwrap();
        assert_eq!(answers(kind, &fs::read(input).unwrap()), expected, "{path}");
    }
    files.len()
}

#[test]
fn files_get_their_known_answers() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert!(check_folder(&repository.join("tests/data")) >= Kind::ALL.len());
    let shared = repository.join("../shared/data");
    if shared.is_dir() {
        assert!(check_folder(&shared) > 0);
    }
}
