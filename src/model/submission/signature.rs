//! How a changed or replaced file is noticed without reading it.

use std::os::unix::fs::MetadataExt;

/// What shows whether a file is still the same file with the same content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Device and inode.
    pub identity: (u64, u64),
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the last modification, seconds and nanoseconds.
    pub modified: (i64, i64),
}

impl Signature {
    /// The signature of the file that `metadata` describes.
    pub fn of(metadata: &std::fs::Metadata) -> Signature {
        Signature {
            identity: (metadata.dev(), metadata.ino()),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Whether size and time are those of the other. Some file systems give a file another inode when it is
    /// renamed, so that does not count.
    pub fn has_content_of(&self, other: &Signature) -> bool {
        (self.bytes, self.modified) == (other.bytes, other.modified)
    }

    /// Whether this looks like a file of this size and time, or like gridmark's copy of it, which has a
    /// [time](copied_time) of its own.
    pub fn is_like(&self, bytes: u64, modified: (i64, i64)) -> bool {
        self.bytes == bytes && [modified, copied_time(modified)].contains(&self.modified)
    }

    #[cfg(test)]
    pub(crate) fn for_tests(bytes: u64) -> Signature {
        Signature { identity: (1, 1), bytes, modified: (0, 0) }
    }
}

/// The time that the copy of a file gets that was modified at this one: in whole steps of two seconds, which
/// even FAT keeps. A time that a file system rounds may change under its readers.
pub fn copied_time((seconds, _): (i64, i64)) -> (i64, i64) {
    (seconds - seconds.rem_euclid(2), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_recognised_by_a_time_that_fat_keeps() {
        let original = Signature { modified: (7, 999_999_999), ..Signature::for_tests(5) };
        let copy =
            Signature { identity: (2, 3), modified: copied_time(original.modified), ..original };
        assert_eq!(copy.modified, (6, 0));
        assert!(copy.is_like(original.bytes, original.modified));
        assert!(original.is_like(original.bytes, original.modified));
        assert!(!original.is_like(original.bytes, (7, 999_999_998)));
        assert!(!copy.is_like(6, original.modified));
        assert!(!copy.is_like(original.bytes, (8, 0)));
        assert!(!copy.has_content_of(&original));
        assert_eq!(copied_time((-1, 0)), (-2, 0));
    }
}
