//! The stages, in the order of the flow. No stage names another: [`queue`] lies between the first two,
//! channels between the others, and the service wires them.
//!
//! - [`intake`]: which files are ready, and claiming them.
//! - [`queue`]: bounded in files and bytes; the backpressure on intake.
//! - [`turns`]: a line in which folders take turns, in front of the queue and in it.
//! - [`grading`]: from claimed files to rows and marks, on the [`pool`] of threads.
//! - [`publish`]: rows appended, made durable, committed.

pub mod grading;
pub mod intake;
pub mod pool;
pub mod publish;
pub mod queue;
pub mod standings;
pub mod turns;
