//! Which kind of puzzle a file holds.

use super::lines::{trim_end, without_end_marks};
use super::{classic, hexudoku, killer};
use crate::Kind;

/// The kind that a file's name forces: its extension is the [word](Kind::word) of a kind, in upper
/// or lower case. `name` may be a path with `/` between its parts.
///
/// ```
/// use gridmark_core::{Kind, format::kind_by_name};
/// assert_eq!(kind_by_name(b"team 7/p3.Killer"), Some(Kind::Killer));
/// assert_eq!(kind_by_name(b"killer.txt"), None);
/// ```
pub fn kind_by_name(name: &[u8]) -> Option<Kind> {
    let file = name.rsplit(|byte| *byte == b'/').next()?;
    let dot = memchr::memrchr(b'.', file)?;
    let extension = &file[dot + 1..];
    Kind::ALL.into_iter().find(|kind| extension.eq_ignore_ascii_case(kind.word().as_bytes()))
}

/// The kind of a file whose first line that is not blank is `line`.
///
/// No line is that of two kinds, so the order in which they are tried does not matter.
pub(crate) fn kind_by_line(line: &[u8]) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| match kind {
        Kind::Killer => line.starts_with(killer::CORNER),
        Kind::Classic => classic::count(line).is_some(),
        Kind::Hexudoku => hexudoku::is_row(trim_end(without_end_marks(line))),
    })
}

/// Whether the file that begins with `window` is text: `Err` says in which encoding it is that is not
/// read. `None` if that takes more of the file, which has more unless `end` is set.
///
/// Without a mark at its start, UTF-16 is known by the zeros in its first four bytes.
pub(crate) fn encoding(window: &[u8], end: bool) -> Option<Result<(), &'static str>> {
    let may_differ = matches!(window, [0 | 0xFE | 0xFF, ..] | [_, 0, ..]);
    if !end && (window.len() < 2 || (window.len() < 4 && may_differ)) {
        return None;
    }
    Some(match window {
        [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => Err("UTF-32"),
        [0xFF, 0xFE, ..] | [1..=0x7F, 0, 1..=0x7F, 0, ..] => Err("UTF-16 (little-endian)"),
        [0xFE, 0xFF, ..] | [0, 1..=0x7F, 0, 1..=0x7F, ..] => Err("UTF-16 (big-endian)"),
        _ => Ok(()),
    })
}
