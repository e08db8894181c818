//! The layers of the settings: a file, the environment and flags, each read into assignments.

use super::error::{BadValue, Error, Place};
use super::{Flag, Origin};
use crate::model::named;
use serde::Deserialize;
use std::path::Path;
use toml::Value;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// The prefix of gridmark's environment variables.
const PREFIX: &str = "GRIDMARK_";
/// The largest settings file.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The least similarity (from 0 to 1) at which a known key is suggested for a misspelt one.
const SIMILARITY_MIN: f64 = 0.6;

/// A value that a layer gives to a setting.
pub(super) struct Assignment {
    /// The setting: its section and its name.
    pub(super) key: String,
    /// The value.
    pub(super) value: Value,
    /// The value, as it was written.
    pub(super) shown: String,
    /// Where it was given.
    pub(super) origin: Origin,
}

/// The assignments of a file, in the order of its lines.
pub(super) fn of_file(path: &Path, known: &[&str]) -> Result<Vec<Assignment>, Error> {
    let bytes = named::read(path, FILE_BYTES_MAX)
        .map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let text = std::str::from_utf8(&bytes).map_err(|error| Error::Syntax {
        place: Place::of(path, &bytes, error.valid_up_to()),
        message: "this is not UTF-8 text; save the file as UTF-8".into(),
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let syntax = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let message = error.message().to_owned();
        Error::Syntax { place: Place::of(path, text.as_bytes(), at), message }
    };
    let table = DeTable::parse(text).map_err(syntax)?;
    let mut leaves = Vec::new();
    collect(table.into_inner(), "", known, &mut leaves);
    leaves.sort_by_key(|leaf| leaf.key_start);
    let assignment = |leaf: Leaf<'_>| {
        let origin = Origin::File(Place::of(path, text.as_bytes(), leaf.key_start));
        let shown = text.get(leaf.value.span()).unwrap_or_default().to_owned();
        if known.iter().any(|known| is_in_section(known, &leaf.key)) {
            let expected = format!("a section: [{}]", leaf.key);
            return Err(Box::new(BadValue { key: leaf.key, value: shown, origin, expected }).into());
        }
        if !known.contains(&leaf.key.as_str()) {
            return Err(unknown(leaf.key, origin, known));
        }
        // A number that no type can hold is a wrong value, not wrong syntax. An empty table in its
        // place is refused as such, since no setting takes a table.
        let value = Value::deserialize(ValueDeserializer::from(leaf.value));
        let value = value.unwrap_or_else(|_| toml::Table::new().into());
        Ok(Assignment { key: leaf.key, value, shown, origin })
    };
    leaves.into_iter().map(assignment).collect()
}

struct Leaf<'a> {
    key: String,
    key_start: usize,
    value: toml::Spanned<DeValue<'a>>,
}

/// Collects the values of all sections; anything that is not a section is a leaf.
fn collect<'a>(table: DeTable<'a>, within: &str, known: &[&str], leaves: &mut Vec<Leaf<'a>>) {
    for (name, value) in table {
        let key_start = name.span().start;
        let name = name.into_inner();
        let key = if within.is_empty() { name.to_string() } else { format!("{within}.{name}") };
        let is_section = known.iter().any(|known| is_in_section(known, &key));
        if is_section && value.get_ref().is_table() {
            if let DeValue::Table(section) = value.into_inner() {
                collect(section, &key, known, leaves);
            }
        } else {
            leaves.push(Leaf { key, key_start, value });
        }
    }
}

fn is_in_section(known: &str, section: &str) -> bool {
    known.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}

/// The assignments of the environment; variables that do not begin with `GRIDMARK_` are ignored.
pub(super) fn of_environment(
    variables: impl Iterator<Item = (String, String)>,
    known: &[&str],
    defaults: &toml::Table,
) -> Result<Vec<Assignment>, Error> {
    let mut assignments = Vec::new();
    for (name, text) in variables.filter(|(name, _)| name.starts_with(PREFIX)) {
        let Some(key) = known.iter().find(|key| variable(key) == name) else {
            let names = known.iter().map(|key| variable(key)).collect::<Vec<_>>();
            let nearest = nearest(&name, names.iter().map(String::as_str));
            return Err(Error::UnknownVariable { name, nearest });
        };
        let value = parse(&text, super::value_of(defaults, key));
        let origin = Origin::Environment(name);
        assignments.push(Assignment { key: key.to_string(), value, shown: text, origin });
    }
    // Only the first error is reported; sorting makes it the same one each time.
    assignments.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(assignments)
}

/// The environment variable that sets a key.
fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_uppercase())
}

/// Text as a value of the type of `like`, or as text if it is not one.
fn parse(text: &str, like: Option<&Value>) -> Value {
    let parsed = match like {
        Some(Value::Integer(_)) => text.trim().replace('_', "").parse().ok().map(Value::Integer),
        Some(Value::Boolean(_)) => text.trim().parse().ok().map(Value::Boolean),
        Some(Value::Array(_)) => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Some(Value::Array(parts.map(Value::from).collect()))
        }
        _ => None,
    };
    parsed.unwrap_or_else(|| text.into())
}

/// The assignments of flags.
pub(super) fn of_flags(
    flags: impl IntoIterator<Item = Flag>,
    known: &[&str],
) -> Result<Vec<Assignment>, Error> {
    let assignment = |flag: Flag| {
        let origin = Origin::Flag(flag.name.to_owned());
        if !known.contains(&flag.key) {
            return Err(unknown(flag.key.to_owned(), origin, known));
        }
        let shown = flag.value.to_string();
        Ok(Assignment { key: flag.key.to_owned(), value: flag.value, shown, origin })
    };
    flags.into_iter().map(assignment).collect()
}

fn unknown(key: String, origin: Origin, known: &[&str]) -> Error {
    let name = |key: &str| key.rsplit('.').next().map(str::to_owned);
    // A known name in the wrong section: suggest the right section.
    let elsewhere = known.iter().find(|known| name(known) == name(&key));
    let nearest = match elsewhere {
        Some(known) => Some(known.to_string()),
        None => {
            let sections = known.iter().filter_map(|key| Some(key.split_once('.')?.0));
            nearest(&key, known.iter().copied().chain(sections))
        }
    };
    Error::UnknownKey { origin, key, nearest }
}

/// The known key that is most like a misspelt one, if any is like it at all.
pub(crate) fn nearest<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = known.map(|known| (strsim::normalized_damerau_levenshtein(key, known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= SIMILARITY_MIN).then(|| best.1.to_owned())
}
