//! The rules by which files and folders of the inbox are left alone. Intake, `gridmark why` and
//! `gridmark grade` all ask here.

use crate::config::Intake;
use crate::model::escape::Printable;
use crate::model::named;
use crate::model::submission::Name;
use crate::store::archive::HIDDEN_PREFIX;
use std::ffi::OsStr;
use std::fs::FileType;
use std::os::unix::ffi::OsStrExt;

/// The rules under these settings.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a>(pub &'a Intake);

/// Why a file or folder is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftAlone {
    /// Its name is one that gridmark gives to files while it moves them.
    OwnName,
    /// Its name fits the pattern with this index in `intake.ignored`.
    Ignored(usize),
    /// It is neither a file nor a folder, but this.
    NotAFile(&'static str),
    /// It is a folder below the depth that `intake.depth_max` allows.
    TooDeep,
    /// Its path has this many bytes, more than `intake.name_bytes_max` allows.
    PathTooLong(usize),
}

impl Rules<'_> {
    /// The rules for a name, which is one part of a path.
    pub fn by_name(self, part: &OsStr) -> Option<LeftAlone> {
        if part.as_bytes().starts_with(HIDDEN_PREFIX.as_bytes()) {
            return Some(LeftAlone::OwnName);
        }
        self.0.ignored_pattern(part.as_bytes()).map(LeftAlone::Ignored)
    }

    /// The rules for what kind of entry it is.
    pub fn by_type(self, kind: FileType) -> Option<LeftAlone> {
        named::odd(kind).map(LeftAlone::NotAFile)
    }

    /// The rules for where it is: the depth of a folder, and the length of the whole path.
    pub fn by_path(self, name: &Name, is_folder: bool) -> Option<LeftAlone> {
        let path = name.as_bytes();
        let depth = path.iter().filter(|&&byte| byte == b'/').count();
        if is_folder && depth >= self.0.depth_max {
            Some(LeftAlone::TooDeep)
        } else if path.len() > self.0.name_bytes_max {
            Some(LeftAlone::PathTooLong(path.len()))
        } else {
            None
        }
    }

    /// Explains a reason for `name`, with the setting that can change it.
    pub fn explain(self, name: &Name, reason: LeftAlone) -> String {
        let part = Name::from_bytes(name.split().1.as_bytes());
        match reason {
            LeftAlone::OwnName => format!("{part} is a name that gridmark uses itself"),
            LeftAlone::Ignored(pattern) => {
                let pattern = self.0.ignored.get(pattern).map_or("", String::as_str);
                let pattern = Printable(pattern.as_bytes());
                format!(
                    "{part} fits the pattern `{pattern}` of intake.ignored (names of unfinished files, \
                     and of what programs leave behind); rename it to hand it in"
                )
            }
            LeftAlone::NotAFile(what) => format!("{part} is {what}, and only files are graded"),
            LeftAlone::TooDeep => format!(
                "the folder {name} is deeper than intake.depth_max = {} allows",
                self.0.depth_max
            ),
            LeftAlone::PathTooLong(bytes) => format!(
                "its path under the inbox has {bytes} bytes, more than intake.name_bytes_max = {}",
                self.0.name_bytes_max
            ),
        }
    }
}
