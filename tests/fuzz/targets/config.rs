//! Settings files and variables.

use gridmark::config::{Error, Loaded, load};
use std::io::Write;

/// Any settings file and any variables give settings, which give the same again when written to a
/// file; or a message that says where and what is wrong.
///
/// The bytes up to the first zero are the file, the lines behind it are variables.
pub fn config(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let file = parts.next().unwrap_or_default();
    let variables = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let variables = variables.lines().filter_map(|line| line.split_once('='));
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    match loaded(file, variables) {
        Ok(loaded) => {
            let written = loaded.to_toml();
            let again = self::loaded(written.as_bytes(), std::iter::empty());
            let again = again.unwrap_or_else(|error| panic!("{error}\n{written}"));
            assert_eq!(again.settings, loaded.settings, "{written}");
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            if let Error::Syntax { place, .. } = error {
                let lines = file.iter().filter(|byte| **byte == b'\n').count() + 1;
                assert!((1..=lines).contains(&place.line), "{place}");
            }
        }
    }
}

fn loaded(file: &[u8], variables: impl Iterator<Item = (String, String)>) -> Result<Loaded, Error> {
    let mut settings = tempfile::NamedTempFile::new().unwrap();
    settings.write_all(file).unwrap();
    load(Some(settings.path()), variables, [])
}
