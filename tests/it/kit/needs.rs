//! What tests need beyond cargo: programs, root, namespaces, a second file system.
//!
//! All of it is asked for here. Where something is missing, the test that needs it says so and
//! returns; with `CI=true` in the environment it fails instead, so that CI leaves nothing untested.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The user `nobody`, who may do nothing special.
pub const NOBODY: u32 = 65_534;

/// Programs that not every machine has, and how to get them.
const PROGRAMS: [(&str, &str); 23] = [
    ("amtool", "apt-get install prometheus-alertmanager"),
    ("bash", "apt-get install bash"),
    ("cargo-deb", "cargo install cargo-deb@3.8.0 --locked"),
    ("chromedriver", "apt-get install chromium-driver"),
    ("chromium", "apt-get install chromium"),
    ("dpkg-shlibdeps", "apt-get install dpkg-dev"),
    ("fish", "apt-get install fish"),
    ("groff", "apt-get install groff"),
    ("lintian", "apt-get install lintian"),
    ("mkfs.btrfs", "apt-get install btrfs-progs"),
    ("mkfs.ext4", "apt-get install e2fsprogs"),
    ("mkfs.xfs", "apt-get install xfsprogs"),
    ("mandoc", "apt-get install mandoc"),
    ("prometheus", "apt-get install prometheus"),
    ("prometheus-alertmanager", "apt-get install prometheus-alertmanager"),
    ("promtool", "apt-get install prometheus"),
    ("setpriv", "apt-get install util-linux"),
    ("strace", "apt-get install strace"),
    ("systemd-analyze", "apt-get install systemd"),
    ("systemd-sysusers", "apt-get install systemd"),
    ("systemd-tmpfiles", "apt-get install systemd"),
    ("xfs_io", "apt-get install xfsprogs"),
    ("zsh", "apt-get install zsh"),
];

/// What was found of something that a test needs. If it is missing, says so and how to get it, and
/// gives nothing; fails with `CI=true`.
pub fn need<T>(what: &str, found: Result<T, String>, remedy: &str) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(why) => {
            let test = std::thread::current();
            let test = test.name().unwrap_or("a test");
            let missing = format!("{what} is missing ({why}); to get it: {remedy}");
            assert!(std::env::var_os("CI").is_none_or(|set| set != "true"), "{missing}");
            // The output of a test that passes is not shown if it goes the usual way.
            let _ = writeln!(std::io::stderr(), "NOT TESTED: {test}: {missing}");
            None
        }
    }
}

/// Whether the system has all of these programs.
pub fn programs(names: &[&str]) -> bool {
    names.iter().all(|name| {
        let known = PROGRAMS.iter().find(|(program, _)| program == name);
        let remedy = known.map_or("install it, or add its folder to PATH", |(_, remedy)| remedy);
        let found = find_program(name).ok_or("not in PATH, /usr/sbin or /sbin".into());
        need(name, found, remedy).is_some()
    })
}

/// Where the system has this program.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    path.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// How to get axe-core, which checks whether pages are accessible; run in the repository.
const AXE_CORE: &str = "npm install --prefix target/tools --no-save axe-core@4.14.1";

/// The hash of that version, by BLAKE3.
const AXE_CORE_HASH: &str = "a0ed4373d1e8caa6416959a32966c75840c12038c33fc4b8d68e50eed251640d";

/// The script of axe-core.
pub fn axe_core() -> Option<String> {
    let path = "target/tools/node_modules/axe-core/axe.min.js";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let found = std::fs::read_to_string(&path).map_err(|error| format!("{path:?}: {error}"));
    let found = found.and_then(|script| {
        let hash = blake3::hash(script.as_bytes()).to_hex();
        let is_it = hash.as_str() == AXE_CORE_HASH;
        is_it.then_some(script).ok_or(format!("{path:?} is another version: {hash}"))
    });
    need("axe-core", found, AXE_CORE)
}

/// Whether this is root.
pub fn root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    let found = is_root.then_some(()).ok_or("this is another user".into());
    need("root", found, "run the tests as root").is_some()
}

/// Whether file systems in images can be made, mounted and shut down.
pub fn loop_mounts() -> bool {
    let has_loops = Path::new("/dev/loop-control").exists();
    let found = has_loops.then_some(()).ok_or("there is no /dev/loop-control".into());
    root()
        && programs(&["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "xfs_io"])
        && need("loop devices", found, "modprobe loop").is_some()
}

/// Whether a user without privileges can run the program: nobody if this is root, else this user.
pub fn unprivileged_user() -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    command.arg("--version").stdout(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY);
    }
    let found = match command.status() {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("it cannot run the program: {other:?}")),
    };
    let remedy = "build in a folder that everybody may enter (CARGO_TARGET_DIR)";
    need("a user without privileges", found, remedy).is_some()
}

/// Whether strace can trace a program.
pub fn strace() -> bool {
    if !programs(&["strace"]) {
        return false;
    }
    let found = match Command::new("strace").args(["-o", "/dev/null", "true"]).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(error.to_string()),
    };
    need("tracing", found, "allow ptrace (docker run --cap-add SYS_PTRACE)").is_some()
}

/// A folder on another file system than this path.
pub fn second_file_system(near: &Path) -> Option<TempDir> {
    let shm = Path::new("/dev/shm");
    let device = |path: &Path| path.metadata().map(|found| found.dev()).ok();
    let is_other = device(shm).is_some() && device(shm) != device(near);
    let found = is_other.then_some(shm).ok_or(format!("/dev/shm is none beside {near:?}"));
    let found = need("a second file system", found, "mount -t tmpfs none /dev/shm")?;
    Some(tempfile::tempdir_in(found).unwrap())
}

/// Starts a command that ends with its standard input, and so with this process, however that ends.
/// It has to print `there` once it is up; if it does not, the error is what it printed instead.
pub fn hold(command: &mut Command) -> Result<Child, String> {
    let mut holder = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut said = String::new();
    let stdout = holder.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut said).map_err(|error| error.to_string())?;
    if said.trim() == "there" {
        return Ok(holder);
    }
    let output = holder.wait_with_output().map_err(|error| error.to_string())?;
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
