//! Who may what: commands with the service running and stopped.

mod cards;
mod judges;
mod kit;
