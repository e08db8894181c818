//! A guest: an overlay of this system that keeps every change in memory and is removed with it. It has
//! a process namespace too, so nothing that it starts outlives it. Only root can have one.

use crate::kit::needs::{find_program, hold, need, programs, root};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A condition that does not come true in this time is taken never to do so.
const DEADLINE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(20);

/// Where the settings file of the service is.
pub const SETTINGS: &str = "/etc/gridmark/gridmark.toml";

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

/// It exists for as long as this value.
pub struct Guest {
    holder: Child,
    folder: tempfile::TempDir,
}

impl Guest {
    /// A new one with these programs; none where that is impossible.
    pub fn with(names: &[&str]) -> Option<Guest> {
        if !root() || !programs(names) || !programs(&["unshare", "nsenter", "chroot", "setpriv"]) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(find_program("unshare").unwrap());
        command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", HOST]);
        let holder = hold(command.arg(folder.path()));
        let remedy = "run the tests with CAP_SYS_ADMIN (docker run --privileged)";
        Some(Guest { holder: need("an overlay of this system", holder, remedy)?, folder })
    }

    /// The path by which this process reaches a path of the guest.
    pub fn path(&self, path: &str) -> PathBuf {
        let mounts = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        let root = mounts.join(self.folder.path().strip_prefix("/").unwrap()).join("root");
        root.join(path.trim_start_matches('/'))
    }

    /// A command that runs there.
    pub fn command(&self, args: &[&str]) -> Command {
        let holder = format!("/proc/{}/ns", self.holder.id());
        let mut command = Command::new(find_program("nsenter").unwrap());
        command.arg(format!("--mount={holder}/mnt"));
        command.arg(format!("--pid={holder}/pid_for_children"));
        command.arg("--").arg(find_program("chroot").unwrap()).arg(self.folder.path().join("root"));
        command
            .args(args)
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive");
        command.stdin(Stdio::null());
        command
    }

    /// Whether a line of shell succeeds there, and its output, standard error included.
    pub fn try_sh(&self, script: &str) -> (bool, String) {
        let mut command = self.command(&["sh", "-c"]);
        let Output { status, stdout, .. } =
            command.arg(format!("exec 2>&1; cd /; {script}")).output().unwrap();
        (status.success(), String::from_utf8_lossy(&stdout).into_owned())
    }

    /// The output of a line of shell that has to succeed there.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        let (is_good, printed) = self.try_sh(script);
        assert!(is_good, "{script}:\n{printed}");
        printed
    }

    /// Waits until a line of shell succeeds there.
    #[track_caller]
    pub fn wait_until(&self, script: &str) -> String {
        let start = Instant::now();
        loop {
            let (is_good, printed) = self.try_sh(script);
            if is_good {
                return printed;
            }
            assert!(start.elapsed() < DEADLINE, "not in time: {script}\n{printed}");
            std::thread::sleep(PAUSE);
        }
    }

    /// The service as its unit has it started: by that command, as that user, and ready. It ends with
    /// the guest.
    pub fn serve(&self, unit: &str) -> Child {
        let unit = std::fs::read_to_string(self.path(unit)).unwrap();
        let of = |key: &str| {
            let line = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            line.unwrap_or_else(|| panic!("{key} is not in the unit")).to_owned()
        };
        let capabilities = of("AmbientCapabilities").to_lowercase();
        let capabilities = capabilities.split_whitespace().map(|name| name.replace("cap_", "+"));
        let capabilities = capabilities.collect::<Vec<_>>().join(",");
        let script = format!(
            "umask {} && exec setpriv --inh-caps={capabilities} --ambient-caps={capabilities} \
             --reuid {} --regid {} --init-groups {}",
            of("UMask"),
            of("User"),
            of("Group"),
            of("ExecStart")
        );
        let child = self
            .command(&["sh", "-c", &script])
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(self.path("/tmp/log")).unwrap())
            .spawn()
            .unwrap();
        let health = format!("gridmark health --config {SETTINGS}");
        self.wait_until(&format!("{health} || {{ cat /tmp/log; false; }}"));
        child
    }

    /// Ends the service, as its unit does.
    pub fn stop(&self, mut service: Child) {
        self.sh(
            "kill -TERM $(sed -n 's/process \\([0-9]*\\),.*/\\1/p' /var/lib/gridmark/state/lock)",
        );
        let status = service.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.sh("cat /tmp/log"));
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
