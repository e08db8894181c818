//! Settings: built-in defaults, then a TOML file, then `GRIDMARK_*` variables, then flags.
//!
//! A later layer wins. Each setting in force knows its origin, and an error about a setting names it:
//! with four layers, "the value is wrong" alone would not say where to correct it.
//!
//! To add a setting, add a field with its default to [`Settings`], a rule to `rules.rs`, and the field
//! with a comment to `config/gridmark.toml`; tests compare the three.

mod change;
mod error;
mod layers;
mod live;
mod pattern;
mod rules;
mod settings;

pub use change::{Change, Changes};
pub use error::{BadValue, Error, Place};
pub(crate) use layers::nearest;
pub use live::Live;
pub use rules::ADDRESS;
pub use settings::{
    Access, Grade, HandIn, Health, Http, Intake, Log, LogFormat, Page, PageListen, Paths, Publish,
    Queue, Settings, Watch,
};

use layers::Assignment;
use rules::{RULES, Rule};
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::path::Path;
use toml::{Table, Value};

/// The origin of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is the built-in default.
    Default,
    /// It is set in the settings file.
    File(Place),
    /// It is set by this environment variable.
    Environment(String),
    /// It is set by this flag.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(place) => write!(f, "file {place}"),
            Origin::Environment(name) => write!(f, "environment {name}"),
            Origin::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// A setting that a flag sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    /// The flag, as it is typed: `--settle`.
    pub name: &'static str,
    /// The setting: `intake.settle_ms`.
    pub key: &'static str,
    /// What it is set to.
    pub value: Value,
}

/// The settings in force, and their origins.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings in force.
    pub settings: Settings,
    /// The origin of each setting that is not a default, by key.
    pub origins: BTreeMap<String, Origin>,
}

/// Loads the settings from the defaults, a file, the environment and flags.
///
/// Only environment variables that begin with `GRIDMARK_` count. Their names follow from the keys
/// (`GRIDMARK_INTAKE_SETTLE_MS`), and lists are separated by commas.
///
/// # Errors
///
/// The file cannot be read or is not TOML, a key is unknown, or a value is not allowed.
///
/// ```
/// use gridmark::config::{Flag, load};
/// let variable = ("GRIDMARK_INTAKE_SETTLE_MS".to_owned(), "50".to_owned());
/// let flag = Flag { name: "--settle", key: "intake.settle_ms", value: 0.into() };
/// let loaded = load(None, [variable].into_iter(), [flag])?;
/// assert_eq!(loaded.settings.intake.settle_ms, 0);
/// assert_eq!(loaded.origin("intake.settle_ms").to_string(), "flag --settle");
/// # Ok::<(), gridmark::config::Error>(())
/// ```
pub fn load(
    file: Option<&Path>,
    environment: impl Iterator<Item = (String, String)>,
    flags: impl IntoIterator<Item = Flag>,
) -> Result<Loaded, Error> {
    let known = RULES.iter().map(|rule| rule.key).collect::<Vec<_>>();
    let mut table = table_of(&Settings::default());
    let mut assignments = match file {
        Some(path) => layers::of_file(path, &known)?,
        None => Vec::new(),
    };
    assignments.extend(layers::of_environment(environment, &known, &table)?);
    assignments.extend(layers::of_flags(flags, &known)?);

    let mut settings = Settings::default();
    let mut in_force = BTreeMap::new();
    for assignment in assignments {
        settings = assign(&mut table, &assignment)?;
        in_force.insert(assignment.key.clone(), assignment);
    }
    // Where two settings contradict each other, report the one that is not a default.
    let broken_rules = RULES.iter().filter(|rule| !(rule.holds)(&settings));
    match broken_rules.min_by_key(|rule| !in_force.contains_key(rule.key)) {
        Some(rule) => Err(broken(rule, &table, &in_force).into()),
        None => {
            let origins = in_force.into_iter().map(|(key, set)| (key, set.origin)).collect();
            Ok(Loaded { settings, origins })
        }
    }
}

impl Loaded {
    /// The origin of the setting with this key.
    pub fn origin(&self, key: &str) -> &Origin {
        self.origins.get(key).unwrap_or(&Origin::Default)
    }

    /// Every setting in force as a TOML document, each followed by its origin as a comment.
    pub fn to_toml(&self) -> String {
        let table = table_of(&self.settings);
        let mut text = String::new();
        let mut section = "";
        for key in RULES.iter().map(|rule| rule.key) {
            let (within, name) = key.split_once('.').unwrap_or(("", key));
            if within != section {
                let between = if section.is_empty() { "" } else { "\n" };
                let _ = writeln!(text, "{between}[{within}]");
                section = within;
            }
            if let Some(value) = value_of(&table, key) {
                let origin = self.origin(key);
                let _ = writeln!(text, "{name} = {value} # {origin}");
            }
        }
        text
    }
}

/// Sets one value in the table and returns the resulting settings.
fn assign(table: &mut Table, assignment: &Assignment) -> Result<Settings, Error> {
    if let Some((section, name)) = assignment.key.split_once('.')
        && let Some(Value::Table(section)) = table.get_mut(section)
    {
        section.insert(name.to_owned(), assignment.value.clone());
    }
    // The table was valid before, so this value is the cause.
    table.clone().try_into().map_err(|_| {
        let rule = RULES.iter().find(|rule| rule.key == assignment.key);
        Error::from(Box::new(BadValue {
            key: assignment.key.clone(),
            value: assignment.shown.clone(),
            origin: assignment.origin.clone(),
            expected: rule.map_or("another type", |rule| rule.expected).to_owned(),
        }))
    })
}

fn broken(rule: &Rule, table: &Table, in_force: &BTreeMap<String, Assignment>) -> Box<BadValue> {
    let value = |key: &str| match in_force.get(key) {
        Some(set) => set.shown.clone(),
        None => value_of(table, key).map(Value::to_string).unwrap_or_default(),
    };
    let origin = |key: &str| in_force.get(key).map_or(Origin::Default, |set| set.origin.clone());
    // A rule about two settings names the other one in its text.
    let others = RULES.iter().map(|rule| rule.key);
    let others = others.filter(|key| *key != rule.key && rule.expected.contains(key));
    let others = others.map(|key| format!(" ({key} is {}, {})", value(key), origin(key)));
    Box::new(BadValue {
        key: rule.key.to_owned(),
        value: value(rule.key),
        origin: origin(rule.key),
        expected: format!("{}{}", rule.expected, others.collect::<String>()),
    })
}

fn value_of<'a>(table: &'a Table, key: &str) -> Option<&'a Value> {
    let (section, name) = key.split_once('.')?;
    table.get(section)?.as_table()?.get(name)
}

fn table_of(settings: &Settings) -> Table {
    // Settings come from TOML, and a test checks that the defaults can be written as TOML.
    Table::try_from(settings).unwrap_or_default()
}
