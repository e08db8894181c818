//! A guest: the system as it is here, with every change going to memory and away with the guest. It
//! has its own processes too, so nothing that it starts outlives it. Only root can have one.

use super::tool;
use crate::kit::tools::hold;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What does not come true in this time never does.
const DEADLINE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

/// Mounts the guest's root at `$0/root`, then waits for the end of its standard input.
const HOST: &str = r#"
    set -e
    mount --make-rprivate /
    mount -t tmpfs none "$0"
    mkdir "$0/upper" "$0/work" "$0/root"
    mount -t overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" none "$0/root"
    mount -t tmpfs none "$0/root/run"
    mount -t tmpfs none "$0/root/tmp"
    chmod 1777 "$0/root/tmp"
    mount -t proc none "$0/root/proc"
    mount -t tmpfs none "$0/root/dev"
    for device in null zero full random urandom; do
        touch "$0/root/dev/$device"
        mount --bind "/dev/$device" "$0/root/dev/$device"
    done
    echo there
    exec cat
"#;

/// It is there for as long as this lives.
pub struct Guest {
    holder: Child,
    folder: tempfile::TempDir,
}

impl Guest {
    /// A new one, or why there can be none.
    pub fn new() -> Result<Guest, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("only root can install packages into an overlay of the system".into());
        }
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(tool("unshare").ok_or("unshare is missing")?);
        command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", HOST]);
        Ok(Guest { holder: hold(command.arg(folder.path()))?, folder })
    }

    /// What lies at this path there, as it is seen from here.
    pub fn path(&self, path: &str) -> PathBuf {
        let mounts = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        let root = mounts.join(self.folder.path().strip_prefix("/").unwrap()).join("root");
        root.join(path.trim_start_matches('/'))
    }

    /// A command that runs there.
    pub fn command(&self, args: &[&str]) -> Command {
        let holder = format!("/proc/{}/ns", self.holder.id());
        let mut command = Command::new(tool("nsenter").unwrap());
        command.arg(format!("--mount={holder}/mnt"));
        command.arg(format!("--pid={holder}/pid_for_children"));
        command.arg("--").arg(tool("chroot").unwrap()).arg(self.folder.path().join("root"));
        command.args(args).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive");
        command.stdin(Stdio::null());
        command
    }

    /// What a line of shell tells there, standard error included, and whether it went well.
    pub fn try_sh(&self, script: &str) -> (bool, String) {
        let mut command = self.command(&["sh", "-c"]);
        let Output { status, stdout, .. } =
            command.arg(format!("exec 2>&1; cd /; {script}")).output().unwrap();
        (status.success(), String::from_utf8_lossy(&stdout).into_owned())
    }

    /// The same of one that must go well.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        let (is_good, told) = self.try_sh(script);
        assert!(is_good, "{script}:\n{told}");
        told
    }

    /// Waits until a line of shell goes well there.
    #[track_caller]
    pub fn wait_until(&self, script: &str) -> String {
        let start = Instant::now();
        loop {
            let (is_good, told) = self.try_sh(script);
            if is_good {
                return told;
            }
            assert!(start.elapsed() < DEADLINE, "in vain: {script}\n{told}");
            std::thread::sleep(PAUSE);
        }
    }

    /// Copies a file there.
    pub fn put(&self, file: &Path, path: &str) {
        std::fs::copy(file, self.path(path)).unwrap();
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // All of its processes are killed with the first of them.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
