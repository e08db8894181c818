//! Names in the archive.

use crate::model::submission::{FILE_NAME_BYTES_MAX, Name, Place};

/// The first name for a submission in the archive that is free.
pub(super) fn free_archive_name(
    name: &Name,
    attempt: u32,
    mut place: impl FnMut(&Name) -> Place,
) -> Name {
    let mut name = name.clone();
    let mut k = 0;
    loop {
        let wanted = archive_name(&name, attempt, k);
        match place(&wanted) {
            Place::Free => return wanted,
            Place::Taken => k += 1,
            Place::Blocked(bytes) => name = beside(&name, bytes),
        }
    }
}

/// The name of the submission that lies there in the archive as a later attempt, going by how its place
/// is written. It may also be a name of its own.
pub fn name_of_archived(archived_as: &Name) -> Option<Name> {
    let bytes = archived_as.as_bytes();
    let (stem, extension) = split_extension(bytes);
    let (first, last) = without_number(stem)?;
    let name = match without_number(first) {
        Some((name, _)) => name,
        None if last != b"1" => first,
        None => return None,
    };
    Some(Name::from_bytes([name, extension].concat()))
}

/// What stands before and behind the last `~`, if that is a number, and there is something before.
fn without_number(stem: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = stem.iter().rposition(|&byte| byte == b'~')?;
    let (name, number) = (&stem[..at], &stem[at + 1..]);
    let is_number = !number.is_empty() && number.iter().all(u8::is_ascii_digit);
    let is_named = !matches!(name.last(), None | Some(b'/'));
    (is_number && is_named).then_some((name, number))
}

/// The name up to the last dot of its file, and from there.
fn split_extension(bytes: &[u8]) -> (&[u8], &[u8]) {
    let file = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let dot = bytes.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > file);
    bytes.split_at(dot.unwrap_or(bytes.len()))
}

/// The name with one more `~` behind the folder that its first `bytes` bytes name.
fn beside(name: &Name, bytes: usize) -> Name {
    let (path, rest) = name.as_bytes().split_at(bytes.min(name.as_bytes().len()));
    let start = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let (parents, folder) = path.split_at(start);
    let end = folder.iter().rposition(|&byte| byte != b'~').map_or(0, |last| last + 1);
    let marks = b"~".repeat(folder.len() - end + 1);
    let stem = cut(&folder[..end], FILE_NAME_BYTES_MAX.saturating_sub(marks.len()));
    Name::from_bytes([parents, stem, &marks, rest].concat())
}

/// At most so many bytes of `text`, and no character of it in part.
fn cut(text: &[u8], bytes_max: usize) -> &[u8] {
    let is_inside = |&at: &usize| text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let end = (0..=bytes_max.min(text.len())).rev().find(|at| !is_inside(at)).unwrap_or(0);
    &text[..end]
}

/// Where a submission is to lie in the archive: under its own name; `p3~2.txt` for the second
/// attempt; with a further number `k` where that is taken.
pub(super) fn archive_name(name: &Name, attempt: u32, k: u32) -> Name {
    let suffix = match (attempt, k) {
        (1, 0) => return name.clone(),
        (_, 0) => format!("~{attempt}"),
        _ => format!("~{attempt}~{k}"),
    };
    let bytes = name.as_bytes();
    let file = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let (stem, extension) = split_extension(bytes);
    let over = (bytes.len() - file + suffix.len()).saturating_sub(FILE_NAME_BYTES_MAX);
    // Where the file's name leaves no room for the number, the number wins over the name's end.
    let (stem, extension) = match stem.len().checked_sub(over).filter(|&kept| kept > file) {
        Some(kept) => (cut(stem, kept), extension),
        None => (cut(bytes, bytes.len() - over), &b""[..]),
    };
    Name::from_bytes([stem, suffix.as_bytes(), extension].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_what_is_archived_is_found_again() {
        let name = |text: &str| Name::from_bytes(text.as_bytes());
        for own in ["p", "p.txt", "team/p.txt", "te~3am/p.tar.gz", "a.b/p"] {
            assert_eq!(name_of_archived(&name(own)), None, "{own}");
            for (attempt, k) in [(1, 1), (2, 0), (2, 3), (17, 0)] {
                let place = archive_name(&name(own), attempt, k);
                assert_eq!(name_of_archived(&place), Some(name(own)), "{own} {attempt} {k}");
            }
        }
        // A first attempt has no number but together with another one.
        for own in ["p~1.txt", "p~x.txt", "p~", "~2", "team/~2.txt"] {
            assert_eq!(name_of_archived(&name(own)), None, "{own}");
        }
    }
}
