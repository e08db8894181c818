//! The targets of the fuzzer (tests/fuzz) without it: over the files of its corpus, which are those
//! that it starts with, a choice of those by which it got further, and all that it found, and over
//! bytes by chance.
//!
//! `FUZZ_ROUNDS` says how many inputs by chance each target gets; 200 are tried if it is not set.

#[path = "../fuzz/targets/mod.rs"]
mod targets;

use crate::core_kit::Chance;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use targets::{ALL, Target};

/// All of the corpus is in the repository, so it has to stay small.
const CORPUS_BYTES_MAX: u64 = 1_000_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz")
}

fn target(name: &str) -> Target {
    *ALL.iter().find(|(known, _)| *known == name).unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files = entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    files.sort();
    files
}

/// Runs a target, and says with what if it fails.
fn run((name, target): Target, bytes: &[u8], what: &str) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(bytes))) {
        eprintln!("the fuzz target {name} fails for {what}");
        resume_unwind(panic);
    }
}

/// The corpus of a target, and inputs by chance.
fn replay(name: &str) {
    let target = target(name);
    let files = files(&folder().join("corpus").join(name));
    assert!(!files.is_empty());
    let corpus = files.iter().map(|file| std::fs::read(file).unwrap()).collect::<Vec<_>>();
    for (file, bytes) in files.iter().zip(&corpus) {
        run(target, bytes, &file.display().to_string());
    }
    let rounds = std::env::var("FUZZ_ROUNDS").map_or(200, |rounds| rounds.parse().unwrap());
    for seed in 0..rounds {
        run(target, &by_chance(&corpus, &mut Chance(seed)), &format!("seed {seed}"));
    }
}

/// A file of the corpus in which some bytes are changed, or a piece of another one is put.
fn by_chance(corpus: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = corpus[chance.below(corpus.len())].clone();
    for _ in 0..1 + chance.below(8) {
        let at = chance.below(bytes.len() + 1);
        match chance.below(4) {
            0 => bytes.insert(at, chance.next() as u8),
            1 => {
                let other = &corpus[chance.below(corpus.len())];
                let piece = &other[chance.below(other.len() + 1)..];
                bytes.splice(at..at, piece[..piece.len().min(100)].to_vec());
            }
            _ if at < bytes.len() => bytes[at] = chance.next() as u8,
            _ => {}
        }
    }
    bytes
}

#[test]
fn files_of_any_bytes_are_graded_as_the_oracle_grades_them() {
    replay("grade");
}

#[test]
fn files_that_are_nearly_right_are_graded_as_the_oracle_grades_them() {
    replay("structured");
}

#[test]
fn any_windows_of_any_bytes_give_the_same_marks() {
    replay("windows");
}

#[test]
fn any_checkpoint_is_one_or_is_refused() {
    replay("checkpoint");
}

#[test]
fn any_names_can_be_told_apart() {
    replay("names");
}

#[test]
fn any_settings_are_loaded_or_refused() {
    replay("config");
}

#[test]
fn every_target_has_a_program_and_a_corpus_and_the_corpus_is_small() {
    let known = ALL.iter().map(|(name, _)| *name).collect::<std::collections::BTreeSet<_>>();
    for part in ["bin", "corpus"] {
        let files = files(&folder().join(part));
        let names = files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap());
        assert!(names.eq(known.iter().copied()), "{part}");
    }
    let manifest = std::fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    assert!(known.iter().all(|name| manifest.contains(&format!("name = \"{name}\""))));
    let corpus = files(&folder().join("corpus"));
    let bytes = corpus.iter().flat_map(|folder| files(folder)).map(|file| {
        let bytes = file.metadata().unwrap().len();
        assert!(bytes <= 20_000, "{} has {bytes} bytes", file.display());
        bytes
    });
    let bytes = bytes.sum::<u64>();
    assert!(bytes <= CORPUS_BYTES_MAX, "the corpus has {bytes} bytes");
}
