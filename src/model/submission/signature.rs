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

    /// Whether this looks like a copy of the other, or the other itself.
    pub fn has_content_of(&self, other: &Signature) -> bool {
        (self.bytes, self.modified) == (other.bytes, other.modified)
    }

    /// Whether this is the unchanged file whose signature was `seen` before it was taken: the same
    /// file, or its copy on another device.
    pub fn is_what_was_seen(&self, seen: &Signature) -> bool {
        if self.identity.0 == seen.identity.0 { self == seen } else { self.has_content_of(seen) }
    }

    #[cfg(test)]
    pub(crate) fn for_tests(bytes: u64) -> Signature {
        Signature { identity: (1, 1), bytes, modified: (0, 0) }
    }
}
