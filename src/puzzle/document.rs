//! JSON documents, and where in them something is wrong.

use super::{Limits, loose};
use gridmark_core::board::{Cell, House, Size};
use gridmark_core::puzzle::Invalid;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt;

/// What is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The way to the value.
    pub path: String,
    /// What was expected there and what was found.
    pub message: String,
    /// Whether the document is understood, and says something that no puzzle can be.
    pub is_invalid: bool,
}

impl Problem {
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { path: path.into(), message: message.into(), is_invalid: false }
    }
}

/// Parses a document: JSON, or what SudokuPad makes of it to save space. A name that stands twice in an object is
/// refused: one of the two would hide the other, and with it perhaps a rule.
pub(super) fn parse(text: &[u8], limits: Limits) -> Result<Value, Problem> {
    let problem = |message: String| Problem::new("document", message);
    if text.len() > limits.document_bytes_max {
        let most = limits.document_bytes_max;
        return Err(problem(format!("expected at most {most} bytes, found {}", text.len())));
    }
    let strict = match serde_json::from_slice(text) {
        Ok(Unique(value)) => return depth_checked(value),
        Err(error) if error.is_data() => return Err(problem(error.to_string())),
        Err(error) => error,
    };
    let loose = std::str::from_utf8(text).map_err(|_| loose::Error::NotLoose);
    loose.and_then(loose::parse).map_err(|error| match error {
        loose::Error::Twice(name) => problem(twice(&name)),
        loose::Error::NotLoose => problem(format!("expected JSON: {strict}")),
    })
}

fn twice(name: &str) -> String {
    format!("the name `{name}` stands twice in one object")
}

/// A value in which no object has a name twice.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unique, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Unique)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(A::Error::custom(twice(&name)));
            }
            let Unique(value) = fields.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

/// `value`, unless it nests too deep.
fn depth_checked(value: Value) -> Result<Value, Problem> {
    let mut left = vec![(&value, 1)];
    while let Some((value, depth)) = left.pop() {
        if depth > Limits::DEPTH_MAX {
            let most = Limits::DEPTH_MAX;
            let message = format!("expected values that nest at most {most} deep, found more");
            return Err(Problem::new("document", message));
        }
        match value {
            Value::Array(items) => left.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => left.extend(fields.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    Ok(value)
}

/// A value of a document and the way to it.
#[derive(Clone)]
pub(super) struct At<'a> {
    pub value: &'a Value,
    path: String,
}

impl<'a> At<'a> {
    pub fn root(value: &'a Value) -> At<'a> {
        At { value, path: String::new() }
    }

    /// A problem with this value.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        let path = if self.path.is_empty() { "document" } else { &self.path };
        Problem::new(path, message)
    }

    /// A problem with this value, which is not what was expected.
    pub fn expected(&self, expected: &str) -> Problem {
        const SHOWN: usize = 40;
        let mut found = self.value.to_string();
        if let Some((at, _)) = found.char_indices().nth(SHOWN) {
            found.truncate(at);
            found.push_str("...");
        }
        self.problem(format!("expected {expected}, found `{found}`"))
    }

    /// The problem that this value makes the puzzle invalid.
    pub fn invalid(&self, why: &Invalid) -> Problem {
        Problem { is_invalid: true, ..self.problem(why.to_string()) }
    }

    /// The field `key`, if it is there and says anything.
    pub fn field(&self, key: &str) -> Option<At<'a>> {
        let value = self.value.get(key).filter(|value| says_anything(value))?;
        let dot = if self.path.is_empty() { "" } else { "." };
        Some(At { value, path: format!("{}{dot}{key}", self.path) })
    }

    pub fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some()
    }

    /// The items of this array.
    pub fn items(&self) -> Result<impl Iterator<Item = At<'a>>, Problem> {
        let items = self.value.as_array().ok_or_else(|| self.expected("a list"))?;
        let path = self.path.clone();
        let at = move |(i, value)| At { value, path: format!("{path}[{i}]") };
        Ok(items.iter().enumerate().map(at))
    }

    /// The items of the array in the field `key`; none if it is missing.
    pub fn items_of(&self, key: &str) -> Result<Vec<At<'a>>, Problem> {
        match self.field(key) {
            Some(list) => Ok(list.items()?.collect()),
            None => Ok(Vec::new()),
        }
    }

    /// This number, which may be written as a string.
    pub fn number(&self, expected: &str) -> Result<u32, Problem> {
        let number = match self.value {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_u64().and_then(|number| u32::try_from(number).ok()),
        };
        number.ok_or_else(|| self.expected(expected))
    }

    /// This digit from 1 on.
    pub fn digit(&self, size: Size) -> Result<u8, Problem> {
        let expected = format!("a digit from 1 to {}", size.side());
        let number = self.number(&expected)?;
        let digit = u8::try_from(number)
            .ok()
            .filter(|digit| (1..=size.side()).contains(&usize::from(*digit)));
        digit.ok_or_else(|| self.expected(&expected))
    }

    /// This text, `None` if it is blank.
    pub fn text(&self) -> Option<String> {
        let text = match self.value {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        (!text.is_empty()).then_some(text)
    }

    /// Refuses every field but `known` ones, which stands for a rule that gridmark does not judge.
    pub fn refuse_others(&self, known: &[&str]) -> Result<(), Problem> {
        let fields = self.value.as_object().ok_or_else(|| self.expected("an object"))?;
        let unknown =
            fields.keys().find(|key| !known.contains(&key.as_str()) && self.field(key).is_some());
        match unknown.and_then(|key| self.field(key)) {
            Some(field) => Err(field.problem(not_judged(&field))),
            None => Ok(()),
        }
    }
}

/// The message for a field that is not known.
fn not_judged(field: &At) -> String {
    let key = field.path.rsplit('.').next().unwrap_or_default();
    let names = [
        ("arrow", "arrows"),
        ("arrows", "arrows"),
        ("antiking", "the anti-king rule"),
        ("antiknight", "the anti-knight rule"),
        ("betweenline", "between lines"),
        ("c", "coloured cells"),
        ("cArray", "coloured cells"),
        ("circle", "drawn circles"),
        ("clone", "clones"),
        ("diagonal+", "a diagonal"),
        ("diagonal-", "a diagonal"),
        ("difference", "differences"),
        ("disjointgroups", "disjoint groups"),
        ("even", "even cells"),
        ("extraregion", "extra regions"),
        ("foglight", "fog"),
        ("line", "drawn lines"),
        ("lines", "drawn lines"),
        ("littlekillersum", "little killer sums"),
        ("maximum", "maximum cells"),
        ("minimum", "minimum cells"),
        ("nonconsecutive", "the non-consecutive rule"),
        ("odd", "odd cells"),
        ("overlays", "drawings"),
        ("palindrome", "palindromes"),
        ("quadruple", "quadruples"),
        ("ratio", "ratios"),
        ("rectangle", "drawn rectangles"),
        ("renban", "renban lines"),
        ("sandwichsum", "sandwich sums"),
        ("text", "drawn text"),
        ("thermometer", "thermometers"),
        ("underlays", "drawings"),
        ("whispers", "whispers"),
        ("xv", "XV"),
    ];
    match names.iter().find(|(known, _)| *known == key) {
        Some((_, name)) => format!("this puzzle has a rule that is not judged: {name}"),
        None => "this may be a rule, and is not known".into(),
    }
}

/// Whether a value says anything: it is not null, false, or empty.
fn says_anything(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// Whether `regions`, each a list of cells, are the boxes, in any order.
pub(super) fn are_boxes(size: Size, regions: impl Iterator<Item = BTreeSet<usize>>) -> bool {
    let is_box = |house: &House| matches!(house, House::Box(_));
    let boxes = House::all(size).filter(is_box).map(|house| house.cells(size).collect());
    boxes.collect::<BTreeSet<BTreeSet<usize>>>() == regions.collect()
}

/// The cell that a row and a column from 0 name.
pub(super) fn cell(size: Size, row: u64, column: u64) -> Option<usize> {
    let (row, column) = (u8::try_from(row).ok()?, u8::try_from(column).ok()?);
    let cell = Cell { row, column };
    cell.is_on(size).then(|| cell.index(size))
}

/// `fields` as an object.
pub(super) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(
        fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>(),
    )
}
