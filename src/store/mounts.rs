//! The table of mounted file systems: what kind of file system a folder is on, and which folder it shows.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The path at which it is mounted.
    pub point: PathBuf,
    /// Its device, as the system writes it: `8:1`.
    pub device: String,
    /// The folder or file of its file system that it shows.
    pub root: PathBuf,
    /// Its type: `ext4`, `nfs4`, `fuse.sshfs`.
    pub kind: String,
    /// The device or the remote path.
    pub source: String,
    /// The options of the mount and of the file system.
    pub options: Vec<String>,
}

/// Types of file systems that other machines share, or the host of a virtual machine.
const REMOTE: [&str; 20] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "ncpfs",
    "afs",
    "ceph",
    "lustre",
    "gfs2",
    "ocfs2",
    "9p",
    "virtiofs",
    "vboxsf",
    "vmhgfs",
    "prl_fs",
    "glusterfs",
    "beegfs",
    "gpfs",
    "orangefs",
];

impl Mount {
    /// Whether other machines may change its contents.
    pub fn is_remote(&self) -> bool {
        REMOTE.contains(&self.kind.as_str())
    }

    /// Whether a process implements it, and not the kernel.
    pub fn is_fuse(&self) -> bool {
        self.kind == "fuse" || self.kind.starts_with("fuse.")
    }

    /// Whether its contents are in memory.
    pub fn is_memory(&self) -> bool {
        ["tmpfs", "ramfs"].contains(&self.kind.as_str())
    }

    /// An option that lets the file system report data as durable before it is.
    pub fn unsafe_option(&self) -> Option<&str> {
        let loses = ["nobarrier", "barrier=0", "volatile", "fsync=volatile", "sync=disabled"];
        self.options.iter().map(String::as_str).find(|option| loses.contains(option))
    }
}

/// All mounts, in the order in which they were made; `None` if they cannot be read.
pub fn all() -> Option<Vec<Mount>> {
    let text = std::fs::read("/proc/self/mountinfo").ok()?;
    Some(text.split(|&byte| byte == b'\n').filter_map(parse).collect())
}

/// The mount on which `path` lies; it must be absolute and without links.
pub fn of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    // Of two at one path, the later one hides the other; `max_by_key` returns the last.
    above.max_by_key(|mount| mount.point.components().count())
}

/// `36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue`
fn parse(line: &[u8]) -> Option<Mount> {
    let words = line.split(|&byte| byte == b' ').collect::<Vec<_>>();
    let middle = words.iter().position(|word| *word == b"-")?;
    let text = |word: Option<&&[u8]>| Some(String::from_utf8_lossy(word?).into_owned());
    let options = |word: Option<&&[u8]>| {
        let text = text(word).unwrap_or_default();
        text.split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    let mut all = options(words.get(5));
    all.extend(options(words.get(middle + 3)));
    let path = |word: Option<&&[u8]>| Some(PathBuf::from(OsString::from_vec(unescape(word?))));
    Some(Mount {
        point: path(words.get(4))?,
        device: text(words.get(2))?,
        root: path(words.get(3))?,
        kind: text(words.get(middle + 1))?,
        source: text(words.get(middle + 2))?,
        options: all,
    })
}

/// Decodes octal escapes: a blank is written as `\040`.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut rest = word;
    while let Some((&first, tail)) = rest.split_first() {
        let code = tail.get(..3).filter(|_| first == b'\\');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                plain.push(byte);
                rest = &tail[3..];
            }
            None => {
                plain.push(first);
                rest = tail;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_lies_on_the_nearest_mount_above_it_and_on_the_later_one_of_two() {
        let text = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,barrier=0\n\
                    30 22 0:40 / /srv/the\\040disk rw - tmpfs none rw,size=1k\n\
                    31 22 0:41 / /srv rw master:1 shared:2 - nfs4 host:/x rw,vers=4.2\n\
                    32 31 0:42 / /srv/the\\040disk ro - fuse.sshfs me@host: ro\n\
                    no mount\n";
        let mounts = text.as_bytes().split(|&byte| byte == b'\n').filter_map(parse);
        let mounts = mounts.collect::<Vec<_>>();
        let on = |path: &str| of(&mounts, Path::new(path)).expect("a mount");
        assert_eq!(on("/srv2/inbox").kind, "ext4");
        assert_eq!(on("/srv2/inbox").unsafe_option(), Some("barrier=0"));
        assert!(on("/srv/inbox").is_remote());
        assert!(on("/srv/the disk/inbox").is_fuse());
        assert_eq!(on("/srv/the disk").options[0], "ro");
        assert!(mounts[1].is_memory());
        assert_eq!((on("/x").device.as_str(), on("/x").root.as_path()), ("8:1", Path::new("/")));
        assert_eq!(mounts.len(), 4);
    }
}
