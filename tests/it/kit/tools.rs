//! Programs that systems have, and that tests use.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Where the system has this program.
pub fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    path.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Starts what ends with its standard input, and so with us, however we end; it has to say `there`
/// when it is. If not, what it says is wrong.
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
