//! The targets of the fuzzer (tests/fuzz) without the fuzzer: each over its seeds, its packed corpus,
//! and random changes of both.
//!
//! `FUZZ_ROUNDS` sets how many random inputs each target gets; the default is 200.

#[path = "../fuzz/targets/mod.rs"]
mod targets;

use crate::core_kit::Chance;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use targets::{ALL, Target};

/// Seeds are for reading, so there are few.
const SEEDS_MAX: usize = 10;

/// Packed corpora are in the repository, so all of them together stay small.
const CORPUS_BYTES_MAX: u64 = 400_000;

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

/// Runs a target over its seeds, its corpus, and random changes of both.
fn replay(name: &str) {
    let target = target(name);
    let unpacked = tempfile::tempdir().unwrap();
    let packed = folder().join("corpus").join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&packed).arg("-C").arg(unpacked.path());
    assert!(tar.status().unwrap().success(), "{}", packed.display());
    let (seeds, corpus) = (files(&folder().join("seeds").join(name)), files(unpacked.path()));
    assert!(!seeds.is_empty() && !corpus.is_empty());
    let files = [seeds, corpus].concat();
    let corpus = files.iter().map(|file| std::fs::read(file).unwrap()).collect::<Vec<_>>();
    for (file, bytes) in files.iter().zip(&corpus) {
        run(target, bytes, &file.display().to_string());
    }
    let rounds = std::env::var("FUZZ_ROUNDS").map_or(200, |rounds| rounds.parse().unwrap());
    for seed in 0..rounds {
        run(target, &by_chance(&corpus, &mut Chance(seed)), &format!("seed {seed}"));
    }
}

/// A file of the corpus in which some bytes are changed or pieces of other files inserted.
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

/// Promise P8.
#[test]
fn files_of_any_bytes_are_graded_as_the_oracle_grades_them() {
    replay("grade");
}

/// Promise P8.
#[test]
fn files_that_are_nearly_right_are_graded_as_the_oracle_grades_them() {
    replay("structured");
}

/// Promise P8.
#[test]
fn any_chunks_of_any_bytes_give_the_same_marks() {
    replay("chunks");
}

#[test]
fn any_checkpoint_is_one_or_is_refused() {
    replay("checkpoint");
}

#[test]
fn any_two_names_are_shown_differently() {
    replay("names");
}

#[test]
fn any_settings_are_loaded_or_refused() {
    replay("config");
}

#[test]
fn any_file_of_puzzles_is_refused_or_comes_back() {
    replay("puzzles");
}

#[test]
fn every_target_has_a_program_a_few_named_seeds_and_a_small_packed_corpus() {
    let known = ALL.iter().map(|(name, _)| *name).collect::<std::collections::BTreeSet<_>>();
    for (part, extension) in [("bin", ".rs"), ("seeds", ""), ("corpus", ".tar.gz")] {
        let files = files(&folder().join(part));
        let names = files.iter().map(|file| file.file_name().unwrap().to_str().unwrap());
        let wanted = known.iter().map(|name| format!("{name}{extension}"));
        assert!(names.eq(wanted), "{part}");
    }
    let manifest = std::fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    assert!(known.iter().all(|name| manifest.contains(&format!("name = \"{name}\""))));
    for seeds in files(&folder().join("seeds")) {
        let seeds = files(&seeds);
        assert!(seeds.len() <= SEEDS_MAX, "{seeds:?}");
        for seed in seeds {
            let name = seed.file_name().unwrap().to_str().unwrap();
            let is_hash = name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(!is_hash, "{} has to be named for what it shows", seed.display());
        }
    }
    let packed = files(&folder().join("corpus"));
    let bytes = packed.iter().map(|file| file.metadata().unwrap().len()).sum::<u64>();
    assert!(bytes <= CORPUS_BYTES_MAX, "the packed corpora have {bytes} bytes");
}
