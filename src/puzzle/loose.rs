//! What SudokuPad makes of JSON to save space: names without quotes and shortened, `t` and `f`,
//! empty objects left out, single quotes.

use self::Error::NotLoose;
use super::Limits;
use serde_json::{Map, Number, Value};

/// Names and their short forms.
const NAMES: [(&str, &str); 25] = [
    ("c", "color"),
    ("ca", "cages"),
    ("ct", "center"),
    ("c1", "borderColor"),
    ("c2", "backgroundColor"),
    ("ce", "cells"),
    ("cs", "cellSize"),
    ("a", "arrows"),
    ("o", "overlays"),
    ("u", "underlays"),
    ("w", "width"),
    ("h", "height"),
    ("v", "value"),
    ("vd", "videos"),
    ("l", "lines"),
    ("r", "rounded"),
    ("re", "regions"),
    ("fs", "fontSize"),
    ("th", "thickness"),
    ("hl", "headLength"),
    ("wp", "wayPoints"),
    ("t", "title"),
    ("te", "text"),
    ("d", "duration"),
    ("d2", "d"),
];

/// Why a text cannot be read.
#[derive(Debug)]
pub(super) enum Error {
    /// It is not of this form.
    NotLoose,
    /// It is, and an object has this name twice.
    Twice(String),
}

/// Parses `text`.
pub(super) fn parse(text: &str) -> Result<Value, Error> {
    // Whichever quotes are used, the others are plain characters.
    let quote = if text.contains('"') { '"' } else { '\'' };
    let mut parser = Parser { rest: text.trim(), quote };
    let value = parser.value(1)?;
    if parser.rest.is_empty() { Ok(value) } else { Err(NotLoose) }
}

struct Parser<'a> {
    rest: &'a str,
    quote: char,
}

impl Parser<'_> {
    fn take(&mut self, expected: char) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// A value, which may be left out: then it is an empty object.
    fn value(&mut self, depth: usize) -> Result<Value, Error> {
        if depth > Limits::DEPTH_MAX {
            return Err(NotLoose);
        }
        if self.take('{') {
            let mut fields = Map::new();
            while !self.take('}') {
                if !fields.is_empty() && !self.take(',') {
                    return Err(NotLoose);
                }
                let key = self.key()?;
                if !self.take(':') {
                    return Err(NotLoose);
                }
                let value = self.value(depth + 1)?;
                if fields.contains_key(&key) {
                    return Err(Error::Twice(key));
                }
                fields.insert(key, value);
            }
            return Ok(Value::Object(fields));
        }
        if self.take('[') {
            let mut items = Vec::new();
            loop {
                items.push(self.value(depth + 1)?);
                if self.take(']') {
                    return Ok(Value::Array(items));
                }
                if !self.take(',') {
                    return Err(NotLoose);
                }
            }
        }
        if self.take(self.quote) {
            return Ok(Value::String(self.string()?));
        }
        let end = self.rest.find([',', '}', ']']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(match word {
            "" => Value::Object(Map::new()),
            "t" | "true" => Value::Bool(true),
            "f" | "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => match word.parse::<Number>() {
                Ok(number) => Value::Number(number),
                Err(_) if word.bytes().all(|byte| byte == b'#' || byte.is_ascii_hexdigit()) => {
                    Value::String(word.to_owned())
                }
                Err(_) => return Err(NotLoose),
            },
        })
    }

    fn key(&mut self) -> Result<String, Error> {
        if self.take(self.quote) {
            return self.string();
        }
        let end = self.rest.find(':').ok_or(NotLoose)?;
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(NotLoose);
        }
        self.rest = rest;
        let long = NAMES.iter().find(|(short, _)| *short == word).map(|(_, long)| *long);
        Ok(long.unwrap_or(word).to_owned())
    }

    /// The rest of a string, and the quote behind it.
    fn string(&mut self) -> Result<String, Error> {
        let mut text = String::new();
        let mut characters = self.rest.chars();
        loop {
            match characters.next().ok_or(NotLoose)? {
                '\\' => match characters.next().ok_or(NotLoose)? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'b' => text.push('\u{8}'),
                    'f' => text.push('\u{C}'),
                    'u' => {
                        let hex = characters.as_str().get(..4).ok_or(NotLoose)?;
                        let code = u32::from_str_radix(hex, 16).map_err(|_| NotLoose)?;
                        // Halves of a pair are of no use to anybody here.
                        text.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
                        characters = characters.as_str()[4..].chars();
                    }
                    escaped @ ('\'' | '"' | '\\' | '/') => text.push(escaped),
                    _ => return Err(NotLoose),
                },
                character if character == self.quote => {
                    self.rest = characters.as_str();
                    return Ok(text);
                }
                character => text.push(character),
            }
        }
    }
}
