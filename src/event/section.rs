//! Reading TOML so that everything that is wrong in a file is found, not just the first of it.

use super::folder::line_at;
use super::problem::Problems;
use crate::config::nearest;
use gridmark_core::scoring::Points;
use jiff::SignedDuration;
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// The longest duration, in milliseconds: a year.
const DURATION_MS_MAX: i128 = 366 * 24 * 60 * 60 * 1000;

/// A file in which problems are found.
#[derive(Clone, Copy)]
pub(super) struct Document<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) problems: &'a Problems,
}

impl<'a> Document<'a> {
    /// Adds a problem at the byte `offset`.
    pub(super) fn add(&self, offset: usize, message: impl Into<String>) {
        self.problems.add(self.file, Some(line_at(self.text.as_bytes(), offset)), message);
    }

    /// Reads the file as TOML; all mistakes of its syntax are problems.
    pub(super) fn root(self) -> Option<Section<'a>> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            self.add(error.span().map_or(0, |span| span.start), error.message());
        }
        errors.is_empty().then(|| Section::new(self, 0, table.into_inner()))
    }
}

/// A table of a file. What was not asked for by its end is a problem.
pub(super) struct Section<'a> {
    document: Document<'a>,
    at: usize,
    table: DeTable<'a>,
    asked: Vec<&'static str>,
    found: Vec<&'static str>,
}

/// A value, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Placed<T> {
    pub(super) value: T,
    pub(super) at: usize,
}

impl<'a> Section<'a> {
    fn new(document: Document<'a>, at: usize, table: DeTable<'a>) -> Section<'a> {
        Section { document, at, table, asked: Vec::new(), found: Vec::new() }
    }

    /// The file that it stands in.
    pub(super) fn document(&self) -> Document<'a> {
        self.document
    }

    /// Where it begins.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn leaf(&mut self, key: &'static str) -> Option<Spanned<DeValue<'a>>> {
        self.asked.push(key);
        let leaf = self.table.remove(key)?;
        self.found.push(key);
        Some(leaf)
    }

    /// The value of a key; one of another type is a problem: it should be `expected`.
    pub(super) fn take<T: DeserializeOwned>(
        &mut self,
        key: &'static str,
        expected: &str,
    ) -> Option<Placed<T>> {
        let leaf = self.leaf(key)?;
        let span = leaf.span();
        match T::deserialize(ValueDeserializer::from(leaf)) {
            Ok(value) => Some(Placed { value, at: span.start }),
            Err(_) => {
                self.wrong(key, &span, expected);
                None
            }
        }
    }

    /// As [`take`](Section::take); a missing one is a problem too.
    pub(super) fn require<T: DeserializeOwned>(
        &mut self,
        key: &'static str,
        expected: &str,
    ) -> Option<Placed<T>> {
        if !self.table.contains_key(key) {
            self.asked.push(key);
            self.document.add(self.at, format!("`{key}` is missing; give {expected}"));
            return None;
        }
        self.take(key, expected)
    }

    fn wrong(&self, key: &str, span: &std::ops::Range<usize>, expected: &str) {
        let found = self.document.text.get(span.clone()).unwrap_or_default();
        let found: String = found.chars().take(60).collect();
        self.document.add(span.start, format!("`{key}` is {found}; expected {expected}"));
    }

    /// The value of a key as it is written, without quotes if it is a string, if `read` can read it.
    fn written<T>(
        &mut self,
        key: &'static str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<Placed<T>> {
        let leaf = self.leaf(key)?;
        let span = leaf.span();
        let written = match leaf.get_ref() {
            DeValue::String(text) => Cow::from(text.as_ref()),
            _ => self.document.text.get(span.clone()).unwrap_or_default().into(),
        };
        let value = read(&written);
        if value.is_none() {
            self.wrong(key, &span, expected);
        }
        value.map(|value| Placed { value, at: span.start })
    }

    /// One of some words.
    pub(super) fn word<T>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<Placed<T>>
    where
        T: Clone,
    {
        let expected = list_of(words.iter().map(|(word, _)| *word));
        self.written(key, &format!("one of {expected}"), |text| {
            words.iter().find(|(word, _)| *word == text).map(|(_, value)| value.clone())
        })
    }

    /// Points: a number with at most three decimals.
    pub(super) fn points(&mut self, key: &'static str) -> Option<Placed<Points>> {
        self.written(key, "points, with at most three decimals", points)
    }

    /// A duration like `"60m"`, in milliseconds.
    pub(super) fn duration_ms(&mut self, key: &'static str) -> Option<Placed<u64>> {
        self.written(key, "a duration like \"60m\" or \"1h 30m\"", duration_ms)
    }

    /// A moment, as it is written.
    pub(super) fn moment<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<Placed<T>> {
        self.written(key, "a date and time like 2026-11-30T10:00:00", read)
    }

    /// Whether a value for this key was there.
    pub(super) fn has_taken(&self, key: &str) -> bool {
        self.found.contains(&key)
    }

    /// A table in it.
    pub(super) fn section(&mut self, key: &'static str) -> Option<Section<'a>> {
        let leaf = self.leaf(key)?;
        let span = leaf.span();
        match leaf.into_inner() {
            DeValue::Table(table) => Some(Section::new(self.document, span.start, table)),
            _ => {
                self.wrong(key, &span, "a table");
                None
            }
        }
    }

    /// The tables of an array.
    pub(super) fn sections(&mut self, key: &'static str) -> Vec<Section<'a>> {
        let Some(leaf) = self.leaf(key) else {
            return Vec::new();
        };
        let span = leaf.span();
        let DeValue::Array(values) = leaf.into_inner() else {
            self.wrong(key, &span, "tables");
            return Vec::new();
        };
        let mut sections = Vec::new();
        for value in values {
            let span = value.span();
            match value.into_inner() {
                DeValue::Table(table) => {
                    sections.push(Section::new(self.document, span.start, table));
                }
                _ => self.wrong(key, &span, "a table"),
            }
        }
        sections
    }

    /// All tables in it, by their keys: where keys are names that somebody chose.
    pub(super) fn into_named(self) -> Vec<(Placed<String>, Section<'a>)> {
        let mut named = Vec::new();
        for (key, value) in self.table {
            let (key, span) =
                (Placed { at: key.span().start, value: key.into_inner() }, value.span());
            let key = Placed { value: key.value.into_owned(), at: key.at };
            match value.into_inner() {
                DeValue::Table(table) => {
                    let at = key.at;
                    named.push((key, Section::new(self.document, at, table)));
                }
                _ => {
                    let message = format!("`{}` is no table", key.value);
                    self.document.add(span.start, message);
                }
            }
        }
        named.sort_by_key(|(key, _)| key.at);
        named
    }

    /// What was not asked for is a problem.
    pub(super) fn finish(self) {
        for key in self.table.keys() {
            let name: &str = key.as_ref();
            let message = match nearest(name, self.asked.iter().copied()) {
                Some(nearest) => format!("`{name}` is not known here; did you mean `{nearest}`?"),
                None => format!(
                    "`{name}` is not known here; known are {}",
                    list_of(self.asked.iter().copied())
                ),
            };
            self.document.add(key.span().start, message);
        }
    }
}

/// Points as people write them: a number with at most three decimals.
pub(super) fn points(text: &str) -> Option<Points> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = (1..=9).contains(&whole.len()) && part.len() <= 3 && !digits.ends_with('.');
    if !(fits && is_number(whole) && is_number(part)) {
        return None;
    }
    let milli: i64 = format!("{whole}{part:0<3}").parse().ok()?;
    Some(Points::milli(sign * milli))
}

/// A duration as people write it, in milliseconds; not negative, and at most a year.
pub(super) fn duration_ms(text: &str) -> Option<u64> {
    let ms = text.trim().parse::<SignedDuration>().ok()?.as_millis();
    u64::try_from(ms).ok().filter(|_| ms <= DURATION_MS_MAX)
}

/// Words for a sentence.
pub(super) fn list_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => words.concat(),
    }
}
