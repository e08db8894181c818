//! Names in the archive.

use crate::submission::{Name, Place};

/// The first name for a submission in the archive that is free.
pub(super) fn free_archive_name(name: &Name, attempt: u32, place: impl Fn(&Name) -> Place) -> Name {
    let mut name = name.clone();
    let mut k = 0;
    loop {
        let wanted = archive_name(&name, attempt, k);
        k += 1;
        match place(&wanted) {
            Place::Free => return wanted,
            Place::Taken => {}
            Place::Blocked(bytes) => {
                let (folder, rest) = name.as_bytes().split_at(bytes.min(name.as_bytes().len()));
                name = Name::from_bytes([folder, b"~", rest].concat());
            }
        }
    }
}

/// Where a submission is to lie in the archive: under its own name; `p3~2.txt` for the second
/// attempt; with a further number `k` where that is taken.
pub(super) fn archive_name(name: &Name, attempt: u32, k: u32) -> Name {
    const FILE_NAME_BYTES_MAX: usize = 255;
    let suffix = match (attempt, k) {
        (1, 0) => return name.clone(),
        (_, 0) => format!("~{attempt}"),
        _ => format!("~{attempt}~{k}"),
    };
    let bytes = name.as_bytes();
    let file = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let dot = bytes.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > file);
    let (stem, extension) = bytes.split_at(dot.unwrap_or(bytes.len()));
    let over = (bytes.len() - file + suffix.len()).saturating_sub(FILE_NAME_BYTES_MAX);
    // Where the file's name leaves no room for the number, the number wins over the name's end.
    let (stem, extension) = match stem.len().checked_sub(over).filter(|&kept| kept > file) {
        Some(kept) => (&stem[..kept], extension),
        None => (&bytes[..bytes.len() - over], &b""[..]),
    };
    Name::from_bytes([stem, suffix.as_bytes(), extension].concat())
}
