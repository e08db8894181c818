//! An island: namespaces of their own for the program, with small file systems and with limits that
//! hold there alone. Nobody has to be root for it, but the system has to allow it.

use super::Sandbox;
use super::needs::{find_program, hold, need};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// It is there for as long as this lives; whatever was mounted goes with it.
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

    /// Runs a line of shell on the island, which must go well.
    #[track_caller]
    pub fn run(&self, script: &str) {
        self.sh(script).unwrap();
    }

    /// What lies at this path there, as it is seen from here.
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

/// The path of a program that systems have.
fn path_of(name: &str) -> PathBuf {
    find_program(name).unwrap_or_else(|| name.into())
}

impl Sandbox {
    /// A sandbox on an island; none where there can be no islands.
    pub fn on_island() -> Option<Sandbox> {
        let mut sandbox = Sandbox::new();
        sandbox.island = Some(Island::new()?);
        Some(sandbox)
    }

    /// Runs a line of shell on the sandbox's island, in its root.
    #[track_caller]
    pub fn on_shore(&self, script: &str) {
        let root = self.root.path().display();
        self.island.as_ref().unwrap().run(&format!("cd {root} && {script}"));
    }

    /// Has it written to this file which system calls the processes make that are started later.
    pub fn trace_calls(&mut self, into: PathBuf) -> &mut Sandbox {
        self.calls = Some(into);
        self
    }

    /// This program, all of whose system calls are written down by strace.
    pub(super) fn traced(&self, program: &str) -> Command {
        let mut command = Command::new(path_of("strace"));
        // The program is the process that we start, and strace comes beside it.
        command.args(["-D", "-f", "-qq", "-A", "-o"]).args(&self.calls).arg(program);
        command
    }

    /// Lets processes that are started later have so many descriptors at the most.
    pub fn bound_descriptors(&mut self, most: u64) -> &mut Sandbox {
        self.limits.push(format!("ulimit -n {most}"));
        self
    }

    /// Lets no file grow beyond so many blocks of 512 bytes that processes write that are started
    /// later.
    pub fn bound_files(&mut self, blocks_max: u64) -> &mut Sandbox {
        self.limits.push(format!("ulimit -f {blocks_max}"));
        self
    }

    /// Lifts the limits for processes that are started later.
    pub fn lift_bounds(&mut self) -> &mut Sandbox {
        self.limits.clear();
        self
    }

    /// A sandbox in which the service is ready.
    pub fn started() -> Sandbox {
        let mut sandbox = Sandbox::new();
        sandbox.start();
        sandbox
    }
}
