//! The program as a process: its settings flags, its exit codes, its manners.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn gridmark() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    command.env_clear().stdin(Stdio::null());
    command
}

/// Exit code, standard output and standard error.
fn outcome(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn alone_it_prints_its_help() {
    let (code, help, errors) = outcome(&mut gridmark());
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(help.contains("Usage: gridmark") && help.contains("config"), "{help}");
    let (code, version, _) = outcome(gridmark().arg("--version"));
    assert_eq!((code, version), (Some(0), format!("gridmark {}\n", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn a_command_typed_wrongly_exits_with_2() {
    for args in [&["frobnicate"][..], &["config", "--frob"], &["config", "--settle", "soon"]] {
        let (code, output, errors) = outcome(gridmark().args(args));
        assert_eq!((code, output.as_str()), (Some(2), ""), "{args:?}");
        assert!(errors.starts_with("error: "), "{errors}");
    }
    let (code, _, errors) = outcome(gridmark().args(["config", "--check", "x", "--root", "y"]));
    assert_eq!(code, Some(2), "{errors}");
}

#[test]
fn config_shows_settings_and_origins() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    std::fs::write(&file, "[grade]\ntries_max = 5\n").unwrap();
    let mut command = gridmark();
    command.args(["config", "--root", "/srv/x", "--listen", "[::1]:1", "--settle", "2s"]);
    command.arg("--config").arg(&file).env("GRIDMARK_LOG_FORMAT", "json");
    let (code, shown, errors) = outcome(&mut command);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    for line in [
        "root = \"/srv/x\" # flag --root".to_owned(),
        "listen = \"[::1]:1\" # flag --listen".into(),
        "settle_ms = 2000 # flag --settle".into(),
        "format = \"json\" # environment GRIDMARK_LOG_FORMAT".into(),
        format!("tries_max = 5 # file {}:2:1", file.display()),
        "watch = \"auto\" # default".into(),
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
}

#[test]
fn config_checks_a_file_and_that_alone() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/gridmark.toml");
    let mut command = gridmark();
    // What is wrong elsewhere does not make a file bad.
    command.arg("config").arg("--check").arg(&shipped).env("GRIDMARK_NONSENSE", "1");
    let good = format!("{} is good\n", shipped.display());
    assert_eq!(outcome(&mut command), (Some(0), good, String::new()));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.toml");
    std::fs::write(&file, "[grade]\ntreis_max = 5\n").unwrap();
    let (code, output, errors) = outcome(gridmark().arg("config").arg("--check").arg(&file));
    assert_eq!((code, output.as_str()), (Some(1), ""));
    let said = "`grade.treis_max` is no setting; did you mean `grade.tries_max`?";
    assert_eq!(errors, format!("gridmark: file {}:2:1: {said}\n", file.display()));

    let missing = folder.path().join("none.toml");
    let (code, _, errors) = outcome(gridmark().arg("config").arg("--check").arg(&missing));
    assert_eq!(code, Some(1));
    let said = format!("gridmark: cannot read the settings file {}: ", missing.display());
    assert!(errors.starts_with(&said) && errors.matches('\n').count() == 1, "{errors}");
}

#[test]
fn wrong_variables_are_refused() {
    let (code, _, errors) = outcome(gridmark().arg("config").env("GRIDMARK_HTTP_LISTN", "x"));
    assert_eq!(code, Some(1));
    assert!(errors.contains("did you mean `GRIDMARK_HTTP_LISTEN`?"), "{errors}");
}

#[cfg(unix)]
#[test]
fn what_is_not_utf_8_is_told() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let (code, _, errors) = outcome(gridmark().arg("config").env("GRIDMARK_PATHS_ROOT", name));
    assert_eq!(code, Some(2));
    assert_eq!(
        errors,
        "gridmark: the environment variable GRIDMARK_PATHS_ROOT is not UTF-8 text\n"
    );
    let (code, _, errors) = outcome(gridmark().args(["config", "--root"]).arg(name));
    assert_eq!(code, Some(2));
    assert!(errors.starts_with("gridmark: --root caf"), "{errors}");
    // Other people's variables may be what they like.
    let (code, _, _) = outcome(gridmark().arg("config").env("OTHER", name));
    assert_eq!(code, Some(0));
}

#[test]
fn a_closed_pipe_is_no_error() {
    for args in [&["config"][..], &[], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = gridmark().args(args).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    }
    // Nor does it panic where not even errors can be printed.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = gridmark().args(["config", "--config", "/nonexistent"]).stderr(writer).status();
    assert_eq!(status.unwrap().code(), Some(1));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let (code, _, errors) = outcome(gridmark().arg("config").stdout(full));
    assert_eq!(code, Some(1));
    assert!(errors.starts_with("gridmark: cannot write to standard output: "), "{errors}");
}

#[test]
fn an_unavailable_tier_is_reported_once_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    std::fs::write(&file, "[grade]\ntier = \"avx1024\"\n").unwrap();
    std::fs::write(folder.path().join("p"), "1\n").unwrap();
    let run = |args: &[&str], variable: Option<&str>| {
        let mut command = gridmark();
        command.args(args).current_dir(folder.path());
        command.envs(variable.map(|tier| ("GRIDMARK_GRADE_TIER", tier)));
        outcome(&mut command)
    };
    let why = "`grade.tier`: there is no kernel tier `avx1024`; it can run portable";
    for (args, wanted) in
        [(&["config", "--check", "my.toml"], 1), (&["serve", "--config", "my.toml"], 2)]
    {
        let (code, output, errors) = run(args, None);
        assert_eq!((code, output.as_str()), (Some(wanted), ""), "{args:?}");
        assert!(errors.starts_with("gridmark: file my.toml:2:1: "), "{errors}");
        assert_eq!(errors.matches(why).count(), 1, "{errors}");
        assert_eq!(errors.matches("tier").count(), 2, "{errors}");
    }
    for args in [&["judge", "classic", "p"][..], &["grade", "p"], &["serve", "--once"]] {
        let (code, output, errors) = run(args, Some("avx1024"));
        let wanted = if args[0] == "judge" { 1 } else { 2 };
        assert_eq!(code, Some(wanted), "{args:?}");
        assert_eq!(output, "", "{args:?}");
        let place = "gridmark: environment GRIDMARK_GRADE_TIER: ";
        assert!(errors.starts_with(&format!("{place}{why}")), "{errors}");
    }
    assert_eq!(run(&["judge", "classic", "p"], Some("portable")).1, "N\n");
    assert_eq!(run(&["config"], Some(" portable ")).0, Some(0));
}

#[test]
fn trouble_with_the_ledger_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("state/ledger.db")).unwrap();
    for args in [&["serve", "--once"][..], &["why", "p"]] {
        let (_, _, errors) = outcome(gridmark().args(args).current_dir(folder.path()));
        // Above it the service says which folders it has created.
        let about = errors.lines().filter(|line| line.starts_with("gridmark: the ledger "));
        assert_eq!(about.count(), 1, "{errors}");
        let causes = ["unable to open", "it is no file", "Error code"];
        let outcome = causes.map(|cause| errors.matches(cause).count());
        assert_eq!(outcome.iter().sum::<usize>(), 1, "{errors}");
    }
}

#[test]
fn a_malformed_address_is_refused_with_an_example() {
    let folder = tempfile::tempdir().unwrap();
    let expected = "expected an address and a port, such as \"127.0.0.1:9464\"";
    for args in [
        ["serve", "--listen", "localhost:9464"],
        ["config", "--listen", "127.0.0.1"],
        ["doctor", "--listen", ":9464"],
        ["health", "--at", "localhost:9464"],
    ] {
        let (code, _, errors) = outcome(gridmark().args(args).current_dir(folder.path()));
        assert_eq!(code, Some(2), "{args:?}: {errors}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
    let mut config = gridmark();
    config.arg("config").env("GRIDMARK_HTTP_LISTEN", "localhost:9464");
    let (_, _, errors) = outcome(config.current_dir(folder.path()));
    assert!(errors.contains(expected), "{errors}");
}

#[test]
fn retry_without_a_name_says_that_there_is_all() {
    let (code, _, errors) = outcome(gridmark().arg("retry"));
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("NAME") && errors.contains("--all"), "{errors}");
    let (code, _, errors) = outcome(gridmark().args(["retry", "--all", "p"]));
    assert!(code == Some(2) && errors.contains("cannot be used with"), "{errors}");
}

/// Nobody ever writes into this FIFO, and the device has no end.
#[test]
fn no_command_waits_for_what_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), rustix::fs::Mode::RWXU).unwrap();
    symlink("/dev/zero", at("zero")).unwrap();
    let good = gridmark().args(["event", "init"]).arg(at("good")).output().unwrap();
    assert!(good.status.success());
    let events = ["event.toml", "entrants.csv", "rounds/r2/times.csv", "rounds/r1/p3.killer"];
    for (what, odd) in [("a FIFO", "fifo"), ("a device", "zero")] {
        for file in events {
            let event = at("event");
            let _ = std::fs::remove_dir_all(&event);
            copy_folder(&at("good"), &event);
            std::fs::remove_file(event.join(file)).unwrap();
            match odd {
                "zero" => symlink("/dev/zero", event.join(file)).unwrap(),
                _ => std::fs::rename(at("fifo"), event.join(file)).unwrap(),
            }
            let (code, said, _) = outcome(gridmark().args(["event", "check"]).arg(&event));
            assert_eq!(code, Some(1), "{file}");
            let says = said.lines().find(|line| line.contains(&format!("is {what}, not a reg")));
            assert!(says.is_some_and(|line| line.contains(file)), "{file}: {said}");
            if odd == "fifo" {
                std::fs::rename(event.join(file), at("fifo")).unwrap();
            }
        }
        let named = at("good");
        let commands: [&[&str]; 8] = [
            &["config", "--check", odd],
            &["config", "--config", odd],
            &["serve", "--once", "--config", odd],
            &["reload", "--config", odd],
            &["doctor", "--config", odd],
            &["puzzle", "show", odd],
            &["grade", "--puzzle", odd, "good/event.toml"],
            &["event", "check", named.to_str().unwrap(), "--names", odd],
        ];
        for args in commands {
            let (code, _, said) = outcome(gridmark().args(args).current_dir(&folder));
            assert!(matches!(code, Some(1 | 2)), "{args:?}: {code:?}");
            assert!(said.contains(&format!("{odd}: it is {what}, not a regular file")), "{said}");
        }
    }
    // What the caller has open is another matter.
    let mut command = gridmark();
    command.args(["config", "--config", "/dev/stdin"]);
    let (code, shown, said) = outcome(command.stdin(File::open(at("good/event.toml")).unwrap()));
    assert_eq!((code, shown.as_str()), (Some(1), ""));
    assert!(said.starts_with("gridmark: file /dev/stdin:"), "{said}");
    let (code, _, said) = outcome(command.stdin(File::open("/dev/zero").unwrap()));
    assert_eq!(code, Some(1));
    assert!(said.contains("/dev/stdin: it has more than 1048576 bytes"), "{said}");
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}
