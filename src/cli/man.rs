//! `gridmark man`: the manual, made from the same definitions as the command line.

use super::{Cli, Error};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `gridmark man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
To read a page without installing it:
  gridmark man serve | man -l -

Exit code: 0, or 1 if a page cannot be written.")]
pub struct Args {
    /// The command whose page is printed, such as `puzzle show` [default: gridmark itself]
    #[arg(value_name = "COMMAND", conflicts_with = "into")]
    command: Vec<String>,
    /// Write all pages into this folder, created if needed
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// Prints one page, or writes all of them.
///
/// # Errors
///
/// There is no such command, or a page cannot be written.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let mut whole = Cli::command().disable_help_subcommand(true);
    whole.build();
    if let Some(folder) = &args.into {
        std::fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        for command in with_all_below(&whole) {
            let path = folder.join(Man::new(command.clone()).get_filename());
            std::fs::write(&path, page(command)?).map_err(Error::io("write", &path))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let command = args
        .command
        .iter()
        .try_fold(&whole, |command, name| commands(command).find(|below| below.get_name() == name));
    let command = command.ok_or_else(|| {
        Error::Usage(format!("gridmark has no command `{}`", args.command.join(" ")))
    })?;
    io::stdout().write_all(&page(command)?).map_err(Error::Output)?;
    Ok(ExitCode::SUCCESS)
}

fn commands(whole: &Command) -> impl Iterator<Item = &Command> {
    whole.get_subcommands().filter(|command| !command.is_hide_set())
}

/// A command, its commands, and theirs.
fn with_all_below(command: &Command) -> Vec<&Command> {
    let below = commands(command).flat_map(with_all_below);
    std::iter::once(command).chain(below).collect()
}

/// The page of a command.
fn page(command: &Command) -> Result<Vec<u8>, Error> {
    let version = concat!("gridmark ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone());
    let title = man.get_filename().trim_end_matches(".1").to_uppercase();
    // An empty date would be dropped and the next field taken for it.
    let man = man.title(title).date(" ").source(version).manual("gridmark manual");
    let mut page = Vec::new();
    let parts = (|| {
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        synopsis(command).to_writer(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        if commands(command).next().is_some() {
            man.render_subcommands_section(&mut page)?;
        }
        if let Some(notes) = command.get_after_help() {
            notes_section(&notes.to_string()).to_writer(&mut page)?;
        }
        see_also(command).to_writer(&mut page)
    })();
    parts.map_err(Error::Output)?;
    Ok(page)
}

/// The synopsis: every option with its value.
fn synopsis(command: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let mut line = vec![bold(command.get_bin_name().unwrap_or(name))];
    let (mut options, mut places) = (Vec::new(), Vec::new());
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        if arg.is_positional() {
            let shown = arg.to_string();
            let is_optional = !arg.is_required_set() && !shown.starts_with('[');
            places.push(roman(if is_optional {
                format!(" [{shown}]")
            } else {
                format!(" {shown}")
            }));
            continue;
        }
        let flag = match (arg.get_long(), arg.get_short()) {
            (Some(long), _) => format!("--{long}"),
            (None, short) => format!("-{}", short.unwrap_or('?')),
        };
        options.extend([roman(" ["), bold(flag)]);
        let takes_value = arg.get_action().takes_values();
        for value in arg.get_value_names().unwrap_or_default().iter().filter(|_| takes_value) {
            options.extend([roman(" "), italic(value.as_str())]);
        }
        options.push(roman("]"));
    }
    line.extend(options);
    line.extend(places);
    if commands(command).next().is_some() {
        let is_required = command.is_subcommand_required_set();
        line.push(roman(if is_required { " <COMMAND>" } else { " [COMMAND]" }));
    }
    roff.text(line);
    roff
}

/// The text below the options in the help: paragraphs, and indented lines, which stay as they are.
fn notes_section(notes: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["NOTES"]);
    let mut is_filled = true;
    for line in notes.lines() {
        if line.trim().is_empty() {
            roff.control("PP", []);
            continue;
        }
        if line.starts_with(' ') == is_filled {
            roff.control(if is_filled { "EX" } else { "EE" }, []);
            is_filled = !is_filled;
        }
        roff.text([roman(line)]);
    }
    if !is_filled {
        roff.control("EE", []);
    }
    roff
}

fn see_also(command: &Command) -> Roff {
    let mut roff = Roff::new();
    let is_whole = command.get_bin_name() == Some("gridmark");
    let pages = if is_whole { "gridmark-serve(1), gridmark-config(1)" } else { "gridmark(1)" };
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(pages)]);
    roff
}
