//! Any text as a checkpoint.

use gridmark_core::format::{Found, Limits, Reader};
use gridmark_core::judge::{Judge, Tier};

/// A text that is accepted as a checkpoint is one: the reader's own checkpoint resumes the same
/// reader, and any file is read to its end from there.
///
/// The first line is the checkpoint, the rest the file from there.
pub fn checkpoint(bytes: &[u8]) {
    const LIMITS: Limits = Limits { case_bytes_max: 1024, missing_cases_max: 5 };
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    let text = parts.next().map(std::str::from_utf8);
    let (Some(Ok(text)), window) = (text, parts.next().unwrap_or_default()) else {
        return;
    };
    for kind in super::KINDS {
        let mut reader = match Reader::resume(kind, LIMITS, text) {
            Ok(reader) => reader,
            Err(error) => {
                assert!(!error.to_string().contains(char::is_control), "{error}");
                continue;
            }
        };
        let again = Reader::resume(kind, LIMITS, &reader.checkpoint()).unwrap();
        assert_eq!(again, reader);
        let offset = reader.offset();
        let mut found = Found::default();
        assert_eq!(reader.read(window, true, &mut found), window.len());
        assert_eq!(reader.offset(), offset + window.len() as u64);
        let mut marks = Vec::new();
        Judge::new(Tier::best()).mark(window, &found.cases, &found.puzzles, &mut marks);
        assert_eq!(marks.len(), found.cases.len());
        marks.iter().for_each(|mark| drop(mark.detail()));
    }
}
