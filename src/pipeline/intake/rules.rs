//! The rules by which files and folders of the inbox are left alone. Intake, `gridmark why` and
//! `gridmark grade` all ask here.

use crate::config::Intake;
use crate::model::escape::Printable;
use crate::model::named;
use crate::model::submission::{FILE_NAME_BYTES_MAX, Name};
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

    /// The name of a file that is to be handed in at this path below the inbox.
    ///
    /// # Errors
    ///
    /// It is no path below the inbox, or a file there would be left alone; a message says why.
    pub fn name_of(self, path: &str) -> Result<Name, String> {
        if path.is_empty() {
            return Err("the name is empty".into());
        }
        if path.chars().any(char::is_control) {
            return Err("the name holds control characters; rename the file".into());
        }
        let name = Name::from_bytes(path);
        if let Some(why) = self.by_path(&name, false) {
            return Err(self.explain(&name, why));
        }
        let mut above = Name::from_bytes("");
        for part in path.split('/') {
            if matches!(part, "" | "." | "..") {
                return Err(
                    "the name has to be a path below the inbox, without empty parts, `.` and `..`"
                        .into(),
                );
            }
            if part.len() > FILE_NAME_BYTES_MAX {
                return Err(format!(
                    "a part of the name has more than {FILE_NAME_BYTES_MAX} bytes; make it shorter"
                ));
            }
            above = above.join(OsStr::new(part));
            if let Some(why) = self.by_name(OsStr::new(part)) {
                return Err(self.explain(&above, why));
            }
            if above != name
                && let Some(why) = self.by_path(&above, true)
            {
                return Err(self.explain(&above, why));
            }
        }
        Ok(name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_in_gets_a_name_below_the_inbox_that_intake_takes() {
        let settings = Intake { depth_max: 3, name_bytes_max: 300, ..Intake::default() };
        let rules = Rules(&settings);
        for path in ["p", "a/b/c/p.txt", "Zoë/π 1.txt", "a..b/c..", "'quoted' & <b>", "\u{202e}p"]
        {
            assert_eq!(rules.name_of(path), Ok(Name::from_bytes(path)), "{path}");
        }
        let (long, part) = ("x/".repeat(150) + "p", "x".repeat(256));
        for (path, why) in [
            ("", "is empty"),
            ("/etc/passwd", "below the inbox"),
            ("../p", "below the inbox"),
            ("a/../p", "below the inbox"),
            ("a/./p", "below the inbox"),
            ("a//p", "below the inbox"),
            ("a/", "below the inbox"),
            ("a\0b", "control characters"),
            ("a\nb", "control characters"),
            ("a\u{85}b", "control characters"),
            (".hidden/p", ".hidden fits the pattern `.*` of intake.ignored"),
            ("a/p.part", "p.part fits the pattern"),
            ("a/P.TMP", "P.TMP fits the pattern"),
            (".gridmark-17", "is a name that gridmark uses itself"),
            ("a/.gridmark-hand-in-1/p", "is a name that gridmark uses itself"),
            ("a/b/c/d/p", "the folder a/b/c/d is deeper than intake.depth_max = 3 allows"),
            (&long, "more than intake.name_bytes_max = 300"),
            (&part, "more than 255 bytes"),
        ] {
            let refused = rules.name_of(path).expect_err(path);
            assert!(refused.contains(why), "{path}: {refused}");
        }
    }
}
