//! Puzzles: every format in which they are read and written.

mod certify;
mod cli;
mod documents;
mod entries;
mod kit;
mod round;
mod text;
