//! Words of messages that depend on a number: how many there are of something, or of an error of the system.

use rustix::io::Errno;
use std::borrow::Cow;
use std::fmt::Display;
use std::io;

/// A number and its noun, in the plural unless it is one.
///
/// ```
/// use gridmark::model::words::counted;
/// assert_eq!(counted(1, "large file"), "1 large file");
/// assert_eq!(counted(0_usize, "folder"), "0 folders");
/// ```
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    let end = if number == N::from(1) { "" } else { "s" };
    format!("{number} {noun}{end}")
}

/// How often something happened: `once`, `3 times`.
///
/// ```
/// use gridmark::model::words::times;
/// assert_eq!([times(1), times(2)], ["once", "2 times"]);
/// ```
pub fn times(count: u32) -> String {
    if count == 1 { "once".to_owned() } else { counted(count, "time") }
}

/// Errors whose own words say too little to people: what each means, and what to do about it.
const MEANINGS: &[(Errno, &str, &str)] = &[
    (Errno::IO, "the disk, or the way to it, has failed", "see dmesg"),
    (Errno::NXIO, "the device is gone or not ready", "see dmesg"),
    (Errno::NODEV, "the device is gone or cannot do this", "see dmesg"),
    (
        Errno::AGAIN,
        "the system cannot do this at the moment: another program holds the file, or threads have run out",
        "try again",
    ),
    (Errno::BUSY, "the system itself is using it, as it uses a mount point", "see findmnt"),
    (Errno::XDEV, "it lies on another mount", "see findmnt"),
    (
        Errno::NFILE,
        "all programs together have as many files open as the system allows",
        "raise fs.file-max",
    ),
    (
        Errno::MFILE,
        "this program has as many files open as it may",
        "raise LimitNOFILE of the unit, or ulimit -n",
    ),
    (Errno::FBIG, "no file may become that large here", "see ulimit -f"),
    (
        Errno::LOOP,
        "it is a link where none is followed, or links lead round in a circle",
        "put the file or folder itself there",
    ),
    (Errno::NOLCK, "its file system has no locks", "see findmnt"),
    (Errno::NOSYS, "this system cannot do that", "use a newer one"),
    (Errno::OPNOTSUPP, "its file system cannot do that", "see findmnt"),
    (
        Errno::ILSEQ,
        "its file system does not allow these characters in a name",
        "give it another name",
    ),
    (Errno::NOTCONN, "the program behind its mount has ended", "mount it again"),
    (Errno::STALE, "it was removed or replaced on the server", "if that lasts, mount it again"),
    (Errno::UCLEAN, "the file system is damaged", "check it with fsck"),
    (Errno::BADMSG, "the file system is damaged", "check it with fsck"),
    (Errno::REMOTEIO, "the server or device behind its mount has failed", "see dmesg"),
    (Errno::NOKEY, "its folder is encrypted and locked", "unlock it"),
    (Errno::ADDRNOTAVAIL, "this machine does not have that address", "see ip address"),
];

/// A message in which errors of the system that say little say what they mean, and what to do.
///
/// ```
/// use gridmark::model::words::explained;
/// let raw = std::io::Error::from_raw_os_error(24);
/// assert_eq!(
///     explained(&format!("cannot read p: {raw}")),
///     "cannot read p: this program has as many files open as it may: raise LimitNOFILE of the \
///      unit, or ulimit -n (Too many open files)"
/// );
/// ```
pub fn explained(message: &str) -> Cow<'_, str> {
    const START: &str = " (os error ";
    let mut message = Cow::Borrowed(message);
    let mut from = 0;
    while let Some(at) = message[from..].find(START).map(|at| from + at) {
        from = at + START.len();
        let digits = message[from..].split(')').next().unwrap_or_default();
        let Ok(code) = digits.parse::<i32>() else { continue };
        let found = MEANINGS.iter().find(|(errno, ..)| errno.raw_os_error() == code);
        let raw = io::Error::from_raw_os_error(code).to_string();
        let end = from + digits.len() + 1;
        if let Some((_, meaning, remedy)) = found
            && let Some(before) = message.get(..end).and_then(|text| text.strip_suffix(&raw))
        {
            let own = raw.split(START).next().unwrap_or_default();
            let new = format!("{before}{meaning}: {remedy} ({own})");
            from = new.len();
            message = Cow::Owned(new + &message[end..]);
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_of_the_system_are_explained_wherever_they_stand() {
        let plain = [
            "",
            "no error (os error 40)",
            "No such file or directory (os error 2)",
            "(os error ",
            "ä (os error 40",
            "x (os error 99999999999) (os error -1) (os error 4000)",
        ];
        for message in plain {
            assert_eq!(explained(message), message);
        }
        let link = io::Error::from(Errno::LOOP);
        let twice = explained(&format!("é{link}; {link} (os error 40)")).into_owned();
        let said = "it is a link where none is followed, or links lead round in a circle: put the file or \
                    folder itself there (Too many levels of symbolic links)";
        assert_eq!(twice, format!("é{said}; {said} (os error 40)"));
        for (errno, ..) in MEANINGS {
            assert!(!explained(&io::Error::from(*errno).to_string()).contains("os error"));
        }
    }
}
