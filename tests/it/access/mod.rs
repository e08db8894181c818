//! Who may what: commands with the service running and stopped.

mod cards;
mod hand_in;
mod judges;
mod kit;
