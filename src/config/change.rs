//! Settings that are read anew while the service works by others.

use super::rules::RULES;
use super::settings::Settings;
use super::{table_of, value_of};
use crate::model::escape;

/// A setting that is another one than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The setting: `intake.settle_ms`.
    pub key: &'static str,
    /// What it was, as it is written in a settings file, on one line.
    pub before: String,
    /// What it is now.
    pub after: String,
}

/// What became of settings that were read anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The changes that are in force.
    pub applied: Vec<Change>,
    /// The changes that need a restart.
    pub held: Vec<Change>,
}

impl Settings {
    /// Takes over from `wanted` what can change while the service runs.
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
            let shown = |value: &toml::Value| escape::line(value);
            let change = Change { key: rule.key, before: shown(before), after: shown(after) };
            if !rule.is_live {
                changes.held.push(change);
            } else if let Some((section, name)) = rule.key.split_once('.')
                && let Some(section) = table.get_mut(section).and_then(toml::Value::as_table_mut)
            {
                section.insert(name.to_owned(), after.clone());
                changes.applied.push(change);
            }
        }
        // Both were settings, so what is put together of them is.
        if let Ok(settings) = table.try_into() {
            *self = settings;
        }
        changes
    }
}
