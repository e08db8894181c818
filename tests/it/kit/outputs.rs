//! Standard outputs whose reader has stopped: whoever writes to them waits, and for ever.

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{ErrorKind, PipeReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// Stops a terminal: Ctrl-S.
const STOP: u8 = 0x13;

/// A new terminal: its outer end, of the program that shows it, and its inner end, of the programs in it.
pub fn terminal() -> (File, File) {
    let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&outside).unwrap();
    unlockpt(&outside).unwrap();
    let name = ptsname(&outside, Vec::new()).unwrap();
    let mut inside = File::options();
    let inside = inside.write(true).custom_flags(OFlags::NOCTTY.bits().cast_signed());
    (outside.into(), inside.open(name.to_str().unwrap()).unwrap())
}

/// A terminal that somebody has stopped.
pub fn stopped_terminal() -> (File, File) {
    let (mut outside, inside) = terminal();
    outside.write_all(&[STOP]).unwrap();
    fill(&inside);
    (outside, inside)
}

/// A pipe that is full and that nobody reads.
pub fn full_pipe() -> (PipeReader, File) {
    let (reader, writer) = std::io::pipe().unwrap();
    let writer = File::from(std::os::fd::OwnedFd::from(writer));
    fill(&writer);
    (reader, writer)
}

/// Writes until nobody takes more.
fn fill(output: &File) {
    // Opened again, since the flag belongs to the open file, which is shared with the program.
    let path = format!("/proc/self/fd/{}", output.as_raw_fd());
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let mut output = File::options().write(true).custom_flags(flags).open(path).unwrap();
    loop {
        match output.write(b".") {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) => panic!("{error}"),
        }
    }
}
