//! The manual and the completions, which are made from the command line's own definitions.

use crate::kit::needs::programs;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn gridmark(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    let Output { status, stdout, stderr } =
        command.args(args).env_clear().stdin(Stdio::null()).output().unwrap();
    assert!(status.success(), "{args:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// The commands that the help lists, without `help` itself: `serve`, `puzzle`, `puzzle show`.
fn commands() -> BTreeSet<String> {
    let mut commands = BTreeSet::new();
    let mut open = vec![String::new()];
    while let Some(command) = open.pop() {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let help = gridmark(&words);
        let Some(list) = help.split("\nCommands:\n").nth(1) else { continue };
        let list = list.split("\n\n").next().unwrap();
        let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        for name in names.filter(|name| !["", "help"].contains(name)) {
            let below = format!("{command} {name}").trim().to_owned();
            open.push(below.clone());
            commands.insert(below);
        }
    }
    assert!(commands.len() >= 11 && commands.contains("serve"), "{commands:?}");
    assert!(commands.contains("puzzle show"), "{commands:?}");
    commands
}

/// The flags and the names of arguments in a text: `--root`, `<DIR>`.
fn options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| c.is_whitespace() || "[](),|".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', ':', ';']));
    // The last of several of which one is to be typed: `<NAME|--all>`.
    let words = words.map(|word| match word.strip_prefix("--") {
        Some(_) => word.trim_end_matches('>'),
        None => word,
    });
    let is_option = |word: &&str| {
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase());
        word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_alphabetic()))
            || word.strip_prefix('<').and_then(|word| word.strip_suffix('>')).is_some_and(is_name)
    };
    words.filter(is_option).map(str::to_owned).collect()
}

/// A page without what only typesets it.
fn plain(page: &str) -> String {
    let mut text = page.replace("\\-", "-").replace("\\*(Aq", "'");
    for font in ["\\fB", "\\fI", "\\fR"] {
        text = text.replace(font, "");
    }
    text
}

/// A folder with all pages.
fn manual() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("man/man1");
    assert_eq!(gridmark(&["man", "--into", into.to_str().unwrap()]), "");
    folder
}

#[test]
fn every_command_has_a_page_with_each_of_its_flags_and_what_its_help_says() {
    let folder = manual();
    let pages = folder.path().join("man/man1");
    let mut wanted: BTreeSet<_> =
        commands().iter().map(|name| format!("gridmark-{}.1", name.replace(' ', "-"))).collect();
    wanted.insert("gridmark.1".into());
    let names = fs::read_dir(&pages).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.collect::<BTreeSet<_>>(), wanted);

    for command in commands() {
        let words: Vec<&str> = command.split(' ').collect();
        let file = format!("gridmark-{}.1", words.join("-"));
        let page = fs::read_to_string(pages.join(file)).unwrap();
        assert_eq!(page, gridmark(&[&["man"], &words[..]].concat()));
        let page = plain(&page);
        let help = gridmark(&[&words[..], &["--help"]].concat());
        let named = (options(&help), options(&page));
        assert!(named.0.contains("--help"), "{help}");
        assert_eq!(
            named.0.difference(&named.1).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "{page}"
        );
        // Paragraphs may break their lines elsewhere, or not at all.
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let notes = help.rsplit("Print help\n").next().unwrap();
        for paragraph in notes.split("\n\n").filter(|text| !text.contains("\n  ")) {
            assert!(flat(&page).contains(&flat(paragraph)), "{command}: {paragraph}\n{page}");
        }
    }
    let page = plain(&fs::read_to_string(pages.join("gridmark.1")).unwrap());
    for command in commands().iter().filter(|command| !command.contains(' ')) {
        assert!(page.contains(&format!("gridmark-{command}(1)")), "{page}");
    }
}

#[test]
fn the_synopsis_shows_what_each_option_takes() {
    let page = plain(&gridmark(&["man", "serve"]));
    let synopsis = page.split(".SH SYNOPSIS\n").nth(1).unwrap().lines().next().unwrap();
    let wanted = "gridmark serve [--config FILE] [--root DIR] [--listen ADDR] [--page ADDR] [--settle TIME] \
                  [--once] [--help]";
    assert_eq!(synopsis, wanted);
    let page = plain(&gridmark(&["man", "backup"]));
    assert!(page.contains("[--config FILE] [--help] <INTO>\n"), "{page}");
    let page = plain(&gridmark(&["man"]));
    assert!(page.contains("gridmark [--help] [--version] [COMMAND]\n"), "{page}");
}

#[test]
fn completions_are_installed_where_the_help_says_on_a_fresh_machine() {
    if !programs(&["bash"]) {
        return;
    }
    let help = gridmark(&["completions", "--help"]);
    let notes = help.split("by hand:\n").nth(1).unwrap();
    let home = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_gridmark")).parent().unwrap();
    let mut command = Command::new("bash");
    command.args(["-ec", notes]).env("HOME", home.path());
    command.env("PATH", format!("{}:/usr/bin:/bin", program.display()));
    let output = command.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    for file in [
        ".local/share/bash-completion/completions/gridmark",
        ".config/fish/completions/gridmark.fish",
        ".zfunc/_gridmark",
    ] {
        assert!(home.path().join(file).metadata().unwrap().len() > 100, "{file}");
    }
    // docs/commands.md shows that for bash.
    for line in notes.lines().filter(|line| line.contains("bash")) {
        assert!(
            crate::documents::read("docs/commands.md").contains(&format!("\n{}\n", line.trim())),
            "{line}"
        );
    }
}

#[test]
fn the_pages_are_set_without_a_warning() {
    let folder = manual();
    let mut checkers: Vec<(&str, &[&str])> = Vec::new();
    if programs(&["groff"]) {
        checkers.push(("groff", &["-man", "-ww", "-Tutf8", "-z"]));
    }
    if programs(&["mandoc"]) {
        checkers.push(("mandoc", &["-Tlint", "-Werror"]));
    }
    for entry in fs::read_dir(folder.path().join("man/man1")).unwrap() {
        let page = entry.unwrap().path();
        for (checker, args) in &checkers {
            let Output { status, stdout, stderr } =
                Command::new(checker).args(*args).arg(&page).output().unwrap();
            let said = String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned();
            assert!(status.success() && said.is_empty(), "{checker}: {said}");
        }
    }
}

#[test]
fn a_missing_page_is_reported() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    let output = command.args(["man", "frobnicate"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "gridmark: gridmark has no command `frobnicate`\n");
}

/// What bash completes `line` to, by our script.
fn completed(line: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("gridmark.bash");
    fs::write(&script, gridmark(&["completions", "bash"])).unwrap();
    assert!(Command::new("bash").arg("-n").arg(&script).status().unwrap().success());
    // It finds the function as bash itself does: by what `complete` prints.
    let drive = r#"
        set -eu
        source "$1"
        COMP_LINE=$2 COMP_POINT=${#2}
        read -ra COMP_WORDS <<<"$2"
        [[ $2 != *' ' ]] || COMP_WORDS+=('')
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        spec=$(complete -p gridmark)
        [[ $spec =~ -F\ ([^ ]+) ]]
        previous=${COMP_WORDS[COMP_CWORD - 1]}
        "${BASH_REMATCH[1]}" gridmark "${COMP_WORDS[COMP_CWORD]}" "$previous"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let output = Command::new("bash")
        .args(["--norc", "-c", drive, "bash"])
        .arg(&script)
        .arg(line)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    if !programs(&["bash"]) {
        return;
    }
    for command in commands() {
        let (above, name) = command.rsplit_once(' ').unwrap_or(("", &command));
        assert!(completed(&format!("gridmark {above} ")).contains(name), "{command}");
    }
    let set = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(completed("gridmark se"), set(&["serve"]));
    for command in commands() {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = options(&gridmark(&words));
        let flags = help.into_iter().filter(|word| word.starts_with("--")).collect::<BTreeSet<_>>();
        let offered = completed(&format!("gridmark {command} --"));
        let own = flags.intersection(&offered).count();
        assert_eq!(own, offered.len(), "{command}: {offered:?}");
        assert!(own >= 1, "{command}");
    }
    assert_eq!(completed("gridmark judge k"), set(&["killer"]));
}

#[test]
fn other_shells_read_their_scripts() {
    for (shell, args) in [("zsh", "-n"), ("fish", "--no-execute")] {
        if !programs(&[shell]) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join(Path::new("gridmark").with_extension(shell));
        fs::write(&script, gridmark(&["completions", shell])).unwrap();
        let output = Command::new(shell).arg(args).arg(&script).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}
