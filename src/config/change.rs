//! What a reload changes: the difference between two settings, and which part of it needs a restart.

use super::rules::RULES;
use super::settings::Settings;
use super::{table_of, value_of};
use crate::model::escape;
use serde::{Deserialize, Serialize};

/// A setting whose value differs from before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The setting: `intake.settle_ms`.
    pub key: String,
    /// The value before, as in a settings file, on one line.
    pub before: String,
    /// The new value, likewise.
    pub after: String,
}

/// The result of a reload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Changes that are in force.
    pub applied: Vec<Change>,
    /// Changes that need a restart.
    pub held: Vec<Change>,
}

impl Settings {
    /// Applies those changes from `wanted` that need no restart.
    ///
    /// ```
    /// use gridmark::config::Settings;
    /// let (mut settings, mut wanted) = (Settings::default(), Settings::default());
    /// (wanted.intake.settle_ms, wanted.grade.streams_max) = (500, 4);
    /// let changes = settings.take_over(&wanted);
    /// assert_eq!((settings.intake.settle_ms, settings.grade.streams_max), (500, 2));
    /// assert_eq!(changes.applied[0].key, "intake.settle_ms");
    /// assert_eq!(changes.held[0].key, "grade.streams_max");
    /// ```
    pub fn take_over(&mut self, wanted: &Settings) -> Changes {
        let (mut table, wanted) = (table_of(self), table_of(wanted));
        let mut changes = Changes::default();
        for rule in RULES {
            let (Some(before), Some(after)) =
                (value_of(&table, rule.key), value_of(&wanted, rule.key))
            else {
                continue;
            };
            if before == after {
                continue;
            }
            let change = Change {
                key: rule.key.to_owned(),
                before: escape::line(before),
                after: escape::line(after),
            };
            if !rule.is_live {
                changes.held.push(change);
            } else if let Some((section, name)) = rule.key.split_once('.')
                && let Some(section) = table.get_mut(section).and_then(toml::Value::as_table_mut)
            {
                section.insert(name.to_owned(), after.clone());
                changes.applied.push(change);
            }
        }
        // Every value in the table is from valid settings, so this cannot fail.
        if let Ok(settings) = table.try_into() {
            *self = settings;
        }
        changes
    }
}
