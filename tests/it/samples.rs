//! Whole files with known answers.

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

/// Judges each `*.in` of a folder, whose path names the kind, and compares with its `*.out`.
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
fn own_files_get_their_answers() {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap();
    assert_eq!(check_folder(&Path::new(&package).join("tests/data")), 3);
}

#[test]
fn shared_files_get_their_answers() {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap();
    let shared = Path::new(&package).join("../shared/data");
    if shared.is_dir() {
        assert!(check_folder(&shared) > 0);
    }
}
