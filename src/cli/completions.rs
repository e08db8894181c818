//! `gridmark completions`: the completion script of a shell.

use super::{Cli, Error};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::{self, Write};
use std::process::ExitCode;

/// The arguments of `gridmark completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Packages install what this prints; by hand:
  mkdir -p ~/.local/share/bash-completion/completions
  gridmark completions bash > ~/.local/share/bash-completion/completions/gridmark

  mkdir -p ~/.config/fish/completions
  gridmark completions fish > ~/.config/fish/completions/gridmark.fish

  mkdir -p ~/.zfunc
  gridmark completions zsh > ~/.zfunc/_gridmark
  # and in ~/.zshrc, before compinit: fpath=(~/.zfunc $fpath)")]
pub struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the shell's script.
///
/// # Errors
///
/// Standard output cannot be written.
pub fn run(args: &Args) -> Result<ExitCode, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "gridmark", &mut script);
    io::stdout().write_all(&script).map_err(Error::Output)?;
    Ok(ExitCode::SUCCESS)
}
