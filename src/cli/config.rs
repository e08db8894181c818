//! `gridmark config`, and the flags that set settings.

use super::Error;
use crate::config::{self, Flag, Loaded};
use crate::model::escape;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `gridmark config`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The output is itself a settings file. A setting such as intake.settle_ms can also be set by a
variable such as GRIDMARK_INTAKE_SETTLE_MS.

Exit code: 0 if the settings are valid, else 1, with what is wrong on standard error.")]
pub struct Args {
    /// Only check this settings file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "root", "listen", "page", "settle"])]
    check: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingArgs,
}

/// The flags that set settings, shared by the commands that have them.
#[derive(Debug, clap::Args)]
pub struct SettingArgs {
    /// The settings file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder that holds inbox, archive, quarantine, reports and state [default: here]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Where to serve metrics and health [default: 127.0.0.1:9464]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Where to serve the page for staff and the hall, or off [default: off]
    #[arg(long, value_name = "ADDR", value_parser = page_address)]
    page: Option<String>,
    /// How long a file must be unchanged: 200ms, 2s, 0 [default: 200ms]
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    settle: Option<u64>,
}

/// Shows the settings in force, or checks a file.
///
/// # Errors
///
/// The settings are wrong, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let text = match &args.check {
        Some(file) => {
            super::tier_of(&config::load(Some(file), std::iter::empty(), [])?)?;
            format!("{} is good\n", escape::path(file))
        }
        None => args.settings.load()?.to_toml(),
    };
    io::stdout().write_all(text.as_bytes()).map_err(Error::Output)?;
    Ok(ExitCode::SUCCESS)
}

impl SettingArgs {
    /// Flags that only say where a service works.
    pub(super) fn for_service(config: Option<PathBuf>, root: Option<PathBuf>) -> SettingArgs {
        SettingArgs { config, root, listen: None, page: None, settle: None }
    }

    /// The settings file, if there is one.
    pub(super) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The settings in force: defaults, the settings file, the environment, these flags.
    ///
    /// # Errors
    ///
    /// The settings are wrong.
    pub fn load(&self) -> Result<Loaded, Error> {
        let variables = variables()?.into_iter();
        let loaded = config::load(self.config.as_deref(), variables, self.flags()?)?;
        super::tier_of(&loaded)?;
        Ok(loaded)
    }

    /// The same, with an absolute root: messages name its files, wherever the reader is.
    pub(super) fn load_absolute(&self) -> Result<Loaded, Error> {
        let mut loaded = self.load()?;
        let root = &mut loaded.settings.paths.root;
        *root = std::path::absolute(&root).map_err(Error::io("find", root))?;
        Ok(loaded)
    }

    fn flags(&self) -> Result<Vec<Flag>, Error> {
        let mut flags = Vec::new();
        if let Some(root) = &self.root {
            flags.push(Flag { name: "--root", key: "paths.root", value: text(root)?.into() });
        }
        if let Some(listen) = self.listen {
            let value = listen.to_string().into();
            flags.push(Flag { name: "--listen", key: "http.listen", value });
        }
        if let Some(page) = &self.page {
            flags.push(Flag { name: "--page", key: "page.listen", value: page.clone().into() });
        }
        if let Some(settle) = self.settle {
            // The largest value that fits is already more than the setting takes.
            let value = i64::try_from(settle).unwrap_or(i64::MAX).into();
            flags.push(Flag { name: "--settle", key: "intake.settle_ms", value });
        }
        Ok(flags)
    }
}

/// The environment variables that begin with `GRIDMARK_`.
pub(super) fn variables() -> Result<Vec<(String, String)>, Error> {
    let mut variables = Vec::new();
    for (name, value) in std::env::vars_os() {
        // A name that is not UTF-8 cannot begin with ours.
        let Some(name) = name.to_str().filter(|name| name.starts_with("GRIDMARK_")) else {
            continue;
        };
        let value = value.into_string().map_err(|_| {
            Error::Usage(format!("the environment variable {name} is not UTF-8 text"))
        })?;
        variables.push((name.to_owned(), value));
    }
    Ok(variables)
}

fn text(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| {
        Error::Usage(format!("--root {}: this path is not UTF-8 text", escape::path(path)))
    })
}

/// Parses an address and port.
pub(super) fn address(address: &str) -> Result<SocketAddr, String> {
    address.parse().map_err(|_| format!("expected {}", config::ADDRESS))
}

/// Parses an address and port, or `off`.
fn page_address(word: &str) -> Result<String, String> {
    if word != "off" {
        address(word).map_err(|error| error + ", or off")?;
    }
    Ok(word.to_owned())
}

/// Parses a time such as `2s` into milliseconds.
pub(super) fn milliseconds(time: &str) -> Result<u64, String> {
    let digits = time.len() - time.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = time.split_at(digits);
    let factor = match unit.trim_start() {
        "ms" => Some(1),
        "s" => Some(1_000),
        "min" => Some(60_000),
        "" if number.bytes().all(|digit| digit == b'0') => Some(1),
        _ => None,
    };
    let number = number.parse::<u64>().ok();
    number
        .zip(factor)
        .and_then(|(number, factor)| number.checked_mul(factor))
        .ok_or_else(|| "expected a time such as 200ms, 2s or 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn times_need_a_unit_unless_they_are_zero() {
        for (time, ms) in
            [("0", 0), ("0s", 0), ("200ms", 200), ("2s", 2_000), ("2 s", 2_000), ("1min", 60_000)]
        {
            assert_eq!(milliseconds(time), Ok(ms), "{time}");
        }
        for time in ["", "200", "ms", "-1s", "2h", "1.5s", "99999999999999999999s", "１s"] {
            assert!(milliseconds(time).is_err(), "{time}");
        }
    }
}
