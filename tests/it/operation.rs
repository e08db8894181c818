//! What operators have: units, packages, alerts, checks.

mod doctor;
