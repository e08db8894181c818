//! The question of a `/why` request, and its form as a query string.

use std::fmt::Write;

/// A question about a submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Its name: the path under the inbox.
    pub name: Vec<u8>,
    /// The ids of its claims in the ledger, if it was taken.
    pub ids: Vec<i64>,
}

impl Question {
    /// The query string, without `?`.
    ///
    /// ```
    /// use gridmark::service::http::Question;
    /// let question = Question { name: b"team 7/\xff".to_vec(), ids: vec![3, 4] };
    /// assert_eq!(question.to_query(), "name=team%207%2F%FF&id=3&id=4");
    /// assert_eq!(Question::of_query(&question.to_query()), question);
    /// ```
    pub fn to_query(&self) -> String {
        let mut query = String::from("name=");
        for &byte in &self.name {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                query.push(char::from(byte));
            } else {
                // Writing to memory cannot fail.
                let _ = write!(query, "%{byte:02X}");
            }
        }
        for id in &self.ids {
            let _ = write!(query, "&id={id}");
        }
        query
    }

    /// The question in a query string; unknown parts are ignored.
    pub fn of_query(query: &str) -> Question {
        let mut question = Question::default();
        for part in query.split('&') {
            match part.split_once('=') {
                Some(("name", name)) => question.name = decoded(name),
                Some(("id", id)) => question.ids.extend(id.parse::<i64>()),
                _ => {}
            }
        }
        question
    }
}

/// Undoes percent encoding; a wrong escape stays as it is.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        (rest, _) = match (first, byte) {
            (b'%', Some(byte)) => (&after[2..], bytes.push(byte)),
            (b'+', _) => (after, bytes.push(b' ')),
            _ => (after, bytes.push(*first)),
        };
    }
    bytes
}
