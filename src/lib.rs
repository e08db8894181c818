//! gridmark grades sudoku.

pub mod board;

pub mod archive;
pub mod event;
pub mod ledger;
pub mod pool;
pub mod queue;
pub mod rows;
pub mod submission;
