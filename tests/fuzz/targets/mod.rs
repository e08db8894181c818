//! What is fuzzed: functions of arbitrary bytes, which panic where gridmark breaks a promise.
//!
//! Any bytes are valid input to them: the bytes say what is tried.

mod check;
mod checkpoint;
mod chunks;
mod config;
mod naive;
mod names;
mod puzzles;
mod steer;
mod structured;

pub use checkpoint::checkpoint;
pub use chunks::chunks;
pub use config::config;
pub use names::names;
pub use puzzles::puzzles;
pub use structured::structured;

use gridmark_core::Kind;

/// A target: its name, which is that of its program, its seeds and its corpus, and itself.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const ALL: [Target; 7] = [
    ("grade", grade),
    ("structured", structured),
    ("chunks", chunks),
    ("checkpoint", checkpoint),
    ("names", names),
    ("config", config),
    ("puzzles", puzzles),
];

/// Whether a kind is forced, and which.
const KINDS: [Option<Kind>; 4] =
    [None, Some(Kind::Killer), Some(Kind::Classic), Some(Kind::Hexudoku)];

/// A file of any bytes is graded as the oracle grades it, in every tier.
///
/// The first byte says which kind is forced, if any; the others are the file.
pub fn grade(bytes: &[u8]) {
    if let Some((kind, text)) = bytes.split_first() {
        check::check(KINDS[usize::from(kind % 4)], text);
    }
}
