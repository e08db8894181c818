//! The name of a submission, which is also the name of its file in the archive and of its report.

use crate::model::escape::{Printable, bytes_of};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

/// The longest name of one file or folder on Linux file systems, in bytes.
pub const FILE_NAME_BYTES_MAX: usize = 255;

/// The name of a submission: its path under the inbox, with `/`, as bytes. Clones share the memory.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<OsStr>);

impl Name {
    /// The name with these bytes, which neither begin nor end with `/`.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Name {
        Name(OsString::from_vec(bytes.into()).into())
    }

    /// The name as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The name as a relative path.
    pub fn as_path(&self) -> &Path {
        Path::new(&*self.0)
    }

    /// The name of `child` in the folder with this name; the empty name is the inbox itself.
    pub fn join(&self, child: &OsStr) -> Name {
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + child.len());
        if !self.0.is_empty() {
            bytes.extend_from_slice(self.as_bytes());
            bytes.push(b'/');
        }
        bytes.extend_from_slice(child.as_bytes());
        Name::from_bytes(bytes)
    }

    /// The first part of the path, if the file lies in a folder.
    pub fn folder(&self) -> Option<&[u8]> {
        let slash = self.as_bytes().iter().position(|&byte| byte == b'/')?;
        Some(&self.as_bytes()[..slash])
    }

    /// The folder that holds the file, and the file's own name.
    pub fn split(&self) -> (&OsStr, &OsStr) {
        let bytes = self.as_bytes();
        match bytes.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => {
                (OsStr::from_bytes(&bytes[..slash]), OsStr::from_bytes(&bytes[slash + 1..]))
            }
            None => (OsStr::new(""), &self.0),
        }
    }
}

/// The name as people read it, [printable](Printable): names that differ look different.
///
/// ```
/// use gridmark::model::submission::Name;
/// assert_eq!(Name::from_bytes(*b"team 7/p\xff\n.txt").to_string(), r"team 7/p\xFF\x0A.txt");
/// ```
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(self.as_bytes()).fmt(f)
    }
}

/// As people read it.
impl Serialize for Name {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = bytes_of(&text);
        bytes.map(Name::from_bytes).ok_or_else(|| D::Error::custom("no name as reports show it"))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({self})")
    }
}

/// Whether a name in the archive can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nothing is there.
    Free,
    /// Something is there.
    Taken,
    /// The path of its first so many bytes is not a folder, so nothing can lie below it.
    Blocked(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_first_part_of_the_path() {
        assert_eq!(Name::from_bytes(*b"a/b/c.txt").folder(), Some(&b"a"[..]));
        assert_eq!(Name::from_bytes(*b"c.txt").folder(), None);
    }

    #[test]
    fn a_name_splits_into_parent_and_file() {
        let name = Name::from_bytes(*b"a/b/c.txt");
        assert_eq!(name.split(), (OsStr::new("a/b"), OsStr::new("c.txt")));
        assert_eq!(Name::from_bytes(*b"c.txt").split(), (OsStr::new(""), OsStr::new("c.txt")));
    }
}
