//! Which kind of puzzle a file holds.

use super::lines::{integer, trim_end, trim_start};
use super::{hexudoku, killer};
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
pub(super) fn kind_by_line(line: &[u8]) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| match kind {
        Kind::Killer => line.starts_with(killer::CORNER),
        Kind::Classic => integer(trim_start(trim_end(line))).is_some(),
        Kind::Hexudoku => hexudoku::is_row(trim_end(line)),
    })
}
