//! Settings: their layers, their origins, and what is said about wrong ones.

use gridmark::config::{Change, Error, Flag, LogFormat, Origin, Settings, Watch, load};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("config/gridmark.toml")
}

fn variable(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// A settings file with this text, and the folder that holds it.
fn file(text: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gridmark.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

/// What is said about a file with this text, without the folder it lies in.
fn said_of_file(text: impl AsRef<[u8]>) -> String {
    let (folder, path) = file(text);
    let error = load(Some(&path), std::iter::empty(), []).unwrap_err();
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

fn said_of_variable(name: &str, value: &str) -> String {
    load(None, [variable(name, value)].into_iter(), []).unwrap_err().to_string()
}

/// All settings at their defaults, as section, name and value.
fn all_defaults() -> Vec<(String, String, toml::Value)> {
    let sections = toml::Table::try_from(Settings::default()).unwrap();
    let settings = sections.into_iter().flat_map(|(section, settings)| {
        let toml::Value::Table(settings) = settings else { panic!("{section} is no table") };
        settings.into_iter().map(move |(name, value)| (section.clone(), name, value))
    });
    settings.collect()
}

#[test]
fn the_shipped_file_holds_every_setting_at_its_default() {
    let loaded = load(Some(&shipped()), std::iter::empty(), []).unwrap();
    assert_eq!(loaded.settings, Settings::default());
    let in_file = loaded.origins.into_keys().collect::<BTreeSet<_>>();
    let all = all_defaults().into_iter().map(|(section, name, _)| format!("{section}.{name}"));
    assert_eq!(in_file, all.collect());
}

#[test]
fn the_shipped_file_explains_every_setting() {
    let text = std::fs::read_to_string(shipped()).unwrap();
    let mut is_explained = false;
    for line in text.lines() {
        match line {
            _ if line.starts_with("# ") => is_explained = true,
            _ if line.is_empty() || line.starts_with('[') => is_explained = false,
            // A second setting may share its explanation with the one before.
            _ => assert!(is_explained, "no comment stands before: {line}"),
        }
    }
}

#[test]
fn the_shipped_file_says_what_needs_a_restart() {
    let text = std::fs::read_to_string(shipped()).unwrap();
    let (mut section, mut all, mut comment, mut seen) = ("", false, String::new(), 0);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            (section, all) = (name, false);
            comment.clear();
        } else if let Some(words) = line.strip_prefix('#') {
            comment.push_str(words);
            all |= words == " All of this section needs a restart.";
        } else if let Some((name, _)) = line.split_once(" = ") {
            let documented = all || comment.contains("Needs a restart.");
            assert_eq!(documented, needs_restart(section, name), "{section}.{name}");
            comment.clear();
            seen += 1;
        }
    }
    assert_eq!(seen, all_defaults().len());
}

/// Whether a change of this setting is one that the running service does not take over.
fn needs_restart(section: &str, name: &str) -> bool {
    let mut wanted = toml::Table::try_from(Settings::default()).unwrap();
    let value = &mut wanted[section][name];
    *value = match (&*value, name) {
        (toml::Value::Integer(number), _) => (number + 1).into(),
        (toml::Value::Boolean(is_so), _) => (!is_so).into(),
        (toml::Value::Array(_), "hosts") => vec!["a"].into(),
        (toml::Value::Array(_), _) => toml::Value::Array(Vec::new()),
        (_, "watch") => "off".into(),
        (_, "format") => "json".into(),
        (_, "listen") => "127.0.0.1:1".into(),
        _ => "other".into(),
    };
    let changes = Settings::default().take_over(&wanted.try_into().unwrap());
    let key = format!("{section}.{name}");
    let keys = |changes: &[Change]| changes.iter().map(|it| it.key.clone()).collect::<Vec<_>>();
    match (&keys(&changes.applied)[..], &keys(&changes.held)[..]) {
        ([], [held]) if *held == key => true,
        ([applied], []) if *applied == key => false,
        other => panic!("{key}: {other:?}"),
    }
}

#[test]
fn a_later_layer_wins_and_is_the_origin() {
    let (_folder, path) = file("[intake]\nsettle_ms = 1\nscan_every_ms = 7\n[log]\nlevel = 'warn'");
    let variables =
        [variable("GRIDMARK_INTAKE_SETTLE_MS", "2"), variable("GRIDMARK_LOG_LEVEL", "debug")];
    let flag = Flag { name: "--settle", key: "intake.settle_ms", value: 3.into() };
    let loaded = load(Some(&path), variables.into_iter(), [flag]).unwrap();
    assert_eq!(loaded.settings.intake.settle_ms, 3);
    assert_eq!(loaded.settings.intake.scan_every_ms, 7);
    assert_eq!(loaded.settings.log.level, "debug");
    assert_eq!(loaded.settings.intake.depth_max, 64);
    assert_eq!(loaded.origin("intake.settle_ms"), &Origin::Flag("--settle".into()));
    assert_eq!(
        loaded.origin("intake.scan_every_ms").to_string(),
        format!("file {}:3:1", path.display())
    );
    assert_eq!(loaded.origin("log.level").to_string(), "environment GRIDMARK_LOG_LEVEL");
    assert_eq!(loaded.origin("intake.depth_max").to_string(), "default");
}

#[test]
fn every_setting_can_be_set_by_a_variable() {
    for (section, name, value) in all_defaults() {
        let (text, other) = match &value {
            toml::Value::Integer(_) => ("12_345", toml::Value::from(12_345)),
            toml::Value::Boolean(true) => ("false", false.into()),
            toml::Value::Boolean(false) => ("true", true.into()),
            toml::Value::Array(_) => (" *.a ,b*", vec!["*.a", "b*"].into()),
            _ => match name.as_str() {
                "watch" => ("off", "off".into()),
                "listen" => ("[::1]:80", "[::1]:80".into()),
                "format" => ("json", "json".into()),
                "level" => ("warn,gridmark=trace", "warn,gridmark=trace".into()),
                _ => ("some/where else", "some/where else".into()),
            },
        };
        let (other, text) = match name.as_str() {
            "threads_max" => (7.into(), "7"),
            "makers_max" => (7.into(), "7"),
            "hosts" => (vec!["a", "b.local"].into(), " a ,b.local"),
            "chunk_bytes_max" => (200_000.into(), "200000"),
            _ => (other, text),
        };
        let variable_name = format!("GRIDMARK_{section}_{name}").to_uppercase();
        let loaded = load(None, [variable(&variable_name, text)].into_iter(), []);
        let loaded = loaded.unwrap_or_else(|error| panic!("{variable_name}: {error}"));
        let table = toml::Table::try_from(&loaded.settings).unwrap();
        assert_eq!(table[&section][&name], other, "{variable_name}");
        assert_ne!(other, value, "the test sets {variable_name} to its default");
        let origin = Origin::Environment(variable_name);
        assert_eq!(loaded.origin(&format!("{section}.{name}")), &origin);
    }
}

#[test]
fn a_list_in_the_environment_may_be_empty() {
    let loaded = load(None, [variable("GRIDMARK_INTAKE_IGNORED", "")].into_iter(), []).unwrap();
    assert_eq!(loaded.settings.intake.ignored, [""; 0]);
}

#[test]
fn variables_of_others_are_passed_over() {
    let others = [variable("GRID", "1"), variable("XGRIDMARK_A", "1"), variable("PATH", "/bin")];
    assert_eq!(load(None, others.into_iter(), []).unwrap().settings, Settings::default());
}

#[test]
fn unknown_keys_are_refused_with_place_and_nearest() {
    for (text, said) in [
        (
            "# x\n[intake]\n  setle_ms = 5\n",
            "file gridmark.toml:3:3: `intake.setle_ms` is no setting; did you mean \
             `intake.settle_ms`?",
        ),
        (
            "[intak]\nsettle_ms = 5\n",
            "file gridmark.toml:1:2: `intak` is no setting; did you mean `intake`?",
        ),
        (
            "settle_ms = 5\n",
            "file gridmark.toml:1:1: `settle_ms` is no setting; did you mean `intake.settle_ms`?",
        ),
        (
            "grade.settle_ms = 5\n",
            "file gridmark.toml:1:7: `grade.settle_ms` is no setting; did you mean \
             `intake.settle_ms`?",
        ),
        (
            "[queue]\nfiles_max = 1\n[http.tls]\nkey = 1\n[log]\nnonsense = true\n",
            "file gridmark.toml:3:7: `http.tls` is no setting",
        ),
        (
            "[log]\n\"мера\" = 1\nlevel = \"info\"\n[grade]\ncommittee = 1\n",
            "file gridmark.toml:2:1: `log.мера` is no setting",
        ),
    ] {
        assert_eq!(said_of_file(text), said);
    }
    assert_eq!(
        said_of_variable("GRIDMARK_INTAKE_SETLE_MS", "1"),
        "environment: `GRIDMARK_INTAKE_SETLE_MS` sets no setting; did you mean \
         `GRIDMARK_INTAKE_SETTLE_MS`?"
    );
    let flag = Flag { name: "--x", key: "intake.wach", value: 1.into() };
    assert_eq!(
        load(None, std::iter::empty(), [flag]).unwrap_err().to_string(),
        "flag --x: `intake.wach` is no setting; did you mean `intake.watch`?"
    );
}

#[test]
fn invalid_toml_is_refused_with_its_place() {
    assert!(said_of_file("[intake]\nsettle_ms = = 3\n").starts_with("file gridmark.toml:2:13: "));
    let twice = said_of_file("[intake]\nsettle_ms = 1\n\nsettle_ms = 2\n");
    assert!(twice.starts_with("file gridmark.toml:4:1: duplicate key"), "{twice}");
    assert_eq!(
        said_of_file(b"[paths]\nroot = \"caf\xe9\"\n"),
        "file gridmark.toml:2:12: this is not UTF-8 text; save the file as UTF-8"
    );
    // As editors on Windows save it.
    let (_folder, path) = file("\u{feff}[log]\r\nformat = \"json\"\r\n");
    let loaded = load(Some(&path), std::iter::empty(), []).unwrap();
    assert_eq!(loaded.settings.log.format, LogFormat::Json);
}

#[test]
fn a_missing_file_is_reported_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.toml");
    let error = load(Some(&path), std::iter::empty(), []).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot read the settings file {}", path.display()));
    assert!(matches!(error, Error::Read { .. }));
}

#[test]
fn wrong_values_are_refused_with_origin_and_what_is_expected() {
    assert_eq!(
        said_of_file("[intake]\nsettle_ms = \"soon\"\n"),
        "file gridmark.toml:2:1: `intake.settle_ms` is \"soon\"; expected milliseconds: a whole \
         number from 0 to 86400000 (a day)"
    );
    assert_eq!(
        said_of_file("intake = 3\n"),
        "file gridmark.toml:1:1: `intake` is 3; expected a section: [intake]"
    );
    assert_eq!(
        said_of_variable("GRIDMARK_QUEUE_FILES_MAX", "0"),
        "environment GRIDMARK_QUEUE_FILES_MAX: `queue.files_max` is 0; expected a whole number \
         from 1 up"
    );
    let flag = Flag { name: "--listen", key: "http.listen", value: "here".into() };
    assert_eq!(
        load(None, std::iter::empty(), [flag]).unwrap_err().to_string(),
        "flag --listen: `http.listen` is \"here\"; expected an address and a port, such as \
         \"127.0.0.1:9464\""
    );
    assert_eq!(
        said_of_file("[grade]\nchunk_bytes_max = 1\n"),
        "file gridmark.toml:2:1: `grade.chunk_bytes_max` is 1; expected at least twice \
         grade.case_bytes_max (grade.case_bytes_max is 65536, default)"
    );
    // A setting that was good until another was set.
    assert_eq!(
        said_of_variable("GRIDMARK_GRADE_CASE_BYTES_MAX", "3000000"),
        "default: `grade.chunk_bytes_max` is 1048576; expected at least twice \
         grade.case_bytes_max (grade.case_bytes_max is 3000000, environment \
         GRIDMARK_GRADE_CASE_BYTES_MAX)"
    );
}

#[test]
fn every_setting_has_a_wrong_value_that_is_refused() {
    let wrong = |section: &str, name: &str| match name {
        _ if section == "paths" => vec!["\"\"", "3", "[]", "\"a\\u0000b\""],
        "watch" => vec!["\"Auto\"", "true", "\"\""],
        "settle_ms" | "open_settle_ms" | "commit_wait_ms_max" | "turn_ms_max" => {
            vec!["-1", "86400001", "1.5", "\"1\"", "9223372036854775808"]
        }
        "scan_every_ms" | "retry_ms_max" | "header_read_ms_max" | "connection_ms_max" => {
            vec!["0", "86400001", "-1"]
        }
        "hosts" => vec!["\"a\"", "[1]", "[\"\"]", "[\"a:80\"]", "[\"a/b\"]"],
        "makers_max" => vec!["0", "65"],
        "ignored" => vec!["\"*.part\"", "[1]", "[\"\"]", "[\"a/b\"]", "[\"*\"]", "[\"?*\"]"],
        "threads_max" => vec!["1025", "-1", "\"auto\""],
        "tier" => vec!["\"\"", "3"],
        "case_bytes_max" => vec!["4095", "0", "2097153"],
        "chunk_bytes_max" => vec!["131071", "0"],
        "tries_max" => vec!["0", "4294967296"],
        "neutralise_formulas" | "csv_bom" => vec!["1", "\"yes\""],
        "disk_free_bytes_min" => vec!["-1", "true"],
        "listen" => vec!["\"localhost:9464\"", "9464", "\"127.0.0.1\"", "\"127.0.0.1:65536\""],
        "connections_max" => vec!["0", "65537"],
        "header_bytes_max" => vec!["8191", "1048577"],
        "format" => vec!["\"xml\""],
        "level" => vec!["\"inof\"", "\"\"", "\"info,\"", "\"gridmark\"", "\"gridmark=loud\"", "3"],
        _ => vec!["0", "-1", "\"1\"", "1979-05-27"],
    };
    for (section, name, _) in all_defaults() {
        for value in wrong(&section, &name) {
            let said = said_of_file(format!("[{section}]\n{name} = {value}\n"));
            let about = format!("`{section}.");
            assert!(said.contains(&about), "{name} = {value}: {said}");
            assert!(said.contains("gridmark.toml:2:"), "{name} = {value}: {said}");
        }
    }
}

#[test]
fn the_seven_folders_lie_apart() {
    for (name, path) in [
        ("archive", "inbox"),
        ("archive", "./inbox/"),
        ("archive", "x/../inbox"),
        ("reports", "inbox/reports"),
        ("state", "reports/state"),
        ("inbox", "."),
        ("inbox", ".."),
        ("inbox", "/"),
        ("event", "inbox/event"),
        ("public", "reports"),
    ] {
        let (_folder, file) = file(format!("[paths]\nroot = \"/srv/gridmark\"\n{name} = '{path}'"));
        let said = load(Some(&file), std::iter::empty(), []).unwrap_err().to_string();
        assert!(said.contains("none of the seven may be or hold another"), "{name} {path}: {said}");
    }
    let (_folder, file) =
        file("[paths]\nroot = \"/srv/gridmark\"\ninbox = \"/mnt/in\"\narchive = \"inbox\"\n");
    let paths = load(Some(&file), std::iter::empty(), []).unwrap().settings.paths;
    assert_eq!(paths.inbox(), Path::new("/mnt/in"));
    assert_eq!(paths.archive(), Path::new("/srv/gridmark/inbox"));
    assert_eq!(paths.quarantine(), Path::new("/srv/gridmark/quarantine"));
    assert_eq!(paths.reports(), Path::new("/srv/gridmark/reports"));
    assert_eq!(paths.state(), Path::new("/srv/gridmark/state"));
}

#[test]
fn the_printed_toml_gives_the_same_settings() {
    let (_folder, path) = file(
        "[intake]\nwatch = \"off\"\nignored = ['#*', \"a \\\"b\\\" \\\\*\"]\n[paths]\nroot = \
         \"/srv/Раунд 1 # \\\\\"\n",
    );
    let flag = Flag { name: "--settle", key: "intake.settle_ms", value: 0.into() };
    let loaded = load(Some(&path), std::iter::empty(), [flag]).unwrap();
    assert_eq!(loaded.settings.intake.watch, Watch::Off);
    let shown = loaded.to_toml();
    for line in [
        "settle_ms = 0 # flag --settle".to_owned(),
        format!("watch = \"off\" # file {}:2:1", path.display()),
        "depth_max = 64 # default".into(),
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
    let (_folder, again) = file(&shown);
    let again = load(Some(&again), std::iter::empty(), []).unwrap();
    assert_eq!(again.settings, loaded.settings);
    assert_eq!(again.origins.len(), all_defaults().len());
}

#[test]
fn what_programs_leave_behind_is_ignored_and_submissions_are_not() {
    let intake = Settings::default().intake;
    for name in [
        ".hidden",
        ".~lock.p3.ods#",
        "p3.txt~",
        "~$p3.docx",
        "#p3.txt#",
        "p3.txt.part",
        "P3.PART",
        "p3.partial",
        "p3.filepart",
        "p3.crdownload",
        "p3.tmp",
        ".p3.txt.swp",
        "p3.swp",
        // Desktops.
        ".DS_Store",
        "._p3.txt",
        "Icon\r",
        "Icon\u{f00d}",
        "Thumbs.db",
        "thumbs.db",
        "Thumbs.db:encryptable",
        "ehthumbs_vista.db",
        "Desktop.ini",
        "p3.txt:Zone.Identifier",
        "p3.lnk",
        "p3.txt - Shortcut.LNK",
        "rules.url",
        "rules.webloc",
        "p3.desktop",
        ".directory",
        ".goutputstream-A1B2C3",
        // Folders of deleted files, thumbnails, earlier versions, archives.
        "$RECYCLE.BIN",
        "System Volume Information",
        ".Trash-1000",
        "@eaDir",
        "#recycle",
        "#snapshot",
        "@Recycle",
        "lost+found",
        "__MACOSX",
        // Editors and office programs.
        "p3.bak",
        "Backup of p3.wbk",
        "p3.xlk",
        "~WRL0003.tmp",
        "p3.txt.sb-4d3bf3a4-CJkQ2d",
        "(A Document Being Saved By TextEdit 2)",
        "p3.txt___jb_tmp___",
        // Synchronisation and uploads.
        ".syncthing.p3.txt.tmp",
        "~syncthing~p3.txt.tmp",
        ".stfolder",
        ".dropbox.attr",
        ".tmp.driveupload",
        ".sync_a1b2.db",
        ".p3.txt.icloud",
        "p3.txt.!sync",
        "p3.txt.ocTransferId42.part",
        "p3.txt.a1b2c3d4.partial",
        ".p3.txt.a1B2c3",
        ".~tmp~",
        ".in.p3.txt.",
        ".pureftpd-upload.1",
        ".fuse_hidden0001",
        ".nfs0001",
        ".davfs.tmp01",
    ] {
        assert!(intake.ignored_pattern(name.as_bytes()).is_some(), "{name}");
    }
    for name in [
        "p3.txt",
        "p3",
        "part",
        "p3.parts",
        "tmp",
        "p3.tmp.txt",
        "p3~2.txt",
        "#1",
        "team.killer",
        "bak",
        "p3.bak.txt",
        "p3.old",
        "Thumbs",
        "icon",
        "icons.txt",
        "p3.sb-1.classic",
        "recycle",
        "p3 (1).txt",
        "p3 (Anna's conflicted copy 2026-12-01).txt",
        "p3.sync-conflict-20261201-101500-ABCDEFG.txt",
        "p3-LAPTOP.txt",
        "Copy of p3.txt",
        "scan0001.txt",
    ] {
        assert_eq!(intake.ignored_pattern(name.as_bytes()), None, "{name}");
    }
    assert!(intake.ignored_pattern(b"\xff\xfe.part").is_some());
    assert_eq!(intake.ignored_pattern("p.\u{e9}".as_bytes()), None);
}
