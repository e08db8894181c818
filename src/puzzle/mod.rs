//! Puzzles as they were set, apart from anybody's submission.

pub mod certify;
