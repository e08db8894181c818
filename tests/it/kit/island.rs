//! An island: user and mount namespaces for the program alone, with small file systems and limits that
//! apply only there. It does not take root, but the system has to allow it.

use super::needs::{find_program, hold, need};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// It exists for as long as this value, and so does everything that was mounted there.
pub struct Island {
    holder: Child,
}

impl Island {
    /// A new one; none where the system does not allow it.
    pub fn new() -> Option<Island> {
        let remedy = "sysctl kernel.unprivileged_userns_clone=1, or docker run --privileged";
        need("a user and mount namespace", Island::try_new(), remedy)
    }

    fn try_new() -> Result<Island, String> {
        let mut command = Command::new(path_of("unshare"));
        command.args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            "echo there && exec cat",
        ]);
        let island = Island { holder: hold(&mut command)? };
        island.sh("mount -t tmpfs none /mnt && umount /mnt")?;
        Ok(island)
    }

    /// A command that runs on the island.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(path_of("nsenter"));
        command.arg("--target").arg(self.holder.id().to_string()).args(["--user", "--mount", "--"]);
        command.arg(program.as_ref());
        command
    }

    fn sh(&self, script: &str) -> Result<(), String> {
        let output = self.command(path_of("sh")).args(["-c", script]).output().unwrap();
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{script}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// Runs a line of shell on the island, which has to succeed.
    #[track_caller]
    pub fn run(&self, script: &str) {
        self.sh(script).unwrap();
    }

    /// The path by which this process reaches a path of the island.
    pub fn path(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        root.join(path.strip_prefix("/").unwrap())
    }
}

impl Drop for Island {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// The path of a program.
fn path_of(name: &str) -> PathBuf {
    find_program(name).unwrap_or_else(|| name.into())
}
